//! Fringe lines that end inside the mask, and the tears they leave in a phase without wraps.

use std::f32::consts::PI;

use fimbria_image::Grid;

use super::region::{EchoPhase, grow, neighbours};
use super::{MASK_QUALITY, wrapped};

/// A sheet of tears that is smaller, in mm² or in faces of voxels, is noise.
const LEAST_SHEET_MM2: f64 = 100.0;
const LEAST_FACES: usize = 50;

/// The voxels of `mask` without which a fringe line that ends inside it tears the phase no more: coils that were
/// combined badly leave such lines, and the consensus on susceptibility mapping asks to look for them (Bilgic et
/// al., MRM 91, 1834 (2024)). In ascending order; of every tear those at its lower side.
///
/// Around the end of a fringe line the phase winds by a turn, so that no unwrapping of it fits: between some
/// neighbours a whole turn is left, on a sheet from the line's end to the border of the mask. Elsewhere what
/// winds is a harmonic function, as backgrounds are: only the sheet has to go.
///
/// `unwrapped` (radians) is as [`unwrap_region`](super::unwrap_region) leaves it; `times` are those of its echoes. The
/// second is looked at for what it misses of the first one's line through time zero, in space: a phase at time
/// zero makes steps as well, but does not wind. Of later echoes that has too much noise. A tear counts between
/// voxels of a `quality` that a mask is made of ([`MASK_QUALITY`]), since what is left of noise is torn everywhere.
///
/// # Panics
/// Where there are fewer times than phases.
pub fn open_fringes(
    grid: &Grid,
    unwrapped: &[Vec<f32>],
    times: &[f64],
    quality: &[f32],
    mask: &[u32],
) -> Vec<u32> {
    let mut is_reliable = vec![false; grid.len()];
    for &v in mask {
        is_reliable[v as usize] = f64::from(quality[v as usize]) >= MASK_QUALITY;
    }
    let sheets = |phase: &[f32]| torn_voxels(grid, &is_reliable, phase);
    let Some(first) = unwrapped.first() else { return Vec::new() };
    let mut torn = sheets(first);
    if let Some(second) = unwrapped.get(1) {
        let ratio = (times[1] / times[0]) as f32;
        let missed: Vec<f32> = second.iter().zip(first).map(|(b, a)| b - ratio * a).collect();
        let phase: Vec<f32> = missed.iter().map(|phase| wrapped(*phase)).collect();
        let echo = EchoPhase { phase: &phase, magnitude: None, time: times[1] };
        if !sheets(&grow(grid, &echo, None, mask)).is_empty() {
            torn.extend(sheets(&missed));
        }
    }
    torn.sort_unstable();
    torn.dedup();
    torn
}

/// The voxels at the lower side of large sheets across which `phase` steps by more than half a turn.
fn torn_voxels(grid: &Grid, is_reliable: &[bool], phase: &[f32]) -> Vec<u32> {
    let spacing = grid.ras_from_vox.spacing();
    let volume: f64 = spacing.iter().product();
    let strides = [1, grid.dims[0], grid.dims[0] * grid.dims[1]];
    let face_mm2 = |from: usize, to: usize| {
        let axis = strides.iter().rposition(|&stride| from.abs_diff(to) == stride);
        volume / spacing[axis.unwrap_or(0)]
    };
    let beyond = |v: usize| {
        let is_beyond = |&next: &usize| is_reliable[next] && (phase[next] - phase[v]).abs() > PI;
        neighbours(grid, v).filter(is_beyond).collect::<Vec<usize>>()
    };
    let mut is_torn: Vec<bool> =
        (0..grid.len()).map(|v| is_reliable[v] && !beyond(v).is_empty()).collect();
    let mut torn = Vec::new();
    for seed in 0..is_torn.len() {
        if !std::mem::take(&mut is_torn[seed]) {
            continue;
        }
        // Each face is met from both sides.
        let (mut sheet, mut done) = (vec![seed], 0);
        let (mut twice_faces, mut twice_mm2) = (0, 0.0);
        while let Some(&v) = sheet.get(done) {
            done += 1;
            let faces = beyond(v);
            twice_faces += faces.len();
            twice_mm2 += faces.into_iter().map(|next| face_mm2(v, next)).sum::<f64>();
            sheet.extend(neighbours(grid, v).filter(|&n| std::mem::take(&mut is_torn[n])));
        }
        if twice_mm2 >= 2.0 * LEAST_SHEET_MM2 && twice_faces >= 2 * LEAST_FACES {
            let is_lower = |v: &usize| beyond(*v).into_iter().any(|next| phase[next] > phase[*v]);
            torn.extend(sheet.into_iter().filter(is_lower).map(|v| v as u32));
        }
    }
    torn
}
