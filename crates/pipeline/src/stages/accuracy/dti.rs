//! Tensor maps against the truth.

use fimbria_image::{Image, Status};
use fimbria_models::Fitted;
use fimbria_models::dti::DtiMap;
use fimbria_phantoms::Truth;
use fimbria_phantoms::closeness::{angle_deg, vector};

use super::{Accuracy, Closeness, DIRECTION};

/// Compares where a voxel holds a single compartment: |ΔFA| and the relative error of MD, in
/// fibres and in isotropic tissue apart, and the angle of V1 in fibres.
pub(super) fn compare(fit: &Fitted, truth: &Truth, accuracy: &mut Accuracy) {
    let Some(true_v1) = truth.map("V1") else { return };
    let in_fibre = |voxel: usize| true_v1.data[voxel].is_finite();
    for (map, name, unit) in [(DtiMap::Fa, "FA", ""), (DtiMap::Md, "MD", "%")] {
        let (Some(found), Some(truth)) = (fit.map(map), truth.map(name)) else { continue };
        let known = known_voxels(truth, fit);
        for (where_, fibres) in [("fibres", true), ("isotropic", false)] {
            let voxels = known.iter().filter(|v| in_fibre(**v) == fibres);
            let errors = voxels.map(|&v| {
                let error = f64::from((found.data[v] - truth.data[v]).abs());
                if unit == "%" { 100.0 * error / f64::from(truth.data[v]) } else { error }
            });
            let quantity = format!("{name}, {where_}");
            accuracy.rows.extend(Closeness::new(&quantity, unit, errors.collect()));
        }
    }
    if let Some(found) = fit.map(DtiMap::V1) {
        let angle = |&v: &usize| angle_deg(vector(found, 0, v), vector(true_v1, 0, v));
        let angles: Vec<_> = known_voxels(true_v1, fit).iter().map(angle).collect();
        accuracy.rows.extend(Closeness::new(DIRECTION, "°", angles.clone()));
        accuracy.angles_deg = angles;
    }
}

/// The voxels where the truth is a number and the fit succeeded.
fn known_voxels(truth: &Image, fit: &Fitted) -> Vec<usize> {
    let Some(status) = fit.map(DtiMap::Status) else { return Vec::new() };
    let fitted = |voxel: usize| {
        matches!(Status::from_code(status.data[voxel]), Status::Fitted | Status::Constrained)
    };
    (0..truth.grid.len()).filter(|&v| truth.data[v].is_finite() && fitted(v)).collect()
}
