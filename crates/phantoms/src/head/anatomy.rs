//! Which part of the head a point lies in.

use fimbria_compute::dense::vec3::{Vec3, add, dot, scale, sub};
use fimbria_compute::{Progress, Workers};

use super::cerebrum::{Envelope, above_floor, arch, middle};
use super::cortex::{Cortex, THICKNESS_MM};
use super::hindbrain::FORAMEN_MM;
use super::labels::Part;
use super::lattice::Lattice;
use super::shapes::ramp;
use super::tissue::Bundled;
use super::waves::{Dice, Waves};
use super::{deep, hindbrain, parcels, surround};
use crate::PhantomError;
use crate::bundle::unit;

/// Every head is bent from the pattern by this much, mm, over this wavelength.
const BEND_MM: f64 = 0.9;
const BEND_WAVELENGTH_MM: f64 = 110.0;
/// Cortex reaches as far out of the envelope of its hemisphere: the surface halfway between white matter and pia is
/// rounded where white matter leaves it. What follows the corticospinal tract down beside the medulla is none.
const OUTSIDE_MM: f64 = 4.0;

/// A head. Positions are in scanner RAS+ mm, the origin at the anterior commissure.
pub(super) struct Anatomy {
    envelope: Envelope,
    cortex: Cortex,
    /// Depth in the cavity of the skull, x from the midline outwards.
    cavity: Lattice,
    /// How far every point is from that of the pattern, along x, y, z.
    bend: [Lattice; 3],
    /// Where fibres of no named bundle cross others.
    crossing: Waves,
    /// Where fibres spread farther, and where they are denser.
    spread: Waves,
    density: Waves,
    /// Size along each axis, relative to the pattern.
    size: Vec3,
    /// How much the ventricles are wider than in the pattern, mm.
    ventricle_mm: f64,
}

impl Anatomy {
    /// The head of a seed.
    ///
    /// # Errors
    /// Where memory is short or the user stops it.
    pub(super) fn new(
        seed: u64,
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<Self, PhantomError> {
        let bend = |purpose| {
            let waves = Waves::new(Dice::new(seed, purpose), 24, BEND_WAVELENGTH_MM);
            let mut bend = Lattice::spanning([-110.0, -150.0, -110.0], [110.0; 3], 8.0)?;
            bend.fill(workers, progress, |p| BEND_MM * waves.at(p))?;
            Ok::<_, PhantomError>(bend)
        };
        let bend = [bend(1)?, bend(2)?, bend(3)?];
        let mut cavity = Lattice::spanning([0.0, -125.0, -110.0], [92.0, 110.0, 100.0], 2.0)?;
        cavity.fill(workers, progress, surround::cavity)?;
        let envelope = Envelope::new(workers, progress)?;
        let [x, y, z, ventricle] = Dice::new(seed, 4).four(0, 0);
        let size = [x, y, z].map(|part| 0.975 + 0.05 * part);
        let cortex = Cortex::new(&envelope, seed, workers, progress)?;
        let waves = |purpose, wavelength| Waves::new(Dice::new(seed, purpose), 16, wavelength);
        let (crossing, spread, density) = (waves(5, 30.0), waves(6, 24.0), waves(7, 28.0));
        let ventricle_mm = ventricle + 0.6;
        Ok(Self { envelope, cortex, cavity, bend, crossing, spread, density, size, ventricle_mm })
    }

    /// The point of the pattern that lies at `p`.
    pub(super) fn in_pattern(&self, p: Vec3) -> Vec3 {
        let bent = [0, 1, 2].map(|a| p[a] + self.bend[a].at(p));
        [0, 1, 2].map(|a| bent[a] / self.size[a])
    }

    /// Where a point of the pattern lies.
    pub(super) fn of_pattern(&self, q: Vec3) -> Vec3 {
        let mut p = [0, 1, 2].map(|a| q[a] * self.size[a]);
        // The bend is a contraction: each step leaves a tenth of the error.
        for _ in 0..5 {
            let miss = sub(q, self.in_pattern(p));
            p = add(p, miss);
        }
        p
    }

    /// The part at a point and whether it is on the right.
    pub(super) fn part(&self, p: Vec3) -> (Part, bool) {
        let q = self.in_pattern(p);
        (self.part_of_pattern(q), q[0] > 0.0)
    }

    /// The number of the label of cortex at a point of the left or of the right hemisphere: that of its gyrus.
    pub(super) fn gyrus(&self, p: Vec3, is_right: bool) -> u16 {
        let [x, y, z] = self.in_pattern(p);
        parcels::gyrus([x.abs(), y, z]).label(is_right)
    }

    fn part_of_pattern(&self, q: Vec3) -> Part {
        let p = [q[0].abs(), q[1], q[2]];
        let cavity = self.cavity.at(p);
        if cavity <= 0.0 {
            return surround::part(p, cavity);
        }
        if surround::vein(p, cavity) {
            return Part::Vein;
        }
        if let Some(part) = deep::part(p, self.ventricle_mm) {
            return part;
        }
        if let Some(part) = hindbrain::part(p) {
            return part;
        }
        let below = self.cortex.below_white(q);
        if below > 0.0 {
            return Part::White;
        }
        if below < -THICKNESS_MM || self.envelope.depth(p) < -OUTSIDE_MM {
            return if surround::dura(p) { Part::Dura } else { Part::Fluid };
        }
        // The surface of the callosum and of what is below it has no cortex.
        let from_middle = middle(p);
        if from_middle > 0.0 {
            return Part::White;
        }
        if from_middle > -2.0 && (p[0] < 0.7 || above_floor(p) < 3.0) {
            return Part::Fluid;
        }
        Part::Cortex
    }

    /// How far below the surface of the white matter a point lies, mm.
    pub(super) fn below_white(&self, p: Vec3) -> f64 {
        self.cortex.below_white(self.in_pattern(p))
    }

    /// From 0 to 1: how far white matter at a point is of the internal capsule.
    pub(super) fn capsule(&self, p: Vec3) -> f64 {
        let q = self.in_pattern(p);
        deep::capsule([q[0].abs(), q[1], q[2]])
    }

    /// How far white matter at a point is from cortex, mm: in the folia of the cerebellum a little,
    /// in the stem far.
    pub(super) fn below_any_grey(&self, p: Vec3) -> f64 {
        let q = self.in_pattern(p);
        let pattern = [q[0].abs(), q[1], q[2]];
        let below = self.cortex.below_white(q);
        if hindbrain::stem(pattern) > 0.0 || middle(pattern) > 0.0 {
            return below.max(20.0);
        }
        if hindbrain::cerebellum(pattern) > 0.0 { 2.5 } else { below }
    }

    /// By how much fibres at a point differ from what is usual: of variance 1, over centimetres.
    pub(super) fn variation(&self, p: Vec3) -> Bundled {
        let q = self.in_pattern(p);
        let within = |value: f64| value.clamp(-2.2, 2.2);
        Bundled { dispersion: within(self.spread.at(q)), inside: within(self.density.at(q)) }
    }

    /// The way from the envelope of a hemisphere inwards, at unit length.
    pub(super) fn envelope_inwards(&self, p: Vec3) -> Vec3 {
        let [x, y, z] = self.in_pattern(p);
        let [out, ahead, up] = self.envelope.inwards([x.abs(), y, z]);
        [out * x.signum(), ahead, up]
    }

    /// The direction of fibres of no named bundle: along gyri, deep down towards the internal
    /// capsule, in the stem upwards, in the cerebellum towards its peduncles.
    pub(super) fn unnamed_fibre(&self, p: Vec3) -> Vec3 {
        let q = self.in_pattern(p);
        let pattern = [q[0].abs(), q[1], q[2]];
        let dir = if hindbrain::stem(pattern) > 0.0 {
            [0.0, 0.25, 1.0]
        } else if hindbrain::cerebellum(pattern) > 0.0 {
            sub(pattern, [16.0, -40.0, -35.0])
        } else {
            let depth = self.envelope.depth(pattern);
            // Under the callosum the midline is no surface to leave.
            let under = ramp(middle(pattern), 2.0, 6.0) * ramp(arch(pattern), 6.0, 9.0);
            let deep = ramp(depth, 10.0, 26.0).max(under);
            let fan = unit(sub(pattern, [19.0, -12.0, -6.0]));
            let out = scale(self.envelope.inwards(pattern), -1.0);
            let out = if dot(out, fan) < 0.0 { scale(out, -1.0) } else { out };
            add(scale(out, 1.0 - deep), scale(fan, deep))
        };
        unit([dir[0] * q[0].signum(), dir[1], dir[2]])
    }

    /// Fibres of no named bundle that run along the hemisphere and cross those: their direction, and
    /// their part, which comes and goes over centimetres. None in the middle, the stem and the
    /// cerebellum.
    pub(super) fn crossing_fibre(&self, p: Vec3) -> Option<(Vec3, f64)> {
        let q = self.in_pattern(p);
        let pattern = [q[0].abs(), q[1], q[2]];
        if hindbrain::stem(pattern) > 0.0
            || hindbrain::cerebellum(pattern) > 0.0
            || middle(pattern) > 0.0
        {
            return None;
        }
        let along = self.unnamed_fibre(p);
        let ahead = [0.15 * q[0].signum(), 1.0, 0.2];
        let dir = unit(sub(ahead, scale(along, dot(ahead, along))));
        Some((dir, 0.2 + 0.11 * self.crossing.at(q).clamp(-1.8, 1.8)))
    }

    /// The direction at right angles to the sheet of cortex, at unit length. The folia of the
    /// cerebellum stand on its lobes as their white matter does.
    pub(super) fn across_cortex(&self, p: Vec3) -> Vec3 {
        let [x, y, z] = self.in_pattern(p);
        let is_cerebellum = hindbrain::cerebellum([x.abs(), y, z]) > 0.0;
        if is_cerebellum { self.unnamed_fibre(p) } else { unit(self.inwards(p)) }
    }

    /// Whether a point is below the great foramen, where the canal of the spine begins.
    pub(super) fn is_below_brain(&self, p: Vec3) -> bool {
        self.in_pattern(p)[2] < FORAMEN_MM
    }

    /// The way from the cortex to the white matter, length about 1.
    pub(super) fn inwards(&self, p: Vec3) -> Vec3 {
        self.cortex.inwards(self.in_pattern(p))
    }
}
