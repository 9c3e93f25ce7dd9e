//! What a user chooses.

use crate::curve::CurveOptions;

/// The diffusivities that the model fixes, and whether it has water that stands still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tissue {
    /// White matter in vivo: 1.7 µm²/ms along neurites, free water of 3.0.
    #[default]
    White,
    /// Grey matter in vivo: 1.1 µm²/ms along neurites, free water of 3.0.
    Grey,
    /// Fixed tissue: 0.6 µm²/ms along neurites, free water of 2.0, and water that stands still.
    ExVivo,
}

impl Tissue {
    /// The diffusivity along neurites, µm²/ms.
    pub fn along(self) -> f64 {
        match self {
            Self::White => 1.7,
            Self::Grey => 1.1,
            Self::ExVivo => 0.6,
        }
    }

    /// The diffusivity of free water, µm²/ms.
    pub fn free(self) -> f64 {
        match self {
            Self::White | Self::Grey => 3.0,
            Self::ExVivo => 2.0,
        }
    }

    /// Whether some water stands still.
    pub fn has_still(self) -> bool {
        self == Self::ExVivo
    }
}

/// What a fit may be told.
#[derive(Clone, Debug, Default)]
pub struct NoddiOptions {
    /// What all such fits may be told.
    pub curve: CurveOptions,
    /// What is fixed.
    pub tissue: Tissue,
    /// Whose problem to solve; `None` for the model itself. Under it nothing of `curve` is used but the limit
    /// on b.
    pub compat: Option<Compat>,
}

/// Whose problem to solve in place of the model's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compat {
    /// AMICO's: a convex mixture of 144 tissues about the tensor's direction (Daducci et al. 2015).
    Amico,
}
