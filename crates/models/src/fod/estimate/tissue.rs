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
/// Of the voxels that decay slowly, the part nearest to their median decay, and of these the part with least FA.
/// The other way round voxels with some fluid would win: they are bright, so that noise gives them the least FA.
const TYPICAL_PART: f64 = 0.1;
const ISOTROPIC_PART: f64 = 0.5;
/// Fluid's signal falls this many times as fast as grey matter's at least: three to four times where b is small, and
/// 1.5 times where it is 3000 and all that is left of fluid is the floor of noise at SNR 15.
const LEAST_CONTRAST: f64 = 1.25;

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
    let median = quantile(slow.iter().map(|(decay, _)| *decay).collect(), 0.5);
    let typical = most(slow, TYPICAL_PART, |(decay, _)| (decay - median).abs());
    let grey = most(typical, ISOTROPIC_PART, |(_, v)| v.fa);
    progress.note(&format!(
        "grey matter: {}, fluid: {} (signal decay above {threshold:.2})",
        counted(grey.len(), "voxel"),
        counted(fluid.len(), "voxel")
    ));
    let [grey, fluid] = [response(survey, &grey), response(survey, &fluid)];
    if fall(&fluid) < LEAST_CONTRAST * fall(&grey) {
        progress.warn(
            "fluid's signal falls hardly faster with b than grey matter's: the mask may hold one of them \
             alone, and amounts of both then mean nothing (--response-csf gives fluid's, --tissues \
             white fits fibres alone)",
        );
    }
    Ok([grey, fluid])
}

/// ln (unweighted signal / signal on the shell of least b).
fn fall(response: &Response) -> f64 {
    (response.zonal[0][0] / response.zonal[1][0]).ln()
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

#[cfg(test)]
mod tests {
    use fimbria_compute::Silent;

    use super::*;

    const GREY: [f64; 3] = [1000.0, 460.0, 260.0];
    const FLUID: [f64; 3] = [1900.0, 100.0, 40.0];

    /// Voxels with a part of fluid; noise lifts their FA the more the darker they are.
    fn voxels(number: u32, fluid: impl Fn(f64) -> f64) -> impl Iterator<Item = SurveyedVoxel> {
        (0..number).map(move |at| {
            let place = f64::from(at) / f64::from(number);
            let part = fluid(place);
            let mean = |shell: usize| (1.0 - part) * GREY[shell] + part * FLUID[shell];
            let means: Vec<f64> = (0..3).map(mean).collect();
            let fa = (0.05 + 0.04 * place) * GREY[0] / means[0];
            SurveyedVoxel { voxel: at, fa, axis_ras: [1.0, 0.0, 0.0], means }
        })
    }

    #[test]
    fn two_groups_of_grey_matter_are_warned_of() {
        let warned = std::sync::Mutex::new(0);
        struct Counting<'a>(&'a std::sync::Mutex<u32>);
        impl Progress for Counting<'_> {
            fn start(&self, _: &str, _: u64) {}
            fn advance(&self, _: u64) {}
            fn warn(&self, _: &str) {
                *self.0.lock().unwrap() += 1;
            }
            fn is_cancelled(&self) -> bool {
                false
            }
        }
        for (part, expected) in [(1.0, 0), (0.05, 1)] {
            *warned.lock().unwrap() = 0;
            let voxels = voxels(700, |_| 0.0).chain(voxels(300, |_| part)).collect();
            let survey = Survey { b_s_per_mm2: vec![0.0, 1000.0, 2000.0], voxels };
            estimate(&survey, &Counting(&warned)).unwrap();
            assert_eq!(*warned.lock().unwrap(), expected, "{part}");
        }
    }

    #[test]
    fn bright_voxels_with_some_fluid_are_not_taken_for_grey_matter() {
        let grey = voxels(700, |_| 0.0);
        let both = voxels(300, |place| 0.1 + 0.3 * place);
        let fluid = voxels(300, |_| 1.0);
        let voxels = grey.chain(both).chain(fluid).collect();
        let survey = Survey { b_s_per_mm2: vec![0.0, 1000.0, 2000.0], voxels };
        let [grey, fluid] = estimate(&survey, &Silent).unwrap();
        for (response, true_means) in [(grey, GREY), (fluid, FLUID)] {
            for (row, mean) in response.zonal.iter().zip(true_means) {
                // All chosen voxels are pure.
                assert!((row[0] / ((4.0 * PI).sqrt() * mean) - 1.0).abs() < 1e-9, "{row:?} {mean}");
            }
        }
    }
}
