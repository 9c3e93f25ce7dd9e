//! Working memory of one register of problems.

use bytemuck::{Pod, Zeroable};

use crate::linear::tables::{PANEL, Tables};

/// One cache line, which no vector register exceeds.
#[derive(Clone, Copy, Zeroable, Pod)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// `f32`s that begin at a cache line, so that no aligned group of lanes straddles two.
struct Aligned {
    lines: Vec<Line>,
    len: usize,
}

impl Aligned {
    fn zeros(len: usize) -> Self {
        Self { lines: vec![Line::zeroed(); len.div_ceil(16)], len }
    }

    #[inline(always)]
    fn as_mut_slice(&mut self) -> &mut [f32] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

/// Arrays `[row][lane]`.
pub(super) struct Scratch([Aligned; 8]);

/// The arrays, borrowed; rows of samples, unknowns and moments have room for whole panels.
pub(super) struct Arrays<'a> {
    /// Logarithms of the samples over their mean.
    pub(super) logs: &'a mut [f32],
    /// Their prediction.
    pub(super) predicted: &'a mut [f32],
    pub(super) weights: &'a mut [f32],
    /// Weighted residuals, whose product with Xᵀ is the right-hand side.
    pub(super) residuals: &'a mut [f32],
    /// The sums that make up XᵀWX.
    pub(super) moments: &'a mut [f32],
    /// Its factor's lower triangle.
    pub(super) factor: &'a mut [f32],
    /// The right-hand side, then the correction it leads to.
    pub(super) step: &'a mut [f32],
    /// The estimate: ln A of samples over their mean, and coefficients of columns without factors.
    pub(super) unknowns: &'a mut [f32],
}

impl Scratch {
    pub(super) fn new(tables: &Tables, lanes: usize) -> Self {
        let Tables { n_samples, n_unknowns, n_moments, .. } = *tables;
        let panels = |rows: usize| rows.next_multiple_of(PANEL);
        let rows = [
            n_samples,
            panels(n_samples),
            n_samples,
            n_samples,
            panels(n_moments),
            n_unknowns * (n_unknowns + 1) / 2,
            panels(n_unknowns),
            panels(n_unknowns),
        ];
        Self(rows.map(|rows| Aligned::zeros(rows * lanes)))
    }

    #[inline(always)]
    pub(super) fn arrays(&mut self) -> Arrays<'_> {
        let [logs, predicted, weights, residuals, moments, factor, step, unknowns] = &mut self.0;
        Arrays {
            logs: logs.as_mut_slice(),
            predicted: predicted.as_mut_slice(),
            weights: weights.as_mut_slice(),
            residuals: residuals.as_mut_slice(),
            moments: moments.as_mut_slice(),
            factor: factor.as_mut_slice(),
            step: step.as_mut_slice(),
            unknowns: unknowns.as_mut_slice(),
        }
    }
}
