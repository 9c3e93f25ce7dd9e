//! L-BFGS with a diagonal to begin with.

use std::collections::VecDeque;

use rayon::prelude::*;

use super::Sift2Step;
use super::model::{Model, Slope, dot};

/// Pairs of steps and changes of the gradient that are remembered.
pub(super) const MEMORY: usize = 6;
/// A factor changes by this much at most in an iteration: e times the weight.
const LONGEST: f32 = 1.0;
/// Of the decrease that the slope promises, what a step has to bring.
const ENOUGH: f64 = 1e-4;
/// Times a step is halved before there is no way down.
const HALVINGS: u32 = 20;

/// A point on the way down.
pub(super) struct Descent {
    factors: Vec<f32>,
    here: Slope,
    pairs: VecDeque<Pair>,
}

/// s, y and 1/sᵀy.
struct Pair {
    moved: Vec<f32>,
    turned: Vec<f32>,
    scale: f64,
}

impl Descent {
    pub(super) fn new(model: &Model<'_>, start: Option<&[f32]>) -> Self {
        // A weight of zero has no logarithm: such a streamline begins small.
        let factors = match start {
            Some(weights) => weights.iter().map(|w| w.max(1e-6).ln()).collect(),
            None => vec![0.0; model.streamlines()],
        };
        let here = model.slope(&factors);
        Self { factors, here, pairs: VecDeque::new() }
    }

    pub(super) fn step(&self) -> Sift2Step {
        self.here.step
    }

    pub(super) fn into_factors(self) -> Vec<f32> {
        self.factors
    }

    /// One iteration; false where there is no way down.
    pub(super) fn advance(&mut self, model: &Model<'_>) -> bool {
        let mut way = self.way();
        let mut promised = dot(&way, &self.here.gradient);
        if promised >= 0.0 {
            // What is remembered misleads.
            self.pairs.clear();
            way = self.way();
            promised = dot(&way, &self.here.gradient);
        }
        let largest = way.par_iter().map(|x| x.abs()).reduce(|| 0.0, f32::max);
        if promised.is_nan() || promised >= 0.0 || !largest.is_finite() {
            return false;
        }
        let mut share = (LONGEST / largest).min(1.0);
        for _ in 0..HALVINGS {
            let factors: Vec<f32> =
                self.factors.par_iter().zip(&way).map(|(f, x)| share.mul_add(*x, *f)).collect();
            let there = model.slope(&factors);
            let change = there.step.objective - self.here.step.objective;
            if change <= ENOUGH * f64::from(share) * promised * model.per_scale() {
                self.remember(&factors, &there);
                (self.factors, self.here) = (factors, there);
                return true;
            }
            share *= 0.5;
        }
        false
    }

    /// -H g, H being the inverse of the curvature as the pairs correct it (two loops).
    fn way(&self) -> Vec<f32> {
        let mut way = self.here.gradient.clone();
        let mut shares = Vec::new();
        for pair in self.pairs.iter().rev() {
            let share = pair.scale * dot(&pair.moved, &way);
            add(&mut way, -share, &pair.turned);
            shares.push(share);
        }
        let curvature = &self.here.curvature;
        way.par_iter_mut().zip(curvature).for_each(|(x, c)| {
            *x = if *c > 0.0 { *x / *c } else { 0.0 };
        });
        for (pair, share) in self.pairs.iter().zip(shares.into_iter().rev()) {
            let back = pair.scale * dot(&pair.turned, &way);
            add(&mut way, share - back, &pair.moved);
        }
        way.par_iter_mut().for_each(|x| *x = -*x);
        way
    }

    fn remember(&mut self, factors: &[f32], there: &Slope) {
        let less = |a: &[f32], b: &[f32]| a.par_iter().zip(b).map(|(a, b)| a - b).collect();
        let moved: Vec<f32> = less(factors, &self.factors);
        let turned: Vec<f32> = less(&there.gradient, &self.here.gradient);
        let along = dot(&moved, &turned);
        if along > 0.0 {
            if self.pairs.len() == MEMORY {
                self.pairs.pop_front();
            }
            self.pairs.push_back(Pair { moved, turned, scale: 1.0 / along });
        }
    }
}

/// x += share · y.
fn add(x: &mut [f32], share: f64, y: &[f32]) {
    let share = share as f32;
    x.par_iter_mut().zip(y).for_each(|(x, y)| *x = share.mul_add(*y, *x));
}
