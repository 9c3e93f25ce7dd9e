//! The rounds.

mod begin;
mod finish;
mod rounds;

use fimbria_compute::{Interrupted, Progress, Workers};
use fimbria_image::frames::{product, transposed, turned};
use fimbria_image::{GradientTable, Grid, Image, Mask};

use crate::distortion::Distortion;
use crate::joint::{EDDY, Order, Prior};
use crate::outliers::Outlier;
use crate::place::{Eddy, Lattice, Place};
use crate::predict::QSpace;
use crate::region::Region;
use crate::resample::resampled;
use crate::scan::Scan;
use crate::spline::Spline;
use crate::view::View;

/// How a series is corrected.
#[derive(Clone, Debug)]
pub struct CorrectOptions {
    /// Fields of eddy currents along the phase encoding.
    pub eddy: Eddy,
    /// Whether slices that lost their signal are replaced by prediction in the corrected series.
    pub replace: bool,
    /// Widths of the Gaussians that volumes are smoothed by, one a round, in voxels.
    pub fwhm_vox: Vec<f64>,
}

impl Default for CorrectOptions {
    fn default() -> Self {
        Self {
            eddy: Eddy::default(),
            replace: true,
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
    /// What signals of each scan were multiplied by to be as bright as those of the first; `None` where it has no shell in
    /// common with that, and was left as it is.
    pub scales: Vec<Option<f64>>,
    /// Shells whose volumes shifted with their gradients as no head does, since few directions predict each other badly: b,
    /// s/mm², and the largest part, mm, which was taken off.
    pub with_gradients: Vec<(f64, f64)>,
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

    /// Where each volume's head lay in the scanner, along the axes of the first grid, without what counts as eddy current.
    pub fn heads(&self, scans: &[Scan]) -> Vec<Place> {
        let scans = scans.iter().flat_map(|scan| std::iter::repeat_n(scan, scan.volumes));
        let volumes = self.places.iter().zip(&self.eddy_shift_mm).zip(scans.clone());
        let Some(first) = scans.map(|scan| scan.grid).next() else { return Vec::new() };
        volumes.map(|((place, eddy), scan)| scan.head(&first, place, *eddy)).collect()
    }

    /// How each volume's head moved, along RAS axes, without what counts as eddy current.
    pub fn motions(&self, scans: &[Scan]) -> Vec<Motion> {
        let Some(first) = scans.first() else { return Vec::new() };
        let ras = first.ras();
        let motion = |head: Place| {
            let turn = product(&product(&ras, &head.turn), &transposed(&ras));
            let shift_mm = turned(&ras, head.shift_mm);
            Motion { shift_mm, turn_rad: Place { turn, ..head }.angles() }
        };
        self.heads(scans).into_iter().map(motion).collect()
    }
}

/// Memory that [`correct`] takes beside the series, at most; of scans so many are distorted.
pub fn bytes_needed(
    grid: &Grid,
    volumes: usize,
    eddy: Eddy,
    distortions: usize,
    threads: usize,
) -> u64 {
    // The cropped series, rows of the region and predictions of them, what is compared of each volume (a slope along
    // each axis and a residual), the equations with their factor, and a few volumes of each thread.
    let compared = 4 * (COMPARED_VOXELS.min(grid.len()) * volumes) as u64;
    // Shifts along three axes, whole and cropped.
    let distortion = 6 * distortions as u64;
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
/// Of more volumes than so many fewer voxels are compared: the equations take their square.
const MANY_VOLUMES: usize = 300;
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
/// the head there showed, interpolated once from what was measured. Its frame is that of the first unweighted volume of
/// the first scan, or its first volume; the mask is that of the brain where it lies there, without distortion.
///
/// A series may be of several scans, one after the other: volumes of all of them predict each other and are laid on each
/// other together. Samples of each lie on its own grid, and those of the corrected series on the first one.
///
/// # Errors
/// Where the user stops it; the series is then as it was.
///
/// # Panics
/// Where there is no scan, or scans have more or fewer volumes than the series.
pub fn correct(
    series: &mut Image,
    scans: &[Scan],
    table: &GradientTable,
    mask: &Mask,
    options: &CorrectOptions,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Corrected, Interrupted> {
    assert_eq!(scans.iter().map(|scan| scan.volumes).sum::<usize>(), series.n_volumes);
    let mut rounds = Rounds::new(series, scans, table, mask, options, workers);
    let n = series.n_volumes as u64;
    if scans.len() > 1 {
        progress.start("laying scans on each other", 0);
        rounds.begin(progress)?;
    }
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
    workers.install(|| write(series, scans, &corrected, &patches, progress))?;
    Ok(corrected)
}

/// What replaces the signal of a volume: linear indices in the grid and samples.
struct Patch {
    volume: usize,
    samples: Vec<(usize, f32)>,
}

fn write(
    series: &mut Image,
    scans: &[Scan],
    corrected: &Corrected,
    patches: &[Patch],
    progress: &dyn Progress,
) -> Result<(), Interrupted> {
    let lattice = Lattice::new(&series.grid);
    let scans = scans.iter().zip(&corrected.scales);
    let each = scans.flat_map(|scan| std::iter::repeat_n(scan, scan.0.volumes));
    for ((volume, place), (scan, scale)) in corrected.places.iter().enumerate().zip(each) {
        let distortion = scan.distortion.as_ref();
        let samples = series.volume_mut(volume);
        if let Some(scale) = scale.filter(|scale| *scale != 1.0) {
            samples.iter_mut().for_each(|x| *x *= scale as f32);
        }
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
    scans: &'a [Scan],
    /// Of each volume.
    scan_of: Vec<usize>,
    table: &'a GradientTable,
    q: QSpace,
    /// What is known of the parameters.
    prior: Prior,
    /// Where the cropped volumes lie.
    lattice: Lattice,
    /// First voxel and size of what is kept.
    crop: [usize; 3],
    full: [usize; 3],
    volumes: Vec<Vec<f32>>,
    region: Region,
    places: Vec<Place>,
    /// Of each scan, of what is kept.
    distortions: Vec<Option<Distortion>>,
    outliers: Vec<Outlier>,
    /// The volumes at the voxels of the region, as smooth as the round has them.
    rows: Vec<Vec<f32>>,
    eddy_shift_mm: Vec<f64>,
    scales: Vec<Option<f64>>,
}

impl<'a> Rounds<'a> {
    fn new(
        series: &Image,
        scans: &'a [Scan],
        table: &'a GradientTable,
        mask: &Mask,
        options: &'a CorrectOptions,
        workers: &'a Workers,
    ) -> Self {
        let grid = series.grid;
        let (crop, dims) = cropped(mask, scans);
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
        let numbered = scans.iter().enumerate();
        let scan_of: Vec<usize> =
            numbered.flat_map(|(at, scan)| std::iter::repeat_n(at, scan.volumes)).collect();
        let gradient = |v: usize| {
            let scan = &scans[scan_of[v]];
            let length = (table.b_s_per_mm2[v] / 1000.0).sqrt();
            let length = if scan.is_reversed { -length } else { length };
            let vox = transposed(&scan.ras());
            (!table.is_b0(v)).then(|| turned(&vox, table.dirs_ras[v]).map(|g| g * length))
        };
        let place = |v: usize| {
            let eddy = if table.is_b0(v) { Eddy::None } else { options.eddy };
            scans[scan_of[v]].still(&grid, eddy)
        };
        let n = series.n_volumes;
        // g √b along voxel axes, in units of the square root of 1000 s/mm².
        let gradients = (0..n).map(gradient).collect();
        let shells = table.shells();
        let volumes = shells.iter().flat_map(|shell| &shell.volumes);
        let first = volumes.copied().find(|v| scan_of[*v] == 0).unwrap_or(0);
        let shells = shells.into_iter().map(|shell| shell.volumes).collect();
        let order = Order {
            axes: scan_of.iter().map(|scan| scans[*scan].axis).collect(),
            begins: (0..n).map(|v| v > 0 && scan_of[v] != scan_of[v - 1]).collect(),
        };
        let prior = Prior::new(first, gradients, shells, order, options.eddy.terms());
        let cropped = |whole: &Distortion| whole.cropped(crop, dims);
        let distortions = scans.iter().map(|scan| scan.distortion.as_ref().map(cropped)).collect();
        let volumes = (0..n).map(rows).collect();
        Self {
            options,
            workers,
            scans,
            table,
            q: QSpace::new(table),
            prior,
            lattice,
            crop,
            full: grid.dims,
            volumes,
            region: Region::around(&mask),
            places: (0..n).map(place).collect(),
            scan_of,
            distortions,
            outliers: Vec::new(),
            rows: Vec::new(),
            eddy_shift_mm: vec![0.0; n],
            // The first is what others are brought to.
            scales: (0..scans.len()).map(|scan| (scan == 0).then_some(1.0)).collect(),
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
fn cropped(mask: &Mask, scans: &[Scan]) -> ([usize; 3], [usize; 3]) {
    let dims = mask.grid.dims;
    let (mut low, mut high) = (dims, [0; 3]);
    for &v in &mask.voxels {
        let at = mask.grid.voxel(v as usize);
        let appears = scans.iter().filter_map(|scan| scan.distortion.as_ref());
        let appears = appears.map(|distortion| distortion.appears_at(v as usize));
        // Beyond the grid there is nothing to keep.
        let inside = |at: [f64; 3]| [0, 1].map(|a| (at[a].max(0.0) as usize).min(dims[a] - 1));
        for at in appears.map(inside).chain([[at[0], at[1]]]) {
            for a in 0..2 {
                low[a] = low[a].min(at[a].saturating_sub(MARGIN));
                high[a] = high[a].max((at[a] + MARGIN + 1).min(dims[a]));
            }
        }
    }
    ([low[0], low[1], 0], [high[0] - low[0], high[1] - low[1], dims[2]])
}
