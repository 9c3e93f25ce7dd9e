//! SS-HOPM in `f32` for batches of small tensors: one start per SIMD lane, four registers in
//! flight.
//!
//! The shifted symmetric higher-order power method (Kolda and Mayo 2011) repeats
//! x ← ±(A x^(m-1) + αx) / ‖…‖ until λ = A x^m no longer changes. This is the paper's batch: many
//! tensors of order 4, 6 or 8 and dimension 3, each from the same starts. With a tolerance a lane
//! that is done takes the next start, or the next tensor, while the others go on. A pair's bits do
//! not depend on threads, lanes or neighbours.

mod advance;
mod fixed;
mod pair;
mod refilled;

use fimbria_compute::Workers;
use rayon::prelude::*;

use self::advance::{Advance, PlainFixed, SharedAdaptive, SharedFixed};
use crate::unrolled::{Form, Order4, Order6, Order8};

/// The shift α of the iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shift {
    /// The same in every iteration: at least 0 for maxima, negative for minima.
    Fixed(f32),
    /// The least that makes the form convex at x, from the smallest eigenvalue of A x^(m-2), so
    /// that λ never falls (Kolda and Mayo 2014): maxima.
    Adaptive,
}

/// When an iteration ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// After as many iterations.
    Iterations(u32),
    /// Once λ changes by at most `tolerance` times its magnitude (looked at after every second
    /// iteration), or after `max_iterations`, rounded up to even.
    Tolerance {
        /// At least 1e-7, the precision of the numbers.
        tolerance: f32,
        /// At least 1.
        max_iterations: u32,
    },
}

/// How the products are unrolled; see [`unrolled`](crate::unrolled).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrolling {
    /// As in the paper: A x^(m-1) and A x^m apart, every term by itself.
    Plain,
    /// Both from A x^(m-2) with shared products.
    Shared,
}

/// Tensors of one order in dimension 3, each solved from every start.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// 4, 6 or 8.
    pub order: usize,
    /// Unique entries, `[tensor][entry]`.
    pub tensors: &'a [f32],
    /// Unit vectors.
    pub starts: &'a [[f32; 3]],
}

/// Where every start of every tensor ended, `[tensor][start]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoints {
    /// λ = A x^m at `x`.
    pub lambda: Vec<f32>,
    /// The unit vector.
    pub x: Vec<[f32; 3]>,
    /// How many iterations led there.
    pub iterations: Vec<u32>,
    /// Whether the tolerance was met; true for a fixed number of iterations.
    pub converged: Vec<bool>,
}

/// A batch that cannot be solved.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BatchError {
    /// Only these orders are unrolled.
    #[error("unrolled SS-HOPM is for order 4, 6 or 8, not {0}")]
    Order(usize),
    /// The entries do not fill whole tensors.
    #[error("{found} numbers are no multiple of the {entries} unique entries of a tensor")]
    Entries {
        /// What there is.
        found: usize,
        /// What a tensor has.
        entries: usize,
    },
    /// The adaptive shift needs A x^(m-2), which the plain products do not make.
    #[error("the adaptive shift goes with shared products")]
    PlainAdaptive,
}

/// Tensors of one task.
const TASK: usize = 64;

/// Endpoints of some tensors, to be written.
struct Rows<'a> {
    lambda: &'a mut [f32],
    x: &'a mut [[f32; 3]],
    iterations: &'a mut [u32],
    converged: &'a mut [bool],
}

/// What one task solves.
struct Task<'a> {
    tensors: &'a [f32],
    starts: &'a [[f32; 3]],
    shift: f32,
    stop: Stop,
    to: Rows<'a>,
}

/// Solves a batch.
///
/// # Errors
/// [`BatchError`].
pub fn solve(
    batch: &Batch<'_>,
    shift: Shift,
    stop: Stop,
    unrolling: Unrolling,
    workers: &Workers,
) -> Result<Endpoints, BatchError> {
    match batch.order {
        4 => solve_form::<Order4>(batch, shift, stop, unrolling, workers),
        6 => solve_form::<Order6>(batch, shift, stop, unrolling, workers),
        8 => solve_form::<Order8>(batch, shift, stop, unrolling, workers),
        order => Err(BatchError::Order(order)),
    }
}

fn solve_form<F: Form>(
    batch: &Batch<'_>,
    shift: Shift,
    stop: Stop,
    unrolling: Unrolling,
    workers: &Workers,
) -> Result<Endpoints, BatchError> {
    match (unrolling, shift) {
        (Unrolling::Plain, Shift::Fixed(shift)) => {
            solve_with::<F, PlainFixed>(batch, shift, stop, workers)
        }
        (Unrolling::Shared, Shift::Fixed(shift)) => {
            solve_with::<F, SharedFixed>(batch, shift, stop, workers)
        }
        (Unrolling::Shared, Shift::Adaptive) => {
            solve_with::<F, SharedAdaptive>(batch, 0.0, stop, workers)
        }
        (Unrolling::Plain, Shift::Adaptive) => Err(BatchError::PlainAdaptive),
    }
}

fn solve_with<F: Form, A: Advance>(
    batch: &Batch<'_>,
    shift: f32,
    stop: Stop,
    workers: &Workers,
) -> Result<Endpoints, BatchError> {
    let Batch { tensors, starts, .. } = *batch;
    let (found, entries) = (tensors.len(), F::ENTRIES);
    if !found.is_multiple_of(entries) {
        return Err(BatchError::Entries { found, entries });
    }
    let n = found / entries * starts.len();
    let mut ends = Endpoints {
        lambda: vec![0.0; n],
        x: vec![[0.0; 3]; n],
        iterations: vec![0; n],
        converged: vec![true; n],
    };
    if n == 0 {
        return Ok(ends);
    }
    let size = TASK * starts.len();
    let level = workers.simd();
    workers.install(|| {
        tensors
            .par_chunks(TASK * entries)
            .zip(ends.lambda.par_chunks_mut(size))
            .zip(ends.x.par_chunks_mut(size))
            .zip(ends.iterations.par_chunks_mut(size))
            .zip(ends.converged.par_chunks_mut(size))
            .for_each(|((((tensors, lambda), x), iterations), converged)| {
                let to = Rows { lambda, x, iterations, converged };
                let task = Task { tensors, starts, shift, stop, to };
                match stop {
                    Stop::Iterations(count) => level.run(fixed::Solve::<F, A>::new(task, count)),
                    Stop::Tolerance { tolerance, max_iterations } => {
                        level.run(refilled::Solve::<F, A>::new(task, tolerance, max_iterations));
                    }
                }
            });
    });
    Ok(ends)
}
