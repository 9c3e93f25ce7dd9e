//! What a user chooses.

use super::{FodError, Response};

/// Added to the diagonal of the normal equations, relative to its largest entry: what neither the
/// data nor the constraint determine stays small.
pub const REGULARISATION: f64 = 1e-5;

/// The compartments of the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Tissues {
    /// [`Three`](Self::Three) where the data have unweighted volumes (and of one shell a response that
    /// is given has them too), else [`White`](Self::White).
    #[default]
    Auto,
    /// Fibres only, on the weighted volumes.
    White,
    /// Fibres, grey matter and fluid, on all volumes.
    Three,
}

/// Everything a deconvolution may be told.
#[derive(Clone, Debug, PartialEq)]
pub struct FodOptions {
    /// The degree of the density: 4, 6, 8, 10 or 12.
    pub order: usize,
    /// The compartments.
    pub tissues: Tissues,
    /// The response of single fibres; estimated where `None`, and so are the others.
    pub white: Option<Response>,
    /// The response of grey matter.
    pub grey: Option<Response>,
    /// The response of fluid.
    pub fluid: Option<Response>,
    /// Preference for small unknowns, relative to what the data say of the best known one.
    pub regularisation: f64,
}

impl Default for FodOptions {
    /// Order 8, responses from the data.
    fn default() -> Self {
        Self {
            order: 8,
            tissues: Tissues::Auto,
            white: None,
            grey: None,
            fluid: None,
            regularisation: REGULARISATION,
        }
    }
}

impl FodOptions {
    pub(crate) fn check(&self) -> Result<(), FodError> {
        if !matches!(self.order, 4 | 6 | 8 | 10 | 12) {
            return Err(FodError::Order(self.order));
        }
        if !(self.regularisation > 0.0 && self.regularisation.is_finite()) {
            return Err(FodError::Regularisation(self.regularisation));
        }
        if self.white.as_ref().is_some_and(is_round) {
            return Err(FodError::NoAnisotropy);
        }
        match (&self.grey, &self.fluid) {
            (Some(grey), Some(fluid)) if left(fluid) > left(grey) => Err(FodError::SlowFluid),
            _ => Ok(()),
        }
    }
}

/// Whether a response does not depend on direction.
fn is_round(response: &Response) -> bool {
    /// A thousandth of the mean is rounding of a text.
    const ROUND: f64 = 1e-3;
    let is_round = |row: &Vec<f64>| row[1..].iter().all(|term| term.abs() <= ROUND * row[0].abs());
    response.zonal.iter().all(is_round)
}

/// The part of a response's first shell that its last has left.
fn left(response: &Response) -> f64 {
    match &response.zonal[..] {
        [first, .., last] => last[0] / first[0],
        _ => 0.0,
    }
}
