//! The envelope of a cerebral hemisphere, without folds, and its solid middle.
//!
//! Positions are in mm from the anterior commissure, x from the midline outwards: both hemispheres
//! are one. Depths are in mm, positive inside.

use fimbria_compute::dense::vec3::{Vec3, scale, sub};
use fimbria_compute::{Progress, Workers};

use super::lattice::Lattice;
use super::shapes::{Ball, both, chain, either, ellipsoid, ramp};
use crate::PhantomError;
use crate::bundle::unit;

/// From the midline to the envelope.
const FALX_MM: f64 = 0.7;

/// From the temporal pole back to where the lobe joins the occipital one.
const TEMPORAL: [Ball; 5] = [
    ([37.0, 13.0, -27.0], 11.5),
    ([43.0, -4.0, -23.0], 15.0),
    ([46.0, -28.0, -16.0], 16.5),
    ([44.0, -52.0, -8.0], 17.0),
    ([36.0, -72.0, -2.0], 16.0),
];

/// The gyri beside the brain stem.
const PARAHIPPOCAMPAL: [Ball; 4] = [
    ([24.0, 4.0, -23.0], 8.5),
    ([24.0, -16.0, -19.0], 9.0),
    ([23.0, -36.0, -10.0], 9.0),
    ([17.0, -54.0, -3.0], 9.0),
];

/// The depth in the envelope of both hemispheres together, as if there were no fissure.
pub(super) fn whole(p: Vec3) -> f64 {
    let body = both(dome(p), p[2] - base(p), 9.0);
    let lateral = either(body, temporal(p), 5.0);
    either(lateral, chain(p, &PARAHIPPOCAMPAL), 5.0)
}

/// The depth in the dome that the frontal, parietal and occipital lobes fill.
pub(super) fn dome(p: Vec3) -> f64 {
    ellipsoid(p, [0.0, -16.0, 14.0], [66.0, 84.0, 57.5])
}

/// The depth in the temporal lobe.
pub(super) fn temporal(p: Vec3) -> f64 {
    chain(p, &TEMPORAL)
}

/// The depth in the envelope of a hemisphere.
pub(super) fn hemisphere(p: Vec3) -> f64 {
    both(whole(p), p[0] - FALX_MM, 7.0)
}

/// The envelope held at the nodes of a lattice: it bends over centimetres.
pub(super) struct Envelope {
    depth: Lattice,
}

impl Envelope {
    /// # Errors
    /// Where memory is short or the user stops it.
    pub(super) fn new(workers: &Workers, progress: &dyn Progress) -> Result<Self, PhantomError> {
        let mut depth = Lattice::spanning([-4.0, -112.0, -58.0], [78.0, 80.0, 84.0], 2.0)?;
        depth.fill(workers, progress, hemisphere)?;
        Ok(Self { depth })
    }

    /// The depth of a point, mm.
    pub(super) fn depth(&self, p: Vec3) -> f64 {
        self.depth.at(p)
    }

    /// Away from the surface, inwards, at unit length.
    pub(super) fn inwards(&self, p: Vec3) -> Vec3 {
        unit(self.depth.gradient(p))
    }

    /// The point of the envelope above one, and the way inwards there.
    pub(super) fn projected(&self, p: Vec3) -> (Vec3, Vec3) {
        let inwards = self.inwards(p);
        (sub(p, scale(inwards, self.depth(p))), inwards)
    }
}

/// The height of the base: over the orbits, beside the brain stem, over the tentorium.
fn base(p: Vec3) -> f64 {
    let front = -23.0 + 0.17 * p[0];
    let middle = -14.0;
    let back = -15.0 + 10.0 * (-(p[0] / 20.0).powi(2)).exp() + 0.05 * (-60.0 - p[1]);
    let from_front = middle + ramp(p[1], 0.0, 16.0) * (front - middle);
    from_front + ramp(-p[1], 26.0, 46.0) * (back - from_front)
}

/// The depth in what joins the hemispheres: the callosum and all that is below it, down to the
/// brain stem. Nothing of its surface is cortex.
pub(super) fn middle(p: Vec3) -> f64 {
    let wide = 8.0 + 9.0 * ramp(p[2], -18.0, 0.0);
    let within = both(arch(p), wide - p[0], 4.0);
    both(within, above_floor(p), 4.0)
}

/// The depth below the upper surface of the callosum, seen from the side an ellipse.
pub(super) fn arch(p: Vec3) -> f64 {
    ellipsoid([0.0, p[1], p[2]], [0.0, -6.0, 1.5], [1e3, 38.0, 25.5])
}

/// How high a point is above the lower end of the middle: rostrum, hypothalamus, splenium.
pub(super) fn above_floor(p: Vec3) -> f64 {
    let (front, back) = (ramp(p[1], 5.0, 15.0), ramp(-p[1], 24.0, 34.0));
    p[2] - (-15.0 + 11.0 * front + 18.0 * back)
}

#[cfg(test)]
mod tests {
    use fimbria_compute::Silent;

    use super::*;

    #[test]
    fn the_envelope_is_as_long_wide_and_high_as_a_head_holds() {
        let inside = |p: Vec3| hemisphere(p) > 0.0;
        assert!(inside([20.0, 62.0, 12.0]) && !inside([20.0, 68.0, 12.0]));
        assert!(inside([20.0, -94.0, 8.0]) && !inside([20.0, -102.0, 8.0]));
        assert!(inside([61.0, -20.0, 10.0]) && !inside([67.0, -20.0, 10.0]));
        assert!(inside([20.0, -16.0, 66.0]) && !inside([20.0, -16.0, 72.0]));
        assert!(!inside([0.2, 20.0, 40.0]) && middle([0.0, -6.0, 20.0]) > 0.0);
    }

    #[test]
    fn a_point_is_projected_onto_the_envelope() {
        let envelope = Envelope::new(&Workers::new(1).unwrap(), &Silent).unwrap();
        for p in [[40.0, 20.0, 40.0], [10.0, -50.0, 50.0], [50.0, -30.0, -20.0]] {
            let depth = hemisphere(p);
            // Between the nodes, 2 mm apart, of a surface that bends over 2 cm or more.
            assert!((envelope.depth(p) - depth).abs() < 0.1);
            let (on, _) = envelope.projected(p);
            // The depth is a distance to first order; these lie some 20 mm deep.
            assert!(hemisphere(on).abs() < 0.1 * depth.abs().max(5.0), "{p:?} {}", hemisphere(on));
        }
    }
}
