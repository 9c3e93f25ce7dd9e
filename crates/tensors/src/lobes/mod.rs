//! Lobes of densities: which directions belong to which maximum, and how much density each holds.
//!
//! A voxel's density is looked at in many directions. From the largest down, a direction joins the
//! lobe of its largest neighbour, or begins one where none of its neighbours is larger (a watershed,
//! as in Smith et al. 2013, NeuroImage 67:298). The integral of a lobe is what the voxel holds of
//! those fibres: its fixel.

mod fixels;
mod summits;
#[cfg(test)]
mod tests;

use fimbria_compute::dense::vec3::{add, dot, scale};
use fimbria_compute::{Interrupted, Progress, Workers};
use fimbria_image::SignalSource;
use rayon::prelude::*;

pub use self::fixels::{Fixels, FixelsError};
use self::summits::Summits;
use crate::layout::Layout;
use crate::peaks::Directions;
use crate::sh::{ShBasis, evaluate, sh_count};

/// No lobe.
const NONE: u8 = u8::MAX;
/// Voxels that are looked at together.
const TILE: usize = 64;
/// Cells along an edge of a face of the cube on which directions are looked up.
const CELLS: usize = 64;

/// How lobes are told from noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LobeOptions {
    /// Directions of the half sphere.
    pub directions: usize,
    /// A lobe whose maximum is not above this is noise.
    pub least_peak: f32,
}

impl Default for LobeOptions {
    /// Directions 5° apart; the threshold of MRtrix3's segmentation.
    fn default() -> Self {
        Self { directions: 724, least_peak: 0.1 }
    }
}

/// The lobes of many voxels.
#[derive(Clone, Debug)]
pub struct Lobes {
    directions: usize,
    nearest: Nearest,
    /// Of voxel k they are `first[k] .. first[k + 1]`.
    first: Vec<u32>,
    integrals: Vec<f32>,
    /// Of each lobe the direction that is highest.
    dirs: Vec<[f32; 3]>,
    /// The lobe of each direction within its voxel.
    of_direction: Vec<u8>,
}

impl Lobes {
    /// The lobes of harmonics of even degrees up to `order`, or without a basis of the unique entries of forms of
    /// that order, in `voxels` of `field`.
    ///
    /// # Errors
    /// [`Interrupted`].
    ///
    /// # Panics
    /// Where the field has another number of volumes than the order has coefficients.
    pub fn find(
        field: &(dyn SignalSource + Send + Sync),
        voxels: &[u32],
        (basis, order): (Option<ShBasis>, usize),
        options: LobeOptions,
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<Self, Interrupted> {
        let sphere = Sphere::new(basis, order, options);
        let (mut first, mut integrals, mut of_direction) = (vec![0], Vec::new(), Vec::new());
        let mut dirs = Vec::new();
        sphere.each_voxel(field, voxels, workers, progress, |voxel| {
            integrals.extend(voxel.lobes.iter().map(|lobe| lobe.integral as f32));
            dirs.extend(voxel.lobes.iter().map(|lobe| lobe.peak_dir.map(|x| x as f32)));
            of_direction.extend(voxel.of_direction);
            first.push(integrals.len() as u32);
        })?;
        let nearest = workers.install(|| Nearest::new(&sphere.directions.unit));
        let directions = options.directions;
        Ok(Self { directions, nearest, first, integrals, dirs, of_direction })
    }

    /// Lobes of all voxels.
    pub fn len(&self) -> usize {
        self.integrals.len()
    }

    /// True where no voxel has one.
    pub fn is_empty(&self) -> bool {
        self.integrals.is_empty()
    }

    /// The integral of each lobe, both of its ends, over the sphere, in units of the density.
    pub fn integrals(&self) -> &[f32] {
        &self.integrals
    }

    /// Of each lobe the unit direction, of those looked at, in which it is highest, in the axes of the
    /// coefficients.
    pub fn dirs(&self) -> &[[f32; 3]] {
        &self.dirs
    }

    /// The numbers of the lobes of voxel `k` of those that were asked for.
    pub fn of_voxel(&self, k: usize) -> std::ops::Range<usize> {
        self.first[k] as usize..self.first[k + 1] as usize
    }

    /// The number of the lobe of voxel `k` that a fibre along the unit direction `dir`, in the axes of
    /// the coefficients, belongs to: the one the direction lies in, or else the nearest.
    pub fn along(&self, k: usize, dir: [f64; 3]) -> Option<usize> {
        let lobe = self.of_direction[k * self.directions + self.nearest.to(dir)];
        (lobe != NONE).then(|| self.first[k] as usize + usize::from(lobe))
    }
}

/// The directions, and the basis functions in each.
struct Sphere {
    directions: Directions,
    /// Row-major, a direction a row.
    basis: Vec<f32>,
    coefficients: usize,
    options: LobeOptions,
    /// Where maxima are wanted between the directions.
    summits: Option<Summits>,
}

/// The lobes of one voxel.
struct VoxelLobes {
    lobes: Vec<Lobe>,
    of_direction: Vec<u8>,
}

/// A lobe.
struct Lobe {
    integral: f64,
    /// Its largest value, and where.
    peak: f64,
    peak_dir: [f64; 3],
    /// Sum of its directions, of the end that the maximum is at, times their values.
    mean: [f64; 3],
}

impl Sphere {
    fn new(basis: Option<ShBasis>, order: usize, options: LobeOptions) -> Self {
        let directions = Directions::new(options.directions);
        let row = |&dir: &[f64; 3]| match basis {
            Some(basis) => evaluate(basis, order, dir),
            None => entries_along(order, dir),
        };
        let basis = directions.unit.iter().flat_map(row).map(|value| value as f32).collect();
        // Unique entries are as many as harmonics of even degrees.
        Self { directions, basis, coefficients: sh_count(order), options, summits: None }
    }

    /// Hands the lobes of each voxel on, in order.
    fn each_voxel(
        &self,
        field: &(dyn SignalSource + Send + Sync),
        voxels: &[u32],
        workers: &Workers,
        progress: &dyn Progress,
        mut hand_on: impl FnMut(VoxelLobes),
    ) -> Result<(), Interrupted> {
        assert_eq!(field.n_volumes(), self.coefficients, "coefficients");
        progress.start("finding lobes", voxels.len() as u64);
        let tile = |tile: &[u32]| {
            // A round takes a second where directions are many.
            let found = (!progress.is_cancelled()).then(|| self.tile(field, tile));
            progress.advance(tile.len() as u64);
            found.into_iter().flatten()
        };
        // A round at a time, so that Ctrl-C is noticed and little is held twice.
        for round in voxels.chunks(256 * TILE) {
            let found: Vec<_> =
                workers.install(|| round.par_chunks(TILE).flat_map_iter(tile).collect());
            progress.check()?;
            found.into_iter().for_each(&mut hand_on);
        }
        Ok(())
    }

    fn tile(
        &self,
        field: &(dyn SignalSource + Send + Sync),
        voxels: &[u32],
    ) -> impl Iterator<Item = VoxelLobes> + use<> {
        let mut coefficients = vec![0.0; self.coefficients * TILE];
        field.gather(voxels, TILE, &mut coefficients);
        let mut values = vec![0.0_f32; self.directions.unit.len() * TILE];
        let rows = self.basis.chunks_exact(self.coefficients);
        for (row, values) in rows.zip(values.as_chunks_mut::<TILE>().0) {
            for (b, c) in row.iter().zip(coefficients.as_chunks::<TILE>().0) {
                for l in 0..TILE {
                    values[l] += b * c[l];
                }
            }
        }
        let of_voxel = |l| values.iter().skip(l).step_by(TILE).copied().collect::<Vec<_>>();
        let lobes = |l: usize| {
            let mut found = self.lobes(&of_voxel(l));
            if let Some(summits) = &self.summits {
                let of_voxel = coefficients.iter().skip(l).step_by(TILE);
                let of_voxel: Vec<f64> = of_voxel.map(|c| f64::from(*c)).collect();
                let least_peak = f64::from(self.options.least_peak);
                found.lobes = summits.sharpen(&of_voxel, found.lobes, least_peak);
            }
            found
        };
        (0..voxels.len()).map(lobes).collect::<Vec<_>>().into_iter()
    }

    /// The lobes of a density with these values in the directions.
    fn lobes(&self, values: &[f32]) -> VoxelLobes {
        let n = values.len();
        let mut of_direction = vec![NONE; n];
        // A coefficient that is no finite number makes no density.
        let is_density = values.iter().all(|value| value.is_finite());
        let is_positive = |&d: &u32| is_density && values[d as usize] > 0.0;
        let mut order: Vec<u32> = (0..n as u32).filter(is_positive).collect();
        order.sort_unstable_by(|&a, &b| {
            values[b as usize].total_cmp(&values[a as usize]).then(a.cmp(&b))
        });
        // Between directions the density may be higher.
        let share = if self.summits.is_some() { 0.9 } else { 1.0 };
        let least_peak = share * self.options.least_peak;
        let mut lobes: Vec<Lobe> = Vec::new();
        for d in order.into_iter().map(|d| d as usize) {
            let near = self.directions.neighbours[d].iter().map(|&m| m as usize);
            // Neighbours that are not larger have no lobe yet.
            let larger = near.filter(|&m| of_direction[m] != NONE);
            let above = larger.max_by(|&a, &b| values[a].total_cmp(&values[b]).then(b.cmp(&a)));
            let lobe = match above {
                Some(m) => of_direction[m],
                None if values[d] > least_peak && lobes.len() < usize::from(NONE) => {
                    let peak_dir = self.directions.unit[d];
                    let peak = f64::from(values[d]);
                    lobes.push(Lobe { integral: 0.0, peak, peak_dir, mean: [0.0; 3] });
                    (lobes.len() - 1) as u8
                }
                None => continue,
            };
            of_direction[d] = lobe;
            let (lobe, dir) = (&mut lobes[usize::from(lobe)], self.directions.unit[d]);
            lobe.integral += f64::from(values[d]);
            let end = f64::from(values[d]).copysign(dot(dir, lobe.peak_dir));
            lobe.mean = add(lobe.mean, scale(dir, end));
        }
        for (d, lobe) in of_direction.iter_mut().enumerate().filter(|(_, lobe)| **lobe == NONE) {
            let dir = self.directions.unit[d];
            let near = |lobe: usize| dot(lobes[lobe].peak_dir, dir).abs();
            let nearest = (0..lobes.len()).max_by(|&a, &b| near(a).total_cmp(&near(b)));
            *lobe = nearest.map_or(NONE, |nearest| nearest as u8);
        }
        let each = 2.0 * std::f64::consts::TAU / n as f64;
        lobes.iter_mut().for_each(|lobe| lobe.integral *= each);
        VoxelLobes { lobes, of_direction }
    }
}

/// What each unique entry of a form, lexicographic, counts for in its value along a direction.
fn entries_along(order: usize, dir: [f64; 3]) -> Vec<f64> {
    // Forms of three dimensions have a layout up to orders that nobody stores.
    let Ok(layout) = Layout::new(order, 3) else { return Vec::new() };
    let power = |exponents: &[usize; 3]| -> f64 {
        (0..3).map(|axis| dir[axis].powi(exponents[axis] as i32)).product()
    };
    let monomials = layout.exponents_3d();
    monomials.iter().zip(layout.multiplicities()).map(|(e, n)| n * power(e)).collect()
}

/// The nearest of the directions to any other, within the half a degree of a cell.
#[derive(Clone, Debug)]
struct Nearest {
    of_cell: Vec<u16>,
}

impl Nearest {
    fn new(directions: &[[f64; 3]]) -> Self {
        let centre = |cell: usize| 2.0 * (cell as f64 + 0.5) / CELLS as f64 - 1.0;
        let nearest = |cell: usize| {
            let (face, u, v) =
                (cell / (CELLS * CELLS), centre(cell / CELLS % CELLS), centre(cell % CELLS));
            let mut dir = [0.0; 3];
            (dir[face], dir[(face + 1) % 3], dir[(face + 2) % 3]) = (1.0, u, v);
            let dot = |d: &[f64; 3]| (d[0] * dir[0] + d[1] * dir[1] + d[2] * dir[2]).abs();
            let best = (0..directions.len())
                .max_by(|&a, &b| dot(&directions[a]).total_cmp(&dot(&directions[b])));
            best.unwrap_or(0) as u16
        };
        Self { of_cell: (0..3 * CELLS * CELLS).into_par_iter().map(nearest).collect() }
    }

    /// ±`dir` are the same.
    fn to(&self, dir: [f64; 3]) -> usize {
        let face = (0..3).max_by(|&a, &b| dir[a].abs().total_cmp(&dir[b].abs())).unwrap_or(0);
        let cell = |axis: usize| {
            let at = (dir[axis] / dir[face] + 1.0) * 0.5 * CELLS as f64;
            (at as usize).min(CELLS - 1)
        };
        let (u, v) = (cell((face + 1) % 3), cell((face + 2) % 3));
        usize::from(self.of_cell[(face * CELLS + u) * CELLS + v])
    }
}
