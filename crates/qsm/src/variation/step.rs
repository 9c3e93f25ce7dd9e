//! How an iteration of total variation went.

/// After an iteration, in the unit of the field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Root mean square of the map over the unknowns.
    pub rms: f64,
    /// ‖Δχ‖ / ‖χ‖ over the padded volume, both after the iteration: what it stops by.
    pub relative_change: f64,
    /// Σ w² (D χ + a B - b)², of the field where it is known.
    pub data: f64,
    /// Σ |∇(χ - Σ c_j Φ_j)| of the edges that count, per mm of voxels' distances.
    pub variation: f64,
}

/// Root mean square, 0 of nothing.
pub(crate) fn rms(values: impl ExactSizeIterator<Item = f32>) -> f64 {
    let n = values.len().max(1) as f64;
    (values.map(|x| f64::from(x).powi(2)).sum::<f64>() / n).sqrt()
}
