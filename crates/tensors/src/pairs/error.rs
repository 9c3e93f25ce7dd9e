//! Why there is no search.

use fimbria_compute::Interrupted;

use crate::layout::LayoutError;

/// Input that has no eigenpairs, or none that are searched for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PairsError {
    /// No such layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Order 0 or 1.
    #[error("order {order}: eigenpairs are those of tensors of order 2 or more")]
    Order {
        /// The order.
        order: usize,
    },
    /// A dimension beyond what is searched.
    #[error("dimension {dimension}: eigenpairs are searched for up to dimension {most}")]
    Dimension {
        /// The dimension.
        dimension: usize,
        /// The largest that is accepted.
        most: usize,
    },
    /// A number of entries that is not the layout's.
    #[error(
        "{found} entries of {tensor}: a symmetric tensor of order {order} and dimension {dimension} \
         has {expected} unique entries"
    )]
    Entries {
        /// Which of the tensors, "A" or "B".
        tensor: &'static str,
        /// Its number of entries.
        found: usize,
        /// What it must be.
        expected: usize,
        /// The order.
        order: usize,
        /// The dimension.
        dimension: usize,
    },
    /// NaN or infinity.
    #[error("entry {index} of {tensor} is {value}: entries must be finite")]
    NotFinite {
        /// Which of the tensors, "A" or "B".
        tensor: &'static str,
        /// Place of the entry, from 0.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// Generalised pairs of odd order.
    #[error(
        "order {order} with B: generalised pairs need an even order, because B x^m must be positive \
         for all x"
    )]
    OddOrder {
        /// The order.
        order: usize,
    },
    /// B x^m is not positive everywhere.
    #[error("B is not positive definite: B x^m = {value:e} at x = {x:?}")]
    NotDefinite {
        /// The least value of B x^m that was found.
        value: f64,
        /// The unit vector where it is.
        x: Vec<f64>,
    },
    /// An option out of range.
    #[error("{name} = {value}: it must be {needed}")]
    Option {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it must be.
        needed: &'static str,
    },
    /// The user stopped it.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}
