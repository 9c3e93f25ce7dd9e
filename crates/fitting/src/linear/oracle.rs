//! The fit of one set of samples in `f64`, written to be read: the truth the fast versions are
//! held to, and the way out where `f32` cannot solve.

use super::Outcome;
use super::design::{Design, transposed};
use super::qr::Qr;
use super::recipe::{FirstWeights, Floor, Recipe};

/// Size, relative to the largest, below which weighted equations count as singular: fewer than
/// three digits of their solution are left.
const SINGULAR: f64 = 3e-7;

/// What a fit says about one set of samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// A, in units of the samples.
    pub amplitude: f64,
    /// The coefficients of the columns.
    pub coefficients: Vec<f64>,
    /// Root mean square of s - ŝ, in units of the samples.
    pub residual: f64,
    /// How many samples were raised to have a logarithm.
    pub raised: usize,
    /// What became of it; all numbers are zero where it could not be fitted.
    pub outcome: Outcome,
}

/// Fits one set of `samples`; `weights`, where given, multiply the weights of every pass.
///
/// # Panics
/// Where `samples` or `weights` are not as many as the design has samples.
pub fn fit(design: &Design, recipe: &Recipe, samples: &[f64], weights: Option<&[f64]>) -> Fit {
    let n = design.n_samples();
    assert_eq!(samples.len(), n, "samples");
    let none = |raised, outcome| {
        let coefficients = vec![0.0; design.n_unknowns() - 1];
        Fit { amplitude: 0.0, coefficients, residual: 0.0, raised, outcome }
    };
    let mean = samples.iter().sum::<f64>() / n as f64;
    if !(mean.is_finite() && mean > 0.0) {
        return none(0, Outcome::BadSignal);
    }
    let least = floor(samples, recipe.floor);
    let n_raised = samples.iter().filter(|&&s| s < least).count();
    let raised: Vec<f64> = samples.iter().map(|s| s.max(least)).collect();
    let given = weights.map_or_else(|| vec![1.0; n], <[f64]>::to_vec);
    assert_eq!(given.len(), n, "weights");
    let Some(c) = passes(design, recipe, &raised, &given) else {
        return none(n_raised, Outcome::Singular);
    };
    let square = |(x, s): (&Vec<f64>, &f64)| (s - predict(x, &c).exp()).powi(2);
    let squares: f64 = design.rows().iter().zip(samples).map(square).sum();
    Fit {
        amplitude: c[0].exp(),
        coefficients: c[1..].to_vec(),
        residual: if recipe.residual { (squares / n as f64).sqrt() } else { 0.0 },
        raised: n_raised,
        outcome: Outcome::Fitted,
    }
}

/// The least that a sample may be.
fn floor(samples: &[f64], floor: Floor) -> f64 {
    match floor {
        Floor::SmallestPositive => {
            samples.iter().copied().filter(|&s| s > 0.0).fold(f64::INFINITY, f64::min)
        }
        Floor::Absolute(least) => least,
        Floor::OfLargest(fraction) => {
            fraction * samples.iter().copied().fold(f64::NEG_INFINITY, f64::max)
        }
    }
}

/// The unknowns after all passes; `None` where one has no unique solution.
fn passes(design: &Design, recipe: &Recipe, raised: &[f64], given: &[f64]) -> Option<Vec<f64>> {
    let y: Vec<f64> = raised.iter().map(|s| s.ln()).collect();
    weighted(design, &y, last_weights(design, recipe, raised, given)?)
}

/// The weights of the last pass; `None` where a pass before it has no unique solution.
fn last_weights(
    design: &Design,
    recipe: &Recipe,
    raised: &[f64],
    given: &[f64],
) -> Option<Vec<f64>> {
    let y: Vec<f64> = raised.iter().map(|s| s.ln()).collect();
    let mut weights: Vec<f64> = match recipe.passes.first {
        FirstWeights::Unit => given.to_vec(),
        FirstWeights::Measured => raised.iter().zip(given).map(|(s, g)| g * s * s).collect(),
    };
    for _ in 0..recipe.passes.reweighted {
        let c = weighted(design, &y, weights)?;
        let squared = design.rows().iter().map(|x| (2.0 * predict(x, &c)).exp());
        weights = squared.zip(given).map(|(s, g)| g * s).collect();
    }
    Some(weights)
}

/// The weighted least-squares problem of the last pass: minimise cᵀHc - 2fᵀc, ln A being unknown 0
/// of samples divided by their mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Normal {
    /// H = XᵀWX, row-major.
    pub matrix: Vec<f64>,
    /// f = XᵀWy.
    pub rhs: Vec<f64>,
    /// The mean that samples were divided by: A is this times the exponential of unknown 0.
    pub mean: f64,
}

/// The equations that the last pass of [`fit`] solves, for those who solve them under constraints;
/// `None` where it gives no result.
///
/// # Panics
/// Where `samples` or `weights` are not as many as the design has samples.
pub fn normal(
    design: &Design,
    recipe: &Recipe,
    samples: &[f64],
    weights: Option<&[f64]>,
) -> Option<Normal> {
    let n = design.n_samples();
    assert_eq!(samples.len(), n, "samples");
    let mean = samples.iter().sum::<f64>() / n as f64;
    if !(mean.is_finite() && mean > 0.0) {
        return None;
    }
    let least = floor(samples, recipe.floor);
    let raised: Vec<f64> = samples.iter().map(|s| s.max(least) / mean).collect();
    let given = weights.map_or_else(|| vec![1.0; n], <[f64]>::to_vec);
    assert_eq!(given.len(), n, "weights");
    let weights = last_weights(design, recipe, &raised, &given)?;

    // Every element of H is one of fewer sums.
    let mut moments = vec![0.0; design.n_moments()];
    let mut rhs = vec![0.0; design.n_unknowns()];
    for (i, w) in weights.iter().enumerate() {
        for (moment, m) in moments.iter_mut().zip(&design.moments()[i]) {
            *moment += w * m;
        }
        let wy = w * raised[i].ln();
        for (f, x) in rhs.iter_mut().zip(design.row(i)) {
            *f += wy * x;
        }
    }
    let scales: Vec<f64> = design.scales().collect();
    let n = scales.len();
    let mut matrix = vec![0.0; n * n];
    let mut pairs = design.moment_of_pair().iter();
    for i in 0..n {
        for (j, &moment) in (0..=i).zip(&mut pairs) {
            let element = moments[moment] * scales[i] * scales[j];
            matrix[i * n + j] = element;
            matrix[j * n + i] = element;
        }
    }
    Some(Normal { matrix, rhs, mean })
}

/// The c that minimises Σ w (y - x·c)².
fn weighted(design: &Design, y: &[f64], weights: Vec<f64>) -> Option<Vec<f64>> {
    if weights.iter().all(|&w| w == 1.0) {
        return Some(design.qr().solve(y));
    }
    let roots: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
    let rows: Vec<Vec<f64>> = design
        .rows()
        .iter()
        .zip(&roots)
        .map(|(row, root)| row.iter().map(|x| x * root).collect())
        .collect();
    let qr = Qr::new(transposed(&rows, design.n_unknowns()));
    if qr.rank(SINGULAR) < design.n_unknowns() {
        return None;
    }
    let y: Vec<f64> = y.iter().zip(&roots).map(|(y, root)| y * root).collect();
    Some(qr.solve(&y))
}

/// One element of X c: the predicted logarithm of one sample.
pub fn predict(x: &[f64], c: &[f64]) -> f64 {
    x.iter().zip(c).map(|(x, c)| x * c).sum()
}

#[cfg(test)]
mod tests {
    use super::super::recipe::Passes;
    use super::super::testing::{kurtosis_columns, protocol};
    use super::*;

    const PASSES: [Passes; 4] = [Passes::OLS, Passes::WLS, Passes::MEASURED_WLS, Passes::IWLS];

    fn design() -> Design {
        Design::new(&protocol(4, &[(1.0, 30), (2.0, 30)]), &kurtosis_columns()).unwrap()
    }

    /// ln A and coefficients, nothing zero.
    fn truth() -> Vec<f64> {
        let d = [1.1, 0.1, -0.05, 0.6, 0.02, 0.5];
        let v = (0..15).map(|k| 0.3 * f64::from(k * 7 % 5) / 5.0 - 0.1);
        [800f64.ln()].into_iter().chain(d).chain(v).collect()
    }

    fn samples(design: &Design, c: &[f64]) -> Vec<f64> {
        design.rows().iter().map(|x| predict(x, c).exp()).collect()
    }

    #[test]
    fn every_pass_recovers_the_coefficients_of_samples_without_noise() {
        let design = design();
        let samples = samples(&design, &truth());
        for passes in PASSES {
            let fit = fit(&design, &Recipe { passes, ..Recipe::default() }, &samples, None);
            assert_eq!(fit.outcome, Outcome::Fitted);
            assert!((fit.amplitude / 800.0 - 1.0).abs() < 1e-12);
            for (found, truth) in fit.coefficients.iter().zip(&truth()[1..]) {
                // The condition number is below 1e3, with weights.
                assert!((found - truth).abs() < 1e-11, "{passes:?}: {found} {truth}");
            }
            assert!(fit.residual < 1e-9);
        }
    }

    #[test]
    fn a_weight_of_zero_takes_a_sample_out() {
        let design = design();
        let mut samples = samples(&design, &truth());
        samples[17] *= 3.0;
        let weights: Vec<f64> = (0..samples.len()).map(|i| f64::from(u8::from(i != 17))).collect();
        for passes in PASSES {
            let recipe = Recipe { passes, ..Recipe::default() };
            let fit = fit(&design, &recipe, &samples, Some(&weights));
            for (found, truth) in fit.coefficients.iter().zip(&truth()[1..]) {
                assert!((found - truth).abs() < 1e-11, "{passes:?}: {found} {truth}");
            }
        }
    }

    #[test]
    fn the_last_pass_minimises_the_sum_weighted_by_the_prediction_before() {
        let design = design();
        let noisy: Vec<f64> = samples(&design, &truth())
            .iter()
            .enumerate()
            .map(|(i, s)| s * (1.0 + 0.1 * (i as f64 * 1.7).sin()))
            .collect();
        let of = |passes| {
            let found = fit(&design, &Recipe { passes, ..Recipe::default() }, &noisy, None);
            let c: Vec<f64> =
                [found.amplitude.ln()].into_iter().chain(found.coefficients).collect();
            c
        };
        let (ols, wls) = (of(Passes::OLS), of(Passes::WLS));
        let gradient = |k: usize| -> f64 {
            let term = |(x, s): (&Vec<f64>, &f64)| {
                x[k] * (2.0 * predict(x, &ols)).exp() * (s.ln() - predict(x, &wls))
            };
            design.rows().iter().zip(&noisy).map(term).sum()
        };
        for k in 0..design.n_unknowns() {
            // Terms reach 1e5.
            assert!(gradient(k).abs() < 1e-6, "{k}: {}", gradient(k));
        }
    }

    #[test]
    fn the_normal_equations_are_those_of_the_last_pass() {
        let design = design();
        let samples: Vec<f64> = samples(&design, &truth())
            .iter()
            .enumerate()
            .map(|(i, s)| s * (1.0 + 0.1 * (i as f64 * 1.7).sin()))
            .collect();
        for passes in PASSES {
            let recipe = Recipe { passes, ..Recipe::default() };
            let normal = normal(&design, &recipe, &samples, None).unwrap();
            let fit = fit(&design, &recipe, &samples, None);
            let ln_a = (fit.amplitude / normal.mean).ln();
            let c: Vec<f64> = [ln_a].into_iter().chain(fit.coefficients).collect();
            for (row, f) in normal.matrix.chunks(22).zip(&normal.rhs) {
                // Sums of 64 terms of order 1 to 100.
                assert!((predict(row, &c) - f).abs() < 1e-10, "{passes:?}");
            }
        }
    }

    #[test]
    fn samples_without_a_logarithm_are_raised_and_counted() {
        let design = design();
        let mut samples = samples(&design, &truth());
        let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
        let (mut raised, recipe) = (samples.clone(), Recipe::default());
        samples[9] = 0.0;
        samples[40] = -5.0;
        raised[9] = least;
        raised[40] = least;
        let found = fit(&design, &recipe, &samples, None);
        let expected = fit(&design, &recipe, &raised, None);
        assert_eq!(found.raised, 2);
        assert_eq!(found.coefficients, expected.coefficients);
        let floor = Floor::OfLargest(0.5);
        let half = fit(&design, &Recipe { floor, ..recipe }, &samples, None);
        let largest = samples.iter().copied().fold(0.0, f64::max);
        assert_eq!(half.raised, samples.iter().filter(|&&s| s < 0.5 * largest).count());
    }

    #[test]
    fn what_cannot_be_fitted_is_zero_and_says_why() {
        let design = design();
        let n = design.n_samples();
        for bad in [vec![0.0; n], vec![-1.0; n], vec![f64::NAN; n], vec![f64::INFINITY; n]] {
            let fit = fit(&design, &Recipe::default(), &bad, None);
            assert_eq!((fit.outcome, fit.amplitude), (Outcome::BadSignal, 0.0));
        }
        // Weights leave fewer samples than unknowns.
        let weights: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i < 20))).collect();
        let fit = fit(&design, &Recipe::default(), &vec![1.0; n], Some(&weights));
        assert_eq!((fit.outcome, fit.amplitude), (Outcome::Singular, 0.0));
    }
}
