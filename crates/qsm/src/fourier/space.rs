//! A padded volume, its transform, and the dipole in it.

use fimbria_compute::Workers;
use fimbria_compute::fft::Complex32;
use rayon::prelude::*;

use super::Periodic;
use crate::{Geometry, QsmError};

/// A padded volume's transform, and the dipole in it.
pub(crate) struct KSpace<'w> {
    space: Periodic<'w>,
    /// D(k) over the half spectrum.
    pub(crate) dipole: Vec<f32>,
}

impl<'w> std::ops::Deref for KSpace<'w> {
    type Target = Periodic<'w>;

    fn deref(&self) -> &Periodic<'w> {
        &self.space
    }
}

impl KSpace<'_> {
    /// `with(k, element)` of every element of a half spectrum.
    pub(crate) fn each(
        &self,
        spectrum: &mut [Complex32],
        with: impl Fn(usize, &mut Complex32) + Sync,
    ) {
        self.workers().install(|| {
            spectrum.par_iter_mut().enumerate().for_each(|(k, element)| with(k, element));
        });
    }

    /// Σ over all voxels of x `by`(y), both given as half spectra, `by` real in the Fourier domain.
    pub(crate) fn inner(
        &self,
        x: &[Complex32],
        y: &[Complex32],
        by: impl Fn(usize) -> f32 + Sync,
    ) -> f64 {
        self.over_voxels(|k| {
            let (x, y) = (x[k], y[k]);
            let product = f64::from(x.re) * f64::from(y.re) + f64::from(x.im) * f64::from(y.im);
            product * f64::from(by(k))
        })
    }

    /// Σ over all voxels of what `value` says of each element of the half spectrum; in blocks, so that it does not
    /// depend on threads.
    pub(super) fn over_voxels(&self, value: impl Fn(usize) -> f64 + Sync) -> f64 {
        const BLOCK: usize = 1 << 14;
        let [nx, _, _] = self.shape();
        let half = nx / 2 + 1;
        // What the other half holds is the conjugate of this one, but for its first plane, and its last
        // where there is an even number.
        let times = |k: usize| {
            let i = k % half;
            if i == 0 || 2 * i == nx { 1.0 } else { 2.0 }
        };
        let n = self.dipole.len();
        let block = |block: usize| -> f64 {
            let all = block * BLOCK..((block + 1) * BLOCK).min(n);
            all.map(|k| value(k) * times(k)).sum()
        };
        let blocks = || (0..n.div_ceil(BLOCK)).into_par_iter().map(block);
        let sums: Vec<f64> = self.workers().install(|| blocks().collect());
        sums.iter().sum::<f64>() / self.elements() as f64
    }

    /// Where voxels of the volume lie in the padded one.
    pub(crate) fn places(&self, geometry: &Geometry, voxels: &[u32]) -> Vec<u32> {
        let shape = self.shape();
        let place = |&voxel: &u32| {
            let [x, y, z] = geometry.voxel(voxel as usize);
            (x + shape[0] * (y + shape[1] * z)) as u32
        };
        voxels.iter().map(place).collect()
    }
}

impl<'w> KSpace<'w> {
    pub(crate) fn new(geometry: &Geometry, workers: &'w Workers) -> Result<Self, QsmError> {
        // A dipole's field falls off with the cube of distance: half as much again keeps the
        // nearest image of any voxel at least half a volume away.
        let space = Periodic::new(geometry.dims, geometry.spacing, 2, workers)?;
        let dipole = space.dipole(geometry.b0);
        Ok(Self { space, dipole })
    }

    /// The spectrum times a function of D.
    pub(super) fn filtered(
        &self,
        mut spectrum: Vec<Complex32>,
        filter: impl Fn(f32) -> f32 + Sync,
    ) -> Vec<Complex32> {
        self.each(&mut spectrum, |k, x| *x *= filter(self.dipole[k]));
        spectrum
    }
}
