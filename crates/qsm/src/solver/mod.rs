//! The susceptibility that explains the field, by iteration.
//!
//! All solvers minimise κ‖A x - b‖² + (1 - κ)‖D x‖² over operators of any kind (threads, a device,
//! several processes): [`Method::Landweber`] is the published one, [`Method::Cgls`] and
//! [`Method::Lsmr`] come to the same minimum in several times fewer products. [`Solver::step`] does
//! one iteration, [`run`] as many as a [`StoppingRule`] wants; [`Solver::save`] and
//! [`Solver::restore`] let it go on elsewhere with the same bits.

mod checkpoint;
mod descent;
mod lsmr;
mod objective;
mod saved;
mod stop;

use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};

pub use self::checkpoint::Checkpoint;
use self::descent::{Conjugate, Landweber};
use self::lsmr::Lsmr;
use self::objective::{DomainVector, Rows, SpaceError};
pub use self::objective::{Objective, safe_step};
pub use self::saved::Saved;
use self::saved::SavedVectors;
pub use self::stop::{Stopped, StoppingRule, run};
use crate::QsmError;

/// How to go down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// x ← x - τ (κ A'(A x - b) + (1 - κ) D'D x), with the step τ; stable for
    /// τ ‖κ A'A + (1 - κ) D'D‖ < 2, see [`safe_step`].
    Landweber {
        /// τ.
        step: f64,
    },
    /// Conjugate gradients on the least-squares problem (Hestenes and Stiefel 1952; Björck,
    /// "Numerical Methods for Least Squares Problems", algorithm 7.4.1): the objective is as low as
    /// it can be after so many products.
    Cgls,
    /// Bidiagonalisation of the same problem (Fong and Saunders 2011): the gradient's norm falls
    /// with every iteration, so that a stop by it comes a little earlier. Eight vectors more.
    Lsmr,
}

/// What one iteration did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration {
    /// Counted from 1.
    pub number: usize,
    /// Root mean square of x over the unknowns.
    pub rms: f64,
    /// ‖Δx‖ / ‖x‖, both after the iteration.
    pub relative_change: f64,
    /// ‖A x - b‖².
    pub data: f64,
    /// ‖D x‖².
    pub penalty: f64,
    /// ‖κ A'(A x - b) + (1 - κ) D'D x‖ over its value before the first iteration.
    pub relative_gradient: f64,
}

/// Where an iteration has come to.
struct Iterate<A: LinearOperator, D: LinearOperator + Operator<Domain = A::Domain>> {
    x: DomainVector<A>,
    /// b - A x and -D x.
    residual: Rows<A, D>,
}

/// What is particular to a method, between two iterations.
trait Descend<A: LinearOperator, D: LinearOperator + Operator<Domain = A::Domain>> {
    /// One iteration; returns ‖Δx‖.
    fn step(
        &mut self,
        objective: &Objective<'_, A, D>,
        at: &mut Iterate<A, D>,
    ) -> Result<f64, SpaceError<A>>;

    /// ‖κ A'(A x - b) + (1 - κ) D'D x‖².
    fn square(&self) -> f64;

    /// Adds what it needs to go on.
    fn save(&self, objective: &Objective<'_, A, D>, saved: &mut Saved) -> Result<(), QsmError>;
}

/// A minimisation under way.
pub struct Solver<'a, A: LinearOperator, D: LinearOperator + Operator<Domain = A::Domain>> {
    objective: &'a Objective<'a, A, D>,
    number: usize,
    at: Iterate<A, D>,
    first_square: f64,
    way: Box<dyn Descend<A, D> + 'a>,
}

impl<'a, A, D> Solver<'a, A, D>
where
    A: LinearOperator,
    D: LinearOperator + Operator<Domain = A::Domain>,
{
    /// Starts at `x`, or at 0, which saves a product.
    ///
    /// # Errors
    /// Where a vector space refuses.
    pub fn new(
        objective: &'a Objective<'a, A, D>,
        method: Method,
        x: Option<&[f32]>,
    ) -> Result<Self, QsmError> {
        Self::start(objective, method, x).map_err(QsmError::space)
    }

    fn start(
        objective: &'a Objective<'a, A, D>,
        method: Method,
        start: Option<&[f32]>,
    ) -> Result<Self, SpaceError<A>> {
        let domain = objective.data.domain();
        let x = start.map_or_else(|| domain.zeros(), |x| domain.upload(x))?;
        let mut residual = objective.rows()?;
        if start.is_some() {
            objective.residual(&x, &mut residual)?;
        } else {
            objective.data.range().copy(&objective.field, &mut residual.data)?;
        }
        let way: Box<dyn Descend<A, D> + 'a> = match method {
            Method::Landweber { step } => Box::new(Landweber::new(objective, step, &residual)?),
            Method::Cgls => Box::new(Conjugate::new(objective, &residual)?),
            Method::Lsmr => Box::new(Lsmr::new(objective, &residual)?),
        };
        let at = Iterate { x, residual };
        Ok(Self { objective, number: 0, at, first_square: way.square(), way })
    }

    /// One iteration.
    ///
    /// # Errors
    /// Where a vector space refuses.
    pub fn step(&mut self) -> Result<Iteration, QsmError> {
        let change = self.way.step(self.objective, &mut self.at);
        self.number += 1;
        change.and_then(|change| self.report(change)).map_err(QsmError::space)
    }

    fn report(&self, change: f64) -> Result<Iteration, SpaceError<A>> {
        let Objective { data, penalty, .. } = self.objective;
        let Iterate { x, residual } = &self.at;
        let square = data.domain().dot(x, x)?;
        let ratio = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a / b };
        Ok(Iteration {
            number: self.number,
            rms: (square / data.domain().len() as f64).sqrt(),
            relative_change: ratio(change, square.sqrt()),
            data: data.range().dot(&residual.data, &residual.data)?,
            penalty: penalty.range().dot(&residual.curvature, &residual.curvature)?,
            relative_gradient: ratio(self.way.square(), self.first_square).sqrt(),
        })
    }

    /// Iterations done.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The unknowns now, where they are.
    pub(crate) fn unknowns(&self) -> &DomainVector<A> {
        &self.at.x
    }

    /// The unknowns now.
    ///
    /// # Errors
    /// Where they cannot be copied to the host.
    pub fn x(&self) -> Result<Vec<f32>, QsmError> {
        saved::download(self.objective.data.domain(), &self.at.x)
    }

    /// b - A x now, weighted as the objective is.
    ///
    /// # Errors
    /// Where it cannot be copied to the host.
    pub fn residual(&self) -> Result<Vec<f32>, QsmError> {
        saved::download(self.objective.data.range(), &self.at.residual.data)
    }

    /// Everything that [`restore`](Self::restore) needs.
    ///
    /// # Errors
    /// Where it cannot be copied to the host.
    pub fn save(&self) -> Result<Saved, QsmError> {
        let numbers = vec![self.first_square];
        let mut saved = Saved { number: self.number, numbers, vectors: Vec::new() };
        saved.put_unknowns(self.objective, &self.at.x)?;
        saved.put_rows(self.objective, &self.at.residual)?;
        self.way.save(self.objective, &mut saved)?;
        Ok(saved)
    }

    /// Goes on from `saved`, made by a solver of the same method and objective.
    ///
    /// # Errors
    /// [`QsmError::Length`] where it is that of another problem.
    pub fn restore(
        objective: &'a Objective<'a, A, D>,
        method: Method,
        saved: &Saved,
    ) -> Result<Self, QsmError> {
        let mut rest = SavedVectors::new(saved);
        let [first_square] = rest.numbers()?;
        let at = Iterate { x: rest.unknowns(objective)?, residual: rest.rows(objective)? };
        let way: Box<dyn Descend<A, D> + 'a> = match method {
            Method::Landweber { step } => {
                let way = Landweber::new(objective, step, &at.residual);
                Box::new(way.map_err(QsmError::space)?)
            }
            Method::Cgls => Box::new(Conjugate::restore(objective, &mut rest)?),
            Method::Lsmr => Box::new(Lsmr::restore(objective, &mut rest)?),
        };
        Ok(Self { objective, number: saved.number, at, first_square, way })
    }
}
