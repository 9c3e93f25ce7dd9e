//! Streamlines against true fibres.

use fimbria_image::Image;
use fimbria_phantoms::Truth;
use fimbria_streamlines::Tractogram;
use rayon::prelude::*;

use super::{Accuracy, Closeness, angle_deg, vector};

/// Further off, a streamline follows no fibre: less than the narrowest crossing of the phantom.
const ASTRAY_DEG: f64 = 20.0;

/// What one streamline does.
struct Course {
    /// Mean angle between its segments and the fibres next to them in direction, degrees.
    angle_deg: f64,
    /// Percentage of its length that is further than [`ASTRAY_DEG`] from every fibre.
    astray: f64,
}

/// Compares each streamline, segment by segment, with the fibres of the voxel the segment is in;
/// once more those that keep a weight, where there are `weights`.
pub(super) fn compare(
    lines: &Tractogram,
    weights: Option<&[f32]>,
    truth: &Truth,
    accuracy: &mut Accuracy,
) {
    let Some(dirs) = truth.map("dirs") else { return };
    let Some(vox_from_ras) = dirs.grid.ras_from_vox.inverse() else { return };
    let voxel = |p: [f64; 3]| -> Option<usize> {
        let p = vox_from_ras.apply(p).map(|x| x.round());
        let inside = (0..3).all(|k| p[k] >= 0.0 && p[k] < dirs.grid.dims[k] as f64);
        inside.then(|| dirs.grid.index(p.map(|x| x as usize)))
    };
    let streamlines = &lines.streamlines;
    let courses: Vec<Course> = (0..streamlines.len())
        .into_par_iter()
        .map(|line| course(streamlines.points(line), dirs, voxel))
        .collect();
    let angles = courses.iter().map(|course| course.angle_deg).collect();
    accuracy.rows.extend(Closeness::new("streamlines, mean angle", "°", angles));
    let astray = courses.iter().map(|course| course.astray).collect();
    accuracy.rows.extend(Closeness::new("streamlines, astray", "%", astray));
    if let Some(weights) = weights {
        let kept = courses.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        let astray = kept.map(|(course, _)| course.astray).collect();
        accuracy.rows.extend(Closeness::new("with weight, astray", "%", astray));
    }
}

fn course(points: &[[f32; 3]], dirs: &Image, voxel: impl Fn([f64; 3]) -> Option<usize>) -> Course {
    let (mut length, mut astray, mut turned) = (0.0, 0.0, 0.0);
    for pair in points.windows(2) {
        let [a, b] = [pair[0], pair[1]].map(|p| p.map(f64::from));
        let step: [f64; 3] = std::array::from_fn(|k| b[k] - a[k]);
        let mm = step.iter().map(|x| x * x).sum::<f64>().sqrt();
        let middle = std::array::from_fn(|k| 0.5 * (a[k] + b[k]));
        let fibres = voxel(middle).into_iter().flat_map(|voxel| {
            let fibres = (0..dirs.n_volumes / 3).map(move |k| vector(dirs, 3 * k, voxel));
            fibres.take_while(|fibre| *fibre != [0.0; 3])
        });
        let angle = fibres.map(|fibre| angle_deg(step, fibre)).fold(90.0, f64::min);
        length += mm;
        turned += mm * angle;
        if angle > ASTRAY_DEG {
            astray += mm;
        }
    }
    let length = if length > 0.0 { length } else { 1.0 };
    Course { angle_deg: turned / length, astray: 100.0 * astray / length }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_image::{Affine, Grid};

    #[test]
    fn the_part_of_a_streamline_along_no_fibre_is_astray() {
        let grid = Grid { dims: [2, 1, 1], ras_from_vox: Affine::IDENTITY };
        let mut dirs = Image::zeros(grid, 6);
        // Along x in the first voxel, along y in the second, none besides.
        (dirs.data[0], dirs.data[3]) = (1.0, 1.0);
        let voxel = |p: [f64; 3]| (p[0] < 1.5).then(|| usize::from(p[0] > 0.5));
        let course = course(&[[0.0; 3], [0.5, 0.0, 0.0], [1.0, 0.0, 0.0]], &dirs, voxel);
        assert!((course.astray - 50.0).abs() < 1e-9 && (course.angle_deg - 45.0).abs() < 1e-9);
    }
}
