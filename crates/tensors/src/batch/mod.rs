//! SS-HOPM in `f32` for batches of small tensors, the paper's workload: many tensors of one order
//! and dimension, each from the same starts.
//!
//! The shifted symmetric higher-order power method (Kolda and Mayo 2011) repeats
//! x ← ±(A x^(m-1) + αx) / ‖…‖ until λ = A x^m no longer changes; the oracle is
//! [`sshopm`](crate::sshopm). [`solve`] runs on threads with the [`Products`] of one's choice;
//! [`DeviceBatch`] runs on a device.
//!
//! The unrolled products run in lanes: one start in each, four registers in flight. With a
//! tolerance a lane that is done takes the next start, or the next tensor, while the others go on.
//! A pair's bits do not depend on threads, lanes or neighbours.

mod blocked;
mod device;
mod flops;
mod lanes;
mod scalar;

use fimbria_compute::Workers;
use rayon::prelude::*;

pub use self::device::DeviceBatch;
pub(crate) use self::device::source as device_source;
pub use self::flops::{executed_flops, nominal_flops, product_flops};
use crate::layout::Layout;

/// The shift α of the iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shift {
    /// The same in every iteration: at least 0 for maxima, negative for minima.
    Fixed(f32),
    /// The least that makes the form convex at x, from the smallest eigenvalue of A x^(m-2), so
    /// that λ never falls (Kolda and Mayo 2014): maxima. Dimension 3, shared products.
    Adaptive,
}

/// When an iteration ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// After as many iterations.
    Iterations(u32),
    /// Once λ changes by at most `tolerance` times its magnitude, or after `max_iterations`.
    /// Lanes look after every second iteration, and so may do one more than others.
    Tolerance {
        /// Not below 1e-7, the precision of the numbers.
        tolerance: f32,
        /// At least 1.
        max_iterations: u32,
    },
}

/// How A x^(m-1) and A x^m are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Products {
    /// One start at a time, any order and dimension, indices computed on the fly.
    General,
    /// The same with precomputed tables.
    Tables,
    /// Sixteen starts at a time in register [tiles](crate::blocked), any order and dimension; on
    /// devices as `Tables`.
    Blocked,
    /// Unrolled as in the paper: both apart, every term by itself; order 4 or 6, dimension 3 (on
    /// devices any).
    Plain,
    /// Unrolled, both from A x^(m-2) with shared products; order 4, 6 or 8, dimension 3 (on devices
    /// any).
    Shared,
}

/// Tensors of one layout, each solved from every start.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// Order and dimension.
    pub layout: Layout,
    /// Unique entries, `[tensor][entry]`.
    pub tensors: &'a [f32],
    /// Unit vectors, `[start][component]`.
    pub starts: &'a [f32],
}

/// Where every start of every tensor ended, `[tensor][start]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoints {
    /// λ = A x^m at `x`.
    pub lambda: Vec<f32>,
    /// The unit vectors, `[tensor][start][component]`.
    pub x: Vec<f32>,
    /// How many iterations led there.
    pub iterations: Vec<u32>,
    /// Whether the tolerance was met; true for a fixed number of iterations.
    pub converged: Vec<bool>,
}

/// A batch that cannot be solved.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// No such unrolled products, or an order below 2.
    #[error(
        "unrolled products are for order 4, 6 or (shared) 8 and dimension 3, not {order} and \
         {dimension}"
    )]
    NotUnrolled {
        /// The order.
        order: usize,
        /// The dimension.
        dimension: usize,
    },
    /// The numbers do not fill whole tensors or starts.
    #[error("{found} numbers are no multiple of the {expected} of a {what}")]
    Count {
        /// A tensor or a start.
        what: &'static str,
        /// What there is.
        found: usize,
        /// What one has.
        expected: usize,
    },
    /// The adaptive shift needs A x^(m-2), which other products do not make.
    #[error("the adaptive shift goes with shared products and dimension 3")]
    NotAdaptive,
    /// A device failed.
    #[error(transparent)]
    Device(#[from] fimbria_compute::device::DeviceError),
}

impl Batch<'_> {
    fn n_starts(&self) -> usize {
        self.starts.len() / self.layout.dimension()
    }

    fn n_tensors(&self) -> usize {
        self.tensors.len() / self.layout.len()
    }

    fn check(&self, products: Products, shift: Shift) -> Result<(), BatchError> {
        let (order, dimension) = (self.layout.order(), self.layout.dimension());
        for (what, found, expected) in [
            ("tensor", self.tensors.len(), self.layout.len()),
            ("start", self.starts.len(), dimension),
        ] {
            if !found.is_multiple_of(expected) {
                return Err(BatchError::Count { what, found, expected });
            }
        }
        if shift == Shift::Adaptive && (products != Products::Shared || dimension != 3) {
            return Err(BatchError::NotAdaptive);
        }
        if order < 2 {
            return Err(BatchError::NotUnrolled { order, dimension });
        }
        Ok(())
    }
}

/// Tensors of one task.
const TASK: usize = 64;

/// What one task solves, and where its endpoints go.
struct Task<'a> {
    layout: Layout,
    tensors: &'a [f32],
    starts: &'a [f32],
    shift: Shift,
    stop: Stop,
    lambda: &'a mut [f32],
    x: &'a mut [f32],
    iterations: &'a mut [u32],
    converged: &'a mut [bool],
}

/// Solves a batch on threads.
///
/// # Errors
/// [`BatchError`].
pub fn solve(
    batch: &Batch<'_>,
    products: Products,
    shift: Shift,
    stop: Stop,
    workers: &Workers,
) -> Result<Endpoints, BatchError> {
    batch.check(products, shift)?;
    let Batch { layout, tensors, starts } = *batch;
    let run = match products {
        Products::General => scalar::general,
        Products::Tables => scalar::tables,
        Products::Blocked => blocked::solve,
        Products::Plain | Products::Shared => lanes::solver(layout, products)?,
    };
    let n = batch.n_tensors() * batch.n_starts();
    let mut ends = Endpoints {
        lambda: vec![0.0; n],
        x: vec![0.0; n * layout.dimension()],
        iterations: vec![0; n],
        converged: vec![true; n],
    };
    if n == 0 {
        return Ok(ends);
    }
    // Few tensors are still shared out among all threads.
    let task = batch.n_tensors().div_ceil(workers.threads()).clamp(1, TASK);
    let size = task * batch.n_starts();
    let level = workers.simd();
    workers.install(|| {
        tensors
            .par_chunks(task * layout.len())
            .zip(ends.lambda.par_chunks_mut(size))
            .zip(ends.x.par_chunks_mut(size * layout.dimension()))
            .zip(ends.iterations.par_chunks_mut(size))
            .zip(ends.converged.par_chunks_mut(size))
            .for_each(|((((tensors, lambda), x), iterations), converged)| {
                let stated =
                    Task { layout, tensors, starts, shift, stop, lambda, x, iterations, converged };
                run(level, stated);
            });
    });
    Ok(ends)
}

#[cfg(test)]
mod tests;
