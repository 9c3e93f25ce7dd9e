//! Lobes of densities: which directions belong to which maximum, and how much density each holds.
//!
//! A voxel's density is looked at in many directions. From the largest down, a direction joins the
//! lobe of its largest neighbour, or begins one where none of its neighbours is larger (a watershed,
//! as in Smith et al. 2013, NeuroImage 67:298). The integral of a lobe is what the voxel holds of
//! those fibres: its fixel.

use fimbria_compute::{Interrupted, Progress, Workers};
use fimbria_image::SignalSource;
use rayon::prelude::*;

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
    /// The lobe of each direction within its voxel.
    of_direction: Vec<u8>,
}

impl Lobes {
    /// The lobes of harmonics of even degrees up to `lmax` in `voxels` of `field`.
    ///
    /// # Errors
    /// [`Interrupted`].
    ///
    /// # Panics
    /// Where the field has another number of volumes than `lmax` has coefficients.
    pub fn find(
        field: &(dyn SignalSource + Send + Sync),
        voxels: &[u32],
        (basis, lmax): (ShBasis, usize),
        options: LobeOptions,
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<Self, Interrupted> {
        assert_eq!(field.n_volumes(), sh_count(lmax), "coefficients");
        let sphere = Sphere::new(basis, lmax, options);
        progress.start("finding lobes", voxels.len() as u64);
        let tile = |tile: &[u32]| {
            // A round takes a second where directions are many.
            let found = (!progress.is_cancelled()).then(|| sphere.tile(field, tile));
            progress.advance(tile.len() as u64);
            found.into_iter().flatten()
        };
        let (mut first, mut integrals, mut of_direction) = (vec![0], Vec::new(), Vec::new());
        // A round at a time, so that Ctrl-C is noticed and little is held twice.
        for round in voxels.chunks(256 * TILE) {
            let found: Vec<_> =
                workers.install(|| round.par_chunks(TILE).flat_map_iter(tile).collect());
            progress.check()?;
            for voxel in found {
                integrals.extend(voxel.integrals);
                of_direction.extend(voxel.of_direction);
                first.push(integrals.len() as u32);
            }
        }
        let nearest = workers.install(|| Nearest::new(&sphere.directions.unit));
        Ok(Self { directions: options.directions, nearest, first, integrals, of_direction })
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
}

/// The lobes of one voxel.
struct VoxelLobes {
    integrals: Vec<f32>,
    of_direction: Vec<u8>,
}

impl Sphere {
    fn new(basis: ShBasis, lmax: usize, options: LobeOptions) -> Self {
        let directions = Directions::new(options.directions);
        let rows = directions.unit.iter().flat_map(|&dir| evaluate(basis, lmax, dir));
        let basis = rows.map(|value| value as f32).collect();
        Self { directions, basis, coefficients: sh_count(lmax), options }
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
        let found: Vec<_> = (0..voxels.len()).map(|l| self.lobes(&of_voxel(l))).collect();
        found.into_iter()
    }

    /// The lobes of a density with these values in the directions.
    fn lobes(&self, values: &[f32]) -> VoxelLobes {
        let n = values.len();
        let mut of_direction = vec![NONE; n];
        let mut order: Vec<u32> = (0..n as u32).filter(|&d| values[d as usize] > 0.0).collect();
        order.sort_unstable_by(|&a, &b| {
            values[b as usize].total_cmp(&values[a as usize]).then(a.cmp(&b))
        });
        let (mut integrals, mut axes) = (Vec::<f64>::new(), Vec::<[f64; 3]>::new());
        for d in order.into_iter().map(|d| d as usize) {
            let near = self.directions.neighbours[d].iter().map(|&m| m as usize);
            // Neighbours that are not larger have no lobe yet.
            let larger = near.filter(|&m| of_direction[m] != NONE);
            let above = larger.max_by(|&a, &b| values[a].total_cmp(&values[b]).then(b.cmp(&a)));
            let lobe = match above {
                Some(m) => of_direction[m],
                None if values[d] > self.options.least_peak
                    && integrals.len() < usize::from(NONE) =>
                {
                    integrals.push(0.0);
                    axes.push(self.directions.unit[d]);
                    (integrals.len() - 1) as u8
                }
                None => continue,
            };
            of_direction[d] = lobe;
            integrals[usize::from(lobe)] += f64::from(values[d]);
        }
        let dot = |a: [f64; 3], b: [f64; 3]| (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]).abs();
        for (d, lobe) in of_direction.iter_mut().enumerate().filter(|(_, lobe)| **lobe == NONE) {
            let dir = self.directions.unit[d];
            let nearest =
                (0..axes.len()).max_by(|&a, &b| dot(axes[a], dir).total_cmp(&dot(axes[b], dir)));
            *lobe = nearest.map_or(NONE, |nearest| nearest as u8);
        }
        let each = 2.0 * std::f64::consts::TAU / n as f64;
        let integrals = integrals.iter().map(|sum| (sum * each) as f32).collect();
        VoxelLobes { integrals, of_direction }
    }
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

#[cfg(test)]
mod tests {
    use fimbria_compute::Silent;
    use fimbria_image::{Affine, Grid, Image};

    use super::*;

    const X: [f64; 3] = [1.0, 0.0, 0.0];
    const Y: [f64; 3] = [0.0, 1.0, 0.0];
    const Z: [f64; 3] = [0.0, 0.0, 1.0];

    /// Lobes of voxels whose density is a sum of deltas, as far as harmonics of degree 8 go.
    fn lobes_of(voxels: &[&[(f64, [f64; 3])]]) -> Lobes {
        let grid = Grid { dims: [voxels.len(), 1, 1], ras_from_vox: Affine::IDENTITY };
        let mut image = Image::zeros(grid, sh_count(8));
        for (k, deltas) in voxels.iter().enumerate() {
            for &(amount, dir) in *deltas {
                let values = evaluate(ShBasis::Mrtrix, 8, dir);
                for (c, value) in values.iter().enumerate() {
                    image.volume_mut(c)[k] += (amount * value) as f32;
                }
            }
        }
        let workers = Workers::new(1).unwrap();
        let all: Vec<_> = (0..voxels.len() as u32).collect();
        let what = (ShBasis::Mrtrix, 8);
        // Above the rings that cutting a delta at degree 8 leaves around it.
        let options = LobeOptions { least_peak: 0.8, ..LobeOptions::default() };
        Lobes::find(&image, &all, what, options, &workers, &Silent).unwrap()
    }

    #[test]
    fn crossing_fibres_share_the_density_as_they_are_mixed() {
        let lobes = lobes_of(&[&[(1.0, X)], &[(0.7, X), (0.3, Y)], &[]]);
        assert!(lobes.of_voxel(2).is_empty() && lobes.along(2, X).is_none());
        let of = |k, dir| f64::from(lobes.integrals()[lobes.along(k, dir).unwrap()]);
        let whole = of(0, X);
        // The main lobe of a delta cut at degree 8; side lobes, of which there are more where fibres
        // cross, are the rest.
        assert!((of(1, X) / whole - 0.7).abs() < 0.04, "{}", of(1, X) / whole);
        assert!((of(1, Y) / whole - 0.3).abs() < 0.04, "{}", of(1, Y) / whole);
        assert_ne!(lobes.along(1, X), lobes.along(1, Y));
    }

    #[test]
    fn the_integral_is_that_of_the_density() {
        // The lobes of a constant together are 4π times its value.
        let grid = Grid { dims: [1, 1, 1], ras_from_vox: Affine::IDENTITY };
        let mut image = Image::zeros(grid, 1);
        image.data[0] = 3.0;
        let (workers, what) = (Workers::new(1).unwrap(), (ShBasis::Mrtrix, 0));
        let found = Lobes::find(&image, &[0], what, LobeOptions::default(), &workers, &Silent);
        let value = 3.0 * (0.25 / std::f64::consts::PI).sqrt();
        let sum: f32 = found.unwrap().integrals().iter().sum();
        assert!((f64::from(sum) / (2.0 * std::f64::consts::TAU * value) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn a_direction_belongs_to_the_lobe_it_lies_in_or_to_the_nearest() {
        let lobes = lobes_of(&[&[(0.6, X), (0.4, Z)]]);
        for degrees in [0.0_f64, 10.0, 20.0, 40.0] {
            let (sin, cos) = degrees.to_radians().sin_cos();
            assert_eq!(lobes.along(0, [cos, 0.0, sin]), lobes.along(0, X), "{degrees}");
            assert_eq!(lobes.along(0, [-cos, sin, 0.0]), lobes.along(0, X), "{degrees}");
            assert_eq!(lobes.along(0, [sin, 0.0, -cos]), lobes.along(0, Z), "{degrees}");
        }
    }

    #[test]
    fn the_table_finds_the_nearest_direction() {
        let directions = Directions::new(724).unit;
        let nearest = Nearest::new(&directions);
        for dir in Directions::new(1999).unit {
            let dot = |d: &[f64; 3]| (d[0] * dir[0] + d[1] * dir[1] + d[2] * dir[2]).abs();
            let best = directions.iter().map(dot).fold(0.0, f64::max).min(1.0).acos();
            let found = dot(&directions[nearest.to(dir)]).min(1.0).acos();
            // A cell is 1.8° wide at most: its centre is within 1.3°, counted twice.
            assert!(found - best < 2.6_f64.to_radians(), "{found} {best}");
        }
    }
}
