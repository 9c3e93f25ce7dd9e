//! A design in `f32`, as lanes and devices read it.
//!
//! Inside, unknowns are those of columns without their factors: every element of XᵀWX is then
//! simply one of the moments, and the columns of X are the first moments.

use super::Design;

/// Outputs that a product makes side by side in registers.
pub(super) const PANEL: usize = 12;

/// A matrix `[term][output]`, in panels of [`PANEL`] outputs: `[panel][term][PANEL]`, with zeros
/// behind the last output.
#[derive(Clone, Debug)]
pub(super) struct Panels {
    n_terms: usize,
    data: Vec<f32>,
}

impl Panels {
    fn new(n_terms: usize, n_outputs: usize, element: impl Fn(usize, usize) -> f64) -> Self {
        let mut data = Vec::with_capacity(n_terms * n_outputs.next_multiple_of(PANEL));
        for first in (0..n_outputs).step_by(PANEL) {
            for term in 0..n_terms {
                data.extend((first..first + PANEL).map(|output| {
                    if output < n_outputs { element(term, output) as f32 } else { 0.0 }
                }));
            }
        }
        Self { n_terms, data }
    }

    /// The panels, each `[term][PANEL]`.
    #[inline(always)]
    pub(super) fn panels(&self) -> impl Iterator<Item = &[f32]> {
        self.data.chunks_exact(self.n_terms * PANEL)
    }

    /// All of them, one after the other.
    pub(super) fn data(&self) -> &[f32] {
        &self.data
    }
}

/// The tables of a design.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub(super) n_samples: usize,
    pub(super) n_unknowns: usize,
    pub(super) n_moments: usize,
    /// Xᵀ: unknowns to samples.
    pub(super) prediction: Panels,
    /// Samples to moments; the first outputs are those of X.
    pub(super) moments: Panels,
    /// (XᵀX)⁻¹Xᵀ: samples to unknowns.
    pub(super) pseudo_inverse: Panels,
    /// The moment of the unknowns (i, j), j <= i, at i (i + 1) / 2 + j.
    pub(super) moment_of_pair: Vec<u32>,
    /// One over the factor of each unknown's column.
    pub(super) inverse_scales: Vec<f32>,
}

impl Tables {
    pub(super) fn new(design: &Design) -> Self {
        let (n_samples, n_unknowns) = (design.n_samples(), design.n_unknowns());
        let n_moments = design.n_moments();
        let scales: Vec<f64> = design.scales().collect();
        let moments = design.moments();
        let inverse: Vec<Vec<f64>> = (0..n_samples)
            .map(|sample| {
                let mut unit = vec![0.0; n_samples];
                unit[sample] = 1.0;
                design.qr().solve(&unit)
            })
            .collect();
        Self {
            n_samples,
            n_unknowns,
            n_moments,
            prediction: Panels::new(n_unknowns, n_samples, |k, sample| moments[sample][k]),
            moments: Panels::new(n_samples, n_moments, |sample, m| moments[sample][m]),
            pseudo_inverse: Panels::new(n_samples, n_unknowns, |sample, k| {
                inverse[sample][k] * scales[k]
            }),
            moment_of_pair: design.moment_of_pair().iter().map(|&m| m as u32).collect(),
            inverse_scales: scales.iter().map(|s| (1.0 / s) as f32).collect(),
        }
    }
}
