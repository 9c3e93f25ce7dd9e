//! The signal itself, for non-linear least squares.

use fimbria_fitting::lm::{Model, Number, Parameter};

use super::form::{QUADRATIC_TIMES, QUARTIC_TIMES};
use super::moments::N_UNKNOWNS;

/// S0 exp(-b gᵀDg + b²/6 V(g)), parameters S0, D, V; covariates b in ms/µm², gx, gy, gz.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KurtosisSignal;

impl KurtosisSignal {
    /// Parameters without bounds; starts come from the linear fit.
    pub(crate) fn parameters() -> [Parameter; N_UNKNOWNS] {
        std::array::from_fn(|k| {
            Parameter::new(if k == 0 { "S0" } else { "tensor" }, 0.0, f64::MIN, f64::MAX)
        })
    }
}

/// What ln S has for each unknown but S0.
#[inline(always)]
fn columns<N: Number<Constant = N>>(covariates: &[N]) -> [N; N_UNKNOWNS - 1] {
    let [b, x, y, z] = [covariates[0], covariates[1], covariates[2], covariates[3]];
    let squares = [x * x, x * y, x * z, y * y, y * z, z * z];
    let mut out = [b; N_UNKNOWNS - 1];
    for k in 0..6 {
        out[k] = -(b * squares[k]) * b.of(f64::from(QUADRATIC_TIMES[k]));
    }
    // The quartic monomials by x² times a square, then those without x.
    let [xx, _, _, yy, yz, zz] = squares;
    let b2 = b * b;
    let xy = squares[1];
    let quartics = [
        xx * xx,
        xx * xy,
        xx * squares[2],
        xx * yy,
        xx * yz,
        xx * zz,
        xy * yy,
        xy * yz,
        xy * zz,
        squares[2] * zz,
        yy * yy,
        yy * yz,
        yy * zz,
        yz * zz,
        zz * zz,
    ];
    for k in 0..15 {
        out[6 + k] = b2 * quartics[k] * b.of(f64::from(QUARTIC_TIMES[k]) / 6.0);
    }
    out
}

impl Model<N_UNKNOWNS> for KurtosisSignal {
    fn n_covariates(&self) -> usize {
        4
    }

    #[inline(always)]
    fn signal<N: Number>(
        &self,
        p: &[N; N_UNKNOWNS],
        covariates: &[N::Constant],
        _: &[N::Constant],
    ) -> N {
        let columns = columns(covariates);
        let mut log = p[1] * columns[0];
        for k in 1..N_UNKNOWNS - 1 {
            log = log + p[k + 1] * columns[k];
        }
        p[0] * log.exp()
    }

    #[inline(always)]
    fn signal_and_slope<N: Number<Constant = N>>(
        &self,
        p: &[N; N_UNKNOWNS],
        covariates: &[N],
        _: &[N],
    ) -> (N, [N; N_UNKNOWNS]) {
        let columns = columns(covariates);
        let mut log = p[1] * columns[0];
        for k in 1..N_UNKNOWNS - 1 {
            log = log.plus_product(p[k + 1], columns[k]);
        }
        let decay = log.exp();
        let value = p[0] * decay;
        let mut slope = [decay; N_UNKNOWNS];
        for k in 1..N_UNKNOWNS {
            slope[k] = value * columns[k - 1];
        }
        (value, slope)
    }
}

#[cfg(test)]
mod tests {
    use fimbria_fitting::lm::derivative_error;

    use super::*;

    #[test]
    fn derivatives_are_those_of_dual_numbers() {
        let p = std::array::from_fn(|k| 1.0 / (k + 1) as f64);
        let covariates = [1.7, 0.6, -0.48, 0.64];
        // Roundings of a sum of 21.
        assert!(derivative_error(&KurtosisSignal, &p, &covariates, &[]) < 1e-14);
    }

    #[test]
    fn columns_are_those_of_the_linear_fit() {
        let u = [1.7, 0.6, -0.48, 0.64];
        let moments = super::super::moments::Moments::new(&[u]);
        for (a, b) in columns::<f64>(&u).iter().zip(moments.rows[0]) {
            // Rounded to f32 there.
            assert!((a - f64::from(b)).abs() < 1e-6 * (1.0 + a.abs()));
        }
    }
}
