//! How densely fibres are packed and how far they spread, from place to place.
//!
//! What the deep white matter of a bundle is (`routes`) changes with the place: next to cortex
//! fibres leave and turn, so that fewer are in a voxel and they go in more directions; between the
//! nuclei the internal capsule holds them together; and everywhere both vary a little over
//! centimetres. Fractions are of the order that NODDI finds in white matter of adults (Zhang et al.,
//! NeuroImage 61, 1000 (2012)).

use fimbria_compute::dense::vec3::Vec3;

use super::anatomy::Anatomy;
use super::shapes::ramp;
use super::tissue::Bundled;

/// What the surface of white matter takes of the part inside axons, and adds to their spread.
const SHALLOW: Bundled = Bundled { dispersion: 0.04, inside: 0.2 };
/// From the surface of white matter to where it is deep, mm.
const DEEP_MM: [f64; 2] = [0.5, 8.0];
/// How much both vary from place to place: of the spread relative to itself.
const VARIATION: Bundled = Bundled { dispersion: 0.28, inside: 0.09 };

/// What is special about a place in white matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packing {
    /// From 0 to 1: next to grey matter.
    shallow: f64,
    /// From 0 to 1: between the nuclei.
    pub(super) capsule: f64,
    /// By how much this place differs: of variance 1.
    differs: Bundled,
}

impl Packing {
    pub(super) fn at(anatomy: &Anatomy, p: Vec3) -> Self {
        let capsule = anatomy.capsule(p);
        let shallow = 1.0 - ramp(anatomy.below_any_grey(p), DEEP_MM[0], DEEP_MM[1]);
        Self { shallow: shallow * (1.0 - capsule), capsule, differs: anatomy.variation(p) }
    }

    /// Fibres that are of no bundle, as they would lie in deep white matter.
    pub(super) fn unnamed(&self) -> Bundled {
        let [out, within] = [Bundled::UNNAMED, Bundled::CAPSULE];
        let between = |out: f64, within: f64| out + self.capsule * (within - out);
        Bundled {
            dispersion: between(out.dispersion, within.dispersion),
            inside: between(out.inside, within.inside),
        }
    }

    /// Fibres of deep white matter as they lie here.
    pub(super) fn pack(&self, deep: Bundled) -> Bundled {
        let varied = deep.dispersion * (1.0 + VARIATION.dispersion * self.differs.dispersion);
        let inside = deep.inside + VARIATION.inside * self.differs.inside;
        Bundled {
            dispersion: (varied + SHALLOW.dispersion * self.shallow).clamp(0.03, 0.55),
            inside: (inside - SHALLOW.inside * self.shallow).clamp(0.25, 0.8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fibres_are_densest_and_straightest_in_the_capsule_and_least_so_next_to_cortex() {
        let place =
            |shallow: f64, capsule: f64| Packing { shallow, capsule, differs: Bundled::default() };
        let of = |packing: Packing| packing.pack(packing.unnamed());
        let [cortex, deep, capsule] = [place(1.0, 0.0), place(0.0, 0.0), place(0.0, 1.0)].map(of);
        assert_eq!(deep, Bundled::UNNAMED);
        assert!(cortex.inside < deep.inside && deep.inside < capsule.inside);
        assert!(cortex.dispersion > deep.dispersion && deep.dispersion > capsule.dispersion);
    }
}
