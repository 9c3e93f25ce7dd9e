//! Mean-signal diffusion kurtosis (Neto Henriques 2018): the mean over the directions of
//! each shell follows ln S(b) = ln S0 - b D + b² D² K / 6, whatever the directions of the fibres.
//!
//! MSD is D and MSK is K. What the two-compartment spherical mean technique (Kaden et al. 2016)
//! makes of them (Neto Henriques et al. 2019, equations 10, 16 and 17) comes with them: the axonal
//! water fraction, the intrinsic diffusivity and the microscopic anisotropy.

use fimbria_compute::{Backend, HostError, Progress, SimdLevel};
use fimbria_image::gradients::Shell;
use fimbria_image::{GradientTable, MapSpec, Mask, SignalSource, Status, Window};

use crate::Fitted;
use crate::voxelwise::{Job, JobError, Tile, VoxelFit};

/// The kurtosis of a voxel that is all axons: no fraction has more.
pub const LARGEST_KURTOSIS: f64 = 2.4;
/// Mean signals below this, in input units, are raised to it, so that they have a logarithm.
const LEAST_SIGNAL: f64 = 1e-4;

/// Why a fit did not happen.
#[derive(Debug, thiserror::Error)]
pub enum MsdkiError {
    /// Series and gradient table disagree.
    #[error("the series has {series} volumes, the gradient table {table}")]
    VolumeCount {
        /// Volumes of the series.
        series: usize,
        /// Entries of the gradient table.
        table: usize,
    },
    /// There are too few shells.
    #[error("mean-signal kurtosis needs 3 shells, b = 0 may be one: the volumes have {0}")]
    Shells(usize),
    /// No voxel could be fitted.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// Whether a gradient table determines the model.
///
/// # Errors
/// [`MsdkiError::Shells`] where it has less than three.
pub fn check(gradients: &GradientTable) -> Result<(), MsdkiError> {
    match gradients.shells().len() {
        3.. => Ok(()),
        n => Err(MsdkiError::Shells(n)),
    }
}

/// Fits the mean signals of the shells in every voxel of `mask`: maps `MSD`, `MSK`, `AWF`, `DI`,
/// `MFA`, `S0`, `residual` and `status`. `signals` has one volume per entry of `gradients`.
///
/// # Errors
/// [`MsdkiError`]; a voxel that cannot be fitted is marked in the status map instead.
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, MsdkiError> {
    if signals.n_volumes() != gradients.len() {
        let (series, table) = (signals.n_volumes(), gradients.len());
        return Err(MsdkiError::VolumeCount { series, table });
    }
    check(gradients)?;
    let fit = ShellMeans { shells: gradients.shells() };
    let name = "fitting mean-signal kurtosis";
    Ok(Job { name, inputs: signals, mask, progress }.run(&fit, on)?)
}

/// The maps of a fit, in order.
pub fn maps() -> Vec<MapSpec> {
    vec![
        MapSpec::scalar("MSD", "mm^2/s", "diffusivity of the mean signal of the shells, mm²/s"),
        MapSpec::scalar("MSK", "", "kurtosis of that mean signal; NaN where MSD is not above 0")
            .within(Window::Fixed([0.0, 2.0])),
        MapSpec::scalar(
            "AWF",
            "",
            "axonal water fraction of two compartments with that MSK, 0 to 1",
        )
        .within(Window::Fixed([0.0, 1.0])),
        MapSpec::scalar("DI", "mm^2/s", "their intrinsic diffusivity, mm²/s"),
        MapSpec::scalar("MFA", "", "their microscopic fractional anisotropy, 0 to 1"),
        MapSpec::scalar("S0", "arbitrary", "signal without diffusion weighting, input units"),
        MapSpec::scalar(
            "residual",
            "arbitrary",
            "root mean square of measured minus predicted mean signals, a shell counting by its \
             volumes, input units",
        )
        .within(Window::FromZero),
        MapSpec::status(),
    ]
}

/// The mean signal of some shells, and what it takes to weigh them.
struct ShellMeans {
    shells: Vec<Shell>,
}

/// What is estimated of one voxel; b in ms/µm², diffusivity in µm²/ms.
struct Estimate {
    d: f64,
    k: f64,
    s0: f64,
    residual: f64,
}

impl ShellMeans {
    /// Least squares of the logarithms, weighted by the number of volumes of a shell and its squared
    /// mean signal; `None` where that determines nothing.
    fn estimate(&self, means: &[f64]) -> Option<Estimate> {
        let shells = || {
            self.shells.iter().zip(means).map(|(shell, &mean)| {
                let b = 1e-3 * shell.b_s_per_mm2;
                (shell.volumes.len() as f64, b, mean)
            })
        };
        let (mut normal, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
        for (n, b, mean) in shells() {
            let (row, weight) = ([-b, b * b / 6.0, 1.0], n * mean * mean);
            for i in 0..3 {
                right[i] += weight * row[i] * mean.ln();
                for j in 0..3 {
                    normal[i][j] += weight * row[i] * row[j];
                }
            }
        }
        let [d, curvature, ln_s0] = solved(&normal, &right)?;
        let (mut sum, mut count) = (0.0, 0.0);
        for (n, b, mean) in shells() {
            let misfit = mean - (ln_s0 - b * d + b * b / 6.0 * curvature).exp();
            (sum, count) = (sum + n * misfit * misfit, count + n);
        }
        let (s0, residual) = (ln_s0.exp(), (sum / count).sqrt());
        Some(Estimate { d, k: curvature / (d * d), s0, residual })
    }
}

/// The solution of three equations by Cramer's rule; `None` where there is none.
fn solved(matrix: &[[f64; 3]; 3], right: &[f64; 3]) -> Option<[f64; 3]> {
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let [x, y, z] = *matrix;
    let (yz, zx, xy) = (cross(y, z), cross(z, x), cross(x, y));
    let determinant = dot(x, yz);
    let is_regular = determinant.abs() > f64::EPSILON * x[0] * y[1] * z[2];
    // The matrix is symmetric: its rows are its columns.
    let solution = [yz, zx, xy].map(|column| dot(column, *right) / determinant);
    (is_regular && solution.iter().all(|value| value.is_finite())).then_some(solution)
}

/// The kurtosis of a voxel of two compartments with axons of this fraction (equation 17).
pub fn kurtosis_of_fraction(f: f64) -> f64 {
    let above = f * (216.0 + f * (-504.0 + f * (504.0 - 180.0 * f)));
    let below = 135.0 + f * (-360.0 + f * (420.0 + f * (-240.0 + 60.0 * f)));
    above / below
}

/// The fraction of axons of a voxel with this kurtosis, 0 and 1 beyond what fractions have.
pub fn fraction_of_kurtosis(k: f64) -> f64 {
    if k.is_nan() {
        return f64::NAN;
    }
    // The kurtosis grows with the fraction: 52 halvings leave an interval of one ulp.
    let (mut low, mut high) = (0.0, 1.0);
    if k <= 0.0 {
        return low;
    }
    if k >= LARGEST_KURTOSIS {
        return high;
    }
    for _ in 0..52 {
        let middle = 0.5 * (low + high);
        if kurtosis_of_fraction(middle) < k {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The maps of two compartments with this mean diffusivity and kurtosis: the fraction of axons, the
/// intrinsic diffusivity (equation 16) and the microscopic anisotropy (equation 10).
pub fn compartments(d: f64, k: f64) -> [f64; 3] {
    let fraction = fraction_of_kurtosis(k);
    let outside = 1.0 - fraction;
    let intrinsic = 3.0 * d / (1.0 + 2.0 * outside * outside);
    let above = 3.0 * (1.0 - 2.0 * outside.powi(2) + outside.powi(3));
    let below = 3.0 + 2.0 * outside.powi(3) + 4.0 * outside.powi(4);
    [fraction, intrinsic, (above / below).max(0.0).sqrt()]
}

impl VoxelFit for ShellMeans {
    fn maps(&self) -> Vec<MapSpec> {
        maps()
    }

    fn fit(&self, tile: Tile<'_>, _: SimdLevel) -> Result<(), HostError> {
        /// µm²/ms in mm²/s.
        const MM2_PER_S: f64 = 1e-3;
        let Tile { voxels, stride, inputs, rows, raised, .. } = tile;
        let mut means = vec![0.0; self.shells.len()];
        for v in 0..voxels.len() {
            let sample = |volume: usize| f64::from(inputs[volume * stride + v]);
            for (mean, shell) in means.iter_mut().zip(&self.shells) {
                let sum: f64 = shell.volumes.iter().map(|&volume| sample(volume)).sum();
                *mean = sum / shell.volumes.len() as f64;
            }
            let mut put = |values: [f64; 7], status: Status| {
                for (row, value) in values.into_iter().enumerate() {
                    rows[row * stride + v] = value as f32;
                }
                rows[7 * stride + v] = status.code();
            };
            let is_bad = means.iter().any(|mean| !mean.is_finite());
            if is_bad || means.iter().all(|mean| *mean <= LEAST_SIGNAL) {
                put([0.0; 7], Status::BadSignal);
                continue;
            }
            let low = means.iter_mut().filter(|mean| **mean < LEAST_SIGNAL);
            raised[v] = low.map(|mean| *mean = LEAST_SIGNAL).count() as f32;
            let Some(Estimate { d, k, s0, residual }) = self.estimate(&means) else {
                put([0.0; 7], Status::Singular);
                continue;
            };
            let has_kurtosis = d > 0.0 && k.is_finite();
            let k = if has_kurtosis { k } else { f64::NAN };
            let [awf, intrinsic, mfa] = compartments(d, k);
            let status = match (has_kurtosis, raised[v] > 0.0) {
                (false, _) => Status::Undefined,
                (true, true) => Status::NotPositive,
                (true, false) => Status::Fitted,
            };
            put([d * MM2_PER_S, k, awf, intrinsic * MM2_PER_S, mfa, s0, residual], status);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shells(b: &[(f64, usize)]) -> ShellMeans {
        let mut next = 0..;
        let shell = |&(b, n): &(f64, usize)| Shell {
            b_s_per_mm2: b,
            range_s_per_mm2: [b, b],
            volumes: next.by_ref().take(n).collect(),
        };
        ShellMeans { shells: b.iter().map(shell).collect() }
    }

    #[test]
    fn exact_mean_signals_give_their_parameters_back() {
        let fit = shells(&[(0.0, 2), (1000.0, 30), (2000.0, 60), (3000.0, 60)]);
        for (d, k, s0) in [(0.8, 0.9, 500.0), (2.0, 0.1, 1.0), (0.3, 2.0, 3e4), (1.0, -0.3, 80.0)] {
            let signal = |b: f64| s0 * f64::exp(-b * d + b * b * d * d * k / 6.0);
            let means: Vec<f64> =
                fit.shells.iter().map(|shell| signal(1e-3 * shell.b_s_per_mm2)).collect();
            let found = fit.estimate(&means).unwrap();
            // Rounding of logarithms, times the condition of three shells.
            assert!((found.d / d - 1.0).abs() < 1e-10 && (found.k - k).abs() < 1e-9);
            assert!((found.s0 / s0 - 1.0).abs() < 1e-10 && found.residual < 1e-9 * s0);
        }
    }

    #[test]
    fn the_kurtosis_of_a_fraction_leads_back_to_it() {
        assert_eq!(kurtosis_of_fraction(0.0), 0.0);
        assert!((kurtosis_of_fraction(1.0) - LARGEST_KURTOSIS).abs() < 1e-12);
        let mut before = 0.0;
        for step in 1..=1000 {
            let f = f64::from(step) / 1000.0;
            let k = kurtosis_of_fraction(f);
            assert!(k > before, "it does not grow at {f}");
            before = k;
            // Near 1 the curve is flat: what rounding does to k moves f by its root.
            assert!((fraction_of_kurtosis(k) - f).abs() < 1e-6, "{f}");
        }
        assert_eq!((fraction_of_kurtosis(-0.1), fraction_of_kurtosis(3.0)), (0.0, 1.0));
        assert!(fraction_of_kurtosis(f64::NAN).is_nan());
    }

    #[test]
    fn sticks_are_wholly_anisotropic_and_balls_not_at_all() {
        let [f, intrinsic, mfa] = compartments(0.7, LARGEST_KURTOSIS);
        assert_eq!((f, mfa), (1.0, 1.0));
        assert!((intrinsic - 2.1).abs() < 1e-12);
        let [f, intrinsic, mfa] = compartments(0.7, 0.0);
        assert_eq!((f, mfa), (0.0, 0.0));
        assert!((intrinsic - 0.7).abs() < 1e-12);
    }

    #[test]
    fn shells_of_one_b_determine_nothing() {
        assert!(shells(&[(1000.0, 5), (1000.0, 5), (1000.0, 5)]).estimate(&[1.0; 3]).is_none());
    }
}
