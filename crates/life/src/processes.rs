//! One operator on several processes: each has some of the voxels, all have all weights.

use fimbria_compute::comm::Comm;
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};

use crate::{OrthantSpace, PartialProduct};

/// Vectors over voxels, of which this process has a part.
pub struct Parted<'a, S> {
    space: &'a S,
    comm: &'a dyn Comm,
}

impl<S: VectorSpace> VectorSpace for Parted<'_, S> {
    type Vector = S::Vector;
    type Error = S::Error;

    fn len(&self) -> usize {
        self.space.len()
    }

    fn zeros(&self) -> Result<S::Vector, S::Error> {
        self.space.zeros()
    }

    fn upload(&self, host: &[f32]) -> Result<S::Vector, S::Error> {
        self.space.upload(host)
    }

    fn download(&self, x: &S::Vector, host: &mut [f32]) -> Result<(), S::Error> {
        self.space.download(x, host)
    }

    fn copy(&self, x: &S::Vector, y: &mut S::Vector) -> Result<(), S::Error> {
        self.space.copy(x, y)
    }

    fn axpy(&self, alpha: f32, x: &S::Vector, y: &mut S::Vector) -> Result<(), S::Error> {
        self.space.axpy(alpha, x, y)
    }

    fn scale(&self, alpha: f32, x: &mut S::Vector) -> Result<(), S::Error> {
        self.space.scale(alpha, x)
    }

    /// Over all processes.
    fn dot(&self, x: &S::Vector, y: &S::Vector) -> Result<f64, S::Error> {
        let mut sum = [self.space.dot(x, y)?];
        self.comm.sum_f64(&mut sum);
        Ok(sum[0])
    }

    fn project_nonnegative(&self, x: &mut S::Vector) -> Result<(), S::Error> {
        self.space.project_nonnegative(x)
    }
}

/// M of all processes' voxels: `operator` is this one's part.
///
/// Weights are on every process, the same to the bit, because every sum over processes is; one sum
/// of a vector of weights is all that a product with M' takes.
pub struct Shared<'a, A: Operator> {
    operator: &'a A,
    range: Parted<'a, A::Range>,
}

impl<'a, A: Operator> Shared<'a, A> {
    /// The sum of all processes' operators.
    pub fn new(operator: &'a A, comm: &'a dyn Comm) -> Self {
        Self { operator, range: Parted { space: operator.range(), comm } }
    }

    /// Adds `sums` of all processes, whose last is no streamline's, and rounds the others into `x`;
    /// gives the last.
    fn add_up(
        &self,
        mut sums: Vec<f64>,
        x: &mut <A::Domain as VectorSpace>::Vector,
    ) -> Result<f64, <A::Domain as VectorSpace>::Error> {
        self.range.comm.sum_f64(&mut sums);
        let last = sums.pop().unwrap_or_default();
        let rounded: Vec<f32> = sums.iter().map(|sum| *sum as f32).collect();
        *x = self.operator.domain().upload(&rounded)?;
        Ok(last)
    }

    fn is_alone(&self) -> bool {
        self.range.comm.size() == 1
    }
}

impl<'a, A: Operator> Operator for Shared<'a, A>
where
    A::Domain: OrthantSpace,
{
    type Domain = A::Domain;
    type Range = Parted<'a, A::Range>;

    fn domain(&self) -> &A::Domain {
        self.operator.domain()
    }

    fn range(&self) -> &Parted<'a, A::Range> {
        &self.range
    }

    fn apply(
        &self,
        x: &<A::Domain as VectorSpace>::Vector,
        y: &mut <A::Range as VectorSpace>::Vector,
    ) -> Result<(), <A::Domain as VectorSpace>::Error> {
        self.operator.apply(x, y)
    }
}

impl<A: PartialProduct> LinearOperator for Shared<'_, A>
where
    A::Domain: OrthantSpace,
{
    fn adjoint(
        &self,
        y: &<A::Range as VectorSpace>::Vector,
        x: &mut <A::Domain as VectorSpace>::Vector,
    ) -> Result<(), <A::Domain as VectorSpace>::Error> {
        if self.is_alone() {
            return self.operator.adjoint(y, x);
        }
        let n = self.operator.domain().len();
        let mut sums = vec![0.0; n + 1];
        self.operator.adjoint_sums(y, &mut sums[..n])?;
        self.add_up(sums, x)?;
        Ok(())
    }

    fn gradient(
        &self,
        x: &<A::Domain as VectorSpace>::Vector,
        b: &<A::Range as VectorSpace>::Vector,
        g: &mut <A::Domain as VectorSpace>::Vector,
    ) -> Result<f64, <A::Domain as VectorSpace>::Error> {
        if self.is_alone() {
            return self.operator.gradient(x, b, g);
        }
        let n = self.operator.domain().len();
        let mut sums = vec![0.0; n + 1];
        sums[n] = self.operator.gradient_sums(x, b, &mut sums[..n])?;
        self.add_up(sums, g)
    }
}
