//! A solver between two iterations, in host memory.

use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};

use super::objective::{DomainVector, Objective, Rows};
use crate::QsmError;

/// A solver between two iterations, in host memory: x, the residuals, and what its method adds.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// Iterations done.
    pub number: usize,
    /// ‖gradient‖² before the first iteration, then the method's numbers.
    pub numbers: Vec<f64>,
    /// x, b - A x and -D x, then the method's vectors.
    pub vectors: Vec<Vec<f32>>,
}

impl Saved {
    /// Adds a vector of unknowns.
    pub(super) fn put_unknowns<A, D>(
        &mut self,
        objective: &Objective<'_, A, D>,
        x: &DomainVector<A>,
    ) -> Result<(), QsmError>
    where
        A: LinearOperator,
        D: LinearOperator + Operator<Domain = A::Domain>,
    {
        self.vectors.push(download(objective.data.domain(), x)?);
        Ok(())
    }

    /// Adds rows of A and of D.
    pub(super) fn put_rows<A, D>(
        &mut self,
        objective: &Objective<'_, A, D>,
        rows: &Rows<A, D>,
    ) -> Result<(), QsmError>
    where
        A: LinearOperator,
        D: LinearOperator + Operator<Domain = A::Domain>,
    {
        self.vectors.push(download(objective.data.range(), &rows.data)?);
        self.vectors.push(download(objective.penalty.range(), &rows.curvature)?);
        Ok(())
    }
}

/// What of a [`Saved`] has not been read yet, in the order in which it was put.
pub(super) struct SavedVectors<'s> {
    numbers: &'s [f64],
    vectors: &'s [Vec<f32>],
}

impl<'s> SavedVectors<'s> {
    pub(super) fn new(saved: &'s Saved) -> Self {
        Self { numbers: &saved.numbers, vectors: &saved.vectors }
    }

    /// The next numbers.
    pub(super) fn numbers<const N: usize>(&mut self) -> Result<[f64; N], QsmError> {
        let found = self.numbers.len();
        let (first, rest) = self.numbers.split_first_chunk().ok_or(QsmError::Length {
            what: "the numbers of the checkpoint",
            found,
            expected: N,
        })?;
        self.numbers = rest;
        Ok(*first)
    }

    fn next<V: VectorSpace>(&mut self, space: &V) -> Result<V::Vector, QsmError> {
        let (what, expected) = ("a vector of the checkpoint", space.len());
        let (first, rest) =
            self.vectors.split_first().ok_or(QsmError::Length { what, found: 0, expected })?;
        if first.len() != expected {
            return Err(QsmError::Length { what, found: first.len(), expected });
        }
        self.vectors = rest;
        space.upload(first).map_err(QsmError::space)
    }

    /// The next vector of unknowns.
    pub(super) fn unknowns<A, D>(
        &mut self,
        objective: &Objective<'_, A, D>,
    ) -> Result<DomainVector<A>, QsmError>
    where
        A: LinearOperator,
        D: LinearOperator + Operator<Domain = A::Domain>,
    {
        self.next(objective.data.domain())
    }

    /// The next rows of A and of D.
    pub(super) fn rows<A, D>(
        &mut self,
        objective: &Objective<'_, A, D>,
    ) -> Result<Rows<A, D>, QsmError>
    where
        A: LinearOperator,
        D: LinearOperator + Operator<Domain = A::Domain>,
    {
        let data = self.next(objective.data.range())?;
        Ok(Rows { data, curvature: self.next(objective.penalty.range())? })
    }
}

/// The elements of `x`.
pub(super) fn download<V: VectorSpace>(space: &V, x: &V::Vector) -> Result<Vec<f32>, QsmError> {
    let mut host = vec![0.0; space.len()];
    space.download(x, &mut host).map_err(QsmError::space)?;
    Ok(host)
}
