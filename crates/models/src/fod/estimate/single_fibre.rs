//! Voxels with one fibre, and the response they share.

use fimbria_compute::dense::vec3::unit;
use fimbria_compute::{Backend, Progress};
use fimbria_image::{GradientTable, SignalSource, Status};
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::FEWEST;
use super::survey::{Survey, SurveyedVoxel};
use super::zonal::ZonalFit;
use crate::fod::deconvolution::VoxelWork;
use crate::fod::shells::Shelled;
use crate::fod::sphere::Sphere;
use crate::fod::{Deconvolution, FodError, FodOptions, Response, Responses, Tissues};

/// The part of the voxels with fibres that the response is made of: 300 of a brain in voxels of 2 mm. A number
/// would reach voxels whose fibres fan out where voxels are large, and the response of these is too broad: with
/// it lobes are too sharp, fanning fibres fall into several, and crossings move.
const CHOSEN_PART: f64 = 0.01;
/// So many where that is fewer, since noise needs an average, but not more than a fifth.
const FEW: usize = 40;
const MOST_PART: f64 = 0.2;
/// Candidates for each voxel that is chosen.
const CANDIDATES: usize = 10;
/// FA of a voxel that may hold a single fibre.
const LEAST_FA: f64 = 0.25;
/// Degree of the densities that tell single fibres at most, and what they may be below zero: enough
/// to compare two peaks, for a tenth of the work.
const ORDER: usize = 6;
const TOLERANCE: f64 = 3e-3;
/// Changes of the choice at most; it settles after three to six.
const MOST_ROUNDS: usize = 12;

/// The response of single fibres on all shells of `shelled`.
pub(super) fn estimate(
    signals: &dyn SignalSource,
    gradients: &GradientTable,
    shelled: &Shelled,
    survey: &Survey,
    options: &FodOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Response, FodError> {
    let mut candidates: Vec<&SurveyedVoxel> =
        survey.voxels.iter().filter(|v| v.fa >= LEAST_FA).collect();
    if candidates.len() < FEWEST {
        return Err(FodError::TooFewVoxels {
            tissue: "single fibres",
            criterion: "FA of 0.25 at least",
            found: candidates.len(),
            needed: FEWEST,
        });
    }
    let part = |part: f64| (part * candidates.len() as f64) as usize;
    let n_chosen = part(CHOSEN_PART).max(part(MOST_PART).min(FEW)).max(FEWEST);
    candidates.sort_by(|a, b| b.fa.total_cmp(&a.fa).then(a.voxel.cmp(&b.voxel)));
    candidates.truncate(CANDIDATES * n_chosen);
    let fibres = Fibres { gradients, shelled, options, samples: gather(signals, &candidates) };
    let sphere = Sphere::new(options.order.min(ORDER));

    let mut chosen: Vec<usize> = (0..n_chosen).collect();
    let mut response = fibres.response(&candidates, &chosen)?;
    for round in 1..=MOST_ROUNDS {
        progress.check()?;
        let likeness = fibres.likeness(&response, &sphere, on)?;
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by(|&a, &b| likeness[b].total_cmp(&likeness[a]).then(a.cmp(&b)));
        order.truncate(n_chosen);
        order.sort_unstable();
        let settled = order == chosen;
        chosen = order;
        if settled {
            progress.note(&format!(
                "single fibres: {n_chosen} of {} candidates, settled after {round} rounds",
                candidates.len()
            ));
            break;
        }
        response = fibres.response(&candidates, &chosen)?;
    }
    Ok(response)
}

/// Samples `[candidate][volume]`.
fn gather(signals: &dyn SignalSource, candidates: &[&SurveyedVoxel]) -> Vec<f32> {
    let n = signals.n_volumes();
    let mut samples = Vec::with_capacity(n * candidates.len());
    let mut of_voxel = vec![0.0; n];
    for candidate in candidates {
        signals.gather(&[candidate.voxel], 1, &mut of_voxel);
        samples.extend_from_slice(&of_voxel);
    }
    samples
}

/// The candidates' samples and how they were acquired.
struct Fibres<'a> {
    gradients: &'a GradientTable,
    shelled: &'a Shelled,
    options: &'a FodOptions,
    samples: Vec<f32>,
}

impl Fibres<'_> {
    /// The response that the chosen candidates share.
    fn response(
        &self,
        candidates: &[&SurveyedVoxel],
        chosen: &[usize],
    ) -> Result<Response, FodError> {
        let n_volumes = self.gradients.len();
        let mut zonal = Vec::new();
        for shell in &self.shelled.shells {
            let weighted = !self.gradients.is_b0(shell.volumes[0]);
            let mut fit = ZonalFit::new(if weighted { self.options.order } else { 0 });
            for &c in chosen {
                let axis = candidates[c].axis_ras;
                for &v in &shell.volumes {
                    let dir = unit(self.gradients.dirs_ras[v]).unwrap_or(axis);
                    let cos = (0..3).map(|k| axis[k] * dir[k]).sum::<f64>().abs();
                    fit.add(cos.min(1.0), f64::from(self.samples[c * n_volumes + v]));
                }
            }
            let mut row = fit.coefficients()?;
            row.resize(self.options.order / 2 + 1, 0.0);
            zonal.push(row);
        }
        let b = self.shelled.shells.iter().map(|shell| shell.b_s_per_mm2).collect();
        Ok(Response { b_s_per_mm2: Some(b), zonal })
    }

    /// How much like a single fibre every candidate looks under this response.
    fn likeness(
        &self,
        response: &Response,
        sphere: &Sphere,
        on: &Backend<'_>,
    ) -> Result<Vec<f64>, FodError> {
        let options = FodOptions {
            order: self.options.order.min(ORDER),
            tissues: Tissues::White,
            ..self.options.clone()
        };
        let responses = Responses { white: self.weighted_part(response), isotropic: None };
        let deconvolution = Deconvolution::new(self.gradients, &responses, &options)?;
        let deconvolution = &deconvolution.with_tolerance(TOLERANCE);
        let of_voxel =
            |samples: &[f32]| on.workers.simd().run(Likeness { deconvolution, sphere, samples });
        let n_volumes = self.gradients.len();
        Ok(on.workers.install(|| self.samples.par_chunks(n_volumes).map(of_voxel).collect()))
    }

    /// The response without its unweighted shell.
    fn weighted_part(&self, response: &Response) -> Response {
        let weighted = |s: &usize| !self.gradients.is_b0(self.shelled.shells[*s].volumes[0]);
        let keep: Vec<usize> = (0..self.shelled.shells.len()).filter(weighted).collect();
        Response {
            b_s_per_mm2: response
                .b_s_per_mm2
                .as_ref()
                .map(|b| keep.iter().map(|&s| b[s]).collect()),
            zonal: keep.iter().map(|&s| response.zonal[s].clone()).collect(),
        }
    }
}

/// √p₁ (1 - p₂/p₁)² of one voxel.
struct Likeness<'a> {
    deconvolution: &'a Deconvolution,
    sphere: &'a Sphere,
    samples: &'a [f32],
}

impl WithSimd for Likeness<'_> {
    type Output = f64;
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> f64 {
        let mut work = VoxelWork::default();
        let outcome = self.deconvolution.solve(self.samples, 1, &mut work);
        let [first, second] = self.sphere.two_peaks(&work.x);
        if outcome.status == Status::BadSignal || first <= 0.0 {
            return 0.0;
        }
        first.sqrt() * (1.0 - second / first).powi(2)
    }
}
