//! Densities as propagation reads them.

use fimbria_compute::{Lanes, Real as _, Workers};
use fimbria_image::frames::inverse;
use fimbria_image::{BvecFrame, Grid, Mask};
use fimbria_memory::{Refused, try_zeros};
use pulp::Simd;
use rayon::prelude::*;

use super::form::{integrals, multiplicities, terms};
use crate::field::voxel;
use crate::field::{Lattice, floor, is_reversed, padded_slots};

/// Forms are stored in so many numbers or a multiple.
pub(super) const WIDTH: usize = 16;

/// Room for the form of the highest order.
pub(super) const MAX_TERMS: usize = 96;

/// A function of even order on the sphere in every voxel of a mask, zero outside it.
///
/// Positions are voxel coordinates, radiological as everywhere in tracking. Directions are in the axes
/// that the functions refer to, and turned into voxels only where a step is made.
#[derive(Clone, Debug)]
pub struct Densities {
    grid: Grid,
    order: usize,
    frame: BvecFrame,
    slot_plus_1: Vec<u32>,
    /// `[slot + 1][term]`; the first form is zero.
    forms: Vec<f32>,
    stride: usize,
    vox_from_dir: [[f32; 3]; 3],
}

/// Why there are none.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum DensityError {
    /// The order is not one of those that are tracked.
    #[error("densities of order {0} cannot be tracked; orders 4, 6, 8, 10 and 12 can")]
    Order(usize),
    /// There is not enough memory.
    #[error("the densities of {voxels} voxels do not fit into memory: {refused}")]
    Memory {
        /// Of the mask.
        voxels: usize,
        /// What was asked for.
        refused: Refused,
    },
    /// The grid has no inverse.
    #[error("the affine of the grid cannot be inverted")]
    Grid,
    /// There is nothing to follow.
    #[error("no density is above zero in any voxel of the mask")]
    Nothing,
}

impl Densities {
    /// Functions of `order`; `fill` writes the unique entries, lexicographic, of the form of a voxel
    /// of the mask, given its index in the array, in axes of `frame`. Those that are no numbers count
    /// as zero.
    ///
    /// # Errors
    /// [`DensityError`].
    pub fn new(
        mask: &Mask,
        order: usize,
        frame: BvecFrame,
        workers: &Workers,
        fill: impl Fn(u32, &mut [f32]) + Sync,
    ) -> Result<Self, DensityError> {
        if !matches!(order, 4 | 6 | 8 | 10 | 12) {
            return Err(DensityError::Order(order));
        }
        let grid = mask.grid;
        let (n, stride) = (terms(order), terms(order).next_multiple_of(WIDTH));
        let mut forms: Vec<f32> = try_zeros((mask.len() + 1) * stride)
            .map_err(|refused| DensityError::Memory { voxels: mask.len(), refused })?;
        let multiplicities = multiplicities(order);
        workers.install(|| {
            forms.par_chunks_mut(stride).skip(1).zip(&mask.voxels).for_each(|(form, voxel)| {
                let form = &mut form[..n];
                fill(*voxel, form);
                if form.iter().all(|x| x.is_finite()) {
                    form.iter_mut().zip(&multiplicities).for_each(|(x, m)| *x *= m);
                } else {
                    form.fill(0.0);
                }
            });
        });
        if forms.iter().all(|x| *x == 0.0) {
            return Err(DensityError::Nothing);
        }
        let ras = grid.ras_from_vox;
        let mut vox = inverse(&ras.linear()).ok_or(DensityError::Grid)?;
        if is_reversed(&grid) {
            vox[0] = vox[0].map(|x| -x);
        }
        let turn = frame.ras_from_frame(&ras);
        let vox_from_dir = vox.map(|row| {
            std::array::from_fn(|j| (0..3).map(|k| row[k] * turn[k][j]).sum::<f64>() as f32)
        });
        let slot_plus_1 = padded_slots(mask);
        Ok(Self { grid, order, frame, slot_plus_1, forms, stride, vox_from_dir })
    }

    /// The grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The order of the functions.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The axes that the functions refer to.
    pub fn frame(&self) -> BvecFrame {
        self.frame
    }

    /// Bits that depend on all of it, for several processes to compare.
    pub fn digest(&self, mut take: impl FnMut(&[u8])) {
        take(format!("{:?} {} {:?}", self.grid, self.order, self.vox_from_dir).as_bytes());
        take(bytemuck::cast_slice(&self.slot_plus_1));
        take(bytemuck::cast_slice(&self.forms));
    }

    /// True in a voxel of the mask.
    pub fn is_inside(&self, pos: [f32; 3]) -> bool {
        self.slot_plus_1[self.lattice().place(voxel(pos)) as usize] != 0
    }

    /// True in a voxel of the mask whose density is not zero.
    pub fn has_density(&self, pos: [f32; 3]) -> bool {
        let slot = self.slot_plus_1[self.lattice().place(voxel(pos)) as usize] as usize;
        self.forms[slot * self.stride..][..self.stride].iter().any(|x| *x != 0.0)
    }

    /// The integral over the sphere of the density in the voxel of each of some points, none below zero.
    pub fn integrals(&self, points: impl Iterator<Item = [f32; 3]>) -> Vec<f64> {
        let (lattice, integrals) = (self.lattice(), integrals(self.order));
        let integral = |pos| {
            let form = &self.forms[self.form_at(&lattice, voxel(pos))..];
            let sum: f64 = integrals.iter().zip(form).map(|(a, b)| a * f64::from(*b)).sum();
            sum.max(0.0)
        };
        points.map(integral).collect()
    }

    /// What propagation needs to know of the grid.
    pub(super) fn lattice(&self) -> Lattice {
        Lattice::padded(self.grid.dims)
    }

    /// Voxels of a millimetre along each axis that directions refer to.
    pub(super) fn vox_from_dir(&self) -> &[[f32; 3]; 3] {
        &self.vox_from_dir
    }

    /// The place of the form of a voxel with these whole coordinates.
    #[inline(always)]
    pub(super) fn form_at(&self, lattice: &Lattice, corner: [f32; 3]) -> usize {
        self.form_of_place(lattice.place(corner))
    }

    /// The place of the form of the voxel at a place of the lattice.
    #[inline(always)]
    pub(super) fn form_of_place(&self, place: u32) -> usize {
        self.slot_plus_1[place as usize] as usize * self.stride
    }

    /// The form at a place.
    #[inline(always)]
    pub(super) fn form<const TERMS: usize>(&self, at: usize) -> &[f32; TERMS] {
        // Every form has room for its terms.
        self.forms[at..at + TERMS].first_chunk().unwrap_or(&[0.0; TERMS])
    }

    /// The interpolated form at a point.
    #[inline(always)]
    pub(super) fn interpolate<S: Simd, const TERMS: usize>(
        &self,
        simd: S,
        lattice: &Lattice,
        pos: [f32; 3],
        out: &mut [f32; MAX_TERMS],
    ) {
        let low = [floor(pos[0]), floor(pos[1]), floor(pos[2])];
        let above = [pos[0] - low[0], pos[1] - low[1], pos[2] - low[2]];
        // Known to the compiler, so that reading needs no checks.
        let stride = const { TERMS.next_multiple_of(WIDTH) };
        let mut corners = [(&self.forms[..0], 0.0); 8];
        for (number, corner) in corners.iter_mut().enumerate() {
            let is_above = [number & 1, number >> 1 & 1, number >> 2];
            let mut at = low;
            let mut weight = 1.0;
            for axis in 0..3 {
                at[axis] += is_above[axis] as f32;
                weight *= if is_above[axis] == 1 { above[axis] } else { 1.0 - above[axis] };
            }
            *corner = (&self.forms[self.form_at(lattice, at)..][..stride], weight);
        }
        for part in (0..stride).step_by(Lanes::<S>::LANES) {
            let mut sum = Lanes::new(simd, 0.0);
            for (form, weight) in corners {
                let form = Lanes::load(simd, &form[part..stride]);
                sum = form.mul_add(Lanes::new(simd, weight), sum);
            }
            sum.store(&mut out[part..]);
        }
    }

    /// The places of the forms of a voxel with whole coordinates and the seven after it, x first.
    #[inline(always)]
    pub(super) fn corners(&self, lattice: &Lattice, low: [f32; 3]) -> [usize; 8] {
        std::array::from_fn(|number| {
            let is_above = [number & 1, number >> 1 & 1, number >> 2];
            let [x, y, z] = [0, 1, 2].map(|a| low[a] + is_above[a] as f32);
            self.form_at(lattice, [x, y, z])
        })
    }

    /// The form at a place with all the room it has.
    #[inline(always)]
    pub(super) fn stored<const TERMS: usize>(&self, at: usize) -> &[f32] {
        &self.forms[at..][..const { TERMS.next_multiple_of(WIDTH) }]
    }

    /// True where the voxel at a place of the lattice is in the mask.
    #[inline(always)]
    pub(super) fn is_in_mask(&self, place: u32) -> bool {
        self.slot_plus_1[place as usize] != 0
    }

    /// Calls forms into the cache.
    #[inline(always)]
    pub(super) fn fetch_forms(&self, all: &[usize]) {
        for at in all {
            for line in (0..self.stride).step_by(WIDTH) {
                self.fetch_line(at + line);
            }
        }
    }

    /// Calls the forms around a point into the cache.
    #[inline(always)]
    pub(super) fn fetch(&self, lattice: &Lattice, pos: [f32; 3]) {
        let low = [floor(pos[0]), floor(pos[1]), floor(pos[2])];
        self.fetch_forms(&self.corners(lattice, low));
    }

    #[inline(always)]
    fn fetch_line(&self, at: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint that never faults, whatever the address; every x86-64 has it.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.forms.as_ptr().wrapping_add(at).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }

    /// The place of the form of every voxel of the lattice, in forms, and the forms.
    pub(super) fn as_stored(&self) -> (&[u32], &[f32]) {
        (&self.slot_plus_1, &self.forms)
    }

    /// Numbers that a form has room for.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// As stored, for the oracle.
    #[cfg(test)]
    pub(super) fn forms(&self) -> (&[f32], usize) {
        (&self.forms, self.stride)
    }
}
