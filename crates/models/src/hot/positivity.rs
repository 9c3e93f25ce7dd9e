//! Diffusivities that are nowhere negative: D(g) ≥ 0 in many directions.
//!
//! Noise makes the fitted form negative in some directions of some voxels. Only there the fit is
//! repeated as a quadratic programme: the weighted sum of squares of the last pass is minimised
//! subject to D(u) ≥ a hair above 0 for 300 directions u (reference: constrained log-linear fits
//! as in Barmpoutis and Vemuri 2010 without their limit to a bank of rank-1 forms).

use fimbria_compute::{Flags, LaneFlags, Lanes, Real, SimdLevel};
use fimbria_fitting::active_set::{ActiveSetError, Constraints, Programme, Verdict, Work};
use fimbria_fitting::linear::{LogLinearFit, Outcome, Rows, oracle};
use fimbria_image::Status;
use fimbria_tensors::starts::half_sphere;
use pulp::{Simd, WithSimd};

use super::form::Form;

/// Directions in which D is kept positive.
pub(super) const DIRECTIONS: usize = 300;
/// The least D in µm²/ms: what rounding to `f32` takes away leaves it positive, and no noise level
/// comes near it.
pub(super) const LEAST: f64 = 1e-5;

/// The constraints of a form.
#[derive(Clone, Debug)]
pub(super) struct Positivity {
    /// D in each direction: `[direction][entry]`.
    rows: Vec<Vec<f32>>,
    constraints: Constraints,
}

impl Positivity {
    pub(super) fn new(form: &Form) -> Result<Self, ActiveSetError> {
        let rows: Vec<Vec<f64>> =
            half_sphere(DIRECTIONS).into_iter().map(|g| form.row(g)).collect();
        // The first unknown is ln S0, which is free.
        let of_unknowns: Vec<f64> =
            rows.iter().flat_map(|row| std::iter::once(0.0).chain(row.iter().copied())).collect();
        let constraints = Constraints::new(1 + form.len(), &of_unknowns, vec![LEAST; DIRECTIONS])?;
        let narrow = |row: &Vec<f64>| row.iter().map(|&x| x as f32).collect();
        Ok(Self { rows: rows.iter().map(narrow).collect(), constraints })
    }

    /// Fits those of the first `n` voxels anew whose diffusivity is negative somewhere;
    /// `results` are those of `fit` for `samples`, both `[row][stride]`, and hold a [`Status`] for
    /// an [`Outcome`] afterwards.
    pub(super) fn enforce(
        &self,
        fit: &LogLinearFit,
        simd: SimdLevel,
        samples: &[f32],
        stride: usize,
        n: usize,
        results: &mut [f32],
    ) {
        let found = simd.run(Violations { rows: &self.rows, fit, stride, n, results });
        if !found.is_empty() {
            let positivity = self;
            simd.run(Repair { positivity, fit, samples, stride, voxels: &found, results });
        }
    }
}

/// The voxels with a negative diffusivity in some direction.
struct Violations<'a> {
    rows: &'a [Vec<f32>],
    fit: &'a LogLinearFit,
    stride: usize,
    n: usize,
    results: &'a [f32],
}

impl WithSimd for Violations<'_> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<usize> {
        let Self { rows, fit, stride, n, results } = self;
        let width = Lanes::<S>::LANES;
        let mut found = Vec::new();
        let mut flags = vec![0.0; width];
        for first in (0..n).step_by(width) {
            let len = width.min(n - first);
            let load =
                |row: usize| Lanes::load_partial(simd, &results[row * stride + first..][..len]);
            let mut least = Lanes::new(simd, f32::INFINITY);
            // Four directions at a time, so that their sums do not wait for one another.
            for directions in rows.chunks(4) {
                let mut sums = [Lanes::new(simd, 0.0); 4];
                for k in 0..rows[0].len() {
                    let entry = load(fit.rows().coefficient(k));
                    for (sum, row) in sums.iter_mut().zip(directions) {
                        *sum = entry.mul_add(entry.splat(row[k]), *sum);
                    }
                }
                for sum in &sums[..directions.len()] {
                    least = sum.min(least);
                }
            }
            let fitted = Lanes::new(simd, Outcome::Fitted.code());
            let low: LaneFlags<S> = least.less(Lanes::new(simd, LEAST as f32))
                & load(fit.rows().outcome()).equals(fitted);
            if low.any() {
                Lanes::select(low, Lanes::new(simd, 1.0), Lanes::new(simd, 0.0)).store(&mut flags);
                found.extend((0..len).filter(|&lane| flags[lane] > 0.0).map(|lane| first + lane));
            }
        }
        found
    }
}

/// The constrained fit of some voxels.
struct Repair<'a> {
    positivity: &'a Positivity,
    fit: &'a LogLinearFit,
    samples: &'a [f32],
    stride: usize,
    voxels: &'a [usize],
    results: &'a mut [f32],
}

impl WithSimd for Repair<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { positivity, fit, samples, stride, voxels, results } = self;
        let (design, rows) = (fit.design(), fit.rows());
        let mut programme = Programme::new(&positivity.constraints);
        let mut work = Work::default();
        for &voxel in voxels {
            let of_voxel: Vec<f64> =
                samples.chunks_exact(stride).map(|row| f64::from(row[voxel])).collect();
            let Some(normal) = oracle::normal(design, fit.recipe(), &of_voxel, None) else {
                continue;
            };
            let mut c = normal.rhs;
            let status = match programme.solve(&normal.matrix, &mut c, &mut work) {
                Ok(outcome) if outcome.verdict == Verdict::Free => Status::Fitted,
                Ok(outcome) if outcome.verdict == Verdict::Bound => Status::Constrained,
                Ok(_) => Status::NotConverged,
                Err(_) => Status::Singular,
            };
            let mut put = |row: usize, value: f64| results[row * stride + voxel] = value as f32;
            put(rows.outcome(), f64::from(status.code()));
            if status == Status::Singular {
                (0..=rows.residual()).for_each(|row| put(row, 0.0));
                continue;
            }
            c[0] += normal.mean.ln();
            put(Rows::AMPLITUDE, c[0].exp());
            for (k, &entry) in c[1..].iter().enumerate() {
                put(rows.coefficient(k), entry);
            }
            let square =
                |(i, s): (usize, &f64)| (s - oracle::predict(design.row(i), &c).exp()).powi(2);
            let squares: f64 = of_voxel.iter().enumerate().map(square).sum();
            put(rows.residual(), (squares / of_voxel.len() as f64).sqrt());
        }
    }
}
