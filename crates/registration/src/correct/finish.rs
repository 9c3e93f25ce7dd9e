//! What the rounds end with: how close volumes came, the turned table, what replaces dropped slices.

use fimbria_compute::{Interrupted, Progress};
use rayon::prelude::*;

use fimbria_image::frames::{transposed, turned};

use super::{Corrected, LEAST_GAIN, Patch, Rounds};
use crate::outliers::Outlier;
use crate::place::Eddy;
use crate::predict::Predictor;
use crate::spline::Spline;

impl Rounds<'_> {
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

    /// The same as smooth as the first round has them, so that interpolation does not count.
    fn left_where_laid(&mut self) -> Vec<f64> {
        let predictor = self.predicted(self.options.fwhm_vox[0]);
        self.left(&predictor)
    }

    pub(super) fn finish(
        mut self,
        progress: &dyn Progress,
    ) -> Result<(Corrected, Vec<Patch>), Interrupted> {
        let after = self.left_where_laid();
        progress.check()?;
        let grid = &self.scans[0].grid;
        let still = self.scan_of.iter().map(|scan| self.scans[*scan].still(grid, Eddy::None));
        let still = still.collect();
        let found = std::mem::replace(&mut self.places, still);
        let before = self.left_where_laid();
        let squares =
            |left: &[f64]| -> f64 { left.iter().filter(|x| x.is_finite()).map(|x| x * x).sum() };
        let is_better = squares(&after) < (1.0 - LEAST_GAIN) * squares(&before);
        if is_better {
            self.places = found;
        } else {
            self.eddy_shift_mm.fill(0.0);
        }
        progress.check()?;
        let predictor = self.predicted(0.0);
        let patches = match self.options.replace {
            true => {
                self.outliers.par_iter().map(|outlier| self.patch(outlier, &predictor)).collect()
            }
            false => Vec::new(),
        };
        let mut table = self.table.clone();
        let ras = self.scans[0].ras();
        let each = self.places.iter().zip(&self.scan_of).zip(&mut table.dirs_ras);
        for ((place, scan), dir) in each {
            let vox = transposed(&self.scans[*scan].ras());
            let seen = turned(&transposed(&place.turn), turned(&vox, *dir));
            *dir = turned(&ras, seen);
        }
        let after = if is_better { after } else { before.clone() };
        let shells = self.table.shells().into_iter().map(|shell| shell.b_s_per_mm2);
        let shells = shells.zip(self.prior.even_mm());
        let corrected = Corrected {
            is_better,
            places: self.places,
            eddy_shift_mm: self.eddy_shift_mm,
            outliers: self.outliers,
            measured: Vec::new(),
            left: [before, after],
            table,
            covariance: [predictor.decay, predictor.noise],
            scales: self.scales,
            with_gradients: shells.filter(|(_, mm)| *mm > 0.0).collect(),
        };
        Ok((corrected, patches))
    }

    /// What a slice would have shown where the region was measured in it.
    fn patch(&self, outlier: &Outlier, predictor: &Predictor) -> Patch {
        let (dims, lattice) = (self.lattice.dims, &self.lattice);
        let view = self.view(outlier.volume);
        let mut spread = vec![0.0; dims.iter().product()];
        let prediction = predictor.predict(outlier.volume, &self.rows);
        for (value, &v) in prediction.iter().zip(&self.region.voxels) {
            spread[v as usize] = *value;
        }
        let spline = Spline::new(dims, &spread);
        let first = (outlier.slice - self.crop[2]) * dims[0] * dims[1];
        let value = |at: usize| {
            let head = view.invert(lattice.place(at));
            let vox = lattice.vox(head);
            let nearest = vox.map(f64::round);
            let inside = (0..3).all(|a| nearest[a] >= 0.0 && nearest[a] < dims[a] as f64);
            let [i, j, k] = nearest.map(|v| v as usize);
            let voxel = (i + dims[0] * (j + dims[1] * k)) as u32;
            if !inside || self.region.voxels.binary_search(&voxel).is_err() {
                return None;
            }
            let value = spline.at(vox)? * (1.0 / view.jacobian_at(head)) as f32;
            let row = at / dims[0];
            let whole = [at % dims[0], row % dims[1], row / dims[1]];
            let [x, y, z] = std::array::from_fn(|a| whole[a] + self.crop[a]);
            Some((x + self.full[0] * (y + self.full[1] * z), value))
        };
        let samples = (first..first + dims[0] * dims[1]).filter_map(value).collect();
        Patch { volume: outlier.volume, samples }
    }
}
