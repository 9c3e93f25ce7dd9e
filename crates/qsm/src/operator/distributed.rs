use fimbria_compute::comm::Comm;
use fimbria_compute::operator::{LinearOperator, Operator};
use fimbria_compute::{HostError, HostSpace};

/// A whose sources are spread over processes; unknowns and field are whole in each of them.
pub struct Distributed<'c, A> {
    part: A,
    comm: &'c dyn Comm,
}

impl<'c, A> Distributed<'c, A> {
    /// Sums the products of each process's `part` over `comm`.
    pub fn new(part: A, comm: &'c dyn Comm) -> Self {
        Self { part, comm }
    }

    /// In f64, in the order of ranks.
    fn sum(&self, values: &mut [f32]) {
        if self.comm.size() > 1 {
            let mut wide: Vec<f64> = values.iter().map(|&v| f64::from(v)).collect();
            self.comm.sum_f64(&mut wide);
            values.iter_mut().zip(wide).for_each(|(v, sum)| *v = sum as f32);
        }
    }
}

impl<'w, A> Operator for Distributed<'_, A>
where
    A: Operator<Domain = HostSpace<'w>, Range = HostSpace<'w>>,
{
    type Domain = HostSpace<'w>;
    type Range = HostSpace<'w>;

    fn domain(&self) -> &HostSpace<'w> {
        self.part.domain()
    }

    fn range(&self) -> &HostSpace<'w> {
        self.part.range()
    }

    fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        self.part.apply(x, y)?;
        self.sum(y);
        Ok(())
    }
}

impl<'w, A> LinearOperator for Distributed<'_, A>
where
    A: LinearOperator + Operator<Domain = HostSpace<'w>, Range = HostSpace<'w>>,
{
    fn adjoint(&self, y: &Vec<f32>, x: &mut Vec<f32>) -> Result<(), HostError> {
        self.part.adjoint(y, x)?;
        self.sum(x);
        Ok(())
    }
}
