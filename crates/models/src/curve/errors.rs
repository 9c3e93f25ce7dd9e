//! Standard errors of maps, from the covariance of the parameters they are made of.

use std::borrow::Cow;

use fimbria_fitting::lm::Rows;
use fimbria_image::{MapSpec, Window};

/// The map of the standard error of a map.
pub(crate) fn error_spec(of: &MapSpec) -> MapSpec {
    MapSpec {
        name: Cow::Owned(format!("{}_error", of.name)),
        description: Cow::Owned(format!("standard error of {}, 0 where unknown", of.name)),
        window: Window::Robust,
        ..of.clone()
    }
}

/// Standard errors of what `values` makes of the parameters `p`, by linear propagation: √(gᵀCg)
/// with the covariance C of the fit (`at` gives a row of its results) and g by central differences
/// over half a standard error to each side, in `f64`.
pub(super) fn standard_errors<const P: usize>(
    p: &[f32; P],
    rows: &Rows,
    at: impl Fn(usize) -> f32,
    values: impl Fn(&[f32; P], &mut [f32]),
    out: &mut [f32],
) {
    let covariance =
        |i: usize, j: usize| rows.covariance(i, j).map_or(0.0, |row| f64::from(at(row)));
    let mut gradients = vec![0.0; P * out.len()];
    let (mut above, mut below) = (vec![0.0; out.len()], vec![0.0; out.len()]);
    for k in 0..P {
        // Far enough that rounding of f32 does not show.
        let step = (0.5 * covariance(k, k).sqrt() as f32).max(1e-3 * p[k].abs());
        if step == 0.0 {
            continue;
        }
        let (mut up, mut down) = (*p, *p);
        up[k] += step;
        down[k] -= step;
        values(&up, &mut above);
        values(&down, &mut below);
        let width = f64::from(up[k] - down[k]);
        for (gradient, (a, b)) in gradients[k..].iter_mut().step_by(P).zip(above.iter().zip(&below))
        {
            *gradient = f64::from(a - b) / width;
        }
    }
    for (error, gradient) in out.iter_mut().zip(gradients.chunks_exact(P)) {
        let mut variance = 0.0;
        for i in 0..P {
            for j in 0..P {
                variance += gradient[i] * gradient[j] * covariance(i, j);
            }
        }
        *error = variance.max(0.0).sqrt() as f32;
    }
}
