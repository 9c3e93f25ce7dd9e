//! Down the gradient, and down conjugate directions.

use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};

use super::objective::{DomainVector, Objective, Rows, SpaceError};
use super::{Descend, Iterate, Saved, SavedVectors};
use crate::QsmError;

/// The published iteration.
pub(super) struct Landweber<A: LinearOperator> {
    step: f64,
    /// κ A' residual + (1 - κ) D' curvature.
    descent: DomainVector<A>,
    square: f64,
}

impl<A: LinearOperator> Landweber<A> {
    pub(super) fn new<D: LinearOperator + Operator<Domain = A::Domain>>(
        objective: &Objective<'_, A, D>,
        step: f64,
        residual: &Rows<A, D>,
    ) -> Result<Self, SpaceError<A>> {
        let domain = objective.data.domain();
        let mut descent = domain.zeros()?;
        objective.adjoint(residual, &mut descent)?;
        let square = domain.dot(&descent, &descent)?;
        Ok(Self { step, descent, square })
    }
}

impl<A, D> Descend<A, D> for Landweber<A>
where
    A: LinearOperator,
    D: LinearOperator + Operator<Domain = A::Domain>,
{
    fn step(
        &mut self,
        objective: &Objective<'_, A, D>,
        at: &mut Iterate<A, D>,
    ) -> Result<f64, SpaceError<A>> {
        let domain = objective.data.domain();
        domain.axpy(self.step as f32, &self.descent, &mut at.x)?;
        let change = self.step * self.square.sqrt();
        objective.residual(&at.x, &mut at.residual)?;
        objective.adjoint(&at.residual, &mut self.descent)?;
        self.square = domain.dot(&self.descent, &self.descent)?;
        Ok(change)
    }

    fn square(&self) -> f64 {
        self.square
    }

    /// Nothing: the residual has it all.
    fn save(&self, _: &Objective<'_, A, D>, _: &mut Saved) -> Result<(), QsmError> {
        Ok(())
    }
}

/// Conjugate gradients.
pub(super) struct Conjugate<A: LinearOperator> {
    direction: DomainVector<A>,
    /// Of the gradient.
    square: f64,
}

impl<A: LinearOperator> Conjugate<A> {
    pub(super) fn new<D: LinearOperator + Operator<Domain = A::Domain>>(
        objective: &Objective<'_, A, D>,
        residual: &Rows<A, D>,
    ) -> Result<Self, SpaceError<A>> {
        // The first direction is that of Landweber's iteration.
        let Landweber { descent: direction, square, .. } =
            Landweber::new(objective, 0.0, residual)?;
        Ok(Self { direction, square })
    }

    /// As [`save`](Descend::save) left it.
    pub(super) fn restore<D: LinearOperator + Operator<Domain = A::Domain>>(
        objective: &Objective<'_, A, D>,
        saved: &mut SavedVectors<'_>,
    ) -> Result<Self, QsmError> {
        let [square] = saved.numbers()?;
        Ok(Self { direction: saved.unknowns(objective)?, square })
    }
}

impl<A, D> Descend<A, D> for Conjugate<A>
where
    A: LinearOperator,
    D: LinearOperator + Operator<Domain = A::Domain>,
{
    fn step(
        &mut self,
        objective: &Objective<'_, A, D>,
        at: &mut Iterate<A, D>,
    ) -> Result<f64, SpaceError<A>> {
        let domain = objective.data.domain();
        let Self { direction, square } = self;
        let mut along = objective.rows()?;
        objective.apply(direction, &mut along)?;
        let curvature = objective.square(&along)?;
        if curvature <= 0.0 || !curvature.is_finite() {
            // Nowhere left to go.
            return Ok(0.0);
        }
        let step = *square / curvature;
        // Where the residual changes by less than single precision can hold, it no longer follows
        // x: the gradient stays what rounding makes it, directions add up, and x would run away.
        let gain = step * *square;
        if gain < f64::from(f32::EPSILON).powi(2) * objective.square(&at.residual)? {
            return Ok(0.0);
        }
        domain.axpy(step as f32, direction, &mut at.x)?;
        objective.add(-step, &along, &mut at.residual)?;
        let change = step * domain.dot(direction, direction)?.sqrt();
        let mut descent = domain.zeros()?;
        objective.adjoint(&at.residual, &mut descent)?;
        let before = std::mem::replace(square, domain.dot(&descent, &descent)?);
        domain.scale((*square / before) as f32, direction)?;
        domain.axpy(1.0, &descent, direction)?;
        Ok(change)
    }

    fn square(&self) -> f64 {
        self.square
    }

    fn save(&self, objective: &Objective<'_, A, D>, saved: &mut Saved) -> Result<(), QsmError> {
        saved.numbers.push(self.square);
        saved.put_unknowns(objective, &self.direction)
    }
}
