//! Tensor maps against the truth.

use fimbria_image::{Image, Status};
use fimbria_models::Fitted;
use fimbria_models::dti::DtiMap;
use fimbria_phantoms::closeness::{angle_deg, seen_fibres, vector};
use fimbria_phantoms::head::Head;

use super::{Accuracy, Closeness, DIRECTION, PureTissue, voxels_of};

/// Compares |ΔFA| and the relative error of MD in the places where either means something, and the angle
/// of V1 where white matter has one fibre.
pub(super) fn compare(fit: &Fitted, head: &Head, accuracy: &mut Accuracy) {
    let Some(status) = fit.map(DtiMap::Status) else { return };
    let fitted = |voxel: usize| is_fitted(status, voxel);
    let anywhere = [PureTissue::White, PureTissue::Cortex, PureTissue::Fluid];
    for (map, name, unit, places) in
        [(DtiMap::Fa, "FA", "", &anywhere[..2]), (DtiMap::Md, "MD", "%", &anywhere)]
    {
        let (Some(found), Some(truth)) = (fit.map(map), head.truth(name)) else { continue };
        for place in places {
            let errors = voxels_of(head, *place).filter(|v| fitted(*v)).map(|v| {
                let error = f64::from((found.data[v] - truth.data[v]).abs());
                if unit == "%" { 100.0 * error / f64::from(truth.data[v]) } else { error }
            });
            let quantity = format!("{name}, {}", place.name());
            accuracy.rows.extend(Closeness::new(&quantity, unit, errors.collect()));
        }
    }
    let (Some(found), Some(dirs), Some(fractions)) =
        (fit.map(DtiMap::V1), head.truth("dirs"), head.truth("fractions"))
    else {
        return;
    };
    let single = voxels_of(head, PureTissue::White)
        .filter(|v| fitted(*v) && seen_fibres(fractions, *v) == Some(1));
    let angles: Vec<_> =
        single.map(|v| angle_deg(vector(found, 0, v), vector(dirs, 0, v))).collect();
    accuracy.rows.extend(Closeness::new(DIRECTION, "°", angles.clone()));
    accuracy.angles_deg = angles;
}

/// Whether a fit succeeded.
pub(super) fn is_fitted(status: &Image, voxel: usize) -> bool {
    matches!(
        Status::from_code(status.data[voxel]),
        Status::Fitted | Status::Constrained | Status::NegativeDiffusion
    )
}
