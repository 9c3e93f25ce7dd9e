//! Which voxels violate a constraint.

use fimbria_compute::{Lanes, Real};
use fimbria_image::Status;
use pulp::{Simd, WithSimd};

use crate::dki::constraints::{KurtosisConstraints, N_FORMS};
use crate::dki::form::N_D;
use crate::dki::lanes::along::{along, multiply_by_times};
use crate::dki::layout::parameter_row;
use crate::dki::recipe::CONSTRAINED_DIFFUSIVITY;
use crate::dti::lanes::stretch::Stretch;

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
            let place = Stretch { stride: self.stride, offset, n: lanes.min(self.n - offset) };
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
    fn least_slack<S: Simd>(&self, simd: S, place: Stretch) -> Lanes<S> {
        let mut forms = [Lanes::new(simd, 0.0); N_FORMS];
        for k in 0..N_FORMS {
            forms[k] = place.load(simd, self.parameters, parameter_row::TENSOR + k);
        }
        let slope = Lanes::new(simd, self.constraints.slope);
        let floor = Lanes::new(simd, CONSTRAINED_DIFFUSIVITY as f32);
        let mut least = Lanes::new(simd, f32::MAX);
        multiply_by_times(&mut forms);
        for of_direction in &self.constraints.products {
            let mut products = [slope; N_D];
            for k in 0..N_D {
                products[k] = Lanes::new(simd, of_direction[k]);
            }
            let (d, v) = along(&forms, &products);
            let decay = v.neg_mul_add(slope, d - floor);
            least = v.min(decay).min(least);
        }
        least
    }
}
