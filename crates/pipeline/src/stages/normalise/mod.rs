//! The stage that makes densities and amounts of tissues comparable: over one head, and between heads.

mod files;
mod in_run;
mod method;

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::{Image, MapKind, MapSpec, Mask, Window};
use fimbria_models::normalise::{self, MOST_ORDER, NormaliseError, Normalised};
use serde::Serialize;
use serde_json::json;

pub use self::files::{NormaliseFiles, TissuesError};
pub(in crate::stages) use self::in_run::NormaliseInRun;
pub(in crate::stages) use self::method::METHOD;
use super::fod_field::Gain;
use crate::options::{Described as _, within};
use crate::{Carried, Logbook, MapContext, MapStyle, OutputFolder, Page, StageError, Written};

static FOD: MapSpec = MapSpec::of_kind(
    "fod_normalised",
    MapKind::Harmonics(12),
    91,
    "",
    "normalised density, spherical harmonics in MRtrix3's basis and order, scanner RAS axes",
);
static TISSUES: MapSpec = MapSpec::of_kind(
    "tissues_normalised",
    MapKind::Scalar,
    3,
    "",
    "normalised amounts of fibres (integral of the density) and of the other tissues, in units of their responses",
);
static GAIN: MapSpec = MapSpec::scalar(
    "gain",
    "",
    "how bright the scanner was: what densities and amounts were divided by",
);
static USED: MapSpec = MapSpec::of_kind(
    "used",
    MapKind::Code,
    1,
    "",
    "0 outside mask, 1 the gain was found of it, 2 outlier",
)
.within(Window::Fixed([0.0, 2.0]));

/// What `fimbria normalise` writes.
pub const NORMALISE_WRITES: &[Written] = &[
    Written::map(&FOD),
    Written::map(&TISSUES),
    Written::map(&GAIN),
    Written::map(&USED),
    Written::RECORD,
];

/// How intensities are normalised.
#[derive(Clone, Copy, Debug, PartialEq, Args, Serialize)]
pub struct NormaliseParameters {
    /// Order of the polynomial in the logarithm of the gain; with 0 the gain is one number
    #[arg(long, value_name = "N", number = within(0_usize, MOST_ORDER, ""))]
    #[arg(default_value_t = MOST_ORDER)]
    pub order: usize,
}

/// Of these amounts, a volume for each tissue in units of its response.
fn find_gain(
    tissues: &Image,
    mask: &Mask,
    parameters: &NormaliseParameters,
    log: &Logbook<'_>,
) -> Result<Gain, NormaliseError> {
    let amounts: Vec<_> = (0..tissues.n_volumes).map(|tissue| tissues.volume(tissue)).collect();
    let workers = log.session().on.workers;
    let Normalised { field, balance, kept, scale, rounds, converged } =
        normalise::normalise(&amounts, mask, parameters.order, workers, log)?;
    if !converged {
        log.warn(Page::Densities, "the gain has not settled: look at its map");
    }
    let mut used = Image::zeros(mask.grid, 1);
    mask.voxels.iter().for_each(|&voxel| used.data[voxel as usize] = 2.0);
    kept.voxels.iter().for_each(|&voxel| used.data[voxel as usize] = 1.0);
    log.note(&format!("mean gain {scale:.4}"));
    log.count("voxels", mask.len() as u64);
    log.count("outliers", (mask.len() - kept.len()) as u64);
    log.result("scale", scale);
    log.result("balance", json!(balance));
    log.result("rounds", rounds);
    Ok(Gain { gain: field, used })
}

/// How the maps are written.
#[derive(Clone, Debug)]
struct Maps {
    style: MapStyle,
    entities: String,
}

impl Maps {
    fn context(&self, carried: Carried) -> MapContext {
        MapContext {
            stage: METHOD.name,
            model: "csd",
            label: "",
            model_entry: json!({ "Description": "Normalised intensities" }),
            entities: self.entities.clone(),
            carried,
        }
    }

    fn names(&self) -> Vec<String> {
        let context = self.context(Carried::default());
        let names = |map: &&MapSpec| self.style.file_names(map, &context);
        [&FOD, &TISSUES, &GAIN, &USED].iter().flat_map(names).collect()
    }

    /// Writes the densities and amounts, divided by the gain; `fod` with what its volumes are.
    fn write(
        &self,
        (spec, fod): (&MapSpec, &Image),
        tissues: &Image,
        Gain { gain, used }: &Gain,
        carried: &Carried,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let context = self.context(carried.clone().with(log.session().header_entries()));
        let (workers, voxels) = (log.session().on.workers, gain.data.len());
        for (spec, image) in [(spec, fod), (&TISSUES, tissues)] {
            log.check()?;
            let spec = MapSpec { n_volumes: image.n_volumes, ..spec.clone() };
            let value = |sample: usize| image.data[sample] / gain.data[sample % voxels];
            self.style.write_samples(&spec, &gain.grid, &value, &context, out, workers)?;
        }
        self.style.write(&GAIN, gain, &context, out, workers)?;
        self.style.write(&USED, used, &context, out, workers)?;
        Ok(())
    }
}
