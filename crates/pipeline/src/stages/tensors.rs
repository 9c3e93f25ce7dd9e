//! The stage that makes a sheet of higher-order tensors.

use crate::options::{Described as _, at_least, one_of};
use clap::Args;
use fimbria_image::MapKind;
use fimbria_phantoms::{TensorSheet, TensorsSpec, tensors};
use serde::Serialize;
use serde_json::{Value, json};

use crate::stages::head::Two;
use crate::stages::phantom::Files;
use crate::{
    Choice as _, FileKind, Logbook, MapFormat, OutputFolder, Product, Products, Stage, StageError,
    Written,
};

/// What `fimbria phantom tensors` writes.
pub const TENSORS_WRITES: &[Written] = &[
    Written::image(
        "hot",
        MapKind::Scalar,
        0,
        "",
        "unique entries of the form 0.1 |g|^m + sum f_k (u_k.g)^m of the fibres u_k \
         (15, 28 or 45 volumes for order 4, 6, 8): what `fimbria peaks` reads",
    ),
    Written::image(
        "truth/dirs",
        MapKind::Peaks,
        6,
        "",
        "x y z of two fibres, larger fraction first, 0 = none",
    ),
    Written::image(
        "truth/fractions",
        MapKind::Scalar,
        2,
        "",
        "f of each; 1 for a single fibre, 0.4 to 0.6 for two",
    ),
    Written::code("truth/count", "number of fibres: 2 in the middle half of the rows, 1 elsewhere"),
    Written::scalar("truth/angle", "degree", "angle between the fibres; NaN with one"),
    Written::file("run.json", FileKind::Json, "parameters, machine, times"),
];

/// The options of a sheet of tensors.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct TensorsOptions {
    /// Number of voxels along x and y
    #[arg(long, value_name = "NX,NY", default_value = "32,32")]
    pub size: Two<usize>,

    /// Order of the tensors
    #[arg(long, value_name = "M", default_value_t = 4)]
    #[arg(number = one_of(&[4_usize, 6, 8]))]
    pub order: usize,

    /// Crossing angles in degrees at the least and at the greatest x, linear in between
    #[arg(long, value_name = "DEG,DEG", default_value = "60,90")]
    pub angles: Two<f64>,

    /// Standard deviation of the noise on every entry, relative to the maximum of a single fibre
    #[arg(long, value_name = "SIGMA", default_value_t = 0.0)]
    #[arg(number = at_least(0.0, ""))]
    pub noise: f64,

    /// Seed of fractions, tilts and noise
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    #[arg(number = at_least(0_u64, ""))]
    pub rng_seed: u64,
}

impl TensorsOptions {
    /// What they describe.
    pub fn spec(&self) -> TensorsSpec {
        let &Self { size, order, angles, noise, rng_seed: seed } = self;
        TensorsSpec { size: size.0, order, angles_deg: angles.0, noise, seed }
    }
}

/// Makes a sheet of tensors whose fibres are known, and writes both.
pub struct TensorsPhantom {
    /// What to make.
    pub spec: TensorsSpec,
    /// Format of its images.
    pub format: MapFormat,
}

impl Stage for TensorsPhantom {
    fn name(&self) -> &'static str {
        "phantom"
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<TensorSheet>()]
    }

    fn parameters(&self) -> Value {
        let TensorsSpec { size, order, angles_deg, noise, seed } = &self.spec;
        json!({
            "kind": "tensors", "size": size, "order": order, "angles_deg": angles_deg,
            "noise": noise, "seed": seed, "format": self.format.name(),
        })
    }

    fn outputs(&self) -> Vec<String> {
        vec![format!("hot.{}", self.format.name())]
    }

    fn compute(&self, products: &mut Products, _log: &Logbook<'_>) -> Result<(), StageError> {
        products.put(tensors(&self.spec)?);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let sheet = products.get::<TensorSheet>()?;
        let mut files = Files { out, folder: "", format: self.format, log };
        let hot = format!("unique entries of a form of order {}, scanner axes", self.spec.order);
        files.image("hot", &sheet.hot, &files.options(&hot))?;
        files.truth(&sheet.truth)
    }
}
