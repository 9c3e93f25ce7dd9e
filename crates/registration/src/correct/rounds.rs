//! One round: predict each volume, lay it on its prediction, find dropped slices, follow the gradients.

use fimbria_compute::{Interrupted, Progress};
use fimbria_image::{Affine, Grid, Image, Mask};
use rayon::prelude::*;

use super::{COVARIANCE_VOXELS, EARLY_VOXELS, Rounds};
use crate::align::{AlignOptions, align};
use crate::eddy_model::ShellFields;
use crate::outliers::{SliceSums, outliers};
use crate::place::{Eddy, Place};
use crate::predict::Predictor;
use crate::register::{lay_on, touches};
use crate::resample::resampled;
use crate::smooth::smooth;
use crate::spline::Spline;

impl Rounds<'_> {
    pub(super) fn smoothed(&self, volume: usize, fwhm_vox: f64) -> Spline {
        let mut samples = self.volumes[volume].clone();
        let spacing = self.lattice.spacing_mm;
        let voxel = spacing.iter().product::<f64>().cbrt();
        smooth(self.lattice.dims, spacing, &mut samples, fwhm_vox * voxel);
        Spline::new(self.lattice.dims, &samples)
    }

    /// A volume at the voxels of the region, where the head is by its place.
    pub(super) fn row(&self, volume: usize, spline: &Spline) -> Vec<f32> {
        let place = &self.fits[volume].place;
        let sample = |&v: &u32| {
            let (at, jacobian) = place.apply(self.lattice.place(v as usize));
            spline.at(self.lattice.vox(at)).map_or(0.0, |value| value * jacobian as f32)
        };
        self.region.voxels.iter().map(sample).collect()
    }

    /// For each slice of a volume whether it lost its signal.
    pub(super) fn dropped(&self, volume: usize) -> Vec<bool> {
        let mut dropped = vec![false; self.lattice.dims[2]];
        for outlier in self.outliers.iter().filter(|outlier| outlier.volume == volume) {
            dropped[outlier.slice - self.crop[2]] = true;
        }
        dropped
    }

    /// Rows of all volumes with the predictor of them; dropped slices are replaced by prediction.
    pub(super) fn predicted(&mut self, fwhm_vox: f64) -> Predictor {
        let n = self.volumes.len();
        let rows = (0..n).into_par_iter().map(|v| self.row(v, &self.smoothed(v, fwhm_vox)));
        self.rows = rows.collect();
        // Twice, since what replaces a slice rests on others that were replaced.
        let mut predictor = Predictor::new(&self.q, &self.moment());
        for _ in 0..2 {
            let volumes: Vec<usize> = (0..n)
                .filter(|v| self.outliers.iter().any(|outlier| outlier.volume == *v))
                .collect();
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

    pub(super) fn replaced(&self, volume: usize, predictor: &Predictor) -> Vec<f32> {
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
    pub(super) fn moment(&self) -> Vec<f64> {
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

    pub(super) fn round(
        &mut self,
        round: usize,
        progress: &dyn Progress,
    ) -> Result<(), Interrupted> {
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
        let mut all = Vec::new();
        for shell in self.table.shells().iter().filter(|shell| shell.volumes.len() > 1) {
            let of: Vec<_> = shell.volumes.iter().map(|&v| (v, sums[v].clone())).collect();
            all.extend(outliers(&of));
        }
        all.iter_mut().for_each(|f| f.slice += self.crop[2]);
        all.sort_by_key(|f| (f.volume, f.slice));
        self.outliers = all;
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
    pub(super) fn lay_shells_on_each_other(
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
            let transform = align(&below, &mask, &mean, &options, workers, progress)?;
            let mut common = Place::still(self.options.axis, Eddy::None);
            common.turn = transform.linear();
            common.shift_mm = transform.0.map(|row| row[3]);
            shell.volumes.iter().for_each(|&v| self.fits[v].place.after(&common));
            below = workers.install(|| self.mean(&shell.volumes, fwhm));
        }
        Ok(())
    }

    /// The mean of some volumes where they lie, on the cropped grid with places as its scanner mm.
    pub(super) fn mean(&self, volumes: &[usize], fwhm_vox: f64) -> Image {
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
}
