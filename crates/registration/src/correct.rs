//! The rounds.

use fimbria_compute::{Interrupted, Progress, Workers};
use fimbria_image::frames::{Matrix3, product, transposed, turned};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask};
use rayon::prelude::*;

use crate::align::{AlignOptions, align};
use crate::eddy_model::ShellFields;
use crate::outliers::{Outlier, SliceSums, outliers};
use crate::place::{Eddy, Lattice, Place};
use crate::predict::{Predictor, QSpace};
use crate::region::Region;
use crate::register::{Fit, lay_on, touches};
use crate::resample::resampled;
use crate::smooth::smooth;
use crate::spline::Spline;

/// How a series is corrected.
#[derive(Clone, Debug)]
pub struct CorrectOptions {
    /// The voxel axis of the phase encoding.
    pub axis: usize,
    /// Fields of eddy currents along it.
    pub eddy: Eddy,
    /// Whether slices that lost their signal are replaced by prediction in the corrected series.
    pub replace: bool,
    /// Widths of the Gaussians that volumes are smoothed by, one a round, in voxels.
    pub fwhm_vox: Vec<f64>,
}

impl Default for CorrectOptions {
    fn default() -> Self {
        Self {
            axis: 1,
            eddy: Eddy::default(),
            replace: true,
            fwhm_vox: vec![4.0, 2.5, 2.0, 1.5, 1.5, 1.0, 1.0, 1.0],
        }
    }
}

/// What was found of a series.
#[derive(Clone, Debug)]
pub struct Corrected {
    /// Where each volume lies.
    pub places: Vec<Place>,
    /// The part of each volume's shift along the phase encoding, mm, that follows its gradient and counts as
    /// eddy current.
    pub eddy_shift_mm: Vec<f64>,
    /// Each volume over its prediction.
    pub scales: Vec<f64>,
    /// Slices that lost their signal.
    pub outliers: Vec<Outlier>,
    /// Root mean square over the mask of what predictions leave of each volume, over its mean: before and
    /// after. NaN where nothing predicts it.
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
pub fn bytes_needed(grid: &Grid, volumes: usize, threads: usize) -> u64 {
    // The cropped series and rows of the region, and a few volumes of each thread.
    4 * grid.len() as u64 * (2 * volumes as u64 + 8 * threads as u64)
}

/// Voxels around the region that are kept of each volume.
const MARGIN: usize = 5;
/// Voxels that the covariance over volumes is estimated from, at most.
const COVARIANCE_VOXELS: usize = 20_000;
/// Voxels that early rounds compare.
const EARLY_VOXELS: usize = 25_000;

/// Finds how each volume moved and was distorted, and replaces the series by the corrected one: at each voxel what
/// the head there showed, interpolated once from what was measured. Its frame is the first unweighted
/// volume's, or the first volume's.
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
    let made = workers.install(|| rounds.finish(progress))?;
    let (found, patches) = made;
    workers.install(|| write(series, &found.places, &patches, progress))?;
    Ok(found)
}

/// What replaces the signal of a volume: linear indices in the grid and samples.
struct Patch {
    volume: usize,
    samples: Vec<(usize, f32)>,
}

fn write(
    series: &mut Image,
    places: &[Place],
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
        if *place != Place::still(place.axis, Eddy::None) {
            let least = samples.iter().copied().fold(0.0, f32::min);
            let spline = Spline::new(lattice.dims, samples);
            resampled(&spline, &lattice, place, least, samples);
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
    /// g √b along voxel axes, in units of √(s/mm²) of 1000.
    gradients: Vec<[f64; 3]>,
    /// Where the cropped volumes lie.
    lattice: Lattice,
    /// First voxel and size of what is kept.
    crop: [usize; 3],
    full: [usize; 3],
    /// Scanner axes of voxel axes.
    ras: Matrix3,
    volumes: Vec<Vec<f32>>,
    region: Region,
    fits: Vec<Fit>,
    outliers: Vec<Outlier>,
    /// The volumes at the voxels of the region, as smooth as the round has them.
    rows: Vec<Vec<f32>>,
    eddy_shift_mm: Vec<f64>,
    before: Vec<f64>,
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
        let (crop, dims) = cropped(mask);
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
        let inside = |&v: &u32| {
            let [i, j, k] = grid.voxel(v as usize);
            let at = [i - crop[0], j - crop[1], k - crop[2]];
            (at[0] + dims[0] * (at[1] + dims[1] * at[2])) as u32
        };
        let local = Grid { dims, ras_from_vox: grid.ras_from_vox };
        let mask = Mask { grid: local, voxels: mask.voxels.iter().map(inside).collect() };
        let vox = transposed(&grid.ras_from_vox.rotation());
        let gradient = |v: usize| {
            let length = (table.b_s_per_mm2[v] / 1000.0).sqrt();
            turned(&vox, table.dirs_ras[v]).map(|g| g * length)
        };
        let place = |v: usize| {
            let eddy = if table.is_b0(v) { Eddy::None } else { options.eddy };
            Place::still(options.axis, eddy)
        };
        let fit = |v: usize| Fit { place: place(v), scale: 1.0, variances: Vec::new() };
        let n = series.n_volumes;
        Self {
            options,
            workers,
            table,
            q: QSpace::new(table),
            gradients: (0..n).map(gradient).collect(),
            lattice,
            crop,
            full: grid.dims,
            ras: grid.ras_from_vox.rotation(),
            volumes: (0..n).map(rows).collect(),
            region: Region::around(&mask),
            fits: (0..n).map(fit).collect(),
            outliers: Vec::new(),
            rows: Vec::new(),
            eddy_shift_mm: vec![0.0; n],
            before: Vec::new(),
        }
    }

    fn smoothed(&self, volume: usize, fwhm_vox: f64) -> Spline {
        let mut samples = self.volumes[volume].clone();
        let spacing = self.lattice.spacing_mm;
        let voxel = spacing.iter().product::<f64>().cbrt();
        smooth(self.lattice.dims, spacing, &mut samples, fwhm_vox * voxel);
        Spline::new(self.lattice.dims, &samples)
    }

    /// A volume at the voxels of the region, where the head is by its place.
    fn row(&self, volume: usize, spline: &Spline) -> Vec<f32> {
        let place = &self.fits[volume].place;
        let sample = |&v: &u32| {
            let (at, jacobian) = place.apply(self.lattice.place(v as usize));
            spline.at(self.lattice.vox(at)).map_or(0.0, |value| value * jacobian as f32)
        };
        self.region.voxels.iter().map(sample).collect()
    }

    /// For each slice of a volume whether it lost its signal.
    fn dropped(&self, volume: usize) -> Vec<bool> {
        let mut dropped = vec![false; self.lattice.dims[2]];
        for found in self.outliers.iter().filter(|found| found.volume == volume) {
            dropped[found.slice - self.crop[2]] = true;
        }
        dropped
    }

    /// Rows of all volumes with the predictor of them; dropped slices are replaced by prediction.
    fn predicted(&mut self, fwhm_vox: f64) -> Predictor {
        let n = self.volumes.len();
        let rows = (0..n).into_par_iter().map(|v| self.row(v, &self.smoothed(v, fwhm_vox)));
        self.rows = rows.collect();
        // Twice, since what replaces a slice rests on others that were replaced.
        let mut predictor = Predictor::new(&self.q, &self.moment());
        for _ in 0..2 {
            let volumes: Vec<usize> =
                (0..n).filter(|v| self.outliers.iter().any(|found| found.volume == *v)).collect();
            if volumes.is_empty() {
                break;
            }
            let replaced = volumes.into_par_iter().map(|v| (v, self.replaced(v, &predictor)));
            for (v, row) in replaced.collect::<Vec<_>>() {
                self.rows[v] = row;
            }
            predictor = Predictor::new(&self.q, &self.moment());
        }
        predictor
    }

    fn replaced(&self, volume: usize, predictor: &Predictor) -> Vec<f32> {
        let dropped = self.dropped(volume);
        let fit = &self.fits[volume];
        let mut row = self.rows[volume].clone();
        let predicted = predictor.predict(volume, &self.rows);
        for ((value, predicted), &v) in row.iter_mut().zip(predicted).zip(&self.region.voxels) {
            let at = self.lattice.vox(fit.place.apply(self.lattice.place(v as usize)).0);
            if touches(&dropped, at[2]) {
                *value = predicted * fit.scale as f32;
            }
        }
        row
    }

    /// Sums over voxels of products of volumes.
    fn moment(&self) -> Vec<f64> {
        let n = self.rows.len();
        let every = self.region.inner.len().div_ceil(COVARIANCE_VOXELS).max(1);
        let picked: Vec<Vec<f64>> = self
            .rows
            .par_iter()
            .map(|row| {
                let inner = self.region.inner.iter().step_by(every);
                inner.map(|voxel| f64::from(row[voxel.at as usize])).collect()
            })
            .collect();
        let product = |i: usize, j: usize| -> f64 {
            picked[i].iter().zip(&picked[j]).map(|(a, b)| a * b).sum()
        };
        let half: Vec<Vec<f64>> =
            (0..n).into_par_iter().map(|i| (0..=i).map(|j| product(i, j)).collect()).collect();
        (0..n * n).map(|at| half[(at / n).max(at % n)][(at / n).min(at % n)]).collect()
    }

    fn round(&mut self, round: usize, progress: &dyn Progress) -> Result<(), Interrupted> {
        let fwhm = self.options.fwhm_vox[round];
        let is_early = round + 2 < self.options.fwhm_vox.len();
        let inner = self.region.inner.len();
        let every = if is_early { inner.div_ceil(EARLY_VOXELS).max(1) } else { 1 };
        let predictor = self.predicted(fwhm);
        if round == 0 {
            self.before = self.left(&predictor);
        }
        let this = &*self;
        let fits = (0..this.volumes.len()).into_par_iter().map(|v| {
            progress.check()?;
            let mut fit = this.fits[v].clone();
            if this.q.is_predictable(v) {
                let prediction = predictor.predict(v, &this.rows);
                let spline = this.smoothed(v, fwhm);
                let dropped = this.dropped(v);
                let (lattice, region) = (&this.lattice, &this.region);
                fit = lay_on(&spline, &prediction, lattice, region, &fit.place, &dropped, every);
            }
            progress.advance(1);
            Ok(fit)
        });
        self.fits = fits.collect::<Result<_, Interrupted>>()?;
        if round > 0 {
            self.find_outliers(&predictor);
        }
        self.follow_gradients();
        Ok(())
    }

    fn find_outliers(&mut self, predictor: &Predictor) {
        let this = &*self;
        let sums: Vec<SliceSums> = (0..this.volumes.len())
            .into_par_iter()
            .map(|v| this.slice_sums(v, predictor))
            .collect();
        let mut found = Vec::new();
        for shell in self.table.shells().iter().filter(|shell| shell.volumes.len() > 1) {
            let of: Vec<_> = shell.volumes.iter().map(|&v| (v, sums[v].clone())).collect();
            found.extend(outliers(&of));
        }
        found.iter_mut().for_each(|f| f.slice += self.crop[2]);
        found.sort_by_key(|f| (f.volume, f.slice));
        self.outliers = found;
    }

    fn slice_sums(&self, volume: usize, predictor: &Predictor) -> SliceSums {
        let mut sums = SliceSums::new(self.lattice.dims[2]);
        let fit = &self.fits[volume];
        let spline = self.smoothed(volume, 0.0);
        let prediction = predictor.predict(volume, &self.rows);
        for voxel in &self.region.inner {
            let place = self.lattice.place(self.region.voxels[voxel.at as usize] as usize);
            let (at, jacobian) = fit.place.apply(place);
            let at = self.lattice.vox(at);
            if let Some(value) = spline.at(at) {
                // Half a voxel below the first slice at most.
                let slice = at[2].round().max(0.0) as usize;
                let expected = fit.scale * f64::from(prediction[voxel.at as usize]);
                sums.residual[slice] += f64::from(value) * jacobian - expected;
                sums.predicted[slice] += expected;
                sums.voxels[slice] += 1;
            }
        }
        sums
    }

    /// Fields of each shell as functions of its gradients, and how much of the shift is one.
    fn follow_gradients(&mut self) {
        for shell in self.table.shells() {
            let volumes = shell.volumes;
            if self.table.is_b0(volumes[0]) || self.options.eddy == Eddy::None {
                continue;
            }
            let gradients: Vec<[f64; 3]> = volumes.iter().map(|&v| self.gradients[v]).collect();
            let axis = self.options.axis;
            let shifts: Vec<[f64; 1]> =
                volumes.iter().map(|&v| [self.fits[v].place.shift_mm[axis]]).collect();
            let shifts: Vec<&[f64]> = shifts.iter().map(|s| &s[..]).collect();
            if let Some(shift) = ShellFields::new(&gradients, &shifts) {
                for (&v, gradient) in volumes.iter().zip(&gradients) {
                    self.eddy_shift_mm[v] = shift.follows(0, *gradient);
                }
            }
            let mut fields: Vec<Vec<f64>> =
                volumes.iter().map(|&v| self.fits[v].place.eddy.clone()).collect();
            let slices: Vec<&[f64]> = fields.iter().map(Vec::as_slice).collect();
            let Some(model) = ShellFields::new(&gradients, &slices) else { continue };
            let variances: Vec<&[f64]> =
                volumes.iter().map(|&v| self.fits[v].variances.as_slice()).collect();
            let mut each: Vec<&mut Vec<f64>> = fields.iter_mut().collect();
            if variances.iter().all(|v| !v.is_empty()) {
                model.shrink(&gradients, &mut each, &variances);
            }
            for (&v, field) in volumes.iter().zip(fields) {
                self.fits[v].place.eddy = field;
            }
        }
    }

    /// What is the same in all volumes of a shell no prediction sees: lays the first volume on the frame of the
    /// series, and each shell's mean on that of the shell below.
    fn lay_shells_on_each_other(
        &mut self,
        round: usize,
        progress: &dyn Progress,
    ) -> Result<(), Interrupted> {
        let shells = self.table.shells();
        let first = shells[0].volumes[0];
        let undone = self.fits[first].place.undone();
        shells[0].volumes.iter().for_each(|&v| self.fits[v].place.after(&undone));
        if round + 1 != self.options.fwhm_vox.len() && round != 1 {
            return Ok(());
        }
        let workers = self.workers;
        let fwhm = self.options.fwhm_vox[round].max(1.0);
        let mut below = workers.install(|| self.mean(&shells[0].volumes, fwhm));
        for shell in &shells[1..] {
            let mean = workers.install(|| self.mean(&shell.volumes, fwhm));
            let voxels = self.region.inner.iter().map(|i| self.region.voxels[i.at as usize]);
            let mask = Mask { grid: below.grid, voxels: voxels.collect() };
            let options =
                AlignOptions { fwhm_mm: vec![4.0, 2.0], first_step: 2.0, last_step: 0.02 };
            let found = align(&below, &mask, &mean, &options, workers, progress)?;
            let mut common = Place::still(self.options.axis, Eddy::None);
            common.turn = found.linear();
            common.shift_mm = found.0.map(|row| row[3]);
            shell.volumes.iter().for_each(|&v| self.fits[v].place.after(&common));
            below = workers.install(|| self.mean(&shell.volumes, fwhm));
        }
        Ok(())
    }

    /// The mean of some volumes where they lie, on the cropped grid with places as its scanner mm.
    fn mean(&self, volumes: &[usize], fwhm_vox: f64) -> Image {
        let spacing = self.lattice.spacing_mm;
        let mut ras_from_vox = Affine::from_spacing(spacing);
        (0..3).for_each(|a| ras_from_vox.0[a][3] = -self.lattice.middle_vox[a] * spacing[a]);
        let grid = Grid { dims: self.lattice.dims, ras_from_vox };
        let mut mean = Image::zeros(grid, 1);
        let mut one = vec![0.0; grid.len()];
        for &v in volumes {
            let spline = self.smoothed(v, fwhm_vox);
            resampled(&spline, &self.lattice, &self.fits[v].place, 0.0, &mut one);
            mean.data.iter_mut().zip(&one).for_each(|(sum, x)| *sum += x / volumes.len() as f32);
        }
        mean
    }

    /// What predictions leave of each volume over its mean.
    fn left(&self, predictor: &Predictor) -> Vec<f64> {
        let of = |v: usize| {
            if !self.q.is_predictable(v) {
                return f64::NAN;
            }
            let prediction = predictor.predict(v, &self.rows);
            let (mut squares, mut sum) = (0.0, 0.0);
            for voxel in &self.region.inner {
                let at = voxel.at as usize;
                squares += f64::from(self.rows[v][at] - prediction[at]).powi(2);
                sum += f64::from(self.rows[v][at]);
            }
            (squares / self.region.inner.len() as f64).sqrt()
                / (sum / self.region.inner.len() as f64)
        };
        (0..self.volumes.len()).into_par_iter().map(of).collect()
    }

    fn finish(mut self, progress: &dyn Progress) -> Result<(Corrected, Vec<Patch>), Interrupted> {
        // As smooth as the first round, so that the two compare.
        let first = self.options.fwhm_vox[0];
        let smooth = self.predicted(first);
        let after = self.left(&smooth);
        progress.check()?;
        let predictor = self.predicted(0.0);
        let patches = match self.options.replace {
            true => self.outliers.par_iter().map(|found| self.patch(found, &predictor)).collect(),
            false => Vec::new(),
        };
        let mut table = self.table.clone();
        let vox = transposed(&self.ras);
        for (fit, dir) in self.fits.iter().zip(&mut table.dirs_ras) {
            let seen = turned(&transposed(&fit.place.turn), turned(&vox, *dir));
            *dir = turned(&self.ras, seen);
        }
        let found = Corrected {
            places: self.fits.iter().map(|fit| fit.place.clone()).collect(),
            eddy_shift_mm: self.eddy_shift_mm,
            scales: self.fits.iter().map(|fit| fit.scale).collect(),
            outliers: self.outliers,
            left: [self.before, after],
            table,
            covariance: [predictor.decay, predictor.noise],
        };
        Ok((found, patches))
    }

    /// What a slice would have shown where the region was measured in it.
    fn patch(&self, found: &Outlier, predictor: &Predictor) -> Patch {
        let (dims, lattice) = (self.lattice.dims, &self.lattice);
        let fit = &self.fits[found.volume];
        let mut spread = vec![0.0; dims.iter().product()];
        let prediction = predictor.predict(found.volume, &self.rows);
        for (value, &v) in prediction.iter().zip(&self.region.voxels) {
            spread[v as usize] = *value;
        }
        let spline = Spline::new(dims, &spread);
        let first = (found.slice - self.crop[2]) * dims[0] * dims[1];
        let value = |at: usize| {
            let head = fit.place.invert(lattice.place(at));
            let vox = lattice.vox(head);
            let nearest = vox.map(f64::round);
            let inside = (0..3).all(|a| nearest[a] >= 0.0 && nearest[a] < dims[a] as f64);
            let [i, j, k] = nearest.map(|v| v as usize);
            let voxel = (i + dims[0] * (j + dims[1] * k)) as u32;
            if !inside || self.region.voxels.binary_search(&voxel).is_err() {
                return None;
            }
            let (_, jacobian) = fit.place.apply(head);
            let value = spline.at(vox)? * (fit.scale / jacobian) as f32;
            let row = at / dims[0];
            let whole = [at % dims[0], row % dims[1], row / dims[1]];
            let [x, y, z] = std::array::from_fn(|a| whole[a] + self.crop[a]);
            Some((x + self.full[0] * (y + self.full[1] * z), value))
        };
        let samples = (first..first + dims[0] * dims[1]).filter_map(value).collect();
        Patch { volume: found.volume, samples }
    }
}

/// The first voxel and the size of what is kept of a volume: all slices, and in them a margin around the mask.
fn cropped(mask: &Mask) -> ([usize; 3], [usize; 3]) {
    let dims = mask.grid.dims;
    let (mut low, mut high) = (dims, [0; 3]);
    for &v in &mask.voxels {
        let at = mask.grid.voxel(v as usize);
        for a in 0..2 {
            low[a] = low[a].min(at[a].saturating_sub(MARGIN));
            high[a] = high[a].max((at[a] + MARGIN + 1).min(dims[a]));
        }
    }
    ([low[0], low[1], 0], [high[0] - low[0], high[1] - low[1], dims[2]])
}
