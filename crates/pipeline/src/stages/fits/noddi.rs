//! The stage that fits neurite orientation dispersion and density.

use clap::Args;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::curve::CurveOptions;
use fimbria_models::noddi::{self, Compat, NoddiOptions, Tissue};
use serde::Serialize;

use super::curve::{CurveParameters, ERRORS, MORE};
use super::fit_maps::{FitJob, FitModel, Outcome};
use crate::method_text::MethodText;
use crate::options::choice;
use crate::stages::load::Subject;
use crate::stages::shown::{Methods, ShownMap, ShownMaps};
use crate::{Choice, Named, StageError, Written};

/// The page's words for the model, and for the convex problem.
const ZHANG: &str = "Zhang H et al. NeuroImage 61, 1000 (2012)";
const DADUCCI: &str = "Daducci A et al. NeuroImage 105, 32 (2015)";

/// The options of a fit of neurite orientation dispersion and density.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// Which diffusivities are taken as known
    #[arg(long, value_name = "TISSUE", default_value = "white")]
    #[arg(value_parser = choice::<Tissue>())]
    pub tissue: Named<Tissue>,

    /// Solve the problem of another program, for comparison
    #[arg(long, value_name = "PROGRAM", value_parser = choice::<Compat>())]
    pub compat: Option<Named<Compat>>,

    /// Those of every fit of a curve.
    #[command(flatten)]
    #[serde(flatten)]
    pub curve: CurveParameters,
}

impl Choice for Tissue {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::White, "white", "1.7e-3 mm²/s along neurites, 3.0e-3 in free water"),
        (Self::Grey, "grey", "1.1e-3 and 3.0e-3"),
        (Self::ExVivo, "ex-vivo", "0.6e-3 and 2.0e-3, and a share of water that stands still"),
    ];
}

impl Choice for Compat {
    const CHOICES: &'static [(Self, &'static str, &'static str)] =
        &[(Self::Amico, "amico", "AMICO's mixture of 144 tissues about the tensor's direction")];
}

impl Parameters {
    fn options(&self, curve: CurveOptions) -> NoddiOptions {
        NoddiOptions { curve, tissue: self.tissue.0, compat: self.compat.map(|compat| compat.0) }
    }
}

impl FitModel for Parameters {
    const STAGE: &'static str = "noddi";
    const BIDS_MODEL: &'static str = "noddi";
    const DESCRIPTION: &'static str = "Neurite orientation dispersion and density";
    const TEXT: &MethodText = &TEXT;

    fn curve(&self) -> Option<&CurveParameters> {
        Some(&self.curve)
    }

    fn consistent(&self) -> Result<(), String> {
        if self.compat.is_some() && self.tissue.0.has_still() {
            return Err("--compat amico is for tissue in vivo, not for --tissue ex-vivo".to_owned());
        }
        if self.compat.is_some() && self.curve.asks_of_solver() {
            return Err("--likelihood, --precision, --max-iterations, --robust and --errors are of the model's own \
                        fit, not of --compat amico"
                .to_owned());
        }
        self.curve.check()
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        let curve = CurveOptions { b_max_s_per_mm2: self.curve.bmax, ..CurveOptions::default() };
        Ok(noddi::check(gradients, &self.options(curve))?)
    }

    fn maps(&self) -> Vec<MapSpec> {
        noddi::maps(self.tissue.0, self.curve.solver.errors)
    }

    fn described_others() -> Vec<Written> {
        let still = Written::scalar("still", "", "share of water that stands still in the signal");
        vec![still.only("with --tissue ex-vivo"), ERRORS]
    }

    fn shown(&self) -> Option<ShownMaps> {
        let density = "Share of the tissue's signal that is in sticks; meaningless in fluid.";
        let dispersion = "How far their directions are spread: 0 parallel, 1 everywhere.";
        let fluid = "Share of the signal that is free water.";
        Some(ShownMaps::new(
            "Neurite density and dispersion",
            [
                ShownMap::new("icvf", "Neurite density index", density),
                ShownMap::new("od", "Orientation dispersion index", dispersion),
                ShownMap::new("isovf", "Free water fraction", fluid),
            ],
        ))
    }

    fn methods(&self) -> Option<Methods> {
        let tissue = self.tissue.0;
        if self.compat.is_some() {
            let text = format!(
                "NODDI was fitted as the convex problem of AMICO (diffusivities {:.1} and {:.1} × 10⁻³ mm²/s): \
                 144 tissues about the first eigenvector and free water, by non-negative least squares and an \
                 elastic net (0.5, 0.001).",
                tissue.along(),
                tissue.free(),
            );
            return Some(Methods { text, references: vec![ZHANG, DADUCCI] });
        }
        let still = if tissue.has_still() { " and a share of still water" } else { "" };
        Some(Methods {
            text: format!(
                "NODDI (sticks dispersed by Watson's distribution, a zeppelin tied to them by \
                 tortuosity, free water{still}; diffusivities {:.1} and {:.1} × 10⁻³ mm²/s) was fitted \
                 by Levenberg and Marquardt's method, with the signal without weighting and the mean \
                 direction.",
                tissue.along(),
                tissue.free(),
            ),
            references: vec![ZHANG, MORE],
        })
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let Subject { dwi, mask, gradients, .. } = job.subject;
        let options = self.options(job.curve_options::<Self>(&self.curve)?);
        Ok(noddi::fit(&**dwi, mask, gradients, &options, job.on(), job.log)?.into())
    }
}

static TEXT: MethodText = MethodText {
    sentence: "Fit NODDI: density and dispersion of neurites, free water, mean direction",
    method: "\
Model:
  S = S0 ((1 - isovf) (icvf A + (1 - icvf) E) + isovf exp(-b d_free)): A is the signal of sticks
  whose directions follow Watson's distribution of concentration kappa about one mean direction, E
  that of a zeppelin of the same dispersion with a radial diffusivity of (1 - icvf) d. S0 and the
  direction are fitted with the fractions. A is a sum of Legendre polynomials, exact to 1e-6 of S0
  at every b that is taken. Needed are 3 different b, 0 may be one, along directions all over
  space, and 10 volumes: a single shell does not determine the model and is refused.

Tissue:
  The diffusivities are assumed, not measured. white is that of the paper, grey what fits cortex
  better; maps of the two are not comparable. ex-vivo has a share of still water as well: fixed
  tissue needs b of some 6000 s/mm² and more.

Noise:
  The magnitude of a weak signal is biased upwards, and with it icvf and isovf. --likelihood
  rician-mean compares the measured signal with the mean of a magnitude, and takes sigma from
  --sigma, from air (--background), or else from the spread of the unweighted volumes, of which
  there must then be two or more. It is right for the noise of one coil, as scanned: after
  denoising, or where many coils were added, sigma no longer says what the floor is.

Compat:
  --compat amico solves the problem that AMICO poses, with its dictionary and penalties, and writes
  the same maps: signals over the mean at b = 0 are mixtures of 12 densities by 12 dispersions about
  the tensor's direction, and of free water. Its numbers are for comparison with studies that used
  it: densities and dispersions lie near those of the dictionary, and crossings and noise act as
  there.",
    notes: "\
Status:
  Status 2 says that a parameter rests at a bound: no free water, or none but sticks. Status 7 says
  that part of the model has no signal: in fluid (isovf 1) icvf, od and the direction are NaN,
  without sticks (icvf 0) od and the direction. Close to that they are hardly known: average
  them weighted by tf, as the modulated maps do, or look at --errors.

Units:
  b-values are read in s/mm². Fractions, od and kappa have no unit.

Order and frame:
  direction is x y z in scanner RAS axes, of length 1; its sign means nothing. Other maps have one
  volume.",
    references: &[
        (ZHANG, "the model"),
        (DADUCCI, "--compat amico"),
        ("Guerrero JM et al. PLoS One 14, e0217118 (2019)", "diffusivities in grey matter"),
        ("Parker CS et al. NeuroImage 245, 118749 (2021)", "means weighted by tissue"),
    ],
    examples: &[
        "fimbria fit noddi dwi.nii.gz -o noddi",
        "fimbria fit noddi dwi.nii.gz --mask mask.nii.gz --likelihood rician-mean --sigma 12 -o noddi",
        "fimbria fit noddi dwi.nii.gz --tissue grey --errors --layout bids -o noddi",
        "fimbria fit noddi dwi.nii.gz --compat amico -o amico",
    ],
};
