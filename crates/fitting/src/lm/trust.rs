//! A second way down, in `f64`, for problems that [`rules`](super::rules) give up: a start that is far
//! off may lead into a valley along which damping never goes.
//!
//! J. J. Moré, "The Levenberg-Marquardt algorithm" (1978): instead of the damping the length of a step is
//! bounded, measured by the change of the signal that each parameter alone would make. The first bound is
//! the length of the start itself: a start is trusted to be right to within its own size.

use super::oracle::{Point, Problem, evaluate, solve, without};
use super::rules::{self, Rules};
use super::{LmOptions, Model, Parameter};

/// The bound after a step that lowered the cost by less than a quarter of what was predicted.
const SHRINK: f64 = 0.25;
/// A step that lowers the cost by this fraction of what was predicted is taken.
const TAKEN: f64 = 1e-4;
/// A step this much longer or shorter than the bound is as long as it.
const LENGTH: f64 = 0.1;
/// A step that is predicted to lower the cost by this fraction of it, and does, is the last: whoever asked
/// goes on from there.
const NEAR: f64 = 1e-6;

/// A point near a minimum of the cost, or as near as `options.max_iterations` steps come to it.
pub(super) fn approach<const P: usize, M: Model<P>>(
    model: &M,
    parameters: &[Parameter; P],
    problem: &Problem<'_>,
    start: &[f64; P],
    options: &LmOptions,
) -> [f64; P] {
    let clamp = |k: usize, x: f64| x.clamp(parameters[k].lower, parameters[k].upper);
    let at = |p: &[f64; P]| evaluate(model, problem, options.likelihood, p);
    let mut p: [f64; P] = std::array::from_fn(|k| clamp(k, start[k]));
    let mut here = at(&p);
    let mut scale: [f64; P] = std::array::from_fn(|j| here.matrix[j][j]);
    let mut radius = length(&scale, &p);
    for _ in 0..options.max_iterations {
        let held = here.held(parameters, &p, Rules::DOUBLE.no_influence);
        let Some((step, bounded)) = longest_step(&here, &scale, &held, radius) else { break };
        let next: [f64; P] =
            std::array::from_fn(|k| if held[k] { p[k] } else { clamp(k, p[k] + step[k]) });
        let step: [f64; P] = std::array::from_fn(|k| next[k] - p[k]);
        let predicted = here.predicted(&step);
        let there = at(&next);
        let gain = if there.is_usable() {
            (here.cost - there.cost) / predicted
        } else {
            f64::NEG_INFINITY
        };
        let long = length(&scale, &step);
        if gain < 0.25 {
            radius = SHRINK * radius.min(long);
        } else if gain > 0.75 || !bounded {
            radius = 2.0 * long;
        }
        if gain > TAKEN {
            (p, here) = (next, there);
            for j in 0..P {
                scale[j] = scale[j].max(here.matrix[j][j]);
            }
        }
        let arrived = gain > 0.25 && predicted <= NEAR * here.cost;
        let is_still = long <= Rules::DOUBLE.step * length(&scale, &p);
        if arrived || is_still || long.is_nan() {
            break;
        }
    }
    p
}

/// √(Σ D p²).
fn length<const P: usize>(scale: &[f64; P], p: &[f64; P]) -> f64 {
    (0..P).map(|j| scale[j] * p[j] * p[j]).sum::<f64>().sqrt()
}

/// The undamped step where it is within `radius`, else the damped one that is as long as `radius`, and
/// whether it was damped.
fn longest_step<const P: usize>(
    here: &Point<P>,
    scale: &[f64; P],
    held: &[bool; P],
    radius: f64,
) -> Option<([f64; P], bool)> {
    let rhs = std::array::from_fn(|j| if held[j] { 0.0 } else { -here.gradient[j] });
    let damped = |damping: f64| {
        let mut matrix = here.matrix;
        for j in 0..P {
            matrix[j][j] += damping * scale[j];
        }
        solve(&without(&matrix, held), &rhs, Rules::DOUBLE.pivot)
    };
    let undamped = damped(0.0);
    if let Some(step) = undamped.filter(|step| length(scale, step) <= (1.0 + LENGTH) * radius) {
        return Some((step, false));
    }
    // Length falls with damping; its logarithm is halved between rounding and what leaves no step.
    let (mut low, mut high) =
        (rules::LEAST_DAMPING.log10() - 8.0, rules::MOST_DAMPING.log10() + 8.0);
    let mut found = None;
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let step = damped(10f64.powf(middle));
        let long = step.as_ref().map_or(f64::INFINITY, |step| length(scale, step));
        if long > (1.0 + LENGTH) * radius {
            low = middle;
            continue;
        }
        found = step;
        if long >= (1.0 - LENGTH) * radius {
            break;
        }
        high = middle;
    }
    found.map(|step| (step, true))
}
