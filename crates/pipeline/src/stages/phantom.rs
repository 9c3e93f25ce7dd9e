//! The stage that makes a digital subject, where another one would load a real one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fimbria_compute::Workers;
use fimbria_image::{
    BvecFrame, Datatype, GradientTable, Grid, Image, Mask, SignalSource, WriteOptions, write_image,
};
use fimbria_phantoms::{
    CrossingSpec, PerDirection, PhantomError, ProtocolSpec, Tract, Truth, TruthMap, crossing,
    protocol, tracts,
};
use fimbria_streamlines::{Group, Header, Streamlines, Tractogram, WriteOptions as LineOptions};
use serde_json::{Value, json};

use crate::stages::load::Subject;
use crate::{
    Carried, Choice, Logbook, MapFormat, OutputFolder, Product, Products, Stage, StageError,
};

/// What to make.
#[derive(Clone, Debug, PartialEq)]
pub enum PhantomSpec {
    /// A head with crossing bundles.
    Crossing(CrossingSpec),
    /// The acquisition of a paper.
    Protocol(ProtocolSpec),
}

impl Choice for PerDirection {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Kurtosis, "kurtosis", "ln S/S0 = -b D + b² D² K / 6"),
        (Self::Stretched, "stretched", "ln S/S0 = -A b^gamma"),
    ];
}

/// Makes a phantom: hands on a [`Subject`] and the [`Truth`], and writes both.
pub struct Phantom {
    /// What to make.
    pub spec: PhantomSpec,
    /// Format of its images.
    pub format: MapFormat,
}

/// A phantom in memory, shared by the fits that read it and the files that hold it.
struct Made(Arc<fimbria_phantoms::Subject>);

impl SignalSource for Made {
    fn grid(&self) -> &Grid {
        &self.0.dwi.grid
    }

    fn n_volumes(&self) -> usize {
        self.0.dwi.n_volumes
    }

    fn gather_rows(&self, voxels: &[u32], rows: &mut [&mut [f32]]) {
        self.0.dwi.gather_rows(voxels, rows);
    }
}

impl Phantom {
    fn make(&self, log: &Logbook<'_>) -> Result<fimbria_phantoms::Subject, PhantomError> {
        let workers = log.session().on.workers;
        match &self.spec {
            PhantomSpec::Crossing(spec) => crossing(spec, workers, log),
            PhantomSpec::Protocol(spec) => protocol(spec, workers, log),
        }
    }
}

impl Stage for Phantom {
    fn name(&self) -> &'static str {
        "phantom"
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Subject>(), Product::of::<Arc<fimbria_phantoms::Subject>>()]
    }

    fn parameters(&self) -> Value {
        let format = self.format.name();
        match &self.spec {
            PhantomSpec::Crossing(spec) => {
                let CrossingSpec { placement, acquisition, diffusivities, snr, seed, .. } = spec;
                let shells: Vec<_> =
                    acquisition.shells.iter().map(|s| (s.b_s_per_mm2, s.directions)).collect();
                json!({
                    "kind": "crossing",
                    "dims": placement.dims,
                    "voxel_mm": placement.voxel_mm,
                    "tilt_deg": placement.tilt_deg,
                    "x_right_to_left": placement.x_right_to_left,
                    "b0s": acquisition.b0s,
                    "shells": shells,
                    "axial": diffusivities.axial,
                    "radial": diffusivities.radial,
                    "grey": diffusivities.grey,
                    "fluid": diffusivities.fluid,
                    // JSON has no infinity, which stands for no noise.
                    "snr": snr.is_finite().then_some(snr),
                    "seed": seed,
                    "samples_per_axis": spec.samples_per_axis,
                    "format": format,
                })
            }
            PhantomSpec::Protocol(spec) => {
                let ProtocolSpec { placement, law, snr, seed, samples_per_axis } = spec;
                json!({
                    "kind": "protocol",
                    "dims": placement.dims,
                    "voxel_mm": placement.voxel_mm,
                    "tilt_deg": placement.tilt_deg,
                    "x_right_to_left": placement.x_right_to_left,
                    "law": law.name(),
                    "snr": snr.is_finite().then_some(snr),
                    "seed": seed,
                    "samples_per_axis": samples_per_axis,
                    "format": format,
                })
            }
        }
    }

    fn outputs(&self) -> Vec<String> {
        let extension = self.format.name();
        let mut files = vec![format!("dwi.{extension}"), format!("mask.{extension}")];
        if self.format != MapFormat::Mif {
            files.extend(["dwi.bval".to_owned(), "dwi.bvec".to_owned()]);
        }
        files
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let made = Arc::new(self.make(log)?);
        log.count("volumes", made.dwi.n_volumes as u64);
        log.count("voxels", made.mask.len() as u64);
        handed_on(&made).put(products);
        products.put(made);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let made = products.get::<Arc<fimbria_phantoms::Subject>>()?;
        let mut files = Files { out, folder: "", format: self.format, log };
        files.series(&made.dwi, &made.gradients)?;
        files.mask(&made.mask)?;
        files.truth(&made.truth.maps)?;
        if let PhantomSpec::Crossing(CrossingSpec { placement, .. }) = &self.spec {
            let lines = grouped(&tracts(placement, SPACING_MM)?, made.dwi.grid);
            lines.write(files.out.stage("truth/tracts.trx")?, &LineOptions::default())?;
        }
        Ok(())
    }

    /// Makes it again: that is a function of the parameters, and takes no longer than reading.
    fn restore(
        &self,
        _folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.compute(products, log)
    }
}

/// The subject as one that was read from files.
pub(crate) fn handed_on(made: &Arc<fimbria_phantoms::Subject>) -> Subject {
    Subject {
        dwi: Arc::new(Made(made.clone())),
        gradients: made.gradients.clone(),
        mask: made.mask.clone(),
        grad_dev: None,
        carried: Carried::default(),
    }
}

/// Streamlines of the truth are so far apart.
const SPACING_MM: f64 = 3.0;

/// All streamlines, each tract a group.
fn grouped(tracts: &[Tract], grid: Grid) -> Tractogram {
    let mut header = Header::on(grid);
    let mut lines = Streamlines::default();
    for tract in tracts {
        let first = lines.len() as u32;
        tract.streamlines.iter().for_each(|line| lines.push(line));
        let members = (first..lines.len() as u32).collect();
        header.groups.push(Group { name: tract.name.clone(), members, data: Vec::new() });
    }
    Tractogram::new(header, lines)
}

/// The truth of the phantom among the products, if there is one.
pub fn truth_in(products: &Products) -> Option<&Truth> {
    products.find::<Arc<fimbria_phantoms::Subject>>().map(|made| &made.truth)
}

/// Images on their way to a folder.
pub(crate) struct Files<'a> {
    pub(crate) out: &'a mut OutputFolder,
    /// Within it, with a slash at its end; empty for itself.
    pub(crate) folder: &'static str,
    pub(crate) format: MapFormat,
    pub(crate) log: &'a Logbook<'a>,
}

impl Files<'_> {
    pub(crate) fn options(&self, description: &str) -> WriteOptions {
        WriteOptions {
            description: description.to_owned(),
            keyvals: self.log.session().header_entries(),
            ..WriteOptions::default()
        }
    }

    /// Writes an image, and says where it is until all are committed.
    pub(crate) fn image(
        &mut self,
        name: &str,
        image: &Image,
        options: &WriteOptions,
    ) -> Result<PathBuf, StageError> {
        use fimbria_compute::Progress as _;
        self.log.check()?;
        let path = self.out.stage(&format!("{}{name}.{}", self.folder, self.format.name()))?;
        let workers: &Workers = self.log.session().on.workers;
        workers.install(|| write_image(&path, image, options))?;
        Ok(path)
    }

    /// `dwi` with its table, as the format has it.
    pub(crate) fn series(
        &mut self,
        dwi: &Image,
        gradients: &GradientTable,
    ) -> Result<(), StageError> {
        let mut series = self.options("simulated diffusion-weighted series");
        if self.format == MapFormat::Mif {
            series.dw_scheme = Some(gradients.to_dw_scheme());
        } else {
            let fsl = gradients.to_fsl(BvecFrame::Fsl, &dwi.grid.ras_from_vox);
            self.out.write(&format!("{}dwi.bval", self.folder), fsl.bvals.as_bytes())?;
            self.out.write(&format!("{}dwi.bvec", self.folder), fsl.bvecs.as_bytes())?;
        }
        self.image("dwi", dwi, &series)?;
        Ok(())
    }

    /// `mask`: 1 in its voxels.
    pub(crate) fn mask(&mut self, mask: &Mask) -> Result<(), StageError> {
        let options = WriteOptions { datatype: Datatype::UInt8, ..self.options("brain mask") };
        self.image("mask", &mask.to_image(), &options)?;
        Ok(())
    }

    /// What is known, in a folder of its own.
    pub(crate) fn truth(&mut self, maps: &[TruthMap]) -> Result<(), StageError> {
        for map in maps {
            let options = self.options(map.description);
            self.image(&format!("truth/{}", map.name), &map.image, &options)?;
        }
        Ok(())
    }
}
