//! Forms at posts, and the densities along probes that they say.

use fimbria_compute::{Lanes, Real as _};
use pulp::Simd;

use super::super::arcs::{Batch, Drawer, LANES, hat};
use super::super::field::{MAX_TERMS, WIDTH};
use super::super::form::{monomials, values};
use super::ahead::Probes;
use super::plan::{BESIDE, MAX_POSTS, Plan, TOGETHER};
use crate::field::floor;

/// Corners of voxels that are summed at a time: those around a probe of less than a voxel.
const CORNERS: usize = 27;

/// A direction and two across it.
pub(super) type Frame = [[f32; 3]; 3];

/// Forms at the posts of a step. Room for them is made once.
pub(super) struct Posts {
    forms: [[f32; MAX_TERMS]; MAX_POSTS],
    /// Where they are.
    pos: [Batch<f32>; 3],
    /// Forms of voxels around, and what each counts at each post.
    near: [usize; CORNERS],
    weights: [Batch<f32>; CORNERS],
}

impl Default for Posts {
    fn default() -> Self {
        Self {
            forms: [[0.0; MAX_TERMS]; MAX_POSTS],
            pos: [[0.0; LANES]; 3],
            near: [0; CORNERS],
            weights: [[0.0; LANES]; CORNERS],
        }
    }
}

impl Posts {
    /// The form in the middle of the posts around the telling place.
    #[inline(always)]
    pub(super) fn telling<const TERMS: usize>(&self) -> [f32; TERMS] {
        let mut mean = [0.0; TERMS];
        for (term, mean) in mean.iter_mut().enumerate() {
            let sum = self.forms[0][term] + self.forms[1][term] + self.forms[2][term];
            *mean = sum * (1.0 / BESIDE as f32);
        }
        mean
    }
}

impl<S: Simd, const ORDER: usize, const TERMS: usize> Drawer<'_, S, ORDER, TERMS> {
    /// Interpolates the forms at the posts of a step; `frame` has its direction and those across in voxels.
    #[inline(always)]
    pub(super) fn set(&self, posts: &mut Posts, plan: &Plan, start: [f32; 3], frame: &Frame) {
        let (mut low, mut high) = ([0.0; 3], [0.0; 3]);
        for a in 0..3 {
            let (mut least, mut most) = (start[a], start[a]);
            for at in (0..plan.posts).step_by(Lanes::<S>::LANES) {
                let mut pos = Lanes::new(self.simd, start[a]);
                for k in 0..3 {
                    let mm = Lanes::load(self.simd, &plan.post_mm[k][at..]);
                    pos = mm.mul_add(mm.splat(frame[k][a]), pos);
                }
                pos.store(&mut posts.pos[a][at..]);
                (least, most) = (least.min(pos.least()), most.max(-(-pos).least()));
            }
            (low[a], high[a]) = (floor(least), floor(most) + 1.0);
        }
        let (mut n, mut is_first) = (0, true);
        let [mut weights_z, mut weights_yz] = [[0.0; LANES]; 2];
        let mut corner = low;
        while corner[2] <= high[2] {
            let place_z = self.lattice.along(2, corner[2]);
            for at in (0..plan.posts).step_by(Lanes::<S>::LANES) {
                let pos = Lanes::load(self.simd, &posts.pos[2][at..]);
                hat(pos, corner[2]).store(&mut weights_z[at..]);
            }
            corner[1] = low[1];
            while corner[1] <= high[1] {
                let place_yz = place_z + self.lattice.along(1, corner[1]);
                for at in (0..plan.posts).step_by(Lanes::<S>::LANES) {
                    let pos = Lanes::load(self.simd, &posts.pos[1][at..]);
                    let weight = hat(pos, corner[1]) * Lanes::load(self.simd, &weights_z[at..]);
                    weight.store(&mut weights_yz[at..]);
                }
                corner[0] = low[0];
                while corner[0] <= high[0] {
                    if n == CORNERS {
                        self.sum(posts, plan, n, is_first);
                        (n, is_first) = (0, false);
                    }
                    let place = place_yz + self.lattice.along(0, corner[0]);
                    posts.near[n] = self.field.form_of_place(place);
                    for at in (0..plan.posts).step_by(Lanes::<S>::LANES) {
                        let pos = Lanes::load(self.simd, &posts.pos[0][at..]);
                        let weight =
                            hat(pos, corner[0]) * Lanes::load(self.simd, &weights_yz[at..]);
                        weight.store(&mut posts.weights[n][at..]);
                    }
                    n += 1;
                    corner[0] += 1.0;
                }
                corner[1] += 1.0;
            }
            corner[2] += 1.0;
        }
        self.sum(posts, plan, n, is_first);
    }

    /// Adds the first forms of voxels by their weights.
    #[inline(always)]
    fn sum(&self, posts: &mut Posts, plan: &Plan, n: usize, is_first: bool) {
        let registers = const { TERMS.next_multiple_of(WIDTH) / Lanes::<S>::LANES };
        for group in (0..plan.posts).step_by(TOGETHER) {
            let mut at = 0;
            // As many side by side as processors with registers of this width have room for.
            while Lanes::<S>::LANES == LANES && at + 3 <= registers {
                self.sum_of::<3>(posts, group, at, n, is_first);
                at += 3;
            }
            while at + 2 <= registers {
                self.sum_of::<2>(posts, group, at, n, is_first);
                at += 2;
            }
            while at < registers {
                self.sum_of::<1>(posts, group, at, n, is_first);
                at += 1;
            }
        }
    }

    /// The same for a group of posts and N registers of each form from one on.
    #[inline(always)]
    fn sum_of<const N: usize>(
        &self,
        posts: &mut Posts,
        group: usize,
        at: usize,
        n: usize,
        is_first: bool,
    ) {
        let from = at * Lanes::<S>::LANES;
        let mut sums = [[Lanes::new(self.simd, 0.0); N]; TOGETHER];
        if !is_first {
            for i in 0..TOGETHER {
                for part in 0..N {
                    let so_far = &posts.forms[group + i][from + part * Lanes::<S>::LANES..];
                    sums[i][part] = Lanes::load(self.simd, so_far);
                }
            }
        }
        for corner in 0..n {
            let stored = self.field.stored::<TERMS>(posts.near[corner]);
            let mut near = [Lanes::new(self.simd, 0.0); N];
            for part in 0..N {
                let lanes = &stored[from + part * Lanes::<S>::LANES..];
                near[part] = Lanes::load(self.simd, lanes);
            }
            let weights = &posts.weights[corner][group..group + TOGETHER];
            for i in 0..TOGETHER {
                let weight = near[0].splat(weights[i]);
                for part in 0..N {
                    sums[i][part] = near[part].mul_add(weight, sums[i][part]);
                }
            }
        }
        for i in 0..TOGETHER {
            for part in 0..N {
                let to = &mut posts.forms[group + i][from + part * Lanes::<S>::LANES..];
                sums[i][part].store(to);
            }
        }
    }

    /// The densities along some probes: at each lane that of its place, in its direction.
    #[inline(always)]
    pub(super) fn along_probes(
        &self,
        posts: &Posts,
        plan: &Plan,
        probes: &Probes,
        [t, p, q]: &Frame,
    ) -> Batch<f32> {
        let mut along = [0.0; LANES];
        for at in (0..LANES).step_by(Lanes::<S>::LANES) {
            let ahead = Lanes::load(self.simd, &probes.ahead[at..]);
            let along_p = Lanes::load(self.simd, &probes.across[0][at..]);
            let along_q = Lanes::load(self.simd, &probes.across[1][at..]);
            let mut dir = [ahead; 3];
            for a in 0..3 {
                let turned = along_p.mul_add(ahead.splat(p[a]), along_q * q[a]);
                dir[a] = ahead.mul_add(ahead.splat(t[a]), turned);
            }
            let monomials = monomials::<Lanes<S>, ORDER, TERMS>(dir);
            let mut sum = ahead.splat(0.0);
            for group in (0..plan.posts).step_by(TOGETHER) {
                let mut forms = [&[0.0; TERMS]; TOGETHER];
                for i in 0..TOGETHER {
                    forms[i] = posts.forms[group + i].first_chunk().unwrap_or(&[0.0; TERMS]);
                }
                let values = values::<S, TERMS, TOGETHER>(&monomials, forms);
                for i in 0..TOGETHER {
                    let post = group + i;
                    let weights =
                        if post < BESIDE { &probes.beside[post] } else { &plan.weights[post] };
                    sum = Lanes::load(self.simd, &weights[at..]).mul_add(values[i], sum);
                }
            }
            sum.store(&mut along[at..]);
        }
        along
    }
}
