//! Densities at points in SIMD lanes: sums of forms around them.

use fimbria_compute::{Lanes, Real};
use pulp::Simd;

use super::{Arcs, Batch, Drawer, LANES};
use crate::EndReason;
use crate::densities::directions::{HALF_SPHERE, load3};
use crate::densities::field::MAX_TERMS;
use crate::densities::form::{monomials, value, values};
use crate::field::floor;

/// Forms that are evaluated side by side, so that multiply-adds do not wait for each other: twice as many
/// as one takes cycles. What is left over is evaluated by halves.
const TOGETHER: usize = 8;
const HALF: usize = TOGETHER / 2;

impl<S: Simd, const ORDER: usize, const TERMS: usize> Drawer<'_, S, ORDER, TERMS> {
    /// The densities along some arcs that leave one point: all of the first place, then of the next.
    #[inline(always)]
    pub(super) fn along(&self, arcs: &Arcs, some: &[usize], start: [f32; 3]) -> Batch<f32> {
        let n = some.len();
        // Lanes without an arc are at the start.
        let mut pos = [[start[0]; LANES], [start[1]; LANES], [start[2]; LANES]];
        let mut dir = [[0.0; LANES]; 3];
        for place in 0..self.places {
            for a in 0..3 {
                for (i, arc) in some.iter().enumerate() {
                    pos[a][place * n + i] = arcs.pos[place][a][*arc];
                    dir[a][place * n + i] = arcs.dir[place][a][*arc];
                }
            }
        }
        self.densities(&pos, &dir)
    }

    /// The densities at a batch of points that lie close together, each in its direction.
    #[inline(always)]
    fn densities(&self, pos: &[Batch<f32>; 3], dir: &[Batch<f32>; 3]) -> Batch<f32> {
        let (mut low, mut high) = ([0.0; 3], [0.0; 3]);
        for a in 0..3 {
            let mut least = Lanes::load(self.simd, &pos[a]);
            let mut most = -least;
            for at in (0..LANES).step_by(Lanes::<S>::LANES).skip(1) {
                let next = Lanes::load(self.simd, &pos[a][at..]);
                (least, most) = (least.min(next), most.min(-next));
            }
            (low[a], high[a]) = (floor(least.least()), floor(-most.least()) + 1.0);
        }
        let mut values = [0.0; LANES];
        for at in (0..LANES).step_by(Lanes::<S>::LANES) {
            let here = load3(self.simd, pos, at);
            let along = load3(self.simd, dir, at);
            let monomials = monomials::<Lanes<S>, ORDER, TERMS>(along);
            let zero = Lanes::new(self.simd, 0.0);
            let mut sum = zero;
            let (mut forms, mut weights, mut waiting) = ([0; TOGETHER], [zero; TOGETHER], 0);
            let mut corner = low;
            while corner[2] <= high[2] {
                let weight_z = hat(here[2], corner[2]);
                corner[1] = low[1];
                while corner[1] <= high[1] {
                    let weight_yz = weight_z * hat(here[1], corner[1]);
                    corner[0] = low[0];
                    while corner[0] <= high[0] {
                        forms[waiting] = self.field.form_at(&self.lattice, corner);
                        weights[waiting] = weight_yz * hat(here[0], corner[0]);
                        waiting += 1;
                        if waiting == TOGETHER {
                            sum = self.added(&monomials, &forms, &weights, sum);
                            waiting = 0;
                        }
                        corner[0] += 1.0;
                    }
                    corner[1] += 1.0;
                }
                corner[2] += 1.0;
            }
            for first in (0..waiting).step_by(HALF) {
                // The first form of all is zero.
                for none in waiting..first + HALF {
                    (forms[none], weights[none]) = (0, zero);
                }
                let (forms, weights) = (&forms[first..], &weights[first..]);
                if let (Some(forms), Some(weights)) = (forms.first_chunk(), weights.first_chunk()) {
                    sum = self.added::<HALF>(&monomials, forms, weights, sum);
                }
            }
            sum.store(&mut values[at..]);
        }
        values
    }

    /// A sum and N more values by their weights.
    #[inline(always)]
    fn added<const N: usize>(
        &self,
        monomials: &[Lanes<S>; TERMS],
        forms: &[usize; N],
        weights: &[Lanes<S>; N],
        mut sum: Lanes<S>,
    ) -> Lanes<S> {
        let mut near = [self.field.form(0); N];
        for i in 0..N {
            near[i] = self.field.form(forms[i]);
        }
        let values = values::<S, TERMS, N>(monomials, near);
        for i in 0..N {
            sum = weights[i].mul_add(values[i], sum);
        }
        sum
    }

    /// Why nothing goes on from a point: whether a density reaches the cut-off in some direction.
    #[inline(always)]
    pub(in crate::densities) fn why(&self, pos: [f32; 3]) -> EndReason {
        let mut form = [0.0; MAX_TERMS];
        self.form(pos, &mut form);
        let largest = self.largest(form.first_chunk().unwrap_or(&[0.0; TERMS]));
        if largest < self.cutoff { EndReason::Cutoff } else { EndReason::Curvature }
    }

    /// The largest value of a form at directions of the half sphere.
    #[inline(always)]
    pub(super) fn largest(&self, form: &[f32; TERMS]) -> f32 {
        let mut values = [0.0; HALF_SPHERE];
        for at in (0..HALF_SPHERE).step_by(Lanes::<S>::LANES) {
            let dir = load3(self.simd, &self.half_sphere, at);
            let monomials = monomials::<Lanes<S>, ORDER, TERMS>(dir);
            value::<S, TERMS>(&monomials, form).store(&mut values[at..]);
        }
        let mut largest = 0.0;
        for value in values {
            largest = if value > largest { value } else { largest };
        }
        largest
    }

    /// The interpolated form at a point.
    #[inline(always)]
    pub(in crate::densities) fn form(&self, pos: [f32; 3], out: &mut [f32; MAX_TERMS]) {
        self.field.interpolate::<S, TERMS>(self.simd, &self.lattice, pos, out);
    }
}

/// Trilinear weights along one axis: zero from one voxel away on.
#[inline(always)]
pub(in crate::densities) fn hat<R: Real>(x: R, corner: f32) -> R {
    (x.splat(1.0) - (x - corner).abs()).max(x.splat(0.0))
}
