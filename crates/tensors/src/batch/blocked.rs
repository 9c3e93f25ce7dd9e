//! Starts side by side through the register tiles: for sizes too large to unroll.

use fimbria_compute::SimdLevel;

use super::{Shift, Stop, Task};
use crate::blocked::{form_of_gradient, gradient};

/// Starts that go on together, a register of AVX-512 full.
const LANES: usize = 16;

/// Any order above 1 and any dimension. One A x^(m-1) an iteration: λ follows from it.
pub(super) fn solve(level: SimdLevel, task: Task<'_>) {
    let n = task.layout.dimension();
    let n_starts = task.starts.len() / n;
    let (mut x, mut y) = (vec![[0.0; LANES]; n], vec![[0.0; LANES]; n]);
    for (tensor, a) in task.tensors.chunks_exact(task.layout.len()).enumerate() {
        for first in (0..n_starts).step_by(LANES) {
            let lanes = LANES.min(n_starts - first);
            // Lanes left over repeat the last start, and are not written.
            for lane in 0..LANES {
                let start = &task.starts[(first + lane.min(lanes - 1)) * n..][..n];
                x.iter_mut().zip(start).for_each(|(x, &start)| x[lane] = start);
            }
            let ends = iterate(&task, a, &mut x, &mut y, level);
            for lane in 0..lanes {
                let place = tensor * n_starts + first + lane;
                task.lambda[place] = ends.lambda[lane];
                task.iterations[place] = ends.iterations[lane];
                task.converged[place] = ends.converged[lane];
                for (to, x) in task.x[place * n..][..n].iter_mut().zip(&x) {
                    *to = x[lane];
                }
            }
        }
    }
}

/// Where the lanes ended, beside their x.
struct Ends {
    lambda: [f32; LANES],
    iterations: [u32; LANES],
    converged: [bool; LANES],
}

fn iterate(
    task: &Task<'_>,
    a: &[f32],
    x: &mut [[f32; LANES]],
    y: &mut [[f32; LANES]],
    level: SimdLevel,
) -> Ends {
    // The adaptive shift is for shared products only.
    let shift = if let Shift::Fixed(shift) = task.shift { shift } else { 0.0 };
    let sign = 1.0_f32.copysign(shift);
    let (most, tolerance) = match task.stop {
        Stop::Iterations(count) => (count, None),
        Stop::Tolerance { tolerance, max_iterations } => (max_iterations, Some(tolerance)),
    };
    gradient(&task.layout, a, x, y, level);
    let mut ends = Ends {
        lambda: form_of_gradient(x, y),
        iterations: [0; LANES],
        converged: [tolerance.is_none(); LANES],
    };
    let mut going = [true; LANES];
    for _ in 0..most {
        let mut length2 = [0.0; LANES];
        for (y, x) in y.iter_mut().zip(&*x) {
            for lane in 0..LANES {
                y[lane] = sign * (y[lane] + shift * x[lane]);
                length2[lane] += y[lane] * y[lane];
            }
        }
        for (x, y) in x.iter_mut().zip(&*y) {
            for lane in 0..LANES {
                let next = y[lane] / length2[lane].sqrt();
                x[lane] = if going[lane] && length2[lane] > 0.0 { next } else { x[lane] };
            }
        }
        gradient(&task.layout, a, x, y, level);
        let lambda = form_of_gradient(x, y);
        for lane in 0..LANES {
            if !going[lane] {
                continue;
            }
            let before = std::mem::replace(&mut ends.lambda[lane], lambda[lane]);
            ends.iterations[lane] += 1;
            if tolerance.is_some_and(|t| (lambda[lane] - before).abs() <= t * lambda[lane].abs()) {
                ends.converged[lane] = true;
                going[lane] = false;
            }
        }
        if going == [false; LANES] {
            break;
        }
    }
    ends
}
