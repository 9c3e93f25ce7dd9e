//! The stage that makes the gradient-echo scan of a digital subject.

use std::path::Path;

use fimbria_image::Image;
use fimbria_phantoms::{GreSpec, GreSubject, gre};
use fimbria_qsm::Geometry;
use serde_json::{Value, json};

use crate::stages::field::Echoes;
use crate::stages::phantom::Files;
use crate::{Choice as _, Logbook, MapFormat, OutputFolder, Product, Products, Stage, StageError};

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
        let GreSpec { placement, susceptibilities, b0_tesla, echo_times, snr, seed, finer } =
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
            "echo_times_s": echo_times,
            // JSON has no infinity, which stands for no noise.
            "snr": snr.is_finite().then_some(snr),
            "seed": seed,
            "finer": finer,
            "format": self.format.name(),
        })
    }

    fn outputs(&self) -> Vec<String> {
        let image = |name| format!("{name}.{}", self.format.name());
        let mut files = ["phase", "magnitude", "mask"].map(image).to_vec();
        files.push("phase.json".to_owned());
        files
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let made = gre(&self.spec, log.session().on.workers, log)?;
        log.count("echoes", made.phase.n_volumes as u64);
        log.count("voxels", made.mask.len() as u64);
        let volumes = |image: &Image| -> Vec<Vec<f32>> {
            (0..image.n_volumes).map(|v| image.volume(v).to_vec()).collect()
        };
        let grid = made.phase.grid;
        products.put(Echoes {
            grid,
            geometry: Geometry::new(&grid, [0.0, 0.0, 1.0])?,
            phases: volumes(&made.phase),
            magnitudes: volumes(&made.magnitude),
            times: self.spec.echo_times.clone(),
            b0_tesla: self.spec.b0_tesla,
            mask: made.mask.clone(),
        });
        products.put(made);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let made = products.get::<GreSubject>()?;
        let sidecar = json!({
            "EchoTime": self.spec.echo_times,
            "MagneticFieldStrength": self.spec.b0_tesla,
            "Units": "rad",
        });
        out.write("phase.json", format!("{sidecar:#}\n").as_bytes())?;
        let mut files = Files { out, format: self.format, log };
        let phase = files.options("simulated phase, radians");
        files.image("phase", &made.phase, &phase)?;
        let magnitude = files.options("simulated magnitude");
        files.image("magnitude", &made.magnitude, &magnitude)?;
        files.mask(&made.mask)?;
        files.truth(&made.truth)
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
