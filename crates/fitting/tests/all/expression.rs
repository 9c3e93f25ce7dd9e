//! Models given as text against the same models compiled.

use crate::lm::models::Kurtosis;
use fimbria_compute::SimdLevel;
use fimbria_compute::philox::{Philox, normals};
use fimbria_fitting::expr::Names;
use fimbria_fitting::lm::{
    Arithmetic, Expression, ExpressionError, LmError, LmOptions, LmStatus, Model, Number,
    Parameter, Problems, Rows, Starts, Weights, fit,
};

const N: usize = 300;
const B: [f32; 12] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.3, 1.6, 2.0, 2.4, 2.7, 3.0];

/// S0 exp(-b D)
struct Decay;

impl Model<2> for Decay {
    fn n_covariates(&self) -> usize {
        1
    }
    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 2], b: &[N::Constant], _: &[N::Constant]) -> N {
        p[0] * (p[1] * -b[0]).exp()
    }
}

fn decay_parameters() -> [Parameter; 2] {
    [Parameter::new("S0", 1.0, 0.0, 10.0), Parameter::new("D", 1.0, 0.0, 5.0)]
}

fn decay() -> Expression {
    let names = Names { parameters: &["S0", "D"], samples: &["b"], problems: &[] };
    Expression::new("S0*exp(-b*D)", &names).unwrap()
}

/// Samples `[sample][problem]` of S0 = 1 to 3, D = 0.2 to 2.2 with noise of standard deviation
/// `noise`.
fn samples(noise: f32) -> Vec<f32> {
    let philox = Philox::new(11);
    let mut samples = vec![0.0; B.len() * N];
    for (k, b) in B.iter().enumerate() {
        for i in 0..N {
            let (s0, d) = truth(i);
            samples[k * N + i] =
                s0 * (-b * d).exp() + noise * normals::<f32>(philox.at(i as u64, k as u32))[0];
        }
    }
    samples
}

fn truth(i: usize) -> (f32, f32) {
    (1.0 + (i % 21) as f32 / 10.0, 0.2 + i as f32 / 150.0)
}

fn problems<'a>(samples: &'a [f32], covariates: &'a [f32], constants: &'a [f32]) -> Problems<'a> {
    Problems {
        n: N,
        stride: N,
        samples,
        covariates,
        constants,
        weights: Weights::Equal,
        starts: Starts::Shared,
    }
}

fn bits(rows: &[f32]) -> Vec<u32> {
    rows.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn an_expression_has_the_bits_of_the_compiled_mono_exponential() {
    let samples = samples(0.05);
    let problems = problems(&samples, &B, &[]);
    let options = LmOptions { covariance: true, ..LmOptions::default() };
    let mut compiled = vec![0.0; Rows::new(2, &options).count() * N];
    let mut given = compiled.clone();
    for level in SimdLevel::available() {
        let on = Arithmetic::Single(level);
        fit(&Decay, &decay_parameters(), &problems, &options, on, &mut compiled).unwrap();
        decay().fit(&decay_parameters(), &problems, &options, on, &mut given).unwrap();
        assert_eq!(bits(&compiled), bits(&given), "{level:?}");
    }
}

#[test]
fn noise_free_decays_are_recovered_in_both_precisions() {
    let samples = samples(0.0);
    let problems = problems(&samples, &B, &[]);
    let options = LmOptions::default();
    let mut rows = vec![0.0; Rows::new(2, &options).count() * N];
    for on in [Arithmetic::Single(SimdLevel::best()), Arithmetic::Double] {
        decay().fit(&decay_parameters(), &problems, &options, on, &mut rows).unwrap();
        for i in 0..N {
            let (s0, d) = truth(i);
            assert_eq!(rows[Rows::new(2, &options).status() * N + i], LmStatus::Converged.code());
            // Samples are rounded to f32.
            assert!((rows[i] - s0).abs() < 1e-5, "S0 of {i}: {}", rows[i]);
            assert!((rows[N + i] - d).abs() < 2e-5, "D of {i}: {}", rows[N + i]);
        }
    }
}

#[test]
fn constants_of_problems_reach_the_formula() {
    let samples = samples(0.02);
    let eta: Vec<f32> = (0..N).map(|i| 0.02 + i as f32 * 1e-4).collect();
    let problems = problems(&samples, &B, &eta);
    let options = LmOptions::default();
    let names = Names { parameters: &["S0", "D", "A"], samples: &["b"], problems: &["eta"] };
    let expression = Expression::new("sqrt((S0*exp(-b*D + b^2*A))^2 + eta^2)", &names).unwrap();
    let mut compiled = vec![0.0; Rows::new(3, &options).count() * N];
    let mut given = compiled.clone();
    let on = Arithmetic::Double;
    fit(&Kurtosis, &Kurtosis::parameters(), &problems, &options, on, &mut compiled).unwrap();
    expression.fit(&Kurtosis::parameters(), &problems, &options, on, &mut given).unwrap();
    for (x, y) in compiled[..3 * N].iter().zip(&given) {
        // Both at the minimum in f64; what is left is the table of b², made in f32.
        assert!((x - y).abs() < 1e-5, "{x} {y}");
    }
}

#[test]
fn a_stretched_exponential_is_fitted_through_b_zero() {
    let names = Names { parameters: &["S0", "A", "G"], samples: &["b"], problems: &[] };
    let expression = Expression::new("S0*exp(-(b*A)^G)", &names).unwrap();
    let parameters = [
        Parameter::new("S0", 1.0, 0.0, 10.0),
        Parameter::new("A", 1.0, 0.0, 5.0),
        Parameter::new("G", 0.9, 0.01, 1.0),
    ];
    let mut samples = vec![0.0; B.len() * N];
    for (k, b) in B.iter().enumerate() {
        for i in 0..N {
            let (a, g) = (0.5 + i as f32 / 300.0, 0.4 + i as f32 / 600.0);
            samples[k * N + i] = 2.0 * (-(b * a).powf(g)).exp();
        }
    }
    let options = LmOptions::default();
    let rows = Rows::new(3, &options);
    let mut found = vec![0.0; rows.count() * N];
    let on = Arithmetic::Single(SimdLevel::best());
    expression.fit(&parameters, &problems(&samples, &B, &[]), &options, on, &mut found).unwrap();
    let good = (0..N).filter(|&i| {
        let (a, g) = (0.5 + i as f32 / 300.0, 0.4 + i as f32 / 600.0);
        (found[N + i] - a).abs() < 1e-3 && (found[2 * N + i] - g).abs() < 1e-3
    });
    assert_eq!(good.count(), N);
}

#[test]
fn large_formulas_use_the_large_file_and_too_large_ones_are_refused() {
    let names = Names { parameters: &["S0", "D"], samples: &["b"], problems: &[] };
    let sum = |n: usize| -> String {
        let terms = (0..n).map(|i| format!("+exp(-b*D*{}.5)*0.0{i}1", i + 1));
        format!("S0*exp(-b*D){}", terms.collect::<String>())
    };
    let large = Expression::new(&sum(40), &names).unwrap();
    let samples = samples(0.0);
    let options = LmOptions { max_iterations: 5, ..LmOptions::default() };
    let mut rows = vec![0.0; Rows::new(2, &options).count() * N];
    let on = Arithmetic::Single(SimdLevel::best());
    let problems = problems(&samples, &B, &[]);
    // The columns -b 1.5 ... are more than lanes hold.
    let fitted = large.fit(&decay_parameters(), &problems, &options, on, &mut rows);
    assert!(matches!(fitted, Ok(()) | Err(LmError::Length { .. })), "{fitted:?}");
    let error = Expression::new(&sum(200), &names).unwrap_err();
    assert!(matches!(error, ExpressionError::TooLarge(_)), "{error}");
}

#[test]
fn parameters_without_influence_are_named() {
    let names = Names { parameters: &["S0", "D", "C"], samples: &["b"], problems: &[] };
    let error = Expression::new("S0*exp(-b*D) + C - C*1", &names).unwrap_err();
    assert_eq!(error, ExpressionError::Unused("C".into()));
    assert_eq!(error.to_string(), "parameter 'C' has no influence on the signal");
}

#[test]
fn a_call_that_does_not_fit_the_formula_is_refused() {
    let samples = samples(0.0);
    let options = LmOptions::default();
    let mut rows = vec![0.0; Rows::new(2, &options).count() * N];
    let on = Arithmetic::Double;
    let short = problems(&samples, &B[..5], &[]);
    let error = decay().fit(&decay_parameters(), &short, &options, on, &mut rows).unwrap_err();
    assert!(error.to_string().contains("covariates: 5 values, but 12 are needed"), "{error}");
    let whole = problems(&samples, &B, &[]);
    let error = decay().fit(&decay_parameters()[..1], &whole, &options, on, &mut rows).unwrap_err();
    assert!(error.to_string().contains("parameters"), "{error}");
}
