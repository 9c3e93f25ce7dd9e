//! Ridges: curves along the maxima of densities, with a particle on one in each lane.
//!
//! A step looks half a step ahead, along the direction of the step before, for the maximum nearest to that
//! direction, and goes all of its length along the maximum found there. The place it looks at is off the
//! middle of the step by the square of its length, as that of the midpoint rule is, so that the curve is
//! right to the square of the step; the rule's other look, at the start of the step, is saved.
//!
//! A turn takes each particle one step of Newton's method on. One that is not at its maximum then stays where
//! it is, while the others go on: none waits for a neighbour, and none depends on one.

use fimbria_compute::{Lanes, Real};
use pulp::Simd;

use super::arcs::Pose;
use super::field::{Densities, MAX_TERMS, WIDTH};
use super::form::multiplicities;
use super::maximum::{Ascents, SIDE_BY_SIDE};
use super::options::DensityPropagation;
use crate::EndReason;
use crate::field::{Lattice, floor, voxel};
use crate::step::dot;

type Batch<T> = [T; SIDE_BY_SIDE];

/// Most steps of Newton's method at one place, the last of which hardly moves.
pub(super) const MAX_STEPS: u32 = 16;

/// A step this short is the last one, as its square is the error of what it leads to: less than a thousandth,
/// where the direction of a streamline turns by a hundredth from step to step.
pub(super) const SHORT: f32 = 0.015;

/// What a particle comes to in a turn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Turn {
    /// It is not at the maximum yet.
    Climbs,
    /// The maximum at its seed.
    Start([f32; 3]),
    /// A step, which may end outside the mask.
    Step(Result<Pose, EndReason>, bool),
}

/// Particles on ridges.
pub(super) struct Ridges<'a, S, const ORDER: usize, const TERMS: usize> {
    simd: S,
    field: &'a Densities,
    lattice: Lattice,
    step_mm: f32,
    least_cos: f32,
    cutoff: f32,
    /// One over the multiplicity of each term.
    over: [f32; MAX_TERMS],
    pos: [Batch<f32>; 3],
    /// Along which it came here.
    from: [Batch<f32>; 3],
    /// How far ahead it looks, mm: half a step, and nothing at a seed.
    ahead: Batch<f32>,
    /// The voxel before the place it looks at, and the forms of that voxel and the seven after it.
    low: [Batch<f32>; 3],
    corners: Batch<[usize; 8]>,
    weights: [Batch<f32>; 8],
    /// The form at that place, without multiplicities, and whether it is still to be made.
    forms: Box<[[f32; MAX_TERMS]; SIDE_BY_SIDE]>,
    is_new: Batch<bool>,
    /// Between other voxels than the place before.
    is_elsewhere: Batch<bool>,
    ascents: Ascents,
    /// Steps of Newton's method there.
    climbed: Batch<u32>,
    /// Where a step along the direction found leads, and the place of its voxel.
    next: [Batch<f32>; 3],
    next_place: Batch<u32>,
    cos: Batch<f32>,
}

impl<'a, S: Simd, const ORDER: usize, const TERMS: usize> Ridges<'a, S, ORDER, TERMS> {
    pub(super) fn new(simd: S, field: &'a Densities, options: &DensityPropagation) -> Self {
        let mut over = [0.0; MAX_TERMS];
        over.iter_mut().zip(multiplicities(ORDER)).for_each(|(over, m)| *over = 1.0 / m);
        let none = [[0.0; SIDE_BY_SIDE]; 3];
        Self {
            simd,
            field,
            lattice: field.lattice(),
            step_mm: options.step_mm,
            least_cos: options.max_angle.cos(),
            cutoff: options.cutoff,
            over,
            pos: none,
            from: none,
            ahead: [0.0; SIDE_BY_SIDE],
            // Of no voxel.
            low: [[f32::NAN; SIDE_BY_SIDE]; 3],
            corners: [[0; 8]; SIDE_BY_SIDE],
            weights: [[0.0; SIDE_BY_SIDE]; 8],
            forms: Box::new([[0.0; MAX_TERMS]; SIDE_BY_SIDE]),
            is_new: [false; SIDE_BY_SIDE],
            is_elsewhere: [false; SIDE_BY_SIDE],
            ascents: Ascents::default(),
            climbed: [0; SIDE_BY_SIDE],
            next: none,
            next_place: [0; SIDE_BY_SIDE],
            cos: [0.0; SIDE_BY_SIDE],
        }
    }

    /// Puts a particle where it is to look for a maximum: at its seed, or half a step ahead.
    #[inline(always)]
    pub(super) fn put(&mut self, lane: usize, at: Pose, is_at_seed: bool) {
        for a in 0..3 {
            self.pos[a][lane] = at.pos[a];
            self.from[a][lane] = at.dir[a];
            self.ascents.dir[a][lane] = at.dir[a];
        }
        self.ahead[lane] = if is_at_seed { 0.0 } else { 0.5 * self.step_mm };
        self.climbed[lane] = 0;
        self.is_new[lane] = true;
    }

    /// One turn for all particles, once they have looked.
    #[inline(always)]
    pub(super) fn turn(&mut self) {
        // Forms that have been called into the cache have some time to come.
        for is_elsewhere in [false, true] {
            for lane in 0..SIDE_BY_SIDE {
                if self.is_new[lane] && self.is_elsewhere[lane] == is_elsewhere {
                    self.interpolate(lane);
                    self.is_new[lane] = false;
                }
            }
        }
        self.ascents.take::<TERMS>(&self.forms);
        self.ascents.climb::<S, ORDER, TERMS>(self.simd);
        self.reach();
    }

    /// What came of it for one of them.
    #[inline(always)]
    pub(super) fn came_to(&mut self, lane: usize) -> Turn {
        let of = |[x, y, z]: &[Batch<f32>; 3]| [x[lane], y[lane], z[lane]];
        let dir = of(&self.ascents.dir);
        self.climbed[lane] += 1;
        if self.ascents.step[lane] > SHORT && self.climbed[lane] < MAX_STEPS {
            return Turn::Climbs;
        }
        if self.ahead[lane] == 0.0 {
            return Turn::Start(dir);
        }
        // What is no number is no density.
        let is_dense = self.ascents.value[lane] >= self.cutoff;
        let step = if !is_dense {
            Err(EndReason::Cutoff)
        } else if self.cos[lane] < self.least_cos {
            Err(EndReason::Curvature)
        } else {
            Ok(Pose { pos: of(&self.next), dir })
        };
        Turn::Step(step, self.field.is_in_mask(self.next_place[lane]))
    }

    /// The forms around the places that particles look at, which are called into the cache, and their weights.
    #[inline(always)]
    pub(super) fn look(&mut self) {
        let m = self.field.vox_from_dir();
        let mut has_moved = [0.0; SIDE_BY_SIDE];
        for at in (0..SIDE_BY_SIDE).step_by(Lanes::<S>::LANES) {
            let one = Lanes::new(self.simd, 1.0);
            let [pos, from] = [load(self.simd, &self.pos, at), load(self.simd, &self.from, at)];
            let ahead = Lanes::load(self.simd, &self.ahead[at..]);
            let there = moved(m, pos, from, ahead);
            let (mut sides, mut same) = ([[one; 2]; 3], one.equals(one));
            for a in 0..3 {
                let low = floor(there[a]);
                let above = there[a] - low;
                sides[a] = [one - above, above];
                same = same & low.equals(Lanes::load(self.simd, &self.low[a][at..]));
                low.store(&mut self.low[a][at..]);
            }
            Lanes::select(same, one.splat(0.0), one).store(&mut has_moved[at..]);
            let [x, y, z] = sides;
            for corner in 0..8 {
                let weight = x[corner & 1] * y[corner >> 1 & 1] * z[corner >> 2];
                weight.store(&mut self.weights[corner][at..]);
            }
        }
        for lane in 0..SIDE_BY_SIDE {
            self.is_elsewhere[lane] = has_moved[lane] != 0.0;
            if self.is_elsewhere[lane] {
                let low = [self.low[0][lane], self.low[1][lane], self.low[2][lane]];
                self.corners[lane] = self.field.corners(&self.lattice, low);
                self.field.fetch_forms(&self.corners[lane]);
            }
        }
    }

    /// The form at the place that a particle looks at.
    #[inline(always)]
    fn interpolate(&mut self, lane: usize) {
        // Known to the compiler, so that reading needs no checks.
        let stride = const { TERMS.next_multiple_of(WIDTH) };
        let field = self.field;
        let mut corners = [field.stored::<TERMS>(0); 8];
        let mut weights = [Lanes::new(self.simd, 0.0); 8];
        for corner in 0..8 {
            corners[corner] = field.stored::<TERMS>(self.corners[lane][corner]);
            weights[corner] = Lanes::new(self.simd, self.weights[corner][lane]);
        }
        for part in (0..stride).step_by(Lanes::<S>::LANES) {
            let mut sum = Lanes::new(self.simd, 0.0);
            for corner in 0..8 {
                let form = Lanes::load(self.simd, &corners[corner][part..stride]);
                sum = form.mul_add(weights[corner], sum);
            }
            let over = Lanes::load(self.simd, &self.over[part..stride]);
            (sum * over).store(&mut self.forms[lane][part..stride]);
        }
    }

    /// Where steps along the directions found lead, and how much they turn.
    #[inline(always)]
    fn reach(&mut self) {
        let m = self.field.vox_from_dir();
        for at in (0..SIDE_BY_SIDE).step_by(Lanes::<S>::LANES) {
            let dir = load(self.simd, &self.ascents.dir, at);
            let [pos, from] = [load(self.simd, &self.pos, at), load(self.simd, &self.from, at)];
            dot(dir, from).store(&mut self.cos[at..]);
            let next = moved(m, pos, dir, Lanes::new(self.simd, self.step_mm));
            for a in 0..3 {
                next[a].store(&mut self.next[a][at..]);
            }
            self.lattice.place(voxel(next)).store(&mut self.next_place[at..]);
        }
    }
}

#[inline(always)]
fn load<S: Simd>(simd: S, from: &[Batch<f32>; 3], at: usize) -> [Lanes<S>; 3] {
    let [x, y, z] = from;
    [Lanes::load(simd, &x[at..]), Lanes::load(simd, &y[at..]), Lanes::load(simd, &z[at..])]
}

/// A point so many millimetres along a direction.
#[inline(always)]
fn moved<R: Real>(m: &[[f32; 3]; 3], pos: [R; 3], dir: [R; 3], mm: R) -> [R; 3] {
    let mut moved = pos;
    for a in 0..3 {
        let along = dir[0] * m[a][0] + dir[1] * m[a][1] + dir[2] * m[a][2];
        moved[a] = mm.mul_add(along, pos[a]);
    }
    moved
}
