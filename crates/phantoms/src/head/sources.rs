//! What each part of the head is in a gradient-echo scan: its susceptibility, its decay and its
//! signal.
//!
//! Susceptibility is in ppm relative to fluid. Pallidum, putamen, caudate and thalamus are of the
//! order that adults of 30 to 50 years have (Treit et al., Hum Brain Mapp 42, 4597 (2021), who
//! measured these four). Of the other nuclei, hippocampus, amygdala, cortex, veins, the
//! calcification and the bleed no work is followed: their values are ours, the other nuclei's
//! between the thalamus's and the pallidum's. In nuclei that hold iron it adds 120 /s to R2* for
//! each ppm, at 3 T. White matter is as Li et al. (NeuroImage 59, 2088 (2012)) found it. Fat, bone
//! and air are as in the head of the second reconstruction challenge (Marques et al., Magn Reson
//! Med 86, 526 (2021)).

use fimbria_compute::dense::vec3::{Vec3, norm, sub};

use super::labels::{PARTS, Part, Tissue};
use super::tissue::gradient_echo;

/// Kinds of sources: the parts, a calcification, a bleed.
pub(super) const SOURCES: usize = PARTS.len() + 2;
const CALCIFICATION: u8 = PARTS.len() as u8;
const BLEED: u8 = CALCIFICATION + 1;

/// Where and how large, in the pattern: mm from the anterior commissure. The pineal gland, calcified as
/// in most adults, and an old microbleed in white matter of the left hemisphere.
const LESIONS: [(Vec3, f64, u8); 2] =
    [([0.0, -33.0, 2.5], 2.8, CALCIFICATION), ([-25.0, 14.0, 28.0], 3.0, BLEED)];

/// Mean over directions of a fibre's susceptibility, ppm.
const FIBRE: f64 = -0.03;
/// Along fibres that do not disperse less across them, ppm; myelin's lipids make it positive.
pub(super) const FIBRE_ANISOTROPY: f64 = 0.022;
/// Of air, ppm.
pub(super) const AIR: f64 = 9.4;
/// What iron adds to R2*, 1/s for each ppm.
const RATE_OF_IRON: f64 = 120.0;

/// A kind of source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Source {
    /// Mean of the susceptibility tensor, ppm.
    pub(super) chi: f64,
    /// Decay of the magnitude, 1/s.
    pub(super) r2star: f64,
    /// At echo time 0, units of the series.
    pub(super) signal: f64,
    /// Made of fibres.
    pub(super) has_fibres: bool,
}

/// The kind of source at `q` of the pattern, which is of a part.
pub(super) fn kind(q: Vec3, part: Part) -> u8 {
    let holds = |(centre, radius, _): &&(Vec3, f64, u8)| norm(sub(q, *centre)) < *radius;
    LESIONS.iter().find(holds).map_or(part as u8, |lesion| lesion.2)
}

/// All kinds.
pub(super) fn sources() -> [Source; SOURCES] {
    std::array::from_fn(|kind| match PARTS.get(kind) {
        Some(part) => {
            let tissue = part.tissue();
            let (chi, r2star) = of_part(*part);
            let has_fibres = tissue == Tissue::White;
            Source { chi, r2star, signal: gradient_echo(tissue), has_fibres }
        }
        None => {
            let (chi, r2star) =
                if kind == usize::from(BLEED) { (1.2, 180.0) } else { (-1.5, 70.0) };
            let signal = 0.5 * gradient_echo(Tissue::SubcorticalGrey);
            Source { chi, r2star, signal, has_fibres: false }
        }
    })
}

/// Susceptibility and R2*.
fn of_part(part: Part) -> (f64, f64) {
    let iron = |chi: f64| (chi, 17.0 + RATE_OF_IRON * chi);
    match part {
        Part::Air => (AIR, 0.0),
        Part::Skin => (0.0, 30.0),
        Part::Fat => (0.6, 30.0),
        Part::Skull => (-2.1, 1000.0),
        Part::Marrow => (0.1, 80.0),
        Part::Eye => (0.0, 4.0),
        // Blood of which a third has lost its oxygen.
        Part::Vein => (0.35, 40.0),
        Part::Fluid | Part::LateralVentricle | Part::ThirdVentricle | Part::FourthVentricle => {
            (0.0, 2.0)
        }
        Part::White
        | Part::Callosum
        | Part::Fornix
        | Part::BrainStem
        | Part::Cord
        | Part::CerebellarWhite => (FIBRE, 20.0),
        Part::Cortex | Part::CerebellarCortex => (0.015, 16.0),
        Part::Thalamus => (0.01, 20.0),
        Part::Hippocampus | Part::Amygdala => (0.005, 16.0),
        Part::Caudate => iron(0.06),
        Part::Putamen => iron(0.065),
        Part::Accumbens => iron(0.04),
        Part::Pallidum => iron(0.15),
        Part::RedNucleus => iron(0.11),
        Part::Nigra => iron(0.14),
        Part::Subthalamic => iron(0.12),
        Part::Dentate => iron(0.10),
        Part::Dura => (0.0, 40.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn susceptibilities_and_decays_are_of_published_order() {
        let all = sources();
        let of = |part: Part| all[part as usize];
        // Treit 2021, adults: pallidum above putamen and caudate, thalamus near zero; R2* at 3 T
        // 30 to 45 /s in the pallidum, 20 to 30 /s in the putamen.
        let [pallidum, putamen, caudate, thalamus] =
            [Part::Pallidum, Part::Putamen, Part::Caudate, Part::Thalamus].map(of);
        assert!(pallidum.chi > putamen.chi && putamen.chi >= caudate.chi);
        assert!(caudate.chi > 0.03 && thalamus.chi.abs() < 0.03);
        assert!((30.0..45.0).contains(&pallidum.r2star) && (20.0..30.0).contains(&putamen.r2star));
        assert!(of(Part::White).chi < 0.0 && of(Part::Cortex).chi > 0.0);
        assert!(of(Part::Air).signal == 0.0 && of(Part::Skull).chi < -1.0);
    }

    #[test]
    fn lesions_are_kinds_of_their_own() {
        assert_eq!(kind([0.0, -33.0, 2.5], Part::Fluid), CALCIFICATION);
        assert_eq!(kind([-25.0, 15.0, 28.0], Part::White), BLEED);
        assert_eq!(kind([25.0, 15.0, 28.0], Part::White), Part::White as u8);
        let all = sources();
        assert!(all[usize::from(BLEED)].chi > 0.5 && all[usize::from(CALCIFICATION)].chi < -0.5);
    }
}
