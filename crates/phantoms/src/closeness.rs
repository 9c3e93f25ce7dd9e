//! How close what was found comes to the truth of a phantom, whatever found it.

use fimbria_compute::dense::vec3::{cross, dot, norm, sub};
use fimbria_image::{Affine, Image, Mask};

use crate::Truth;

/// How close one quantity came to the truth, over the voxels where the truth is known and the fit
/// succeeded.
#[derive(Clone, Debug, PartialEq)]
pub struct Closeness {
    /// What was compared.
    pub quantity: String,
    /// Unit of the errors.
    pub unit: String,
    /// Number of voxels, or of what else was compared.
    pub voxels: usize,
    /// Median of the errors.
    pub median: f64,
    /// What 95 % of the errors do not exceed.
    pub percentile_95: f64,
    /// The largest error.
    pub worst: f64,
}

impl Closeness {
    /// Of all errors; `None` where there are none.
    pub fn new(quantity: &str, unit: &str, mut errors: Vec<f64>) -> Option<Self> {
        errors.sort_by(f64::total_cmp);
        let last = errors.len().checked_sub(1)?;
        let at = |share: f64| errors[(share * last as f64).round() as usize];
        Some(Self {
            quantity: quantity.to_owned(),
            unit: unit.to_owned(),
            voxels: errors.len(),
            median: at(0.5),
            percentile_95: at(0.95),
            worst: at(1.0),
        })
    }
}

/// Fibres with less of the signal than the first count as none, with more than the second as there;
/// nothing could tell which of both what is in between is, and voxels that have such a fibre are left
/// out.
const UNSEEN_OR_SEEN: [f32; 2] = [0.1, 0.2];

/// How many fibres a voxel has; `None` where it cannot be told.
pub fn seen_fibres(fractions: &Image, voxel: usize) -> Option<usize> {
    let [unseen, seen] = UNSEEN_OR_SEEN;
    let n = (0..fractions.n_volumes).take_while(|&k| fractions.volume(k)[voxel] >= unseen).count();
    (n == 0 || fractions.volume(n - 1)[voxel] >= seen).then_some(n)
}

/// Directions without those of fibres that count as none: zero in their place. `fractions` has a volume
/// for each three of `dirs`.
#[must_use]
pub fn seen_dirs(dirs: &Image, fractions: &Image) -> Image {
    let [unseen, _] = UNSEEN_OR_SEEN;
    let mut dirs = dirs.clone();
    let n = dirs.grid.len();
    for (i, fraction) in fractions.data.iter().enumerate() {
        if *fraction < unseen {
            (0..3).for_each(|a| dirs.data[(3 * (i / n) + a) * n + i % n] = 0.0);
        }
    }
    dirs
}

/// How far off peaks are in voxels of one number of fibres.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeakErrors {
    /// From every fibre to its peak, degrees.
    pub angles_deg: Vec<f64>,
    /// By how much the number of peaks is off in every voxel.
    pub counts: Vec<f64>,
}

/// The errors of peaks in voxels of one fibre, of two, and so on, by [`seen_fibres`]. Fibres and peaks
/// are paired from the smallest angle up; a fibre without a peak counts as 90°.
///
/// `peaks` has three volumes per peak in scanner axes, NaN where there is none; voxels outside `mask`
/// were not looked at. The truth has `dirs`, largest fraction first, and their `fractions`.
pub fn peaks_by_fibres(peaks: &Image, mask: Option<&Mask>, truth: &Truth) -> Vec<PeakErrors> {
    let (Some(dirs), Some(fractions)) = (truth.map("dirs"), truth.map("fractions")) else {
        return Vec::new();
    };
    let fibres = dirs.n_volumes / 3;
    let mut by_count = vec![PeakErrors::default(); fibres];
    let voxels: Vec<usize> = match mask {
        Some(mask) => mask.voxels.iter().map(|&voxel| voxel as usize).collect(),
        None => (0..dirs.grid.len()).collect(),
    };
    for voxel in voxels {
        let Some(n) = seen_fibres(fractions, voxel).map(|n| n.min(fibres)).filter(|n| *n > 0)
        else {
            continue;
        };
        let truth: Vec<_> = (0..n).map(|k| vector(dirs, 3 * k, voxel)).collect();
        let found: Vec<_> = (0..peaks.n_volumes / 3)
            .map(|k| vector(peaks, 3 * k, voxel))
            .filter(|peak| peak[0].is_finite())
            .collect();
        let errors = &mut by_count[n - 1];
        errors.angles_deg.extend(angles_of_pairs(&truth, &found));
        errors.counts.push((found.len() as f64 - n as f64).abs());
    }
    by_count
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

/// Further off, a streamline follows no fibre.
const ASTRAY_DEG: f64 = 20.0;

/// What one streamline does.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// Mean angle between its segments and the fibres next to them in direction, degrees, where there
    /// are some.
    pub angle_deg: f64,
    /// Percentage of its length that is further than 20° from every fibre of a voxel that has some.
    pub astray_percent: f64,
    /// Percentage of its length that is where there are no fibres.
    pub outside_percent: f64,
}

impl Course {
    /// Of a streamline, points in scanner mm, among the fibres `dirs` of the truth, of which the first
    /// zero of a voxel ends the list.
    pub fn new(points: &[[f32; 3]], dirs: &Image) -> Self {
        let vox_from_ras = dirs.grid.ras_from_vox.inverse().unwrap_or(Affine::IDENTITY);
        let voxel = |p: [f64; 3]| -> Option<usize> {
            let p = vox_from_ras.apply(p).map(f64::round);
            let inside = (0..3).all(|k| p[k] >= 0.0 && p[k] < dirs.grid.dims[k] as f64);
            inside.then(|| dirs.grid.index(p.map(|x| x as usize)))
        };
        let (mut length, mut outside, mut astray, mut turned) = (0.0, 0.0, 0.0, 0.0);
        for pair in points.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|p| p.map(f64::from));
            let step = sub(b, a);
            let mm = norm(step);
            let middle = std::array::from_fn(|k| 0.5 * (a[k] + b[k]));
            let fibres = voxel(middle).into_iter().flat_map(|voxel| {
                let fibres = (0..dirs.n_volumes / 3).map(move |k| vector(dirs, 3 * k, voxel));
                fibres.take_while(|fibre| *fibre != [0.0; 3])
            });
            length += mm;
            let Some(angle) = fibres.map(|fibre| angle_deg(step, fibre)).reduce(f64::min) else {
                outside += mm;
                continue;
            };
            turned += mm * angle;
            if angle > ASTRAY_DEG {
                astray += mm;
            }
        }
        let part = |of: f64| if length > 0.0 { 100.0 * of / length } else { 0.0 };
        let inside = length - outside;
        Self {
            angle_deg: if inside > 0.0 { turned / inside } else { 0.0 },
            astray_percent: part(astray),
            outside_percent: part(outside),
        }
    }
}

/// The x, y, z of a voxel in three volumes from `first_volume` on.
pub fn vector(image: &Image, first_volume: usize, voxel: usize) -> [f64; 3] {
    [0, 1, 2].map(|component| f64::from(image.volume(first_volume + component)[voxel]))
}

/// The angle between two axes, 0 to 90 degrees.
pub fn angle_deg(a: [f64; 3], b: [f64; 3]) -> f64 {
    // Unlike the arc cosine, exact for small angles.
    norm(cross(a, b)).atan2(dot(a, b).abs()).to_degrees()
}

#[cfg(test)]
mod tests {
    use fimbria_image::Grid;

    use super::*;

    #[test]
    fn angles_are_between_axes() {
        let (s, c) = 1e-4f64.sin_cos();
        assert!((angle_deg([1.0, 0.0, 0.0], [-c, s, 0.0]) - 1e-4f64.to_degrees()).abs() < 1e-12);
        assert!((angle_deg([0.0, 0.0, 2.0], [0.0, 1.0, 0.0]) - 90.0).abs() < 1e-12);
    }

    #[test]
    fn every_fibre_gets_a_peak_of_its_own() {
        let (x, y) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]);
        let tilted = |deg: f64| [deg.to_radians().cos(), deg.to_radians().sin(), 0.0];
        // The peak at 50° is nearer to y, which the one at 85° takes.
        let angles = angles_of_pairs(&[x, y], &[tilted(50.0), tilted(85.0)]);
        assert!((angles[0] - 50.0).abs() < 1e-9 && (angles[1] - 5.0).abs() < 1e-9, "{angles:?}");
        assert_eq!(angles_of_pairs(&[x, y], &[[0.0, -3.0, 0.0]]), [90.0, 0.0]);
    }

    #[test]
    fn the_part_of_a_streamline_along_no_fibre_is_astray() {
        let grid = Grid { dims: [4, 1, 1], ras_from_vox: Affine::IDENTITY };
        let mut dirs = Image::zeros(grid, 6);
        // Along x in the first voxel, along y in the second, none in the third.
        (dirs.data[0], dirs.data[5]) = (1.0, 1.0);
        let course = Course::new(&[0.0, 0.4, 1.0, 1.4].map(|x| [x, 0.0, 0.0]), &dirs);
        // 0.4 mm and twice 0.5 mm about the middles 0.2, 0.7 and 1.2: one of three along x.
        let astray = 100.0 * 1.0 / 1.4;
        assert!((course.astray_percent - astray).abs() < 1e-4, "{course:?}");
        assert!((course.angle_deg - 0.9 * astray).abs() < 1e-4 && course.outside_percent == 0.0);
        // 0.4 mm about 1.2, and 1 mm about 1.9, where there is no fibre.
        let course = Course::new(&[1.0, 1.4, 2.4].map(|x| [x, 0.0, 0.0]), &dirs);
        assert!((course.outside_percent - 100.0 * 1.0 / 1.4).abs() < 1e-4, "{course:?}");
    }
}
