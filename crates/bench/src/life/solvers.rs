//! Whole solutions, and where their time goes.

use std::cell::Cell;
use std::time::Instant;

use fimbria_compute::comm::Solo;
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};
use fimbria_compute::{Backend, Workers};
use fimbria_life::solve::{Problem, Step, Stop, sbb};
use fimbria_life::{Agree, DealtProduct, Method, PartialProduct, System, WeighOptions};

use super::super::clock::Interruptible;
use super::super::table::{Table, digits, number, percent, words};
use crate::{Console, Failure};

type Vector<A> = <<A as Operator>::Domain as VectorSpace>::Vector;
type Samples<A> = <<A as Operator>::Range as VectorSpace>::Vector;
type Error<A> = <<A as Operator>::Domain as VectorSpace>::Error;

/// An operator that knows how long its products took.
pub(super) struct Timed<'a, A> {
    operator: &'a A,
    /// Seconds in M w and its norm.
    pub(super) apply: Cell<f64>,
    /// Seconds in M'(M w - y).
    pub(super) gradient: Cell<f64>,
}

impl<'a, A> Timed<'a, A> {
    pub(super) fn new(operator: &'a A) -> Self {
        Self { operator, apply: Cell::new(0.0), gradient: Cell::new(0.0) }
    }
}

impl<A: Operator> Operator for Timed<'_, A> {
    type Domain = A::Domain;
    type Range = A::Range;

    fn domain(&self) -> &A::Domain {
        self.operator.domain()
    }

    fn range(&self) -> &A::Range {
        self.operator.range()
    }

    fn apply(&self, x: &Vector<A>, y: &mut Samples<A>) -> Result<(), Error<A>> {
        timed(&self.apply, || self.operator.apply(x, y))
    }
}

impl<A: LinearOperator> LinearOperator for Timed<'_, A> {
    fn adjoint(&self, y: &Samples<A>, x: &mut Vector<A>) -> Result<(), Error<A>> {
        self.operator.adjoint(y, x)
    }

    fn gradient(&self, x: &Vector<A>, b: &Samples<A>, g: &mut Vector<A>) -> Result<f64, Error<A>> {
        timed(&self.gradient, || self.operator.gradient(x, b, g))
    }

    fn normal(&self, x: &Vector<A>, g: &mut Vector<A>) -> Result<f64, Error<A>> {
        timed(&self.gradient, || self.operator.normal(x, g))
    }

    fn squares(&self, x: &Vector<A>) -> Result<f64, Error<A>> {
        timed(&self.apply, || self.operator.squares(x))
    }
}

impl<A: PartialProduct> PartialProduct for Timed<'_, A> {
    fn adjoint_sums(
        &self,
        y: &Samples<A>,
        sums: &mut [f64],
        agree: Agree<'_>,
    ) -> Result<(), Error<A>> {
        self.operator.adjoint_sums(y, sums, agree)
    }

    fn gradient_sums(
        &self,
        x: &Vector<A>,
        b: Option<&Samples<A>>,
        sums: &mut [f64],
        agree: Agree<'_>,
    ) -> Result<[f64; 2], Error<A>> {
        timed(&self.gradient, || self.operator.gradient_sums(x, b, sums, agree))
    }

    fn squares_sums(&self, x: &Vector<A>, agree: Agree<'_>) -> Result<[f64; 2], Error<A>> {
        timed(&self.apply, || self.operator.squares_sums(x, agree))
    }

    fn dot_sums(
        &self,
        x: &Samples<A>,
        y: &Samples<A>,
        agree: Agree<'_>,
    ) -> Result<[f64; 2], Error<A>> {
        self.operator.dot_sums(x, y, agree)
    }
}

/// Adds the seconds that `work` takes to `seconds`.
fn timed<T>(seconds: &Cell<f64>, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = work();
    seconds.set(seconds.get() + begun.elapsed().as_secs_f64());
    done
}

/// What a solver came to, and when.
struct Run {
    seconds: f64,
    /// Seconds and objective after each iteration.
    path: Vec<(f64, f64)>,
    /// Shares of y = M w and of M'(M w - y), where they are known.
    shares: Option<[f64; 2]>,
    iterations: usize,
    weights: Vec<f32>,
    objective: f64,
    optimality: f64,
}

/// Every method on every system; the first system is the exact one where there are two.
pub(super) fn report(
    systems: &[System],
    methods: &[Method],
    iterations: usize,
    workers: &Workers,
    console: &dyn Console,
) -> Result<(), Failure> {
    let table = Table::begin(
        console,
        [
            words("solver", 9),
            number("rank", 4),
            number("s", 7),
            number("to 0.1 %", 8),
            number("iterations", 10),
            number("M w", 5),
            number("both", 5),
            number("objective", 11),
            number("loss", 8),
            number("nonzero", 8),
            number("optimality", 10),
        ],
    )?;
    // The least objective with full columns.
    let mut least_full = f64::INFINITY;
    for (number, system) in systems.iter().enumerate() {
        let mut least = f64::INFINITY;
        for &method in methods {
            let run = solved(system, method, iterations, workers, console)?;
            least = least.min(run.objective);
            let near = run.path.iter().find(|(_, objective)| *objective <= 1.001 * least);
            let loss = if systems.len() == 1 || number == 0 {
                least_full = least;
                None
            } else {
                Some(objective_of(&systems[0], &run.weights, workers)? / least_full - 1.0)
            };
            let share = |which: usize| run.shares.map_or("-".to_owned(), |s| percent(s[which]));
            table.row([
                format!("{method:?}").to_lowercase(),
                system.basis.rank().to_string(),
                digits(run.seconds),
                near.map_or("-".to_owned(), |(seconds, _)| digits(*seconds)),
                run.iterations.to_string(),
                share(0),
                share(1),
                format!("{:.5e}", run.objective),
                loss.map_or("-".to_owned(), |loss| format!("{loss:.1e}")),
                run.weights.iter().filter(|w| **w > 0.0).count().to_string(),
                format!("{:.1e}", run.optimality),
            ])?;
        }
    }
    Ok(())
}

fn solved(
    system: &System,
    method: Method,
    iterations: usize,
    workers: &Workers,
    console: &dyn Console,
) -> Result<Run, Failure> {
    let quiet = Interruptible(console);
    let stop = Stop { max_iterations: iterations, ..Stop::default() };
    let begun = Instant::now();
    let seconds = || begun.elapsed().as_secs_f64();
    let mut path = Vec::new();
    match method {
        Method::Conjugate => {
            let options = WeighOptions { method, stop, ..WeighOptions::default() };
            let mut watch = |step: &Step, _: &dyn Fn() -> Vec<f32>| {
                path.push((seconds(), step.objective + system.outside));
            };
            let on = Backend::cpu(workers);
            let found = system.weigh(&options, None, &on, &Solo, &quiet, &mut watch)?;
            Ok(Run {
                seconds: seconds(),
                path,
                // On ever fewer streamlines: what a product took is not known.
                shares: None,
                iterations: found.iterations,
                weights: found.streamlines,
                objective: found.objective,
                optimality: found.optimality,
            })
        }
        Method::Sbb => {
            let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, workers);
            let timed = Timed::new(&product);
            let problem = Problem { operator: &timed, data: &system.data, linear: None };
            let zero = timed.domain().zeros()?;
            let mut watch = |step: &Step, _: &Vec<f32>| {
                path.push((seconds(), step.objective + system.outside));
            };
            let found = sbb(&problem, zero, &stop, &quiet, &mut watch)?;
            let all = seconds();
            let weights = found.x.iter().zip(&system.factors).map(|(x, f)| x * f).collect();
            Ok(Run {
                seconds: all,
                path,
                shares: Some([timed.apply.get() / all, timed.gradient.get() / all]),
                iterations: found.iterations,
                weights,
                objective: found.objective + system.outside,
                optimality: found.gradient,
            })
        }
    }
}

/// ½‖y - M w‖² of weights from elsewhere.
fn objective_of(system: &System, weights: &[f32], workers: &Workers) -> Result<f64, Failure> {
    let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, workers);
    let unknown = |(w, factor): (&f32, &f32)| if *factor > 0.0 { w / factor } else { 0.0 };
    let x: Vec<f32> = weights.iter().zip(&system.factors).map(unknown).collect();
    let mut g = product.domain().zeros()?;
    Ok(0.5 * product.gradient(&x, &system.data, &mut g)? + system.outside)
}
