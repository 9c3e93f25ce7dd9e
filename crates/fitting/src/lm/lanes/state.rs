//! Where each lane's problem stands.

use super::{MAX_LANES, MOST_KNOWN, Row};
use crate::lm::rules::{self, Rules};

/// A register of problems between two iterations. It lives in memory (the first-level cache): a
/// few loads and stores an iteration, beside a pass over all samples.
pub(super) struct State<const P: usize> {
    pub(super) p: [Row; P],
    /// Infinite until the start has been evaluated.
    pub(super) cost: Row,
    pub(super) squares: Row,
    pub(super) gradient: [Row; P],
    /// The lower triangle.
    pub(super) matrix: [[Row; P]; P],
    pub(super) scale: [Row; P],
    pub(super) damping: Row,
    pub(super) growth: Row,
    pub(super) iterations: Row,
    /// What rounding of the samples can do to the cost.
    pub(super) floor: Row,
    pub(super) sigma: Row,
    pub(super) weight_sum: Row,
    pub(super) constants: [Row; MOST_KNOWN],
    pub(super) status: Row,
    /// 1 where the lane has a problem, else 0.
    pub(super) active: Row,
    /// 1 where the problem came to rest in the last iteration.
    pub(super) done: Row,
    pub(super) problem: [usize; MAX_LANES],
}

impl<const P: usize> State<P> {
    pub(super) fn new() -> Self {
        let zero = [0.0; MAX_LANES];
        Self {
            p: [zero; P],
            cost: [f32::INFINITY; MAX_LANES],
            squares: zero,
            gradient: [zero; P],
            matrix: [[zero; P]; P],
            scale: [zero; P],
            damping: zero,
            growth: zero,
            iterations: zero,
            floor: zero,
            sigma: zero,
            weight_sum: zero,
            constants: [zero; MOST_KNOWN],
            status: zero,
            active: zero,
            done: zero,
            problem: [0; MAX_LANES],
        }
    }

    /// Starts a problem whose parameters and constants are in place. With a matrix of zeros all
    /// parameters are held, so that its first step is to the start itself.
    #[inline(always)]
    pub(super) fn begin(
        &mut self,
        lane: usize,
        problem: usize,
        sigma: f32,
        square: f32,
        weight_sum: f32,
    ) {
        self.cost[lane] = f32::INFINITY;
        for j in 0..P {
            self.gradient[j][lane] = 0.0;
            self.scale[j][lane] = 0.0;
            for k in 0..=j {
                self.matrix[j][k][lane] = 0.0;
            }
        }
        self.damping[lane] = rules::FIRST_DAMPING as f32;
        self.growth[lane] = 2.0;
        self.iterations[lane] = 0.0;
        self.floor[lane] = (0.5 * Rules::SINGLE.rounding * Rules::SINGLE.rounding) as f32 * square;
        self.sigma[lane] = sigma;
        self.weight_sum[lane] = weight_sum;
        self.active[lane] = 1.0;
        self.problem[lane] = problem;
    }
}
