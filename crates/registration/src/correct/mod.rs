//! The rounds.

mod finish;
mod rounds;

use fimbria_compute::{Interrupted, Progress, Workers};
use fimbria_image::frames::{Matrix3, product, transposed, turned};
use fimbria_image::{GradientTable, Grid, Image, Mask};

use crate::distortion::Distortion;
use crate::joint::{EDDY, Prior};
use crate::outliers::Outlier;
use crate::place::{Eddy, Lattice, Place};
use crate::predict::QSpace;
use crate::region::Region;
use crate::resample::resampled;
use crate::spline::Spline;
use crate::view::View;

/// How a series is corrected.
#[derive(Clone, Debug)]
pub struct CorrectOptions {
    /// The voxel axis of the phase encoding.
    pub axis: usize,
    /// Fields of eddy currents along it.
    pub eddy: Eddy,
    /// Whether slices that lost their signal are replaced by prediction in the corrected series.
    pub replace: bool,
    /// How far what the head shows is shifted in all volumes alike.
    pub distortion: Option<Distortion>,
    /// Widths of the Gaussians that volumes are smoothed by, one a round, in voxels.
    pub fwhm_vox: Vec<f64>,
}

impl Default for CorrectOptions {
    fn default() -> Self {
        Self {
            axis: 1,
            eddy: Eddy::default(),
            replace: true,
            distortion: None,
            fwhm_vox: vec![4.0, 2.5, 2.0, 1.5, 1.5, 1.0, 1.0, 1.0],
        }
    }
}

/// What was found of a series.
#[derive(Clone, Debug)]
pub struct Corrected {
    /// Whether volumes agree better where they were laid than as they were measured. Where they do not, they stay.
    pub is_better: bool,
    /// Where each volume lies.
    pub places: Vec<Place>,
    /// The part of each volume's shift along the phase encoding, mm, that follows its gradient and counts as
    /// eddy current.
    pub eddy_shift_mm: Vec<f64>,
    /// Slices that lost their signal.
    pub outliers: Vec<Outlier>,
    /// Of each the slice as it was measured; empty where they were not replaced.
    pub measured: Vec<Vec<f32>>,
    /// Root mean square over the mask of what predictions leave of each volume, over its mean: before and
    /// after, dropped slices aside in both. NaN where nothing predicts it.
    pub left: [Vec<f64>; 2],
    /// The gradients as the head saw them.
    pub table: GradientTable,
    /// What the predictor settled on: decay of its harmonics, part of noise.
    pub covariance: [f64; 2],
}

/// A volume's rigid motion along scanner axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// Of the middle of the grid, mm.
    pub shift_mm: [f64; 3],
    /// Angles about x, then y, then z, radians.
    pub turn_rad: [f64; 3],
}

impl Corrected {
    /// The slices that were replaced as they were measured, one upon the other; `None` where none was.
    pub fn measured_slices(&self, grid: &Grid) -> Option<Image> {
        let [x, y, _] = grid.dims;
        let dims = [x, y, self.measured.len()];
        (!self.measured.is_empty()).then(|| {
            let grid = Grid { dims, ras_from_vox: grid.ras_from_vox };
            Image { grid, n_volumes: 1, data: self.measured.concat() }
        })
    }

    /// How each volume's head moved, along RAS axes, without what counts as eddy current.
    pub fn motions(&self, grid: &Grid) -> Vec<Motion> {
        let ras = grid.ras_from_vox.rotation();
        let motion = |(place, eddy): (&Place, &f64)| {
            let mut shift = place.shift_mm;
            shift[place.axis] -= eddy;
            let turn = product(&product(&ras, &place.turn), &transposed(&ras));
            let in_ras = Place { turn, ..place.clone() };
            Motion { shift_mm: turned(&ras, shift), turn_rad: in_ras.angles() }
        };
        self.places.iter().zip(&self.eddy_shift_mm).map(motion).collect()
    }
}

/// Memory that [`correct`] takes beside the series, at most.
pub fn bytes_needed(
    grid: &Grid,
    volumes: usize,
    eddy: Eddy,
    is_distorted: bool,
    threads: usize,
) -> u64 {
    // The cropped series, rows of the region and predictions of them, what is compared of each volume (a slope along
    // each axis and a residual), the equations with their factor, and a few volumes of each thread.
    let compared = 4 * (COMPARED_VOXELS.min(grid.len()) * volumes) as u64;
    // Shifts along three axes, whole and cropped.
    let distortion = if is_distorted { 6 } else { 0 };
    let parameters = (volumes * (EDDY + 1 + eddy.terms())) as u64;
    4 * (grid.len() as u64 * (3 * volumes as u64 + 8 * threads as u64 + distortion) + compared)
        + 16 * parameters * parameters
}

/// Voxels around the region that are kept of each volume.
const MARGIN: usize = 5;
/// Voxels that the covariance over volumes is estimated from, at most.
const COVARIANCE_VOXELS: usize = 20_000;
/// Voxels that are compared.
const COMPARED_VOXELS: usize = 25_000;
/// Voxels are in so many classes by how much their signal varies with the direction.
const CLASSES: usize = 4;
/// Of the squares that predictions leave a correction must take away so much; of a head that lay still it takes
/// less than 0.005.
const LEAST_GAIN: f64 = 0.02;
/// The round after which means of shells are laid on each other, as after the last.
const MEANS_ALIGNED: usize = 2;
/// How well mutual information places means of another contrast, mm. On a head of formulas it is 0.03; between one
/// unweighted volume and b 2500 of a real head that lay still it said 0.9 along the slices. Changes in time count beside
/// it.
const MEANS_MM: f64 = 0.1;
/// Means farther apart than this are laid on each other whatever changes in time say.
const FAR_APART_MM: f64 = 1.5;

/// Finds how each volume moved and was distorted, and replaces the series by the corrected one: at each voxel what
/// the head there showed, interpolated once from what was measured. Its frame is the first unweighted
/// volume's, or the first volume's; the mask is that of the brain where it lies there, without distortion.
///
/// # Errors
/// Where the user stops it; the series is then as it was.
pub fn correct(
    series: &mut Image,
    table: &GradientTable,
    mask: &Mask,
    options: &CorrectOptions,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Corrected, Interrupted> {
    let mut rounds = Rounds::new(series, table, mask, options, workers);
    let n = series.n_volumes as u64;
    progress.start("laying volumes on each other", n * options.fwhm_vox.len() as u64);
    for round in 0..options.fwhm_vox.len() {
        workers.install(|| rounds.round(round, progress))?;
        rounds.lay_shells_on_each_other(round, progress)?;
    }
    progress.start("resampling", n);
    let (mut corrected, patches) = workers.install(|| rounds.finish(progress))?;
    if options.replace {
        let [x, y, _] = series.grid.dims;
        let slice = |o: &Outlier| series.volume(o.volume)[o.slice * x * y..][..x * y].to_vec();
        corrected.measured = corrected.outliers.iter().map(slice).collect();
    }
    workers.install(|| {
        write(series, &corrected.places, options.distortion.as_ref(), &patches, progress)
    })?;
    Ok(corrected)
}

/// What replaces the signal of a volume: linear indices in the grid and samples.
struct Patch {
    volume: usize,
    samples: Vec<(usize, f32)>,
}

fn write(
    series: &mut Image,
    places: &[Place],
    distortion: Option<&Distortion>,
    patches: &[Patch],
    progress: &dyn Progress,
) -> Result<(), Interrupted> {
    let lattice = Lattice::new(&series.grid);
    for (volume, place) in places.iter().enumerate() {
        let samples = series.volume_mut(volume);
        for patch in patches.iter().filter(|patch| patch.volume == volume) {
            patch.samples.iter().for_each(|(at, value)| samples[*at] = *value);
        }
        // Where nothing moved, the samples stay as they are.
        if distortion.is_some() || *place != Place::still(place.axis, Eddy::None) {
            let least = samples.iter().copied().fold(0.0, f32::min);
            let spline = Spline::new(lattice.dims, samples);
            resampled(&spline, View { place, distortion, lattice: &lattice }, least, samples);
        }
        progress.advance(1);
    }
    Ok(())
}

struct Rounds<'a> {
    options: &'a CorrectOptions,
    workers: &'a Workers,
    table: &'a GradientTable,
    q: QSpace,
    /// What is known of the parameters.
    prior: Prior,
    /// Where the cropped volumes lie.
    lattice: Lattice,
    /// First voxel and size of what is kept.
    crop: [usize; 3],
    full: [usize; 3],
    /// Scanner axes of voxel axes.
    ras: Matrix3,
    volumes: Vec<Vec<f32>>,
    region: Region,
    places: Vec<Place>,
    /// Of what is kept.
    distortion: Option<Distortion>,
    outliers: Vec<Outlier>,
    /// The volumes at the voxels of the region, as smooth as the round has them.
    rows: Vec<Vec<f32>>,
    eddy_shift_mm: Vec<f64>,
}

impl<'a> Rounds<'a> {
    fn new(
        series: &Image,
        table: &'a GradientTable,
        mask: &Mask,
        options: &'a CorrectOptions,
        workers: &'a Workers,
    ) -> Self {
        let grid = series.grid;
        let (crop, dims) = cropped(mask, options.distortion.as_ref());
        let whole = Lattice::new(&grid);
        let mut lattice = Lattice { dims, ..whole };
        (0..3).for_each(|a| lattice.middle_vox[a] -= crop[a] as f64);
        let rows = |volume: usize| {
            let of = |row: usize| {
                let start = grid.index([crop[0], crop[1] + row % dims[1], crop[2] + row / dims[1]]);
                &series.volume(volume)[start..start + dims[0]]
            };
            (0..dims[1] * dims[2]).flat_map(of).copied().collect::<Vec<f32>>()
        };
        let mask = within(mask, crop, dims);
        let vox = transposed(&grid.ras_from_vox.rotation());
        let gradient = |v: usize| {
            let length = (table.b_s_per_mm2[v] / 1000.0).sqrt();
            (!table.is_b0(v)).then(|| turned(&vox, table.dirs_ras[v]).map(|g| g * length))
        };
        let place = |v: usize| {
            let eddy = if table.is_b0(v) { Eddy::None } else { options.eddy };
            Place::still(options.axis, eddy)
        };
        let n = series.n_volumes;
        // g √b along voxel axes, in units of the square root of 1000 s/mm².
        let gradients = (0..n).map(gradient).collect();
        let shells = table.shells();
        let first = shells[0].volumes[0];
        let shells = shells.into_iter().map(|shell| shell.volumes).collect();
        let prior = Prior::new(first, gradients, shells, options.eddy.terms());
        Self {
            options,
            workers,
            table,
            q: QSpace::new(table),
            prior,
            lattice,
            crop,
            full: grid.dims,
            ras: grid.ras_from_vox.rotation(),
            volumes: (0..n).map(rows).collect(),
            region: Region::around(&mask),
            places: (0..n).map(place).collect(),
            distortion: options.distortion.as_ref().map(|whole| whole.cropped(crop, dims)),
            outliers: Vec::new(),
            rows: Vec::new(),
            eddy_shift_mm: vec![0.0; n],
        }
    }
}

/// The voxels of a mask in what is kept.
fn within(mask: &Mask, crop: [usize; 3], dims: [usize; 3]) -> Mask {
    let inside = |&v: &u32| {
        let [i, j, k] = mask.grid.voxel(v as usize);
        let at = [i - crop[0], j - crop[1], k - crop[2]];
        (at[0] + dims[0] * (at[1] + dims[1] * at[2])) as u32
    };
    let grid = Grid { dims, ras_from_vox: mask.grid.ras_from_vox };
    Mask { grid, voxels: mask.voxels.iter().map(inside).collect() }
}

/// The first voxel and the size of what is kept of a volume: all slices, and in them a margin around the mask and where
/// it appears.
fn cropped(mask: &Mask, distortion: Option<&Distortion>) -> ([usize; 3], [usize; 3]) {
    let dims = mask.grid.dims;
    let (mut low, mut high) = (dims, [0; 3]);
    for &v in &mask.voxels {
        let at = mask.grid.voxel(v as usize);
        let appears = distortion.map(|distortion| distortion.appears_at(v as usize));
        // Beyond the grid there is nothing to keep.
        let appears = appears.map(|at| [0, 1].map(|a| (at[a].max(0.0) as usize).min(dims[a] - 1)));
        for a in 0..2 {
            for at in [Some(at[a]), appears.map(|at| at[a])].into_iter().flatten() {
                low[a] = low[a].min(at.saturating_sub(MARGIN));
                high[a] = high[a].max((at + MARGIN + 1).min(dims[a]));
            }
        }
    }
    ([low[0], low[1], 0], [high[0] - low[0], high[1] - low[1], dims[2]])
}
