//! The same fits by the `levenberg-marquardt` crate, in `f64`.

use fimbria_fitting::lm::Model;
use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::{DVector, Dyn, Owned, SVector, U1};

struct Task<'a, M, const P: usize> {
    model: &'a M,
    /// `[sample][covariate]`
    covariates: &'a [f64],
    constants: &'a [f64],
    samples: &'a [f64],
    p: SVector<f64, P>,
}

impl<M: Model<P>, const P: usize> Task<'_, M, P> {
    fn at(&self, i: usize) -> (f64, [f64; P]) {
        let n = self.model.n_covariates();
        let p = self.p.into();
        self.model.signal_and_slope(&p, &self.covariates[i * n..][..n], self.constants)
    }
}

impl<M: Model<P>, const P: usize> LeastSquaresProblem<f64, Dyn, nalgebra::Const<P>>
    for Task<'_, M, P>
{
    type ResidualStorage = Owned<f64, Dyn, U1>;
    type JacobianStorage = Owned<f64, Dyn, nalgebra::Const<P>>;
    type ParameterStorage = nalgebra::ArrayStorage<f64, P, 1>;

    fn set_params(&mut self, p: &SVector<f64, P>) {
        self.p = *p;
    }
    fn params(&self) -> SVector<f64, P> {
        self.p
    }
    fn residuals(&self) -> Option<DVector<f64>> {
        let n = self.samples.len();
        Some(DVector::from_fn(n, |i, _| self.at(i).0 - self.samples[i]))
    }
    fn jacobian(&self) -> Option<nalgebra::OMatrix<f64, Dyn, nalgebra::Const<P>>> {
        let n = self.samples.len();
        let mut j = nalgebra::OMatrix::<f64, Dyn, nalgebra::Const<P>>::zeros(n);
        for i in 0..n {
            let (_, slope) = self.at(i);
            for k in 0..P {
                j[(i, k)] = slope[k];
            }
        }
        Some(j)
    }
}

/// The parameters, the sum of squares / 2 and whether it says that it converged.
pub(crate) fn fit<M: Model<P>, const P: usize>(
    model: &M,
    covariates: &[f64],
    constants: &[f64],
    samples: &[f64],
    start: [f64; P],
) -> ([f64; P], f64, bool) {
    let task = Task { model, covariates, constants, samples, p: start.into() };
    let (task, report) = LevenbergMarquardt::new().minimize(task);
    (task.p.into(), report.objective_function, report.termination.was_successful())
}
