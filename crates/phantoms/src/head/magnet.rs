//! The field of the head: sources on a finer grid, what they add to B0, and what the scanner's
//! shims take off it.
//!
//! Everything lies in air, so that susceptibilities count relative to air and nothing is magnetised
//! beyond the grid. By linearity the field is that of the brain, relative to fluid, and that of all
//! else with the brain as if it were fluid: the second has no sources within the brain.

use fimbria_compute::dense::cholesky;
use fimbria_compute::dense::vec3::Vec3;
use fimbria_compute::{Interrupted, Progress, Workers};
use fimbria_image::{Affine, Grid, Mask};
use rayon::prelude::*;

use super::anatomy::Anatomy;
use super::compartments::{Compartments, Mixture};
use super::filled;
use super::fixels::FIXELS;
use super::sources::{AIR, FIBRE_ANISOTROPY, kind, sources};
use super::watson::{Spread, Watson};
use crate::PhantomError;
use crate::field::{field_along_z, magnetisation};
use crate::gre::means;
use crate::render::place;

/// Sources and fields at the voxels of a finer grid.
pub(super) struct Magnet {
    /// The finer grid.
    pub(super) grid: Grid,
    /// How many times finer it is along each axis.
    pub(super) finer: usize,
    /// The kind of source of every voxel.
    pub(super) kinds: Vec<u8>,
    /// The field of all, shimmed, ppm.
    pub(super) total: Vec<f32>,
    /// In the voxels of the coarser grid: mean susceptibility in the mask, ppm.
    pub(super) chi: Vec<f32>,
    /// Likewise: the field of what is in the mask, ppm.
    pub(super) local: Vec<f32>,
}

impl Magnet {
    /// # Errors
    /// Where the grid is too large to transform or the user stops it.
    pub(super) fn new(
        anatomy: &Anatomy,
        compartments: &Compartments,
        mask: &Mask,
        finer: usize,
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<Self, PhantomError> {
        let coarse = compartments.grid;
        let grid = finer_grid(&coarse, finer);
        let at = |voxel: usize| {
            let p = place(&grid, voxel);
            let (part, _) = anatomy.part(p);
            kind(anatomy.in_pattern(p), part)
        };
        let kinds: Vec<u8> = filled(grid.len(), workers, progress, at)?;
        let lattice = Lattice { coarse, grid, finer, kinds: &kinds };
        let (chi, local) = lattice.within(compartments, mask, workers, progress)?;
        let mut total = lattice.beyond(mask, workers, progress)?;
        progress.check()?;
        shim(&mut total, &grid, &coarse, mask, finer, workers);
        progress.check()?;
        total.iter_mut().zip(&local).for_each(|(total, local)| *total += local);
        let mean = |volume: &[f32]| means(volume, coarse.dims, finer);
        let (chi, local) = (mean(&chi), mean(&local));
        Ok(Self { grid, finer, kinds, total, chi, local })
    }
}

/// The grid with `finer` voxels along each axis of every voxel.
fn finer_grid(grid: &Grid, finer: usize) -> Grid {
    let step = 1.0 / finer as f64;
    let first = grid.ras_from_vox.apply([0.5 * (step - 1.0); 3]);
    let Affine(mut rows) = grid.ras_from_vox;
    for (row, origin) in rows.iter_mut().zip(first) {
        row[..3].iter_mut().for_each(|c| *c *= step);
        row[3] = origin;
    }
    Grid { dims: grid.dims.map(|n| n * finer), ras_from_vox: Affine(rows) }
}

/// Kinds of sources on the finer grid.
struct Lattice<'a> {
    coarse: Grid,
    grid: Grid,
    finer: usize,
    kinds: &'a [u8],
}

impl Lattice<'_> {
    /// The voxel of the coarser grid in which one of the finer lies.
    fn coarse_of(&self, voxel: usize) -> usize {
        self.coarse.index(self.grid.voxel(voxel).map(|i| i / self.finer))
    }

    /// Susceptibility of what is in the mask, and its field.
    fn within(
        &self,
        compartments: &Compartments,
        mask: &Mask,
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<(Vec<f32>, Vec<f32>), PhantomError> {
        /// A voxel of the mask without a mixture, and one outside.
        const NO_MIXTURE: u32 = u32::MAX - 1;
        const OUTSIDE: u32 = u32::MAX;
        let mut mixtures = vec![OUTSIDE; self.coarse.len()];
        mask.voxels.iter().for_each(|&v| mixtures[v as usize] = NO_MIXTURE);
        for (i, mixture) in compartments.voxels.iter().enumerate() {
            let at = &mut mixtures[mixture.voxel as usize];
            if *at == NO_MIXTURE {
                *at = i as u32;
            }
        }
        let order = |spread: Spread| Watson::new(spread.index()).order();
        let aligned: Vec<f64> = workers.install(|| Spread::all().map(order).collect());
        let of_fibres: Vec<Vec3> = workers.install(|| {
            compartments.voxels.par_iter().map(|mixture| fibres(mixture, &aligned)).collect()
        });
        let sources = sources();
        let source = |voxel: usize| {
            let mixture = mixtures[self.coarse_of(voxel)];
            if mixture == OUTSIDE {
                return [0.0; 4];
            }
            let source = sources[usize::from(self.kinds[voxel])];
            let mut m = [0.0, 0.0, source.chi];
            if source.has_fibres && mixture != NO_MIXTURE {
                (0..3).for_each(|a| m[a] += of_fibres[mixture as usize][a]);
            }
            [source.chi, m[0], m[1], m[2]].map(|c| c as f32)
        };
        let volume = |k: usize| -> Result<Vec<f32>, Interrupted> {
            filled(self.grid.len(), workers, progress, |voxel| source(voxel)[k])
        };
        let magnetisation = [volume(1)?, volume(2)?, volume(3)?];
        let field = field_along_z(&self.grid, &magnetisation, workers, progress)?;
        drop(magnetisation);
        Ok((volume(0)?, field))
    }

    /// The field of what is not in the mask, which counts as fluid there.
    fn beyond(
        &self,
        mask: &Mask,
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<Vec<f32>, PhantomError> {
        let mut is_inside = vec![false; self.coarse.len()];
        mask.voxels.iter().for_each(|&v| is_inside[v as usize] = true);
        let sources = sources();
        let source = |voxel: usize| {
            let inside = is_inside[self.coarse_of(voxel)];
            let chi = if inside { 0.0 } else { sources[usize::from(self.kinds[voxel])].chi };
            (chi - AIR) as f32
        };
        let along = filled(self.grid.len(), workers, progress, source)?;
        field_along_z(&self.grid, &[Vec::new(), Vec::new(), along], workers, progress)
    }
}

/// The magnetisation that the fibres of white matter have beyond that of their mean: it is greater
/// along them.
fn fibres(mixture: &Mixture, aligned: &[f64]) -> Vec3 {
    let populations = &mixture.populations[..FIXELS];
    let whole: f64 = populations.iter().map(|p| f64::from(p.part)).sum();
    let mut sum = [0.0; 3];
    for population in populations.iter().filter(|p| p.part > 0.0) {
        let anisotropy = FIBRE_ANISOTROPY * aligned[population.spread.place()];
        let m = magnetisation(0.0, anisotropy, population.dir_ras.map(f64::from));
        (0..3).for_each(|a| sum[a] += f64::from(population.part) / whole * m[a]);
    }
    sum
}

/// What shims make: the solid harmonics up to the second order, positions in 100 mm.
fn harmonics(p: Vec3) -> [f64; 9] {
    let [x, y, z] = p.map(|c| 0.01 * c);
    [1.0, x, y, z, x * y, y * z, x * z, x * x - y * y, 2.0 * z * z - x * x - y * y]
}

/// Takes off a field on the finer grid what shims can, so that little is left in the mask.
fn shim(
    field: &mut [f32],
    grid: &Grid,
    coarse: &Grid,
    mask: &Mask,
    finer: usize,
    workers: &Workers,
) {
    let mean = means(field, coarse.dims, finer);
    let (mut normal, mut right) = ([[0.0; 9]; 9], [0.0; 9]);
    for &voxel in &mask.voxels {
        let terms = harmonics(place(coarse, voxel as usize));
        for (i, a) in terms.iter().enumerate() {
            right[i] += a * f64::from(mean[voxel as usize]);
            (0..9).for_each(|j| normal[i][j] += a * terms[j]);
        }
    }
    // A mask of a few voxels in a row cannot be shimmed.
    let Some(factor) = cholesky::factor_array(&normal, 1e-12) else { return };
    let currents = cholesky::solve(&factor, &right);
    let take = |(voxel, field): (usize, &mut f32)| {
        let terms = harmonics(place(grid, voxel));
        *field -= terms.iter().zip(currents).map(|(a, by)| a * by).sum::<f64>() as f32;
    };
    workers.install(|| field.par_iter_mut().enumerate().with_min_len(4096).for_each(take));
}

#[cfg(test)]
mod tests {
    use fimbria_compute::Silent;
    use fimbria_compute::dense::vec3::norm;

    use super::*;

    #[test]
    fn a_finer_grid_fills_the_same_space() {
        let mut affine = Affine::from_spacing([2.0, 3.0, 4.0]);
        affine.0[0][3] = 7.0;
        let grid = Grid { dims: [4, 5, 6], ras_from_vox: affine };
        let fine = finer_grid(&grid, 2);
        assert_eq!(fine.dims, [8, 10, 12]);
        let [corner, of_fine] =
            [(grid, [-0.5; 3]), (fine, [-0.5; 3])].map(|(g, v)| g.ras_from_vox.apply(v));
        assert!((0..3).all(|a| (corner[a] - of_fine[a]).abs() < 1e-12));
        let middle = fine.ras_from_vox.apply([0.5; 3]);
        let first = grid.ras_from_vox.apply([0.0; 3]);
        assert!((0..3).all(|a| (middle[a] - first[a]).abs() < 1e-12));
    }

    /// Inside a ball nothing is added to B0, outside it is a dipole: χ/3 (R/r)³ (3 cos² - 1).
    #[test]
    fn a_sphere_has_the_field_of_its_formula_inside_and_outside() {
        const N: usize = 24;
        const RADIUS: f64 = 6.0;
        let mut affine = Affine::from_spacing([1.0; 3]);
        (0..3).for_each(|a| affine.0[a][3] = -0.5 * (N as f64 - 1.0));
        let coarse = Grid { dims: [N; 3], ras_from_vox: affine };
        let workers = Workers::new(2).unwrap();
        let grid = finer_grid(&coarse, 2);
        let ball =
            (0..grid.len()).map(|v| f32::from(u8::from(norm(place(&grid, v)) < RADIUS))).collect();
        let field =
            field_along_z(&grid, &[Vec::new(), Vec::new(), ball], &workers, &Silent).unwrap();
        let field = means(&field, coarse.dims, 2);
        let (mut inside, mut outside, mut worst) = (0.0, 0, 0.0_f64);
        for (v, found) in field.iter().enumerate() {
            let p = place(&coarse, v);
            let r = norm(p);
            let found = f64::from(*found);
            if r < RADIUS - 2.0 {
                inside = found.abs().max(inside);
            } else if r > RADIUS + 2.0 {
                let cos = p[2] / r;
                let expected = (RADIUS / r).powi(3) * (3.0 * cos * cos - 1.0) / 3.0;
                worst = worst.max((found - expected).abs());
                outside += 1;
            }
        }
        // Of a source of 1: its surface is stairs of half a millimetre, and the volume repeats itself
        // at 48 mm, where 2/3 (6/42)³ of it is 0.002.
        assert!(inside < 0.02, "{inside}");
        assert!(worst < 0.02 && outside > 1000, "{worst} of {outside}");
    }
}
