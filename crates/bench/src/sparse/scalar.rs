use super::csr::Csr;
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};
use fimbria_compute::{HostError, HostSpace, Workers};

/// The product with a sparse matrix as the definition reads, summed in f64 by one thread: the
/// oracle of the faster ones.
#[derive(Clone, Debug)]
pub(super) struct ScalarCsr<'a> {
    matrix: &'a Csr,
    domain: HostSpace<'a>,
    range: HostSpace<'a>,
}

impl<'a> ScalarCsr<'a> {
    /// The product with `matrix`; `workers` work on the vectors only.
    pub(super) fn new(matrix: &'a Csr, workers: &'a Workers) -> Self {
        let domain = HostSpace::new(workers, matrix.columns());
        let range = HostSpace::new(workers, matrix.rows());
        Self { matrix, domain, range }
    }
}

impl<'a> Operator for ScalarCsr<'a> {
    type Domain = HostSpace<'a>;
    type Range = HostSpace<'a>;

    fn domain(&self) -> &HostSpace<'a> {
        &self.domain
    }

    fn range(&self) -> &HostSpace<'a> {
        &self.range
    }

    /// y_i = Σ_j a_ij x_j
    fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        for i in 0..self.range.len() {
            let (columns, values) = self.matrix.row(i);
            let mut sum = 0.0;
            for (&j, &a) in columns.iter().zip(values) {
                sum += f64::from(a) * f64::from(x[j as usize]);
            }
            y[i] = sum as f32;
        }
        Ok(())
    }
}

impl LinearOperator for ScalarCsr<'_> {
    /// x_j = Σ_i a_ij y_i
    fn adjoint(&self, y: &Vec<f32>, x: &mut Vec<f32>) -> Result<(), HostError> {
        let mut sums = vec![0.0; x.len()];
        for i in 0..self.range.len() {
            let (columns, values) = self.matrix.row(i);
            for (&j, &a) in columns.iter().zip(values) {
                sums[j as usize] += f64::from(a) * f64::from(y[i]);
            }
        }
        for (x, sum) in x.iter_mut().zip(sums) {
            *x = sum as f32;
        }
        Ok(())
    }
}
