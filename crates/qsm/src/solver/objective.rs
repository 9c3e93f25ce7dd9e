use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};
use fimbria_compute::philox::{Philox, normals};

use crate::QsmError;

pub(super) type DomainVector<A> = <<A as Operator>::Domain as VectorSpace>::Vector;
pub(super) type DataVector<A> = <<A as Operator>::Range as VectorSpace>::Vector;
pub(super) type PenaltyVector<D> = <<D as Operator>::Range as VectorSpace>::Vector;
pub(super) type SpaceError<A> = <<A as Operator>::Domain as VectorSpace>::Error;

/// A number for each row of A and each row of D.
pub(super) struct Rows<A: LinearOperator, D: LinearOperator + Operator<Domain = A::Domain>> {
    pub(super) data: DataVector<A>,
    pub(super) curvature: PenaltyVector<D>,
}

/// κ‖A x - b‖² + (1 - κ)‖D x‖².
pub struct Objective<'a, A: LinearOperator, D: LinearOperator + Operator<Domain = A::Domain>> {
    /// A, weighted where the data are.
    pub data: &'a A,
    /// D.
    pub penalty: &'a D,
    /// b, weighted as A is.
    pub field: DataVector<A>,
    /// κ, above 0 and at most 1.
    pub kappa: f64,
}

impl<'a, A, D> Objective<'a, A, D>
where
    A: LinearOperator,
    D: LinearOperator + Operator<Domain = A::Domain>,
{
    /// Of `field`, a value for each receiver.
    ///
    /// # Errors
    /// Where κ is not in (0, 1], or `field` is of another length or has values that are not
    /// finite.
    pub fn new(data: &'a A, penalty: &'a D, field: &[f32], kappa: f64) -> Result<Self, QsmError> {
        if !(kappa > 0.0 && kappa <= 1.0) {
            let rule = "the data's share is above 0 and at most 1";
            return Err(QsmError::Parameter { name: "kappa", value: kappa, rule });
        }
        let (found, expected) = (field.len(), data.range().len());
        if found != expected {
            return Err(QsmError::Length { what: "the field", found, expected });
        }
        let count = field.iter().filter(|b| !b.is_finite()).count();
        if count > 0 {
            return Err(QsmError::NotFinite { what: "the field", count });
        }
        let field = data.range().upload(field).map_err(QsmError::space)?;
        Ok(Self { data, penalty, field, kappa })
    }

    /// Rows of zero.
    pub(super) fn rows(&self) -> Result<Rows<A, D>, SpaceError<A>> {
        Ok(Rows { data: self.data.range().zeros()?, curvature: self.penalty.range().zeros()? })
    }

    /// A x and D x.
    pub(super) fn apply(
        &self,
        x: &DomainVector<A>,
        rows: &mut Rows<A, D>,
    ) -> Result<(), SpaceError<A>> {
        self.data.apply(x, &mut rows.data)?;
        self.penalty.apply(x, &mut rows.curvature)
    }

    /// b - A x and -D x.
    pub(super) fn residual(
        &self,
        x: &DomainVector<A>,
        residual: &mut Rows<A, D>,
    ) -> Result<(), SpaceError<A>> {
        self.apply(x, residual)?;
        self.scale(-1.0, residual)?;
        self.data.range().axpy(1.0, &self.field, &mut residual.data)
    }

    /// κ A' data + (1 - κ) D' curvature: the adjoint in the inner product of [`square`](Self::square),
    /// and of a residual the way down.
    pub(super) fn adjoint(
        &self,
        rows: &Rows<A, D>,
        x: &mut DomainVector<A>,
    ) -> Result<(), SpaceError<A>> {
        let domain = self.data.domain();
        self.data.adjoint(&rows.data, x)?;
        domain.scale(self.kappa as f32, x)?;
        let mut bends = domain.zeros()?;
        self.penalty.adjoint(&rows.curvature, &mut bends)?;
        domain.axpy((1.0 - self.kappa) as f32, &bends, x)
    }

    /// κ ‖data‖² + (1 - κ) ‖curvature‖².
    pub(super) fn square(&self, rows: &Rows<A, D>) -> Result<f64, SpaceError<A>> {
        let data = self.data.range().dot(&rows.data, &rows.data)?;
        let curvature = self.penalty.range().dot(&rows.curvature, &rows.curvature)?;
        Ok(self.kappa * data + (1.0 - self.kappa) * curvature)
    }

    /// `y += factor x`.
    pub(super) fn add(
        &self,
        factor: f64,
        x: &Rows<A, D>,
        y: &mut Rows<A, D>,
    ) -> Result<(), SpaceError<A>> {
        self.data.range().axpy(factor as f32, &x.data, &mut y.data)?;
        self.penalty.range().axpy(factor as f32, &x.curvature, &mut y.curvature)
    }

    /// `x = factor x`.
    pub(super) fn scale(&self, factor: f64, x: &mut Rows<A, D>) -> Result<(), SpaceError<A>> {
        self.data.range().scale(factor as f32, &mut x.data)?;
        self.penalty.range().scale(factor as f32, &mut x.curvature)
    }

    /// The largest eigenvalue of κ A'A + (1 - κ) D'D, from below, by `iterations` of the power
    /// method.
    ///
    /// # Errors
    /// Where a vector space refuses.
    pub fn largest_eigenvalue(&self, iterations: usize) -> Result<f64, QsmError> {
        self.power(iterations).map_err(QsmError::space)
    }

    fn power(&self, iterations: usize) -> Result<f64, SpaceError<A>> {
        let domain = self.data.domain();
        let philox = Philox::new(0);
        let start: Vec<f32> =
            (0..domain.len() as u64).map(|i| normals::<f32>(philox.at(i, 0))[0]).collect();
        let mut x = domain.upload(&start)?;
        let mut image = domain.zeros()?;
        let mut along = self.rows()?;
        let mut eigenvalue = 0.0;
        for _ in 0..iterations {
            let length = domain.dot(&x, &x)?.sqrt();
            domain.scale((1.0 / length) as f32, &mut x)?;
            self.apply(&x, &mut along)?;
            self.adjoint(&along, &mut image)?;
            eigenvalue = domain.dot(&image, &image)?.sqrt();
            if eigenvalue == 0.0 {
                break;
            }
            domain.copy(&image, &mut x)?;
        }
        Ok(eigenvalue)
    }
}

/// Iterations of the power method that a step is chosen by; they leave the eigenvalue a few per
/// cent low.
const POWER_ITERATIONS: usize = 12;

/// A Landweber step that converges: `wanted`, or less where that would diverge. The bound on a
/// stable step is 2 / eigenvalue; a quarter below it covers what the power method missed.
///
/// # Errors
/// Where a vector space refuses.
pub fn safe_step<A, D>(
    objective: &Objective<'_, A, D>,
    wanted: Option<f64>,
) -> Result<f64, QsmError>
where
    A: LinearOperator,
    D: LinearOperator + Operator<Domain = A::Domain>,
{
    let largest = objective.largest_eigenvalue(POWER_ITERATIONS)?;
    if largest == 0.0 {
        return Ok(wanted.unwrap_or(1.0));
    }
    let safe = 1.5 / largest;
    // The published step lies just below the bound in its own units and is kept there.
    Ok(wanted.map_or(safe, |wanted| if wanted * largest < 1.9 { wanted } else { safe }))
}
