//! Rapid two-step: where the dipole is well conditioned the field is divided by it, and what is missing is
//! filled in by total variation.
//!
//! Makes ½ Σ μ |D χ - b|² / |D|² + Σ |∇χ| least over a map χ of zero mean, the first sum over the frequencies
//! with |D| above δ, ∇ axis by axis; by alternating directions: χ, the gradient's shrunken copy z, and the
//! multiplier u.
//!
//! Kames et al., NeuroImage 167, 276-283, 2018.

mod on_device;

use fimbria_compute::fft::Complex32;
use fimbria_compute::{Backend, Progress};
use rayon::prelude::*;

use self::on_device::OnDevice;
pub(crate) use self::on_device::two_step_source;
use super::KSpace;
use crate::device::{Ended, where_it_gains};
use crate::variation::{Step, rms};
use crate::{Geometry, QsmError};

/// Iterations of alternating directions at most, and the relative change to stop at.
const ITERATIONS: usize = 50;
const TOLERANCE: f64 = 1e-2;
/// μ: the well-conditioned part is weighted so strongly that it stays as it is.
const MU: f32 = 1e5;
/// How strongly a gradient is held to its copy.
const RHO: f32 = 10.0;
/// What gradients are shrunken by.
const THRESHOLD: f32 = 1.0 / RHO;

/// χ in every voxel of the volume of the geometry, and every iteration; on the first device of `on`, or on its
/// threads where there is none or it fails, which `progress` is told.
pub(super) fn invert(
    geometry: &Geometry,
    field: &[f32],
    delta: f32,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<(Vec<f32>, Vec<Step>), QsmError> {
    let space = KSpace::new(geometry, on.workers)?;
    let problem = TwoStep::new(&space, field, delta);
    if let Some(device) = where_it_gains(on, geometry.dims).devices.first() {
        let there = OnDevice::new(&problem, device).map_err(Ended::from);
        match there.and_then(|mut there| there.run(progress)) {
            Ok((chi, log)) => return Ok((space.crop(&chi), log)),
            Err(Ended::Whole(error)) => return Err(error),
            Err(Ended::Device(error)) => {
                progress.warn(&format!("{error}; the threads do the work"));
            }
        }
    }
    let (chi, log) = problem.run(progress)?;
    Ok((space.crop(&chi), log))
}

/// What is to be explained, in the padded volume.
struct TwoStep<'a> {
    space: &'a KSpace<'a>,
    /// The field, 0 where it is not known.
    known: Vec<f32>,
    /// Over the half spectrum: μ b / D where that is well conditioned, else 0.
    data: Vec<Complex32>,
    /// Likewise μ and 0.
    weight: Vec<f32>,
}

impl<'a> TwoStep<'a> {
    fn new(space: &'a KSpace<'a>, field: &[f32], delta: f32) -> Self {
        let known = space.pad(field);
        let well = |d: f32| if d.abs() > delta { 1.0 } else { 0.0 };
        let by = |d: f32| MU * well(d) / if d == 0.0 { 1.0 } else { d };
        let data = space.filtered(&space.forward(&known), by);
        let weight = space.dipole.iter().map(|&d| MU * well(d)).collect();
        Self { space, known, data, weight }
    }

    /// What the equation of χ is divided by, over the half spectrum; 0 only at k = 0, where the mean is free.
    fn denominators(&self, differences: &[Vec<Complex32>; 3]) -> Vec<f32> {
        let squares = |k: usize| differences.iter().map(|d| d[k].norm_sqr()).sum::<f32>();
        self.weight.iter().enumerate().map(|(k, weight)| weight + RHO * squares(k)).collect()
    }

    /// The padded map, on threads.
    fn run(&self, progress: &dyn Progress) -> Result<(Vec<f32>, Vec<Step>), QsmError> {
        let space = self.space;
        let differences = self.differences();
        let denominators = self.denominators(&differences);
        let n = space.elements();
        // The multipliers, and what is to be added to the data: ∇' (z - u).
        let mut multipliers = vec![vec![0.0_f32; n]; 3];
        let mut pull = vec![Complex32::default(); self.data.len()];
        let mut chi = vec![0.0_f32; n];
        let mut log = Vec::new();
        progress.start("inverting the field", ITERATIONS as u64);
        for _ in 0..ITERATIONS {
            progress.check()?;
            let spectrum: Vec<Complex32> = (0..denominators.len())
                .map(|k| match denominators[k] {
                    0.0 => Complex32::default(),
                    denominator => (self.data[k] + pull[k] * RHO) / denominator,
                })
                .collect();
            let next = space.back(spectrum.clone());
            let (change, size) = chi.iter().zip(&next).fold((0.0, 0.0), |(c, s), (a, b)| {
                (c + f64::from(a - b).powi(2), s + f64::from(*b).powi(2))
            });
            chi = next;
            progress.advance(1);
            let mut variation = 0.0;
            pull.fill(Complex32::default());
            for (difference, u) in differences.iter().zip(&mut multipliers) {
                let gradient: Vec<Complex32> =
                    spectrum.iter().zip(difference).map(|(x, d)| x * d).collect();
                let mut gradient = space.back(gradient);
                variation += gradient.iter().map(|x| f64::from(x.abs())).sum::<f64>();
                space.workers().install(|| {
                    gradient.par_iter_mut().zip(u).for_each(|(gradient, u)| {
                        let sum = *gradient + *u;
                        let shrunken = (sum.abs() - THRESHOLD).max(0.0).copysign(sum);
                        *u = sum - shrunken;
                        *gradient = shrunken - *u;
                    });
                });
                let spectrum = space.forward(&gradient);
                for ((pull, x), d) in pull.iter_mut().zip(spectrum).zip(difference) {
                    *pull += x * d.conj();
                }
            }
            let of_map = space.back(space.filtered(&spectrum, |d| d));
            let there = of_map.iter().zip(&self.known).filter(|(_, b)| **b != 0.0);
            log.push(Step {
                rms: rms(space.crop(&chi).into_iter()),
                relative_change: relative(change, size),
                data: there.map(|(p, b)| (f64::from(*p) - f64::from(*b)).powi(2)).sum(),
                variation,
            });
            if has_settled(change, size) {
                break;
            }
        }
        Ok((chi, log))
    }

    /// The spectra of forward differences along each axis.
    fn differences(&self) -> [Vec<Complex32>; 3] {
        [0, 1, 2].map(|a| {
            let spacing = self.space.spacing()[a];
            let turn = std::f64::consts::TAU * spacing;
            let (real, imaginary) = (
                self.space.over_k(|k| ((turn * k[a]).cos() - 1.0) / spacing),
                self.space.over_k(|k| (turn * k[a]).sin() / spacing),
            );
            real.into_iter().zip(imaginary).map(|(re, im)| Complex32::new(re, im)).collect()
        })
    }
}

/// ‖Δχ‖ / ‖χ‖ of both squares.
fn relative(change: f64, size: f64) -> f64 {
    if size > 0.0 { (change / size).sqrt() } else { 0.0 }
}

/// Whether the iteration ends; where the map is 0, too.
fn has_settled(change: f64, size: f64) -> bool {
    change.sqrt() <= TOLERANCE * size.sqrt()
}
