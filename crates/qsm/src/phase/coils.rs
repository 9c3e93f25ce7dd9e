use std::f32::consts::FRAC_PI_2;

use fimbria_compute::Workers;
use fimbria_image::Grid;

use super::offset::{Phasors, Smoothing};
use super::region::{EchoPhase, grow, neighbours};
use super::{strength, wrapped};
use crate::QsmError;

/// Echoes of all coils in one.
#[derive(Clone, Debug, PartialEq)]
pub struct CombinedCoils {
    /// Radians, wrapped, a volume for each echo.
    pub phases: Vec<Vec<f32>>,
    /// Likewise; none where the coil had none.
    pub magnitudes: Vec<Vec<f32>>,
}

/// The phases of `coils` coils without what they have at echo time 0, and combined to one of each echo:
/// MCPC-3D-S (Eckstein et al., MRM 79, 2996, 2018). The phase that all coils gain from the first to the
/// second echo, unwrapped, says what each has at time 0; smoothed, it is taken off, and what is left is
/// summed, weighted by the squared magnitudes.
///
/// Volumes are all echoes of the first coil, then of the next; `magnitudes` may be missing of a single
/// coil. Where a magnitude is given, that of the combined echo is the root of the sum of squares.
///
/// # Errors
/// Where the volume cannot be transformed.
///
/// # Panics
/// Where there are less than two echo times, or another number of volumes than echoes of coils.
pub fn combine_coils(
    grid: &Grid,
    phases: &[Vec<f32>],
    magnitudes: &[Vec<f32>],
    times: &[f64],
    mask: &[u32],
    workers: &Workers,
) -> Result<CombinedCoils, QsmError> {
    let echoes = times.len();
    assert!(
        echoes > 1 && phases.len().is_multiple_of(echoes),
        "volumes of all echoes of each coil"
    );
    let coils = phases.len() / echoes;
    let magnitude = |coil: usize, echo: usize, v: usize| {
        magnitudes.get(coil * echoes + echo).map_or(1.0, |magnitude| strength(magnitude[v]))
    };
    // What all gain in between: the angle of the sum over coils of m₁ m₂ exp i(φ₂ - φ₁).
    let (mut gain, mut sureness) = (vec![0.0_f32; grid.len()], vec![0.0_f32; grid.len()]);
    for &v in mask {
        let v = v as usize;
        let (mut re, mut im) = (0.0_f32, 0.0_f32);
        for coil in 0..coils {
            let weight = magnitude(coil, 0, v) * magnitude(coil, 1, v);
            let angle = phases[coil * echoes + 1][v] - phases[coil * echoes][v];
            if angle.is_finite() {
                re += weight * angle.cos();
                im += weight * angle.sin();
            }
        }
        gain[v] = im.atan2(re);
        sureness[v] = re.hypot(im).sqrt();
    }
    let gained = EchoPhase { phase: &gain, magnitude: Some(&sureness), time: times[1] - times[0] };
    let gain = grow(grid, &gained, None, mask);
    let until_first = (times[0] / (times[1] - times[0])) as f32;
    let even = even(grid, &gain, mask);
    let smooth = Smoothing::new(grid, workers)?;
    let mut sums = vec![[vec![0.0_f32; grid.len()], vec![0.0_f32; grid.len()]]; echoes];
    for coil in 0..coils {
        let mut at_start = Phasors::zeros(grid.len());
        for &v in mask {
            let v = v as usize;
            let start = phases[coil * echoes][v] - until_first * gain[v];
            if start.is_finite() {
                at_start.set(v, magnitude(coil, 0, v), start);
            }
        }
        let start = smooth.offset(&at_start, grid, &even);
        for (echo, [of_re, of_im]) in sums.iter_mut().enumerate() {
            let phase = &phases[coil * echoes + echo];
            for v in 0..grid.len() {
                let angle = phase[v] - start[v];
                if angle.is_finite() {
                    let weight = magnitude(coil, echo, v).powi(2);
                    of_re[v] += weight * angle.cos();
                    of_im[v] += weight * angle.sin();
                }
            }
        }
    }
    let is_finite =
        |echo: usize, v: usize| (0..coils).any(|coil| phases[coil * echoes + echo][v].is_finite());
    let combined = sums.iter().enumerate().map(|(echo, [re, im])| {
        let phase = |v: usize| if is_finite(echo, v) { im[v].atan2(re[v]) } else { f32::NAN };
        (0..grid.len()).map(phase).collect()
    });
    let combined = combined.collect();
    let squares = |echo: usize, v: usize| -> f32 {
        (0..coils).map(|coil| magnitude(coil, echo, v).powi(2)).sum()
    };
    let of_echo = |echo: usize| (0..grid.len()).map(|v| squares(echo, v).sqrt()).collect();
    let magnitudes =
        if magnitudes.is_empty() { Vec::new() } else { (0..echoes).map(of_echo).collect() };
    Ok(CombinedCoils { phases: combined, magnitudes })
}

/// The voxels of a mask between which and their neighbours an unwrapped phase changes by less than a quarter of a turn:
/// elsewhere it may be on the wrong turn.
fn even(grid: &Grid, phase: &[f32], mask: &[u32]) -> Vec<u32> {
    let mut inside = vec![false; grid.len()];
    mask.iter().for_each(|&v| inside[v as usize] = true);
    let is_even = |&v: &u32| {
        let v = v as usize;
        let mut steps = neighbours(grid, v).filter(|&next| inside[next]);
        steps.all(|next| (phase[next] - phase[v]).abs() < FRAC_PI_2)
    };
    mask.iter().copied().filter(is_even).collect()
}

/// Whether the signal turns by half a turn from slice to slice along `axis`, as complex images of
/// scanners are whose transform was not centred: nearly everywhere neighbours of two slices differ by
/// more than a quarter of a turn.
pub fn alternates(grid: &Grid, phase: &[f32], mask: &[u32], axis: usize) -> bool {
    /// Pairs of slices that show it.
    const LEAST: usize = 4;
    let mut inside = vec![false; grid.len()];
    mask.iter().for_each(|&v| inside[v as usize] = true);
    let stride: usize = grid.dims[..axis].iter().product();
    let mut sums = vec![0.0_f64; grid.dims[axis]];
    let mut is_met = vec![false; grid.dims[axis]];
    for &v in mask {
        let (v, slice) = (v as usize, grid.voxel(v as usize)[axis]);
        if slice + 1 < grid.dims[axis] && inside[v + stride] {
            let step = wrapped(phase[v + stride] - phase[v]);
            if step.is_finite() {
                sums[slice] += f64::from(step).cos();
                is_met[slice] = true;
            }
        }
    }
    let met = is_met.iter().filter(|met| **met).count();
    let turned = sums.iter().zip(&is_met).filter(|(sum, met)| **met && **sum < 0.0).count();
    met >= LEAST && 10 * turned >= 9 * met
}

/// Turns every second slice along `axis` by half a turn.
pub fn turn_every_second(grid: &Grid, phases: &mut [Vec<f32>], axis: usize) {
    for phase in phases {
        for (voxel, phase) in phase.iter_mut().enumerate() {
            if grid.voxel(voxel)[axis] % 2 == 1 {
                *phase = wrapped(*phase - std::f32::consts::PI);
            }
        }
    }
}
