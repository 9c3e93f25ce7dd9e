//! The susceptibility that explains the field, by iteration.
//!
//! All solvers minimise κ‖A x - b‖² + (1 - κ)‖D x‖² over operators of any kind (threads, a device,
//! several processes): [`Method::Landweber`] is the published one, [`Method::Cgls`] comes to the
//! same minimum in several times fewer products. [`Solver::step`] does one iteration,
//! [`run`] as many as a [`StoppingRule`] wants; [`Solver::save`] and [`Solver::restore`] let it go
//! on elsewhere with the same bits.

mod checkpoint;
mod objective;
mod stop;

use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};

pub use self::checkpoint::{Checkpoint, CheckpointError};
use self::objective::{DataVector, DomainVector, PenaltyVector, SpaceError};
pub use self::objective::{Objective, safe_step};
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
    /// "Numerical Methods for Least Squares Problems", algorithm 7.4.1).
    Cgls,
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

/// A solver between two iterations, in host memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// Iterations done.
    pub number: usize,
    /// ‖gradient‖² now and before the first iteration.
    pub squares: [f64; 2],
    /// x, the two residuals, the direction.
    pub vectors: [Vec<f32>; 4],
}

/// A minimisation under way.
pub struct Solver<'a, A: LinearOperator, D: LinearOperator + Operator<Domain = A::Domain>> {
    objective: &'a Objective<'a, A, D>,
    method: Method,
    number: usize,
    x: DomainVector<A>,
    /// b - A x.
    residual: DataVector<A>,
    /// -D x.
    bend: PenaltyVector<D>,
    /// κ A' residual + (1 - κ) D' bend: downhill.
    descent: DomainVector<A>,
    /// Where CGLS goes next; unused by Landweber.
    direction: DomainVector<A>,
    square: f64,
    first_square: f64,
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
        let (domain, range) = (objective.data.domain(), objective.data.range());
        let x = start.map_or_else(|| domain.zeros(), |x| domain.upload(x))?;
        let mut residual = range.zeros()?;
        let mut bend = objective.penalty.range().zeros()?;
        if start.is_some() {
            objective.residuals(&x, &mut residual, &mut bend)?;
        } else {
            range.copy(&objective.field, &mut residual)?;
        }
        let mut descent = domain.zeros()?;
        objective.descent(&residual, &bend, &mut descent)?;
        let mut direction = domain.zeros()?;
        domain.copy(&descent, &mut direction)?;
        let square = domain.dot(&descent, &descent)?;
        let number = 0;
        let first_square = square;
        Ok(Self {
            objective,
            method,
            number,
            x,
            residual,
            bend,
            descent,
            direction,
            square,
            first_square,
        })
    }

    /// One iteration.
    ///
    /// # Errors
    /// Where a vector space refuses.
    pub fn step(&mut self) -> Result<Iteration, QsmError> {
        let change = match self.method {
            Method::Landweber { step } => self.landweber(step),
            Method::Cgls => self.cgls(),
        };
        self.number += 1;
        change.and_then(|change| self.report(change)).map_err(QsmError::space)
    }

    /// Returns ‖Δx‖.
    fn landweber(&mut self, step: f64) -> Result<f64, SpaceError<A>> {
        let domain = self.objective.data.domain();
        domain.axpy(step as f32, &self.descent, &mut self.x)?;
        let change = step * self.square.sqrt();
        self.objective.residuals(&self.x, &mut self.residual, &mut self.bend)?;
        self.objective.descent(&self.residual, &self.bend, &mut self.descent)?;
        self.square = domain.dot(&self.descent, &self.descent)?;
        Ok(change)
    }

    /// Returns ‖Δx‖.
    fn cgls(&mut self) -> Result<f64, SpaceError<A>> {
        let Objective { data, penalty, kappa, .. } = *self.objective;
        let (domain, range, bends) = (data.domain(), data.range(), penalty.range());
        let (mut along, mut bent) = (range.zeros()?, bends.zeros()?);
        data.apply(&self.direction, &mut along)?;
        penalty.apply(&self.direction, &mut bent)?;
        let curvature =
            kappa * range.dot(&along, &along)? + (1.0 - kappa) * bends.dot(&bent, &bent)?;
        if curvature <= 0.0 || !curvature.is_finite() {
            // Nowhere left to go.
            return Ok(0.0);
        }
        let step = self.square / curvature;
        domain.axpy(step as f32, &self.direction, &mut self.x)?;
        range.axpy(-step as f32, &along, &mut self.residual)?;
        bends.axpy(-step as f32, &bent, &mut self.bend)?;
        let change = step * domain.dot(&self.direction, &self.direction)?.sqrt();
        self.objective.descent(&self.residual, &self.bend, &mut self.descent)?;
        let square = domain.dot(&self.descent, &self.descent)?;
        domain.scale((square / self.square) as f32, &mut self.direction)?;
        domain.axpy(1.0, &self.descent, &mut self.direction)?;
        self.square = square;
        Ok(change)
    }

    fn report(&self, change: f64) -> Result<Iteration, SpaceError<A>> {
        let Objective { data, penalty, .. } = self.objective;
        let square = data.domain().dot(&self.x, &self.x)?;
        let ratio = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a / b };
        Ok(Iteration {
            number: self.number,
            rms: (square / data.domain().len() as f64).sqrt(),
            relative_change: ratio(change, square.sqrt()),
            data: data.range().dot(&self.residual, &self.residual)?,
            penalty: penalty.range().dot(&self.bend, &self.bend)?,
            relative_gradient: ratio(self.square, self.first_square).sqrt(),
        })
    }

    /// Iterations done.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The unknowns now.
    ///
    /// # Errors
    /// Where they cannot be copied to the host.
    pub fn x(&self) -> Result<Vec<f32>, QsmError> {
        download(self.objective.data.domain(), &self.x)
    }

    /// Everything that [`restore`](Self::restore) needs.
    ///
    /// # Errors
    /// Where it cannot be copied to the host.
    pub fn save(&self) -> Result<Saved, QsmError> {
        let Objective { data, penalty, .. } = self.objective;
        Ok(Saved {
            number: self.number,
            squares: [self.square, self.first_square],
            vectors: [
                download(data.domain(), &self.x)?,
                download(data.range(), &self.residual)?,
                download(penalty.range(), &self.bend)?,
                download(data.domain(), &self.direction)?,
            ],
        })
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
        let Objective { data, penalty, .. } = objective;
        let lengths =
            [data.domain().len(), data.range().len(), penalty.range().len(), data.domain().len()];
        for (vector, expected) in saved.vectors.iter().zip(lengths) {
            if vector.len() != expected {
                let what = "a vector of the checkpoint";
                return Err(QsmError::Length { what, found: vector.len(), expected });
            }
        }
        let [x, residual, bend, direction] = &saved.vectors;
        let restore = || {
            let mut descent = data.domain().zeros()?;
            let (residual, bend) = (data.range().upload(residual)?, penalty.range().upload(bend)?);
            if let Method::Landweber { .. } = method {
                objective.descent(&residual, &bend, &mut descent)?;
            }
            Ok(Self {
                objective,
                method,
                number: saved.number,
                x: data.domain().upload(x)?,
                residual,
                bend,
                descent,
                direction: data.domain().upload(direction)?,
                square: saved.squares[0],
                first_square: saved.squares[1],
            })
        };
        restore().map_err(|error: SpaceError<A>| QsmError::space(error))
    }
}

fn download<V: VectorSpace>(space: &V, x: &V::Vector) -> Result<Vec<f32>, QsmError> {
    let mut host = vec![0.0; space.len()];
    space.download(x, &mut host).map_err(QsmError::space)?;
    Ok(host)
}
