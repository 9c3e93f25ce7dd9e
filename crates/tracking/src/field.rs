//! The samples as propagation reads them.

use fimbria_compute::{Real, Word, Workers};
use fimbria_image::sticks::{PackedStick, StickSamples};
use fimbria_image::{BvecFrame, Grid, Mask};
use rayon::prelude::*;

/// Samples of directions in the frame of tracking.
///
/// Tracking happens in *radiological* voxel coordinates, integer = centre: the array's, or with x
/// reversed where det(affine) > 0, so that the frame is FSL's and its random numbers mean the same
/// corners. Directions are turned into it once, when the field is made.
#[derive(Clone, Debug)]
pub struct Field {
    grid: Grid,
    /// With one voxel around, which has no samples: corners of any point need no bounds.
    slot_plus_1: Vec<u32>,
    sticks: Vec<PackedStick>,
    n_fibres: usize,
    n_samples: usize,
}

/// Sizes of a [`Field`](crate::Field).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldSize {
    /// Voxels of the grid with one around.
    pub padded_voxels: usize,
    /// Voxels that have samples.
    pub slots: usize,
    /// Sticks of each of them: samples times fibres.
    pub sticks_per_slot: usize,
}

/// True where FSL reverses the x axis of an image on reading.
pub fn is_reversed(grid: &Grid) -> bool {
    grid.ras_from_vox.determinant() > 0.0
}

/// Index, radiological, of a voxel given by its index in the array; and the other way round.
pub fn radiological(grid: &Grid, index: usize) -> usize {
    if is_reversed(grid) {
        let [i, j, k] = grid.voxel(index);
        grid.index([grid.dims[0] - 1 - i, j, k])
    } else {
        index
    }
}

/// The voxel that holds a point.
#[inline(always)]
pub(crate) fn voxel<R: Real>(pos: [R; 3]) -> [R; 3] {
    [floor(pos[0] + 0.5), floor(pos[1] + 0.5), floor(pos[2] + 0.5)]
}

/// The slot of every voxel of a mask plus 1, by radiological place among voxels with one more around
/// them; 0 where there is none.
pub(crate) fn padded_slots(mask: &Mask) -> Vec<u32> {
    let grid = &mask.grid;
    let lattice = Lattice::padded(grid.dims);
    let mut slot_plus_1 = vec![0; lattice.slice * (grid.dims[2] + 2)];
    for (slot, voxel) in mask.voxels.iter().enumerate() {
        let [i, j, k] = grid.voxel(radiological(grid, *voxel as usize));
        slot_plus_1[i + 1 + lattice.row * (j + 1) + lattice.slice * (k + 1)] = slot as u32 + 1;
    }
    slot_plus_1
}

impl Field {
    /// Takes samples over and turns them.
    pub fn new(samples: StickSamples, workers: &Workers) -> Self {
        let StickSamples { mask, n_fibres, n_samples, mut sticks } = samples;
        let grid = mask.grid;
        let turn = BvecFrame::Fsl.frame_from_ras(&grid.ras_from_vox);
        let turned = |stick: &mut PackedStick| {
            if stick.has_direction() {
                let v = stick.dir_ras().map(f64::from);
                let v = turn.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);
                *stick = PackedStick::new(v, f64::from(stick.fraction()));
            }
        };
        workers.install(|| sticks.par_iter_mut().for_each(turned));
        let slot_plus_1 = padded_slots(&mask);
        Self { grid, slot_plus_1, sticks, n_fibres, n_samples }
    }

    /// The grid of the samples.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Fibres per sample.
    pub fn n_fibres(&self) -> usize {
        self.n_fibres
    }

    /// Samples per voxel.
    pub fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// What its size on a device depends on.
    pub fn size(&self) -> FieldSize {
        FieldSize {
            padded_voxels: self.slot_plus_1.len(),
            slots: self.sticks.len() / (self.n_samples * self.n_fibres).max(1),
            sticks_per_slot: self.n_samples * self.n_fibres,
        }
    }

    /// What propagation of one step needs to know of the grid.
    pub(crate) fn lattice(&self) -> Lattice {
        Lattice::padded(self.grid.dims)
    }

    /// The slot of every padded voxel plus 1.
    pub(crate) fn slots(&self) -> &[u32] {
        &self.slot_plus_1
    }

    /// Every stick, `[slot][sample][fibre]`.
    pub(crate) fn sticks(&self) -> &[PackedStick] {
        &self.sticks
    }

    /// True in a voxel that has samples, for radiological coordinates of their grid.
    pub fn is_inside(&self, pos: [f32; 3]) -> bool {
        self.slot(self.lattice().place(voxel(pos))).is_some()
    }

    /// The slot of a voxel, by its place among padded ones; `None` outside the mask.
    #[inline(always)]
    pub(crate) fn slot(&self, padded: u32) -> Option<usize> {
        (self.slot_plus_1[padded as usize] as usize).checked_sub(1)
    }

    /// The place of the first stick of a sample.
    #[inline(always)]
    pub(crate) fn first_of(&self, slot: usize, sample: usize) -> usize {
        (slot * self.n_samples + sample) * self.n_fibres
    }

    /// The sticks of the sample that starts at a place.
    #[inline(always)]
    pub(crate) fn sticks_from(&self, first: usize) -> &[PackedStick] {
        &self.sticks[first..first + self.n_fibres]
    }

    /// Calls the sticks at a place into the cache.
    #[inline(always)]
    pub(crate) fn fetch(&self, first: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint that never faults, whatever the address; every x86-64 has it.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.sticks.as_ptr().wrapping_add(first).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = first;
    }
}

/// The grid as one step sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lattice {
    /// One beyond the last voxel of each axis.
    last: [f32; 3],
    row: usize,
    slice: usize,
}

impl Lattice {
    /// A grid with one voxel around.
    pub(crate) fn padded([nx, ny, nz]: [usize; 3]) -> Self {
        let row = nx + 2;
        Self { last: [nx as f32, ny as f32, nz as f32], row, slice: row * (ny + 2) }
    }

    /// The place among padded voxels of a corner with whole coordinates; what lies outside the
    /// grid is taken to the padding.
    #[inline(always)]
    pub(crate) fn place<R: Real>(&self, corner: [R; 3]) -> R::Word {
        let [x, y, z] = corner;
        self.along(0, x).wrapping_add(self.along(1, y)).wrapping_add(self.along(2, z))
    }

    /// What a whole coordinate along an axis adds to the place of a corner.
    #[inline(always)]
    pub(crate) fn along<R: Real>(&self, axis: usize, x: R) -> R::Word {
        let x = clamped(x, self.last[axis]);
        x.mul_wide(x.splat([1, self.row as u32, self.slice as u32][axis])).0
    }
}

/// 2^23: where the unit of the last place is 1.
const ONES: f32 = 8_388_608.0;
const ONES_BITS: u32 = 0x4b00_0000;

/// A whole coordinate from -1 to `last`, counted from 0.
#[inline(always)]
fn clamped<R: Real>(x: R, last: f32) -> R::Word {
    let x = x.max(x.splat(-1.0)).min(x.splat(last));
    (x + 1.0 + ONES).to_word() ^ ONES_BITS
}

/// The largest whole number up to `x`, |x| < 2^22.
#[inline(always)]
pub(crate) fn floor<R: Real>(x: R) -> R {
    let nearest = (x + 1.5 * ONES) - 1.5 * ONES;
    nearest - R::select(x.less(nearest), x.splat(1.0), x.splat(0.0))
}

/// A stick in the frame of tracking.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stick<R: Real> {
    pub(crate) dir: [R; 3],
    pub(crate) fraction: R,
    pub(crate) has_direction: R::Flags,
}

/// Takes a [`PackedStick`] apart, given its low and its high word; the same numbers as
/// [`PackedStick::dir_ras`] to rounding.
#[inline(always)]
pub(crate) fn unpacked<R: Real>(like: R, low: R::Word, high: R::Word) -> Stick<R> {
    const COORDINATE: u32 = (1 << 24) - 1;
    const HALF: f32 = 8_388_607.0;
    let first = low & COORDINATE;
    let second = (low >> 24) | ((high & 0xffff) << 8);
    let fraction = small_number::<R>(high >> 16) * (1.0 / 65_536.0);
    let u = (number::<R>(first) - HALF) * (1.0 / HALF);
    let v = (number::<R>(second) - HALF) * (1.0 / HALF);
    let z = (like.splat(1.0) - u.abs()) - v.abs();
    // Below the equator the fold is undone: both coordinates move towards zero by -z.
    let fold = (-z).max(z.splat(0.0));
    let zero = u.splat(0.0);
    let x = u - R::select(u.less(zero), -fold, fold);
    let y = v - R::select(v.less(zero), -fold, fold);
    let square = x.mul_add(x, y.mul_add(y, z * z));
    let scale = like.splat(1.0) / square.sqrt();
    // A first coordinate of all ones is no direction.
    let has_direction = u.at_most(u.splat(1.0));
    Stick { dir: [x * scale, y * scale, z * scale], fraction, has_direction }
}

/// A word below 2^23 as a number.
#[inline(always)]
fn small_number<R: Real>(word: R::Word) -> R {
    R::from_word(word | ONES_BITS) - ONES
}

/// A word below 2^24 as a number: its upper and lower twelve bits are exact, and so is their sum.
#[inline(always)]
fn number<R: Real>(word: R::Word) -> R {
    let (upper, lower) = (small_number::<R>(word >> 12), small_number::<R>(word & 0xfff));
    upper.mul_add(upper.splat(4096.0), lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_is_the_floor() {
        for x in [-3.5f32, -1.0, -0.25, 0.0, 0.5, 0.75, 1.0, 1.5, 2.5, 1e5 + 0.5] {
            assert_eq!(floor(x), x.floor(), "{x}");
        }
    }

    #[test]
    fn sticks_are_unpacked_as_image_does() {
        for i in 0..500 {
            let t = f64::from(i);
            let v = [(0.7 * t).sin(), (1.3 * t).cos(), (0.9 * t + 0.4).sin()];
            let packed = PackedStick::new(v, t / 500.0);
            let stick = unpacked(0.0f32, packed.0 as u32, (packed.0 >> 32) as u32);
            assert_eq!(stick.fraction, packed.fraction());
            assert!(stick.has_direction);
            for (a, b) in stick.dir.iter().zip(packed.dir_ras()) {
                // Sums may be fused here and not there.
                assert!((a - b).abs() < 2e-7, "{stick:?} {packed:?}");
            }
        }
        assert!(!unpacked(0.0f32, PackedStick::NONE.0 as u32, 0).has_direction);
    }
}
