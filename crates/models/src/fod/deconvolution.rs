//! The problem that all voxels share, and its solution in one voxel.

use std::f64::consts::PI;

use fimbria_fitting::active_set::{Constraints, Guess, SharedProgramme, Splitting, Verdict, Work};
use fimbria_image::{GradientTable, Status};
use fimbria_tensors::sh::{ShBasis, ShToForm, sh_count};

use super::convolution::Convolution;
use super::no_fibres::NoFibres;
use super::price::prices;
use super::shells::Shelled;
use super::sphere::Sphere;
use super::{FodError, FodOptions, Responses, Tissues};

/// min ½‖A x - s‖² over densities and tissue weights x that are not negative, for any number of
/// signals s; of one shell and three tissues with a small price on the amount of fibres beside it.
#[derive(Clone, Debug)]
pub struct Deconvolution {
    order: usize,
    /// Number of volumes of the series.
    n_volumes: usize,
    pub(crate) convolution: Convolution,
    /// AᵀA + ρI, row-major.
    pub(crate) hessian: Vec<f64>,
    /// ρ.
    regularisation: f64,
    /// What the first coefficient of the density costs by a unit of signal in each volume that enters.
    pub(crate) prices: Vec<f64>,
    /// The programme with this H.
    pub(crate) programme: SharedProgramme,
    pub(super) splitting: Splitting,
    no_fibres: NoFibres,
    /// Unique entries from coefficients, `[coefficient][entry]`.
    pub(crate) form_from_sh: Vec<f64>,
}

/// Densities may be negative by this fraction of their unconstrained minimum's largest amplitude
/// where rounding ends the walk: a thousandth of what any peak threshold sees.
const GOOD: f64 = 1e-6;

/// What they may be negative by where a walk to the last digit failed: in fluid nearly all constraints hold
/// with equality, and rounding tells the last ones neither apart nor to stay.
const EARLIER: [f64; 2] = [0.1 * GOOD, GOOD];

/// Working memory of a thread.
#[derive(Clone, Debug, Default)]
pub struct VoxelWork {
    linear: Vec<f64>,
    product: Vec<f64>,
    /// The solution: density, then tissue weights.
    pub(crate) x: Vec<f64>,
    /// The density as a form.
    pub(crate) form: Vec<f64>,
    work: Work,
}

/// What is known of a problem besides its linear term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Posed {
    /// The sum of squares of the signal.
    power: f64,
    /// What the first coefficient of the density costs.
    price: f64,
}

/// What is known of a voxel besides its solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VoxelOutcome {
    /// What became of it.
    pub status: Status,
    /// Root mean square of the residuals, input units.
    pub residual: f64,
}

impl Deconvolution {
    /// The problem of an acquisition with given responses.
    ///
    /// # Errors
    /// Where a response does not fit the acquisition or the order asks for more directions. The
    /// tissues are those of the responses, whatever `options` say.
    pub fn new(
        gradients: &GradientTable,
        responses: &Responses,
        options: &FodOptions,
    ) -> Result<Self, FodError> {
        options.check()?;
        let three = responses.isotropic.is_some();
        let tissues = if three { Tissues::Three } else { Tissues::White };
        let shelled = Shelled::new(gradients, tissues)?;
        shelled.check(gradients, options.order)?;
        let convolution = Convolution::new(gradients, &shelled, responses, options.order)?;
        let (n, n_sh) = (convolution.n_unknowns, sh_count(options.order));
        let mut hessian = vec![0.0; n * n];
        for row in convolution.matrix.chunks_exact(n) {
            for i in 0..n {
                for j in 0..n {
                    hessian[i * n + j] += row[i] * row[j];
                }
            }
        }
        // The mean over all directions of a fibre of ‖its signal without its mean over directions‖².
        let power = (1..n_sh).map(|i| hessian[i * n + i]).sum::<f64>() / (4.0 * PI);
        let is_b0 = convolution.volumes.iter().map(|&volume| gradients.is_b0(volume));
        let prices = match three && shelled.single {
            true => prices(&convolution, power, &is_b0.collect::<Vec<_>>()),
            false => vec![0.0; convolution.volumes.len()],
        };
        let largest = (0..n).map(|i| hessian[i * n + i]).fold(0.0, f64::max);
        let regularisation = options.regularisation * largest;
        (0..n).for_each(|i| hessian[i * n + i] += regularisation);

        let sphere = Sphere::new(options.order);
        let mut rows = Vec::new();
        for harmonics in sphere.harmonics.chunks_exact(n_sh) {
            rows.extend_from_slice(harmonics);
            rows.resize(rows.len() + n - n_sh, 0.0);
        }
        for tissue in n_sh..n {
            rows.extend((0..n).map(|k| f64::from(u8::from(k == tissue))));
        }
        let constraints = Constraints::non_negative(n, &rows)?;
        let splitting = Splitting::new(&hessian, &constraints)?;
        let programme = SharedProgramme::new(&hessian, constraints)?;
        let no_fibres = NoFibres::new(&sphere.harmonics, n_sh)?;
        Ok(Self {
            order: options.order,
            n_volumes: gradients.len(),
            convolution,
            hessian,
            regularisation,
            prices,
            programme,
            splitting,
            no_fibres,
            form_from_sh: transposed_form(options.order)?,
        })
    }

    /// Lets densities be this fraction of their unconstrained minimum's largest amplitude below zero.
    #[must_use]
    pub(super) fn with_tolerance(self, tolerance: f64) -> Self {
        Self { programme: self.programme.with_tolerance(tolerance), ..self }
    }

    /// Degree of the density.
    pub fn order(&self) -> usize {
        self.order
    }

    /// Number of unknowns: coefficients of the density, then the tissues' weights.
    pub fn n_unknowns(&self) -> usize {
        self.convolution.n_unknowns
    }

    /// Number of coefficients of the density, and of entries of its form.
    pub fn n_harmonics(&self) -> usize {
        sh_count(self.order)
    }

    /// Number of volumes of the series.
    pub fn n_volumes(&self) -> usize {
        self.n_volumes
    }

    /// Solves one voxel whose samples of volume v are `samples[v * stride]`; the solution is left
    /// in `work`, all zero where the status says that there is none.
    #[inline(always)]
    pub fn solve(&self, samples: &[f32], stride: usize, work: &mut VoxelWork) -> VoxelOutcome {
        let mut f = std::mem::take(&mut work.linear);
        f.clear();
        f.resize(self.n_unknowns(), 0.0);
        let posed = self.pose(samples, stride, &mut f);
        let outcome = self.solve_posed(&f, posed, None, work);
        work.linear = f;
        outcome
    }

    /// Makes `f`, which is zero, the linear part of the objective; `None` where the signal is none.
    #[inline(always)]
    pub(super) fn pose(&self, samples: &[f32], stride: usize, f: &mut [f64]) -> Option<Posed> {
        let (mut power, mut price) = (0.0, 0.0);
        let mut largest = f64::NEG_INFINITY;
        let rows = self.convolution.matrix.chunks_exact(f.len());
        for ((row, &volume), of_signal) in rows.zip(&self.convolution.volumes).zip(&self.prices) {
            let s = f64::from(samples[volume * stride]);
            power += s * s;
            price += s * of_signal;
            largest = largest.max(s);
            f.iter_mut().zip(row).for_each(|(f, a)| *f += s * a);
        }
        f[0] -= price;
        (power.is_finite() && largest > 0.0).then_some(Posed { power, price })
    }

    /// Solves the voxel that [`pose`](Self::pose) posed.
    #[inline(always)]
    pub(super) fn solve_posed(
        &self,
        f: &[f64],
        posed: Option<Posed>,
        guess: Option<&Guess>,
        work: &mut VoxelWork,
    ) -> VoxelOutcome {
        let VoxelWork { product, x, work, .. } = work;
        x.clear();
        let Some(posed) = posed else {
            x.resize(f.len(), 0.0);
            return VoxelOutcome { status: Status::BadSignal, residual: 0.0 };
        };
        x.extend_from_slice(f);
        let (verdict, violation) = if self.no_fibres.solve(&self.hessian, f, x) {
            (Verdict::Free, 0.0)
        } else {
            let mut outcome = match guess {
                Some(guess) => self.programme.improve(guess, x, work),
                None => self.programme.solve(x, work),
            };
            for tolerance in EARLIER {
                let has_ended = matches!(outcome.verdict, Verdict::Free | Verdict::Bound);
                if has_ended && x.iter().all(|x| x.is_finite()) {
                    break;
                }
                x.copy_from_slice(f);
                outcome = self.programme.solve_within(tolerance, x, work);
            }
            (outcome.verdict, outcome.violation)
        };
        if !x.iter().all(|x| x.is_finite()) {
            x.fill(0.0);
            return VoxelOutcome { status: Status::Singular, residual: 0.0 };
        }
        // What rounding leaves of a density beside the tissues is none.
        let (density, tissues) = x.split_at_mut(self.n_harmonics());
        let largest = density.iter().fold(0.0, |largest, x| f64::max(largest, x.abs()));
        let is_nothing = largest <= GOOD * tissues.iter().sum::<f64>();
        if is_nothing {
            density.fill(0.0);
        }
        let status = match verdict {
            _ if is_nothing => Status::Fitted,
            Verdict::Free => Status::Fitted,
            Verdict::Bound => Status::Constrained,
            // Every point of the walk is the minimum over its constraints: one that violates none
            // is the solution, however the walk ended.
            _ if violation <= GOOD => Status::Constrained,
            Verdict::Infeasible | Verdict::NotConverged => Status::NotConverged,
        };
        VoxelOutcome { status, residual: self.residual(f, posed, x, product) }
    }

    /// Root mean square of s - Ax.
    #[inline(always)]
    fn residual(&self, f: &[f64], posed: Posed, x: &[f64], product: &mut Vec<f64>) -> f64 {
        // ‖s - Ax‖² = sᵀs - 2sᵀAx + xᵀAᵀAx: what cancels is 1e-13 of sᵀs.
        product.clear();
        product.resize(f.len(), 0.0);
        for (row, &x) in self.hessian.chunks_exact(f.len()).zip(x) {
            product.iter_mut().zip(row).for_each(|(p, g)| *p += x * g);
        }
        let rho = self.regularisation;
        let terms = product.iter().zip(f).zip(x);
        let terms = terms.map(|((p, f), x)| x * (p - rho * x - 2.0 * f));
        let square = posed.power + terms.sum::<f64>() - 2.0 * posed.price * x[0];
        (square.max(0.0) / self.convolution.volumes.len() as f64).sqrt()
    }

    /// Fills `work.form` from the density in `work.x`.
    #[inline(always)]
    pub(crate) fn to_form(&self, work: &mut VoxelWork) {
        let n = self.n_harmonics();
        work.form.clear();
        work.form.resize(n, 0.0);
        for (column, &f) in self.form_from_sh.chunks_exact(n).zip(&work.x) {
            work.form.iter_mut().zip(column).for_each(|(entry, m)| *entry += f * m);
        }
    }
}

/// The matrix of [`ShToForm`] by columns.
fn transposed_form(order: usize) -> Result<Vec<f64>, FodError> {
    let form = ShToForm::new(ShBasis::Mrtrix, order).map_err(|_| FodError::Order(order))?;
    let (n, rows) = (form.count(), form.form_from_sh());
    Ok((0..n * n).map(|at| rows[(at % n) * n + at / n]).collect())
}
