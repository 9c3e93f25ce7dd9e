//! One start after the other with the general products: the paper's algorithm as anyone writes it.

use fimbria_compute::SimdLevel;

use super::{Shift, Stop, Task};
use crate::general;
use crate::tables::Tables;

/// Indices computed on the fly.
pub(super) fn general(_: SimdLevel, task: Task<'_>) {
    let layout = task.layout;
    let gradient = |a: &[f32], x: &[f32], y: &mut [f32]| general::gradient(&layout, a, x, y);
    iterate(task, gradient, |a, x| general::form(&layout, a, x));
}

/// Indices and multinomials from tables.
pub(super) fn tables(_: SimdLevel, task: Task<'_>) {
    let tables = Tables::new(task.layout);
    let gradient = |a: &[f32], x: &[f32], y: &mut [f32]| tables.gradient(a, x, y);
    iterate(task, gradient, |a, x| tables.form(a, x));
}

fn iterate(
    task: Task<'_>,
    gradient: impl Fn(&[f32], &[f32], &mut [f32]),
    value: impl Fn(&[f32], &[f32]) -> f32,
) {
    let n = task.layout.dimension();
    // The adaptive shift is for shared products only.
    let shift = if let Shift::Fixed(shift) = task.shift { shift } else { 0.0 };
    let sign = 1.0_f32.copysign(shift);
    let (most, tolerance) = match task.stop {
        Stop::Iterations(count) => (count, None),
        Stop::Tolerance { tolerance, max_iterations } => (max_iterations, Some(tolerance)),
    };
    let mut next = vec![0.0; n];
    let mut place = 0;
    for a in task.tensors.chunks_exact(task.layout.len()) {
        for start in task.starts.chunks_exact(n) {
            let x = &mut task.x[place * n..][..n];
            x.copy_from_slice(start);
            let mut lambda = value(a, x);
            let mut iterations = 0;
            let mut converged = tolerance.is_none();
            while iterations < most {
                gradient(a, x, &mut next);
                let mut length2 = 0.0;
                for (next, x) in next.iter_mut().zip(&*x) {
                    *next = sign * (*next + shift * x);
                    length2 += *next * *next;
                }
                if length2 > 0.0 {
                    let inverse = 1.0 / length2.sqrt();
                    for (x, next) in x.iter_mut().zip(&next) {
                        *x = next * inverse;
                    }
                }
                let before = std::mem::replace(&mut lambda, value(a, x));
                iterations += 1;
                if let Some(tolerance) = tolerance
                    && (lambda - before).abs() <= tolerance * lambda.abs()
                {
                    converged = true;
                    break;
                }
            }
            task.lambda[place] = lambda;
            task.iterations[place] = iterations;
            task.converged[place] = converged;
            place += 1;
        }
    }
}
