//! Where the time of a jump goes.

use std::hint::black_box;
use std::time::Instant;

use fimbria_compute::{Lanes, SimdLevel};
use pulp::{Simd, WithSimd};

use super::chain::Chain;
use super::constants::Constants;
use super::pack::Pack;
use crate::batch::Batch;
use crate::slots::{self, MOST};

/// Seconds of one jump of one voxel, and what of them are spent where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JumpTime {
    /// All of the jump.
    pub whole: f64,
    /// Signals of sticks and balls that a proposal changes: exponentials, or powers.
    pub columns: f64,
    /// Residuals and their squares, once a move.
    pub sums: f64,
}

impl JumpTime {
    /// The rest: random numbers, priors, decisions, and putting away what was taken.
    pub fn proposals(&self) -> f64 {
        self.whole - self.columns - self.sums
    }
}

/// Times jumps of the first voxels of a batch, as many as a register has lanes.
pub(crate) fn time(batch: &Batch<'_>, constants: &Constants, simd: SimdLevel) -> JumpTime {
    simd.run(Timed { batch, constants })
}

struct Timed<'a> {
    batch: &'a Batch<'a>,
    constants: &'a Constants,
}

/// Jumps, or passes over the measurements, that are timed in one go.
const TIMES: u32 = 40;
/// Goes of which the shortest counts: other work on the machine makes some longer.
const GOES: u32 = 25;

/// Seconds of each of [`TIMES`] executions; not a closure, which might not be inlined.
macro_rules! least_seconds {
    ($work:expr) => {{
        let mut least = f64::INFINITY;
        for _ in 0..GOES {
            let start = Instant::now();
            for _ in 0..TIMES {
                $work;
            }
            least = least.min(start.elapsed().as_secs_f64());
        }
        least / f64::from(TIMES)
    }};
}

impl WithSimd for Timed<'_> {
    type Output = JumpTime;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> JumpTime {
        let mut chain = Chain::<Lanes<S>>::new(simd, self.constants);
        chain.load(self.batch, 0);
        time_chain(&mut chain)
    }
}

#[inline(always)]
fn time_chain<R: Pack>(chain: &mut Chain<'_, R>) -> JumpTime {
    let constants = chain.constants;
    let mut jump = 0;
    let whole = least_seconds!({
        chain.jump(jump);
        jump += 1;
    });
    let p: [R; MOST] = chain.p;
    let zero = chain.value(0.0);
    let sum = least_seconds!(black_box(chain.more_stick(0, zero, black_box(&p))));
    let one = least_seconds!(black_box(chain.one_column(0, black_box(&p))));
    let all = least_seconds!(black_box(chain.all_columns(black_box(&p))));
    let per_voxel = 1.0 / R::LANES as f64;
    let [whole, sum, one, all] = [whole, sum, one, all].map(|seconds| seconds * per_voxel);
    let angles = constants.moves.iter().filter(|slot| slots::is_theta(**slot)).count() as f64;
    JumpTime {
        whole,
        columns: (all - sum).max(0.0) + angles * (one - sum).max(0.0),
        sums: constants.moves.len() as f64 * sum,
    }
}
