//! What several scans begin with: the head of each laid on that of the first, signals in one unit.

use fimbria_compute::{Interrupted, Progress};
use fimbria_image::Mask;

use super::Rounds;
use crate::align::{AlignOptions, align};
use crate::outliers::median;
use crate::place::{Eddy, Place};

/// Voxels as dark as this part of the median over the region have no say in how bright a scan is.
const DARK: f32 = 0.5;

impl Rounds<'_> {
    /// Lays the mean of the least weighted shell of each scan on that of the first, and brings what scans show of a
    /// shell that both have to the brightness of the first.
    ///
    /// # Errors
    /// Where the user stops it.
    pub(super) fn begin(&mut self, progress: &dyn Progress) -> Result<(), Interrupted> {
        for scan in 1..self.scans.len() {
            progress.check()?;
            self.lay_scan_on_the_first(scan, progress)?;
            self.scales[scan] = self.workers.install(|| self.scale(scan));
            if let Some(scale) = self.scales[scan] {
                let own = self.volumes.iter_mut().zip(&self.scan_of).filter(|(_, of)| **of == scan);
                own.for_each(|(volume, _)| volume.iter_mut().for_each(|x| *x *= scale as f32));
            }
        }
        Ok(())
    }

    /// The volumes of a scan in the least weighted shell that it has.
    fn least_weighted(&self, scan: usize) -> Vec<usize> {
        let shells = self.table.shells();
        let mut own = shells.iter().map(|shell| self.of_scan(&shell.volumes, scan));
        own.find(|volumes| !volumes.is_empty()).unwrap_or_default()
    }

    fn of_scan(&self, volumes: &[usize], scan: usize) -> Vec<usize> {
        volumes.iter().copied().filter(|v| self.scan_of[*v] == scan).collect()
    }

    fn lay_scan_on_the_first(
        &mut self,
        scan: usize,
        progress: &dyn Progress,
    ) -> Result<(), Interrupted> {
        let workers = self.workers;
        let [first, own] =
            [0, scan].map(|scan| workers.install(|| self.mean(&self.least_weighted(scan), 1.0)));
        let voxels = self.region.inner.iter().map(|i| self.region.voxels[i.at as usize]);
        let mask = Mask { grid: first.grid, voxels: voxels.collect() };
        let options = AlignOptions { searches: false, ..AlignOptions::default() };
        let transform = align(&first, &mask, &own, &options, workers, progress)?;
        let mut between = Place::still(self.scans[scan].axis, Eddy::None);
        between.turn = transform.linear();
        between.shift_mm = transform.0.map(|row| row[3]);
        let places = self.places.iter_mut().zip(&self.scan_of);
        places.filter(|(_, of)| **of == scan).for_each(|(place, _)| place.after(&between));
        Ok(())
    }

    /// What makes a scan as bright as the first: the median over the head of how means of the least weighted shell that
    /// both have differ. `None` where they have none in common.
    fn scale(&self, scan: usize) -> Option<f64> {
        let shells = self.table.shells();
        let both = shells.iter().find_map(|shell| {
            let both = [0, scan].map(|scan| self.of_scan(&shell.volumes, scan));
            both.iter().all(|volumes| !volumes.is_empty()).then_some(both)
        })?;
        let [first, own] = both.map(|volumes| self.mean(&volumes, 1.0));
        let samples: Vec<[f32; 2]> = self
            .region
            .voxels
            .iter()
            .map(|&v| [first.data[v as usize], own.data[v as usize]])
            .collect();
        let bright = median(samples.iter().map(|[first, _]| f64::from(*first)).collect())?;
        let least = DARK * bright as f32;
        let ratio = |[first, own]: &[f32; 2]| {
            (*first > least && *own > 0.0).then(|| f64::from(first / own))
        };
        let scale = median(samples.iter().filter_map(ratio).collect())?;
        (scale.is_finite() && scale > 0.0).then_some(scale)
    }
}
