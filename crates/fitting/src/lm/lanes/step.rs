//! One iteration of a register of problems, in the order of [`rules`](crate::lm::rules).

use fimbria_compute::{Flags, LaneFlags, Lanes, Real};
use pulp::Simd;

use super::cholesky::Factor;
use super::{Fitter, Row};
use crate::lm::problems::LmStatus;
use crate::lm::rules::{self, Rules};
use crate::lm::{Model, Parameter};

/// The box, in the precision of the lanes.
pub(super) struct Bounds<const P: usize> {
    pub(super) lower: [f32; P],
    pub(super) upper: [f32; P],
    pub(super) fixed: [bool; P],
}

impl<const P: usize> Bounds<P> {
    pub(super) fn new(parameters: &[Parameter; P]) -> Self {
        Self {
            lower: std::array::from_fn(|k| parameters[k].lower as f32),
            upper: std::array::from_fn(|k| parameters[k].upper as f32),
            fixed: std::array::from_fn(|k| parameters[k].fixed),
        }
    }
}

/// Stores the new value where a step was taken, else the old one.
#[inline(always)]
fn keep<S: Simd>(accept: LaneFlags<S>, new: Lanes<S>, old: Lanes<S>, row: &mut Row) {
    Lanes::select(accept, new, old).store(row);
}

const RULES: Rules = Rules::SINGLE;

impl<S: Simd, M: Model<P>, const P: usize> Fitter<'_, S, M, P> {
    #[inline(always)]
    pub(super) fn load_row(&self, row: &Row) -> Lanes<S> {
        Lanes::load(self.simd, row)
    }

    #[inline(always)]
    pub(super) fn load_rows(&self, rows: &[Row; P]) -> [Lanes<S>; P] {
        let mut out = [Lanes::new(self.simd, 0.0); P];
        for k in 0..P {
            out[k] = Lanes::load(self.simd, &rows[k]);
        }
        out
    }

    #[inline(always)]
    pub(super) fn load_triangle(&self, rows: &[[Row; P]; P]) -> [[Lanes<S>; P]; P] {
        let mut out = [[Lanes::new(self.simd, 0.0); P]; P];
        for j in 0..P {
            for k in 0..=j {
                out[j][k] = Lanes::load(self.simd, &rows[j][k]);
            }
        }
        out
    }

    /// Takes or rejects one step in every lane; true where a problem came to rest.
    #[inline(always)]
    pub(super) fn iterate(&mut self) -> bool {
        let simd = self.simd;
        let (zero, one) = (Lanes::new(simd, 0.0), Lanes::new(simd, 1.0));
        let none = one.less(zero);
        let p = self.load_rows(&self.state.p);
        let gradient = self.load_rows(&self.state.gradient);
        let matrix = self.load_triangle(&self.state.matrix);
        let scale = self.load_rows(&self.state.scale);
        let damping = self.load_row(&self.state.damping);
        let cost = self.load_row(&self.state.cost);
        let floor = self.load_row(&self.state.floor);

        let mut held = [none; P];
        let mut damped = matrix;
        let mut rhs = [zero; P];
        for j in 0..P {
            let low = p[j].at_most(zero.splat(self.bounds.lower[j])) & zero.less(gradient[j]);
            let high = zero.splat(self.bounds.upper[j]).at_most(p[j]) & gradient[j].less(zero);
            held[j] = matrix[j][j].at_most(zero.splat(RULES.no_influence as f32)) | low | high;
            if self.bounds.fixed[j] {
                held[j] = !none;
            }
            damped[j][j] = damping.mul_add(scale[j], matrix[j][j]);
            rhs[j] = Lanes::select(held[j], zero, -gradient[j]);
        }
        let factor = Factor::new(&damped, &held, RULES.pivot as f32);
        let mut step = factor.solve(&rhs);
        let mut next = p;
        for k in 0..P {
            let moved = p[k] + step[k];
            let moved = moved.max(zero.splat(self.bounds.lower[k]));
            let moved = moved.min(zero.splat(self.bounds.upper[k]));
            next[k] = Lanes::select(held[k] | factor.singular, p[k], moved);
            step[k] = next[k] - p[k];
        }
        let mut predicted = zero;
        for j in 0..P {
            let mut curvature = matrix[j][j] * step[j] * 0.5;
            // Each pair of the symmetric matrix once: half of it twice.
            for k in 0..j {
                curvature = matrix[j][k].mul_add(step[k], curvature);
            }
            predicted = step[j].neg_mul_add(gradient[j] + curvature, predicted);
        }

        let undamped = Factor::new(&matrix, &held, RULES.pivot as f32);
        let newton = undamped.solve(&rhs);
        let mut remaining = zero;
        for k in 0..P {
            remaining = newton[k].mul_add(rhs[k], remaining);
        }
        let remaining = Lanes::select(undamped.singular, zero.splat(f32::MAX), remaining * 0.5);

        let there = self.evaluate(&next);

        let mut sum = there.cost;
        for j in 0..P {
            sum = sum + there.matrix[j][j];
        }
        let largest = zero.splat(f32::MAX);
        let usable = sum.abs().at_most(largest) & !factor.singular;
        let fresh = !cost.at_most(largest);
        let mixed = (cost * floor).sqrt().mul_add(zero.splat(2.0), floor);
        let rounding = cost.mul_add(zero.splat(RULES.flat as f32), mixed);
        let flat = predicted.at_most(rounding);
        let better = there.cost.less(cost);
        let accept = usable & (better | (flat & there.cost.at_most(cost + rounding)));
        let (mut length, mut size) = (zero, zero);
        for k in 0..P {
            length = (scale[k] * step[k]).mul_add(step[k], length);
            size = (scale[k] * p[k]).mul_add(p[k], size);
        }
        let still = length.at_most(size * (RULES.step * RULES.step) as f32);
        let last = cost.mul_add(zero.splat(RULES.decrease as f32), floor);
        let arrived = zero.at_most(remaining) & remaining.at_most(last);
        let undamped = damping.at_most(zero.splat(RULES.last_damping as f32));
        let converged = usable
            & !fresh
            & (-floor).at_most(predicted)
            & (arrived | (undamped & (predicted.at_most(last) | still)));

        let mut by_slopes = zero;
        for k in 0..P {
            by_slopes = step[k].neg_mul_add(gradient[k] + there.gradient[k], by_slopes);
        }
        let by_slopes = (by_slopes * 0.5 / predicted).max(-one).min(one);
        let gain = Lanes::select(flat, by_slopes, (cost - there.cost) / predicted);
        let gain = Lanes::select(predicted.at_most(floor), one, gain) * 2.0 - 1.0;
        let factor = (gain * gain).neg_mul_add(gain, one).max(zero.splat(rules::SHRINK as f32));
        let lowered = (damping * factor).max(zero.splat(rules::LEAST_DAMPING as f32));
        let growth = self.load_row(&self.state.growth);
        let changed = Lanes::select(accept, lowered, damping * growth);
        let damping = Lanes::select(fresh, damping, changed);
        let growth = Lanes::select(accept, zero.splat(2.0), growth * 2.0);
        let counted = self.load_row(&self.state.iterations) + Lanes::select(fresh, zero, one);

        let bad = fresh & !accept;
        let over = zero.splat(rules::MOST_DAMPING as f32).less(damping)
            | zero.splat(self.shared.options.max_iterations as f32).at_most(counted);
        let active = zero.less(self.load_row(&self.state.active));
        let done = active & (converged | bad | over);
        let code = |status: LmStatus| zero.splat(status.code());
        let status =
            Lanes::select(converged, code(LmStatus::Converged), code(LmStatus::NotConverged));
        let status = Lanes::select(bad, code(LmStatus::BadProblem), status);

        let state = &mut self.state;
        for j in 0..P {
            keep(accept, next[j], p[j], &mut state.p[j]);
            keep(accept, there.gradient[j], gradient[j], &mut state.gradient[j]);
            keep(accept, scale[j].max(there.matrix[j][j]), scale[j], &mut state.scale[j]);
            for k in 0..=j {
                keep(accept, there.matrix[j][k], matrix[j][k], &mut state.matrix[j][k]);
            }
        }
        keep(accept, there.cost, cost, &mut state.cost);
        let squares = Lanes::load(simd, &state.squares);
        keep(accept, there.squares, squares, &mut state.squares);
        damping.store(&mut state.damping);
        growth.store(&mut state.growth);
        counted.store(&mut state.iterations);
        status.store(&mut state.status);
        Lanes::select(done, one, zero).store(&mut state.done);
        done.any()
    }
}
