//! The Levenberg-Marquardt engine: against truth, against MINPACK, lanes against the oracle.

mod minpack;
pub(crate) mod models;

use fimbria_compute::SimdLevel;
use fimbria_compute::philox::Philox;
use fimbria_fitting::lm::*;
use models::{Kurtosis, TwoPools};

/// A uniform number of [0, 1), keyed by problem and purpose.
fn uniform(problem: usize, purpose: usize) -> f32 {
    (Philox::new(3).at(problem as u64, purpose as u32)[0] >> 8) as f32 / 16_777_216.0
}

/// A number of about unit variance and mean 0 (a sum of uniforms).
fn noise(problem: usize, sample: usize) -> f32 {
    let sum: f32 = (0..3).map(|k| uniform(problem, 1000 + 3 * sample + k)).sum();
    2.0 * (sum - 1.5)
}

/// 30 values of b from 0 to 2.9 ms/µm².
fn b_values() -> Vec<f32> {
    (0..30).map(|i| 0.1 * i as f32).collect()
}

/// The truth of a problem of the kurtosis model: S0, D, A.
fn kurtosis_truth(problem: usize) -> [f64; 3] {
    let u = |k| f64::from(uniform(problem, k));
    let (s0, d, kurtosis) = (0.5 + u(0), 0.2 + 2.3 * u(1), 0.1 + 1.4 * u(2));
    // The model turns upwards at b = D / 2A = 3 / (D K): beyond that is not physical.
    let kurtosis = kurtosis.min(1.0 / d);
    [s0, d, d * d * kurtosis / 6.0]
}

const ETA: f32 = 0.02;

/// `[sample][problem]` of the kurtosis model, with noise of deviation `sigma`.
fn kurtosis_samples(n: usize, sigma: f32) -> Vec<f32> {
    let b = b_values();
    let mut samples = vec![0.0; b.len() * n];
    for v in 0..n {
        let truth = kurtosis_truth(v);
        for (i, &b) in b.iter().enumerate() {
            let exact = Kurtosis.signal(&truth, &[f64::from(b)], &[f64::from(ETA)]);
            samples[i * n + v] = exact as f32 + sigma * noise(v, i);
        }
    }
    samples
}

/// Fits, and returns the rows.
fn run<const P: usize>(
    model: &impl Model<P>,
    parameters: &[Parameter; P],
    problems: &Problems<'_>,
    options: &LmOptions,
    arithmetic: Arithmetic,
) -> Vec<Vec<f32>> {
    let mut results = vec![f32::NAN; Rows::new(P, options).count() * problems.stride];
    fit(model, parameters, problems, options, arithmetic, &mut results).unwrap();
    results.chunks(problems.stride).map(|row| row[..problems.n].to_vec()).collect()
}

fn problems<'a>(n: usize, samples: &'a [f32], b: &'a [f32], constants: &'a [f32]) -> Problems<'a> {
    Problems {
        n,
        stride: n,
        samples,
        covariates: b,
        constants,
        weights: Weights::Equal,
        starts: Starts::Shared,
    }
}

fn best() -> Arithmetic {
    Arithmetic::Single(SimdLevel::best())
}

#[test]
fn noise_free_kurtosis_is_recovered_in_single_precision_from_one_far_start() {
    let n = 20_000;
    let (b, samples, eta) = (b_values(), kurtosis_samples(n, 0.0), vec![ETA; n]);
    let problems = problems(n, &samples, &b, &eta);
    let rows = run(&Kurtosis, &Kurtosis::parameters(), &problems, &LmOptions::default(), best());
    let mut wrong = 0;
    for v in 0..n {
        let truth = kurtosis_truth(v);
        // 1e-4 is what the issue asks for, with the parameters' usual sizes as scale.
        let right = (0..3).all(|k| {
            let scale = [1.0, 1.0, 0.1][k];
            (f64::from(rows[k][v]) - truth[k]).abs() <= 1e-4 * truth[k].abs().max(scale)
        });
        let said = [1.0, 2.0].contains(&rows[5][v]);
        assert!(right || !said, "problem {v}: {truth:?} but status {}", rows[5][v]);
        wrong += usize::from(!right);
    }
    assert!(wrong * 1000 <= n, "{wrong} of {n} not recovered");
}

#[test]
fn the_oracle_finds_the_minimum_that_minpack_finds() {
    let (b, samples) = (b_values(), kurtosis_samples(300, 0.03));
    let b: Vec<f64> = b.iter().map(|&b| f64::from(b)).collect();
    let eta = [f64::from(ETA)];
    for v in 0..300 {
        let y: Vec<f64> = (0..30).map(|i| f64::from(samples[i * 300 + v])).collect();
        let start = [1.0, 1.0, 0.1];
        let (p, half_square, ok) = minpack::fit(&Kurtosis, &b, &eta, &y, start);
        assert!(ok);
        let problem = oracle::Problem {
            samples: &y,
            weights: &[],
            covariates: &b,
            constants: &eta,
            sigma: 0.0,
        };
        let mine = oracle::fit(&Kurtosis, &free(), &problem, &start, &LmOptions::default());
        assert_eq!(mine.status, LmStatus::Converged);
        for k in 0..3 {
            // Both stop where the sum of squares does not fall any more; it is flat there, so that
            // its relative rounding of 1e-15 leaves √ of that in the parameters.
            assert!((mine.parameters[k] - p[k]).abs() < 1e-6 * p[k].abs().max(0.1), "{v}: {k}");
        }
        let cost = 15.0 * mine.residual.powi(2);
        assert!((cost / half_square - 1.0).abs() < 1e-12);
    }
}

#[test]
fn two_pools_end_no_higher_than_where_minpack_ends() {
    let b: Vec<f64> = b_values().iter().map(|&b| f64::from(b)).collect();
    let bounds = TwoPools::parameters().map(|p| Parameter { lower: -1e3, upper: 1e3, ..p });
    let n = 300;
    let mut same = 0;
    for v in 0..n {
        let u = |k| f64::from(uniform(v, k));
        let truth = [0.5 + u(0), 0.2 + 0.3 * u(1), 5.0 + 10.0 * u(2), 0.5 + u(3)];
        let exact = |(i, &b): (usize, &f64)| {
            TwoPools.signal(&truth, &[b], &[]) + 0.003 * f64::from(noise(v, i))
        };
        let y: Vec<f64> = b.iter().enumerate().map(exact).collect();
        let start = TwoPools::parameters().map(|p| p.start);
        let (_, half_square, ok) = minpack::fit(&TwoPools, &b, &[], &y, start);
        let (samples, weights) = (&y[..], &[][..]);
        let problem =
            oracle::Problem { samples, weights, covariates: &b, constants: &[], sigma: 0.0 };
        let mine = oracle::fit(&TwoPools, &bounds, &problem, &start, &LmOptions::default());
        let cost = 15.0 * mine.residual.powi(2);
        // Ill-conditioned: MINPACK may stop early or in a worse valley, and so may we, seldom.
        same += usize::from(ok && (cost / half_square - 1.0).abs() < 1e-6 || cost < half_square);
    }
    assert!(same * 100 >= n * 99, "{same} of {n}");
}

/// The kurtosis model without bounds, which MINPACK does not have.
fn free() -> [Parameter; 3] {
    Kurtosis::parameters().map(|p| Parameter { lower: -1e3, upper: 1e3, ..p })
}

#[test]
fn lanes_find_the_oracles_minimum_with_noise_at_every_level() {
    let n = 1000;
    let (b, samples, eta) = (b_values(), kurtosis_samples(n, 0.03), vec![ETA; n]);
    let problems = problems(n, &samples, &b, &eta);
    let parameters = Kurtosis::parameters();
    let options = LmOptions { covariance: true, ..LmOptions::default() };
    let double = run(&Kurtosis, &parameters, &problems, &options, Arithmetic::Double);
    let layout = Rows::new(3, &options);
    for level in SimdLevel::available() {
        let single = run(&Kurtosis, &parameters, &problems, &options, Arithmetic::Single(level));
        for v in 0..n {
            if double[layout.status()][v] != 1.0 {
                continue;
            }
            assert_eq!(single[layout.status()][v], 1.0, "{level:?}: problem {v}");
            for k in 0..3 {
                let error = double[layout.covariance(k, k).unwrap()][v].sqrt();
                let difference = (single[k][v] - double[k][v]).abs();
                // A predicted decrease of 1e-6 of the cost is √(1e-6 · 27) standard errors, and
                // the last step is taken; where a parameter is hardly determined, rounding adds.
                assert!(difference < 2e-2 * error, "{level:?}: {v}, {k}: {difference} {error}");
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_register_width_or_neighbours() {
    let n = 333;
    let (b, samples, eta) = (b_values(), kurtosis_samples(n, 0.05), vec![ETA; n]);
    let parameters = Kurtosis::parameters();
    let options = LmOptions { covariance: true, ..LmOptions::default() };
    let bits = |rows: Vec<Vec<f32>>| -> Vec<Vec<u32>> {
        rows.iter().map(|row| row.iter().map(|x| x.to_bits()).collect()).collect()
    };
    let all = problems(n, &samples, &b, &eta);
    let mut fusing = SimdLevel::available().into_iter().filter(|level| level.fuses());
    let Some(level) = fusing.next() else { return };
    let first = bits(run(&Kurtosis, &parameters, &all, &options, Arithmetic::Single(level)));
    for other in fusing {
        let rows = run(&Kurtosis, &parameters, &all, &options, Arithmetic::Single(other));
        assert_eq!(bits(rows), first, "{level:?} and {other:?}");
    }
    let part = Problems { n: 5, samples: &samples[100..], constants: &eta[100..], ..all };
    let part = Problems { samples: &part.samples[..29 * n + 200], ..part };
    let mut padded = part.samples.to_vec();
    padded.resize(30 * n, 0.0);
    let part = Problems { samples: &padded, ..part };
    let mut padded_eta = eta.clone();
    padded_eta.resize(n, 0.0);
    let part = Problems { constants: &padded_eta, ..part };
    let rows = bits(run(&Kurtosis, &parameters, &part, &options, Arithmetic::Single(level)));
    for (row, first) in rows.iter().zip(&first) {
        assert_eq!(row[..], first[100..105]);
    }
}

#[test]
fn written_derivatives_are_those_of_dual_numbers() {
    for v in 0..100 {
        let p = kurtosis_truth(v);
        let b = 3.0 * f64::from(uniform(v, 9));
        // A few roundings of f64.
        assert!(derivative_error(&Kurtosis, &p, &[b], &[0.02]) < 1e-13);
    }
}

#[test]
fn dual_numbers_differentiate_every_operation() {
    struct All;
    impl Model<2> for All {
        fn n_covariates(&self) -> usize {
            1
        }
        #[inline(always)]
        fn signal<N: Number>(&self, p: &[N; 2], x: &[N::Constant], _: &[N::Constant]) -> N {
            let [a, b] = *p;
            let smooth = (a * b).exp() / (a + x[0]) - (b - a).abs().sqrt() * (b / x[0]);
            let limited = (a - x[0]).at_least(a.constant(-0.5)) * (b * b + a).ln();
            (-smooth).plus_product(limited, a)
        }
    }
    for (a, b, x) in [(0.3, 0.9, 2.0), (1.7, 0.4, 0.6), (1.2, 2.5, 1.9)] {
        let at = |a: f64, b: f64| All.signal(&[a, b], &[x], &[]);
        let (_, slope) = All.signal_and_slope(&[a, b], &[x], &[]);
        let h = 1e-5;
        let numeric =
            [(at(a + h, b) - at(a - h, b)) / (2.0 * h), (at(a, b + h) - at(a, b - h)) / (2.0 * h)];
        for k in 0..2 {
            // Central differences are good to h² times third derivatives of about 10.
            assert!((slope[k] - numeric[k]).abs() < 1e-8 * (1.0 + numeric[k].abs()), "{a} {b} {x}");
        }
    }
}

#[test]
fn a_fixed_parameter_stays_and_a_bound_is_reported() {
    let n = 64;
    let (b, samples, eta) = (b_values(), kurtosis_samples(n, 0.0), vec![ETA; n]);
    let problems = problems(n, &samples, &b, &eta);
    let [s0, d, a] = Kurtosis::parameters();
    let narrow = Parameter { lower: 0.0, upper: 0.1, start: 0.05, ..d.clone() };
    let parameters = [s0.clone(), narrow, a.clone()];
    for arithmetic in [best(), Arithmetic::Double] {
        let rows = run(&Kurtosis, &parameters, &problems, &LmOptions::default(), arithmetic);
        for v in 0..n {
            assert_eq!((rows[1][v], rows[5][v]), (0.1, 2.0), "{arithmetic:?}: problem {v}");
        }
        let parameters = [s0.clone(), d.clone(), a.clone().fixed_at(0.0)];
        let rows = run(&Kurtosis, &parameters, &problems, &LmOptions::default(), arithmetic);
        for v in 0..n {
            assert_eq!((rows[2][v], rows[5][v]), (0.0, 1.0), "{arithmetic:?}: problem {v}");
        }
    }
}

#[test]
fn a_number_that_is_not_finite_spoils_its_own_problem_only() {
    let n = 40;
    let (b, mut samples, mut eta) = (b_values(), kurtosis_samples(n, 0.01), vec![ETA; n]);
    let clean = run(
        &Kurtosis,
        &Kurtosis::parameters(),
        &problems(n, &samples, &b, &eta),
        &LmOptions::default(),
        best(),
    );
    samples[7 * n + 3] = f32::NAN;
    samples[n + 17] = f32::INFINITY;
    eta[30] = f32::NAN;
    for arithmetic in [best(), Arithmetic::Double] {
        let problems = problems(n, &samples, &b, &eta);
        let options = LmOptions::default();
        let rows = run(&Kurtosis, &Kurtosis::parameters(), &problems, &options, arithmetic);
        for v in 0..n {
            if [3, 17, 30].contains(&v) {
                let values: Vec<f32> = rows.iter().map(|row| row[v]).collect();
                assert_eq!(values, [0.0, 0.0, 0.0, 0.0, 0.0, 4.0]);
            } else if arithmetic != Arithmetic::Double {
                assert_eq!(rows[1][v], clean[1][v]);
            }
        }
    }
}

#[test]
fn what_the_samples_do_not_determine_is_called_singular() {
    let n = 2;
    let b = b_values();
    // Nothing at all, and no decay: fast and slow pools cannot be told apart.
    let mut samples = vec![0.0; 30 * n];
    for i in 0..30 {
        samples[i * n + 1] = 1.0;
    }
    for arithmetic in [best(), Arithmetic::Double] {
        let problems = problems(n, &samples, &b, &[]);
        let rows =
            run(&TwoPools, &TwoPools::parameters(), &problems, &LmOptions::default(), arithmetic);
        for v in 0..n {
            assert!(rows[6][v] >= 3.0, "{arithmetic:?}: status {}", rows[6][v]);
        }
    }
}

#[test]
fn two_pools_are_recovered_within_the_rounding_of_single_precision() {
    let n = 5000;
    let b: Vec<f32> = [0.0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0]
        .into_iter()
        .flat_map(|b| [b, b])
        .collect();
    let truth = |v: usize| -> [f64; 4] {
        let u = |k| f64::from(uniform(v, k));
        [0.5 + u(0), 0.05 + 0.35 * u(1), 6.0 + 40.0 * u(2), 0.3 + 1.7 * u(3)]
    };
    let mut samples = vec![0.0; b.len() * n];
    for v in 0..n {
        for (i, &b) in b.iter().enumerate() {
            samples[i * n + v] = TwoPools.signal(&truth(v), &[f64::from(b)], &[]) as f32;
        }
    }
    let problems = problems(n, &samples, &b, &[]);
    let options = LmOptions::default();
    let rows = run(&TwoPools, &TwoPools::parameters(), &problems, &options, best());
    let mut wrong = 0;
    for v in 0..n {
        let truth = truth(v);
        let deviation = rounding_bound(&TwoPools, &truth, &b);
        let right =
            (0..4).all(|k| (f64::from(rows[k][v]) - truth[k]).abs() <= 10.0 * deviation[k] + 1e-6);
        assert!(right || rows[6][v] > 2.0, "problem {v}: {truth:?}, status {}", rows[6][v]);
        wrong += usize::from(!right);
    }
    assert!(wrong * 1000 <= n, "{wrong} of {n} not recovered");
}

/// The Cramér-Rao bound of the standard deviations where each sample has the rounding of f32,
/// 2⁻²⁴ of the signal at b = 0, as noise.
fn rounding_bound<const P: usize>(model: &impl Model<P>, p: &[f64; P], b: &[f32]) -> [f64; P] {
    let mut information = nalgebra::DMatrix::<f64>::zeros(P, P);
    let at_zero = model.signal(p, &[0.0], &[]);
    for &b in b {
        let (_, slope) = model.signal_and_slope(p, &[f64::from(b)], &[]);
        for i in 0..P {
            for j in 0..P {
                information[(i, j)] += slope[i] * slope[j];
            }
        }
    }
    let inverse = information.try_inverse().unwrap();
    std::array::from_fn(|k| inverse[(k, k)].sqrt() * at_zero / 16_777_216.0)
}

#[test]
fn covariance_is_the_spread_of_fits_over_noise() {
    let n = 4000;
    let (b, eta) = (b_values(), vec![0.0; n]);
    let truth = [1.0, 1.0, 0.15];
    let mut samples = vec![0.0; 30 * n];
    for v in 0..n {
        for (i, &b) in b.iter().enumerate() {
            let exact = Kurtosis.signal(&truth, &[f64::from(b)], &[0.0]);
            samples[i * n + v] = exact as f32 + 0.01 * noise(v, i);
        }
    }
    let problems = problems(n, &samples, &b, &eta);
    let options = LmOptions { covariance: true, ..LmOptions::default() };
    let layout = Rows::new(3, &options);
    let rows = run(&Kurtosis, &Kurtosis::parameters(), &problems, &options, best());
    let mean = |row: &[f32]| row.iter().map(|&x| f64::from(x)).sum::<f64>() / n as f64;
    for i in 0..3 {
        for j in i..3 {
            let (a, b) = (&rows[i], &rows[j]);
            let (mean_a, mean_b) = (mean(a), mean(b));
            let spread = (0..n)
                .map(|v| (f64::from(a[v]) - mean_a) * (f64::from(b[v]) - mean_b))
                .sum::<f64>()
                / n as f64;
            let stated = mean(&rows[layout.covariance(i, j).unwrap()]);
            // √(2/4000) = 2 % of statistics, and the model is not linear.
            assert!((stated / spread - 1.0).abs() < 0.1, "{i}, {j}: {stated} {spread}");
        }
    }
}

#[test]
fn rician_likelihoods_remove_the_bias_that_least_squares_has() {
    let n = 4000;
    let sigma = 0.15;
    let (b, eta) = (b_values(), vec![0.0; n]);
    let truth = [1.0, 1.2, 0.0];
    let mut samples = vec![0.0; 30 * n];
    for v in 0..n {
        for (i, &b) in b.iter().enumerate() {
            let exact = Kurtosis.signal(&truth, &[f64::from(b)], &[0.0]) as f32;
            samples[i * n + v] = (exact + sigma * noise(v, i)).hypot(sigma * noise(v, 100 + i));
        }
    }
    let problems = problems(n, &samples, &b, &eta);
    let [s0, d, a] = Kurtosis::parameters();
    let parameters = [s0, d, a.fixed_at(0.0)];
    let mean_d = |likelihood, arithmetic| {
        let sigma = Sigma::Shared(sigma);
        let options = LmOptions { likelihood, sigma, ..LmOptions::default() };
        let rows = run(&Kurtosis, &parameters, &problems, &options, arithmetic);
        let fitted: Vec<usize> = (0..n).filter(|&v| rows[5][v] == 1.0).collect();
        assert!(fitted.len() * 100 > n * 99, "{likelihood:?}: {} fitted", fitted.len());
        fitted.iter().map(|&v| f64::from(rows[1][v])).sum::<f64>() / fitted.len() as f64
    };
    let gaussian = mean_d(Likelihood::Gaussian, best());
    assert!((gaussian - 1.2).abs() > 0.1, "{gaussian}");
    for likelihood in [Likelihood::Rician, Likelihood::RicianMean] {
        let single = mean_d(likelihood, best());
        // A standard error of about 0.003, and the bias of any estimate at this noise.
        assert!((single - 1.2).abs() < 0.03, "{likelihood:?}: {single}");
        let double = mean_d(likelihood, Arithmetic::Double);
        assert!((single - double).abs() < 1e-3, "{likelihood:?}: {single} {double}");
    }
}

#[test]
fn weights_count_as_repetitions() {
    let n = 50;
    let (b, samples, eta) = (b_values(), kurtosis_samples(n, 0.02), vec![ETA; n]);
    let once = problems(n, &samples, &b, &eta);
    let mut weights = vec![1.0; 30];
    weights[0] = 4.0;
    let weighted = Problems { weights: Weights::PerSample(&weights), ..once };
    let repeated_samples = [&samples[..n], &samples[..n], &samples[..n], &samples].concat();
    let repeated_b = [&[b[0]; 3], &b[..]].concat();
    let repeated = Problems { samples: &repeated_samples, covariates: &repeated_b, ..once };
    let (parameters, options) = (Kurtosis::parameters(), LmOptions::default());
    for arithmetic in [best(), Arithmetic::Double] {
        let weighted = run(&Kurtosis, &parameters, &weighted, &options, arithmetic);
        let repeated = run(&Kurtosis, &parameters, &repeated, &options, arithmetic);
        for v in 0..n {
            // Another order of sums: within what the stopping rule leaves.
            assert!((weighted[1][v] - repeated[1][v]).abs() < 2e-5, "{arithmetic:?}: {v}");
        }
    }
}

#[test]
fn arrays_that_do_not_fit_together_are_refused() {
    let (b, samples, eta) = (b_values(), kurtosis_samples(4, 0.0), [ETA; 4]);
    let good = problems(4, &samples, &b, &eta);
    let parameters = Kurtosis::parameters();
    let refuse = |problems: &Problems<'_>, parameters: &[Parameter; 3]| {
        let mut results = vec![0.0; 6 * 4];
        fit(&Kurtosis, parameters, problems, &LmOptions::default(), best(), &mut results)
            .unwrap_err()
    };
    let short = refuse(&Problems { covariates: &b[1..], ..good }, &parameters);
    assert_eq!(short, LmError::Length { what: "covariates", got: 29, want: 30 });
    let few = refuse(&Problems { samples: &samples[..8], ..good }, &parameters);
    assert_eq!(few, LmError::TooFewSamples { samples: 2, free: 3 });
    let [s0, d, a] = parameters.clone();
    let upside_down = [s0, Parameter { lower: 2.0, upper: 1.0, ..d }, a];
    assert!(matches!(refuse(&good, &upside_down), LmError::Bounds { .. }));
}

/// 30 samples of exp(-b D) with noise, and three more that are far off.
fn with_outliers(n: usize, sigma: f32) -> Vec<f32> {
    let b = b_values();
    let mut samples = vec![0.0; b.len() * n];
    for v in 0..n {
        let d = 0.5 + uniform(v, 0);
        for (i, &b) in b.iter().enumerate() {
            let off = if i % 11 == 5 { 0.4 } else { 0.0 };
            samples[i * n + v] = (-b * d).exp() + sigma * noise(v, i) + off;
        }
    }
    samples
}

/// S0 exp(-b D).
struct Decay;

impl Model<2> for Decay {
    fn n_covariates(&self) -> usize {
        1
    }
    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 2], b: &[N::Constant], _: &[N::Constant]) -> N {
        p[0] * (-p[1] * b[0]).exp()
    }
}

/// The mean absolute error of D, plain or robust.
fn error_of_d(robust: Option<Robust>, sigma: f32, arithmetic: Arithmetic) -> f64 {
    let (n, b) = (400, b_values());
    let samples = with_outliers(n, sigma);
    let problems = problems(n, &samples, &b, &[]);
    let parameters = [Parameter::new("S0", 1.0, 0.0, 10.0), Parameter::new("D", 1.0, 0.0, 5.0)];
    let options = LmOptions::default();
    let mut results = vec![0.0; Rows::new(2, &options).count() * n];
    fit(&Decay, &parameters, &problems, &options, arithmetic, &mut results).unwrap();
    if let Some(robust) = robust {
        let signal = |p: &[f64], b: &[f64], _: &[f64]| p[0] * (-p[1] * b[0]).exp();
        let fit = |problems: &Problems<'_>, results: &mut [f32]| {
            fit(&Decay, &parameters, problems, &options, arithmetic, results)
        };
        robust::refit(robust, &parameters, &problems, &options, signal, fit, &mut results).unwrap();
    }
    let status = &results[Rows::new(2, &options).status() * n..][..n];
    assert!(status.iter().all(|&s| s == 1.0), "{robust:?}");
    let errors = (0..n).map(|v| f64::from((results[n + v] - 0.5 - uniform(v, 0)).abs()));
    errors.sum::<f64>() / n as f64
}

#[test]
fn outliers_lose_their_pull() {
    for arithmetic in [best(), Arithmetic::Double] {
        let error = |robust| error_of_d(robust, 0.01, arithmetic);
        let (plain, huber, tukey) =
            (error(None), error(Some(Robust::Huber)), error(Some(Robust::Tukey)));
        // Three samples of 30 are off by 40 deviations; Huber's leaves each the pull of 1.3.
        assert!(huber < 0.25 * plain && tukey < 0.1 * plain, "{plain} {huber} {tukey}");
        // What remains is the error of a fit of 27 good samples, about σ √(1 / 27) / (∂f/∂D).
        assert!(tukey < 0.02, "{tukey}");
    }
}

#[test]
fn robust_fits_agree_between_lanes_and_oracle() {
    for robust in [Robust::Huber, Robust::Tukey] {
        let single = error_of_d(Some(robust), 0.01, best());
        let double = error_of_d(Some(robust), 0.01, Arithmetic::Double);
        // Both settle to a thousandth of a weight.
        assert!((single / double - 1.0).abs() < 1e-2, "{single} {double}");
    }
}

#[test]
fn a_robust_fit_does_not_depend_on_its_neighbours() {
    let b = b_values();
    let parameters = [Parameter::new("S0", 1.0, 0.0, 10.0), Parameter::new("D", 1.0, 0.0, 5.0)];
    let options = LmOptions::default();
    let run = |samples: &[f32], n: usize| {
        let problems = problems(n, samples, &b, &[]);
        let mut results = vec![0.0; Rows::new(2, &options).count() * n];
        let again = |problems: &Problems<'_>, results: &mut [f32]| {
            fit(&Decay, &parameters, problems, &options, best(), results)
        };
        again(&problems, &mut results).unwrap();
        let signal = |p: &[f64], b: &[f64], _: &[f64]| p[0] * (-p[1] * b[0]).exp();
        let robust = Robust::Tukey;
        robust::refit(robust, &parameters, &problems, &options, signal, again, &mut results)
            .unwrap();
        results
    };
    let (all, n) = (with_outliers(40, 0.02), 40);
    let together = run(&all, n);
    for v in 0..n {
        let alone: Vec<f32> = (0..b.len()).map(|i| all[i * n + v]).collect();
        let alone = run(&alone, 1);
        let same = alone.iter().enumerate().all(|(row, x)| *x == together[row * n + v]);
        assert!(same || !SimdLevel::best().fuses(), "problem {v}");
    }
}
