//! What single options choose among.

use fimbria_qsm::dqsm::Iterate;
use fimbria_qsm::variation::Outside;
use fimbria_qsm::{Edges, Products};

use crate::Choice;

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

impl Choice for Products {
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
