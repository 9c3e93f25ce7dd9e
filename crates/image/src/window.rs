//! Which range of values the colours of a map span.

/// How the range of a colour scale is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Window {
    /// From the 1st to the 99th percentile of the finite values in the mask.
    Robust,
    /// From 0 to the 99th percentile of the finite values in the mask.
    FromZero,
    /// From minus to plus the 99th percentile of the magnitude, for signed values.
    Symmetric,
    /// A given range, low value first.
    Fixed([f64; 2]),
}
