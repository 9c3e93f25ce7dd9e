//! Maps without guidance, in the Fourier domain: what most programs offer, for comparison.
//!
//! Every voxel is a dipole, D(k) = 1/3 - (b·k)²/|k|² (Salomir 2003, Marques and Bowtell 2005),
//! D(0) = 0, on a volume padded with zeros to keep its images apart.

mod periodic;

use fimbria_compute::fft::Complex32;
use fimbria_compute::{Progress, Workers};
use rayon::prelude::*;

pub(crate) use self::periodic::Periodic;
use crate::variation::{Step, rms};
use crate::{Geometry, QsmError};

/// How a map is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FourierMethod {
    /// Truncated k-space division: 1/D, at most 1/threshold (Shmueli et al., MRM 62, 2009).
    Tkd {
        /// Least |D| divided by.
        threshold: f64,
    },
    /// D / (D² + λ).
    Tikhonov {
        /// λ.
        lambda: f64,
    },
    /// D is inverted where it is well conditioned, the rest is filled in by total variation
    /// (Kames et al., NeuroImage 167, 2018).
    Rts {
        /// |D| above which it is inverted.
        delta: f64,
    },
}

impl FourierMethod {
    /// The defaults of other programs.
    pub const TKD: Self = Self::Tkd { threshold: 0.15 };
    /// As [`TKD`](Self::TKD).
    pub const TIKHONOV: Self = Self::Tikhonov { lambda: 0.01 };
    /// As [`TKD`](Self::TKD).
    pub const RTS: Self = Self::Rts { delta: 0.15 };
}

/// Iterations of alternating directions at most, and the relative change to stop at.
const RTS_ITERATIONS: usize = 50;
const RTS_TOLERANCE: f64 = 1e-2;

/// χ in the unit of `field` (a volume of the geometry, 0 outside the mask), in every voxel of the
/// volume, and how each iteration went, of a method that has some.
///
/// # Errors
/// Where the volume cannot be transformed, a parameter is not positive, or `progress` says to
/// stop.
pub fn invert(
    geometry: &Geometry,
    field: &[f32],
    method: FourierMethod,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<(Vec<f32>, Vec<Step>), QsmError> {
    if field.len() != geometry.len() {
        let (found, expected) = (field.len(), geometry.len());
        return Err(QsmError::Length { what: "the field", found, expected });
    }
    let (name, value) = match method {
        FourierMethod::Tkd { threshold } => ("threshold", threshold),
        FourierMethod::Tikhonov { lambda } => ("lambda", lambda),
        FourierMethod::Rts { delta } => ("delta", delta),
    };
    if !(value > 0.0 && value.is_finite()) {
        return Err(QsmError::Parameter { name, value, rule: "it is above 0" });
    }
    let space = KSpace::new(geometry, workers)?;
    let spectrum = space.forward(&space.pad(field));
    let mut log = Vec::new();
    let chi = match method {
        FourierMethod::Tkd { threshold } => {
            let limit = threshold as f32;
            let inverse = |d: f32| if d.abs() < limit { limit.copysign(d) } else { d }.recip();
            space.back(space.filtered(&spectrum, inverse))
        }
        FourierMethod::Tikhonov { lambda } => {
            space.back(space.filtered(&spectrum, |d| d / (d * d + lambda as f32)))
        }
        FourierMethod::Rts { delta } => {
            // The well-conditioned part, weighted so strongly that it stays as it is.
            const MU: f32 = 1e5;
            const RHO: f32 = 10.0;
            let delta = delta as f32;
            let well = |d: f32| if d.abs() > delta { 1.0 } else { 0.0 };
            let data = space.filtered(&spectrum, |d| MU * well(d) / if d == 0.0 { 1.0 } else { d });
            let weight: Vec<f32> = space.dipole.iter().map(|&d| MU * well(d)).collect();
            let known = space.pad(field);
            let told = |chi: &[f32], spectrum: &[Complex32], relative_change, variation| {
                let of_map = space.back(space.filtered(spectrum, |d| d));
                let there = of_map.iter().zip(&known).filter(|(_, b)| **b != 0.0);
                let data = there.map(|(p, b)| (f64::from(*p) - f64::from(*b)).powi(2)).sum();
                let rms = rms(space.crop(chi).into_iter());
                log.push(Step { rms, relative_change, data, variation });
            };
            space.total_variation(&data, &weight, 1.0 / RHO, RHO, progress, told)?
        }
    };
    Ok((space.crop(&chi), log))
}

/// The field of the susceptibility `chi` (a volume of the geometry) in each of its voxels, in its unit.
///
/// # Errors
/// Where lengths differ or the volume cannot be transformed.
pub fn dipole_field(
    geometry: &Geometry,
    chi: &[f32],
    workers: &Workers,
) -> Result<Vec<f32>, QsmError> {
    if chi.len() != geometry.len() {
        let (found, expected) = (chi.len(), geometry.len());
        return Err(QsmError::Length { what: "the map", found, expected });
    }
    let space = KSpace::new(geometry, workers)?;
    let spectrum = space.forward(&space.pad(chi));
    Ok(space.crop(&space.back(space.filtered(&spectrum, |d| d))))
}

/// The values of a padded volume at some of its places.
pub(crate) fn at(places: &[u32], volume: &[f32]) -> Vec<f32> {
    places.iter().map(|&place| volume[place as usize]).collect()
}

/// A padded volume's transform, and the dipole in it.
pub(crate) struct KSpace<'w> {
    space: Periodic<'w>,
    /// D(k) over the half spectrum.
    pub(crate) dipole: Vec<f32>,
}

impl<'w> std::ops::Deref for KSpace<'w> {
    type Target = Periodic<'w>;

    fn deref(&self) -> &Periodic<'w> {
        &self.space
    }
}

impl KSpace<'_> {
    /// `with(k, element)` of every element of a half spectrum.
    pub(crate) fn each(
        &self,
        spectrum: &mut [Complex32],
        with: impl Fn(usize, &mut Complex32) + Sync,
    ) {
        self.workers().install(|| {
            spectrum.par_iter_mut().enumerate().for_each(|(k, element)| with(k, element));
        });
    }

    /// Σ over all voxels of x `by`(y), both given as half spectra, `by` real in the Fourier domain; in
    /// blocks, so that it does not depend on threads.
    pub(crate) fn inner(
        &self,
        x: &[Complex32],
        y: &[Complex32],
        by: impl Fn(usize) -> f32 + Sync,
    ) -> f64 {
        const BLOCK: usize = 1 << 14;
        let [nx, _, _] = self.shape();
        let half = nx / 2 + 1;
        // What the other half holds is the conjugate of this one, but for its first plane, and its last
        // where there is an even number.
        let times = |k: usize| {
            let i = k % half;
            if i == 0 || 2 * i == nx { 1.0 } else { 2.0 }
        };
        let block = |(block, (x, y)): (usize, (&[Complex32], &[Complex32]))| -> f64 {
            let pairs = x.iter().zip(y).enumerate();
            pairs
                .map(|(i, (x, y))| {
                    let k = block * BLOCK + i;
                    let product =
                        f64::from(x.re) * f64::from(y.re) + f64::from(x.im) * f64::from(y.im);
                    product * f64::from(by(k)) * times(k)
                })
                .sum()
        };
        let parts = || x.par_chunks(BLOCK).zip(y.par_chunks(BLOCK)).enumerate().map(block);
        let sums: Vec<f64> = self.workers().install(|| parts().collect());
        sums.iter().sum::<f64>() / self.elements() as f64
    }

    /// Where voxels of the volume lie in the padded one.
    pub(crate) fn places(&self, geometry: &Geometry, voxels: &[u32]) -> Vec<u32> {
        let shape = self.shape();
        let place = |&voxel: &u32| {
            let [x, y, z] = geometry.voxel(voxel as usize);
            (x + shape[0] * (y + shape[1] * z)) as u32
        };
        voxels.iter().map(place).collect()
    }
}

impl<'w> KSpace<'w> {
    pub(crate) fn new(geometry: &Geometry, workers: &'w Workers) -> Result<Self, QsmError> {
        // A dipole's field falls off with the cube of distance: half as much again keeps the
        // nearest image of any voxel at least half a volume away.
        let space = Periodic::new(geometry.dims, geometry.spacing, 2, workers)?;
        let dipole = space.dipole(geometry.b0);
        Ok(Self { space, dipole })
    }

    /// The spectrum times a function of D.
    fn filtered(&self, spectrum: &[Complex32], filter: impl Fn(f32) -> f32) -> Vec<Complex32> {
        spectrum.iter().zip(&self.dipole).map(|(x, &d)| x * filter(d)).collect()
    }

    /// argmin ½ Σ weight |χ(k)|² - Re(data* χ(k)) + threshold ρ TV(χ), by alternating directions:
    /// χ, the gradient's shrunken copy z, and the multiplier u. `told` hears of every iteration: χ and its
    /// spectrum, its relative change, and Σ |∇χ|, axis by axis as it is shrunken.
    fn total_variation(
        &self,
        data: &[Complex32],
        weight: &[f32],
        threshold: f32,
        rho: f32,
        progress: &dyn Progress,
        mut told: impl FnMut(&[f32], &[Complex32], f64, f64),
    ) -> Result<Vec<f32>, QsmError> {
        let differences = self.differences();
        let squares: Vec<f32> = (0..weight.len())
            .map(|k| differences.iter().map(|d| d[k].norm_sqr()).sum::<f32>())
            .collect();
        let n = self.elements();
        // The multipliers, and what is to be added to the data: D' (z - u).
        let mut multipliers = vec![vec![0.0_f32; n]; 3];
        let mut pull = vec![Complex32::default(); weight.len()];
        let mut chi = vec![0.0_f32; n];
        progress.start("inverting the field", RTS_ITERATIONS as u64);
        for _ in 0..RTS_ITERATIONS {
            progress.check()?;
            let spectrum: Vec<Complex32> = (0..weight.len())
                .map(|k| {
                    let denominator = weight[k] + rho * squares[k];
                    // The mean is free: it is zero.
                    if denominator == 0.0 {
                        Complex32::default()
                    } else {
                        (data[k] + pull[k] * rho) / denominator
                    }
                })
                .collect();
            let next = self.back(spectrum.clone());
            let (change, size) = chi.iter().zip(&next).fold((0.0, 0.0), |(c, s), (a, b)| {
                (c + f64::from(a - b).powi(2), s + f64::from(*b).powi(2))
            });
            chi = next;
            progress.advance(1);
            let is_last = change.sqrt() <= RTS_TOLERANCE * size.sqrt();
            let relative = if size > 0.0 { (change / size).sqrt() } else { 0.0 };
            let mut variation = 0.0;
            pull.fill(Complex32::default());
            for (difference, u) in differences.iter().zip(&mut multipliers) {
                let gradient: Vec<Complex32> =
                    spectrum.iter().zip(difference).map(|(x, d)| x * d).collect();
                let mut gradient = self.back(gradient);
                variation += gradient.iter().map(|x| f64::from(x.abs())).sum::<f64>();
                self.workers().install(|| {
                    gradient.par_iter_mut().zip(u).for_each(|(gradient, u)| {
                        let sum = *gradient + *u;
                        let shrunken = (sum.abs() - threshold).max(0.0).copysign(sum);
                        *u = sum - shrunken;
                        *gradient = shrunken - *u;
                    });
                });
                let spectrum = self.forward(&gradient);
                for ((pull, x), d) in pull.iter_mut().zip(spectrum).zip(difference) {
                    *pull += x * d.conj();
                }
            }
            told(&chi, &spectrum, relative, variation);
            if is_last {
                break;
            }
        }
        Ok(chi)
    }

    /// The spectra of forward differences along each axis.
    fn differences(&self) -> [Vec<Complex32>; 3] {
        [0, 1, 2].map(|a| {
            let spacing = self.spacing()[a];
            let turn = std::f64::consts::TAU * spacing;
            let (real, imaginary) = (
                self.over_k(|k| ((turn * k[a]).cos() - 1.0) / spacing),
                self.over_k(|k| (turn * k[a]).sin() / spacing),
            );
            real.into_iter().zip(imaginary).map(|(re, im)| Complex32::new(re, im)).collect()
        })
    }
}
