use fimbria_compute::comm::Comm;
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};

/// A whose sources are spread over processes; unknowns and field are whole in each of them.
pub struct Distributed<'c, A> {
    part: A,
    comm: &'c dyn Comm,
}

impl<'c, A: Operator> Distributed<'c, A> {
    /// Sums the products of each process's `part` over `comm`.
    pub fn new(part: A, comm: &'c dyn Comm) -> Self {
        Self { part, comm }
    }

    /// In f64, in the order of ranks.
    fn sum<S: VectorSpace>(&self, space: &S, x: &mut S::Vector) -> Result<(), S::Error> {
        if self.comm.size() == 1 {
            return Ok(());
        }
        let mut host = vec![0.0_f32; space.len()];
        space.download(x, &mut host)?;
        let mut wide: Vec<f64> = host.iter().map(|&x| f64::from(x)).collect();
        self.comm.sum_f64(&mut wide);
        host.iter_mut().zip(wide).for_each(|(x, sum)| *x = sum as f32);
        *x = space.upload(&host)?;
        Ok(())
    }
}

impl<A: Operator> Operator for Distributed<'_, A> {
    type Domain = A::Domain;
    type Range = A::Range;

    fn domain(&self) -> &A::Domain {
        self.part.domain()
    }

    fn range(&self) -> &A::Range {
        self.part.range()
    }

    fn apply(
        &self,
        x: &<A::Domain as VectorSpace>::Vector,
        y: &mut <A::Range as VectorSpace>::Vector,
    ) -> Result<(), <A::Domain as VectorSpace>::Error> {
        self.part.apply(x, y)?;
        self.sum(self.range(), y)
    }
}

impl<A: LinearOperator> LinearOperator for Distributed<'_, A> {
    fn adjoint(
        &self,
        y: &<A::Range as VectorSpace>::Vector,
        x: &mut <A::Domain as VectorSpace>::Vector,
    ) -> Result<(), <A::Domain as VectorSpace>::Error> {
        self.part.adjoint(y, x)?;
        self.sum(self.domain(), x)
    }
}
