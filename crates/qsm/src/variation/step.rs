//! How an iteration of total variation went.

use super::data::Data;

/// After an iteration, in the unit of the field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Root mean square of the map over the unknowns.
    pub rms: f64,
    /// ‖Δχ‖ / ‖χ‖ over the padded volume, both after the iteration: what it stops by.
    pub relative_change: f64,
    /// Σ w² r², r = D χ + a B - b, of the field where it is known; where the data are the phase,
    /// Σ 2 w² (1 - cos s r) / s². Of rapid two-step Σ (D χ - b)² over the padded volume, b 0 outside the mask.
    pub data: f64,
    /// Σ |∇(χ - Σ c_j Φ_j)| of the edges that count, per mm of voxels' distances; of total
    /// generalised variation Σ |∇χ - v| + 3 Σ |E v|.
    pub variation: f64,
}

/// Root mean square, 0 of nothing.
pub(crate) fn rms(values: impl ExactSizeIterator<Item = f32>) -> f64 {
    let n = values.len().max(1) as f64;
    (values.map(|x| f64::from(x).powi(2)).sum::<f64>() / n).sqrt()
}

/// What `predicted`, the field of a map at the unknowns, leaves of the data.
pub(super) fn misfit(predicted: &[f32], data: &Data<'_>) -> f64 {
    let each = predicted.iter().zip(data.field).enumerate();
    each.map(|(i, (p, b))| {
        let weight = data.weights.map_or(1.0, |weights| f64::from(weights[i]));
        let off = f64::from(*p) - f64::from(*b);
        weight * weight * square_of(off, data.radians.map(f64::from))
    })
    .sum()
}

/// `off`², or 2 (1 - cos s `off`) / s² of the phase.
pub(crate) fn square_of(off: f64, radians: Option<f64>) -> f64 {
    match radians {
        None => off * off,
        Some(s) => (2.0 * (0.5 * s * off).sin() / s).powi(2),
    }
}
