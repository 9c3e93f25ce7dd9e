//! The fit in `f32`, one problem per SIMD lane.
//!
//! Two registers of problems go through all passes together, so that an element of a table that
//! is read from memory is used twice; their samples stay in the second-level cache. Every
//! operation acts on each lane alone and every sum runs over its terms in their order: a
//! problem's result does not depend on its neighbours, the number of threads or, where
//! multiply-add is fused, the width of the register.

mod normal;
mod product;
mod scratch;
mod survey;
#[cfg(test)]
mod tests;

use fimbria_compute::{Flags, LaneFlags, Lanes, Real};
use pulp::{Simd, WithSimd};

use self::normal::{factor, solve};
use self::product::product;
use self::scratch::{Arrays, Scratch};
use self::survey::{Samples, Survey, clamp, exp};
use super::fit::{Outcome, Problems, Rows};
use super::recipe::{FirstWeights, Recipe};
use super::tables::Tables;

/// The limits of the arithmetic, by the names that the kernel knows them by.
pub(super) const LIMITS: [(&str, f32); 4] = [
    ("LARGEST_LOG", survey::LARGEST_LOG),
    ("SMALLEST", survey::SMALLEST),
    ("LARGEST_MEAN", survey::LARGEST_MEAN),
    ("SMALLEST_PIVOT", normal::SMALLEST_PIVOT),
];

/// Registers of problems that are fitted together.
const HALVES: usize = 2;

/// How many times each pass solves for what its solution left over. Rounding in XᵀWX costs an
/// `f32` solution up to four digits; each round leaves that fraction of the error before it.
pub(super) const REFINEMENTS: usize = 1;

/// What a pass is weighted by, beside the given weights.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weights {
    Unit,
    Measured,
    Predicted,
}

/// Fits problems and writes `[row][stride]`; what `f32` cannot solve is singular.
pub(super) struct FitProblems<'a> {
    pub(super) tables: &'a Tables,
    pub(super) recipe: &'a Recipe,
    pub(super) rows: Rows,
    pub(super) problems: Problems<'a>,
    pub(super) results: &'a mut [f32],
}

impl WithSimd for FitProblems<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { tables, recipe, rows, problems, results } = self;
        let lanes = HALVES * Lanes::<S>::LANES;
        let mut fitter =
            Fitter { simd, tables, recipe, rows, scratch: Scratch::new(tables, lanes) };
        let mut packed = [vec![0.0; tables.n_samples * lanes], Vec::new()];
        packed[1].resize(problems.weights.map_or(0, |_| packed[0].len()), 0.0);
        let [packed_samples, packed_weights] = &mut packed;
        for offset in (0..problems.n).step_by(lanes) {
            let place = Stretch {
                stride: problems.stride,
                offset,
                n: lanes.min(problems.n - offset),
                lanes,
            };
            let samples = place.samples(problems.samples, packed_samples);
            let weights = problems.weights.map(|given| place.samples(given, packed_weights));
            fitter.fit(samples, weights, place, results);
        }
    }
}

/// `n` neighbouring problems from `offset` on, at most as many as there are lanes.
#[derive(Clone, Copy)]
struct Stretch {
    stride: usize,
    offset: usize,
    n: usize,
    lanes: usize,
}

impl Stretch {
    /// Their samples where they are, or in `packed` where they do not fill the lanes.
    #[inline(always)]
    fn samples<'a>(self, from: &'a [f32], packed: &'a mut [f32]) -> Samples<'a> {
        if self.n == self.lanes {
            return Samples { data: &from[self.offset..], stride: self.stride };
        }
        for (row, packed) in from.chunks_exact(self.stride).zip(packed.chunks_exact_mut(self.lanes))
        {
            packed[..self.n].copy_from_slice(&row[self.offset..][..self.n]);
            packed[self.n..].fill(0.0);
        }
        Samples { data: packed, stride: self.lanes }
    }

    /// Sets a row of the results, one half of it.
    #[inline(always)]
    fn store<S: Simd>(self, results: &mut [f32], row: usize, half: usize, value: Lanes<S>) {
        let first = half * Lanes::<S>::LANES;
        let n = self.n.saturating_sub(first).min(Lanes::<S>::LANES);
        let to = &mut results[row * self.stride + self.offset..][..self.n];
        if n == Lanes::<S>::LANES {
            value.store(&mut to[first..]);
        } else if n > 0 {
            value.store_partial(&mut to[first..]);
        }
    }
}

struct Fitter<'a, S> {
    simd: S,
    tables: &'a Tables,
    recipe: &'a Recipe,
    rows: Rows,
    scratch: Scratch,
}

impl<S: Simd> Fitter<'_, S> {
    #[inline(always)]
    fn fit(
        &mut self,
        samples: Samples<'_>,
        given: Option<Samples<'_>>,
        place: Stretch,
        results: &mut [f32],
    ) {
        let Self { simd, tables, recipe, rows, .. } = *self;
        let width = Lanes::<S>::LANES;
        let arrays = &mut self.scratch.arrays();
        let halves = [samples.from(0), samples.from(width)];
        let given = given.map(|given| [given.from(0), given.from(width)]);
        let surveys = [
            Survey::new(simd, halves[0], tables.n_samples, recipe.floor),
            Survey::new(simd, halves[1], tables.n_samples, recipe.floor),
        ];
        let mut singular = [Lanes::new(simd, 0.0).less(Lanes::new(simd, 0.0)); HALVES];
        if surveys[0].good.any() || surveys[1].good.any() {
            for half in 0..HALVES {
                write_logs(simd, &surveys[half], halves[half], half, arrays.logs);
            }
            let n = tables.n_unknowns;
            product(simd, &tables.pseudo_inverse, n, arrays.logs, arrays.unknowns);
            let first = match recipe.passes.first {
                FirstWeights::Measured => Some(Weights::Measured),
                // The pseudo-inverse has done it.
                FirstWeights::Unit => given.map(|_| Weights::Unit),
            };
            let firsts = usize::from(first.is_some());
            let passes = firsts + recipe.passes.reweighted;
            if passes == 0 {
                refine_ordinary(simd, tables, arrays);
            }
            for pass in 0..passes {
                let kind = first.filter(|_| pass == 0).unwrap_or(Weights::Predicted);
                product(
                    simd,
                    &tables.prediction,
                    tables.n_samples,
                    arrays.unknowns,
                    arrays.predicted,
                );
                for half in 0..HALVES {
                    let given = given.map(|given| given[half]);
                    weigh(simd, &surveys[half], halves[half], given, kind, half, arrays);
                }
                product(simd, &tables.moments, tables.n_moments, arrays.weights, arrays.moments);
                let found = factor(simd, tables, arrays.moments, arrays.factor);
                correct(simd, tables, found, arrays);
                for _ in 0..REFINEMENTS {
                    write_residuals(simd, tables, arrays);
                    correct(simd, tables, found, arrays);
                }
                for half in 0..HALVES {
                    singular[half] = singular[half] | found[half];
                }
            }
        }
        for half in 0..HALVES {
            let survey = &surveys[half];
            let fitted = survey.good & !singular[half];
            let zero = Lanes::new(simd, 0.0);
            let unknown =
                |k: usize| Lanes::load(simd, &arrays.unknowns[(k * HALVES + half) * width..]);
            let amplitude = exp(unknown(0)) * survey.mean;
            let amplitude = Lanes::select(fitted, amplitude, zero);
            place.store(results, Rows::AMPLITUDE, half, amplitude);
            for k in 1..tables.n_unknowns {
                let coefficient = unknown(k) * tables.inverse_scales[k];
                let coefficient = Lanes::select(fitted, coefficient, zero);
                place.store(results, rows.coefficient(k - 1), half, coefficient);
            }
            place.store(results, rows.raised(), half, survey.raised);
            let code = |outcome: Outcome| Lanes::new(simd, outcome.code());
            let outcome =
                Lanes::select(singular[half], code(Outcome::Singular), code(Outcome::Fitted));
            let outcome = Lanes::select(survey.good, outcome, code(Outcome::BadSignal));
            place.store(results, rows.outcome(), half, outcome);
        }
        if recipe.residual {
            product(simd, &tables.prediction, tables.n_samples, arrays.unknowns, arrays.predicted);
        }
        for half in 0..HALVES {
            let survey = &surveys[half];
            let zero = Lanes::new(simd, 0.0);
            let residual = match recipe.residual {
                true => root_mean_square(simd, survey, halves[half], half, arrays.predicted),
                false => zero,
            };
            let fitted = survey.good & !singular[half];
            place.store(results, rows.residual(), half, Lanes::select(fitted, residual, zero));
        }
    }
}

#[inline(always)]
fn write_logs<S: Simd>(
    simd: S,
    survey: &Survey<S>,
    samples: Samples<'_>,
    half: usize,
    logs: &mut [f32],
) {
    let width = Lanes::<S>::LANES;
    for (row, log) in samples.rows().zip(logs.chunks_exact_mut(HALVES * width)) {
        survey.log(Lanes::load(simd, row)).store(&mut log[half * width..]);
    }
}

/// Weights, and weighted residuals of the prediction.
#[inline(always)]
fn weigh<S: Simd>(
    simd: S,
    survey: &Survey<S>,
    samples: Samples<'_>,
    given: Option<Samples<'_>>,
    kind: Weights,
    half: usize,
    arrays: &mut Arrays<'_>,
) {
    let width = Lanes::<S>::LANES;
    let (lanes, first) = (HALVES * width, half * width);
    let rows = arrays.logs.chunks_exact(lanes).zip(arrays.predicted.chunks_exact(lanes));
    let out = arrays.weights.chunks_exact_mut(lanes).zip(arrays.residuals.chunks_exact_mut(lanes));
    for (i, (((log, predicted), (weight, residual)), sample)) in
        rows.zip(out).zip(samples.rows()).enumerate()
    {
        let predicted = clamp(Lanes::load(simd, &predicted[first..]));
        let root = match kind {
            Weights::Unit => Lanes::new(simd, 1.0),
            Weights::Measured => survey.raise(Lanes::load(simd, sample)),
            Weights::Predicted => exp(predicted),
        };
        let mut w = root * root;
        if let Some(given) = given {
            w = w * Lanes::load(simd, &given.data[i * given.stride..]);
        }
        w.store(&mut weight[first..]);
        let rest = w * (Lanes::load(simd, &log[first..]) - predicted);
        rest.store(&mut residual[first..]);
    }
}

/// Solves for what the ordinary estimate left over: the table's own rounding.
#[inline(always)]
fn refine_ordinary<S: Simd>(simd: S, tables: &Tables, arrays: &mut Arrays<'_>) {
    arrays.weights.fill(1.0);
    write_residuals(simd, tables, arrays);
    product(simd, &tables.pseudo_inverse, tables.n_unknowns, arrays.residuals, arrays.step);
    for (unknown, step) in arrays.unknowns.iter_mut().zip(arrays.step.iter()) {
        *unknown += step;
    }
}

/// Weighted residuals of the estimate as it is now.
#[inline(always)]
fn write_residuals<S: Simd>(simd: S, tables: &Tables, arrays: &mut Arrays<'_>) {
    product(simd, &tables.prediction, tables.n_samples, arrays.unknowns, arrays.predicted);
    let width = Lanes::<S>::LANES;
    let rows = arrays.logs.chunks_exact(width).zip(arrays.predicted.chunks_exact(width));
    let out = arrays.weights.chunks_exact(width).zip(arrays.residuals.chunks_exact_mut(width));
    for ((log, predicted), (weight, residual)) in rows.zip(out) {
        let rest = Lanes::load(simd, log) - clamp(Lanes::load(simd, predicted));
        (Lanes::load(simd, weight) * rest).store(residual);
    }
}

/// Adds what the weighted residuals ask for to the estimate, but in lanes without a solution.
#[inline(always)]
fn correct<S: Simd>(
    simd: S,
    tables: &Tables,
    singular: [LaneFlags<S>; HALVES],
    arrays: &mut Arrays<'_>,
) {
    let width = Lanes::<S>::LANES;
    let n = tables.n_unknowns;
    product(simd, &tables.moments, n, arrays.residuals, arrays.step);
    solve(simd, n, arrays.factor, arrays.step);
    let steps = arrays.step.chunks_exact(width).take(HALVES * n);
    for (i, (unknown, step)) in arrays.unknowns.chunks_exact_mut(width).zip(steps).enumerate() {
        let before = Lanes::load(simd, unknown);
        let after = before + Lanes::load(simd, step);
        Lanes::select(singular[i % HALVES], before, after).store(unknown);
    }
}

/// Of s - ŝ, in units of the samples.
#[inline(always)]
fn root_mean_square<S: Simd>(
    simd: S,
    survey: &Survey<S>,
    samples: Samples<'_>,
    half: usize,
    predicted: &[f32],
) -> Lanes<S> {
    let width = Lanes::<S>::LANES;
    let mut sum = Lanes::new(simd, 0.0);
    let mut count = 0;
    for (row, predicted) in samples.rows().zip(predicted.chunks_exact(HALVES * width)) {
        let predicted = exp(Lanes::load(simd, &predicted[half * width..]));
        let r = Lanes::load(simd, row).mul_add(survey.scale, -predicted);
        sum = r.mul_add(r, sum);
        count += 1;
    }
    (sum / count as f32).sqrt() * survey.mean
}
