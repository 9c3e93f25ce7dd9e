//! The series of a head: the sum of its compartments under each gradient, and noise.

use std::collections::BTreeMap;

use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{Progress, Workers};
use fimbria_image::{GradientTable, Image};
use rayon::prelude::*;

use super::compartments::{Compartments, Mixture, coil};
use super::faults::Faulty;
use super::tissue::{AROUND, INSIDE, ISOTROPIC, WHITE_SIGNAL};
use super::watson::{Spread, Watson};
use crate::PhantomError;
use crate::render::place;
use crate::zeros::zeros;

/// Steps of the cosine at which the signal of fibres is held; in between it is a line, off by less
/// than 2e-6 of the unweighted signal at 10 000 s/mm².
const STEPS: usize = 2048;

/// After so many voxels a thread looks whether the user stops it.
const LOOK: usize = 1 << 14;

/// What compartments give at one b.
struct Attenuations {
    isotropic: [f32; ISOTROPIC.len()],
    /// Of each [`Spread`], by the cosine to the gradient: inside axons and around them.
    fibres: Vec<Vec<[f32; 2]>>,
}

impl Attenuations {
    /// `b` in ms/µm² of an axisymmetric b-tensor b ((1 - Δ) I/3 + Δ g gᵀ): what it makes of water is
    /// what b Δ along g makes of it, and b (1 - Δ) in its mean diffusivity.
    fn new(b: f64, shape: f64, workers: &Workers) -> Self {
        let signal = |watson: &Watson, d: [f64; 2]| {
            let all = (-b * (1.0 - shape) * (d[0] + 2.0 * d[1]) / 3.0).exp();
            watson.signal(b * shape, d, STEPS).into_iter().map(move |along| all * along)
        };
        let of = |spread: Spread| {
            let watson = Watson::new(spread.index());
            let both = signal(&watson, INSIDE).zip(signal(&watson, AROUND));
            both.map(|(inside, around)| [inside as f32, around as f32]).collect()
        };
        Self {
            isotropic: ISOTROPIC.map(|d| (-b * d).exp() as f32),
            fibres: workers.install(|| Spread::all().map(of).collect()),
        }
    }

    /// The signal of a voxel relative to the unweighted one.
    fn signal(&self, mixture: &Mixture, dir_ras: [f32; 3]) -> f32 {
        let still = mixture.isotropic.iter().zip(self.isotropic);
        let mut sum: f32 = still.map(|(part, left)| part * left).sum();
        for population in &mixture.populations {
            if population.part > 0.0 {
                let [x, y, z] = population.dir_ras;
                let cos = (x * dir_ras[0] + y * dir_ras[1] + z * dir_ras[2]).abs().min(1.0);
                let at = cos * STEPS as f32;
                let low = (at as usize).min(STEPS - 1);
                let table = &self.fibres[population.spread.place()];
                let [below, above] = [table[low], table[low + 1]]
                    .map(|[inside, around]| around + population.inside * (inside - around));
                sum += population.part * (below + (at - low as f32) * (above - below));
            }
        }
        sum
    }
}

/// What compartments give about one b.
struct Nearby {
    /// By b over the one that was asked for.
    tables: Vec<(f64, Attenuations)>,
}

/// Values of b, over the one that was asked for, between which the logarithm of the signal is taken for a
/// polynomial where gradients deviate.
const NEARBY: [f64; 6] = [0.45, 0.6, 0.85, 1.15, 1.45, 1.7];

impl Nearby {
    /// `b` in ms/µm².
    fn new(b: f64, shape: f64, bends: bool, workers: &Workers) -> Self {
        let at: &[f64] = if bends && b > 0.0 { &NEARBY } else { &[1.0] };
        let table = |&by: &f64| (by, Attenuations::new(b * by, shape, workers));
        Self { tables: at.iter().map(table).collect() }
    }

    /// The signal of a voxel relative to the unweighted one under the gradient `g`, 1 long where it is
    /// what was asked for.
    fn signal(&self, mixture: &Mixture, g: [f64; 3]) -> f32 {
        let [(_, table)] = &self.tables[..] else { return self.between(mixture, g) };
        table.signal(mixture, g.map(|c| c as f32))
    }

    /// Lagrange's polynomial through the logarithms at the values of b.
    fn between(&self, mixture: &Mixture, g: [f64; 3]) -> f32 {
        let b: f64 = g.iter().map(|c| c * c).sum();
        let dir = g.map(|c| (c / b.sqrt()) as f32);
        let term = |(i, (at, table)): (usize, &(f64, Attenuations))| {
            let others = self.tables.iter().enumerate().filter(|(j, _)| *j != i);
            let weight: f64 = others.map(|(_, (other, _))| (b - other) / (at - other)).product();
            weight * f64::from(table.signal(mixture, dir)).ln()
        };
        self.tables.iter().enumerate().map(term).sum::<f64>().exp() as f32
    }
}

/// What is measured.
pub(super) struct Measured<'a> {
    pub(super) gradients: &'a GradientTable,
    /// Δ of each volume's b-tensor.
    pub(super) shapes: &'a [f64],
    pub(super) faults: &'a Faulty,
}

/// The series, with faults and Rician noise keyed by (seed, voxel, volume).
///
/// # Errors
/// Where memory is short or the user stops it.
pub(super) fn series(
    compartments: &Compartments,
    measured: &Measured<'_>,
    snr: f64,
    seed: u64,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Image, PhantomError> {
    let Measured { gradients, shapes, faults } = *measured;
    let (grid, n) = (compartments.grid, compartments.grid.len());
    let mut series = zeros(grid, gradients.len())?;
    progress.start("measuring the head", gradients.len() as u64);
    let mut tables = BTreeMap::new();
    let key = |volume: usize| [gradients.b_s_per_mm2[volume], shapes[volume]].map(f64::to_bits);
    for (volume, b) in gradients.b_s_per_mm2.iter().enumerate() {
        let shape = shapes[volume];
        progress.check()?;
        let table = || Nearby::new(1e-3 * b, shape, faults.bends(), workers);
        tables.entry(key(volume)).or_insert_with(table);
    }
    let look = |item: usize| if item.is_multiple_of(LOOK) { progress.check() } else { Ok(()) };
    let sigma = (WHITE_SIGNAL / snr) as f32;
    let source = Philox::new(seed).stream(31);
    workers.install(|| {
        series.data.par_chunks_mut(n).enumerate().try_for_each(|(volume, samples)| {
            progress.check()?;
            let table = &tables[&key(volume)];
            let g = gradients.dirs_ras[volume];
            match faults.pose(volume) {
                None => {
                    for (i, mixture) in compartments.voxels.iter().enumerate() {
                        look(i)?;
                        let voxel = mixture.voxel as usize;
                        let bent =
                            if faults.bends() { faults.bent(g, place(&grid, voxel)) } else { g };
                        samples[voxel] = mixture.s0 * table.signal(mixture, bent);
                    }
                }
                Some(pose) => {
                    // The head as it is at rest, under the gradients of where it is; then as it is
                    // seen there. The coil keeps still.
                    let mut still = vec![0.0; n];
                    for (i, mixture) in compartments.voxels.iter().enumerate() {
                        look(i)?;
                        let p = place(&grid, mixture.voxel as usize);
                        let bent = pose.in_head(faults.bent(g, pose.of_head(p)));
                        let s0 = mixture.s0 / coil(p) as f32;
                        still[mixture.voxel as usize] = s0 * table.signal(mixture, bent);
                    }
                    samples.copy_from_slice(&pose.seen(&still, &grid, progress)?);
                    for (voxel, sample) in samples.iter_mut().enumerate() {
                        *sample *= coil(place(&grid, voxel)) as f32;
                    }
                }
            }
            faults.drop_slices(volume, &grid, samples);
            if sigma > 0.0 {
                for (voxel, sample) in samples.iter_mut().enumerate() {
                    look(voxel)?;
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

    fn fibres(dir_ras: [f32; 3], part: f32, inside: f32, index: f64) -> Population {
        Population { part, dir_ras, inside, spread: Spread::near(index) }
    }

    #[test]
    fn a_b_tensor_is_as_many_gradients_as_it_has_axes() {
        let workers = Workers::new(1).unwrap();
        // Gaussian water, of which the axes' parts multiply: hardly any dispersion, all of it around.
        let mut mixture = Mixture::default();
        mixture.populations[0] = fibres([0.6, 0.0, 0.8], 1.0, 0.0, 0.02);
        let linear = |b: f64, g| Attenuations::new(b, 1.0, &workers).signal(&mixture, g);
        let [x, y, z] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let planar = Attenuations::new(1.2, -0.5, &workers).signal(&mixture, z);
        let spherical = Attenuations::new(1.2, 0.0, &workers).signal(&mixture, z);
        let by_axes = linear(0.4, x) * linear(0.4, y) * linear(0.4, z);
        // The dispersion that is left, and polynomials up to the 48th degree.
        assert!((planar - linear(0.6, x) * linear(0.6, y)).abs() < 2e-3, "{planar}");
        assert!((spherical - by_axes).abs() < 2e-3, "{spherical} {by_axes}");
    }

    #[test]
    fn the_signal_between_values_of_b_is_that_of_its_formula() {
        let workers = Workers::new(1).unwrap();
        let mut mixture = Mixture::default();
        mixture.isotropic[2] = 0.3;
        mixture.populations[0] = fibres([0.6, 0.8, 0.0], 0.7, 0.5, 0.1);
        // b in ms/µm², and what a polynomial of fifth degree may be off by: cumulants beyond the sixth.
        for (b, off) in [(1.0, 5e-6), (3.0, 5e-5), (10.0, 1e-3)] {
            let nearby = Nearby::new(b, 1.0, true, &workers);
            for by in [0.5, 0.75, 1.0, 1.3, 1.65_f64] {
                let exact =
                    Attenuations::new(b * by, 1.0, &workers).signal(&mixture, [1.0, 0.0, 0.0]);
                let found = nearby.signal(&mixture, [by.sqrt(), 0.0, 0.0]);
                assert!((found - exact).abs() < off, "{b} {by}: {found} {exact}");
            }
        }
    }

    #[test]
    fn a_voxel_of_one_compartment_decays_as_its_formula_says() {
        let workers = Workers::new(1).unwrap();
        for b in [0.0, 1.0, 3.0] {
            let table = Attenuations::new(b, 1.0, &workers);
            let mut free = Mixture::default();
            free.isotropic[2] = 1.0;
            let expected = (-3.0 * b).exp() as f32;
            assert!((table.signal(&free, [0.0, 0.0, 1.0]) - expected).abs() < 1e-6);
            // Sticks in all directions: the mean of exp(-b D x²) over 0 to 1, by 10 000 points.
            let mut sticks = Mixture::default();
            sticks.populations[0] = fibres([1.0, 0.0, 0.0], 1.0, 1.0, 1.0);
            let points = (0..10_000).map(|i| (f64::from(i) + 0.5) / 1e4);
            let mean = points.map(|x| (-b * INSIDE[0] * x * x).exp()).sum::<f64>() / 1e4;
            let found = f64::from(table.signal(&sticks, [0.6, 0.8, 0.0]));
            // f32 and the lines between steps.
            assert!((found - mean).abs() < 3e-6, "{b}: {found} {mean}");
        }
    }
}
