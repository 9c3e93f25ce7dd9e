//! How a map is asked for: method, numerics, solver and when to stop.

use fimbria_qsm::dqsm::{DqsmOptions, Iterate};
use fimbria_qsm::fourier::FourierMethod;
use fimbria_qsm::solver::StoppingRule;
use fimbria_qsm::{Edges, FA_THRESHOLD, PUBLISHED_SUPPORT, Products as Product, Published};
use serde::{Deserialize, Serialize};

use crate::{Choice, Named};

/// How a map is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QsmMethod {
    /// Guided by diffusion.
    #[default]
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
}

impl Choice for QsmMethod {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Dqsm, "dqsm", "guided by diffusion: fibres are cylinders"),
        (Self::Tensor, "tensor", "guided by diffusion: tensors about fibres, mean and anisotropy"),
        (Self::Tkd, "tkd", "truncated k-space division"),
        (Self::Tikhonov, "tikhonov", "division by D² + λ"),
        (Self::Tv, "tv", "total variation, by alternating directions"),
        (Self::Rts, "rts", "rapid two-step: division where well conditioned, then TV"),
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

/// The parameters of a map; `None` for the default of the method, see
/// [`in_effect`](Self::in_effect).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QsmParameters {
    /// How it is made.
    pub method: Named<QsmMethod>,
    /// Whose numerics.
    pub compat: Option<Named<QsmCompat>>,
    /// FA above which a voxel has a fibre.
    pub fa_threshold: Option<f64>,
    /// How products are made.
    pub products: Option<Named<Product>>,
    /// Which iteration: conjugate gradients, or Landweber's where compatible.
    pub solver: Option<Named<Iterate>>,
    /// κ, in units of B0; in tesla where compatible.
    pub kappa: Option<f64>,
    /// Landweber's step; `None` for a safe one.
    pub step: Option<f64>,
    /// What lies beyond the mask.
    pub edges: Option<Named<Edges>>,
    /// Voxels that a source reaches along each axis; `None` for all, or the published ones.
    pub support: Option<u32>,
    /// Where to start.
    pub start: Option<Named<Start>>,
    /// Iterations at most.
    pub iterations: Option<usize>,
    /// Relative change to stop at.
    pub tolerance: Option<f64>,
    /// Relative gradient to stop at.
    pub gradient_tolerance: Option<f64>,
    /// Noise of the field, ppm, to stop at; `None` for no such stop.
    pub noise_ppm: Option<f64>,
    /// The parameter of a method without guidance.
    pub strength: Option<f64>,
    /// Takes off the mean over the mask.
    pub zero_mean: bool,
}

/// The original program's numerics need the field's strength.
#[derive(Debug, thiserror::Error)]
#[error("the published program works in tesla: give B0")]
pub struct NeedsB0;

impl QsmParameters {
    /// These, with the defaults of whatever the method uses and was not given.
    #[must_use]
    pub fn in_effect(&self) -> Self {
        if let Some(method) = self.fourier() {
            return Self { strength: Some(strength_of(method)), ..self.clone() };
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

    /// True where fibre directions are used.
    pub(crate) fn is_guided(&self) -> bool {
        self.fourier().is_none()
    }

    /// What a guided map is made with, κ and the step in units of B0.
    pub(super) fn options(&self, b0_tesla: Option<f64>) -> Result<DqsmOptions, NeedsB0> {
        let all = self.in_effect();
        let usual = DqsmOptions::default();
        let stop = StoppingRule {
            iterations: all.iterations.unwrap_or(usual.stop.iterations),
            relative_change: all.tolerance.unwrap_or(usual.stop.relative_change),
            relative_gradient: all.gradient_tolerance.unwrap_or(usual.stop.relative_gradient),
            discrepancy: all.noise_ppm,
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

    pub(super) fn fourier(&self) -> Option<FourierMethod> {
        let default = match self.method.0 {
            QsmMethod::Dqsm | QsmMethod::Tensor => return None,
            QsmMethod::Tkd => FourierMethod::TKD,
            QsmMethod::Tikhonov => FourierMethod::TIKHONOV,
            QsmMethod::Tv => FourierMethod::TV,
            QsmMethod::Rts => FourierMethod::RTS,
        };
        Some(match (default, self.strength) {
            (FourierMethod::Tkd { .. }, Some(threshold)) => FourierMethod::Tkd { threshold },
            (FourierMethod::Tikhonov { .. }, Some(lambda)) => FourierMethod::Tikhonov { lambda },
            (FourierMethod::Tv { .. }, Some(lambda)) => FourierMethod::Tv { lambda },
            (FourierMethod::Rts { .. }, Some(delta)) => FourierMethod::Rts { delta },
            (default, None) => default,
        })
    }
}

/// The one parameter of a method without guidance.
fn strength_of(method: FourierMethod) -> f64 {
    match method {
        FourierMethod::Tkd { threshold } => threshold,
        FourierMethod::Tikhonov { lambda } | FourierMethod::Tv { lambda } => lambda,
        FourierMethod::Rts { delta } => delta,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_effect_names_every_default() {
        let plain = QsmParameters::default().in_effect();
        assert_eq!((plain.kappa, plain.step, plain.support), (Some(0.985), None, None));
        assert_eq!(plain.solver, Some(Named(Iterate::Cgls)));
        let published =
            QsmParameters { compat: Some(Named(QsmCompat::Dqsm)), ..QsmParameters::default() };
        let published = published.in_effect();
        assert_eq!((published.kappa, published.step), (Some(0.75), Some(0.15)));
        assert_eq!(published.support, Some(PUBLISHED_SUPPORT));
        assert_eq!(published.solver, Some(Named(Iterate::Landweber)));
        let method = Named(QsmMethod::Tkd);
        let tkd = QsmParameters { method, ..QsmParameters::default() }.in_effect();
        assert_eq!((tkd.strength, tkd.kappa, tkd.iterations), (Some(0.15), None, None));
        // Named once more they are the same.
        for all in [plain, published, tkd] {
            assert_eq!(all.in_effect(), all);
        }
    }

    #[test]
    fn the_published_share_and_step_are_those_of_tesla() {
        let compat = Some(Named(QsmCompat::Dqsm));
        let options = QsmParameters { compat, ..QsmParameters::default() }.options(Some(4.7));
        let (kappa, step) = Published::default().in_units_of_b0(4.7);
        let options = options.unwrap();
        assert_eq!((options.kappa, options.step), (kappa, Some(step)));
        let solver = Some(Named(Iterate::Cgls));
        let cgls = QsmParameters { compat, solver, ..QsmParameters::default() };
        assert_eq!(cgls.options(Some(4.7)).unwrap().step, None);
    }
}
