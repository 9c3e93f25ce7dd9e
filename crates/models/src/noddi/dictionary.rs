//! The tissues that AMICO mixes (Daducci et al. 2015): 12 densities of neurites by 12 dispersions, and free water.

use fimbria_compute::dense::vec3::dot;

use super::signal::{polynomials, watson_moments};
use super::start::concentration;
use super::{MANY, Tissue, covariates};
use crate::curve::Protocol;

/// Densities, and as many dispersions.
const EACH: usize = 12;
/// Mixtures of neurites and what lies between them.
pub(super) const TISSUES: usize = EACH * EACH;
/// The same and free water, which is the last.
pub(super) const COLUMNS: usize = TISSUES + 1;
/// The least density and the largest; those between lie evenly.
const DENSITIES: [f64; 2] = [0.1, 0.99];
/// From one density to the next.
const STEP: f64 = (DENSITIES[1] - DENSITIES[0]) / (EACH - 1) as f64;

/// The orientation dispersion indices: two of narrow bundles, then ten evenly from 0.09 to 0.99.
fn dispersion(index: usize) -> f64 {
    match index {
        0 => 0.03,
        1 => 0.06,
        _ => 0.09 + 0.1 * (index - 2) as f64,
    }
}

/// The density of a column.
pub(super) fn density(column: usize) -> f64 {
    DENSITIES[0] + STEP * (column % EACH) as f64
}

/// The concentration of a column's directions.
pub(super) fn kappa(column: usize) -> f64 {
    concentration(dispersion(column / EACH))
}

/// What makes the columns of any direction.
pub(super) struct Dictionary {
    /// The covariates of each sample: b d, exp(-b d_free), direction, (2l+1) G_l.
    samples: Vec<Vec<f64>>,
    /// w_l of each dispersion.
    spreads: Vec<Vec<f64>>,
}

impl Dictionary {
    /// For the volumes of a protocol, in its order.
    pub(super) fn new(protocol: &Protocol, tissue: Tissue) -> Self {
        let sample = |v: usize| covariates::<MANY>(tissue, protocol.b[v], protocol.dirs_ras[v]);
        let spread = |index: usize| watson_moments::<MANY>(dispersion(index));
        Self {
            samples: protocol.volumes().into_iter().map(sample).collect(),
            spreads: (0..EACH).map(spread).collect(),
        }
    }

    /// How many samples there are.
    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    /// What is left of water in a sample.
    pub(super) fn water(&self, sample: usize) -> f64 {
        self.samples[sample][1]
    }

    /// The signals of every column about an axis, 1 without weighting, `[sample][column]`.
    pub(super) fn about(&self, axis: [f64; 3], rows: &mut [f64]) {
        for (known, row) in self.samples.iter().zip(rows.chunks_exact_mut(COLUMNS)) {
            let x = known[0];
            let cosine = dot(axis, [known[2], known[3], known[4]]);
            let square = cosine * cosine;
            let mut degrees = [0.0; MANY + 1];
            polynomials(square, &mut degrees);
            degrees.iter_mut().zip(&known[5..]).for_each(|(value, decay)| *value *= decay);
            for (spread, row) in self.spreads.iter().zip(row.chunks_exact_mut(EACH)) {
                let sticks: f64 = spread.iter().zip(&degrees).map(|(w, degree)| w * degree).sum();
                // Of the zeppelin's exponent, -x (1 - density hindrance).
                let hindrance = (2.0 + spread[1]) / 3.0 - spread[1] * square;
                let mut zeppelin = (x * (DENSITIES[0] * hindrance - 1.0)).exp();
                let step = (x * STEP * hindrance).exp();
                for (column, value) in row.iter_mut().enumerate() {
                    let density = density(column);
                    *value = density * sticks + (1.0 - density) * zeppelin;
                    zeppelin *= step;
                }
            }
            row[TISSUES] = known[1];
        }
    }
}

#[cfg(test)]
mod tests {
    use fimbria_fitting::lm::Model;
    use fimbria_testing::acquisition;

    use super::super::Dispersed;
    use super::*;

    #[test]
    fn columns_are_the_signals_of_the_model() {
        let table = acquisition(1, &[(700.0, 6), (3000.0, 6), (6000.0, 6)]);
        let protocol = Protocol::new(&table, None).unwrap();
        let dictionary = Dictionary::new(&protocol, Tissue::White);
        let axis = [0.48, 0.6, 0.64];
        let mut rows = vec![0.0; dictionary.len() * COLUMNS];
        dictionary.about(axis, &mut rows);
        let mut axes = [0.0; 9];
        axes[..3].copy_from_slice(&axis);
        for (sample, row) in rows.chunks_exact(COLUMNS).enumerate() {
            let known = &dictionary.samples[sample];
            for (column, &value) in row.iter().enumerate() {
                let water = if column == TISSUES { 1.0 } else { 0.0 };
                let p =
                    [1.0, density(column), dispersion(column / EACH % EACH), water, 0.0, 0.0, 0.0];
                let signal: f64 = Dispersed::<MANY>.signal(&p, known, &axes);
                // Both to rounding of powers of one step.
                assert!((value - signal).abs() < 1e-12, "{sample} {column}: {value} {signal}");
            }
        }
        assert!((density(11) - 0.99).abs() < 1e-15 && (dispersion(11) - 0.99).abs() < 1e-15);
    }
}
