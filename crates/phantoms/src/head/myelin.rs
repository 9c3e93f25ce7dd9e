//! What a gradient echo measures of white matter: water inside, between and outside of hollow cylinders of
//! myelin, each at a frequency that depends on the angle of the fibres to B0.
//!
//! Frequencies within and about a cylinder are those of Wharton and Bowtell (PNAS 109, 18559 (2012)); water
//! between parallel cylinders is in Lorentz' cylinder in place of his sphere (He and Yablonskiy, PNAS 106,
//! 13558 (2009)). None of it is the field of a dipole: a map of susceptibility cannot explain it.

use std::f64::consts::TAU;

use super::compartments::Mixture;
use super::fixels::FIXELS;

/// What the water of white matter is in a gradient-echo scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fibres {
    /// All of it in the field of the susceptibility tensors.
    #[default]
    Tensors,
    /// In the compartments of hollow cylinders.
    HollowCylinders,
}

/// Of myelin, ppm: mean, and along lipids less across them, which stand radially.
const MYELIN: f64 = -0.1;
const MYELIN_ANISOTROPY: f64 = -0.1;
/// What exchange with myelin adds to the frequency of its water, ppm.
const EXCHANGE: f64 = 0.02;
/// Of the inner to the outer radius.
const G_RATIO: f64 = 0.75;
/// Myelin's part of the volume of white matter.
const MYELIN_VOLUME: f64 = 0.3;

/// Compartments: part of the signal at echo time 0, decay (1/s), frequency (ppm).
type Compartment = [f64; 3];

/// The compartments of fibres, sin² of whose angle to B0 is `sin2`.
fn compartments(sin2: f64) -> [Compartment; 3] {
    let log = G_RATIO.recip().ln();
    let c1 = 0.25 - 1.5 * G_RATIO.powi(2) / (1.0 - G_RATIO.powi(2)) * log;
    let lorentz = 0.5 * MYELIN * MYELIN_VOLUME * (sin2 - 2.0 / 3.0);
    let sheath = 0.5 * MYELIN * (2.0 / 3.0 - sin2)
        + 0.5 * MYELIN_ANISOTROPY * (c1 * sin2 - 1.0 / 3.0)
        + EXCHANGE;
    let axon = 0.75 * MYELIN_ANISOTROPY * sin2 * log;
    [[0.14, 100.0, sheath + lorentz], [0.5, 22.0, axon + lorentz], [0.36, 26.0, lorentz]]
}

/// The signal of the white matter in a voxel beside what it is at echo time 0, its real and its imaginary part,
/// where a field of 1 ppm turns it by so many `turns`; `aligned` is the order of each spread.
pub(super) fn signal(mixture: &Mixture, aligned: &[f64], time: f64, turns: f64) -> [f64; 2] {
    let populations = mixture.populations[..FIXELS].iter().filter(|p| p.part > 0.0);
    let (mut sum, mut whole) = ([0.0; 2], 0.0);
    for population in populations {
        let part = f64::from(population.part);
        let cos2 = f64::from(population.dir_ras[2]).powi(2);
        // Of fibres that disperse the mean.
        let cos2 = 1.0 / 3.0 + aligned[population.spread.place()] * (cos2 - 1.0 / 3.0);
        for [share, decay, ppm] in compartments(1.0 - cos2) {
            let (sin, cos) = (TAU * turns * ppm).sin_cos();
            let left = part * share * (-decay * time).exp();
            sum[0] += left * cos;
            sum[1] += left * sin;
        }
        whole += part;
    }
    if whole > 0.0 { sum.map(|part| part / whole) } else { [1.0, 0.0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fibres_along_b0_differ_from_fibres_across_as_published() {
        let [along, across] = [0.0, 1.0].map(compartments);
        // Of the axon's water, ppm: no shift along B0 but Lorentz' cylinder, lower across it.
        assert!((along[1][2] - 0.01).abs() < 1e-12);
        assert!(across[1][2] < -0.015 && across[1][2] > -0.035, "{across:?}");
        // Myelin's water is above it in both.
        assert!(along[0][2] > along[1][2] && across[0][2] > across[1][2]);
        assert!((along.iter().map(|[part, ..]| part).sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
