//! Samples of fibre sticks: the field that ball-and-sticks sampling hands to tracking.
//!
//! A [`StickSamples`] holds, for every voxel of a mask, several samples of a few fibres, each a
//! direction (scanner RAS+ axes) and a volume fraction in eight bytes ([`PackedStick`]). All
//! sticks of a voxel lie together, sample by sample, so that a tracker that draws a sample reads
//! one stretch of memory: two fibres fill 16 bytes. The largest data set of the literature
//! (256 x 271 x 102 voxels, two million of them in the brain, 50 samples of 2 fibres) takes 1.6 GB.

mod packed;

pub use packed::{PackedStick, Stick};

use fimbria_memory::try_vec;

use crate::Mask;

/// Samples of stick directions and fractions in the voxels of a mask.
#[derive(Clone, Debug, PartialEq)]
pub struct StickSamples {
    /// Where there are samples. The place of a voxel in this list is its *slot*.
    pub mask: Mask,
    /// Fibres in every sample, at least 1.
    pub n_fibres: usize,
    /// Samples of every voxel, at least 1.
    pub n_samples: usize,
    /// `[slot][sample][fibre]`.
    pub sticks: Vec<PackedStick>,
}

impl StickSamples {
    /// A field in which no stick has a direction yet; `None` where there is not enough memory.
    pub fn empty(mask: Mask, n_fibres: usize, n_samples: usize) -> Option<Self> {
        let n = mask.len().checked_mul(n_fibres)?.checked_mul(n_samples)?;
        let mut sticks = try_vec(n).ok()?;
        sticks.resize(n, PackedStick::NONE);
        Some(Self { mask, n_fibres, n_samples, sticks })
    }

    /// Sticks of one voxel: `n_samples * n_fibres`.
    pub fn voxel_len(&self) -> usize {
        self.n_fibres * self.n_samples
    }

    /// All sticks of the voxel in `slot`, `[sample][fibre]`.
    ///
    /// # Panics
    /// Where the mask has no such slot.
    pub fn voxel(&self, slot: usize) -> &[PackedStick] {
        &self.sticks[slot * self.voxel_len()..][..self.voxel_len()]
    }

    /// The sticks of one sample of the voxel in `slot`, `[fibre]`.
    ///
    /// # Panics
    /// Where there is no such slot or sample.
    #[inline]
    pub fn sample(&self, slot: usize, sample: usize) -> &[PackedStick] {
        &self.sticks[(slot * self.n_samples + sample) * self.n_fibres..][..self.n_fibres]
    }

    /// One fibre of the voxel in `slot` in all samples.
    ///
    /// # Panics
    /// Where there is no such slot or fibre.
    pub fn fibre(&self, slot: usize, fibre: usize) -> impl Iterator<Item = Stick> + '_ {
        assert!(fibre < self.n_fibres, "fibre {fibre} of {}", self.n_fibres);
        self.voxel(slot).iter().skip(fibre).step_by(self.n_fibres).map(|s| s.unpack())
    }

    /// Mean fraction of a fibre of the voxel in `slot`, over the samples.
    pub fn mean_fraction(&self, slot: usize, fibre: usize) -> f64 {
        let sum: f64 = self.fibre(slot, fibre).map(|stick| f64::from(stick.fraction)).sum();
        sum / self.n_samples as f64
    }
}
