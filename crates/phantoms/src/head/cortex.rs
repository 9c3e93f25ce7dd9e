//! The folded cortex: a shell of even thickness about a surface halfway between white matter and
//! pia.

use fimbria_compute::dense::vec3::Vec3;
use fimbria_compute::{Progress, Workers};

use super::cerebrum::{Envelope, middle};
use super::lattice::Lattice;
use super::shapes::{both, either};
use super::sulci::Sulci;
use crate::PhantomError;

/// Thickness of the shell, mm. Crowns of gyri and walls that meet make it more than that in the mean, which
/// is 2.5 in adults (Fischl and Dale, PNAS 97, 11050 (2000)).
pub(super) const THICKNESS_MM: f64 = 2.3;
/// Half of the fluid in a sulcus, mm: at its bottom, and how much more at its mouth.
const HALF_GAP_MM: [f64; 2] = [0.85, 0.5];
/// From node to node of what is held, mm.
const SPACING_MM: f64 = 1.0;
/// Deeper than this there are no sulci.
const DEEPEST_MM: f64 = 27.0;

/// The cortex of both hemispheres.
pub(super) struct Cortex {
    /// The distance to the surface halfway, positive towards white matter, mm.
    halfway: Lattice,
}

impl Cortex {
    /// # Errors
    /// Where memory is short or the user stops it.
    pub(super) fn new(
        envelope: &Envelope,
        seed: u64,
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<Self, PhantomError> {
        let sulci = Sulci::new(envelope, seed);
        let (low, high) = ([-70.0, -105.0, -50.0], [70.0, 73.0, 77.0]);
        let mut halfway = Lattice::spanning(low, high, SPACING_MM)?;
        progress.start("folding the cortex", 2);
        halfway.fill(workers, progress, |p| solid(envelope, &sulci, p))?;
        progress.advance(1);
        halfway.make_distance(15.0, progress)?;
        progress.advance(1);
        Ok(Self { halfway })
    }

    /// How far below the surface of the white matter a point is, mm; negative in grey matter and
    /// beyond, less than minus [`THICKNESS_MM`] outside.
    pub(super) fn below_white(&self, p: Vec3) -> f64 {
        self.halfway.at(p) - 0.5 * THICKNESS_MM
    }

    /// The direction in which that grows, its length about 1.
    pub(super) fn inwards(&self, p: Vec3) -> Vec3 {
        self.halfway.gradient(p)
    }
}

/// Positive inside the surface halfway.
fn solid(envelope: &Envelope, sulci: &Sulci<'_>, p: Vec3) -> f64 {
    let side = usize::from(p[0] > 0.0);
    let p = [p[0].abs(), p[1], p[2]];
    let depth = envelope.depth(p);
    let within = depth - 0.5 * THICKNESS_MM;
    let of_hemisphere = if !(-4.0..=DEEPEST_MM).contains(&depth) {
        within
    } else {
        let gap = HALF_GAP_MM[0] + HALF_GAP_MM[1] * (-depth.max(0.0) / 6.0).exp();
        let half = 0.5 * THICKNESS_MM + gap;
        both(within, sulci.distance(p, depth, side) - half, 3.0)
    };
    let white = sulci.tubes(p) + 0.5 * THICKNESS_MM + 0.3;
    either(either(of_hemisphere, white, 2.0), middle(p), 1.5)
}

#[cfg(test)]
mod tests {
    use fimbria_compute::Silent;
    use fimbria_compute::dense::vec3::{add, norm, scale};

    use super::*;

    /// From points of the pia inwards until white matter begins.
    #[test]
    fn the_cortex_is_as_thick_as_in_people_nearly_everywhere() {
        let workers = Workers::new(2).unwrap();
        let envelope = Envelope::new(&workers, &Silent).unwrap();
        let cortex = Cortex::new(&envelope, 1, &workers, &Silent).unwrap();
        let (mut even, mut all) = (0, 0);
        for i in 0..40_000_u32 {
            // Steps that have no lattice in common with that of the distances.
            let part = |step: f64| (f64::from(i) * step).fract();
            let mut p = [
                130.0 * part(0.618_033_988_7) - 65.0,
                170.0 * part(0.754_877_666_2) - 100.0,
                80.0 * part(0.569_840_290_9) - 10.0,
            ];
            if middle([p[0].abs(), p[1], p[2]]) > -6.0 {
                continue;
            }
            for _ in 0..4 {
                let inwards = cortex.inwards(p);
                let slope = norm(inwards).max(0.5);
                let off = cortex.below_white(p) + THICKNESS_MM;
                p = add(p, scale(inwards, -off / (slope * slope)));
            }
            let inwards = cortex.inwards(p);
            // Where the gradient is short the two walls of a sulcus meet: there is no pia.
            if (cortex.below_white(p) + THICKNESS_MM).abs() > 0.05 || norm(inwards) < 0.6 {
                continue;
            }
            // The shortest way bends with the surfaces between.
            let mut thickness = 0.0;
            while cortex.below_white(p) < 0.0 && thickness < 10.0 {
                let inwards = cortex.inwards(p);
                p = add(p, scale(inwards, 0.1 / norm(inwards).max(0.3)));
                thickness += 0.1;
            }
            all += 1;
            // In people 1 to 4.5 mm (Fischl and Dale); here nowhere thinner than the shell.
            even += usize::from((2.0..=4.5).contains(&thickness));
        }
        let part = even as f64 / f64::from(all);
        // Narrow gyri have no white matter up to their crowns: there the way is through both walls.
        assert!(all > 3000 && part > 0.87, "{part} of {all}");
    }
}
