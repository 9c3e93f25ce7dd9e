//! The stage that makes of kurtosis what it says of bundles of parallel axons.

use clap::Args;
use fimbria_compute::Silent;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::dki::{self, DkiOptions, Method};
use fimbria_models::wmti;
use serde::Serialize;

use super::fit_maps::{FitJob, FitModel, Outcome};
use crate::method_text::MethodText;
use crate::options::{Described as _, above, choice};
use crate::stages::load::Subject;
use crate::stages::shown::{Methods, ShownMap, ShownMaps};
use crate::stages::volumes::{ShellOptions, VolumeChoice};
use crate::{Choice as _, Named, StageError};

/// The options of a fit of the tissue of bundles.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// How the diffusion and kurtosis tensors are estimated
    #[arg(long, value_name = "METHOD", default_value = "wls", value_parser = choice::<Method>())]
    pub method: Named<Method>,

    /// Leave estimates as they are where they violate D > 0, K >= 0 or K <= 3 / (b_max D)
    #[arg(long)]
    pub unconstrained: bool,

    /// Leave out volumes with b above this (by more than 5 %)
    #[arg(long, value_name = "B", default_value_t = 3000.0, number = above(0.0, "s/mm²"))]
    pub bmax: f64,

    /// Which shells.
    #[command(flatten)]
    #[serde(flatten)]
    pub shells: ShellOptions,
}

impl Parameters {
    fn options(&self) -> DkiOptions {
        DkiOptions {
            method: self.method.0,
            constrained: !self.unconstrained,
            b_max_s_per_mm2: self.bmax,
            ..DkiOptions::default()
        }
    }
}

impl FitModel for Parameters {
    const STAGE: &'static str = "dkimicro";
    const BIDS_MODEL: &'static str = "dkimicro";
    const DESCRIPTION: &'static str = "White-matter tract integrity";
    const TEXT: &MethodText = &TEXT;

    fn choice(&self) -> VolumeChoice {
        self.shells.up_to(Some(self.bmax))
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        dki::Problem::new(gradients, &self.options(), &Silent)?;
        Ok(())
    }

    fn maps(&self) -> Vec<MapSpec> {
        wmti::maps()
    }

    fn shown(&self) -> Option<ShownMaps> {
        let fraction = "Where one bundle runs; elsewhere a number without that meaning.";
        let aligned = "White where the tensor is that of one bundle.";
        Some(ShownMaps::new(
            "Tissue of bundles",
            [
                ShownMap::new("AWF", "Axonal water fraction", fraction),
                ShownMap::new("aligned", "Where it holds", aligned),
            ],
        ))
    }

    fn methods(&self) -> Option<Methods> {
        Some(Methods {
            text: format!(
                "White-matter tract integrity was made of diffusion and kurtosis tensors fitted by {}: \
                 the axonal water fraction Kmax / (Kmax + 3), and tensors inside and outside of axons \
                 fitted to the diffusivities along 100 directions.",
                self.method.0.name(),
            ),
            references: vec![
                "Fieremans E, Jensen JH, Helpern JA. NeuroImage 58, 177 (2011)",
                "Tabesh A et al. Magn Reson Med 65, 823 (2011)",
            ],
        })
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let Subject { dwi, mask, gradients, .. } = job.subject;
        Ok(wmti::fit(&**dwi, mask, gradients, &self.options(), job.on(), job.log)?.into())
    }
}

static TEXT: MethodText = MethodText {
    sentence: "Make of kurtosis the water inside and outside of the axons of a bundle: AWF and more",
    method:
        "\
Model:
  Water inside and outside of parallel axons, both Gaussian (WMTI): the axonal water fraction AWF is
  Kmax / (Kmax + 3); along a direction with diffusivity D and kurtosis K water outside diffuses with
  D (1 + √(K Kmax) / 3), inside with D (1 - √(K / Kmax)), and tensors are fitted to these along 100
  directions. axonalD is the trace of that inside; ADE, RDE and tortuosity (ADE / RDE) are of that
  outside. D and K are those of fit dki, constrained as there. Needed are two shells beside b = 0
  and 15 distinct directions.

Where it holds:
  In one bundle whose axons lie within some 30 degrees, and where water inside axons diffuses
  more slowly than outside, which the solution takes for granted. The map aligned is 1 where the
  tensor is that of one bundle (linearity 0.4 and more, planarity at most 0.2, sphericity at most
  0.35): elsewhere, in crossings, grey matter and fluid, the maps are numbers without that meaning.",
    notes: "\
Status:
  As of fit dki; status 7 also where there is no kurtosis: AWF, axonalD, ADE, RDE and tortuosity are
  NaN there.

Units:
  b-values are read in s/mm², diffusivities written in mm²/s; AWF, tortuosity, AK and KFA have none.

Order and frame:
  Every map has one volume; none depends on axes.",
    references: &[
        ("Fieremans E, Jensen JH, Helpern JA. NeuroImage 58, 177 (2011)", "the model"),
        ("Tabesh A et al. Magn Reson Med 65, 823 (2011)", "kurtosis, its constraints"),
        ("Jelescu IO et al. NeuroImage 107, 242 (2015)", "what it takes for granted"),
    ],
    examples: &[
        "fimbria fit dkimicro dwi.nii.gz -o dkimicro",
        "fimbria fit dkimicro dwi.nii.gz --mask mask.nii.gz --bmax 2500 -o dkimicro",
        "fimbria fit dkimicro dwi.nii.gz --shells 1000,2000 --layout bids -o dkimicro",
    ],
};
