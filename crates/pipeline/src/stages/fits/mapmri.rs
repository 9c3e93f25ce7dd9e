//! The stage that fits mean apparent propagators.

use std::fmt;
use std::str::FromStr;

use clap::Args;
use fimbria_image::{GradientTable, MapKind, MapSpec};
use fimbria_models::mapmri::{self, Laplacian, MapmriOptions, Order};
use serde::Serialize;
use serde_json::{Value, json};

use super::fit_maps::{FitJob, FitModel, Outcome};
use crate::method_text::MethodText;
use crate::options::{Described as _, above, choice};
use crate::stages::load::Subject;
use crate::stages::shown::{Methods, ShownMap, ShownMaps};
use crate::stages::volumes::{ShellOptions, VolumeChoice};
use crate::{Choice, Named, Page, StageError, Written};

/// The options of a fit of propagators.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// Where the series ends
    #[arg(long, value_name = "N", default_value = "6", value_parser = choice::<Order>())]
    pub order: Named<Order>,

    /// Weight of the norm of the signal's Laplacian, 0 for none; gcv finds one in each voxel
    #[arg(long, value_name = "WEIGHT|gcv", default_value = "0.2")]
    pub laplacian: Weight,

    /// Keep the propagator from being negative on a grid out to four times its scale
    #[arg(long)]
    pub positive: bool,

    /// One scale along all axes, that of 0.7e-3 mm²/s, in place of the tensor's: NG is not defined then
    #[arg(long)]
    pub isotropic: bool,

    /// Also write odf: how much water is displaced into which direction, for `peaks` and `track`
    #[arg(long)]
    pub odf: bool,

    /// Largest b of the tensor fit that gives axes and scales (volumes up to 5 % above count)
    #[arg(long, value_name = "B", number = above(0.0, "s/mm²"))]
    #[arg(default_value_t = MapmriOptions::default().axes_b_max_s_per_mm2)]
    pub axes_bmax: f64,

    /// From the begin of one gradient pulse to that of the other
    #[arg(long, value_name = "MS", number = above(0.0, "ms"), usually = "43.1, with a warning")]
    pub big_delta: Option<f64>,

    /// How long each pulse lasts
    #[arg(long, value_name = "MS", number = above(0.0, "ms"), usually = "10.6, with a warning")]
    pub small_delta: Option<f64>,

    /// Leave out volumes with b above this (by more than 5 %)
    #[arg(long, value_name = "B", number = above(0.0, "s/mm²"), usually = "all are used")]
    pub bmax: Option<f64>,

    /// Which shells.
    #[command(flatten)]
    #[serde(flatten)]
    pub shells: ShellOptions,
}

impl Choice for Order {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Four, "4", "22 coefficients"),
        (Self::Six, "6", "50 coefficients"),
        (Self::Eight, "8", "95 coefficients"),
    ];
}

/// The weight of the Laplacian: a number or `gcv`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "String")]
pub struct Weight(Laplacian);

impl FromStr for Weight {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.parse::<f64>()) {
            ("gcv", _) => Ok(Self(Laplacian::CrossValidated)),
            (_, Ok(weight)) if (0.0..=1e6).contains(&weight) => Ok(Self(Laplacian::Weight(weight))),
            _ => Err("give a number from 0 to 1000000, or gcv"),
        }
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Laplacian::CrossValidated => f.write_str("gcv"),
            Laplacian::Weight(weight) => write!(f, "{weight}"),
        }
    }
}

impl From<Weight> for String {
    fn from(weight: Weight) -> Self {
        weight.to_string()
    }
}

impl Parameters {
    fn options(&self) -> MapmriOptions {
        let usual = MapmriOptions::default();
        let seconds = |ms: Option<f64>, usual: f64| ms.map_or(usual, |ms| 1e-3 * ms);
        MapmriOptions {
            order: self.order.0,
            laplacian: self.laplacian.0,
            positive: self.positive,
            isotropic: self.isotropic,
            odf: self.odf,
            axes_b_max_s_per_mm2: self.axes_bmax,
            big_delta_s: seconds(self.big_delta, usual.big_delta_s),
            small_delta_s: seconds(self.small_delta, usual.small_delta_s),
        }
    }
}

impl FitModel for Parameters {
    const STAGE: &'static str = "mapmri";
    const BIDS_MODEL: &'static str = "mapmri";
    const DESCRIPTION: &'static str = "Mean apparent propagator";
    const TEXT: &MethodText = &TEXT;

    fn choice(&self) -> VolumeChoice {
        self.shells.up_to(self.bmax)
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        Ok(mapmri::check(gradients, &self.options())?)
    }

    fn in_effect(&self) -> Value {
        let MapmriOptions { big_delta_s, small_delta_s, .. } = self.options();
        json!(Self {
            big_delta: self.big_delta.or(Some(1e3 * big_delta_s)),
            small_delta: self.small_delta.or(Some(1e3 * small_delta_s)),
            ..self.clone()
        })
    }

    fn maps(&self) -> Vec<MapSpec> {
        mapmri::maps(&self.options())
    }

    fn described_others() -> Vec<Written> {
        let (kind, holds) = (MapKind::Harmonics(8), "share of water displaced into each direction");
        vec![Written::image("odf", kind, 45, "", holds).only("with --odf")]
    }

    fn shown(&self) -> Option<ShownMaps> {
        let origin = "How likely water is back where it began: high where it is held.";
        let gaussian = "How far the propagator is from a Gaussian, 0 to 1.";
        Some(ShownMaps::new(
            "Propagators",
            [
                ShownMap::new("RTOP", "Return to the origin", origin),
                ShownMap::new("NG", "Non-Gaussianity", gaussian),
            ],
        ))
    }

    fn methods(&self) -> Option<Methods> {
        let options = self.options();
        let MapmriOptions { order, laplacian, positive, big_delta_s, small_delta_s, .. } = options;
        let weight = match laplacian {
            Laplacian::CrossValidated => {
                "found by generalised cross-validation in each voxel".to_owned()
            }
            Laplacian::Weight(weight) => format!("{weight}"),
        };
        let grid =
            if positive { " and a propagator that is nowhere negative on a grid" } else { "" };
        Some(Methods {
            text: format!(
                "The signal was fitted by a MAP-MRI series of order {} along the axes of the tensor up to b = \
                 {} s/mm², with the norm of its Laplacian as regularisation (weight {weight}){grid}; pulses \
                 of {:.1} ms, {:.1} ms apart.",
                order.degree(),
                options.axes_b_max_s_per_mm2,
                1e3 * small_delta_s,
                1e3 * big_delta_s,
            ),
            references: vec![
                "Özarslan E et al. NeuroImage 78, 16 (2013)",
                "Fick RHJ et al. NeuroImage 134, 365 (2016)",
            ],
        })
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let Subject { dwi, mask, gradients, .. } = job.subject;
        let options = self.options();
        if self.big_delta.is_none() || self.small_delta.is_none() {
            job.log.warn(Page::Troubleshooting, &format!(
                "the timing of the gradient pulses is assumed: {:.1} ms each, {:.1} ms apart (--small-delta, \
                 --big-delta); with another diffusion time RTOP, RTAP, RTPP, MSD and QIV are all off by a factor",
                1e3 * options.small_delta_s,
                1e3 * options.big_delta_s,
            ));
        }
        Ok(mapmri::fit(&**dwi, mask, gradients, &options, job.on(), job.log)?.into())
    }
}

static TEXT: MethodText = MethodText {
    sentence: "Fit mean apparent propagators (MAP-MRI): RTOP, RTAP, RTPP, MSD, QIV, NG and more",
    method: "\
Model:
  The signal is a series of Hermite functions along the three axes of the tensor (of volumes up to
  --axes-bmax), scaled by its diffusivities and ending at --order; Fourier's transform of the
  series, the propagator, says how likely water is displaced by how much. Needed are unweighted
  volumes, two shells and as many volumes as there are coefficients.

Regularisation:
  --laplacian weighs the norm of the signal's Laplacian, q in 1/mm, against the squared residuals of
  the signals over their mean without weighting; 0.2 is what most pipelines take, gcv finds the
  weight in each voxel by generalised cross-validation. --positive solves for the coefficients whose
  propagator is nowhere negative on a grid of 1,055 points.

Indices:
  RTOP is the propagator at 0, RTAP and RTPP those to the first axis and to the plane across it; MSD
  its second moment, QIV one over the integral of q² E. NG is the sine of the angle between the
  propagator and its Gaussian part, NGpar and NGperp that of the marginals along and across the
  first axis. --odf adds the integral of r² P along each direction, whose maxima `fimbria peaks`
  finds and `fimbria track` follows.

Isotropic:
  With --isotropic the series has one scale, as QSIRecon's DIPY node has it: RTOP, MSD, QIV and the
  norm are those of DIPY's, coefficients are along the axes of the tensor and not its.",
    notes: "\
Timing:
  RTOP goes with the diffusion time to the power of -3/2, MSD with the time itself: give --big-delta
  and --small-delta. Coefficients, NG, NGpar and NGperp do not depend on them but through the weight
  of the Laplacian.

Status:
  Status 2 says that the propagator rests on 0 somewhere (--positive).

Units:
  b-values are read in s/mm²; RTOP is in 1/mm³, RTAP in 1/mm², RTPP in 1/mm, MSD in mm², QIV in mm⁵.

Order and frame:
  axes are x y z of the three axes in scanner RAS axes, mu the scale along each in mm. mapcoeffs are
  ordered by total degree, then by that along the first axis and along the second, both descending:
  000, 200 110 101 020 011 002, 400 310 ...",
    references: &[
        ("Özarslan E et al. NeuroImage 78, 16 (2013)", "the series, the indices"),
        ("Fick RHJ et al. NeuroImage 134, 365 (2016)", "the Laplacian"),
        ("Craven P, Wahba G. Numer Math 31, 377 (1979)", "gcv"),
        ("Hosseinbor AP et al. NeuroImage 64, 650 (2013)", "QIV"),
    ],
    examples: &[
        "fimbria fit mapmri dwi.nii.gz --big-delta 43.1 --small-delta 10.6 -o mapmri",
        "fimbria fit mapmri dwi.nii.gz --order 4 --laplacian gcv --big-delta 35 --small-delta 20 -o mapmri",
        "fimbria fit mapmri dwi.nii.gz --odf --big-delta 43.1 --small-delta 10.6 -o mapmri",
        "fimbria fit mapmri dwi.nii.gz --order 4 --positive --big-delta 35 --small-delta 20 -o mapmri",
    ],
};
