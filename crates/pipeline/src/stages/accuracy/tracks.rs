//! Streamlines against true fibres.

use fimbria_phantoms::Truth;
use fimbria_phantoms::closeness::{Course, seen_dirs};
use fimbria_streamlines::Tractogram;
use rayon::prelude::*;

use super::{Accuracy, Closeness};

/// Compares each streamline, segment by segment, with the fibres of the voxel the segment is in;
/// once more those that keep a weight, where there are `weights`.
pub(super) fn compare(
    lines: &Tractogram,
    weights: Option<&[f32]>,
    truth: &Truth,
    accuracy: &mut Accuracy,
) {
    let (Some(dirs), Some(fractions)) = (truth.map("dirs"), truth.map("fractions")) else { return };
    let dirs = seen_dirs(dirs, fractions);
    let streamlines = &lines.streamlines;
    let courses: Vec<Course> = (0..streamlines.len())
        .into_par_iter()
        .map(|line| Course::new(streamlines.points(line), &dirs))
        .collect();
    let angles = courses.iter().map(|course| course.angle_deg).collect();
    accuracy.rows.extend(Closeness::new("streamlines, mean angle", "°", angles));
    let astray = courses.iter().map(|course| course.astray_percent).collect();
    accuracy.rows.extend(Closeness::new("streamlines, astray", "%", astray));
    let outside = courses.iter().map(|course| course.outside_percent).collect();
    accuracy.rows.extend(Closeness::new("streamlines, in no fibre", "%", outside));
    if let Some(weights) = weights {
        let kept = courses.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        let astray = kept.map(|(course, _)| course.astray_percent).collect();
        accuracy.rows.extend(Closeness::new("with weight, astray", "%", astray));
    }
}
