//! The series of a head: the sum of its compartments under each gradient, and noise.

use std::collections::BTreeMap;

use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{Progress, Workers};
use fimbria_image::{GradientTable, Image};
use rayon::prelude::*;

use super::compartments::{Compartments, Mixture};
use super::tissue::{AROUND, Bundled, INSIDE, ISOTROPIC, WHITE_SIGNAL};
use super::watson::Watson;
use crate::PhantomError;
use crate::render::zeros;

/// Steps of the cosine at which the signal of fibres is held; in between it is a line, off by less
/// than 2e-6 of the unweighted signal at 10 000 s/mm².
const STEPS: usize = 2048;

/// What compartments give at one b.
struct Attenuations {
    isotropic: [f32; ISOTROPIC.len()],
    /// Of each kind of fibres, by the cosine to the gradient.
    fibres: Vec<Vec<f32>>,
}

impl Attenuations {
    /// `b` in ms/µm².
    fn new(kinds: &[Bundled], b: f64, workers: &Workers) -> Self {
        let of = |kind: &Bundled| {
            let watson = Watson::new(kind.dispersion);
            let inside = watson.signal(b, INSIDE, STEPS);
            let around = watson.signal(b, AROUND, STEPS);
            let both = inside.into_iter().zip(around);
            both.map(|(i, a)| (kind.inside * i + (1.0 - kind.inside) * a) as f32).collect()
        };
        Self {
            isotropic: ISOTROPIC.map(|d| (-b * d).exp() as f32),
            fibres: workers.install(|| kinds.par_iter().map(of).collect()),
        }
    }

    /// The signal of a voxel relative to the unweighted one.
    fn of(&self, mixture: &Mixture, dir_ras: [f32; 3]) -> f32 {
        let still = mixture.isotropic.iter().zip(self.isotropic);
        let mut sum: f32 = still.map(|(part, left)| part * left).sum();
        for population in &mixture.populations {
            if population.part > 0.0 {
                let [x, y, z] = population.dir_ras;
                let cos = (x * dir_ras[0] + y * dir_ras[1] + z * dir_ras[2]).abs().min(1.0);
                let at = cos * STEPS as f32;
                let low = (at as usize).min(STEPS - 1);
                let table = &self.fibres[usize::from(population.kind)];
                let between = table[low] + (at - low as f32) * (table[low + 1] - table[low]);
                sum += population.part * between;
            }
        }
        sum
    }
}

/// The series, with Rician noise keyed by (seed, voxel, volume).
///
/// # Errors
/// Where memory is short or the user stops it.
pub(super) fn series(
    compartments: &Compartments,
    gradients: &GradientTable,
    snr: f64,
    seed: u64,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Image, PhantomError> {
    let (grid, n) = (compartments.grid, compartments.grid.len());
    let mut series = zeros(grid, gradients.len())?;
    progress.start("measuring the head", gradients.len() as u64);
    let mut tables = BTreeMap::new();
    for b in &gradients.b_s_per_mm2 {
        tables
            .entry(b.to_bits())
            .or_insert_with(|| Attenuations::new(&compartments.kinds, 1e-3 * b, workers));
    }
    let sigma = (WHITE_SIGNAL / snr) as f32;
    let source = Philox::new(seed).stream(31);
    workers.install(|| {
        series.data.par_chunks_mut(n).enumerate().try_for_each(|(volume, samples)| {
            progress.check()?;
            let table = &tables[&gradients.b_s_per_mm2[volume].to_bits()];
            let dir_ras = gradients.dirs_ras[volume].map(|c| c as f32);
            for mixture in &compartments.voxels {
                samples[mixture.voxel as usize] = mixture.s0 * table.of(mixture, dir_ras);
            }
            if sigma > 0.0 {
                for (voxel, sample) in samples.iter_mut().enumerate() {
                    let [real, imaginary, ..] =
                        normals::<f32>(source.at(voxel as u64, volume as u32));
                    let (real, imaginary) = (*sample + sigma * real, sigma * imaginary);
                    *sample = (real * real + imaginary * imaginary).sqrt();
                }
            }
            progress.advance(1);
            Ok::<_, PhantomError>(())
        })
    })?;
    Ok(series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::compartments::Population;

    #[test]
    fn a_voxel_of_one_compartment_decays_as_its_formula_says() {
        let workers = Workers::new(1).unwrap();
        let kinds = [Bundled { dispersion: 1.0, inside: 1.0 }];
        for b in [0.0, 1.0, 3.0] {
            let table = Attenuations::new(&kinds, b, &workers);
            let mut free = Mixture::default();
            free.isotropic[2] = 1.0;
            let expected = (-3.0 * b).exp() as f32;
            assert!((table.of(&free, [0.0, 0.0, 1.0]) - expected).abs() < 1e-6);
            // Sticks in all directions: the mean of exp(-b D x²) over 0 to 1, by 10 000 points.
            let mut sticks = Mixture::default();
            sticks.populations[0] = Population { part: 1.0, dir_ras: [1.0, 0.0, 0.0], kind: 0 };
            let points = (0..10_000).map(|i| (f64::from(i) + 0.5) / 1e4);
            let mean = points.map(|x| (-b * INSIDE[0] * x * x).exp()).sum::<f64>() / 1e4;
            let found = f64::from(table.of(&sticks, [0.6, 0.8, 0.0]));
            // f32 and the lines between steps.
            assert!((found - mean).abs() < 3e-6, "{b}: {found} {mean}");
        }
    }
}
