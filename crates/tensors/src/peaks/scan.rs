//! Where to climb from: the directions that exceed all their neighbours.

use fimbria_compute::{Flags, Lanes, Real};
use pulp::Simd;

use super::matrix::{REGISTERS, Strip};
use super::options::PeakStatus;
use super::tile::{Climb, Plan, Voxel};

/// A form that varies by less than this share of its largest magnitude is the same in all
/// directions as far as single precision tells.
pub(crate) const FLAT: f32 = 1e-5;
/// Magnitudes beyond which arithmetic might leave single precision.
pub(crate) const SMALLEST: f32 = 1e-30;
pub(crate) const LARGEST: f32 = 1e30;

/// The most lanes of a strip.
pub(super) const MAX_COLUMNS: usize = 16 * REGISTERS;

impl Plan {
    /// What the extremes over all directions say about a voxel.
    pub(super) fn outlook(&self, largest: f32, smallest: f32) -> Voxel {
        let size = largest.abs().max(smallest.abs());
        let range = largest - smallest;
        let hopeless = |status| Voxel { status, limit: f32::INFINITY, scale: 1.0 };
        if !(size <= LARGEST && range <= LARGEST) {
            return hopeless(PeakStatus::BadForm);
        }
        if size < SMALLEST || range <= FLAT * size {
            return hopeless(PeakStatus::Flat);
        }
        // A maximum between directions is higher than the nearest of them by what a form of this
        // degree curves within reach.
        let limit = self.threshold(largest) - self.slack * range;
        let scale = f32::from_bits(size.to_bits() & 0x7f80_0000);
        Voxel { status: PeakStatus::Below, limit, scale }
    }

    /// Maxima count from this value on (the absolute threshold itself does not).
    #[inline(always)]
    pub(super) fn threshold(&self, largest: f32) -> f32 {
        let relative = if largest > 0.0 { self.relative * largest } else { f32::NEG_INFINITY };
        if relative > self.absolute { relative } else { self.absolute }
    }

    /// Finds the starts of the voxels in the strip at `offset` of `form`, and what is known of
    /// those voxels. `values` has room for every direction's strip.
    #[inline(always)]
    pub(super) fn scan_strip<S: Simd>(
        &self,
        simd: S,
        form: &[f32],
        offset: usize,
        values: &mut [f32],
        voxels: &mut [Voxel],
        climbs: &mut Vec<Climb>,
    ) {
        let lanes = Lanes::<S>::LANES;
        let width = REGISTERS * lanes;
        let from = Strip { data: form, stride: self.tile, offset };
        self.scan.times_strip(simd, from, Strip { data: &mut *values, stride: width, offset: 0 });

        for (register, voxels) in voxels.chunks_mut(lanes).enumerate() {
            let skip = register * lanes;
            let at = |direction: usize| Lanes::load(simd, &values[direction * width + skip..]);
            let mut largest = Lanes::new(simd, f32::NEG_INFINITY);
            let mut smallest = Lanes::new(simd, f32::INFINITY);
            for direction in 0..self.directions.unit.len() {
                largest = at(direction).max(largest);
                smallest = at(direction).min(smallest);
            }
            let (mut high, mut low) = ([0.0; 16], [0.0; 16]);
            largest.store(&mut high);
            smallest.store(&mut low);
            let mut limits = [f32::INFINITY; 16];
            for (lane, voxel) in voxels.iter_mut().enumerate() {
                *voxel = self.outlook(high[lane], low[lane]);
                limits[lane] = voxel.limit;
            }
            let limit = Lanes::load(simd, &limits);
            for (direction, near) in self.directions.neighbours.iter().enumerate() {
                let value = at(direction);
                // Of equal neighbours the first one is the maximum.
                let split = near.partition_point(|&j| (j as usize) < direction);
                let mut before = Lanes::new(simd, f32::NEG_INFINITY);
                let mut after = before;
                for &j in &near[..split] {
                    before = at(j as usize).max(before);
                }
                for &j in &near[split..] {
                    after = at(j as usize).max(after);
                }
                let peak = before.less(value) & after.at_most(value) & limit.at_most(value);
                if peak.any() {
                    let mut flags = [0.0; 16];
                    Lanes::select(peak, Lanes::new(simd, 1.0), Lanes::new(simd, 0.0))
                        .store(&mut flags);
                    for (lane, &flag) in flags[..lanes].iter().enumerate() {
                        if flag != 0.0 {
                            climbs.push(self.start(offset + skip + lane, direction));
                        }
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn start(&self, column: usize, direction: usize) -> Climb {
        let x = self.unit[direction];
        Climb {
            column: column as u32,
            x,
            back: x,
            value: f32::NEG_INFINITY,
            radius: super::ascent::RADIUS,
            end: super::tile::End::Climbing,
        }
    }
}
