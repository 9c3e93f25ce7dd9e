//! Voxels of grey matter and of fluid.

use std::f64::consts::PI;

use fimbria_compute::Progress;

use super::FEWEST;
use super::survey::{Survey, SurveyedVoxel, quantile};
use crate::fod::{FodError, Response};
use crate::otsu::otsu;
use fimbria_image::counted;

/// FA below which a voxel may be without fibres.
const MOST_FA: f64 = 0.2;
/// Of the voxels that decay fast, the part that decays fastest.
const FLUID_PART: f64 = 0.1;
/// Of the voxels that decay slowly, the part with least FA, and of these the part nearest to the
/// median decay.
const ISOTROPIC_PART: f64 = 0.1;
const TYPICAL_PART: f64 = 0.5;

/// The responses of grey matter and fluid; the survey's first shell is the unweighted one.
pub(super) fn estimate(
    survey: &Survey,
    progress: &dyn Progress,
) -> Result<[Response; 2], FodError> {
    let too_few = |tissue, found| FodError::TooFewVoxels {
        tissue,
        criterion: "FA below 0.2, by signal decay",
        found,
        needed: FEWEST,
    };
    let isotropic: Vec<(f64, &SurveyedVoxel)> =
        survey.voxels.iter().filter(|v| v.fa < MOST_FA).map(|v| (decay(v), v)).collect();
    let decays: Vec<f64> = isotropic.iter().map(|(decay, _)| *decay).collect();
    let [slowest, threshold] = thresholds(decays, survey.b_s_per_mm2.len() == 2);
    let (fast, slow): (Vec<_>, Vec<_>) = isotropic
        .into_iter()
        .filter(|(decay, _)| *decay > slowest)
        .partition(|(decay, _)| *decay > threshold);
    if fast.len() < FEWEST {
        return Err(too_few("fluid", fast.len()));
    }
    if slow.len() < FEWEST {
        return Err(too_few("grey matter", slow.len()));
    }
    let fluid = most(fast, FLUID_PART, |(decay, _)| -decay);
    let least_fa = most(slow, ISOTROPIC_PART, |(_, v)| v.fa);
    let median = quantile(least_fa.iter().map(|(decay, _)| *decay).collect(), 0.5);
    let grey = most(least_fa, TYPICAL_PART, |(decay, _)| (decay - median).abs());
    progress.note(&format!(
        "grey matter: {}, fluid: {} (signal decay above {threshold:.2})",
        counted(grey.len(), "voxel"),
        counted(fluid.len(), "voxel")
    ));
    Ok([response(survey, &grey), response(survey, &fluid)])
}

/// The decays between which grey matter lies; of one shell there are three groups, since fibres that cross
/// decay about as much more slowly as fluid decays faster, with the median in grey matter.
fn thresholds(decays: Vec<f64>, single: bool) -> [f64; 2] {
    if !single {
        return [f64::NEG_INFINITY, otsu(&decays)];
    }
    let median = quantile(decays.clone(), 0.5);
    let (fast, slow): (Vec<f64>, Vec<f64>) = decays.into_iter().partition(|d| *d > median);
    [otsu(&slow), otsu(&fast)]
}

/// Mean over the weighted shells of ln (unweighted mean / mean).
fn decay(voxel: &SurveyedVoxel) -> f64 {
    let [unweighted, weighted @ ..] = &voxel.means[..] else { return 0.0 };
    weighted.iter().map(|mean| (unweighted / mean).ln()).sum::<f64>() / weighted.len() as f64
}

/// The given part of the voxels with the smallest keys, but ten at least.
fn most<'a>(
    mut voxels: Vec<(f64, &'a SurveyedVoxel)>,
    part: f64,
    key: impl Fn(&(f64, &'a SurveyedVoxel)) -> f64,
) -> Vec<(f64, &'a SurveyedVoxel)> {
    voxels.sort_by(|a, b| key(a).total_cmp(&key(b)).then(a.1.voxel.cmp(&b.1.voxel)));
    voxels.truncate(((part * voxels.len() as f64) as usize).max(FEWEST));
    voxels
}

fn response(survey: &Survey, voxels: &[(f64, &SurveyedVoxel)]) -> Response {
    let mean = |shell: usize| {
        let sum: f64 = voxels.iter().map(|(_, v)| v.means[shell]).sum();
        vec![(4.0 * PI).sqrt() * sum / voxels.len() as f64]
    };
    Response {
        b_s_per_mm2: Some(survey.b_s_per_mm2.clone()),
        zonal: (0..survey.b_s_per_mm2.len()).map(mean).collect(),
    }
}
