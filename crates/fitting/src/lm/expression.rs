//! A model given at run time, as text.

use super::fit::{Arithmetic, fit};
use super::{
    LmError, LmOptions, Model, Number, Parameter, Problems, Robust, Rows, SignalFormulas, Starts,
    keep_determined, oracle, robust,
};
use crate::expr::{Graph, Input, Names, ParseError, Staged, Tape};

/// The most registers that the interpreter of a formula has.
const MOST_REGISTERS: usize = 256;
/// As many do for most formulas, and for short ones: clearing them for every sample takes time.
const SOME_REGISTERS: usize = 32;
const FEW_REGISTERS: usize = 12;
/// The most parameters of an expression.
pub const MOST_PARAMETERS: usize = 12;

/// A signal written by the user, `S0*exp(-b*D)+C`.
#[derive(Clone, Debug)]
pub struct Expression {
    formulas: SignalFormulas,
    tape: Tape,
}

/// Why a text is no signal to fit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExpressionError {
    /// It is no formula.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// There is nothing to fit, or too much.
    #[error("{0} parameters: an expression has 1 to {MOST_PARAMETERS}")]
    Parameters(usize),
    /// A parameter that the formula does not contain, or that cancels out of it.
    #[error("parameter '{0}' has no influence on the signal")]
    Unused(String),
    /// Too much to hold at a time.
    #[error("the formula needs {0} registers, more than {MOST_REGISTERS}: make it simpler")]
    TooLarge(usize),
}

impl Expression {
    /// The signal `text` over `names`: parameters in their order, what is known of a sample, what
    /// is known of a problem.
    ///
    /// # Errors
    /// [`ExpressionError`].
    pub fn new(text: &str, names: &Names<'_>) -> Result<Self, ExpressionError> {
        let n_parameters = names.parameters.len();
        if !(1..=MOST_PARAMETERS).contains(&n_parameters) {
            return Err(ExpressionError::Parameters(n_parameters));
        }
        let mut graph = Graph::new();
        let signal = graph.parse(text, names)?;
        let inputs: Vec<_> = (0..n_parameters).map(|k| Input::Parameter(k as u16)).collect();
        let slopes = graph.derivatives(signal, &inputs);
        for (slope, name) in slopes.iter().zip(names.parameters) {
            if graph.constant_of(*slope) == Some(0.0) {
                return Err(ExpressionError::Unused((*name).to_owned()));
            }
        }
        let roots: Vec<_> = std::iter::once(signal).chain(slopes).collect();
        let (graph, roots) = graph.fused(&roots);
        let staged = Staged::new(&graph, &roots);
        let tape = Tape::new(&staged, n_parameters, names.problems.len());
        if tape.n_registers() > MOST_REGISTERS {
            return Err(ExpressionError::TooLarge(tape.n_registers()));
        }
        let formulas = SignalFormulas {
            staged,
            n_parameters,
            n_covariates: names.samples.len(),
            n_constants: names.problems.len(),
        };
        Ok(Self { formulas, tape })
    }

    /// The signal and its derivatives, for kernels.
    pub fn formulas(&self) -> &SignalFormulas {
        &self.formulas
    }

    /// Fits `problems`, whose covariates are those of the formula's names, as
    /// [`lm::fit`](super::fit()) does.
    ///
    /// # Errors
    /// As [`lm::fit`](super::fit()).
    pub fn fit(
        &self,
        parameters: &[Parameter],
        problems: &Problems<'_>,
        options: &LmOptions,
        arithmetic: Arithmetic,
        results: &mut [f32],
    ) -> Result<(), LmError> {
        let n_covariates = self.formulas.n_covariates;
        let (got, want) = (problems.covariates.len(), problems.n_samples() * n_covariates);
        if got < want {
            return Err(LmError::Length { what: "covariates", got, want });
        }
        let table = self.formulas.staged.table(&problems.covariates[..want], n_covariates);
        let problems = &Problems { covariates: &table, ..*problems };
        // An engine for every number of parameters would be much code; fixed ones beyond those of
        // the formula change nothing but rows of results that nobody sees.
        if parameters.len() != self.formulas.n_parameters {
            let (got, want) = (parameters.len(), self.formulas.n_parameters);
            return Err(LmError::Length { what: "parameters of the formula", got, want });
        }
        match parameters.len() {
            ..=4 => self.fit_padded::<4>(parameters, problems, options, arithmetic, results),
            5..=8 => self.fit_padded::<8>(parameters, problems, options, arithmetic, results),
            _ => self
                .fit_padded::<MOST_PARAMETERS>(parameters, problems, options, arithmetic, results),
        }
    }

    /// Fits one problem whose samples and covariates are `f64`, by the oracle; parameters beyond
    /// those of the formula are zero in the solution.
    ///
    /// # Panics
    /// Where there are not as many parameters and covariates as the formula has names for.
    pub fn fit_in_double(
        &self,
        parameters: &[Parameter],
        problem: &oracle::Problem<'_>,
        options: &LmOptions,
    ) -> oracle::Solution<MOST_PARAMETERS> {
        let SignalFormulas { staged, n_covariates, n_parameters, .. } = &self.formulas;
        assert_eq!(parameters.len(), *n_parameters, "parameters of the formula");
        let table = staged.table(problem.covariates, *n_covariates);
        let problem = oracle::Problem { covariates: &table, ..*problem };
        let padded = padded(parameters);
        let start = std::array::from_fn(|k| padded[k].start);
        oracle::fit(&Interpreted { expression: self }, &padded, &problem, &start, options)
    }

    /// Fits again what `fit` fitted to `results` until outliers have lost their pull, as
    /// [`robust::refit`] does.
    ///
    /// # Errors
    /// Those of `fit`.
    pub fn refit<E>(
        &self,
        robust: Robust,
        parameters: &[Parameter],
        problems: &Problems<'_>,
        options: &LmOptions,
        fit: impl FnMut(&Problems<'_>, &mut [f32]) -> Result<(), E>,
        results: &mut [f32],
    ) -> Result<(), E> {
        let signal =
            |p: &[f64], covariates: &[f64], constants: &[f64]| self.value(p, covariates, constants);
        robust::refit(robust, parameters, problems, options, signal, fit, results)
    }

    /// Keeps what is determined of fits that ended singular, as
    /// [`keep_determined`](super::keep_determined()) does.
    pub fn keep_determined(
        &self,
        parameters: &[Parameter],
        problems: &Problems<'_>,
        options: &LmOptions,
        arithmetic: Arithmetic,
        results: &mut [f32],
    ) {
        let n_covariates = self.formulas.n_covariates;
        let known = &problems.covariates[..problems.n_samples() * n_covariates];
        let table = self.formulas.staged.table(known, n_covariates);
        let problems = &Problems { covariates: &table, ..*problems };
        let model = Interpreted { expression: self };
        keep_determined::<MOST_PARAMETERS, _>(
            &model, parameters, problems, options, arithmetic, results,
        );
    }

    /// The signal of one sample, whose constants may be followed by others.
    pub fn value(&self, p: &[f64], covariates: &[f64], constants: &[f64]) -> f64 {
        let SignalFormulas { staged, n_covariates, n_constants, .. } = &self.formulas;
        let columns = staged.table(covariates, *n_covariates);
        let padded = std::array::from_fn(|k| p.get(k).copied().unwrap_or(0.0));
        let model = Interpreted { expression: self };
        Model::<MOST_PARAMETERS>::signal(&model, &padded, &columns, &constants[..*n_constants])
    }

    /// With the engine for P parameters, no fewer than there are.
    fn fit_padded<const P: usize>(
        &self,
        parameters: &[Parameter],
        problems: &Problems<'_>,
        options: &LmOptions,
        arithmetic: Arithmetic,
        results: &mut [f32],
    ) -> Result<(), LmError> {
        let n = parameters.len();
        let stride = problems.stride;
        let (rows, padded_rows) = (Rows::new(n, options), Rows::new(P, options));
        let (got, want) = (results.len(), rows.count() * stride);
        if got < want {
            return Err(LmError::Length { what: "results", got, want });
        }
        let padded: [Parameter; P] = padded(parameters);
        let mut own_starts = Vec::new();
        let starts = match problems.starts {
            Starts::Shared => Starts::Shared,
            Starts::PerProblem(given) => {
                let (got, want) = (given.len(), n * stride);
                if got < want {
                    return Err(LmError::Length { what: "starts", got, want });
                }
                own_starts.extend_from_slice(&given[..want]);
                own_starts.resize(P * stride, 0.0);
                Starts::PerProblem(&own_starts)
            }
        };
        let problems = &Problems { starts, ..*problems };
        let mut padded_results = vec![0.0; padded_rows.count() * stride];
        let model = &Interpreted { expression: self };
        fit(model, &padded, problems, options, arithmetic, &mut padded_results)?;

        let mut copy = |to: usize, from: usize| {
            results[to * stride..][..problems.n]
                .copy_from_slice(&padded_results[from * stride..][..problems.n]);
        };
        for k in 0..n {
            copy(k, k);
            for j in k..n {
                if let (Some(to), Some(from)) =
                    (rows.covariance(k, j), padded_rows.covariance(k, j))
                {
                    copy(to, from);
                }
            }
        }
        copy(rows.residual(), padded_rows.residual());
        copy(rows.iterations(), padded_rows.iterations());
        copy(rows.status(), padded_rows.status());
        Ok(())
    }
}

/// The parameters, and behind them fixed ones without influence.
fn padded<const P: usize>(parameters: &[Parameter]) -> [Parameter; P] {
    let fixed = || Parameter::new("", 0.0, 0.0, 0.0).fixed_at(0.0);
    std::array::from_fn(|k| parameters.get(k).cloned().unwrap_or_else(fixed))
}

/// The formula as the engine sees a model; its covariates are the columns of the table.
struct Interpreted<'a> {
    expression: &'a Expression,
}

impl Interpreted<'_> {
    /// Evaluates all formulas; `take` looks at the file that has them.
    #[inline(always)]
    fn evaluate<N: Number, T, const P: usize>(
        &self,
        p: &[N; P],
        columns: &[N::Constant],
        constants: &[N::Constant],
        take: impl FnOnce(&Tape, &[N]) -> T,
    ) -> T {
        let tape = &self.expression.tape;
        let zero = p[0].lift(p[0].constant(0.0));
        let (mut few, mut some, mut many);
        let file: &mut [N] = match tape.n_registers() {
            n if n <= FEW_REGISTERS => {
                few = [zero; FEW_REGISTERS];
                &mut few
            }
            n if n <= SOME_REGISTERS => {
                some = [zero; SOME_REGISTERS];
                &mut some
            }
            _ => {
                many = [zero; MOST_REGISTERS];
                &mut many
            }
        };
        tape.prepare(file);
        tape.set(file, p, constants);
        tape.sample(file, columns);
        take(tape, file)
    }
}

impl<const P: usize> Model<P> for Interpreted<'_> {
    fn n_covariates(&self) -> usize {
        self.expression.formulas.staged.n_columns()
    }

    fn n_constants(&self) -> usize {
        self.expression.formulas.n_constants
    }

    #[inline(always)]
    fn signal<N: Number>(
        &self,
        p: &[N; P],
        columns: &[N::Constant],
        constants: &[N::Constant],
    ) -> N {
        self.evaluate(p, columns, constants, |tape, file| tape.output(file, 0))
    }

    #[inline(always)]
    fn signal_and_slope<N: Number<Constant = N>>(
        &self,
        p: &[N; P],
        columns: &[N],
        constants: &[N],
    ) -> (N, [N; P]) {
        self.evaluate(p, columns, constants, |tape, file| {
            let mut slope = [p[0].constant(0.0); P];
            for k in 0..self.expression.formulas.n_parameters {
                slope[k] = tape.output(file, k + 1);
            }
            (tape.output(file, 0), slope)
        })
    }
}
