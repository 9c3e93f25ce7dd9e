use std::f64::consts::TAU;

use super::{HZ_PER_TESLA, strength};

/// The field of several echoes.
#[derive(Clone, Debug, PartialEq)]
pub struct Combined {
    /// In ppm of B0.
    pub field_ppm: Vec<f32>,
    /// The phase at echo time 0, radians; zero where it was taken to be.
    pub offset: Vec<f32>,
    /// Root mean square of what is left of the phases, weighted, radians.
    pub residual: Vec<f32>,
    /// 1 / the standard deviation of the field but for a factor: noise of a phase is that of the images
    /// over the magnitude. 0 where the field is not known.
    pub sureness: Vec<f32>,
}

/// The voxels of `mask` whose field the echoes tell: those with a magnitude above zero in one of
/// them, or, with `offset`, in two.
pub fn with_signal(magnitudes: &[Vec<f32>], mask: &[u32], offset: bool) -> Vec<u32> {
    let needed = if offset { 2 } else { 1 };
    let echoes = |v: usize| magnitudes.iter().filter(|m| strength(m[v]) > 0.0).count();
    mask.iter().copied().filter(|&v| echoes(v as usize) >= needed).collect()
}

/// Fits the phases of each voxel of `mask` by φ = φ₀ + 2π γ B0 δ TE, each echo weighted by the
/// inverse variance of its phase, which is its squared magnitude. With `offset` false φ₀ = 0: the
/// phase is then known at time 0, as it is after coils were combined so. The field is 0 where
/// [`with_signal`] leaves a voxel out.
///
/// `phases` are unwrapped, radians; `times` in seconds; `magnitudes` may be missing.
///
/// # Panics
/// Where `phases`, `times` and `magnitudes` differ in number.
pub fn combine_echoes(
    phases: &[Vec<f32>],
    magnitudes: Option<&[Vec<f32>]>,
    times: &[f64],
    mask: &[u32],
    b0_tesla: f64,
    offset: bool,
) -> Combined {
    assert_eq!(phases.len(), times.len(), "an echo time for each phase");
    let voxels = phases.first().map_or(0, Vec::len);
    let mut combined = Combined {
        field_ppm: vec![0.0; voxels],
        offset: vec![0.0; voxels],
        residual: vec![0.0; voxels],
        sureness: vec![0.0; voxels],
    };
    let ppm = 1e6 / (TAU * HZ_PER_TESLA * b0_tesla);
    for &v in mask {
        let v = v as usize;
        let weight =
            |echo: usize| magnitudes.map_or(1.0, |m| f64::from(strength(m[echo][v])).powi(2));
        let sums = |term: &dyn Fn(usize) -> f64| -> f64 {
            (0..times.len()).map(|e| weight(e) * term(e)).sum()
        };
        let phase = |echo: usize| f64::from(phases[echo][v]);
        let whole = sums(&|_| 1.0);
        if whole == 0.0 {
            continue;
        }
        let (mean_time, mean_phase) =
            if offset { (sums(&|e| times[e]) / whole, sums(&phase) / whole) } else { (0.0, 0.0) };
        let spread = sums(&|e| (times[e] - mean_time).powi(2));
        let slope = if spread > 0.0 {
            sums(&|e| (times[e] - mean_time) * (phase(e) - mean_phase)) / spread
        } else {
            0.0
        };
        let start = mean_phase - slope * mean_time;
        let left = sums(&|e| (phase(e) - start - slope * times[e]).powi(2));
        combined.field_ppm[v] = (slope * ppm) as f32;
        combined.offset[v] = start as f32;
        combined.sureness[v] = spread.sqrt() as f32;
        combined.residual[v] = (left / whole).sqrt() as f32;
    }
    combined
}

/// R2* in 1/s: the slope of the logarithm of the magnitudes over echo time (seconds), each echo
/// weighted by its squared magnitude; 0 where it would be negative or has no signal.
///
/// # Panics
/// Where `magnitudes` and `times` differ in number.
pub fn r2star(magnitudes: &[Vec<f32>], times: &[f64], mask: &[u32]) -> Vec<f32> {
    assert_eq!(magnitudes.len(), times.len(), "an echo time for each magnitude");
    let mut rate = vec![0.0; magnitudes.first().map_or(0, Vec::len)];
    for &v in mask {
        let v = v as usize;
        let (mut w, mut wt, mut wl, mut wtt, mut wtl) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (magnitude, &time) in magnitudes.iter().zip(times) {
            let s = f64::from(magnitude[v]);
            if s > 0.0 && s.is_finite() {
                let (square, log) = (s * s, s.ln());
                w += square;
                wt += square * time;
                wl += square * log;
                wtt += square * time * time;
                wtl += square * time * log;
            }
        }
        let determinant = w * wtt - wt * wt;
        if determinant > 0.0 {
            rate[v] = (-(w * wtl - wt * wl) / determinant).max(0.0) as f32;
        }
    }
    rate
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: [f64; 4] = [0.004, 0.010, 0.016, 0.022];

    #[test]
    fn a_line_of_phases_is_its_field_and_offset() {
        let (delta_ppm, start, b0) = (0.1, 0.4, 3.0);
        let slope = TAU * HZ_PER_TESLA * b0 * delta_ppm * 1e-6;
        let phases: Vec<Vec<f32>> =
            TIMES.iter().map(|t| vec![(start + slope * t) as f32, 0.0]).collect();
        let magnitudes: Vec<Vec<f32>> =
            (0..4).map(|e| vec![100.0 - 20.0 * e as f32, 1.0]).collect();
        let got = combine_echoes(&phases, Some(&magnitudes), &TIMES, &[0], b0, true);
        // Phases of a few radians in f32.
        assert!((f64::from(got.field_ppm[0]) - delta_ppm).abs() < 1e-6, "{got:?}");
        assert!((f64::from(got.offset[0]) - start).abs() < 1e-5 && got.residual[0] < 1e-5);
        assert_eq!(got.field_ppm[1], 0.0, "outside the mask");
        // Two echoes alone, one of them at half the magnitude: the difference of their phases has 1 + 4
        // times the variance of the first one's.
        let two = [vec![2.0], vec![1.0]];
        let got = combine_echoes(&phases[..2], Some(&two), &TIMES[..2], &[0], b0, true);
        let expected = 2.0 * 0.006 / 5.0_f64.sqrt();
        assert!((f64::from(got.sureness[0]) - expected).abs() < 1e-6, "{got:?}");
    }

    #[test]
    fn voxels_without_signal_are_told_and_count_for_nothing() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let magnitudes = [vec![1.0, 0.0, 0.0, nan, -1.0, 2.0], vec![2.0, 0.0, 3.0, inf, nan, nan]];
        let mask = [0, 1, 2, 3, 4, 5];
        assert_eq!(with_signal(&magnitudes, &mask, false), [0, 2, 5]);
        assert_eq!(with_signal(&magnitudes, &mask, true), [0]);
        // The echo without one does not spoil the others.
        let phases = [vec![0.1; 6], vec![0.25; 6]];
        let got = combine_echoes(&phases, Some(&magnitudes), &TIMES[..2], &mask, 3.0, false);
        let alone = |echo: usize| 0.1 * [1.0, 2.5][echo] / TIMES[echo];
        let ppm = 1e6 / (TAU * HZ_PER_TESLA * 3.0);
        assert!((f64::from(got.field_ppm[2]) - alone(1) * ppm).abs() < 1e-6);
        assert!((f64::from(got.field_ppm[5]) - alone(0) * ppm).abs() < 1e-6);
    }

    #[test]
    fn a_decay_has_its_rate() {
        let magnitudes: Vec<Vec<f32>> =
            TIMES.iter().map(|t| vec![(500.0 * (-35.0 * t).exp()) as f32, 0.0]).collect();
        let got = r2star(&magnitudes, &TIMES, &[0, 1]);
        assert!((got[0] - 35.0).abs() < 1e-3, "{got:?}");
        assert_eq!(got[1], 0.0);
    }
}
