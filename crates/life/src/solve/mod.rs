//! min ½‖M x - b‖² + ⟨c, x⟩ over x ≥ 0, for any operator.
//!
//! * [`sbb`]: SBB-NNLS as published and used by LiFE, with relative stopping rules;
//! * [`conjugate`]: conjugate gradients on faces of the orthant, to the optimum;
//! * [`proximal`]: steps for a penalty on groups besides.
//!
//! They take a [`LinearOperator`] over an [`OrthantSpace`] and nothing else: threads, a device or
//! several processes are the operator's business. They know how far they are by the projected
//! gradient (the gradient, less its positive elements where x is zero), or by a step of length 1,
//! which vanish at the optimum and nowhere else.

mod conjugate;
mod proximal;
mod sbb;

use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};
use fimbria_compute::{Interrupted, Progress};

pub use conjugate::conjugate;
pub use proximal::proximal;
pub use sbb::sbb;

use crate::OrthantSpace;

/// A vector of the solver.
type Vector<A> = <<A as Operator>::Domain as VectorSpace>::Vector;
/// The gradient and the objective at the start, and who watches from there.
type Beginning<'w, A> = (Vector<A>, f64, Watch<'w>);
/// What operators can fail at.
type Failure<A> = <<A as Operator>::Domain as VectorSpace>::Error;

/// What is minimised.
pub struct Problem<'a, A: Operator> {
    /// M.
    pub operator: &'a A,
    /// b.
    pub data: &'a <A::Range as VectorSpace>::Vector,
    /// c, not negative: an L1 penalty; `None` for none.
    pub linear: Option<&'a Vector<A>>,
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// At the latest after so many iterations.
    pub max_iterations: usize,
    /// Once the norm of the projected gradient is at most this share of that at zero.
    pub gradient: f64,
    /// Once the objective falls by at most this share of itself in each of three iterations; 0
    /// for never.
    pub objective: f64,
}

impl Default for Stop {
    fn default() -> Self {
        Self { max_iterations: 500, gradient: 1e-5, objective: 0.0 }
    }
}

/// Why a solver stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The projected gradient is small enough.
    Optimal,
    /// The objective hardly changes.
    Stalled,
    /// So many iterations were allowed.
    Iterations,
}

/// What a solver says after an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// From 1.
    pub iteration: usize,
    /// ½‖M x - b‖² + ⟨c, x⟩.
    pub objective: f64,
    /// The norm of the projected gradient over that at zero.
    pub gradient: f64,
}

/// What a solver comes to.
#[derive(Debug)]
pub struct Solution<V> {
    /// The minimiser.
    pub x: V,
    /// ½‖M x - b‖² + ⟨c, x⟩ there.
    pub objective: f64,
    /// The norm of the projected gradient over that at zero.
    pub gradient: f64,
    /// How many iterations were made.
    pub iterations: usize,
    /// How many products with M, and with M'.
    pub products: [usize; 2],
    /// Why it ended.
    pub reason: Reason,
}

/// Why there is no solution.
#[derive(Debug, thiserror::Error)]
pub enum SolveError<E: std::error::Error + 'static> {
    /// The operator or a vector space failed.
    #[error(transparent)]
    Operator(E),
    /// The data, the start or the operator hold a NaN or an infinity.
    #[error(
        "the objective is {0}: the signal, the weights or the dictionary hold no finite number"
    )]
    NotFinite(f64),
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl<A> Problem<'_, A>
where
    A: LinearOperator,
    A::Domain: OrthantSpace,
{
    /// The gradient at `x` into `g`, and the objective.
    fn gradient(&self, x: &Vector<A>, g: &mut Vector<A>) -> Result<f64, Failure<A>> {
        let squares = self.operator.gradient(x, self.data, g)?;
        let space = self.operator.domain();
        let linear = match self.linear {
            None => 0.0,
            Some(c) => {
                space.axpy(1.0, c, g)?;
                space.dot(c, x)?
            }
        };
        Ok(0.5 * squares + linear)
    }

    /// The norm of the projected gradient; `scratch` becomes it.
    fn projected(
        &self,
        x: &Vector<A>,
        g: &Vector<A>,
        scratch: &mut Vector<A>,
    ) -> Result<f64, Failure<A>> {
        let space = self.operator.domain();
        space.copy(g, scratch)?;
        space.hold(x, g, scratch)?;
        Ok(space.dot(scratch, scratch)?.sqrt())
    }

    /// What a solver begins with at `x`: the gradient and the objective there, and who watches. It
    /// takes two products with M and two with M'.
    fn begin<'w>(
        &self,
        x: &Vector<A>,
        stop: &'w Stop,
        progress: &'w dyn Progress,
    ) -> Result<Beginning<'w, A>, SolveError<Failure<A>>> {
        let failed = SolveError::Operator;
        let mut g = self.operator.domain().zeros().map_err(failed)?;
        let scale = self.scale().map_err(failed)?;
        let objective = self.gradient(x, &mut g).map_err(failed)?;
        let mut watched = Watch::new(stop, scale, objective, progress);
        watched.after(objective)?;
        Ok((g, objective, watched))
    }

    /// The norm of the projected gradient at zero: what later ones are measured by.
    fn scale(&self) -> Result<f64, Failure<A>> {
        let space = self.operator.domain();
        let (zero, mut g, mut scratch) = (space.zeros()?, space.zeros()?, space.zeros()?);
        self.gradient(&zero, &mut g)?;
        self.projected(&zero, &g, &mut scratch)
    }
}

/// Watches the objective and says when to stop.
struct Watch<'a> {
    stop: &'a Stop,
    scale: f64,
    last: f64,
    stalled: usize,
    progress: &'a dyn Progress,
}

/// Iterations that must bring little before a solver counts as stalled.
const STALLED: usize = 3;

impl<'a> Watch<'a> {
    fn new(stop: &'a Stop, scale: f64, first: f64, progress: &'a dyn Progress) -> Self {
        progress.start("weighing streamlines", stop.max_iterations as u64);
        Self { stop, scale, last: first, stalled: 0, progress }
    }

    /// A norm over that at zero.
    fn relative(&self, norm: f64) -> f64 {
        if self.scale > 0.0 { norm / self.scale } else { 0.0 }
    }

    /// Why to stop before iteration `iteration`, if there is reason to.
    fn before(&self, iteration: usize, norm: f64) -> Option<Reason> {
        if self.relative(norm) <= self.stop.gradient {
            Some(Reason::Optimal)
        } else if iteration > self.stop.max_iterations {
            Some(Reason::Iterations)
        } else if self.stalled >= STALLED {
            Some(Reason::Stalled)
        } else {
            None
        }
    }

    /// Notes the objective after an iteration.
    fn after<E: std::error::Error + 'static>(
        &mut self,
        objective: f64,
    ) -> Result<(), SolveError<E>> {
        if !objective.is_finite() {
            return Err(SolveError::NotFinite(objective));
        }
        self.progress.check()?;
        self.progress.advance(1);
        let gained = (self.last - objective).abs();
        let little = self.stop.objective > 0.0 && gained <= self.stop.objective * objective.abs();
        self.stalled = if little { self.stalled + 1 } else { 0 };
        self.last = objective;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
