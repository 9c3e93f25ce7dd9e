//! The stage that makes the gradient-echo scan of a digital subject.

use std::path::Path;

use crate::options::{Described as _, above, any, at_least, within};
use clap::Args;
use fimbria_image::{Image, MapKind};
use fimbria_phantoms::{GreSpec, GreSubject, Susceptibilities, gre};
use fimbria_qsm::Geometry;
use serde::Serialize;
use serde_json::{Value, json};

use crate::stages::b0;
use crate::stages::crossing::BrainGrid;
use crate::stages::field::Echoes;
use crate::stages::head::Snr;
use crate::stages::phantom::Files;
use crate::{
    Choice as _, FileKind, Logbook, MapFormat, OutputFolder, Product, Products, Stage, StageError,
    Written,
};

/// What `fimbria phantom gre` writes.
pub const GRE_WRITES: &[Written] = &[
    Written::image("phase", MapKind::Scalar, 0, "rad", "phase of every echo, wrapped"),
    Written::file("phase.json", FileKind::Json, "echo times and B0"),
    Written::image("magnitude", MapKind::Scalar, 0, "arbitrary", "magnitude of every echo"),
    Written::code("mask", "voxels at least half of which are brain"),
    Written::scalar("truth/chi", "ppm", "mean of the susceptibility tensor, 0 outside the mask"),
    Written::scalar("truth/local_field", "ppm", "field of what is in the head"),
    Written::scalar("truth/total_field", "ppm", "the same with the air below it"),
    Written::image(
        "truth/fibre",
        MapKind::Vector,
        3,
        "",
        "direction of the largest fibre, as long as its fraction: what `fimbria qsm \
         --v1` takes",
    ),
    Written::file("run.json", FileKind::Json, "parameters, machine, times"),
];

/// The options of a gradient-echo scan.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct GreOptions {
    /// Its grid.
    #[command(flatten)]
    #[serde(flatten)]
    pub grid: BrainGrid,

    /// Echo times
    #[arg(long, value_name = "MS", num_args = 1.., default_values_t = [4.0, 12.0, 20.0, 28.0])]
    #[arg(number = above(0.0, "ms"))]
    pub te: Vec<f64>,

    /// Strength of B0; it is along scanner z
    #[arg(long, value_name = "TESLA", default_value_t = 3.0)]
    #[arg(number = b0::strengths())]
    pub b0: f64,

    /// Mean susceptibility of fibres relative to fluid
    #[arg(long, value_name = "PPM", default_value_t = Susceptibilities::default().fibre)]
    #[arg(allow_negative_numbers = true)]
    #[arg(number = any::<f64>("ppm"))]
    pub fibre: f64,

    /// Susceptibility along fibres less that across them
    #[arg(long, value_name = "PPM", default_value_t = Susceptibilities::default().fibre_anisotropy)]
    #[arg(allow_negative_numbers = true)]
    #[arg(number = any::<f64>("ppm"))]
    pub anisotropy: f64,

    /// Susceptibility of grey matter relative to fluid
    #[arg(long, value_name = "PPM", default_value_t = Susceptibilities::default().grey)]
    #[arg(allow_negative_numbers = true)]
    #[arg(number = any::<f64>("ppm"))]
    pub grey: f64,

    /// Susceptibility of the air below the brain; 0 for no background
    #[arg(long, value_name = "PPM", default_value_t = Susceptibilities::default().air)]
    #[arg(allow_negative_numbers = true)]
    #[arg(number = any::<f64>("ppm"))]
    pub air: f64,

    /// Make the field on a grid as many times finer along each axis
    #[arg(long, value_name = "TIMES", default_value_t = 2)]
    #[arg(number = within(1_usize, 4, ""))]
    pub finer: usize,

    /// White matter's magnitude at echo time 0 over the noise in either channel; inf for no noise
    #[arg(long, value_name = "SNR", default_value = "100")]
    pub snr: Snr,

    /// Seed of the noise
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    #[arg(number = at_least(0_u64, ""))]
    pub rng_seed: u64,
}

impl GreOptions {
    /// What they describe.
    pub fn spec(&self) -> GreSpec {
        let &Self { fibre, anisotropy: fibre_anisotropy, grey, air, .. } = self;
        GreSpec {
            placement: self.grid.placement(),
            susceptibilities: Susceptibilities { fibre, fibre_anisotropy, grey, air },
            b0_tesla: self.b0,
            echo_times_s: self.te.iter().map(|ms| 1e-3 * ms).collect(),
            snr: self.snr.0,
            seed: self.rng_seed,
            finer: self.finer,
        }
    }
}

/// Makes a scan: hands on its [`Echoes`] and the [`GreSubject`], and writes that.
pub struct GrePhantom {
    /// What to make.
    pub spec: GreSpec,
    /// Format of its images.
    pub format: MapFormat,
}

impl Stage for GrePhantom {
    fn name(&self) -> &'static str {
        "gre"
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Echoes>(), Product::of::<GreSubject>()]
    }

    fn parameters(&self) -> Value {
        let GreSpec { placement, susceptibilities, b0_tesla, echo_times_s, snr, seed, finer } =
            &self.spec;
        json!({
            "dims": placement.dims,
            "voxel_mm": placement.voxel_mm,
            "tilt_deg": placement.tilt_deg,
            "x_right_to_left": placement.x_right_to_left,
            "fibre_ppm": susceptibilities.fibre,
            "fibre_anisotropy_ppm": susceptibilities.fibre_anisotropy,
            "grey_ppm": susceptibilities.grey,
            "air_ppm": susceptibilities.air,
            "b0_tesla": b0_tesla,
            "echo_times_s": echo_times_s,
            // JSON has no infinity, which stands for no noise.
            "snr": snr.is_finite().then_some(snr),
            "seed": seed,
            "finer": finer,
            "format": self.format.name(),
        })
    }

    fn outputs(&self) -> Vec<String> {
        GreFiles { folder: "", format: self.format }.names()
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let made = gre(&self.spec, log.session().on.workers, log)?;
        log.count("echoes", made.phase.n_volumes as u64);
        log.count("voxels", made.mask.len() as u64);
        products.put(echoes(&made, &self.spec.echo_times_s, self.spec.b0_tesla)?);
        products.put(made);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let GreSpec { echo_times_s, b0_tesla, .. } = &self.spec;
        let files = GreFiles { folder: "", format: self.format };
        files.write(products.get::<GreSubject>()?, echo_times_s, *b0_tesla, out, log)
    }

    /// Makes it again, as the other phantoms.
    fn restore(
        &self,
        _folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.compute(products, log)
    }
}

/// The echoes of a scan as a later stage takes them.
pub(crate) fn echoes(
    made: &GreSubject,
    echo_times_s: &[f64],
    b0_tesla: f64,
) -> Result<Echoes, StageError> {
    let volumes = |image: &Image| -> Vec<Vec<f32>> {
        (0..image.n_volumes).map(|v| image.volume(v).to_vec()).collect()
    };
    let grid = made.phase.grid;
    Ok(Echoes {
        grid,
        geometry: Geometry::new(&grid, [0.0, 0.0, 1.0])?,
        phases: volumes(&made.phase),
        magnitudes: volumes(&made.magnitude),
        times: echo_times_s.to_vec(),
        b0_tesla: Some(b0_tesla),
        mask: made.mask.clone(),
    })
}

/// Where a scan is written, relative to the output folder, with a slash at its end, and how.
pub(crate) struct GreFiles {
    pub(crate) folder: &'static str,
    pub(crate) format: MapFormat,
}

impl GreFiles {
    /// What others may read.
    pub(crate) fn names(&self) -> Vec<String> {
        let Self { folder, format } = self;
        let image = |name| format!("{folder}{name}.{}", format.name());
        let mut files = ["phase", "magnitude", "mask"].map(image).to_vec();
        files.push(format!("{folder}phase.json"));
        files
    }

    /// Writes scan and truth.
    pub(crate) fn write(
        &self,
        made: &GreSubject,
        echo_times_s: &[f64],
        b0_tesla: f64,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Self { folder, format } = *self;
        let sidecar = json!({
            "EchoTime": echo_times_s,
            "MagneticFieldStrength": b0_tesla,
            "Units": "rad",
        });
        out.write(&format!("{folder}phase.json"), format!("{sidecar:#}\n").as_bytes())?;
        let mut files = Files { out, folder, format, log };
        let phase = files.options("simulated phase, radians");
        files.image("phase", &made.phase, &phase)?;
        let magnitude = files.options("simulated magnitude");
        files.image("magnitude", &made.magnitude, &magnitude)?;
        files.mask(&made.mask)?;
        files.truth(&made.truth)
    }
}
