//! The stage that makes fibre populations of densities: fixels, with what each holds, in MRtrix3's folder format.

mod streamlines;

use std::path::PathBuf;

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::fixels::Fixels;
use fimbria_image::frames::turned;
use fimbria_image::{Datatype, Image, MapKind, WriteOptions, write_image};
use fimbria_tensors::lobes::{self, LobeOptions};
use serde::Serialize;
use serde_json::{Value, json};

pub use self::streamlines::StreamlineOptions;
use crate::options::{Described as _, choice, within};
use crate::stages::load_orientations::OrientationField;
use crate::{
    Carried, Choice, FileKind, Input, Logbook, MapFormat, Named, OutputFolder, Page, Product,
    Products, Stage, StageError, Taken, Written,
};

/// How a value of each fixel is said to be stored.
const OF_EACH: &str = "where densities are given";

/// What `fimbria fixel` writes. But for the index its images have no voxels that could be drawn.
pub const FIXEL_WRITES: &[Written] = &[
    Written::image(
        "index",
        MapKind::Scalar,
        2,
        "",
        "for each voxel how many fixels it has, and the number of its first [x, y, z, 2]",
    ),
    Written::file(
        "directions.*",
        FileKind::Binary,
        "unit direction of each fixel, scanner RAS axes [n, 3, 1]",
    ),
    Written::file(
        "afd.*",
        FileKind::Binary,
        "integral of the lobe over the sphere, both its ends: apparent fibre density [n, 1, 1]",
    )
    .only(OF_EACH),
    Written::file("peak.*", FileKind::Binary, "the density in the maximum of the lobe [n, 1, 1]")
        .only(OF_EACH),
    Written::file(
        "disp.*",
        FileKind::Binary,
        "dispersion: integral over maximum, steradian [n, 1, 1]",
    )
    .only(OF_EACH),
    Written::file("tdi.*", FileKind::Binary, "streamlines along the fixel [n, 1, 1]")
        .only("with --tractogram"),
    Written::RECORD,
];

/// Which direction of a lobe stands for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LobeDirection {
    /// The mean over the lobe.
    #[default]
    Mean,
    /// Of its maximum.
    Peak,
}

impl Choice for LobeDirection {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Mean, "mean", "mean over the lobe, each direction counted by its density"),
        (Self::Peak, "peak", "that of the maximum"),
    ];
}

/// How densities are taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Args, Serialize)]
pub struct FixelParameters {
    /// Lobes whose maximum is not above this are noise, in units of the densities
    #[arg(long, value_name = "VALUE", number = within(0.0, 1e30, ""))]
    #[arg(default_value_t = f64::from(LobeOptions::default().least_peak))]
    pub least_peak: f64,

    /// The direction of a fixel
    #[arg(long, value_name = "DIRECTION", value_parser = choice::<LobeDirection>())]
    #[arg(default_value = "mean")]
    pub direction: Named<LobeDirection>,
}

/// Makes fixels of an [`OrientationField`], or takes those of a folder, and counts streamlines along them.
pub struct MakeFixels {
    /// Fixels that are there already; without, densities are taken apart.
    pub folder: Option<PathBuf>,
    /// How.
    pub parameters: FixelParameters,
    /// Streamlines to count.
    pub streamlines: StreamlineOptions,
    /// In which format.
    pub format: MapFormat,
}

/// What was made.
struct Made {
    fixels: Fixels,
    /// A value of each by the name of its file.
    values: Vec<(&'static str, Vec<f32>)>,
    carried: Carried,
}

impl MakeFixels {
    /// The fixels of densities.
    fn take_apart(&self, field: &OrientationField, log: &Logbook<'_>) -> Result<Made, StageError> {
        let basis = field.basis.ok_or(
            "fixels are made of densities in spherical harmonics: these are unique entries (fit fod writes \
             harmonics too)",
        )?;
        let FixelParameters { least_peak, direction } = self.parameters;
        let options = LobeOptions { least_peak: least_peak as f32, ..LobeOptions::default() };
        let (grid, voxels) = (*field.coefficients.grid(), &field.mask.voxels);
        let (workers, what) = (log.session().on.workers, (basis, field.order));
        let lobes::Fixels { first, integrals, peaks, peak_dirs, mean_dirs } =
            lobes::Fixels::find(&*field.coefficients, voxels, what, options, workers, log)?;
        let mut dirs = match direction.0 {
            LobeDirection::Mean => mean_dirs,
            LobeDirection::Peak => peak_dirs,
        };
        let ras_from_frame = field.frame.ras_from_frame(&grid.ras_from_vox);
        for dir in &mut dirs {
            *dir = turned(&ras_from_frame, dir.map(f64::from)).map(|x| x as f32);
        }
        let disp = integrals.iter().zip(&peaks).map(|(integral, peak)| integral / peak).collect();
        let fixels = Fixels::new(grid, voxels, &first, dirs)?;
        if fixels.is_empty() {
            return Err(format!("no density has a lobe above {least_peak} (--least-peak)").into());
        }
        let values = vec![("afd", integrals), ("peak", peaks), ("disp", disp)];
        Ok(Made { fixels, values, carried: field.carried.clone() })
    }

    fn made(
        &self,
        field: Option<&OrientationField>,
        log: &Logbook<'_>,
    ) -> Result<Made, StageError> {
        let mut made = match (&self.folder, field) {
            (Some(folder), _) => {
                let fixels = log.session().on.workers.install(|| Fixels::read(folder))?;
                Made { fixels, values: Vec::new(), carried: Carried::default() }
            }
            (None, Some(field)) => self.take_apart(field, log)?,
            (None, None) => return Err("there are no densities".into()),
        };
        if let Some(counted) = self.streamlines.count(&made.fixels, log)? {
            if counted.iter().all(|n| *n == 0.0) {
                let message = "no streamline runs along a fixel: do they lie in the same place?";
                log.warn(Page::Fixels, message);
            }
            made.values.push(("tdi", counted));
        }
        log.count("fixels", made.fixels.len() as u64);
        let with = made.fixels.of_voxel.iter().filter(|[_, count]| *count > 0).count();
        log.count("voxels_with_fixels", with as u64);
        Ok(made)
    }

    fn file(&self, name: &str) -> String {
        format!("{name}.{}", self.format.name())
    }
}

impl Stage for MakeFixels {
    fn name(&self) -> &'static str {
        "fixel"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![Taken::where_made::<OrientationField>()]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Made>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let images = self.folder.iter().flat_map(|folder| Fixels::files(folder));
        let images = images.map(|path| ("fixels".to_owned(), path));
        let lines = self.streamlines.tractogram.iter();
        images.chain(lines.map(|path| ("tractogram".to_owned(), path.clone()))).collect()
    }

    fn parameters(&self) -> Value {
        json!({
            "fixel": self.parameters,
            "angle": self.streamlines.angle,
            "format": self.format.name(),
        })
    }

    fn outputs(&self) -> Vec<String> {
        let mut names = vec!["index", "directions"];
        if self.folder.is_none() {
            names.extend(["afd", "peak", "disp"]);
        }
        names.extend(self.streamlines.tractogram.iter().map(|_| "tdi"));
        names.into_iter().map(|name| self.file(name)).collect()
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let made = self.made(products.find(), log)?;
        products.put(made);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Made { fixels, values, carried } = products.get::<Made>()?;
        let workers = log.session().on.workers;
        let options = WriteOptions {
            keyvals: carried.clone().with(log.session().header_entries()).keyvals,
            ..WriteOptions::default()
        };
        let mut image =
            |name: &str, image: &Image, options: WriteOptions| -> Result<(), StageError> {
                log.check()?;
                let path = out.stage(&self.file(name))?;
                Ok(workers.install(|| write_image(&path, image, &options))?)
            };
        let index = WriteOptions {
            datatype: Datatype::UInt32,
            space_codes: carried.space_codes,
            description: "fixels of each voxel: number and first".to_owned(),
            ..options.clone()
        };
        image("index", &fixels.index_image(), index)?;
        let description = "unit directions of fixels, scanner axes".to_owned();
        let directions = WriteOptions { description, ..options.clone() };
        image("directions", &fixels.directions_image(), directions)?;
        for (name, values) in values {
            image(name, &fixels.data_image(values), options.clone())?;
        }
        Ok(())
    }
}
