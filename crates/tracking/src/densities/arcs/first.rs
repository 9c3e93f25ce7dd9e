//! The first direction of a streamline.

use fimbria_compute::math::sincos_turns;
use fimbria_compute::philox::uniform;
use fimbria_compute::{Lanes, Real as _};
use pulp::Simd;

use super::{Drawer, Key, LANES, MARGIN, MAX_TRIALS, trials_of, unit};
use crate::EndReason;
use crate::densities::field::MAX_TERMS;
use crate::densities::form::{monomials, value};

/// Cosine of the largest angle, 30°, between a first direction and the one that it is to be near: lobes of
/// order 8 that can be told apart are farther from each other, and half as high at 20°.
const NEAR: f32 = 0.866_025_4;

/// The stream of numbers for the first direction: no half has as many points.
const FIRST_DIRECTION: u32 = u32::MAX - 1;

impl<S: Simd, const ORDER: usize, const TERMS: usize> Drawer<'_, S, ORDER, TERMS> {
    /// A direction at a point, drawn in proportion to the density there, of those `near` one or its opposite.
    ///
    /// # Errors
    /// Why there is none.
    #[inline(always)]
    pub(in crate::densities) fn first_direction(
        &self,
        pos: [f32; 3],
        near: Option<[f32; 3]>,
        key: Key,
    ) -> Result<[f32; 3], EndReason> {
        let mut form = [0.0; MAX_TERMS];
        self.form(pos, &mut form);
        let form: &[f32; TERMS] = form.first_chunk().unwrap_or(&[0.0; TERMS]);
        let largest = self.largest(form) * MARGIN;
        let philox = self.philox.stream(FIRST_DIRECTION);
        let mut trial = 0;
        while largest >= self.cutoff && trial < MAX_TRIALS {
            let trials = trials_of(key, trial);
            let mut dirs = [[0.0; LANES]; 3];
            let (mut values, mut levels) = ([0.0; LANES], [0.0; LANES]);
            for at in (0..LANES).step_by(Lanes::<S>::LANES) {
                let words = self.words(philox, key, &trials[at..]);
                let one = Lanes::new(self.simd, 1.0);
                let z = uniform::<Lanes<S>>(words[0]) * 2.0 - 1.0;
                let radius = z.neg_mul_add(z, one).max(one.splat(0.0)).sqrt();
                let (sin, cos) = sincos_turns(uniform::<Lanes<S>>(words[1]));
                let dir = [radius * cos, radius * sin, z];
                let monomials = monomials::<Lanes<S>, ORDER, TERMS>(dir);
                value::<S, TERMS>(&monomials, form).store(&mut values[at..]);
                (uniform::<Lanes<S>>(words[2]) * largest).store(&mut levels[at..]);
                for a in 0..3 {
                    dir[a].store(&mut dirs[a][at..]);
                }
            }
            for i in 0..LANES {
                if values[i] < self.cutoff || levels[i] > values[i] {
                    continue;
                }
                let dir = unit([dirs[0][i], dirs[1][i], dirs[2][i]]);
                let cos = |near: [f32; 3]| (0..3).map(|a| near[a] * dir[a]).sum::<f32>().abs();
                if near.is_none_or(|near| cos(near) >= NEAR) {
                    return Ok(dir);
                }
            }
            trial += LANES as u32;
        }
        Err(EndReason::Cutoff)
    }
}
