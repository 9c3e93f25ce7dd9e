//! From what an earlier stage found to samples of directions.

use std::path::{Path, PathBuf};

use fimbria_compute::Workers;
use fimbria_compute::philox::{Philox, normals, uniform};
use fimbria_image::bedpostx::{BedpostxError, read_bedpostx};
use fimbria_image::sticks::{PackedStick, StickSamples};
use fimbria_image::{BvecFrame, Image, ImageError, Mask, OpenOptions, read_image, read_mask};
use fimbria_tensors::sh::{ShToForm, evaluate};
use fimbria_tensors::starts::half_sphere;
use rayon::prelude::*;

use crate::Logbook;
use crate::stages::load_field::{FieldError, FieldFiles, OrientationField};

/// What directions come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A bedpostX folder, or the base name of its samples.
    Samples(PathBuf),
    /// Three volumes per direction, length = amplitude: `fimbria peaks`, or V1 of a tensor fit.
    Peaks {
        /// The image.
        image: PathBuf,
        /// Its axes.
        frame: BvecFrame,
        /// Directions are scattered around the peaks by this angle, degrees; 0 for none.
        dispersion_deg: f64,
    },
    /// A function on the sphere, as unique entries or spherical harmonics.
    Function(FieldFiles),
}

/// Why there are no directions.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The samples.
    #[error(transparent)]
    Samples(#[from] BedpostxError),
    /// An image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The function.
    #[error(transparent)]
    Function(#[from] FieldError),
    /// A number of volumes that is no number of directions.
    #[error("{} has {volumes} volumes; directions take three each", path.display())]
    Volumes {
        /// The image.
        path: PathBuf,
        /// What it has.
        volumes: usize,
    },
    /// Nothing to follow.
    #[error("{} has no direction in any voxel of the mask", .0.display())]
    Nothing(PathBuf),
    /// There is not enough memory.
    #[error("{0} samples of {1} voxels need more memory than the system gives")]
    Memory(usize, usize),
    /// Harmonics of this order are not known.
    #[error("a function of order {0} cannot be tracked; orders 2 to 16 can")]
    Order(usize),
}

/// Samples drawn in each voxel where the source itself has none.
const N_SAMPLES: usize = 50;
/// Fibres of a sample drawn from a function: its largest lobes.
const N_LOBES: usize = 3;
/// Directions of the half sphere on which functions are looked at: 4 degrees apart.
const N_DIRECTIONS: usize = 1281;

impl Source {
    /// The file or folder.
    pub fn path(&self) -> &Path {
        match self {
            Self::Samples(path) => path,
            Self::Peaks { image, .. } => image,
            Self::Function(files) => &files.image,
        }
    }

    /// Reads or draws the samples.
    ///
    /// # Errors
    /// [`SourceError`].
    pub fn read(
        &self,
        mask: Option<&Path>,
        rng_seed: u64,
        log: &Logbook<'_>,
    ) -> Result<StickSamples, SourceError> {
        let workers = log.session().on.workers;
        match self {
            Self::Samples(path) => {
                Ok(workers.install(|| read_bedpostx(path, mask, &OpenOptions::default()))?)
            }
            Self::Peaks { image, frame, dispersion_deg } => {
                let peaks = workers.install(|| read_image(image))?;
                if peaks.n_volumes % 3 != 0 {
                    let (path, volumes) = (image.clone(), peaks.n_volumes);
                    return Err(SourceError::Volumes { path, volumes });
                }
                let mask = match mask {
                    Some(path) => Some(workers.install(|| read_mask(path, &peaks.grid))?),
                    None => None,
                };
                let scatter = Scatter { deg: *dispersion_deg, rng_seed };
                from_peaks(&peaks, *frame, mask, scatter, workers)?
                    .ok_or_else(|| SourceError::Nothing(image.clone()))
            }
            Self::Function(files) => {
                let files = FieldFiles { mask: mask.map(Path::to_owned), ..files.clone() };
                let field = files.read(log)?;
                from_function(&field, rng_seed, workers)?.ok_or(SourceError::Nothing(files.image))
            }
        }
    }
}

/// How directions are scattered around peaks.
#[derive(Clone, Copy)]
pub(super) struct Scatter {
    deg: f64,
    rng_seed: u64,
}

impl Scatter {
    pub(super) const NONE: Self = Self { deg: 0.0, rng_seed: 0 };

    /// A direction near `v`: both its components across are normal.
    fn around(self, v: [f64; 3], voxel: u32, sample: usize, fibre: usize) -> [f64; 3] {
        if self.deg == 0.0 {
            return v;
        }
        let words = Philox::new(self.rng_seed)
            .stream(u32::MAX - fibre as u32)
            .at(u64::from(voxel), sample as u32);
        let [a, b, ..] = normals::<f32>(words).map(|x| f64::from(x) * self.deg.to_radians());
        let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
        let v = v.map(|x| x / length);
        // Any two directions across.
        let least = (0..3).fold(0, |m, k| if v[k].abs() < v[m].abs() { k } else { m });
        let mut axis = [0.0; 3];
        axis[least] = 1.0;
        let p = cross(v, axis);
        let scale = 1.0 / (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt();
        let p = p.map(|x| x * scale);
        let q = cross(v, p);
        std::array::from_fn(|k| v[k] + a * p[k] + b * q[k])
    }
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn turned(m: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    m.map(|r| r[0] * v[0] + r[1] * v[1] + r[2] * v[2])
}

/// Room for samples in the voxels of `mask` where `has` says that there are any.
fn room(
    mask: Mask,
    has: impl Fn(usize) -> bool,
    n_fibres: usize,
    n_samples: usize,
) -> Result<Option<StickSamples>, SourceError> {
    let voxels: Vec<_> = mask.voxels.into_iter().filter(|v| has(*v as usize)).collect();
    if voxels.is_empty() {
        return Ok(None);
    }
    let n = voxels.len();
    StickSamples::empty(Mask { grid: mask.grid, voxels }, n_fibres, n_samples)
        .map(Some)
        .ok_or(SourceError::Memory(n_samples, n))
}

/// Fractions are lengths as parts of the longest in the image.
pub(super) fn from_peaks(
    peaks: &Image,
    frame: BvecFrame,
    mask: Option<Mask>,
    scatter: Scatter,
    workers: &Workers,
) -> Result<Option<StickSamples>, SourceError> {
    let n_fibres = peaks.n_volumes / 3;
    let peak = |voxel: usize, fibre: usize| -> [f64; 3] {
        std::array::from_fn(|k| f64::from(peaks.volume(3 * fibre + k)[voxel]))
    };
    let length = |v: [f64; 3]| (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    let amplitude = |voxel, fibre| {
        let amplitude = length(peak(voxel, fibre));
        if amplitude.is_finite() { amplitude } else { 0.0 }
    };
    let has = |voxel| (0..n_fibres).any(|fibre| amplitude(voxel, fibre) > 0.0);
    let mask = mask.unwrap_or_else(|| Mask::full(peaks.grid));
    let n_samples = if scatter.deg == 0.0 { 1 } else { N_SAMPLES };
    let Some(mut samples) = room(mask, has, n_fibres, n_samples)? else { return Ok(None) };
    let longest = samples
        .mask
        .voxels
        .iter()
        .flat_map(|voxel| (0..n_fibres).map(|fibre| amplitude(*voxel as usize, fibre)));
    let longest = longest.fold(0.0, f64::max);
    let turn = frame.ras_from_frame(&peaks.grid.ras_from_vox);
    let voxel_len = samples.voxel_len();
    let (voxels, sticks) = (&samples.mask.voxels, &mut samples.sticks);
    workers.install(|| {
        voxels.par_iter().zip(sticks.par_chunks_mut(voxel_len)).for_each(|(voxel, sticks)| {
            for (at, stick) in sticks.iter_mut().enumerate() {
                let (sample, fibre) = (at / n_fibres, at % n_fibres);
                let amplitude = amplitude(*voxel as usize, fibre);
                if amplitude > 0.0 {
                    let v = turned(&turn, peak(*voxel as usize, fibre));
                    let v = scatter.around(v, *voxel, sample, fibre);
                    *stick = PackedStick::new(v, amplitude / longest);
                }
            }
        });
    });
    Ok(Some(samples))
}

/// Draws directions from the lobes of functions: each lobe is what of the sphere is nearer to its
/// maximum than to that of another, its directions are drawn in proportion to the function, and its
/// fraction is its part of the whole.
fn from_function(
    field: &OrientationField,
    rng_seed: u64,
    workers: &Workers,
) -> Result<Option<StickSamples>, SourceError> {
    let sphere = Sphere::new(field)?;
    let mask = field.mask.clone();
    let Some(mut samples) = room(mask, |_| true, N_LOBES, N_SAMPLES)? else { return Ok(None) };
    let (n, grid) = (sphere.n_coefficients, samples.mask.grid);
    let turn = field.frame.ras_from_frame(&grid.ras_from_vox);
    let voxel_len = samples.voxel_len();
    let (voxels, sticks) = (&samples.mask.voxels, &mut samples.sticks);
    workers.install(|| {
        voxels.par_iter().zip(sticks.par_chunks_mut(voxel_len)).for_each(|(voxel, sticks)| {
            let mut coefficients = vec![0.0; n];
            field.coefficients.gather(&[*voxel], 1, &mut coefficients);
            let lobes = sphere.lobes(&coefficients);
            for (at, stick) in sticks.iter_mut().enumerate() {
                let (sample, fibre) = (at / N_LOBES, at % N_LOBES);
                let Some(lobe) = lobes.get(fibre) else { continue };
                let [u, ..] = Philox::new(rng_seed)
                    .stream(u32::MAX - fibre as u32)
                    .at(u64::from(*voxel), sample as u32);
                let v = sphere.dirs[lobe.draw(uniform::<f32>(u))];
                *stick = PackedStick::new(turned(&turn, v), lobe.part);
            }
        });
    });
    let nothing = samples.sticks.iter().all(|stick| !stick.has_direction());
    Ok((!nothing).then_some(samples))
}

/// Directions, and what takes coefficients to the values there.
struct Sphere {
    dirs: Vec<[f64; 3]>,
    n_coefficients: usize,
    /// `[direction][coefficient]`.
    rows: Vec<f32>,
    /// The nearest directions of each.
    neighbours: Vec<[u16; 6]>,
}

/// A lobe: its directions with their cumulative shares.
struct Lobe {
    members: Vec<(usize, f32)>,
    part: f64,
}

impl Lobe {
    fn draw(&self, u: f32) -> usize {
        let total = self.members.last().map_or(0.0, |(_, sum)| *sum);
        let at = self.members.partition_point(|(_, sum)| *sum < u * total);
        self.members[at.min(self.members.len() - 1)].0
    }
}

impl Sphere {
    fn new(field: &OrientationField) -> Result<Self, SourceError> {
        let (basis, order) = (field.basis, field.order);
        let dirs: Vec<[f64; 3]> = half_sphere(N_DIRECTIONS);
        let in_basis = basis.unwrap_or(fimbria_tensors::sh::ShBasis::Mrtrix);
        let form = ShToForm::new(in_basis, order).map_err(|_| SourceError::Order(order))?;
        let n = form.count();
        let row = |dir: &[f64; 3]| -> Vec<f32> {
            let values = evaluate(in_basis, order, *dir);
            match basis {
                Some(_) => values.iter().map(|x| *x as f32).collect(),
                None => (0..n)
                    .map(|j| {
                        let column = form.sh_from_form().iter().skip(j).step_by(n);
                        values.iter().zip(column).map(|(a, b)| a * b).sum::<f64>() as f32
                    })
                    .collect(),
            }
        };
        let rows = dirs.iter().flat_map(row).collect();
        let neighbours = dirs.iter().enumerate().map(|(i, v)| nearest(&dirs, i, v)).collect();
        Ok(Self { dirs, n_coefficients: n, rows, neighbours })
    }

    /// The largest lobes of a function, largest first.
    fn lobes(&self, coefficients: &[f32]) -> Vec<Lobe> {
        let dot = |row: &[f32]| row.iter().zip(coefficients).map(|(a, b)| a * b).sum::<f32>();
        let values: Vec<_> = self.rows.chunks_exact(self.n_coefficients).map(dot).collect();
        if values.iter().any(|value| !value.is_finite()) {
            return Vec::new();
        }
        let is_maximum = |i: &usize| {
            values[*i] > 0.0
                && self.neighbours[*i].iter().all(|j| {
                    let other = values[usize::from(*j)];
                    // Of equals the first.
                    other < values[*i] || (other == values[*i] && usize::from(*j) > *i)
                })
        };
        let mut maxima: Vec<_> = (0..values.len()).filter(is_maximum).collect();
        maxima.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
        maxima.truncate(N_LOBES);
        let mut lobes: Vec<_> =
            maxima.iter().map(|_| Lobe { members: Vec::new(), part: 0.0 }).collect();
        let mut whole = 0.0;
        for (i, value) in values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
            let v = self.dirs[i];
            let cos = |m: usize| {
                let d = self.dirs[m];
                (v[0] * d[0] + v[1] * d[1] + v[2] * d[2]).abs()
            };
            let lobe = (0..maxima.len()).max_by(|a, b| cos(maxima[*a]).total_cmp(&cos(maxima[*b])));
            let Some(lobe) = lobe else { continue };
            let lobe = &mut lobes[lobe];
            let before = lobe.members.last().map_or(0.0, |(_, sum)| *sum);
            lobe.members.push((i, before + value));
            lobe.part += f64::from(*value);
            whole += f64::from(*value);
        }
        lobes.iter_mut().for_each(|lobe| lobe.part /= whole);
        lobes
    }
}

/// The six directions nearest to one, opposite ones counted as near.
fn nearest(dirs: &[[f64; 3]], of: usize, v: &[f64; 3]) -> [u16; 6] {
    let cos = |d: &[f64; 3]| (v[0] * d[0] + v[1] * d[1] + v[2] * d[2]).abs();
    let mut others: Vec<_> = (0..dirs.len()).filter(|j| *j != of).collect();
    others.select_nth_unstable_by(6, |a, b| cos(&dirs[*b]).total_cmp(&cos(&dirs[*a])));
    std::array::from_fn(|k| others[k] as u16)
}
