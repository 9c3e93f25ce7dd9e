//! How a design is fitted.

/// How samples are raised so that they have a logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Floor {
    /// Samples <= 0 become the smallest positive sample of their set.
    #[default]
    SmallestPositive,
    /// Samples are at least this.
    Absolute(f64),
    /// Samples are at least this fraction of the largest of their set.
    OfLargest(f64),
}

/// The weights of the first pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FirstWeights {
    /// All one.
    #[default]
    Unit,
    /// The squared measured samples, raised by the floor.
    Measured,
}

/// The passes of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passes {
    /// The weights of the first.
    pub first: FirstWeights,
    /// How many follow that are weighted by the squared prediction of the pass before.
    pub reweighted: usize,
}

impl Passes {
    /// Ordinary least squares.
    pub const OLS: Self = Self { first: FirstWeights::Unit, reweighted: 0 };
    /// Ordinary least squares, then one pass weighted by the squared prediction (Chung 2006).
    pub const WLS: Self = Self { first: FirstWeights::Unit, reweighted: 1 };
    /// One pass weighted by the squared measured samples (Salvador 2005).
    pub const MEASURED_WLS: Self = Self { first: FirstWeights::Measured, reweighted: 0 };
    /// A pass weighted by the squared measured samples, then two by the squared prediction
    /// (Veraart 2013).
    pub const IWLS: Self = Self { first: FirstWeights::Measured, reweighted: 2 };
}

/// Everything a fit may be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// The passes.
    pub passes: Passes,
    /// How samples are raised.
    pub floor: Floor,
    /// Compute the root mean square residual; it costs another prediction of every sample.
    pub residual: bool,
}

impl Default for Recipe {
    /// WLS with residuals.
    fn default() -> Self {
        Self { passes: Passes::WLS, floor: Floor::default(), residual: true }
    }
}
