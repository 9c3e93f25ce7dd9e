//! The field of a lattice of magnetised voxels: the physics alone, apart from the program's own field
//! models, which are tested on it.
//!
//! A volume that is magnetised by M (relative to B0, small) adds to B0 the component along it of its
//! stray field. With the Lorentz sphere left out this is, by Maxwell's equations in the Fourier
//! domain (Salomir, de Senneville and Moonen, Concepts Magn Reson B 19, 26 (2003)), for every wave
//! vector k ≠ 0
//!
//! ΔB(k) = M(k)·b/3 - (k·b) (k·M(k)) / k²
//!
//! and zero for k = 0: fields are relative to their mean over the volume that is transformed, which
//! is the head in as much emptiness again along each axis.

use fimbria_compute::dense::vec3::{Vec3, dot};
use fimbria_compute::fft::{Complex32, FftError, RealFft3, good_size};
use fimbria_compute::{Progress, Workers};
use fimbria_image::Grid;
use rayon::prelude::*;

use crate::PhantomError;

/// The field along scanner z of `magnetisation`, three volumes of `grid` with its components along
/// scanner x, y and z, in their unit; a component that is zero everywhere may be empty.
///
/// # Errors
/// Where the volume is too large to transform or the user stops it, which is looked for between
/// transforms.
pub(crate) fn field_along_z(
    grid: &Grid,
    magnetisation: &[Vec<f32>; 3],
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Vec<f32>, PhantomError> {
    let space = Space::new(grid)?;
    let [half, ny, nz] = space.fft.spectrum_shape();
    let mut field = vec![Complex32::default(); half * ny * nz];
    for (a, volume) in magnetisation.iter().enumerate().filter(|(_, m)| !m.is_empty()) {
        progress.check()?;
        let spectrum = space.spectrum(volume, workers);
        progress.check()?;
        let of_b0 = f64::from(u8::from(a == 2)) / 3.0;
        let rows = field.par_chunks_mut(half).zip(spectrum.par_chunks(half)).enumerate();
        workers.install(|| {
            rows.for_each(|(row, (field, spectrum))| {
                for (i, (field, m)) in field.iter_mut().zip(spectrum).enumerate() {
                    let k = space.wave_vector([i, row % ny, row / ny]);
                    let squared = dot(k, k);
                    if squared > 0.0 {
                        *field += m * (of_b0 - k[2] * k[a] / squared) as f32;
                    }
                }
            });
        });
    }
    progress.check()?;
    Ok(space.volume(field, workers))
}

/// A lattice in the corner of a larger one that repeats itself.
struct Space {
    dims: [usize; 3],
    fft: RealFft3<f32>,
    /// Of each axis of the lattice its direction in the scanner over its voxel size.
    per_step: [Vec3; 3],
}

impl Space {
    fn new(grid: &Grid) -> Result<Self, FftError> {
        let (turn, spacing) = (grid.ras_from_vox.rotation(), grid.ras_from_vox.spacing());
        let axis = |a: usize| [0, 1, 2].map(|component| turn[component][a] / spacing[a]);
        let fft = RealFft3::new(grid.dims.map(|n| good_size(2 * n)))?;
        Ok(Self { dims: grid.dims, fft, per_step: [axis(0), axis(1), axis(2)] })
    }

    /// Of an entry of the spectrum, cycles per mm along the scanner's axes.
    fn wave_vector(&self, entry: [usize; 3]) -> Vec3 {
        let shape = self.fft.shape();
        let cycles = [0, 1, 2].map(|a| {
            let (i, n) = (entry[a] as f64, shape[a] as f64);
            if 2.0 * i > n { i / n - 1.0 } else { i / n }
        });
        [0, 1, 2].map(|component| (0..3).map(|a| cycles[a] * self.per_step[a][component]).sum())
    }

    fn spectrum(&self, volume: &[f32], workers: &Workers) -> Vec<Complex32> {
        let ([nx, ny, _], [mx, my, _]) = (self.dims, self.fft.shape());
        let mut padded = vec![0.0; self.fft.shape().iter().product()];
        for (row, from) in volume.chunks_exact(nx).enumerate() {
            let to = mx * (row % ny + my * (row / ny));
            padded[to..to + nx].copy_from_slice(from);
        }
        let mut spectrum = vec![Complex32::default(); self.fft.spectrum_shape().iter().product()];
        self.fft.forward(workers, &padded, &mut spectrum);
        spectrum
    }

    fn volume(&self, mut spectrum: Vec<Complex32>, workers: &Workers) -> Vec<f32> {
        let ([nx, ny, nz], [mx, my, _]) = (self.dims, self.fft.shape());
        let mut padded = vec![0.0; self.fft.shape().iter().product()];
        self.fft.inverse(workers, &mut spectrum, &mut padded);
        let rows = (0..ny * nz).map(|row| mx * (row % ny + my * (row / ny)));
        rows.flat_map(|from| &padded[from..from + nx]).copied().collect()
    }
}

/// The magnetisation in a field along scanner z of what has the mean susceptibility `chi` and is more
/// susceptible along `axis` (unit length) than across it by `anisotropy`: χ z + Δχ ((n·z) n - z/3).
pub(crate) fn magnetisation(chi: f64, anisotropy: f64, axis: Vec3) -> Vec3 {
    let mut m = axis.map(|c| anisotropy * axis[2] * c);
    m[2] += chi - anisotropy / 3.0;
    m
}

#[cfg(test)]
mod tests {
    use fimbria_compute::Silent;
    use fimbria_compute::dense::vec3::norm;
    use fimbria_image::Affine;

    use super::*;
    use crate::render::place;

    const N: usize = 40;
    const WIDTH_MM: f64 = 3.0;

    /// Oblique, voxels of 1 x 1.25 x 0.8 mm, the middle of the volume at the origin.
    fn grid() -> Grid {
        let (s, c) = 0.4_f64.sin_cos();
        let columns = [[c, s * 0.6, s * 0.8], [-s, c * 0.6, c * 0.8], [0.0, -0.8, 0.6]];
        let spacing = [1.0, 1.25, 0.8];
        let mut affine = Affine(std::array::from_fn(|r| {
            [0, 1, 2, 3].map(|a| if a < 3 { columns[a][r] * spacing[a] } else { 0.0 })
        }));
        let middle = affine.apply([(N as f64 - 1.0) / 2.0; 3]);
        (0..3).for_each(|a| affine.0[a][3] = -middle[a]);
        Grid { dims: [N; 3], ras_from_vox: affine }
    }

    /// Strength at a distance from the middle: smooth, since what is sharp rings in the Fourier domain.
    fn strength(r: f64) -> f64 {
        (-0.5 * (r / WIDTH_MM).powi(2)).exp()
    }

    fn ball(grid: &Grid) -> Vec<f32> {
        (0..grid.len()).map(|voxel| strength(norm(place(grid, voxel))) as f32).collect()
    }

    /// What multiplies 3 cos² - 1 in the field of shells of this strength, magnetised along z: a shell is
    /// a dipole to who is outside, nothing to who is inside, and -1/3 of itself where it is.
    fn factor(r: f64) -> f64 {
        const STEPS: usize = 200;
        if r == 0.0 {
            return 0.0;
        }
        let h = r / STEPS as f64;
        // By Simpson's rule.
        let sum: f64 = (0..=STEPS)
            .map(|i| {
                let weight = match i {
                    0 | STEPS => 1.0,
                    i if i % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                let s = i as f64 * h;
                weight * strength(s) * s * s
            })
            .sum();
        sum * h / 3.0 / r.powi(3) - strength(r) / 3.0
    }

    /// The largest error as a part of the largest value.
    fn error(grid: &Grid, found: &[f32], expected: impl Fn(Vec3, f64) -> f64) -> f64 {
        let (mut worst, mut size) = (0.0_f64, 0.0_f64);
        for (voxel, found) in found.iter().enumerate() {
            let p = place(grid, voxel);
            let expected = expected(p, norm(p));
            worst = worst.max((f64::from(*found) - expected).abs());
            size = size.max(expected.abs());
        }
        worst / size
    }

    // Errors: the images of the ball, 64 mm away and more, have fields of 0.3 % of what is largest.
    const IMAGES: f64 = 5e-3;

    #[test]
    fn a_ball_has_the_field_of_a_dipole_to_who_is_outside() {
        let grid = grid();
        let m = [vec![0.0; grid.len()], vec![0.0; grid.len()], ball(&grid)];
        let found = field_along_z(&grid, &m, &Workers::new(2).unwrap(), &Silent).unwrap();
        let off = error(&grid, &found, |p, r| {
            if r == 0.0 { 0.0 } else { factor(r) * (3.0 * (p[2] / r).powi(2) - 1.0) }
        });
        assert!(off < IMAGES, "{off}");
    }

    #[test]
    fn a_ball_magnetised_across_b0_has_the_field_of_a_dipole_that_lies() {
        let grid = grid();
        let m = [ball(&grid), vec![0.0; grid.len()], vec![0.0; grid.len()]];
        let found = field_along_z(&grid, &m, &Workers::new(2).unwrap(), &Silent).unwrap();
        let off = error(&grid, &found, |p, r| {
            if r == 0.0 { 0.0 } else { factor(r) * 3.0 * p[0] * p[2] / (r * r) }
        });
        assert!(off < IMAGES, "{off}");
    }

    #[test]
    fn the_field_is_that_of_the_programs_own_tensor_model() {
        let grid = grid();
        let ball = ball(&grid);
        let along = |by: f32| ball.iter().map(|part| part * by).collect::<Vec<f32>>();
        let m = [along(0.3), along(-0.2), along(0.9)];
        let workers = Workers::new(2).unwrap();
        let found = field_along_z(&grid, &m, &workers, &Silent).unwrap();
        let geometry = fimbria_qsm::Geometry::new(&grid, [0.0, 0.0, 1.0]).unwrap();
        let turned: Vec<Vec3> = (0..grid.len())
            .map(|v| [0, 1, 2].map(|a| f64::from(m[a][v])))
            .map(|m| fimbria_qsm::dir_vox(&grid.ras_from_vox, m))
            .collect();
        let in_voxel_axes = [0, 1, 2].map(|a| turned.iter().map(|m| m[a] as f32).collect());
        let other = fimbria_qsm::tensor::tensor_field(&geometry, &in_voxel_axes, &workers).unwrap();
        let off = found.iter().zip(&other).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        // Two transforms of f32 each way, of numbers up to 1.
        assert!(off < 2e-6, "{off}");
    }

    #[test]
    fn a_fibre_along_b0_is_magnetised_more_than_one_across() {
        let [along, across] =
            [[0.0, 0.0, 1.0], [0.6, 0.8, 0.0]].map(|axis| magnetisation(-0.03, 0.012, axis));
        assert!((along[2] - (-0.03 + 0.008)).abs() < 1e-15 && along[0] == 0.0);
        assert!((across[2] - (-0.03 - 0.004)).abs() < 1e-15 && across[0] == 0.0);
        // One that leans is magnetised sideways too.
        let leaning = magnetisation(0.0, 1.0, [0.6, 0.0, 0.8]);
        assert!((leaning[0] - 0.48).abs() < 1e-15);
    }
}
