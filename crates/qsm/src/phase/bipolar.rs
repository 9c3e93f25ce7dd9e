use std::f64::consts::PI;

use fimbria_image::Grid;

use super::region::neighbours;
use super::{strength, wrapped};

/// What echoes of odd and even number differ by where the readout goes forth and back: a phase that
/// rises evenly along an axis, and a constant (Lu et al., MRM 60, 2008; Li et al., MRM 74, 2015).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadoutRamp {
    /// The difference's rise along each voxel axis, radians a voxel.
    pub slope: [f64; 3],
    /// The difference in the middle of the mask, radians; known up to half a turn, the nearest to 0.
    pub constant: f64,
    /// The middle of the mask, voxels.
    middle: [f64; 3],
    /// What the difference rises by over the whole mask, radians.
    pub extent: f64,
    /// Whether it rises alike in all parts of the mask, as a readout makes it, and not where an echo
    /// has a fringe line that ends.
    pub is_even: bool,
}

/// In an eighth of the mask's box the slope may differ by this part of that of the whole.
const UNEVEN: f64 = 0.5;

/// The difference that the first three of `phases` (radians, wrapped) show: what the second is less
/// than what the first and the third, which are read in one direction, say of it. `None` where there
/// are less than three.
///
/// Steps between neighbours alone are looked at, so that nothing has to be unwrapped.
///
/// # Panics
/// Where there are magnitudes, but not of every phase.
pub fn readout_ramp(
    grid: &Grid,
    phases: &[Vec<f32>],
    magnitudes: &[Vec<f32>],
    times: &[f64],
    mask: &[u32],
) -> Option<ReadoutRamp> {
    let ([first, second, third, ..], [t1, t2, t3, ..]) = (phases, times) else { return None };
    let share = (t2 - t1) / (t3 - t1);
    let mut inside = vec![false; grid.len()];
    mask.iter().for_each(|&v| inside[v as usize] = true);
    let weight = |v: usize| match magnitudes {
        [] => 1.0,
        [_, magnitude, ..] | [magnitude] => f64::from(strength(magnitude[v])),
    };
    let step = |phase: &[f32], from: usize, to: usize| f64::from(wrapped(phase[to] - phase[from]));
    let strides = [1, grid.dims[0], grid.dims[0] * grid.dims[1]];
    let (mut low, mut high) = ([f64::MAX; 3], [f64::MIN; 3]);
    for &v in mask {
        let at = grid.voxel(v as usize).map(|i| i as f64);
        for a in 0..3 {
            (low[a], high[a]) = (low[a].min(at[a]), high[a].max(at[a]));
        }
    }
    let middle: [f64; 3] = std::array::from_fn(|a| 0.5 * (low[a] + high[a]));
    // Of the eighths of the mask's box: cosine, sine and weight along each axis.
    let mut parts = [[[0.0_f64; 3]; 3]; 8];
    for &v in mask {
        let v = v as usize;
        let at = grid.voxel(v);
        let part: usize = (0..3).map(|a| usize::from(at[a] as f64 > middle[a]) << a).sum();
        for next in neighbours(grid, v).filter(|&next| next > v && inside[next]) {
            let odd = step(first, v, next);
            let over = f64::from(wrapped((step(third, v, next) - odd) as f32));
            let rise = odd + share * over - step(second, v, next);
            let axis = strides.iter().rposition(|&stride| next - v == stride);
            let Some(axis) = axis.filter(|_| rise.is_finite()) else { continue };
            let strength = weight(v) * weight(next);
            let sums = &mut parts[part][axis];
            sums[0] += strength * rise.cos();
            sums[1] += strength * rise.sin();
            sums[2] += strength;
        }
    }
    let sum = |axis: usize, term: usize| parts.iter().map(|part| part[axis][term]).sum::<f64>();
    let slope: [f64; 3] = std::array::from_fn(|a| sum(a, 1).atan2(sum(a, 0)));
    let rises: [f64; 3] = std::array::from_fn(|a| slope[a].abs() * (high[a] - low[a]).max(0.0));
    let extent = rises.iter().sum();
    // Along the axis of the readout; what has hardly any signal says nothing.
    let axis = (0..3).max_by(|&a, &b| rises[a].total_cmp(&rises[b])).unwrap_or(0);
    let tells = |part: &&[[f64; 3]; 3]| part[axis][2] > 0.25 * sum(axis, 2) / 8.0;
    let differs = |part: &[[f64; 3]; 3]| {
        let [cosine, sine, _] = part[axis];
        let off = sine.atan2(cosine) - slope[axis];
        f64::from(wrapped(off as f32)).abs() > UNEVEN * slope[axis].abs()
    };
    let is_even = !parts.iter().filter(tells).any(differs);
    let ramp = ReadoutRamp { slope, constant: 0.0, middle, extent, is_even };
    // A turn of the third echo less the first is half a turn of what is said of the second where times
    // are even: twice the difference is known, then.
    let is_even = (share - 0.5).abs() < 0.01;
    let (mut cosine, mut sine) = (0.0, 0.0);
    for &v in mask {
        let v = v as usize;
        let over = f64::from(wrapped(third[v] - first[v]));
        let rest = f64::from(first[v]) + share * over - f64::from(second[v]) - ramp.at(grid, v);
        if rest.is_finite() {
            let (twice, strength) = (2.0 * rest, weight(v).powi(2));
            cosine += strength * twice.cos();
            sine += strength * twice.sin();
        }
    }
    let constant = if is_even { 0.5 * sine.atan2(cosine) } else { 0.0 };
    Some(ReadoutRamp { constant, ..ramp })
}

impl ReadoutRamp {
    /// The difference at a voxel, radians.
    fn at(&self, grid: &Grid, voxel: usize) -> f64 {
        let at = grid.voxel(voxel);
        let along = |a: usize| self.slope[a] * (at[a] as f64 - self.middle[a]);
        self.constant + along(0) + along(1) + along(2)
    }

    /// Takes half of it off the odd echoes, the first among them, and adds it to the even ones; the
    /// result is wrapped.
    pub fn take_off(&self, grid: &Grid, phases: &mut [Vec<f32>]) {
        for (echo, phase) in phases.iter_mut().enumerate() {
            let sign = if echo % 2 == 0 { 0.5 } else { -0.5 };
            for (voxel, phase) in phase.iter_mut().enumerate() {
                let half = (sign * self.at(grid, voxel)).rem_euclid(2.0 * PI);
                *phase = wrapped(*phase - half as f32);
            }
        }
    }
}
