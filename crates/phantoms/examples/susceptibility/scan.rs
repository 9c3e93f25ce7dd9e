//! What a study does with the phase of a scene: noise, mask, unwrapping, background, map.

use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{Silent, Workers};
use fimbria_image::Mask;
use fimbria_image::morphology::VoxelSet;
use fimbria_qsm::background::{Background, Local, remove_background};
use fimbria_qsm::phase::{
    EchoPhase, combine_coils, combine_echoes, phase_quality, reliable_voxels, unwrap_region,
};

use crate::maps::Made;
use crate::scene::{Scene, wrapped};

/// The mask that somebody gives.
pub(crate) const MASKS: &[(&str, f64)] =
    &[("tight", 0.0), ("loose 6 mm", 6.0), ("small 3 mm", -3.0)];

/// What is surest counts so many times what is usual, at most, as in `fimbria field`.
const LARGEST_WEIGHT: f32 = 2.0;

/// The field of all sources, where it is known, and how surely.
pub(crate) struct Total {
    pub(crate) field: Vec<f32>,
    pub(crate) mask: Mask,
    pub(crate) weights: Vec<f32>,
}

impl Scene {
    /// The mask, by so many mm larger, or smaller.
    pub(crate) fn mask_of(&self, mm: f64) -> Mask {
        let set = VoxelSet::from_mask(&self.mask);
        let other = if mm < 0.0 { set.eroded(-mm) } else { set.dilated(mm) };
        other.to_mask()
    }

    /// Phases and magnitudes with noise: white matter has a signal `snr` times the standard deviation of either
    /// part.
    fn noisy(&self, snr: f64) -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
        let mut inside: Vec<f32> =
            self.mask.voxels.iter().map(|&v| self.magnitudes[0][v as usize]).collect();
        let middle = inside.len() / 2;
        let usual = *inside.select_nth_unstable_by(middle, f32::total_cmp).1;
        let sigma = f64::from(usual) / snr;
        let (mut phases, mut magnitudes) = (self.phases.clone(), self.magnitudes.clone());
        for (e, (phases, magnitudes)) in phases.iter_mut().zip(&mut magnitudes).enumerate() {
            let source = Philox::new(7).stream(20 + e as u32);
            for (v, (phase, magnitude)) in phases.iter_mut().zip(magnitudes).enumerate() {
                let noise = normals::<f32>(source.at(v as u64, 0));
                let (sin, cos) = f64::from(*phase).sin_cos();
                let re = f64::from(*magnitude) * cos + sigma * f64::from(noise[0]);
                let im = f64::from(*magnitude) * sin + sigma * f64::from(noise[1]);
                *phase = wrapped(im.atan2(re));
                *magnitude = re.hypot(im) as f32;
            }
        }
        (phases, magnitudes)
    }

    /// From the phase within `given`, of which voxels stay whose quality is at least `quality`; the phase at echo
    /// time 0 is a smooth one or fitted in each voxel.
    pub(crate) fn total(
        &self,
        given: &Mask,
        snr: f64,
        quality: f64,
        is_smooth: bool,
        workers: &Workers,
    ) -> Made<Total> {
        let (mut phases, magnitudes) = self.noisy(snr);
        if is_smooth {
            let (grid, times, voxels) = (&self.grid, &self.times_s, &given.voxels);
            phases = combine_coils(grid, &phases, &magnitudes, times, voxels, workers)?.phases;
        }
        let echo = |e: usize| EchoPhase {
            phase: &phases[e],
            magnitude: Some(&magnitudes[e][..]),
            time: self.times_s[e],
        };
        let echoes: Vec<EchoPhase<'_>> = (0..phases.len()).map(echo).collect();
        let of_phase = phase_quality(&self.grid, &echoes, &given.voxels);
        let mask = reliable_voxels(given, &of_phase, quality, &given.voxels);
        let offset = !is_smooth;
        let unwrapped = unwrap_region(&self.grid, &echoes, &mask.voxels, offset);
        let (times, b0) = (&self.times_s, self.b0_tesla);
        let combined =
            combine_echoes(&unwrapped, Some(&magnitudes), times, &mask.voxels, b0, offset);
        let mut sureness: Vec<f32> =
            mask.voxels.iter().map(|&v| combined.sureness[v as usize]).collect();
        let middle = sureness.len() / 2;
        let usual = *sureness.select_nth_unstable_by(middle, f32::total_cmp).1;
        let weights = combined.sureness.iter().map(|s| (s / usual).min(LARGEST_WEIGHT)).collect();
        Ok(Total { field: combined.field_ppm, mask, weights })
    }

    /// Without the background.
    pub(crate) fn local_of(
        &self,
        total: &Total,
        background: Background,
        workers: &Workers,
    ) -> Made<Local> {
        let Total { field, mask, .. } = total;
        let (grid, geometry) = (&self.grid, &self.geometry);
        Ok(remove_background(grid, geometry, field, mask, background, workers, &Silent)?)
    }
}
