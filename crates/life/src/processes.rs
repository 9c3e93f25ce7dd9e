//! One operator on several processes: each has some of the voxels, all have all weights.

use fimbria_compute::comm::Comm;
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};

use crate::PartialProduct;
use crate::exact::largest_of_all;

/// Vectors over voxels, of which this process has a part.
pub struct Parted<'a, A: Operator> {
    operator: &'a A,
    comm: &'a dyn Comm,
}

impl<A: Operator> Parted<'_, A> {
    fn space(&self) -> &A::Range {
        self.operator.range()
    }

    /// The largest number of all processes.
    fn agree(&self, mine: f64) -> f64 {
        largest_of_all(self.comm, mine)
    }
}

impl<A: PartialProduct> VectorSpace for Parted<'_, A> {
    type Vector = <A::Range as VectorSpace>::Vector;
    type Error = <A::Range as VectorSpace>::Error;

    fn len(&self) -> usize {
        self.space().len()
    }
    fn zeros(&self) -> Result<Self::Vector, Self::Error> {
        self.space().zeros()
    }
    fn upload(&self, host: &[f32]) -> Result<Self::Vector, Self::Error> {
        self.space().upload(host)
    }
    fn download(&self, x: &Self::Vector, host: &mut [f32]) -> Result<(), Self::Error> {
        self.space().download(x, host)
    }
    fn copy(&self, x: &Self::Vector, y: &mut Self::Vector) -> Result<(), Self::Error> {
        self.space().copy(x, y)
    }
    fn axpy(&self, alpha: f32, x: &Self::Vector, y: &mut Self::Vector) -> Result<(), Self::Error> {
        self.space().axpy(alpha, x, y)
    }
    fn scale(&self, alpha: f32, x: &mut Self::Vector) -> Result<(), Self::Error> {
        self.space().scale(alpha, x)
    }
    /// Over all processes.
    fn dot(&self, x: &Self::Vector, y: &Self::Vector) -> Result<f64, Self::Error> {
        let mut sums = self.operator.dot_sums(x, y, &|mine| self.agree(mine))?;
        self.comm.sum_f64(&mut sums);
        Ok(sums[0] + sums[1])
    }
    fn project_nonnegative(&self, x: &mut Self::Vector) -> Result<(), Self::Error> {
        self.space().project_nonnegative(x)
    }
}

/// M of all processes' voxels: `operator` is this one's part.
///
/// Weights are on every process, the same to the bit, because every sum over processes is; one sum
/// of a vector of weights is all that a product with M' takes, beside agreeing on its lattice.
pub struct Shared<'a, A: Operator> {
    operator: &'a A,
    range: Parted<'a, A>,
}

impl<'a, A: Operator> Shared<'a, A> {
    /// The sum of all processes' operators.
    pub fn new(operator: &'a A, comm: &'a dyn Comm) -> Self {
        Self { operator, range: Parted { operator, comm } }
    }

    /// Adds `sums` of all processes, whose last two are no streamline's, and rounds the others into
    /// `x`; gives the sum of the last two.
    fn add_up(
        &self,
        mut sums: Vec<f64>,
        x: &mut <A::Domain as VectorSpace>::Vector,
    ) -> Result<f64, <A::Domain as VectorSpace>::Error> {
        self.range.comm.sum_f64(&mut sums);
        let n = sums.len() - 2;
        let last = sums[n] + sums[n + 1];
        let rounded: Vec<f32> = sums[..n].iter().map(|sum| *sum as f32).collect();
        *x = self.operator.domain().upload(&rounded)?;
        Ok(last)
    }

    fn is_one_process(&self) -> bool {
        self.range.comm.size() == 1
    }
}

impl<A: PartialProduct> Shared<'_, A> {
    /// M'(M x - b), without b where there is none, and ‖M x - b‖², of several processes.
    fn gradient_of_all(
        &self,
        x: &<A::Domain as VectorSpace>::Vector,
        b: Option<&<A::Range as VectorSpace>::Vector>,
        g: &mut <A::Domain as VectorSpace>::Vector,
    ) -> Result<f64, <A::Domain as VectorSpace>::Error> {
        let n = self.operator.domain().len();
        let mut sums = vec![0.0; n + 2];
        let agree = |mine| self.range.agree(mine);
        let squares = self.operator.gradient_sums(x, b, &mut sums[..n], &agree)?;
        sums[n..].copy_from_slice(&squares);
        self.add_up(sums, g)
    }
}

impl<'a, A: PartialProduct> Operator for Shared<'a, A> {
    type Domain = A::Domain;
    type Range = Parted<'a, A>;

    fn domain(&self) -> &A::Domain {
        self.operator.domain()
    }

    fn range(&self) -> &Parted<'a, A> {
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

impl<A: PartialProduct> LinearOperator for Shared<'_, A> {
    fn adjoint(
        &self,
        y: &<A::Range as VectorSpace>::Vector,
        x: &mut <A::Domain as VectorSpace>::Vector,
    ) -> Result<(), <A::Domain as VectorSpace>::Error> {
        if self.is_one_process() {
            return self.operator.adjoint(y, x);
        }
        let n = self.operator.domain().len();
        let mut sums = vec![0.0; n + 2];
        self.operator.adjoint_sums(y, &mut sums[..n], &|mine| self.range.agree(mine))?;
        self.add_up(sums, x)?;
        Ok(())
    }

    fn gradient(
        &self,
        x: &<A::Domain as VectorSpace>::Vector,
        b: &<A::Range as VectorSpace>::Vector,
        g: &mut <A::Domain as VectorSpace>::Vector,
    ) -> Result<f64, <A::Domain as VectorSpace>::Error> {
        match self.is_one_process() {
            true => self.operator.gradient(x, b, g),
            false => self.gradient_of_all(x, Some(b), g),
        }
    }

    fn normal(
        &self,
        x: &<A::Domain as VectorSpace>::Vector,
        g: &mut <A::Domain as VectorSpace>::Vector,
    ) -> Result<f64, <A::Domain as VectorSpace>::Error> {
        match self.is_one_process() {
            true => self.operator.normal(x, g),
            false => self.gradient_of_all(x, None, g),
        }
    }

    fn squares(
        &self,
        x: &<A::Domain as VectorSpace>::Vector,
    ) -> Result<f64, <A::Domain as VectorSpace>::Error> {
        let mut sums = self.operator.squares_sums(x, &|mine| self.range.agree(mine))?;
        self.range.comm.sum_f64(&mut sums);
        Ok(sums[0] + sums[1])
    }
}
