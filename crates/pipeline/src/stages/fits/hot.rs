//! The stage that fits generalised diffusion tensors.

use clap::Args;
use fimbria_image::MapSpec;
use fimbria_models::hot::{self, HotMethod, HotOptions, HotOrder};
use serde::Serialize;

use super::fit_maps::{FitJob, FitModel, Outcome};
use crate::method_text::MethodText;
use crate::options::{Described as _, above, choice};
use crate::stages::volumes::{ShellOptions, VolumeChoice};
use crate::{Named, StageError};

/// The options of a fit of generalised diffusion tensors.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// Order of the form
    #[arg(long, value_name = "ORDER", default_value = "4", value_parser = choice::<HotOrder>())]
    pub order: Named<HotOrder>,

    /// How it is estimated
    #[arg(long, value_name = "METHOD", default_value = "wls")]
    #[arg(value_parser = choice::<HotMethod>())]
    pub method: Named<HotMethod>,

    /// Keep the diffusivity positive in 300 directions; voxels where that changes the fit have
    /// status 2
    #[arg(long)]
    pub positive: bool,

    /// Which shells.
    #[command(flatten)]
    #[serde(flatten)]
    pub shells: ShellOptions,

    /// Leave out volumes with b above this (by more than 5 %)
    #[arg(long, value_name = "B", number = above(0.0, "s/mm²"), usually = "all are used")]
    pub bmax: Option<f64>,
}

impl Parameters {
    fn options(&self) -> HotOptions {
        HotOptions { order: self.order.0, method: self.method.0, positive: self.positive }
    }
}

impl FitModel for Parameters {
    const STAGE: &'static str = "hot";
    const BIDS_MODEL: &'static str = "hot";
    const DESCRIPTION: &'static str = "Generalised diffusion tensor";

    const TEXT: &MethodText = &TEXT;

    fn choice(&self) -> VolumeChoice {
        self.shells.up_to(self.bmax)
    }

    fn maps(&self) -> Vec<MapSpec> {
        hot::maps(&self.options())
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let fitted = hot::fit(
            &*job.subject.dwi,
            &job.subject.mask,
            &job.subject.gradients,
            &self.options(),
            job.on(),
            job.log,
        )?;
        Ok(fitted.into())
    }
}

static TEXT: MethodText = MethodText {
    sentence: "Fit generalised diffusion tensors: forms of order 4, 6 or 8, and their measures",
    method: "\
The model is ln S = ln S0 - b D(g) with the diffusivity D a homogeneous form of the direction g.
Order 2 would be the diffusion tensor; orders 4, 6 and 8 have 15, 28 and 45 unique entries and
follow profiles with several maxima. They take at least as many well-spread directions, and an
unweighted volume or a second b.",
    notes: "\
Units:
  b-values are read in s/mm², diffusivities written in mm²/s.

Order and frame:
  Entries are in lexicographic order of their indices (order 4: xxxx xxxy xxxz xxyy xxyz xxzz xyyy
  xyyz xyzz xzzz yyyy yyyz yyzz yzzz zzzz), each once, not multiplied by how often it occurs, in
  scanner RAS axes.

Maxima are not fibres:
  D says what the signal loses in a direction. Where fibres cross, that is least along each of
  them and most between them: of two equal bundles at right angles the maxima of D lie 45° from
  both. For fibre directions fit an orientation density.",
    references: &[
        ("Ozarslan E, Mareci TH. Magn Reson Med 50, 955 (2003)", "the form"),
        ("Ozarslan E, Vemuri BC, Mareci TH. Magn Reson Med 53, 866 (2005)", "MD, variance, GA"),
        ("Chung S, Lu Y, Henry RG. NeuroImage 33, 531 (2006)", "wls"),
        ("Veraart J et al. NeuroImage 81, 335 (2013)", "iwls"),
    ],
    examples: &[
        "fimbria fit hot dwi.nii.gz -o hot",
        "fimbria fit hot dwi.nii.gz --order 6 --mask mask.nii.gz -o hot",
        "fimbria fit hot dwi.nii.gz --shells 2000 --positive -o hot",
    ],
};
