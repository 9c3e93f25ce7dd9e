//! The unrolled products, one start per SIMD lane.

mod advance;
mod pair;
mod refilled;

use fimbria_compute::SimdLevel;

use self::advance::{Advance, Plain, Shared};
use super::{BatchError, Products, Shift, Stop, Task};
use crate::layout::Layout;
use crate::unrolled::{Form, Order4, Order6, Order8};

pub(super) use self::advance::{MARGIN, NO_LENGTH};

/// The function that solves tensors of `layout`.
pub(super) fn solver(
    layout: Layout,
    products: Products,
) -> Result<fn(SimdLevel, Task<'_>), BatchError> {
    match (layout.order(), layout.dimension(), products) {
        (4, 3, Products::Plain) => Ok(run::<Order4, Plain>),
        (6, 3, Products::Plain) => Ok(run::<Order6, Plain>),
        (4, 3, _) => Ok(run::<Order4, Shared>),
        (6, 3, _) => Ok(run::<Order6, Shared>),
        // Plain, a body of this order is over a thousand operations, which no cache thanks.
        (8, 3, Products::Shared) => Ok(run::<Order8, Shared>),
        (order, dimension, _) => Err(BatchError::NotUnrolled { order, dimension }),
    }
}

fn run<F: Form, A: Advance>(level: SimdLevel, task: Task<'_>) {
    level.run(refilled::Solve::<F, A>::new(task));
}
