//! The fit in `f32`, one problem per SIMD lane.
//!
//! A register of problems iterates together; a lane whose problem has come to rest hands in its
//! result and takes the next problem at once, so that the slowest does not hold up the others.
//! Every operation acts on each lane alone: a problem's result does not depend on its neighbours,
//! nor, where multiply-add is fused, on the width of the register.

mod cholesky;
mod evaluate;
mod finish;
mod state;
mod step;

use fimbria_compute::{Lanes, SimdLevel};
use pulp::{Simd, WithSimd};

use self::state::State;
use super::problems::{LmStatus, Problems, Rows, Sigma, Weights};
use super::{LmOptions, Model, Parameter};

/// The most lanes of any level.
const MAX_LANES: usize = 16;
/// The most covariates of a sample and constants of a problem that lanes take.
pub(crate) const MOST_KNOWN: usize = 24;
/// The most values that a model prepares of parameters.
const MOST_PREPARED: usize = 52;

/// One number for each lane.
type Row = [f32; MAX_LANES];

/// What all problems of a call share.
pub(super) struct Shared<'a, M, const P: usize> {
    pub(super) model: &'a M,
    pub(super) parameters: &'a [Parameter; P],
    pub(super) problems: &'a Problems<'a>,
    pub(super) options: &'a LmOptions,
}

impl<M: Model<P>, const P: usize> Shared<'_, M, P> {
    /// Fits all problems into `results`, `[row][stride]`.
    pub(super) fn fit(&self, simd: SimdLevel, results: &mut [f32]) {
        simd.run(FitAll { shared: self, results });
    }
}

struct FitAll<'a, M, const P: usize> {
    shared: &'a Shared<'a, M, P>,
    results: &'a mut [f32],
}

impl<M: Model<P>, const P: usize> WithSimd for FitAll<'_, M, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let mut fitter = Fitter::new(simd, self.shared);
        fitter.run(self.results);
    }
}

/// A register of problems on their way.
struct Fitter<'a, S: Simd, M, const P: usize> {
    simd: S,
    shared: &'a Shared<'a, M, P>,
    bounds: step::Bounds<P>,
    rows: Rows,
    state: State<P>,
    /// `[sample][lane]`.
    samples: Vec<f32>,
    /// `[sample][lane]`.
    weights: Vec<f32>,
    /// The first problem that no lane has taken.
    next: usize,
}

impl<'a, S: Simd, M: Model<P>, const P: usize> Fitter<'a, S, M, P> {
    #[inline(always)]
    fn new(simd: S, shared: &'a Shared<'a, M, P>) -> Self {
        let lanes = Lanes::<S>::LANES;
        let n_samples = shared.problems.n_samples();
        let mut weights = vec![1.0; n_samples * lanes];
        if let Weights::PerSample(shared) = shared.problems.weights {
            for (row, &w) in weights.chunks_exact_mut(lanes).zip(shared) {
                row.fill(w);
            }
        }
        Self {
            simd,
            shared,
            bounds: step::Bounds::new(shared.parameters),
            rows: Rows::new(P, shared.options),
            state: State::new(),
            samples: vec![0.0; n_samples * lanes],
            weights,
            next: 0,
        }
    }

    #[inline(always)]
    fn run(&mut self, results: &mut [f32]) {
        for lane in 0..Lanes::<S>::LANES {
            self.refill(lane, results);
        }
        let mut rows = vec![0.0; self.rows.count() * MAX_LANES];
        while self.state.active.contains(&1.0) {
            if self.iterate() {
                self.finish(&mut rows);
                for lane in 0..Lanes::<S>::LANES {
                    if self.state.done[lane] == 1.0 {
                        let problem = self.state.problem[lane];
                        for (row, values) in rows.chunks_exact(MAX_LANES).enumerate() {
                            results[row * self.shared.problems.stride + problem] = values[lane];
                        }
                        self.refill(lane, results);
                    }
                }
            }
        }
    }

    /// Gives a lane the next problem that can be fitted; those with numbers that are not finite
    /// are answered at once.
    #[inline(always)]
    fn refill(&mut self, lane: usize, results: &mut [f32]) {
        self.state.active[lane] = 0.0;
        while self.next < self.shared.problems.n {
            let problem = self.next;
            self.next += 1;
            if self.load(lane, problem) {
                return;
            }
            let stride = self.shared.problems.stride;
            for row in 0..self.rows.count() {
                results[row * stride + problem] = 0.0;
            }
            results[self.rows.status() * stride + problem] = LmStatus::BadProblem.code();
        }
    }

    /// Loads a problem into a lane; false where a number is not finite.
    #[inline(always)]
    fn load(&mut self, lane: usize, problem: usize) -> bool {
        let lanes = Lanes::<S>::LANES;
        let Problems { stride, samples, constants, weights, .. } = *self.shared.problems;
        // Not finite once a term is not: NaN and infinities do not cancel in a sum of squares.
        let (mut square, mut weight_sum) = (0.0, 0.0);
        let rows = self.samples.chunks_exact_mut(lanes).zip(self.weights.chunks_exact_mut(lanes));
        for (i, (sample, weight)) in rows.enumerate() {
            let y = samples[i * stride + problem];
            if let Weights::PerProblem(weights) = weights {
                weight[lane] = weights[i * stride + problem];
            }
            sample[lane] = y;
            square += weight[lane] * y * y;
            weight_sum += weight[lane];
        }
        let mut finite = square.is_finite() && square > 0.0 && weight_sum.is_finite();
        for k in 0..self.shared.model.n_constants() {
            self.state.constants[k][lane] = constants[k * stride + problem];
            finite &= self.state.constants[k][lane].is_finite();
        }
        for (k, parameter) in self.shared.parameters.iter().enumerate() {
            let start = self.shared.problems.start(k, parameter, problem) as f32;
            finite &= start.is_finite();
            self.state.p[k][lane] = start.max(self.bounds.lower[k]).min(self.bounds.upper[k]);
        }
        let sigma = match self.shared.options.sigma {
            Sigma::Shared(sigma) => sigma,
            Sigma::Constant(row) => constants[row * stride + problem],
        };
        finite &= sigma.is_finite();
        if finite {
            self.state.begin(lane, problem, sigma, square, weight_sum);
        }
        finite
    }
}
