//! The stage that makes fibre populations of densities: fixels, with what each holds, in MRtrix3's folder format
//! or as ODX.

mod exchange;
mod given;
mod streamlines;

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::fixels::Fixels;
use fimbria_image::frames::turned;
use fimbria_image::{Datatype, Image, MapKind, WriteOptions, write_image};
use fimbria_tensors::lobes::{self, LobeOptions};
use serde::Serialize;
use serde_json::{Value, json};

pub use self::given::GivenFixels;
pub use self::streamlines::StreamlineOptions;
use crate::options::{Described as _, choice, within};
use crate::stages::load_orientations::OrientationField;
use crate::{
    Carried, Choice, FileKind, Input, Logbook, MapFormat, Named, OutputFolder, Page, Product,
    Products, Stage, StageError, Taken, Written,
};

/// The density in the maximum.
const PEAK: &str = "peak";
/// Streamlines along it.
const TDI: &str = "tdi";

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
    Written::file("*.*", FileKind::Binary, "other values of each fixel [n, 1, 1]")
        .only("where an ODX of fixels has them"),
    Written::file(
        exchange::FILE,
        FileKind::Binary,
        "all of it in one file: fixels, the values of each, and the densities as they are",
    )
    .only("with --format odx, in place of the others"),
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

/// How fixels are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixelFormat {
    /// MRtrix3's folder of images.
    Images(MapFormat),
    /// One archive.
    Odx,
}

impl Choice for FixelFormat {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Images(MapFormat::Mif), "mif", "MRtrix3's folder, of its images"),
        (Self::Images(MapFormat::NiiGz), "nii.gz", "the same of compressed NIfTI"),
        (Self::Images(MapFormat::Nii), "nii", "the same of NIfTI"),
        (Self::Odx, "odx", "one file, with the densities"),
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

/// Makes fixels of an [`OrientationField`], or takes those that are there, and counts streamlines along them.
pub struct MakeFixels {
    /// Fixels that are there already; without, densities are taken apart.
    pub given: Option<GivenFixels>,
    /// How.
    pub parameters: FixelParameters,
    /// Streamlines to count.
    pub streamlines: StreamlineOptions,
    /// In which format.
    pub format: FixelFormat,
}

/// What was made.
struct Made {
    fixels: Fixels,
    /// A value of each by the name of its file.
    values: Vec<(String, Vec<f32>)>,
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
        let values = [("afd", integrals), (PEAK, peaks), ("disp", disp)];
        let values = values.map(|(name, values)| (name.to_owned(), values)).into();
        Ok(Made { fixels, values, carried: field.carried.clone() })
    }

    fn made(
        &self,
        field: Option<&OrientationField>,
        log: &Logbook<'_>,
    ) -> Result<Made, StageError> {
        let mut made = match (&self.given, field) {
            (Some(given), _) => log.session().on.workers.install(|| given.read())?,
            (None, Some(field)) => self.take_apart(field, log)?,
            (None, None) => return Err("there are no densities".into()),
        };
        if let Some(counted) = self.streamlines.count(&made.fixels, log)? {
            if counted.iter().all(|n| *n == 0.0) {
                let message = "no streamline runs along a fixel: do they lie in the same place?";
                log.warn(Page::Fixels, message);
            }
            made.values.retain(|(name, _)| name != TDI);
            made.values.push((TDI.to_owned(), counted));
        }
        log.count("fixels", made.fixels.len() as u64);
        let with = made.fixels.of_voxel.iter().filter(|[_, count]| *count > 0).count();
        log.count("voxels_with_fixels", with as u64);
        Ok(made)
    }

    /// Names of the values of each fixel.
    fn values(&self) -> Vec<String> {
        let of_densities = || ["afd", PEAK, "disp"].map(str::to_owned).into();
        let mut names = self.given.as_ref().map_or_else(of_densities, GivenFixels::values);
        if self.streamlines.tractogram.is_some() {
            names.retain(|name| name != TDI);
            names.push(TDI.to_owned());
        }
        names
    }

    /// Writes MRtrix3's folder.
    fn write_images(
        &self,
        made: &Made,
        format: MapFormat,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Made { fixels, values, carried } = made;
        let workers = log.session().on.workers;
        let options = WriteOptions {
            keyvals: carried.clone().with(log.session().header_entries()).keyvals,
            ..WriteOptions::default()
        };
        let mut image =
            |name: &str, image: &Image, options: WriteOptions| -> Result<(), StageError> {
                log.check()?;
                let path = out.stage(&format!("{name}.{}", format.name()))?;
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
        let given = self.given.iter().flat_map(GivenFixels::files);
        let given = given.map(|path| ("fixels".to_owned(), path));
        let lines = self.streamlines.tractogram.iter();
        given.chain(lines.map(|path| ("tractogram".to_owned(), path.clone()))).collect()
    }

    fn parameters(&self) -> Value {
        json!({
            "fixel": self.parameters,
            "angle": self.streamlines.angle,
            "format": Named(self.format),
        })
    }

    fn outputs(&self) -> Vec<String> {
        let FixelFormat::Images(format) = self.format else { return vec![exchange::FILE.into()] };
        let names = ["index", "directions"].map(str::to_owned).into_iter().chain(self.values());
        names.map(|name| format!("{name}.{}", format.name())).collect()
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
        let made = products.get::<Made>()?;
        match self.format {
            FixelFormat::Images(format) => self.write_images(made, format, out, log),
            FixelFormat::Odx => {
                let odx = exchange::odx(made, products.find(), log)?;
                Ok(odx.write(&out.stage(exchange::FILE)?)?)
            }
        }
    }
}
