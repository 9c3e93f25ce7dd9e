//! The sampler in `f32`, one voxel per SIMD lane. [`rules`](crate::rules) states what it does,
//! the oracle does the same in plain `f64`.
//!
//! What makes it fast is what it does not compute. A jump of three fibres makes fourteen moves;
//! the signals of ball and sticks, unit S0, are kept, and a move computes only those that it
//! changes: one stick for angles, all for the curve, none for fractions and S0, which
//! cost a multiplication and two fused additions per measurement. The sum of squares is made of
//! residuals every time, never updated, so that nothing cancels.

mod bessel;
mod chain;
mod constants;
mod curve;
mod learn;
mod pack;
mod passes;
mod priors;
mod proposals;
mod timing;

use fimbria_compute::{Lanes, SimdLevel};
use pulp::{Simd, WithSimd};

use self::chain::Chain;
pub(crate) use self::constants::Constants;
use self::pack::Pack;
pub use self::timing::JumpTime;
pub(crate) use self::timing::time;
use crate::batch::{Batch, Recorded};

/// Samples the voxels of a batch, as many at a time as a register of `simd` has lanes; the rest are left
/// once `stops` says so.
pub(crate) fn sample(
    batch: &Batch<'_>,
    constants: &Constants,
    simd: SimdLevel,
    to: &mut Recorded,
    stops: &dyn Fn() -> bool,
) {
    simd.run(InLanes { batch, constants, to, stops });
}

struct InLanes<'a> {
    batch: &'a Batch<'a>,
    constants: &'a Constants,
    to: &'a mut Recorded,
    stops: &'a dyn Fn() -> bool,
}

impl WithSimd for InLanes<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        run::<Lanes<S>>(simd, self.batch, self.constants, self.to, self.stops);
    }
}

/// The same a voxel at a time: what a device, which fuses multiply-add, is held to.
pub(crate) fn sample_singly(batch: &Batch<'_>, constants: &Constants, to: &mut Recorded) {
    run::<f32>((), batch, constants, to, &|| false);
}

#[inline(always)]
fn run<R: Pack>(
    token: R::Token,
    batch: &Batch<'_>,
    constants: &Constants,
    to: &mut Recorded,
    stops: &dyn Fn() -> bool,
) {
    let mut chain = Chain::<R>::new(token, constants);
    for first in (0..batch.n).step_by(R::LANES).take_while(|_| !stops()) {
        chain.load(batch, first);
        chain.run(first, to);
    }
}

#[cfg(test)]
mod tests;
