//! From a composition per voxel to a series: signal, then noise.

use fimbria_compute::dense::vec3::Vec3;
use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{Lanes, Progress, Real, Words, Workers};
use fimbria_image::{GradientTable, Grid, Image};
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::PhantomError;
use crate::signal::{Composition, Law, Weighting};
use crate::tissue::{S0_WHITE, Tissue};
use crate::zeros::zeros;

/// Where a voxel is, scanner mm.
pub(crate) fn place(grid: &Grid, voxel: usize) -> Vec3 {
    grid.ras_from_vox.apply(grid.voxel(voxel).map(|i| i as f64))
}

/// Rician noise: the magnitude of a complex signal with Gaussian noise of `sigma` in each part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise {
    /// In the units of the series; 0 for none.
    sigma: f32,
    source: Philox,
}

impl Noise {
    /// `snr` is that of unweighted white matter; infinite for none.
    ///
    /// # Errors
    /// Where it is not positive.
    pub(crate) fn new(snr: f64, seed: u64) -> Result<Self, PhantomError> {
        PhantomError::require(snr > 0.0, "SNR", snr, "positive (infinite for no noise)")?;
        Ok(Self { sigma: (S0_WHITE / snr) as f32, source: Philox::new(seed) })
    }

    /// The standard deviation of either part, in the units of the series.
    pub(crate) fn sigma(&self) -> f64 {
        f64::from(self.sigma)
    }

    /// The magnitude that is measured of `signal` in voxels `items` of one volume.
    #[inline(always)]
    fn measured<R: Real>(&self, signal: R, items: R::Word, volume: u32) -> R {
        use fimbria_compute::Word;
        if self.sigma == 0.0 {
            return signal;
        }
        let words = self.source.lanes(items, items.splat(0), items.splat(volume));
        let [in_phase, quadrature, ..] = normals::<R>(words);
        let real = in_phase.mul_add(signal.splat(self.sigma), signal);
        let imaginary = quadrature * self.sigma;
        real.mul_add(real, imaginary * imaginary).sqrt()
    }
}

/// The series of a tissue under a law, with noise keyed by (seed, voxel, volume).
///
/// # Errors
/// Where memory is short or the user stops it.
pub(crate) fn render<L: Law>(
    tissue: &Tissue,
    law: &L,
    gradients: &GradientTable,
    noise: &Noise,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Image, PhantomError> {
    const BLOCK: usize = 16384;
    render_in_blocks(BLOCK, tissue, law, gradients, noise, workers, progress)
}

/// The same in pieces of `block` voxels, on which the result does not depend.
fn render_in_blocks<L: Law>(
    block: usize,
    tissue: &Tissue,
    law: &L,
    gradients: &GradientTable,
    noise: &Noise,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Image, PhantomError> {
    let grid = tissue.s0.grid;
    let mut series = zeros(grid, gradients.len())?;
    progress.start("rendering the series", series.data.len() as u64);
    let volumes = series.data.par_chunks_mut(grid.len()).enumerate();
    workers.install(|| {
        volumes.try_for_each(|(volume, samples)| {
            let weighting = Weighting {
                b: (1e-3 * gradients.b_s_per_mm2[volume]) as f32,
                dir_ras: gradients.dirs_ras[volume].map(|c| c as f32),
            };
            samples.par_chunks_mut(block).enumerate().try_for_each(|(i, samples)| {
                progress.check()?;
                let n = samples.len();
                workers.simd().run(Block {
                    tissue,
                    law,
                    weighting,
                    noise,
                    volume: volume as u32,
                    first_voxel: i * block,
                    samples,
                });
                progress.advance(n as u64);
                Ok::<_, PhantomError>(())
            })
        })
    })?;
    Ok(series)
}

/// Consecutive voxels of one volume.
struct Block<'a, L> {
    tissue: &'a Tissue,
    law: &'a L,
    weighting: Weighting,
    noise: &'a Noise,
    volume: u32,
    first_voxel: usize,
    samples: &'a mut [f32],
}

impl<L: Law> WithSimd for Block<'_, L> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lanes = Lanes::<S>::LANES;
        for (i, samples) in self.samples.chunks_mut(lanes).enumerate() {
            let first = self.first_voxel + i * lanes;
            let voxel = self.tissue.load(simd, first, samples.len());
            let signal = voxel.s0 * self.law.attenuation(&voxel, &self.weighting);
            let items = first_and_on(simd, first as u32);
            self.noise.measured(signal, items, self.volume).store_partial(samples);
        }
    }
}

impl Tissue {
    /// The composition of one voxel.
    fn composition(&self, voxel: usize) -> Composition<f32> {
        let sample = |image: &Image, volume: usize| image.data[volume * image.grid.len() + voxel];
        Composition {
            s0: sample(&self.s0, 0),
            fractions: std::array::from_fn(|k| sample(&self.fractions, k)),
            dirs_ras: std::array::from_fn(|k| {
                std::array::from_fn(|axis| sample(&self.dirs_ras, 3 * k + axis))
            }),
        }
    }

    /// The composition of `n` voxels from `first`, empty in the lanes beyond them.
    #[inline(always)]
    fn load<S: Simd>(&self, simd: S, first: usize, n: usize) -> Composition<Lanes<S>> {
        let load = |image: &Image, volume: usize| {
            let start = volume * image.grid.len() + first;
            Lanes::load_partial(simd, &image.data[start..start + n])
        };
        Composition {
            s0: load(&self.s0, 0),
            fractions: std::array::from_fn(|k| load(&self.fractions, k)),
            dirs_ras: std::array::from_fn(|k| {
                std::array::from_fn(|axis| load(&self.dirs_ras, 3 * k + axis))
            }),
        }
    }
}

/// `first`, `first + 1`, ... in the lanes.
#[inline(always)]
fn first_and_on<S: Simd>(simd: S, first: u32) -> Words<S> {
    // More lanes than any register has.
    let items: [u32; 64] = std::array::from_fn(|l| first.wrapping_add(l as u32));
    Words::load(simd, &items)
}

/// Two properties of every voxel of the mask in every direction, as two images with a volume per
/// direction, and the mean of the second over directions. Zero outside the mask.
///
/// # Errors
/// Where memory is short.
pub(crate) fn per_direction(
    tissue: &Tissue,
    dirs_ras: &[[f64; 3]],
    workers: &Workers,
    properties: impl Fn(&Composition<f32>, [f32; 3]) -> [f32; 2] + Sync,
) -> Result<[Image; 3], PhantomError> {
    let (grid, n) = (tissue.s0.grid, tissue.s0.grid.len());
    let (mut first, mut second) = (zeros(grid, dirs_ras.len())?, zeros(grid, dirs_ras.len())?);
    let mut mean = zeros(grid, 1)?;
    workers.install(|| {
        let volumes = first.data.par_chunks_mut(n).zip(second.data.par_chunks_mut(n));
        volumes.zip(dirs_ras).for_each(|((first, second), dir)| {
            let dir = dir.map(|c| c as f32);
            for voxel in tissue.mask.voxels.iter().map(|&v| v as usize) {
                [first[voxel], second[voxel]] = properties(&tissue.composition(voxel), dir);
            }
        });
    });
    for &voxel in &tissue.mask.voxels {
        let voxel = voxel as usize;
        let sum: f64 = (0..dirs_ras.len()).map(|v| f64::from(second.data[v * n + voxel])).sum();
        mean.data[voxel] = (sum / dirs_ras.len() as f64) as f32;
    }
    Ok([first, second, mean])
}

/// The mean over directions of a property of every voxel of the mask; zero outside.
///
/// # Errors
/// Where memory is short.
pub(crate) fn mean_over_directions(
    tissue: &Tissue,
    dirs_ras: &[[f64; 3]],
    workers: &Workers,
    property: impl Fn(&Composition<f32>, [f32; 3]) -> f32 + Sync,
) -> Result<Image, PhantomError> {
    let mean = |&voxel: &u32| {
        let composition = tissue.composition(voxel as usize);
        let values = dirs_ras.iter().map(|dir| property(&composition, dir.map(|c| c as f32)));
        values.map(f64::from).sum::<f64>() / dirs_ras.len() as f64
    };
    let mut image = zeros(tissue.s0.grid, 1)?;
    let voxels = &tissue.mask.voxels;
    let means: Vec<f64> = workers.install(|| voxels.par_iter().map(mean).collect());
    for (&voxel, mean) in voxels.iter().zip(means) {
        image.data[voxel as usize] = mean as f32;
    }
    Ok(image)
}

#[cfg(test)]
mod tests {
    use fimbria_compute::{Silent, SimdLevel};

    use super::*;
    use crate::anatomy::Anatomy;
    use crate::signal::GaussianMixture;
    use crate::{Acquisition, Diffusivities, Placement, ShellSpec};

    fn tissue(workers: &Workers) -> Tissue {
        let placement = Placement {
            dims: [23, 29, 21],
            voxel_mm: [7.0; 3],
            tilt_deg: [5.0, 0.0, -8.0],
            x_right_to_left: true,
        };
        let grid = placement.grid().unwrap();
        Tissue::sample(&Anatomy::living(), 80.0, grid, 2, workers, &Silent).unwrap()
    }

    fn gradients() -> GradientTable {
        let shells = vec![ShellSpec { b_s_per_mm2: 1500.0, directions: 4 }];
        Acquisition { b0s: 1, shells }.gradients().unwrap()
    }

    #[test]
    fn threads_blocks_and_fusing_levels_make_no_difference() {
        let law = GaussianMixture(Diffusivities::default());
        let noise = Noise::new(20.0, 7).unwrap();
        let bits = |workers: &Workers, block| {
            let tissue = tissue(workers);
            let series =
                render_in_blocks(block, &tissue, &law, &gradients(), &noise, workers, &Silent);
            series.unwrap().data.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let fusing: Vec<_> = SimdLevel::available().into_iter().filter(|l| l.fuses()).collect();
        let one = Workers::new(1).unwrap();
        let expected = bits(&one, 16384);
        // A block size that is no multiple of any number of lanes.
        assert_eq!(bits(&one, 1001), expected);
        let mut two = Workers::new(2).unwrap();
        assert_eq!(bits(&two, 517), expected);
        for level in fusing {
            two = two.with_simd(level);
            assert_eq!(bits(&two, 4096), expected, "{level:?}");
        }
    }

    #[test]
    fn a_register_of_voxels_gives_what_each_voxel_gives() {
        let workers = Workers::new(1).unwrap();
        let law = GaussianMixture(Diffusivities::default());
        let noise = Noise::new(f64::INFINITY, 0).unwrap();
        let (tissue, gradients) = (tissue(&workers), gradients());
        let series = render(&tissue, &law, &gradients, &noise, &workers, &Silent).unwrap();
        for volume in 0..gradients.len() {
            let weighting = Weighting {
                b: (1e-3 * gradients.b_s_per_mm2[volume]) as f32,
                dir_ras: gradients.dirs_ras[volume].map(|c| c as f32),
            };
            for &voxel in tissue.mask.voxels.iter().step_by(11) {
                let one = tissue.composition(voxel as usize);
                let expected = one.s0 * law.attenuation(&one, &weighting);
                let found = series.volume(volume)[voxel as usize];
                // Levels that do not fuse round twice where f32 rounds once: a few ulps.
                assert!((found - expected).abs() <= 1e-6 * expected, "{found} {expected}");
            }
        }
    }

    #[test]
    fn a_stopped_user_gets_no_series() {
        struct Stopped;
        impl Progress for Stopped {
            fn start(&self, _what: &str, _total: u64) {}
            fn advance(&self, _items: u64) {}
            fn warn(&self, _message: &str) {}
            fn is_cancelled(&self) -> bool {
                true
            }
        }
        let workers = Workers::new(1).unwrap();
        let law = GaussianMixture(Diffusivities::default());
        let noise = Noise::new(20.0, 7).unwrap();
        let series = render(&tissue(&workers), &law, &gradients(), &noise, &workers, &Stopped);
        assert!(matches!(series, Err(PhantomError::Interrupted(_))));
    }

    #[test]
    fn a_series_larger_than_memory_is_refused() {
        let grid = tissue(&Workers::new(1).unwrap()).s0.grid;
        let error = zeros(grid, usize::MAX / 4).unwrap_err();
        assert!(matches!(error, PhantomError::Memory { .. }), "{error}");
    }
}
