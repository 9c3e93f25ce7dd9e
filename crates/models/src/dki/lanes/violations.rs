//! Which voxels violate a constraint.

use fimbria_compute::{Lanes, Real};
use pulp::{Simd, WithSimd};

use crate::Status;
use crate::dki::constraints::{KurtosisConstraints, N_FORMS};
use crate::dki::form::N_D;
use crate::dki::layout::parameter_row;
use crate::dki::recipe::CONSTRAINED_DIFFUSIVITY;
use crate::dti::lanes::place::Place;

/// Finds the fitted voxels, of parameters `[row][stride]`, that violate a constraint.
pub(crate) struct FindViolations<'a> {
    pub(crate) constraints: &'a KurtosisConstraints,
    pub(crate) stride: usize,
    pub(crate) n: usize,
    pub(crate) parameters: &'a [f32],
}

impl WithSimd for FindViolations<'_> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<usize> {
        let lanes = Lanes::<S>::LANES;
        let mut violating = Vec::new();
        let mut flags = [0.0; 16];
        for offset in (0..self.n).step_by(lanes) {
            let place = Place { stride: self.stride, offset, n: lanes.min(self.n - offset) };
            let least = self.least_slack(simd, place);
            let status = place.load(simd, self.parameters, parameter_row::STATUS);
            let fitted = status.at_most(status.splat(Status::NotConverged.code()));
            let zero = least.splat(0.0);
            Lanes::select(fitted, least, zero).store(&mut flags[..lanes]);
            violating.extend((0..place.n).filter(|&l| flags[l] < 0.0).map(|l| offset + l));
        }
        violating
    }
}

impl FindViolations<'_> {
    /// The least of V and D - (b_max / 3) V - least D over the directions.
    #[inline(always)]
    fn least_slack<S: Simd>(&self, simd: S, place: Place) -> Lanes<S> {
        let mut forms = [Lanes::new(simd, 0.0); N_FORMS];
        for k in 0..N_FORMS {
            forms[k] = place.load(simd, self.parameters, parameter_row::TENSOR + k);
        }
        let slope = Lanes::new(simd, self.constraints.slope);
        let floor = Lanes::new(simd, CONSTRAINED_DIFFUSIVITY as f32);
        let mut least = Lanes::new(simd, f32::MAX);
        for terms in &self.constraints.terms {
            let mut d = forms[0] * terms[0];
            for k in 1..N_D {
                d = forms[k].mul_add(Lanes::new(simd, terms[k]), d);
            }
            // Two sums, which do not wait for each other.
            let mut even = forms[N_D] * terms[N_D];
            let mut odd = forms[N_D + 1] * terms[N_D + 1];
            for k in (N_D + 2..N_FORMS - 1).step_by(2) {
                even = forms[k].mul_add(Lanes::new(simd, terms[k]), even);
                odd = forms[k + 1].mul_add(Lanes::new(simd, terms[k + 1]), odd);
            }
            even = forms[N_FORMS - 1].mul_add(Lanes::new(simd, terms[N_FORMS - 1]), even);
            let v = even + odd;
            let decay = v.neg_mul_add(slope, d - floor);
            least = v.min(decay).min(least);
        }
        least
    }
}
