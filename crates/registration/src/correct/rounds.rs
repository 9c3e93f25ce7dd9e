//! One round: predict each volume, lay all on their predictions together, find dropped slices.

use fimbria_compute::dense::vec3::norm;
use fimbria_compute::{Interrupted, Progress};
use fimbria_image::{Affine, Grid, Image, Mask};
use rayon::prelude::*;

use super::{
    CLASSES, COMPARED_VOXELS, COVARIANCE_VOXELS, FAR_APART_MM, MANY_VOLUMES, MEANS_ALIGNED,
    MEANS_MM, Rounds,
};
use crate::align::{AlignOptions, align};
use crate::joint::{EDDY, Joint, Signals, TURN_MM};
use crate::outliers::{SliceSums, outliers, touches};
use crate::place::{Eddy, Place, rotation};
use crate::predict::Predictor;
use crate::resample::resampled;
use crate::smooth::smooth;
use crate::spline::Spline;
use crate::view::View;

impl Rounds<'_> {
    pub(super) fn smoothed(&self, volume: usize, fwhm_vox: f64) -> Spline {
        let mut samples = self.volumes[volume].clone();
        let spacing = self.lattice.spacing_mm;
        let voxel = spacing.iter().product::<f64>().cbrt();
        smooth(self.lattice.dims, spacing, &mut samples, fwhm_vox * voxel);
        Spline::new(self.lattice.dims, &samples)
    }

    /// The way from the head to a volume.
    pub(super) fn view(&self, volume: usize) -> View<'_> {
        let (place, lattice) = (&self.places[volume], &self.lattice);
        View { place, distortion: self.distortions[self.scan_of[volume]].as_ref(), lattice }
    }

    /// A volume at the voxels of the region, where the head is by its place.
    pub(super) fn row(&self, volume: usize, spline: &Spline) -> Vec<f32> {
        let view = self.view(volume);
        let sample = |&v: &u32| {
            let (at, jacobian) = view.appears(v as usize);
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
        let mut predictor = Predictor::new(&self.q, &self.moment(|_| true));
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
            predictor = Predictor::new(&self.q, &self.moment(|_| true));
        }
        predictor
    }

    pub(super) fn replaced(&self, volume: usize, predictor: &Predictor) -> Vec<f32> {
        let dropped = self.dropped(volume);
        let view = self.view(volume);
        let mut row = self.rows[volume].clone();
        let predicted = predictor.predict(volume, &self.rows);
        for ((value, predicted), &v) in row.iter_mut().zip(predicted).zip(&self.region.voxels) {
            let at = self.lattice.vox(view.appears(v as usize).0);
            if touches(&dropped, at[2]) {
                *value = predicted;
            }
        }
        row
    }

    /// Sums over these voxels of the region of products of volumes.
    fn moment(&self, is_in: impl Fn(usize) -> bool) -> Vec<f64> {
        let n = self.rows.len();
        let own: Vec<usize> = self
            .region
            .inner
            .iter()
            .map(|voxel| voxel.at as usize)
            .filter(|at| is_in(*at))
            .collect();
        let every = own.len().div_ceil(COVARIANCE_VOXELS).max(1);
        let picked: Vec<Vec<f64>> = self
            .rows
            .par_iter()
            .map(|row| own.iter().step_by(every).map(|at| f64::from(row[*at])).collect())
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
        let predictor = self.predicted(fwhm);
        let n = self.volumes.len();
        let this = &*self;
        let predictions = (0..n).into_par_iter().map(|v| {
            progress.check()?;
            progress.advance(1);
            Ok(predictor.predict(v, &this.rows))
        });
        let predictions = predictions.collect::<Result<Vec<_>, Interrupted>>()?;
        let number = if round == 0 { 1 } else { CLASSES };
        let classes = this.classes(&predictions, number);
        let moments = (0..number).into_par_iter().map(|class| {
            let moment = this.moment(|at| usize::from(classes[at]) == class);
            Predictor::new(&this.q, &moment).precision()
        });
        let sigma = fwhm / (8.0 * std::f64::consts::LN_2).sqrt();
        let signals = Signals {
            rows: &this.rows,
            predictions: &predictions,
            classes: &classes,
            precisions: moments.collect(),
            shared: (1.0 + 4.0 * std::f64::consts::PI * sigma * sigma).powf(1.5),
        };
        let compared = COMPARED_VOXELS * MANY_VOLUMES / n.max(MANY_VOLUMES);
        let every = this.region.inner.len().div_ceil(compared).max(1);
        let joint =
            Joint::new(&signals, &this.places, &this.lattice, &this.region, every, &this.prior);
        let theta = self.parameters();
        let steps = joint.solve(&theta, &mut self.prior, round > MEANS_ALIGNED, progress)?;
        self.step(&steps);
        if round > 0 {
            self.find_outliers(&predictor);
        }
        Ok(())
    }

    /// Parameters of all volumes as the prior has them.
    fn parameters(&self) -> Vec<f64> {
        let first = &self.scans[0].grid;
        let of = |((place, eddy), &scan): ((&Place, &f64), &usize)| {
            let head = self.scans[scan].head(first, place, *eddy);
            let mut all: Vec<f64> = head.turn_vector().map(|w| w * TURN_MM).to_vec();
            all.extend(head.shift_mm);
            if self.prior.has_field() {
                all.push(*eddy);
                all.extend(&place.eddy);
                all.resize(self.prior.width(), 0.0);
            }
            all
        };
        self.places.iter().zip(&self.eddy_shift_mm).zip(&self.scan_of).flat_map(of).collect()
    }

    /// Moves all volumes.
    fn step(&mut self, steps: &[f64]) {
        let rows = steps.chunks_exact(self.prior.width());
        for ((place, eddy), step) in self.places.iter_mut().zip(&mut self.eddy_shift_mm).zip(rows) {
            let turn = [0, 1, 2].map(|a| step[a] / TURN_MM);
            place.step(turn, [step[3], step[4], step[5]]);
            if step.len() > EDDY {
                place.shift_mm[place.axis] += step[EDDY];
                *eddy += step[EDDY];
                place.eddy.iter_mut().zip(&step[EDDY + 1..]).for_each(|(a, d)| *a += d);
            }
        }
    }

    /// Voxels by how much their signal varies with the direction, from least to most: a volume that moved shows
    /// where it does not.
    fn classes(&self, predictions: &[Vec<f32>], number: usize) -> Vec<u8> {
        let length = self.region.voxels.len();
        let mut variance = vec![0.0f32; length];
        for shell in self.table.shells().iter().filter(|s| !self.q.is_b0[s.volumes[0]]) {
            let part = 1.0 / shell.volumes.len() as f32;
            let mut sums = vec![[0.0f32; 2]; length];
            for &v in &shell.volumes {
                for (sum, &value) in sums.iter_mut().zip(&predictions[v]) {
                    sum[0] += part * value;
                    sum[1] += part * value * value;
                }
            }
            variance.iter_mut().zip(&sums).for_each(|(out, [a, b])| *out += (b - a * a).max(0.0));
        }
        let mut sorted: Vec<f32> =
            self.region.inner.iter().map(|voxel| variance[voxel.at as usize]).collect();
        sorted.sort_unstable_by(f32::total_cmp);
        let limits: Vec<f32> = (1..number)
            .map(|k| sorted[(k * sorted.len() / number).min(sorted.len() - 1)])
            .collect();
        variance.iter().map(|v| limits.iter().filter(|limit| *v > **limit).count() as u8).collect()
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
        let view = self.view(volume);
        let spline = self.smoothed(volume, 0.0);
        let prediction = predictor.predict(volume, &self.rows);
        for voxel in &self.region.inner {
            let (at, jacobian) = view.appears(self.region.voxels[voxel.at as usize] as usize);
            let at = self.lattice.vox(at);
            if let Some(value) = spline.at(at) {
                // Half a voxel below the first slice at most.
                let slice = at[2].round().max(0.0) as usize;
                let expected = f64::from(prediction[voxel.at as usize]);
                sums.residual[slice] += f64::from(value) * jacobian - expected;
                sums.predicted[slice] += expected;
                sums.voxels[slice] += 1;
            }
        }
        sums
    }

    /// What is the same in all volumes of a shell no prediction sees: lays the first volume on the frame of the
    /// series, and at times each shell's mean on that of the shell below.
    pub(super) fn lay_shells_on_each_other(
        &mut self,
        round: usize,
        progress: &dyn Progress,
    ) -> Result<(), Interrupted> {
        let shells = self.table.shells();
        let undone = self.places[self.prior.first()].undone();
        self.places.iter_mut().for_each(|place| place.after(&undone));
        if round != MEANS_ALIGNED && round + 1 != self.options.fwhm_vox.len() {
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
                AlignOptions { fwhm_mm: vec![4.0, 2.0], first_step: 2.0, searches: false };
            let transform = align(&below, &mask, &mean, &options, workers, progress)?;
            let mut common = Place::still(0, Eddy::None);
            common.turn = transform.linear();
            common.shift_mm = transform.0.map(|row| row[3]);
            let turned = common.turn_vector().map(|w| w * TURN_MM);
            if norm(turned).max(norm(common.shift_mm)) < FAR_APART_MM {
                // As far as the head may have moved between volumes of the two.
                let fewer = shells[0].volumes.len().min(shell.volumes.len()) as f64;
                let [turn, shift] = self.prior.changes().map(|width| {
                    let moved = width * width / fewer;
                    moved / (moved + MEANS_MM * MEANS_MM)
                });
                common.turn = rotation(turned.map(|w| turn * w / TURN_MM));
                common.shift_mm = common.shift_mm.map(|x| shift * x);
            }
            shell.volumes.iter().for_each(|&v| self.places[v].after(&common));
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
            resampled(&spline, self.view(v), 0.0, &mut one);
            mean.data.iter_mut().zip(&one).for_each(|(sum, x)| *sum += x / volumes.len() as f32);
        }
        mean
    }
}
