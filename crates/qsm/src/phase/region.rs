//! Unwrapping along the best paths first, after ROMEO: Dymerska B et al., "Phase unwrapping with a
//! rapid opensource minimum spanning tree algorithm (ROMEO)", MRM 85 (2021).

use std::f32::consts::TAU;

use fimbria_image::Grid;

use super::quality::StepQuality;
use super::wrapped;

/// One echo.
#[derive(Clone, Copy, Debug)]
pub struct EchoPhase<'a> {
    /// Radians, wrapped.
    pub phase: &'a [f32],
    /// In any unit.
    pub magnitude: Option<&'a [f32]>,
    /// Echo time, in any unit.
    pub time: f64,
}

/// Steps of quality that a path is chosen by; 0 is the best.
const STEPS: usize = 256;

/// The unwrapped phase of `echoes`, at the voxels of `mask`, 0 elsewhere.
///
/// The first echo is unwrapped in space: the most reliable steps between neighbours first, where
/// a step is the more reliable the smaller the phase difference, the more the next echo's
/// difference agrees with it, and the more alike and the stronger the magnitudes are. Later echoes
/// follow in time: from a phase of zero at time 0, or, with `offset`, from whatever smooth phase is
/// there, which the second echo tells. Parts of the mask that do not touch each other are brought
/// within half a turn of zero each.
pub fn unwrap_region(
    grid: &Grid,
    echoes: &[EchoPhase<'_>],
    mask: &[u32],
    offset: bool,
) -> Vec<Vec<f32>> {
    let Some(first) = echoes.first() else { return Vec::new() };
    let mut unwrapped = vec![grow(grid, first, echoes.get(1), mask)];
    if offset && echoes.len() > 1 {
        unwrapped.push(second_of(grid, echoes, &unwrapped[0], mask));
    }
    for echo in &echoes[unwrapped.len()..] {
        // Where the line through what is unwrapped already, first and last, leads to.
        let last = unwrapped.len() - 1;
        let ahead = if last == 0 || !offset {
            echo.time / first.time - 1.0
        } else {
            (echo.time - first.time) / (echoes[last].time - first.time)
        };
        let mut phase = vec![0.0; echo.phase.len()];
        for &v in mask {
            let v = v as usize;
            let begin = unwrapped[0][v];
            let gained = if offset { unwrapped[last][v] - begin } else { begin };
            phase[v] = nearest(echo.phase[v], begin + ahead as f32 * gained);
        }
        unwrapped.push(phase);
    }
    unwrapped
}

/// The second echo: the first, what it would gain from a phase of zero at time 0, and what that
/// misses, which is unwrapped in space: the phase at time 0 is smooth.
fn second_of(grid: &Grid, echoes: &[EchoPhase<'_>], first: &[f32], mask: &[u32]) -> Vec<f32> {
    let [early, late] = [&echoes[0], &echoes[1]];
    let ratio = (late.time / early.time) as f32;
    let pairs = late.phase.iter().zip(first);
    let missed: Vec<f32> = pairs.map(|(late, first)| wrapped(late - ratio * first)).collect();
    let echo = EchoPhase { phase: &missed, ..*late };
    let grown = grow(grid, &echo, None, mask);
    let mut second = vec![0.0; first.len()];
    for &v in mask {
        let v = v as usize;
        second[v] = nearest(late.phase[v], ratio * first[v] + grown[v]);
    }
    second
}

/// The phase that differs from `phase` by whole turns and is nearest to `expected`.
fn nearest(phase: f32, expected: f32) -> f32 {
    phase - TAU * ((phase - expected) / TAU).round()
}

/// A step between neighbours.
#[derive(Clone, Copy)]
struct Step {
    from: u32,
    to: u32,
}

pub(super) fn grow(
    grid: &Grid,
    echo: &EchoPhase<'_>,
    next: Option<&EchoPhase<'_>>,
    mask: &[u32],
) -> Vec<f32> {
    let mut inside = vec![false; grid.len()];
    mask.iter().for_each(|&v| inside[v as usize] = echo.phase[v as usize].is_finite());
    let steps = StepQuality::new(echo, next, mask);
    let cost =
        |from: usize, to: usize| ((1.0 - steps.between(from, to)) * (STEPS - 1) as f32) as usize;
    let mut unwrapped = vec![0.0; grid.len()];
    let mut done = vec![false; grid.len()];
    let mut queue: Vec<Vec<Step>> = vec![Vec::new(); STEPS];
    // Seeds: the voxel with the best step, once for each part of the mask.
    let mut seeds: Vec<(usize, u32)> = mask
        .iter()
        .filter(|&&v| inside[v as usize])
        .map(|&v| {
            let costs = neighbours(grid, v as usize).filter(|&n| inside[n]);
            (costs.map(|n| cost(v as usize, n)).min().unwrap_or(STEPS), v)
        })
        .collect();
    seeds.sort_unstable();
    for (_, seed) in seeds {
        if done[seed as usize] {
            continue;
        }
        let mut part = vec![seed];
        unwrapped[seed as usize] = echo.phase[seed as usize];
        done[seed as usize] = true;
        let mut least = STEPS;
        let push = |queue: &mut Vec<Vec<Step>>, done: &[bool], from: usize| {
            let mut least = STEPS;
            for to in neighbours(grid, from).filter(|&n| inside[n] && !done[n]) {
                let cost = cost(from, to).min(STEPS - 1);
                queue[cost].push(Step { from: from as u32, to: to as u32 });
                least = least.min(cost);
            }
            least
        };
        least = least.min(push(&mut queue, &done, seed as usize));
        while least < STEPS {
            let Some(Step { from, to }) = queue[least].pop() else {
                least += 1;
                continue;
            };
            let (from, to) = (from as usize, to as usize);
            if done[to] {
                continue;
            }
            unwrapped[to] = unwrapped[from] + wrapped(echo.phase[to] - unwrapped[from]);
            done[to] = true;
            part.push(to as u32);
            least = least.min(push(&mut queue, &done, to));
        }
        // A part knows its phase up to whole turns: the nearest to zero.
        let median = {
            let mut phases: Vec<f32> = part.iter().map(|&v| unwrapped[v as usize]).collect();
            let middle = phases.len() / 2;
            *phases.select_nth_unstable_by(middle, f32::total_cmp).1
        };
        let turns = TAU * (median / TAU).round();
        part.iter().for_each(|&v| unwrapped[v as usize] -= turns);
    }
    unwrapped
}

/// The up to six voxels that share a face.
pub(crate) fn neighbours(grid: &Grid, voxel: usize) -> impl Iterator<Item = usize> {
    let (at, dims) = (grid.voxel(voxel), grid.dims);
    let strides = [1, dims[0], dims[0] * dims[1]];
    (0..6).filter_map(move |side| {
        let (axis, up) = (side / 2, side % 2 == 1);
        if up {
            (at[axis] + 1 < dims[axis]).then(|| voxel + strides[axis])
        } else {
            (at[axis] > 0).then(|| voxel - strides[axis])
        }
    })
}
