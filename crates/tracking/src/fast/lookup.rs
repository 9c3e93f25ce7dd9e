//! Looking up directions: a register of particles asks, and takes once others have asked too.

use fimbria_compute::philox::{Philox, uniform};
use fimbria_compute::{LaneFlags, Lanes, Real, Words};
use pulp::Simd;

use super::Step;
use super::state::{IN_FLIGHT, MAX_LANES, Particles, PerLane};
use crate::FirstFibre;
use crate::field::{Stick, unpacked};
use crate::oracle::first_fibre;
use crate::step::{Nearest, chosen, corner, sample_index};

/// What particles have asked for, lane by lane.
pub(super) struct Wanted {
    /// The place of the sample's first stick.
    first: PerLane<usize>,
    /// 1 where the corner has samples, and where the point lies in the mask.
    has_samples: PerLane<f32>,
    is_in_mask: PerLane<f32>,
    /// Low and high words of the sticks of one register, fibre by fibre.
    sticks: Vec<[[u32; MAX_LANES]; 2]>,
}

impl Wanted {
    pub(super) fn new(n_fibres: usize) -> Self {
        Self {
            first: [0; IN_FLIGHT],
            has_samples: [0.0; IN_FLIGHT],
            is_in_mask: [1.0; IN_FLIGHT],
            sticks: vec![[[0; MAX_LANES]; 2]; n_fibres],
        }
    }
}

/// What a lookup finds.
pub(super) struct Found<S: Simd> {
    pub(super) stick: Stick<Lanes<S>>,
    /// The fraction to test.
    pub(super) fraction: Lanes<S>,
    pub(super) has_samples: LaneFlags<S>,
    pub(super) is_in_mask: LaneFlags<S>,
}

impl<S: Simd> Step<'_, S> {
    /// Draws a corner and a sample for each particle of the register from lane `at` on, and calls
    /// the sample's sticks into the cache. `here`: the row of the places of the points, which are
    /// looked at, too.
    #[inline(always)]
    pub(super) fn ask(
        &self,
        numbers: Philox,
        pos: [Lanes<S>; 3],
        here: Option<usize>,
        particles: &Particles,
        at: usize,
        wanted: &mut Wanted,
    ) {
        let (options, field) = (self.tracking.propagation, self.tracking.field);
        let words = self.words(numbers, particles, at);
        let [ux, uy, uz, us] = [
            uniform::<Lanes<S>>(words[0]),
            uniform::<Lanes<S>>(words[1]),
            uniform::<Lanes<S>>(words[2]),
            uniform::<Lanes<S>>(words[3]),
        ];
        let mut corners = [0; MAX_LANES];
        self.lattice.place(corner(pos, [ux, uy, uz])).store(&mut corners);
        let mut samples = [0.0; MAX_LANES];
        sample_index(options.sample_choice, field.n_samples(), us).store(&mut samples);
        for lane in 0..Lanes::<S>::LANES {
            if let Some(row) = here {
                let is_in_mask = field.slot(particles.place_rows[row][at + lane]).is_some();
                wanted.is_in_mask[at + lane] = if is_in_mask { 1.0 } else { 0.0 };
            }
            let slot = field.slot(corners[lane]);
            wanted.has_samples[at + lane] = if slot.is_some() { 1.0 } else { 0.0 };
            // Outside, the first sample is read and not used.
            let first = slot.map_or(0, |slot| field.first_of(slot, samples[lane] as usize));
            wanted.first[at + lane] = first;
            field.fetch(first);
        }
    }

    /// The stick that each particle of the register follows. `is_first`: at the first points of
    /// halves another rule chooses.
    #[inline(always)]
    pub(super) fn take(
        &self,
        is_first: Option<LaneFlags<S>>,
        particles: &Particles,
        at: usize,
        wanted: &mut Wanted,
    ) -> Found<S> {
        let (options, field) = (self.tracking.propagation, self.tracking.field);
        let mut first_fibres = [0.0; MAX_LANES];
        for lane in 0..Lanes::<S>::LANES {
            let sample = field.sticks_from(wanted.first[at + lane]);
            for (fibre, packed) in sample.iter().enumerate() {
                wanted.sticks[fibre][0][lane] = packed.0 as u32;
                wanted.sticks[fibre][1][lane] = (packed.0 >> 32) as u32;
            }
            if is_first.is_some() && particles.is_first[at + lane] > 0.0 {
                first_fibres[lane] = match options.first_fibre {
                    FirstFibre::Number(fibre) => fibre.min(sample.len() - 1),
                    _ => first_fibre(
                        options,
                        sample.len(),
                        |fibre| sample[fibre].fraction(),
                        || particles.fibre_number(self.choices, at + lane),
                    ),
                } as f32;
            }
        }
        let zero = Lanes::new(self.simd, 0.0);
        let dir = self.load3(&particles.dir, at);
        let first = self.unpack(&wanted.sticks[0]);
        let mut nearest = Nearest::first(first, dir, options.fibre_threshold);
        let first_fibre = Lanes::load(self.simd, &first_fibres);
        let mut start = first;
        for (fibre, packed) in wanted.sticks.iter().enumerate().skip(1) {
            let stick = self.unpack(packed);
            nearest = nearest.or(stick, dir, options.fibre_threshold);
            start = chosen(first_fibre.equals(zero.splat(fibre as f32)), stick, start);
        }
        let (stick, fraction) = match is_first {
            Some(is_first) => (
                chosen(is_first, start, nearest.stick),
                Lanes::select(is_first, first.fraction, nearest.stick.fraction),
            ),
            None => (nearest.stick, nearest.stick.fraction),
        };
        Found {
            stick,
            fraction,
            has_samples: zero.less(self.lanes(&wanted.has_samples, at)),
            is_in_mask: zero.less(self.lanes(&wanted.is_in_mask, at)),
        }
    }

    #[inline(always)]
    fn unpack(&self, packed: &[[u32; MAX_LANES]; 2]) -> Stick<Lanes<S>> {
        let low = Words::load(self.simd, &packed[0]);
        let high = Words::load(self.simd, &packed[1]);
        unpacked(Lanes::new(self.simd, 0.0), low, high)
    }
}
