//! Fits all problems of a call, in either precision.

use fimbria_compute::SimdLevel;

use super::lanes::{MOST_KNOWN, Shared};
use super::problems::{LmError, LmOptions, Problems, Rows, Sigma, Starts, Weights};
use super::{Model, Parameter, oracle};

/// In what arithmetic to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `f32`, a problem per lane.
    Single(SimdLevel),
    /// `f64`, one problem after the other, by the oracle.
    Double,
}

/// Fits `problems`, each on its own, and writes `[row][stride]` of [`Rows`] to `results`.
///
/// This runs on the calling thread: whoever has many problems deals them out.
///
/// # Errors
/// Where arrays do not have the lengths that the shapes ask for, where there are fewer samples than
/// free parameters, or where a parameter's bounds do not enclose its start. What goes wrong in a
/// single problem stands in its status.
pub fn fit<const P: usize, M: Model<P>>(
    model: &M,
    parameters: &[Parameter; P],
    problems: &Problems<'_>,
    options: &LmOptions,
    arithmetic: Arithmetic,
    results: &mut [f32],
) -> Result<(), LmError> {
    let shape = Shape {
        n_covariates: model.n_covariates(),
        n_constants: model.n_constants(),
        most_known: MOST_KNOWN,
    };
    shape.check(parameters, problems, options, results)?;
    match arithmetic {
        Arithmetic::Single(simd) => {
            Shared { model, parameters, problems, options }.fit(simd, results);
        }
        Arithmetic::Double => in_double(model, parameters, problems, options, results),
    }
    Ok(())
}

/// What a model takes of the arrays of a call.
pub(super) struct Shape {
    pub(super) n_covariates: usize,
    pub(super) n_constants: usize,
    /// The most that whoever fits holds of either.
    pub(super) most_known: usize,
}

impl Shape {
    /// Whether arrays and parameters go together.
    pub(super) fn check(
        &self,
        parameters: &[Parameter],
        problems: &Problems<'_>,
        options: &LmOptions,
        results: &[f32],
    ) -> Result<(), LmError> {
        let n_parameters = parameters.len();
        let Problems { n, stride, samples, covariates, constants, weights, starts } = *problems;
        let n_samples = problems.n_samples();
        let n_constants = match options.sigma {
            Sigma::Constant(row) => self.n_constants.max(row + 1),
            Sigma::Shared(_) => self.n_constants,
        };
        let known = self.n_covariates.max(n_constants);
        let (n_weights, per_sample) = match weights {
            Weights::Equal => (n_samples * stride, 0),
            Weights::PerSample(w) => (n_samples * stride, n_samples.saturating_sub(w.len())),
            Weights::PerProblem(w) => (w.len(), 0),
        };
        let n_starts = match starts {
            Starts::Shared => n_parameters * stride,
            Starts::PerProblem(starts) => starts.len(),
        };
        for (what, got, want) in [
            ("problems in a row", stride, n),
            ("samples", samples.len(), n_samples * stride),
            ("covariates", covariates.len(), n_samples * self.n_covariates),
            ("constants", constants.len(), n_constants * stride),
            ("weights", n_weights, n_samples * stride),
            ("weights of samples", n_samples - per_sample, n_samples),
            ("starts", n_starts, n_parameters * stride),
            ("results", results.len(), Rows::new(n_parameters, options).count() * stride),
            ("covariates and constants that lanes hold", self.most_known, known),
        ] {
            if got < want {
                return Err(LmError::Length { what, got, want });
            }
        }
        for Parameter { name, start, lower, upper, .. } in parameters {
            if !(lower <= start && start <= upper) {
                let name = name.clone();
                return Err(LmError::Bounds { name, lower: *lower, upper: *upper, start: *start });
            }
        }
        let free = parameters.iter().filter(|p| !p.fixed).count();
        if n_samples < free {
            return Err(LmError::TooFewSamples { samples: n_samples, free });
        }
        Ok(())
    }
}

fn in_double<const P: usize, M: Model<P>>(
    model: &M,
    parameters: &[Parameter; P],
    problems: &Problems<'_>,
    options: &LmOptions,
    results: &mut [f32],
) {
    let Problems { n, stride, .. } = *problems;
    let rows = Rows::new(P, options);
    let shared = InDouble::new(problems);
    for i in 0..n {
        let column = shared.column(problems, options, i);
        let start = std::array::from_fn(|k| problems.start(k, &parameters[k], i));
        let solution = oracle::fit(model, parameters, &column.problem(), &start, options);
        let mut write = |row: usize, value: f64| results[row * stride + i] = value as f32;
        for k in 0..P {
            write(k, solution.parameters[k]);
            for j in 0..=k {
                if let Some(row) = rows.covariance(j, k) {
                    write(row, solution.covariance[j][k]);
                }
            }
        }
        write(rows.residual(), solution.residual);
        write(rows.iterations(), f64::from(solution.iterations));
        write(rows.status(), f64::from(solution.status.code()));
    }
}

/// What all problems of a call share, for the oracle.
pub(super) struct InDouble {
    covariates: Vec<f64>,
}

/// One problem of a call, for the oracle.
pub(super) struct Column<'a> {
    covariates: &'a [f64],
    samples: Vec<f64>,
    weights: Vec<f64>,
    constants: Vec<f64>,
    sigma: f64,
}

impl InDouble {
    pub(super) fn new(problems: &Problems<'_>) -> Self {
        Self { covariates: problems.covariates.iter().map(|&c| f64::from(c)).collect() }
    }

    pub(super) fn column(
        &self,
        problems: &Problems<'_>,
        options: &LmOptions,
        i: usize,
    ) -> Column<'_> {
        let n_samples = problems.n_samples();
        let n_constants = problems.constants.len() / problems.stride.max(1);
        let column = |array: &[f32], n: usize| -> Vec<f64> {
            (0..n).map(|row| f64::from(problems.at(array, row, i))).collect()
        };
        let constants = column(problems.constants, n_constants);
        let sigma = match options.sigma {
            Sigma::Shared(sigma) => f64::from(sigma),
            Sigma::Constant(row) => constants[row],
        };
        Column {
            covariates: &self.covariates,
            samples: column(problems.samples, n_samples),
            weights: (0..n_samples).map(|k| f64::from(problems.weight(k, i))).collect(),
            constants,
            sigma,
        }
    }
}

impl Column<'_> {
    pub(super) fn problem(&self) -> oracle::Problem<'_> {
        oracle::Problem {
            samples: &self.samples,
            weights: &self.weights,
            covariates: self.covariates,
            constants: &self.constants,
            sigma: self.sigma,
        }
    }
}
