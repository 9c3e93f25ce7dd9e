//! Weights that make the streamlines of a tractogram as dense as the fibres: the model of SIFT2 (Smith
//! et al. 2015, NeuroImage 119:338).
//!
//! A fixel L, the fibres of one lobe in one voxel, holds the density FD of fibres. With weights w = eᶠ
//! the streamlines hold TD = Σ |S_L| w, |S_L| being the length of streamline S in it. Both are the
//! same up to a factor μ = Σ PM FD / Σ PM TD of all streamlines at weight one, where PM is how much of
//! the voxel is white matter. Minimised is
//!
//! ```text
//! Σ_L PM (μ TD - FD)²  +  A/N Σ_S [ λ_tik F²  +  λ_tv Σ_L PM |S_L|/ℓ_S (F - F̄_L)² ]
//! ```
//!
//! with A = Σ PM FD² of all fixels, N the number of streamlines, ℓ_S = Σ PM |S_L| the length of S where
//! PM counts, so that long and short ones are held alike, and F̄_L the mean of F by the shares |S_L|/ℓ_S.
//! The second term lets streamlines of one fixel differ little. The paper leaves its scale open; this one
//! does not change with the unit of densities, the number of streamlines or their step, and is that by
//! which weights are most like those of the published program (docs/connectomes.md has the numbers).
//!
//! F is found by L-BFGS (Nocedal 1980), preconditioned by the curvature that the sum would have if all
//! streamlines of a fixel changed alike. Sums are of fixed parts, so that the bits do not depend on
//! the number of threads.

mod descent;
mod filling;
mod model;
#[cfg(test)]
mod tests;
mod tracks;

use fimbria_compute::{Interrupted, Progress, Workers};

use self::descent::Descent;
pub use self::filling::Filling;
use self::model::Model;
pub use self::tracks::{FixelAt, FixelLengths, Traced};

/// How weights are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sift2Options {
    /// λ_tik.
    pub tikhonov: f64,
    /// λ_tv.
    pub total_variation: f64,
    /// Fixels that streamlines at weight one fill to less than this part are left out: whatever passes
    /// them would be blown up for what is not there.
    pub least_filled: f64,
    /// Iterations at most.
    pub most_iterations: usize,
    /// The work ends where an iteration takes away less than this part of the objective.
    pub least_decrease: f64,
}

impl Default for Sift2Options {
    /// MRtrix3's regularisation and limits.
    fn default() -> Self {
        Self {
            tikhonov: 0.0,
            total_variation: 0.1,
            least_filled: 0.1,
            most_iterations: 1000,
            least_decrease: 2.5e-5,
        }
    }
}

/// What an iteration came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sift2Step {
    /// The objective over Σ PM FD² of the fixels that count.
    pub objective: f64,
    /// √(Σ PM (μ TD - FD)² / Σ PM FD²) of the fixels that count.
    pub error: f64,
}

/// The weights.
#[derive(Clone, Debug)]
pub struct Sift2 {
    /// Of each streamline; 0 where it passes no fixel.
    pub weights: Vec<f32>,
    /// What makes a density of streamlines one of fibres, in units of density per mm.
    pub mu: f64,
    /// Before the first iteration, and after each.
    pub steps: Vec<Sift2Step>,
    /// Streamlines that pass no fixel.
    pub astray: usize,
    /// Fixels with density that too few streamlines pass.
    pub unfilled: usize,
    /// True where the decrease, not the limit, ended the work.
    pub converged: bool,
}

impl Sift2 {
    /// Bytes that finding weights takes at most beside the lengths: vectors of factors, slopes and
    /// remembered steps, and sums of fixels.
    pub fn bytes(streamlines: u64, fixels: u64) -> u64 {
        /// Factors, slope and curvature here and there, lengths, where it goes, and the weights.
        const VECTORS: u64 = 3 + 3 + 3;
        // Sums of three numbers: those of parts, and of all.
        4 * (VECTORS + 2 * descent::MEMORY as u64) * streamlines
            + 24 * (tracks::PARTS_AT_ONCE as u64 + 2) * fixels
    }
}

/// Why there are no weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Sift2Error {
    /// Nothing is where something else is.
    #[error("no streamline passes a voxel with fibre densities: do they lie in the same place?")]
    Apart,
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Finds the weights: `density` is FD of each fixel, `white` PM of each, from 0 to 1. They begin at
/// one, or at `start`.
///
/// # Errors
/// [`Sift2Error`].
///
/// # Panics
/// Where lengths do not agree.
pub fn sift2(
    tracks: &FixelLengths,
    density: &[f32],
    white: &[f32],
    start: Option<&[f32]>,
    options: &Sift2Options,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Sift2, Sift2Error> {
    workers.install(|| {
        let model = Model::new(tracks, density, white, options).ok_or(Sift2Error::Apart)?;
        progress.start("weighing streamlines", 0);
        let mut descent = Descent::new(&model, start);
        let mut steps = vec![descent.step()];
        let mut converged = false;
        while !converged && steps.len() <= options.most_iterations {
            progress.check()?;
            let before = descent.step().objective;
            let moved = descent.advance(&model);
            progress.advance(1);
            let after = descent.step();
            converged = !moved || before - after.objective < options.least_decrease * before;
            if moved {
                steps.push(after);
            }
        }
        let passes = |s: usize| !tracks.lengths_of(s).is_empty();
        let factors = descent.into_factors();
        let weight = |(s, f): (usize, &f32)| if passes(s) { f.exp() } else { 0.0 };
        Ok(Sift2 {
            weights: factors.iter().enumerate().map(weight).collect(),
            mu: model.mu,
            steps,
            astray: (0..tracks.streamlines()).filter(|&s| !passes(s)).count(),
            unfilled: model.unfilled,
            converged,
        })
    })
}
