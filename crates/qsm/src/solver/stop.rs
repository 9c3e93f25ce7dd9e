use fimbria_compute::Progress;
use fimbria_compute::operator::{LinearOperator, Operator};

use super::{Iteration, Solver};
use crate::QsmError;

/// When to stop: at the first of these that is met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoppingRule {
    /// Iterations at most.
    pub iterations: usize,
    /// ‖Δx‖ / ‖x‖ at or below this.
    pub relative_change: f64,
    /// The gradient's norm at or below this part of its first.
    pub relative_gradient: f64,
    /// Root mean square of A x - b (weighted) at or below this: the discrepancy principle, with
    /// the noise of the field.
    pub discrepancy: Option<f64>,
}

impl Default for StoppingRule {
    /// The published rule for the change; of the gradient what f32 products can tell.
    fn default() -> Self {
        Self { iterations: 1000, relative_change: 1e-6, relative_gradient: 1e-6, discrepancy: None }
    }
}

/// Why the iteration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// x hardly changes.
    Change,
    /// The gradient has vanished.
    Gradient,
    /// The data are explained to their noise.
    Discrepancy,
    /// As many iterations as were allowed.
    Iterations,
}

impl Stopped {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Change => "relative change",
            Self::Gradient => "relative gradient",
            Self::Discrepancy => "discrepancy",
            Self::Iterations => "iterations",
        }
    }
}

impl StoppingRule {
    /// The rule that `iteration`, of `receivers` data, meets.
    pub fn met(&self, iteration: &Iteration, receivers: usize) -> Option<Stopped> {
        let rms = (iteration.data / receivers.max(1) as f64).sqrt();
        if self.discrepancy.is_some_and(|noise| rms <= noise) {
            Some(Stopped::Discrepancy)
        } else if iteration.relative_gradient <= self.relative_gradient {
            Some(Stopped::Gradient)
        } else if iteration.relative_change <= self.relative_change {
            Some(Stopped::Change)
        } else if iteration.number >= self.iterations {
            Some(Stopped::Iterations)
        } else {
            None
        }
    }
}

/// Iterates until `rule` is met, calling `after` with each iteration and the solver as it leaves
/// it.
///
/// # Errors
/// Where a vector space refuses, `after` fails, or `progress` says to stop.
pub fn run<A, D>(
    solver: &mut Solver<'_, A, D>,
    rule: &StoppingRule,
    progress: &dyn Progress,
    mut after: impl FnMut(&Iteration, &Solver<'_, A, D>) -> Result<(), QsmError>,
) -> Result<Stopped, QsmError>
where
    A: LinearOperator,
    D: LinearOperator + Operator<Domain = A::Domain>,
{
    use fimbria_compute::operator::VectorSpace as _;
    if solver.number() >= rule.iterations {
        return Ok(Stopped::Iterations);
    }
    progress.start("inverting the field", (rule.iterations - solver.number()) as u64);
    loop {
        progress.check()?;
        let iteration = solver.step()?;
        progress.advance(1);
        after(&iteration, solver)?;
        if let Some(stopped) = rule.met(&iteration, solver.objective.data.range().len()) {
            return Ok(stopped);
        }
    }
}
