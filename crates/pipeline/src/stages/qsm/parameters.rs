//! How a map is asked for: method, numerics, solver and when to stop.

use fimbria_qsm::dqsm::{DqsmOptions, Iterate};
use fimbria_qsm::fourier::FourierMethod;
use fimbria_qsm::solver::StoppingRule;
use fimbria_qsm::{Edges, Products as Product, Published};
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

/// The parameters of a map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QsmParameters {
    /// How it is made.
    pub method: Named<QsmMethod>,
    /// Whose numerics.
    pub compat: Option<Named<QsmCompat>>,
    /// How products are made.
    pub products: Named<Product>,
    /// Which iteration; `None` for conjugate gradients, or Landweber's where compatible.
    pub solver: Option<Named<Iterate>>,
    /// κ; `None` for the default.
    pub kappa: Option<f64>,
    /// Landweber's step; `None` for a safe one.
    pub step: Option<f64>,
    /// What lies beyond the mask.
    pub edges: Option<Named<Edges>>,
    /// Voxels that a source reaches along each axis; `None` for all.
    pub support: Option<u32>,
    /// Where to start.
    pub start: Named<Start>,
    /// Iterations at most.
    pub iterations: usize,
    /// Relative change to stop at.
    pub tolerance: f64,
    /// Relative gradient to stop at.
    pub gradient_tolerance: f64,
    /// Noise of the field, ppm, to stop at.
    pub noise_ppm: Option<f64>,
    /// The parameter of a method without guidance; `None` for its default.
    pub strength: Option<f64>,
    /// Takes off the mean over the mask.
    pub zero_mean: bool,
}

impl Default for QsmParameters {
    fn default() -> Self {
        let stop = StoppingRule::default();
        Self {
            method: Named::default(),
            compat: None,
            products: Named::default(),
            solver: None,
            kappa: None,
            step: None,
            edges: None,
            support: None,
            start: Named::default(),
            iterations: stop.iterations,
            tolerance: stop.relative_change,
            gradient_tolerance: stop.relative_gradient,
            noise_ppm: None,
            strength: None,
            zero_mean: false,
        }
    }
}

/// The original program's numerics need the field's strength.
#[derive(Debug, thiserror::Error)]
#[error("the published program works in tesla: give B0")]
pub struct NeedsB0;

impl QsmParameters {
    /// The iteration: the one asked for, else that of the program to be compatible with.
    pub(crate) fn iterate(&self) -> Iterate {
        let usual = match self.compat {
            None => Iterate::default(),
            Some(Named(QsmCompat::Dqsm)) => Iterate::Landweber,
        };
        self.solver.map_or(usual, |solver| solver.0)
    }

    pub(super) fn options(&self, b0_tesla: Option<f64>) -> Result<DqsmOptions, NeedsB0> {
        let stop = StoppingRule {
            iterations: self.iterations,
            relative_change: self.tolerance,
            relative_gradient: self.gradient_tolerance,
            discrepancy: self.noise_ppm,
        };
        let plain = DqsmOptions { products: self.products.0, stop, ..DqsmOptions::default() };
        let mut options = match self.compat {
            None => DqsmOptions { step: self.step, ..plain },
            Some(Named(QsmCompat::Dqsm)) => {
                let published = Published {
                    alpha: self.kappa.unwrap_or(Published::default().alpha),
                    tau: self.step.unwrap_or(Published::default().tau),
                };
                let (kappa, step) = published.in_units_of_b0(b0_tesla.ok_or(NeedsB0)?);
                DqsmOptions { kappa, step: Some(step), edges: Edges::Zero, ..plain }
            }
        };
        if let (None, Some(kappa)) = (self.compat, self.kappa) {
            options.kappa = kappa;
        }
        options.iterate = self.iterate();
        options.edges = self.edges.map_or(options.edges, |edges| edges.0);
        Ok(options)
    }

    pub(super) fn fourier(&self) -> Option<FourierMethod> {
        let strength = self.strength;
        let default = match self.method.0 {
            QsmMethod::Dqsm | QsmMethod::Tensor => return None,
            QsmMethod::Tkd => FourierMethod::TKD,
            QsmMethod::Tikhonov => FourierMethod::TIKHONOV,
            QsmMethod::Tv => FourierMethod::TV,
            QsmMethod::Rts => FourierMethod::RTS,
        };
        Some(match (default, strength) {
            (FourierMethod::Tkd { .. }, Some(threshold)) => FourierMethod::Tkd { threshold },
            (FourierMethod::Tikhonov { .. }, Some(lambda)) => FourierMethod::Tikhonov { lambda },
            (FourierMethod::Tv { .. }, Some(lambda)) => FourierMethod::Tv { lambda },
            (FourierMethod::Rts { .. }, Some(delta)) => FourierMethod::Rts { delta },
            (default, None) => default,
        })
    }
}
