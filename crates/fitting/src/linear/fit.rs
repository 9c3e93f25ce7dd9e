//! A design and a recipe, in the forms that the backends read.

use fimbria_compute::SimdLevel;

use super::lanes::FitProblems;
use super::oracle::{self, Fit};
use super::tables::Tables;
use super::{Design, Passes, Recipe};

/// What became of a set of samples; a row of results holds its number as an `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// It was fitted.
    Fitted = 1,
    /// A sample is not finite, or their mean is not positive; all results are zero.
    BadSignal = 4,
    /// The weighted equations have no unique solution; all results are zero.
    Singular = 5,
}

impl Outcome {
    /// The number as it stands in a row of results.
    pub const fn code(self) -> f32 {
        self as u8 as f32
    }
}

/// Which row of the results `[row][problem]` holds what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    n_unknowns: usize,
}

impl Rows {
    /// A, in units of the samples.
    pub const AMPLITUDE: usize = 0;

    /// The coefficient of the design's column `k`, from 0.
    pub const fn coefficient(self, k: usize) -> usize {
        1 + k
    }

    /// Root mean square of s - ŝ, in units of the samples; zero where the recipe wants none.
    pub const fn residual(self) -> usize {
        self.n_unknowns
    }

    /// How many samples were raised to have a logarithm.
    pub const fn raised(self) -> usize {
        self.n_unknowns + 1
    }

    /// The number of the [`Outcome`].
    pub const fn outcome(self) -> usize {
        self.n_unknowns + 2
    }

    /// How many rows there are.
    pub const fn count(self) -> usize {
        self.n_unknowns + 3
    }
}

/// The fit of one design by one recipe, of any number of sets of samples.
#[derive(Clone, Debug)]
pub struct LogLinearFit {
    design: Design,
    recipe: Recipe,
    tables: Tables,
}

/// Sets of samples, each a column of `[sample][stride]`, of which the first `n` are fitted.
#[derive(Clone, Copy, Debug)]
pub struct Problems<'a> {
    /// The samples.
    pub samples: &'a [f32],
    /// What multiplies the weights of every pass, `[sample][stride]`.
    pub weights: Option<&'a [f32]>,
    /// Elements of a row.
    pub stride: usize,
    /// How many sets there are.
    pub n: usize,
}

impl LogLinearFit {
    /// The fit of `design` as `recipe` says.
    pub fn new(design: Design, recipe: Recipe) -> Self {
        Self { tables: Tables::new(&design), design, recipe }
    }

    /// The fit of the same design by other passes.
    pub(super) fn with_passes(&self, passes: Passes) -> Self {
        Self { recipe: Recipe { passes, residual: false, ..self.recipe }, ..self.clone() }
    }

    /// Its design.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// Its recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    pub(super) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The rows of its results.
    pub fn rows(&self) -> Rows {
        Rows { n_unknowns: self.design.n_unknowns() }
    }

    /// Fits one set of samples in `f64`; `weights` multiply those of every pass.
    ///
    /// # Panics
    /// Where `samples` or `weights` are not as many as the design has samples.
    pub fn fit_one(&self, samples: &[f64], weights: Option<&[f64]>) -> Fit {
        oracle::fit(&self.design, &self.recipe, samples, weights)
    }

    /// Fits `problems` in `f32`, one per SIMD lane, and writes `[row][stride]`; in `f64` those whose
    /// weighted equations `f32` cannot solve.
    ///
    /// # Panics
    /// Where a slice has fewer rows than the design has samples or the results have rows.
    pub fn fit_lanes(&self, simd: SimdLevel, problems: Problems<'_>, results: &mut [f32]) {
        let Problems { samples, weights, stride, .. } = problems;
        let len = self.design.n_samples() * stride;
        let weights = weights.map(|weights| &weights[..len]);
        let problems = Problems { samples: &samples[..len], weights, ..problems };
        let (tables, recipe) = (&self.tables, &self.recipe);
        let kernel = FitProblems { tables, recipe, rows: self.rows(), problems, results };
        simd.run(kernel);
        self.refit_singular(problems, results);
    }

    /// Fits those of `problems` in `f64` whose `results` say that `f32` could not: what a device
    /// leaves to its host.
    ///
    /// # Panics
    /// Where a slice is too short.
    pub fn refit_singular(&self, problems: Problems<'_>, results: &mut [f32]) {
        let outcome = self.rows().outcome() * problems.stride;
        for problem in 0..problems.n {
            if results[outcome + problem] == Outcome::Singular.code() {
                self.refit(problems, problem, results);
            }
        }
    }

    /// Fits `problems` in `f64`, one after the other, and writes `[row][stride]`.
    ///
    /// # Panics
    /// Where a slice is too short.
    pub fn fit_in_f64(&self, problems: Problems<'_>, results: &mut [f32]) {
        for problem in 0..problems.n {
            self.refit(problems, problem, results);
        }
    }

    /// Fits one of `problems` in `f64` and writes its results.
    fn refit(&self, problems: Problems<'_>, problem: usize, results: &mut [f32]) {
        let Problems { samples, weights, stride, .. } = problems;
        let gather = |from: &[f32]| -> Vec<f64> {
            (0..self.design.n_samples()).map(|i| f64::from(from[i * stride + problem])).collect()
        };
        let fit = self.fit_one(&gather(samples), weights.map(gather).as_deref());
        let rows = self.rows();
        let mut put = |row: usize, value: f64| results[row * stride + problem] = value as f32;
        put(Rows::AMPLITUDE, fit.amplitude);
        for (k, &c) in fit.coefficients.iter().enumerate() {
            put(rows.coefficient(k), c);
        }
        put(rows.residual(), fit.residual);
        put(rows.raised(), fit.raised as f64);
        put(rows.outcome(), f64::from(fit.outcome.code()));
    }
}
