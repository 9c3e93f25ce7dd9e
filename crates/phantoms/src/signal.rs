//! Laws of the signal: what a voxel of known composition gives at one b and direction.
//!
//! Written for [`Real`], so that the same text serves one voxel (for the truth) and a register of
//! voxels (for the series). Units inside: b in ms/µm², diffusivities in µm²/ms.

use fimbria_compute::Real;
use fimbria_compute::math::{exp, ln};

use crate::PhantomError;
use crate::tissue::{COMPARTMENTS, FIBRES, FLUID, GREY};

/// Diffusivities of the compartments, in mm²/s. Each compartment is Gaussian.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diffusivities {
    /// Along fibres.
    pub axial: f64,
    /// Across fibres; 0 makes them sticks.
    pub radial: f64,
    /// In grey matter, isotropic.
    pub grey: f64,
    /// In fluid, isotropic.
    pub fluid: f64,
}

impl Default for Diffusivities {
    /// Living white and grey matter, and water at body temperature.
    fn default() -> Self {
        Self { axial: 1.7e-3, radial: 0.3e-3, grey: 0.8e-3, fluid: 3.0e-3 }
    }
}

impl Diffusivities {
    /// # Errors
    /// Where one is negative, not finite, or as large as only another unit would make it.
    pub(crate) fn check(&self) -> Result<(), PhantomError> {
        for (name, value) in [
            ("axial diffusivity", self.axial),
            ("radial diffusivity", self.radial),
            ("grey-matter diffusivity", self.grey),
            ("fluid diffusivity", self.fluid),
        ] {
            let valid = (0.0..=0.1).contains(&value);
            PhantomError::require(valid, name, value, "from 0 to 0.1 mm²/s")?;
        }
        Ok(())
    }

    /// In µm²/ms along `cos` (the cosine between a fibre and the gradient), for every compartment.
    #[inline(always)]
    fn along<R: Real>(&self, voxel: &Composition<R>, dir: [f32; 3]) -> [R; COMPARTMENTS] {
        let [axial, radial, grey, fluid] =
            [self.axial, self.radial, self.grey, self.fluid].map(|d| (1e3 * d) as f32);
        let mut d = [voxel.s0.splat(grey); COMPARTMENTS];
        for k in 0..FIBRES {
            let cos = voxel.cosine(k, dir);
            d[k] = (cos * cos).mul_add(cos.splat(axial - radial), cos.splat(radial));
        }
        d[FLUID] = voxel.s0.splat(fluid);
        d
    }
}

/// What a voxel, or each of several side by side, is made of.
#[derive(Clone, Copy)]
pub(crate) struct Composition<R> {
    pub(crate) s0: R,
    pub(crate) fractions: [R; COMPARTMENTS],
    pub(crate) dirs_ras: [[R; 3]; FIBRES],
}

impl<R: Real> Composition<R> {
    /// Cosine between fibre `k` and a direction.
    #[inline(always)]
    fn cosine(&self, k: usize, dir: [f32; 3]) -> R {
        let [x, y, z] = self.dirs_ras[k];
        x.mul_add(x.splat(dir[0]), y.mul_add(y.splat(dir[1]), z * dir[2]))
    }

    /// The mean of `value` over compartments, weighted by their fractions.
    #[inline(always)]
    fn mean(&self, value: impl Fn(usize) -> R) -> R {
        let mut sum = self.s0.splat(0.0);
        for k in 0..COMPARTMENTS {
            sum = self.fractions[k].mul_add(value(k), sum);
        }
        sum
    }
}

/// One volume: b in ms/µm² and a unit direction in scanner RAS+ axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighting {
    pub(crate) b: f32,
    pub(crate) dir_ras: [f32; 3],
}

/// A law of the signal.
pub(crate) trait Law: Sync {
    /// Signal at `weighting` over unweighted signal.
    fn attenuation<R: Real>(&self, voxel: &Composition<R>, weighting: &Weighting) -> R;
}

/// Compartments without exchange: the sum of their mono-exponential signals.
pub(crate) struct GaussianMixture(pub(crate) Diffusivities);

impl Law for GaussianMixture {
    #[inline(always)]
    fn attenuation<R: Real>(&self, voxel: &Composition<R>, weighting: &Weighting) -> R {
        let d = self.0.along(voxel, weighting.dir_ras);
        voxel.mean(|k| exp(d[k] * -weighting.b))
    }
}

/// The cumulant expansion to second order, ln S/S0 = -b D + b² D² K / 6, with D and K of the
/// direction: those of compartments that each have the kurtosis `within`.
pub(crate) struct Kurtosis {
    pub(crate) diffusivities: Diffusivities,
    pub(crate) within: f32,
}

impl Kurtosis {
    /// D in µm²/ms and K along a direction.
    ///
    /// The displacements' second moments average over compartments to D, their fourth moments to
    /// 3 <D_k² (1 + K_k/3)>, and K = fourth / D² - 3.
    #[inline(always)]
    pub(crate) fn cumulants<R: Real>(&self, voxel: &Composition<R>, dir_ras: [f32; 3]) -> [R; 2] {
        let d = self.diffusivities.along(voxel, dir_ras);
        let mean = voxel.mean(|k| d[k]);
        let square = voxel.mean(|k| d[k] * d[k]) * (3.0 + self.within);
        // Where there is nothing D is 0: K is 0 there, not 0/0.
        let empty = mean.at_most(mean.splat(0.0));
        let k = R::select(empty, mean, square / (mean * mean) - 3.0);
        [mean, k]
    }
}

impl Law for Kurtosis {
    #[inline(always)]
    fn attenuation<R: Real>(&self, voxel: &Composition<R>, weighting: &Weighting) -> R {
        let [d, k] = self.cumulants(voxel, weighting.dir_ras);
        let bd = d * weighting.b;
        exp(bd * (bd * k * (1.0 / 6.0) - 1.0))
    }
}

/// The stretched exponential, S/S0 = exp(-(b D)^gamma), with D and gamma of the direction.
pub(crate) struct Stretched {
    pub(crate) diffusivities: Diffusivities,
}

impl Stretched {
    /// Exponent across fibres, what is added to it along them, and that of grey matter (which
    /// fluid, absent in a fixed brain, shares).
    const ACROSS: f32 = 0.65;
    const ALONG_MORE: f32 = 0.2;
    const ISOTROPIC: f32 = 0.85;

    /// D in µm²/ms and gamma along a direction.
    #[inline(always)]
    pub(crate) fn exponents<R: Real>(&self, voxel: &Composition<R>, dir_ras: [f32; 3]) -> [R; 2] {
        let d = self.diffusivities.along(voxel, dir_ras);
        let gamma = |k: usize| {
            if k >= GREY {
                return voxel.s0.splat(Self::ISOTROPIC);
            }
            let cos = voxel.cosine(k, dir_ras);
            (cos * cos).mul_add(cos.splat(Self::ALONG_MORE), cos.splat(Self::ACROSS))
        };
        [voxel.mean(|k| d[k]), voxel.mean(gamma)]
    }
}

impl Law for Stretched {
    #[inline(always)]
    fn attenuation<R: Real>(&self, voxel: &Composition<R>, weighting: &Weighting) -> R {
        let [d, gamma] = self.exponents(voxel, weighting.dir_ras);
        let bd = d * weighting.b;
        // ln 0 is kept out: an unweighted volume (or an empty voxel) is not attenuated.
        let unweighted = bd.at_most(bd.splat(0.0));
        let power = exp(gamma * ln(R::select(unweighted, bd.splat(1.0), bd)));
        R::select(unweighted, bd.splat(1.0), exp(-power))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fibre(fractions: [f32; COMPARTMENTS]) -> Composition<f32> {
        let dirs_ras = [[0.0, 0.6, 0.8], [1.0, 0.0, 0.0], [0.0; 3]];
        Composition { s0: 500.0, fractions, dirs_ras }
    }

    const G: Weighting = Weighting { b: 2.0, dir_ras: [0.0, 0.0, 1.0] };

    #[test]
    fn one_gaussian_compartment_decays_by_its_diffusivity() {
        let d = Diffusivities::default();
        let along = 0.3 + 1.4 * 0.64f32;
        let cases = [(0, along), (1, 0.3), (GREY, 0.8), (FLUID, 3.0)];
        for (compartment, expected) in cases {
            let mut fractions = [0.0; COMPARTMENTS];
            fractions[compartment] = 1.0;
            let s = GaussianMixture(d).attenuation(&fibre(fractions), &G);
            // An exponent of at most 6 known to 2^-24.
            assert!((s / (-2.0 * expected).exp() - 1.0).abs() < 1e-6, "{compartment}: {s}");
        }
    }

    #[test]
    fn cumulants_are_those_of_the_mixture() {
        // D and K of a mixture of Gaussians by finite differences of ln S at small b, in f64.
        let (f, da, dr) = (0.7, 1.7, 0.3);
        let d = [0.3 + 1.4 * 0.64, 0.3];
        let ln_s = |b: f64| (f * (-b * d[0]).exp() + (1.0 - f) * (-b * d[1]).exp()).ln();
        let h = 1e-3;
        let first = (ln_s(h) - ln_s(-h)) / (2.0 * h);
        let second = (ln_s(h) - 2.0 * ln_s(0.0) + ln_s(-h)) / (h * h);
        let diffusivities =
            Diffusivities { axial: da * 1e-3, radial: dr * 1e-3, ..Diffusivities::default() };
        let law = Kurtosis { diffusivities, within: 0.0 };
        let mut fractions = [0.0; COMPARTMENTS];
        (fractions[0], fractions[1]) = (0.7, 0.3);
        let [mean, k] = law.cumulants(&fibre(fractions), G.dir_ras);
        assert!((f64::from(mean) + first).abs() < 1e-5, "{mean} {first}");
        let expected = 3.0 * second / (first * first);
        assert!((f64::from(k) - expected).abs() < 1e-4, "{k} {expected}");
    }

    #[test]
    fn a_single_compartment_keeps_its_own_kurtosis() {
        let law = Kurtosis { diffusivities: Diffusivities::default(), within: 0.5 };
        let mut fractions = [0.0; COMPARTMENTS];
        fractions[GREY] = 1.0;
        let [d, k] = law.cumulants(&fibre(fractions), G.dir_ras);
        assert!((d - 0.8).abs() < 1e-6 && (k - 0.5).abs() < 1e-5, "{d} {k}");
    }

    #[test]
    fn a_stretched_exponential_of_exponent_one_would_be_gaussian() {
        let law = Stretched { diffusivities: Diffusivities::default() };
        let mut fractions = [0.0; COMPARTMENTS];
        fractions[0] = 1.0;
        let voxel = fibre(fractions);
        let [d, gamma] = law.exponents(&voxel, G.dir_ras);
        assert!((gamma - (0.65 + 0.2 * 0.64)).abs() < 1e-6);
        let s = law.attenuation(&voxel, &G);
        assert!((s - (-(2.0 * d).powf(gamma)).exp()).abs() < 1e-6, "{s}");
        let unweighted = Weighting { b: 0.0, ..G };
        assert_eq!(law.attenuation(&voxel, &unweighted), 1.0);
    }
}
