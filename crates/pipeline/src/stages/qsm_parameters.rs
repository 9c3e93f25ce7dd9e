//! How a map is asked for: method, numerics, solver and when to stop.

use std::path::PathBuf;

use clap::Args;
use fimbria_qsm::dqsm::{DqsmOptions, Iterate};
use fimbria_qsm::fourier::FourierMethod;
use fimbria_qsm::ilsqr::Ilsqr;
use fimbria_qsm::nonlinear::Nonlinear;
use fimbria_qsm::solver::StoppingRule;
use fimbria_qsm::variation::{self, Outside, Variation};
use fimbria_qsm::{Edges, FA_THRESHOLD, PUBLISHED_SUPPORT, Products as Product, Published};
use serde::Serialize;

use crate::options::{
    Described as _, OptionError, Takes, above, at_least, choice, refuse_unused, within,
};
use crate::{Choice, Named};

/// How a map is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QsmMethod {
    /// Total variation of what diffusion does not explain.
    #[default]
    Dtv,
    /// Guided by diffusion, as published.
    Dqsm,
    /// Susceptibility tensors symmetric about the fibres.
    Tensor,
    /// Truncated k-space division.
    Tkd,
    /// Tikhonov's regularisation.
    Tikhonov,
    /// Total variation.
    Tv,
    /// Rapid two-step.
    Rts,
    /// Total generalised variation.
    Tgv,
    /// Total variation but for the edges of the magnitude.
    Medi,
    /// Nonlinear dipole inversion.
    Ndi,
    /// Least squares, their streaks taken off.
    Ilsqr,
}

impl Choice for QsmMethod {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (
            Self::Dtv,
            "dtv",
            "guided by diffusion: total variation of what FA, V1, MD and S0 do not explain; without \
             them that of the map",
        ),
        (Self::Dqsm, "dqsm", "guided by diffusion, as published: fibres are cylinders"),
        (Self::Tensor, "tensor", "guided by diffusion: tensors about fibres, mean and anisotropy"),
        (Self::Tkd, "tkd", "truncated k-space division"),
        (Self::Tikhonov, "tikhonov", "division by D² + λ"),
        (Self::Tv, "tv", "total variation, data inside the mask"),
        (Self::Rts, "rts", "rapid two-step: division where well conditioned, then TV"),
        (
            Self::Tgv,
            "tgv",
            "total generalised variation: slopes cost nothing, data inside the mask",
        ),
        (Self::Medi, "medi", "total variation but for the edges of --magnitude (MEDI)"),
        (Self::Ndi, "ndi", "nonlinear dipole inversion: steps downhill of the phase"),
        (
            Self::Ilsqr,
            "ilsqr",
            "least squares that end early, then their streaks taken off (iLSQR)",
        ),
    ];
}

/// What a map explains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataTerm {
    /// The field.
    #[default]
    Field,
    /// The phase that it turned.
    Phase,
}

impl Choice for DataTerm {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Field, "field", "the field"),
        (Self::Phase, "phase", "the phase that it turned by --te: whole turns cost nothing"),
    ];
}

impl Choice for Product {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Fast, "fast", "spheres by Fourier transform, cylinders where they reach; exact"),
        (Self::Dense, "dense", "every voxel on every voxel, as published"),
    ];
}

impl Choice for Iterate {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Cgls, "cgls", "conjugate gradients: the least objective after so many products"),
        (Self::Lsmr, "lsmr", "bidiagonalisation: the least gradient after so many products"),
        (Self::Landweber, "landweber", "as published"),
    ];
}

impl Choice for Edges {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Free, "free", "neighbours outside the mask do not count"),
        (Self::Zero, "zero", "they are 0, as published"),
    ];
}

impl Choice for Outside {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Sources, "sources", "sources of whatever a background has left in the field"),
        (Self::Nothing, "nothing", "nothing: the field is that of the mask alone, as simulated"),
    ];
}

/// What a map may be compatible with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QsmCompat {
    /// The original dQSM program.
    Dqsm,
}

impl Choice for QsmCompat {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[(
        Self::Dqsm,
        "dqsm",
        "the published program: tesla, its step, data in all voxels, ±50 voxels, zero edges",
    )];
}

/// Where an iteration starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// At zero.
    #[default]
    Zero,
    /// At Tikhonov's map.
    Tikhonov,
}

impl Choice for Start {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Zero, "zero", "zero, as published"),
        (Self::Tikhonov, "tikhonov", "the map of --method tikhonov"),
    ];
}

/// The methods that take fibre directions.
pub(in crate::stages) const GUIDED: &[QsmMethod] =
    &[QsmMethod::Dtv, QsmMethod::Dqsm, QsmMethod::Tensor];
/// The methods that weigh the data of each voxel.
pub(in crate::stages) const WEIGHED: &[QsmMethod] = &[
    QsmMethod::Dtv,
    QsmMethod::Dqsm,
    QsmMethod::Tensor,
    QsmMethod::Tv,
    QsmMethod::Tgv,
    QsmMethod::Medi,
    QsmMethod::Ndi,
    QsmMethod::Ilsqr,
];
/// The methods that take edges of a magnitude.
pub(in crate::stages) const OF_MAGNITUDE: &[QsmMethod] = &[QsmMethod::Medi];
/// The methods that map in one go, so that parts can be mapped by themselves.
pub(in crate::stages) const IN_PASSES: &[QsmMethod] = &[
    QsmMethod::Dtv,
    QsmMethod::Tkd,
    QsmMethod::Tikhonov,
    QsmMethod::Tv,
    QsmMethod::Rts,
    QsmMethod::Tgv,
    QsmMethod::Medi,
    QsmMethod::Ndi,
    QsmMethod::Ilsqr,
];
/// The methods that weigh smoothness by κ, and whose solver is chosen.
const SMOOTH: &[QsmMethod] = &[QsmMethod::Dqsm, QsmMethod::Tensor];
const CYLINDERS: &[QsmMethod] = &[QsmMethod::Dqsm];
/// The methods that make variation small within the mask.
const OF_VARIATION: &[QsmMethod] =
    &[QsmMethod::Dtv, QsmMethod::Tv, QsmMethod::Tgv, QsmMethod::Medi];
/// The methods that iterate as often as they are told.
const ITERATED: &[QsmMethod] = &[
    QsmMethod::Dtv,
    QsmMethod::Dqsm,
    QsmMethod::Tensor,
    QsmMethod::Tv,
    QsmMethod::Tgv,
    QsmMethod::Medi,
    QsmMethod::Ndi,
    QsmMethod::Ilsqr,
];
/// Those of them that end where the map changes little.
const SETTLING: &[QsmMethod] = &[
    QsmMethod::Dtv,
    QsmMethod::Dqsm,
    QsmMethod::Tensor,
    QsmMethod::Tv,
    QsmMethod::Tgv,
    QsmMethod::Medi,
    QsmMethod::Ndi,
];
/// Those of them that end where the gradient is small.
const OF_GRADIENT: &[QsmMethod] = &[QsmMethod::Dqsm, QsmMethod::Tensor, QsmMethod::Ilsqr];
/// The methods of one number.
const OF_STRENGTH: &[QsmMethod] = &[
    QsmMethod::Dtv,
    QsmMethod::Tkd,
    QsmMethod::Tikhonov,
    QsmMethod::Tv,
    QsmMethod::Rts,
    QsmMethod::Tgv,
    QsmMethod::Medi,
    QsmMethod::Ndi,
    QsmMethod::Ilsqr,
];

/// The methods that have kernels.
const ON_DEVICES: &[QsmMethod] = &[
    QsmMethod::Dtv,
    QsmMethod::Dqsm,
    QsmMethod::Tensor,
    QsmMethod::Tv,
    QsmMethod::Tgv,
    QsmMethod::Medi,
    QsmMethod::Ndi,
    QsmMethod::Ilsqr,
    QsmMethod::Rts,
];
/// The methods whose products several processes share. The others are made of transforms of one volume, whose
/// halves would wait for each other's numbers longer than a transform takes.
const OF_PROCESSES: &[QsmMethod] = &[QsmMethod::Dqsm, QsmMethod::Tensor];

impl QsmMethod {
    /// True of a method that devices help with.
    pub fn takes_devices(self) -> bool {
        ON_DEVICES.contains(&self)
    }

    /// True of a method that several processes share.
    pub fn takes_processes(self) -> bool {
        OF_PROCESSES.contains(&self)
    }
}

/// How the map of a method is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Inversion {
    /// κ‖Ax - b‖² + (1 - κ)‖Dx‖² made least.
    Smooth,
    /// Edges made few, of the data so explained.
    Variation(Variation, DataTerm),
    /// Downhill; the radians are those of the field.
    Nonlinear(Nonlinear),
    /// Least squares, and their streaks taken off.
    Ilsqr(Ilsqr),
    /// In the Fourier domain.
    Fourier(FourierMethod),
}

/// The options of a map; `None` for the default of the method, see
/// [`in_effect`](Self::in_effect).
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct QsmParameters {
    /// How the map is made
    #[arg(long, value_name = "METHOD", default_value = "dtv")]
    #[arg(value_parser = choice::<QsmMethod>(), default_value_if("compat", "dqsm", "dqsm"))]
    #[arg(default_value_if("dqsm_files", "true", "dqsm"))]
    pub method: Named<QsmMethod>,

    /// Whose numerics to follow
    #[arg(long, value_name = "PROGRAM", value_parser = choice::<QsmCompat>())]
    #[arg(used_by("method", CYLINDERS))]
    pub compat: Option<Named<QsmCompat>>,

    /// FA above which a voxel has a fibre
    #[arg(long, value_name = "FA", number = within(0.0, 1.0, ""), help_heading = "Input")]
    #[arg(used_by("method", SMOOTH), usually = "0.2")]
    pub fa_threshold: Option<f64>,

    /// Share κ of the data
    #[arg(long, value_name = "SHARE", number = above(0.0, "").up_to(1.0))]
    #[arg(used_by("method", SMOOTH))]
    #[arg(usually = "0.985; 0.95 in a run, for its noisier fields; 0.75 with --compat dqsm")]
    pub kappa: Option<f64>,

    /// Which iteration
    #[arg(long, value_name = "SOLVER", value_parser = choice::<Iterate>())]
    #[arg(used_by("method", SMOOTH), usually = "cgls; landweber with --compat dqsm")]
    pub solver: Option<Named<Iterate>>,

    /// Step of --solver landweber; one that would diverge is made smaller
    #[arg(long, value_name = "STEP", number = above(0.0, ""))]
    #[arg(used_by("method", SMOOTH), usually = "a safe one; 0.15 with --compat dqsm")]
    pub step: Option<f64>,

    /// How products are made; both are exact
    #[arg(long, value_name = "PRODUCTS", value_parser = choice::<Product>())]
    #[arg(used_by("method", CYLINDERS), usually = "fast")]
    pub products: Option<Named<Product>>,

    /// What lies beyond the mask, for the penalty
    #[arg(long, value_name = "EDGES", value_parser = choice::<Edges>())]
    #[arg(used_by("method", SMOOTH), usually = "free; zero with --compat dqsm")]
    pub edges: Option<Named<Edges>>,

    /// What is outside the mask, for the field
    #[arg(long, value_name = "WHAT", value_parser = choice::<Outside>())]
    #[arg(used_by("method", OF_VARIATION), usually = "sources")]
    pub outside: Option<Named<Outside>>,

    /// What is explained
    #[arg(long, value_name = "WHAT", value_parser = choice::<DataTerm>())]
    #[arg(used_by("method", OF_VARIATION), usually = "field")]
    pub data: Option<Named<DataTerm>>,

    /// Voxels that a source reaches along each axis
    #[arg(long, value_name = "VOXELS", number = at_least(1_u32, ""))]
    #[arg(used_by("method", SMOOTH), usually = "all; 50 with --compat dqsm")]
    pub support: Option<u32>,

    /// Where the iteration starts
    #[arg(long, value_name = "START", value_parser = choice::<Start>())]
    #[arg(used_by("method", SMOOTH), usually = "zero")]
    pub start: Option<Named<Start>>,

    /// Iterations at most
    #[arg(long, value_name = "N", number = at_least(1_usize, ""))]
    #[arg(used_by("method", ITERATED))]
    #[arg(
        usually = "100; 200 of ndi; 50 of each part of ilsqr; 1000 of dqsm and tensor, 20 in a run, \
                   for its noisier fields"
    )]
    pub iterations: Option<usize>,

    /// Stop where the map changes by no more than this part of itself
    #[arg(long, value_name = "SHARE", number = at_least(0.0, ""))]
    #[arg(used_by("method", SETTLING), usually = "2e-3; 1e-3 of ndi; 1e-6 of dqsm and tensor")]
    pub tolerance: Option<f64>,

    /// Stop where the gradient is no more than this part of its first
    #[arg(long, value_name = "SHARE", number = at_least(0.0, ""))]
    #[arg(used_by("method", OF_GRADIENT), usually = "1e-6; 1e-2 of ilsqr")]
    pub gradient_tolerance: Option<f64>,

    /// Stop where the field is explained to this noise (after weights)
    #[arg(long, value_name = "PPM", number = above(0.0, "ppm"), used_by("method", SMOOTH))]
    pub noise: Option<f64>,

    /// λ of dtv, tv, tgv, medi, ndi and tikhonov, threshold of tkd, δ of rts, |D| below which ilsqr looks
    /// for streaks
    #[arg(long, value_name = "VALUE", number = above(0.0, ""), used_by("method", OF_STRENGTH))]
    #[arg(usually = "2e-4; 1e-3 of ndi, 0.15 of tkd and rts, 0.01 of tikhonov, 0.1 of ilsqr")]
    pub strength: Option<f64>,

    /// Make the mean over the mask zero
    #[arg(long, in_run = "true", conflicts_with = "reference")]
    pub zero_mean: bool,

    /// Make the mean over these voxels zero instead: a 3-D image on the same grid, inside where above
    /// zero
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::MASK)]
    pub reference: Option<PathBuf>,
}

/// The original program's numerics need the field's strength.
#[derive(Debug, thiserror::Error)]
#[error("the published program works in tesla: give B0")]
pub struct NeedsB0;

impl QsmParameters {
    /// Whether every option that is given is used, and the options go together.
    ///
    /// # Errors
    /// [`OptionError`].
    pub fn check(&self) -> Result<(), OptionError> {
        let method = self.method.0;
        refuse_unused(self, "method", method.name())?;
        let solver = self.in_effect().solver.unwrap_or_default().0;
        if self.step.is_some() && solver != Iterate::Landweber {
            let solver = solver.name();
            let said = format!("`step` is that of the solver landweber; {solver} chooses its own");
            return Err(OptionError::Unusable(said));
        }
        // The kernel of a dipole is -2/3 to 1/3.
        let is_threshold = matches!(method, QsmMethod::Tkd | QsmMethod::Rts | QsmMethod::Ilsqr);
        match self.strength.filter(|strength| is_threshold && *strength >= 2.0 / 3.0) {
            Some(strength) => Err(OptionError::Unusable(format!(
                "strength = {strength}: no part of the kernel is beyond 2/3"
            ))),
            None => Ok(()),
        }
    }

    /// What noisy fields want where it is not said: a smaller share of the data and an early end.
    /// The published program has its own numbers, and methods of one number need none.
    #[must_use]
    pub fn of_noisy_field(self) -> Self {
        if self.is_published() || !self.is_smooth() {
            return self;
        }
        let (kappa, iterations) = (self.kappa.or(Some(0.95)), self.iterations.or(Some(20)));
        Self { kappa, iterations, ..self }
    }

    /// These, with the defaults of whatever the method uses and was not given.
    #[must_use]
    pub fn in_effect(&self) -> Self {
        match self.inversion() {
            Inversion::Smooth => {}
            Inversion::Variation(variation, data) => {
                return Self {
                    strength: Some(variation.lambda),
                    outside: Some(Named(variation.outside)),
                    data: Some(Named(data)),
                    iterations: Some(variation.iterations),
                    tolerance: Some(variation.tolerance),
                    ..self.clone()
                };
            }
            Inversion::Nonlinear(how) => {
                return Self {
                    strength: Some(how.lambda),
                    iterations: Some(how.iterations),
                    tolerance: Some(how.tolerance),
                    ..self.clone()
                };
            }
            Inversion::Ilsqr(how) => {
                return Self {
                    strength: Some(how.limit),
                    iterations: Some(how.iterations),
                    gradient_tolerance: Some(how.tolerance),
                    ..self.clone()
                };
            }
            Inversion::Fourier(method) => {
                return Self { strength: Some(strength_of(method)), ..self.clone() };
            }
        }
        let published = self.is_published().then(Published::default);
        let usual = if published.is_some() { Iterate::Landweber } else { Iterate::default() };
        let solver = self.solver.unwrap_or(Named(usual));
        let edges = if published.is_some() { Edges::Zero } else { Edges::default() };
        let stop = StoppingRule::default();
        let tau = published.filter(|_| solver.0 == Iterate::Landweber).map(|p| p.tau);
        let kappa = published.map_or(DqsmOptions::KAPPA, |p| p.alpha);
        let products = self.products.unwrap_or_default();
        Self {
            fa_threshold: self.fa_threshold.or(Some(FA_THRESHOLD)),
            products: (self.method.0 == QsmMethod::Dqsm).then_some(products),
            solver: Some(solver),
            kappa: self.kappa.or(Some(kappa)),
            step: self.step.or(tau),
            edges: self.edges.or(Some(Named(edges))),
            support: self.support.or(published.map(|_| PUBLISHED_SUPPORT)),
            start: Some(self.start.unwrap_or_default()),
            iterations: self.iterations.or(Some(stop.iterations)),
            tolerance: self.tolerance.or(Some(stop.relative_change)),
            gradient_tolerance: self.gradient_tolerance.or(Some(stop.relative_gradient)),
            ..self.clone()
        }
    }

    /// True where the original program's numerics are wanted.
    pub(crate) fn is_published(&self) -> bool {
        self.compat == Some(Named(QsmCompat::Dqsm))
    }

    /// True of a method that iterates until it is told to stop, and goes on from where it was.
    pub fn is_smooth(&self) -> bool {
        self.inversion() == Inversion::Smooth
    }

    /// True of methods that come to their map step by step.
    pub fn iterates(&self) -> bool {
        !matches!(self.method.0, QsmMethod::Tkd | QsmMethod::Tikhonov)
    }

    /// True where the map explains the phase, for which echo time and B0 have to be known.
    pub fn explains_phase(&self) -> bool {
        match self.inversion() {
            Inversion::Nonlinear(_) => true,
            Inversion::Variation(_, data) => data == DataTerm::Phase,
            _ => false,
        }
    }

    /// FA above which a voxel's direction counts.
    pub fn threshold(&self) -> f64 {
        // What FA says of a direction, the anisotropy is proportional to: nothing is cut off.
        let usual = if self.method.0 == QsmMethod::Dtv { 0.0 } else { FA_THRESHOLD };
        self.fa_threshold.unwrap_or(usual)
    }

    /// What a guided map is made with, κ and the step in units of B0.
    pub(super) fn options(&self, b0_tesla: Option<f64>) -> Result<DqsmOptions, NeedsB0> {
        let all = self.in_effect();
        let usual = DqsmOptions::default();
        let stop = StoppingRule {
            iterations: all.iterations.unwrap_or(usual.stop.iterations),
            relative_change: all.tolerance.unwrap_or(usual.stop.relative_change),
            relative_gradient: all.gradient_tolerance.unwrap_or(usual.stop.relative_gradient),
            discrepancy: all.noise,
        };
        let given = DqsmOptions {
            products: all.products.unwrap_or_default().0,
            iterate: all.solver.unwrap_or_default().0,
            kappa: all.kappa.unwrap_or(usual.kappa),
            step: all.step,
            edges: all.edges.unwrap_or_default().0,
            stop,
        };
        if !self.is_published() {
            return Ok(given);
        }
        let tau = given.step.unwrap_or(Published::default().tau);
        let published = Published { alpha: given.kappa, tau };
        let (kappa, step) = published.in_units_of_b0(b0_tesla.ok_or(NeedsB0)?);
        Ok(DqsmOptions { kappa, step: given.step.map(|_| step), ..given })
    }

    pub(super) fn inversion(&self) -> Inversion {
        let given = self.strength;
        Inversion::Fourier(match self.method.0 {
            QsmMethod::Dqsm | QsmMethod::Tensor => return Inversion::Smooth,
            QsmMethod::Dtv | QsmMethod::Tv | QsmMethod::Tgv | QsmMethod::Medi => {
                let variation = Variation {
                    lambda: given.unwrap_or(variation::LAMBDA),
                    outside: self.outside.unwrap_or_default().0,
                    radians: None,
                    iterations: self.iterations.unwrap_or(variation::ITERATIONS),
                    tolerance: self.tolerance.unwrap_or(variation::TOLERANCE),
                };
                return Inversion::Variation(variation, self.data.unwrap_or_default().0);
            }
            QsmMethod::Ndi => {
                return Inversion::Nonlinear(Nonlinear {
                    lambda: given.unwrap_or(Nonlinear::LAMBDA),
                    radians: 0.0,
                    iterations: self.iterations.unwrap_or(Nonlinear::ITERATIONS),
                    tolerance: self.tolerance.unwrap_or(Nonlinear::TOLERANCE),
                });
            }
            QsmMethod::Ilsqr => {
                let usual = Ilsqr::default();
                return Inversion::Ilsqr(Ilsqr {
                    limit: given.unwrap_or(usual.limit),
                    iterations: self.iterations.unwrap_or(usual.iterations),
                    tolerance: self.gradient_tolerance.unwrap_or(usual.tolerance),
                });
            }
            QsmMethod::Tkd => {
                given.map_or(FourierMethod::TKD, |threshold| FourierMethod::Tkd { threshold })
            }
            QsmMethod::Tikhonov => {
                given.map_or(FourierMethod::TIKHONOV, |lambda| FourierMethod::Tikhonov { lambda })
            }
            QsmMethod::Rts => {
                given.map_or(FourierMethod::RTS, |delta| FourierMethod::Rts { delta })
            }
        })
    }
}

/// The one parameter of a method in the Fourier domain.
fn strength_of(method: FourierMethod) -> f64 {
    match method {
        FourierMethod::Tkd { threshold } => threshold,
        FourierMethod::Tikhonov { lambda } => lambda,
        FourierMethod::Rts { delta } => delta,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::options::{from_values, usual};

    fn given(values: &Value) -> QsmParameters {
        from_values(values.as_object().unwrap()).unwrap()
    }

    fn refused(values: &Value) -> String {
        let read = from_values::<QsmParameters>(values.as_object().unwrap());
        read.and_then(|options| options.check()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_in_effect_names_every_default() {
        let usual = usual::<QsmParameters>().in_effect();
        assert_eq!((usual.method.0, usual.strength), (QsmMethod::Dtv, Some(2e-4)));
        let plain = given(&json!({ "method": "dqsm" })).in_effect();
        assert_eq!((plain.kappa, plain.step, plain.support), (Some(0.985), None, None));
        assert_eq!(plain.solver, Some(Named(Iterate::Cgls)));
        let published = given(&json!({ "compat": "dqsm" })).in_effect();
        assert_eq!((published.kappa, published.step), (Some(0.75), Some(0.15)));
        assert_eq!(published.support, Some(PUBLISHED_SUPPORT));
        assert_eq!(published.solver, Some(Named(Iterate::Landweber)));
        let tkd = given(&json!({ "method": "tkd" })).in_effect();
        assert_eq!((tkd.strength, tkd.kappa, tkd.iterations), (Some(0.15), None, None));
        let ndi = given(&json!({ "method": "ndi", "strength": 0.1 })).in_effect();
        assert_eq!((ndi.strength, ndi.iterations, ndi.outside), (Some(0.1), Some(200), None));
        let ilsqr = given(&json!({ "method": "ilsqr", "iterations": 9 })).in_effect();
        let ends = (ilsqr.iterations, ilsqr.tolerance, ilsqr.gradient_tolerance);
        assert_eq!((ilsqr.strength, ends), (Some(0.1), (Some(9), None, Some(1e-2))));
        // Named once more they are the same.
        for all in [usual, plain, published, tkd, ndi, ilsqr] {
            assert_eq!(all.in_effect(), all);
        }
    }

    #[test]
    fn the_published_share_and_step_are_those_of_tesla() {
        let options = given(&json!({ "compat": "dqsm" })).options(Some(4.7)).unwrap();
        let (kappa, step) = Published::default().in_units_of_b0(4.7);
        assert_eq!((options.kappa, options.step), (kappa, Some(step)));
        let cgls = given(&json!({ "compat": "dqsm", "solver": "cgls" }));
        assert_eq!(cgls.options(Some(4.7)).unwrap().step, None);
    }

    #[test]
    fn what_a_method_would_ignore_is_refused_by_name() {
        for (method, name, _) in QsmMethod::CHOICES {
            given(&json!({ "method": name })).check().unwrap();
            for (option, value, users) in [
                ("kappa", json!(0.5), SMOOTH),
                ("compat", json!("dqsm"), CYLINDERS),
                ("iterations", json!(5), ITERATED),
                ("tolerance", json!(0.1), SETTLING),
                ("gradient_tolerance", json!(0.1), OF_GRADIENT),
                ("data", json!("phase"), OF_VARIATION),
                ("strength", json!(0.1), OF_STRENGTH),
            ] {
                let values = json!({ "method": name, option: value });
                if users.contains(method) {
                    given(&values).check().unwrap();
                } else {
                    let said = refused(&values);
                    let option = option.replace('_', "-");
                    assert!(said.contains(&option) && said.contains(name), "{said}");
                }
            }
        }
    }

    #[test]
    fn a_step_needs_landwebers_iteration() {
        assert!(
            refused(&json!({ "method": "dqsm", "step": 0.1 })).contains("cgls chooses its own")
        );
        given(&json!({ "method": "dqsm", "step": 0.1, "solver": "landweber" })).check().unwrap();
        given(&json!({ "step": 0.1, "compat": "dqsm" })).check().unwrap();
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let options = [
            ("kappa", 0.0),
            ("kappa", 1.1),
            ("step", 0.0),
            ("noise", 0.0),
            ("tolerance", -1.0),
            ("gradient_tolerance", -1.0),
            ("fa_threshold", 1.1),
            ("support", 0.0),
            ("iterations", 0.0),
            ("strength", 0.0),
        ];
        for (option, value) in options {
            let method = if option == "strength" { "dtv" } else { "dqsm" };
            let said = refused(&json!({ "method": method, option: value }));
            assert!(said.contains(&option.replace('_', "-")), "{said}");
        }
        let said = refused(&json!({ "method": "tkd", "strength": 0.7 }));
        assert!(said.contains("beyond 2/3"), "{said}");
    }
}
