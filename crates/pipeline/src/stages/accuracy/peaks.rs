//! Peaks against true fibre directions.

use fimbria_image::{Image, Mask};
use fimbria_phantoms::Truth;

use super::{Accuracy, Closeness, angle_deg, vector};

/// Fibres with less of the signal are at the edge of a bundle: nothing could see them, and voxels
/// that have one are left out.
const SMALLEST_FRACTION: f32 = 0.2;

/// Compares, for each number of fibres, how far the number of peaks is off, and the angle from
/// every fibre to the peak that is its own: pairs are formed from the smallest angle up, a fibre
/// without a peak counts as 90°.
///
/// `peaks` has three volumes per peak in scanner axes, NaN where there is none, and is called
/// `name`; voxels outside `mask` were not looked at.
pub(super) fn compare(
    name: &str,
    peaks: &Image,
    mask: Option<&Mask>,
    truth: &Truth,
    accuracy: &mut Accuracy,
) {
    let (Some(dirs), Some(fractions)) = (truth.map("dirs"), truth.map("fractions")) else {
        return;
    };
    let fibres = dirs.n_volumes / 3;
    let mut by_count = vec![(Vec::new(), Vec::new()); fibres];
    let voxels: Vec<usize> = match mask {
        Some(mask) => mask.voxels.iter().map(|&voxel| voxel as usize).collect(),
        None => (0..dirs.grid.len()).collect(),
    };
    for voxel in voxels {
        let fraction = |k: usize| fractions.volume(k)[voxel];
        let n = (0..fibres).take_while(|&k| fraction(k) > 0.0).count();
        if n == 0 || fraction(n - 1) < SMALLEST_FRACTION {
            continue;
        }
        let truth: Vec<_> = (0..n).map(|k| vector(dirs, 3 * k, voxel)).collect();
        let found: Vec<_> = (0..peaks.n_volumes / 3)
            .map(|k| vector(peaks, 3 * k, voxel))
            .filter(|peak| peak[0].is_finite())
            .collect();
        let (angles, counts) = &mut by_count[n - 1];
        angles.extend(angles_of_pairs(&truth, &found));
        counts.push((found.len() as f64 - n as f64).abs());
    }
    for (n, (angles, counts)) in (1..).zip(by_count) {
        let fibres = if n == 1 { "1 fibre".to_owned() } else { format!("{n} fibres") };
        accuracy.rows.extend(Closeness::new(&format!("{name}, {fibres}"), "°", angles));
        accuracy.rows.extend(Closeness::new(&format!("{name}, number, {fibres}"), "", counts));
    }
}

/// The angle of every true direction to the found one it is paired with.
fn angles_of_pairs(truth: &[[f64; 3]], found: &[[f64; 3]]) -> Vec<f64> {
    let mut pairs: Vec<_> = (0..truth.len())
        .flat_map(|t| (0..found.len()).map(move |f| (t, f)))
        .map(|(t, f)| (angle_deg(truth[t], found[f]), t, f))
        .collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut angles = vec![90.0; truth.len()];
    let (mut paired, mut taken) = (vec![false; truth.len()], vec![false; found.len()]);
    for (angle, t, f) in pairs {
        if !paired[t] && !taken[f] {
            (angles[t], paired[t], taken[f]) = (angle, true, true);
        }
    }
    angles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fibre_gets_a_peak_of_its_own() {
        let (x, y) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]);
        let tilted = |deg: f64| [deg.to_radians().cos(), deg.to_radians().sin(), 0.0];
        // The peak at 50° is nearer to y, which the one at 85° takes.
        let angles = angles_of_pairs(&[x, y], &[tilted(50.0), tilted(85.0)]);
        assert!((angles[0] - 50.0).abs() < 1e-9 && (angles[1] - 5.0).abs() < 1e-9, "{angles:?}");
        assert_eq!(angles_of_pairs(&[x, y], &[[0.0, -3.0, 0.0]]), [90.0, 0.0]);
    }
}
