//! What a user chooses.

use fimbria_fitting::linear::Passes;

/// The order of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum HotOrder {
    /// 15 unique entries: two fibres can show, three at right angles too.
    #[default]
    Four,
    /// 28 unique entries.
    Six,
    /// 45 unique entries.
    Eight,
}

impl HotOrder {
    /// It as a number.
    pub const fn get(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Six => 6,
            Self::Eight => 8,
        }
    }

    /// Unique entries of a form of this order.
    pub const fn n_entries(self) -> usize {
        (self.get() + 1) * (self.get() + 2) / 2
    }
}

/// How the form is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HotMethod {
    /// Ordinary least squares of ln S.
    Ols,
    /// Ordinary least squares, then one pass weighted by the squared predicted signal
    /// (Chung 2006).
    #[default]
    Wls,
    /// One pass weighted by the squared measured signal, then two weighted by the squared
    /// predicted signal (Veraart 2013).
    Iwls,
}

impl HotMethod {
    pub(super) const fn passes(self) -> Passes {
        match self {
            Self::Ols => Passes::OLS,
            Self::Wls => Passes::WLS,
            Self::Iwls => Passes::IWLS,
        }
    }
}

/// Everything a fit may be told; by default order 4 by WLS, unconstrained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HotOptions {
    /// The order of the form.
    pub order: HotOrder,
    /// How it is estimated.
    pub method: HotMethod,
    /// Keep D(g) ≥ 0 in 300 directions spread over the half sphere.
    pub positive: bool,
}
