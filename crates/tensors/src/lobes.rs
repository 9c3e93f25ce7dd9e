//! Lobes of densities: which directions belong to which maximum, and how much density each holds.
//!
//! A voxel's density is looked at in many directions. From the largest down, a direction joins the
//! lobe of its largest neighbour, or begins one where none of its neighbours is larger (a watershed,
//! as in Smith et al. 2013, NeuroImage 67:298). The integral of a lobe is what the voxel holds of
//! those fibres: its fixel.

use fimbria_compute::dense::vec3::{add, dot, scale, unit};
use fimbria_compute::{Interrupted, Progress, Workers};
use fimbria_image::SignalSource;
use rayon::prelude::*;

use crate::layout::Layout;
use crate::newton::newton;
use crate::peaks::Directions;
use crate::problem::{Form, Local, Problem};
use crate::sh::{ShBasis, ShError, ShToForm, evaluate, sh_count};
use crate::tables::Chain;

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
        let sphere = Sphere::new(basis, lmax, options);
        let (mut first, mut integrals, mut of_direction) = (vec![0], Vec::new(), Vec::new());
        sphere.each_voxel(field, voxels, workers, progress, |voxel| {
            integrals.extend(voxel.lobes.iter().map(|lobe| lobe.integral as f32));
            of_direction.extend(voxel.of_direction);
            first.push(integrals.len() as u32);
        })?;
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

/// The lobes of many voxels, each in a few numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fixels {
    /// Of voxel k of those that were asked for, fixels are `first[k] .. first[k + 1]`, in the order of their maxima.
    pub first: Vec<u32>,
    /// The integral of each lobe, both of its ends, over the sphere, in units of the density.
    pub integrals: Vec<f32>,
    /// The density in its maximum.
    pub peaks: Vec<f32>,
    /// Unit direction of the maximum, in the axes of the coefficients.
    pub peak_dirs: Vec<[f32; 3]>,
    /// Unit mean direction of the lobe, each direction counted by its density.
    pub mean_dirs: Vec<[f32; 3]>,
}

impl Fixels {
    /// Those of harmonics, as [`Lobes::find`] takes them; maxima are found to rounding.
    ///
    /// # Errors
    /// [`FixelsError`].
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
    ) -> Result<Self, FixelsError> {
        let summits = Some(Summits::new(basis, lmax)?);
        let sphere = Sphere { summits, ..Sphere::new(basis, lmax, options) };
        let mut found = Self { first: vec![0], ..Self::default() };
        sphere.each_voxel(field, voxels, workers, progress, |voxel| {
            for Lobe { integral, peak, peak_dir, mean } in voxel.lobes {
                found.integrals.push(integral as f32);
                found.peaks.push(peak as f32);
                found.peak_dirs.push(peak_dir.map(|x| x as f32));
                found.mean_dirs.push(unit(mean).unwrap_or(peak_dir).map(|x| x as f32));
            }
            found.first.push(found.integrals.len() as u32);
        })?;
        Ok(found)
    }
}

/// Why there are no fixels.
#[derive(Debug, thiserror::Error)]
pub enum FixelsError {
    /// Harmonics of this degree have no form whose maxima could be found.
    #[error(transparent)]
    Degree(#[from] ShError),
    /// The user stopped it.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Takes maxima among directions to those of the density.
struct Summits {
    form: ShToForm,
    chain: Chain,
}

impl Summits {
    fn new(basis: ShBasis, lmax: usize) -> Result<Self, ShError> {
        let form = ShToForm::new(basis, lmax)?;
        Ok(Self {
            form,
            chain: Chain::new(Layout::new(lmax, 3).expect("a form of three dimensions")),
        })
    }

    /// Takes the maxima of a voxel to those of the density, and lobes that rise to the same one together: on a
    /// ridge a direction may be larger than all its neighbours where the density still rises.
    fn sharpen(&self, coefficients: &[f64], found: Vec<Lobe>, least_peak: f64) -> Vec<Lobe> {
        /// Cosine of 1°: maxima are found far more precisely, and lie farther apart.
        const SAME: f64 = 0.99985;
        let entries = self.form.to_form(coefficients);
        let problem = Problem { a: Form::new(&self.chain, &entries), b: None };
        let mut local = Local::default();
        let mut lobes: Vec<Lobe> = Vec::new();
        for mut lobe in found {
            if let Some(dir) = summit(problem, lobe.peak_dir, &mut local) {
                (lobe.peak, lobe.peak_dir) = (local.lambda, dir);
            }
            let same = |other: &&mut Lobe| dot(other.peak_dir, lobe.peak_dir).abs() > SAME;
            match lobes.iter_mut().find(same) {
                Some(other) => {
                    other.integral += lobe.integral;
                    let end = 1.0_f64.copysign(dot(other.mean, lobe.mean));
                    other.mean = add(other.mean, scale(lobe.mean, end));
                }
                None => lobes.push(lobe),
            }
        }
        lobes.retain(|lobe| lobe.peak > least_peak);
        lobes.sort_by(|a, b| b.peak.total_cmp(&a.peak));
        lobes
    }
}

/// The maximum that the form rises to from the unit vector `start`, to rounding; `local` then belongs to it.
fn summit(problem: Problem<'_>, start: [f64; 3], local: &mut Local) -> Option<[f64; 3]> {
    /// Far more than it takes: steps end where Newton's method finds the maximum.
    const STEPS: usize = 100;
    /// Newton's method from nearer than this (cosine of 10°) finds the maximum of the same lobe.
    const NEAR: f64 = 0.985;
    problem.evaluate(&start, local);
    let (mut at, mut value, tolerance) = (start, local.lambda, 1e-9 * local.lambda.abs());
    let mut step = 1.0 / (problem.a.order() as f64 * value.abs()).max(f64::MIN_POSITIVE);
    for _ in 0..STEPS {
        let mut dir = at;
        if newton(problem, &mut dir, tolerance, local)
            && local.lambda >= value
            && dot(dir, at) > NEAR
            && is_maximum(&local.projected_hessian(&dir))
        {
            return Some(dir);
        }
        problem.evaluate(&at, local);
        let uphill = [0, 1, 2].map(|axis| local.residual[axis]);
        loop {
            let next = unit(add(at, scale(uphill, step)))?;
            problem.evaluate(&next, local);
            if local.lambda > value {
                (at, value) = (next, local.lambda);
                step *= 2.0;
                break;
            }
            step /= 2.0;
            if step * uphill.iter().map(|x| x.abs()).fold(0.0, f64::max) < 1e-12 {
                return None;
            }
        }
    }
    None
}

/// Whether a symmetric 2 by 2 matrix is negative definite.
fn is_maximum(hessian: &[f64]) -> bool {
    let [a, b, _, d] = *hessian else { return false };
    a < 0.0 && a * d - b * b > 0.0
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
    fn new(basis: ShBasis, lmax: usize, options: LobeOptions) -> Self {
        let directions = Directions::new(options.directions);
        let rows = directions.unit.iter().flat_map(|&dir| evaluate(basis, lmax, dir));
        let basis = rows.map(|value| value as f32).collect();
        Self { directions, basis, coefficients: sh_count(lmax), options, summits: None }
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
        let mut order: Vec<u32> = (0..n as u32).filter(|&d| values[d as usize] > 0.0).collect();
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

    const WHAT: (ShBasis, usize) = (ShBasis::Mrtrix, 8);

    /// Voxels whose density is a sum of deltas, as far as harmonics of degree 8 go.
    fn deltas(voxels: &[&[(f64, [f64; 3])]]) -> (Image, Vec<u32>) {
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
        (image, (0..voxels.len() as u32).collect())
    }

    /// Above the rings that cutting a delta at degree 8 leaves around it.
    fn options() -> LobeOptions {
        LobeOptions { least_peak: 0.8, ..LobeOptions::default() }
    }

    fn lobes_of(voxels: &[&[(f64, [f64; 3])]]) -> Lobes {
        let (image, all) = deltas(voxels);
        let workers = Workers::new(1).unwrap();
        Lobes::find(&image, &all, WHAT, options(), &workers, &Silent).unwrap()
    }

    fn fixels_of(voxels: &[&[(f64, [f64; 3])]], threads: usize) -> Fixels {
        let (image, all) = deltas(voxels);
        let workers = Workers::new(threads).unwrap();
        Fixels::find(&image, &all, WHAT, options(), &workers, &Silent).unwrap()
    }

    #[test]
    fn a_fixel_has_the_integral_of_its_lobe_and_its_maximum() {
        let dir = unit([0.3, -0.5, 0.7]).unwrap();
        let voxels: &[&[_]] = &[&[(1.3, dir)], &[], &[(0.7, X), (0.5, Y)]];
        let (found, lobes) = (fixels_of(voxels, 1), lobes_of(voxels));
        assert_eq!(found.first, [0, 1, 1, 3]);
        assert_eq!(found.integrals, lobes.integrals());
        // A delta cut at degree L is the sum of (2 l + 1) / 4 pi over even l up to L: 45 / 4 pi for L = 8.
        let summit = 1.3 * 45.0 / (2.0 * std::f64::consts::TAU);
        assert!((f64::from(found.peaks[0]) / summit - 1.0).abs() < 1e-6, "{:?}", found.peaks);
        // To the rounding of single precision; the mean of a round lobe, to that of directions 5° apart.
        for (found, least) in [(found.peak_dirs[0], 1e-6), (found.mean_dirs[0], 0.01)] {
            let off = dot(found.map(f64::from), dir).abs().min(1.0).acos();
            assert!(off < least + 4e-4, "{off}");
        }
    }

    #[test]
    fn a_ridge_between_directions_is_no_lobe_of_its_own() {
        // Two fibres so near that their density has one maximum, on a ridge that no direction lies on.
        let off = |degrees: f64| {
            let (sin, cos) = degrees.to_radians().sin_cos();
            unit([cos, sin * 0.8, sin * 0.6]).unwrap()
        };
        let voxels: Vec<Vec<(f64, [f64; 3])>> = (0..40)
            .map(|k| vec![(0.5, off(2.2 * k as f64)), (0.5, off(2.2 * k as f64 + 24.0))])
            .collect();
        let voxels: Vec<&[_]> = voxels.iter().map(|voxel| &voxel[..]).collect();
        assert!(lobes_of(&voxels).len() > voxels.len(), "directions alone tell");
        let found = fixels_of(&voxels, 1);
        for (k, ends) in found.first.windows(2).enumerate() {
            assert_eq!(
                ends[1] - ends[0],
                1,
                "{k}: {:?}",
                &found.peak_dirs[ends[0] as usize..ends[1] as usize]
            );
            let middle =
                dot(found.peak_dirs[ends[0] as usize].map(f64::from), off(2.2 * k as f64 + 12.0));
            assert!(middle.abs() > 0.99999, "{k}: {middle}");
        }
    }

    #[test]
    fn fixels_have_the_same_bits_on_any_number_of_threads() {
        let voxel: &[_] = &[(0.7, X), (0.5, [0.0, 0.6, 0.8])];
        let voxels = vec![voxel; 300];
        assert_eq!(fixels_of(&voxels, 1), fixels_of(&voxels, 3));
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
