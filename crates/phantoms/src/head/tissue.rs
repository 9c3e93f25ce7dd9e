//! What water does in each tissue: how much there is, how it relaxes and how it diffuses.

use super::labels::Tissue;

/// Water of a tissue at 3 T.
#[derive(Clone, Copy, Debug)]
pub(super) struct Water {
    /// Relative to fluid.
    proton_density: f64,
    /// Seconds.
    t1: f64,
    /// Seconds.
    t2: f64,
}

/// How a series is weighted besides its gradients: repetition and echo time, s.
const DIFFUSION_SCAN: [f64; 2] = [4.0, 0.075];
/// A spoiled gradient echo: repetition time, s, and flip angle, degrees.
const GRADIENT_ECHO: [f64; 2] = [0.045, 15.0];
/// An inversion recovery: inversion time, s, and how much of the signal is inverted beyond zero.
const T1_SCAN: [f64; 2] = [1.0, 1.55];

/// Signal of pure white matter in the series.
pub(super) const WHITE_SIGNAL: f64 = 800.0;

/// Water of [`Tissue::ALL`]. T1 after Stanisz et al. (Magn Reson Med 54, 507 (2005)) and Wansapura et
/// al. (J Magn Reson Imaging 9, 531 (1999)); T2 of cortex and white matter of people at 3 T after Cox
/// and Gowland (Magn Reson Med 64, 1440 (2010)), that of nuclei shorter by their iron; fat is
/// suppressed.
const WATER: [Water; 9] = [
    water(0.82, 1.35, 0.076),
    water(0.78, 1.15, 0.066),
    water(0.70, 0.85, 0.071),
    water(1.00, 4.00, 1.500),
    water(0.80, 1.60, 0.050),
    water(0.70, 1.10, 0.040),
    water(0.90, 0.38, 0.060),
    water(0.05, 0.40, 0.010),
    water(0.00, 1.00, 1.000),
];
/// What fat suppression leaves of fat in the series.
const FAT_LEFT: f64 = 0.08;

/// Proton density relative to fluid, T1 and T2 in seconds, of the water of a tissue.
pub(super) fn relaxation(tissue: Tissue) -> [f64; 3] {
    let Water { proton_density, t1, t2 } = WATER[tissue as usize];
    [proton_density, t1, t2]
}

const fn water(proton_density: f64, t1: f64, t2: f64) -> Water {
    Water { proton_density, t1, t2 }
}

/// Signal of a pure tissue in the series without gradients.
pub(super) fn unweighted(tissue: Tissue) -> f64 {
    let [repetition, echo] = DIFFUSION_SCAN;
    let of = |tissue: Tissue| {
        let Water { proton_density, t1, t2 } = WATER[tissue as usize];
        proton_density * (1.0 - (-repetition / t1).exp()) * (-echo / t2).exp()
    };
    let left = if tissue == Tissue::Fat { FAT_LEFT } else { 1.0 };
    WHITE_SIGNAL * left * of(tissue) / of(Tissue::White)
}

/// Signal of a pure tissue in a T1-weighted scan, white matter's being 1000.
pub(super) fn t1_weighted(tissue: Tissue) -> f64 {
    let [inversion, inverted] = T1_SCAN;
    let of = |tissue: Tissue| {
        let Water { proton_density, t1, .. } = WATER[tissue as usize];
        // What has not come back to zero yet is dark, as in the pictures of a scanner.
        proton_density * (1.0 - inverted * (-inversion / t1).exp()).max(0.04)
    };
    1000.0 * of(tissue) / of(Tissue::White)
}

/// Signal of a pure tissue in a spoiled gradient echo at echo time 0, white matter's being
/// [`WHITE_SIGNAL`].
pub(super) fn gradient_echo(tissue: Tissue) -> f64 {
    let [repetition, flip] = GRADIENT_ECHO;
    let of = |tissue: Tissue| {
        let Water { proton_density, t1, .. } = WATER[tissue as usize];
        let left = (-repetition / t1).exp();
        proton_density * (1.0 - left) / (1.0 - flip.to_radians().cos() * left)
    };
    WHITE_SIGNAL * of(tissue) / of(Tissue::White)
}

/// Isotropic diffusion, µm²/ms: water between the cells of grey matter, water held in those of nuclei,
/// free water, blood and soft tissue, fat.
pub(super) const ISOTROPIC: [f64; 5] = [0.95, 0.4, 3.0, 1.3, 0.05];

/// What part of a tissue's signal diffuses isotropically, by [`ISOTROPIC`]; the rest is fibres.
pub(super) fn isotropic(tissue: Tissue) -> [f64; 5] {
    match tissue {
        Tissue::CorticalGrey => [0.62, 0.0, 0.0, 0.0, 0.0],
        Tissue::SubcorticalGrey => [0.52, 0.12, 0.0, 0.0, 0.0],
        Tissue::White => [0.0, 0.0, 0.005, 0.0, 0.0],
        Tissue::Fluid => [0.0, 0.0, 1.0, 0.0, 0.0],
        Tissue::Blood | Tissue::Soft => [0.0, 0.0, 0.0, 1.0, 0.0],
        Tissue::Fat | Tissue::Bone | Tissue::Air => [0.0, 0.0, 0.0, 0.0, 1.0],
    }
}

/// Fibres: axons, and the water around them that they hinder.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Bundled {
    /// NODDI's index of dispersion.
    pub(super) dispersion: f64,
    /// The part of the water that is inside, and only diffuses along.
    pub(super) inside: f64,
}

/// Diffusion inside axons, µm²/ms, along and across.
pub(super) const INSIDE: [f64; 2] = [2.0, 0.0];
/// Around them.
pub(super) const AROUND: [f64; 2] = [1.6, 0.55];

impl Bundled {
    /// Between the named bundles.
    pub(super) const UNNAMED: Self = Self { dispersion: 0.12, inside: 0.56 };
    /// In the internal capsule, which narrows between the nuclei.
    pub(super) const CAPSULE: Self = Self { dispersion: 0.06, inside: 0.66 };
    /// Neurites of cortex, most at right angles to its surface. With the part that they have of it
    /// ([`isotropic`]), 0.38, they are of the order that NODDI finds there (Zhang et al., NeuroImage 61,
    /// 1000 (2012); Fukutomi et al., NeuroImage 182, 488 (2018)): FA 0.10, MD 0.84 µm²/ms, MK 0.65.
    pub(super) const CORTEX: Self = Self { dispersion: 0.42, inside: 1.0 };
    /// Neurites of nuclei.
    pub(super) const NUCLEUS: Self = Self { dispersion: 0.4, inside: 1.0 };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fluid_is_bright_in_the_series_and_dark_in_t1() {
        let order = [Tissue::Fluid, Tissue::CorticalGrey, Tissue::White];
        let [fluid, grey, white] = order.map(unweighted);
        assert!(fluid > grey && grey > white && (white - 800.0).abs() < 1e-9);
        let [fluid, grey, white] = order.map(t1_weighted);
        assert!(fluid < grey && grey < white && (white - 1000.0).abs() < 1e-9);
        assert_eq!(unweighted(Tissue::Air), 0.0);
    }

    #[test]
    fn parts_of_a_tissue_are_its_whole() {
        for tissue in Tissue::ALL {
            let sum: f64 = isotropic(tissue).iter().sum();
            assert!((0.0..=1.0).contains(&sum), "{tissue:?}");
        }
    }
}
