use std::f32::consts::PI;

use fimbria_image::morphology::VoxelSet;
use fimbria_image::{Grid, Mask};

use super::region::{EchoPhase, neighbours};
use super::{strength, wrapped};

/// How reliable a step between neighbours is, 0 to 1, after ROMEO (Dymerska et al., MRM 85, 2021): the
/// smaller the phase difference, the more the next echo's agrees with it, and the more alike and the
/// stronger the magnitudes are.
pub(super) struct StepQuality<'a> {
    first: &'a EchoPhase<'a>,
    next: Option<&'a EchoPhase<'a>>,
    largest: f32,
}

impl<'a> StepQuality<'a> {
    pub(super) fn new(
        first: &'a EchoPhase<'a>,
        next: Option<&'a EchoPhase<'a>>,
        mask: &[u32],
    ) -> Self {
        let largest = first.magnitude.map_or(1.0, |magnitude| {
            mask.iter().map(|&v| strength(magnitude[v as usize])).fold(0.0, f32::max)
        });
        Self { first, next, largest }
    }

    pub(super) fn between(&self, from: usize, to: usize) -> f32 {
        let echo = self.first;
        let step = wrapped(echo.phase[to] - echo.phase[from]);
        let mut quality = 1.0 - step.abs() / PI;
        if let Some(next) = self.next {
            let later = wrapped(next.phase[to] - next.phase[from]);
            let ratio = (next.time / echo.time) as f32;
            quality *= (1.0 - wrapped(later - step * ratio).abs() / PI).max(0.0);
        }
        if let Some(magnitude) = echo.magnitude {
            let (a, b) = (strength(magnitude[from]), strength(magnitude[to]));
            let (small, large) = (a.min(b), a.max(b));
            let alike = if large > 0.0 { small / large } else { 0.0 };
            // Full weight from half of the largest magnitude on.
            let strong =
                if self.largest > 0.0 { (2.0 * small / self.largest).min(1.0) } else { 0.0 };
            quality *= alike * alike * (0.5 + 0.5 * strong);
        }
        // The next echo's phase may be no number: nothing is known of such a step.
        if quality.is_nan() { 0.0 } else { quality }
    }
}

/// How reliable the phase of each voxel of `mask` is, 0 to 1: the mean over its steps to neighbours of the
/// mask of what [`unwrap_region`](super::unwrap_region) chooses its paths by; 0 elsewhere, and where there
/// is no such neighbour.
pub fn phase_quality(grid: &Grid, echoes: &[EchoPhase<'_>], mask: &[u32]) -> Vec<f32> {
    let mut quality = vec![0.0; grid.len()];
    let Some(first) = echoes.first() else { return quality };
    let steps = StepQuality::new(first, echoes.get(1), mask);
    let mut inside = vec![false; grid.len()];
    mask.iter().for_each(|&v| inside[v as usize] = true);
    for &v in mask {
        let v = v as usize;
        let (mut sum, mut count) = (0.0, 0.0_f32);
        for next in neighbours(grid, v).filter(|&next| inside[next]) {
            sum += steps.between(v, next);
            count += 1.0;
        }
        quality[v] = sum / count.max(1.0);
    }
    quality
}

/// Default of the least quality of the voxels of a mask.
pub const MASK_QUALITY: f64 = 0.5;

/// The voxels of `mask` whose phase has a `quality` of at least `least` ([`phase_quality`]), the largest piece of
/// them, with those that it encloses and that are `measured`. Noise around a brain has hardly any quality; a vein
/// or a bleed within it is enclosed. As the consensus on susceptibility mapping has it (Bilgic et al., MRM 91,
/// 1834 (2024)).
pub fn reliable_voxels(mask: &Mask, quality: &[f32], least: f64, measured: &[u32]) -> Mask {
    let is_good = |v: &u32| f64::from(quality[*v as usize]) >= least;
    let voxels = mask.voxels.iter().copied().filter(is_good).collect();
    let brain = VoxelSet::from_mask(&Mask { voxels, ..*mask }).largest_piece().enclosing();
    let voxels = measured.iter().copied().filter(|v| brain.inside()[*v as usize]).collect();
    Mask { voxels, ..*mask }
}

#[cfg(test)]
mod tests {
    use fimbria_image::Affine;

    use super::*;

    #[test]
    fn noise_around_leaves_the_mask_and_what_is_enclosed_and_measured_stays() {
        let grid = Grid { dims: [12, 9, 9], ras_from_vox: Affine::IDENTITY };
        let index = |at: [usize; 3]| grid.index(at) as u32;
        let is_brain = |v: u32| grid.voxel(v as usize).iter().all(|i| (2..7).contains(i));
        let (bleed, air, hole) = (index([4, 4, 4]), index([3, 4, 4]), index([5, 4, 4]));
        let scalp = index([10, 4, 4]);
        // The mask is too large, lacks a voxel, and has one that was not measured.
        let mask = Mask { grid, voxels: (0..grid.len() as u32).filter(|v| *v != hole).collect() };
        let measured: Vec<u32> = (0..grid.len() as u32).filter(|v| *v != air).collect();
        let is_good = |v: u32| is_brain(v) && ![bleed, air, hole].contains(&v) || v == scalp;
        let quality: Vec<f32> =
            (0..grid.len() as u32).map(|v| if is_good(v) { 0.8 } else { 0.1 }).collect();
        let expected: Vec<u32> = measured.iter().copied().filter(|v| is_brain(*v)).collect();
        assert_eq!(reliable_voxels(&mask, &quality, MASK_QUALITY, &measured).voxels, expected);
    }
}
