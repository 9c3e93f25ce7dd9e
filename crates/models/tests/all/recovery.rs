//! Noise-free signals, rounded to f32, are recovered in f32 from far starts: what is found differs
//! from the truth by what that rounding explains, or is flagged.

use fimbria_compute::SimdLevel;
use fimbria_compute::dense::lu::inverse;
use fimbria_compute::philox::Philox;
use fimbria_fitting::lm::{
    Arithmetic, LmOptions, LmStatus, Model, Parameter, Problems, Rows, Starts, Weights, fit,
    with_prepared,
};
use fimbria_models::dki1d::Kurtosis;
use fimbria_models::mono::MonoExponential;
use fimbria_models::nlls::ExpLinear;
use fimbria_models::stremi::{Projection, StretchedTensor};
use fimbria_tensors::starts::half_sphere;

/// A uniform number of [0, 1).
fn uniform(item: usize, purpose: usize) -> f64 {
    f64::from(Philox::new(23).at(item as u64, purpose as u32)[0]) / 4_294_967_296.0
}

/// Problems of known truth.
struct Known<const P: usize> {
    truth: Vec<[f64; P]>,
    /// `[sample][covariate]`.
    covariates: Vec<f64>,
    /// Of each problem.
    constants: Vec<Vec<f64>>,
}

impl<const P: usize> Known<P> {
    fn signal(&self, model: &impl Model<P>, problem: usize, sample: usize) -> f64 {
        let n = model.n_covariates();
        let known = &self.covariates[sample * n..][..n];
        model.signal(&self.truth[problem], known, &self.constants[problem])
    }

    /// Parameters and status of every problem, fitted from the shared start.
    fn fitted(&self, model: &impl Model<P>, parameters: &[Parameter; P]) -> Vec<([f64; P], f32)> {
        let n = self.truth.len();
        let n_samples = self.covariates.len() / model.n_covariates();
        let samples: Vec<f32> = (0..n_samples)
            .flat_map(|i| (0..n).map(move |v| self.signal(model, v, i) as f32))
            .collect();
        let covariates: Vec<f32> = self.covariates.iter().map(|&c| c as f32).collect();
        let constants: Vec<f32> = (0..model.n_constants())
            .flat_map(|k| self.constants.iter().map(move |c| c[k] as f32))
            .collect();
        let problems = Problems {
            n,
            stride: n,
            samples: &samples,
            covariates: &covariates,
            constants: &constants,
            weights: Weights::Equal,
            starts: Starts::Shared,
        };
        let options = LmOptions::default();
        let rows = Rows::new(P, &options);
        let mut results = vec![0.0; rows.count() * n];
        let on = Arithmetic::Single(SimdLevel::best());
        fit(model, parameters, &problems, &options, on, &mut results).unwrap();
        let at = |row: usize, v: usize| results[row * n + v];
        (0..n)
            .map(|v| (std::array::from_fn(|k| f64::from(at(k, v))), at(rows.status(), v)))
            .collect()
    }

    /// The Cramér-Rao bound where samples, covariates and constants each have the rounding of f32:
    /// about 2⁻²⁴ of the signal at b = 0.
    fn rounding_bound(&self, model: &impl Model<P>, problem: usize, s0: f64) -> [f64; P] {
        let n = model.n_covariates();
        let mut matrix = [[0.0; P]; P];
        let truth = &self.truth[problem];
        let constants = with_prepared(model, truth, &self.constants[problem]);
        for known in self.covariates.chunks_exact(n) {
            let (_, slope) = model.signal_and_slope(truth, known, &constants);
            for i in 0..P {
                for j in 0..P {
                    matrix[i][j] += slope[i] * slope[j];
                }
            }
        }
        let inverse = inverse(matrix.as_flattened(), P).unwrap();
        std::array::from_fn(|k| inverse[k * P + k].sqrt() * s0 / 16_777_216.0)
    }
}

/// Asserts that all but one in a thousand are within `most` of the truth, and that those are
/// flagged.
fn assert_recovered<const P: usize>(
    known: &Known<P>,
    found: &[([f64; P], f32)],
    most: impl Fn(usize, usize) -> f64,
) {
    let mut wrong = 0;
    for (v, (p, status)) in found.iter().enumerate() {
        let right = (0..P).all(|k| (p[k] - known.truth[v][k]).abs() <= most(v, k));
        let flagged = *status > LmStatus::AtBound.code();
        assert!(right || flagged, "problem {v}: {p:?} instead of {:?}", known.truth[v]);
        wrong += usize::from(!right || flagged);
    }
    assert!(wrong * 1000 <= found.len(), "{wrong} of {} not recovered", found.len());
}

const N: usize = 5000;
/// What is asked of well-conditioned models, relative to the parameter or to 1, its usual size.
const CLOSE: f64 = 1e-4;

#[test]
fn mono_exponential_decays_of_all_rates() {
    let known = Known {
        truth: (0..N).map(|v| [0.2 + 1.8 * uniform(v, 0), 0.02 + 3.0 * uniform(v, 1)]).collect(),
        covariates: (0..12).map(|i| 0.25 * f64::from(i)).collect(),
        constants: vec![Vec::new(); N],
    };
    let parameters = [Parameter::new("S0", 5.0, 0.0, 100.0), Parameter::new("D", 8.0, 0.0, 20.0)];
    let found = known.fitted(&MonoExponential, &parameters);
    assert_recovered(&known, &found, |v, k| CLOSE * known.truth[v][k].max(1.0));
}

#[test]
fn kurtosis_of_one_direction_above_a_floor() {
    // D 0.4 to 2.5 µm²/ms, K 0.1 to 1.5, b up to 3 ms/µm², as long as the signal falls.
    let truth = |v: usize| {
        let (d, k) = (0.4 + 2.1 * uniform(v, 1), 0.1 + 1.4 * uniform(v, 2));
        [0.5 + uniform(v, 0), d, d * d * f64::min(k, 1.0 / d) / 6.0]
    };
    let known = Known {
        truth: (0..N).map(truth).collect(),
        covariates: (0..16).map(|i| 0.2 * f64::from(i)).collect(),
        constants: vec![vec![0.02]; N],
    };
    let parameters = [
        Parameter::new("S0", 1.0, 0.0, 100.0),
        Parameter::new("D", 1.0, 0.0, 20.0),
        Parameter::new("A", 0.0, -5.0, 20.0),
    ];
    let found = known.fitted(&Kurtosis, &parameters);
    assert_recovered(&known, &found, |v, k| CLOSE * known.truth[v][k].max(1.0));
}

#[test]
fn tensors_of_all_shapes_and_directions() {
    // ln S0, then D xx xy xz yy yz zz in µm²/ms of eigenvalues 0.1 to 3.
    let truth = |v: usize| {
        let (sa, ca) = (6.3 * uniform(v, 0)).sin_cos();
        let (sb, cb) = (3.1 * uniform(v, 1)).sin_cos();
        let axes = [[ca * sb, sa * sb, cb], [ca * cb, sa * cb, -sb], [-sa, ca, 0.0]];
        let mut p = [0.4 * uniform(v, 5), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        for (e, axis) in axes.iter().enumerate() {
            let eigenvalue = 0.1 + 2.9 * uniform(v, 2 + e);
            for (k, (i, j)) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)].iter().enumerate() {
                p[1 + k] += eigenvalue * axis[*i] * axis[*j];
            }
        }
        p
    };
    let mut covariates = Vec::new();
    for b in [0.0, 0.7, 1.0] {
        for [x, y, z] in half_sphere(20) {
            let of_d = [x * x, 2.0 * x * y, 2.0 * x * z, y * y, 2.0 * y * z, z * z];
            covariates.push(1.0);
            covariates.extend(of_d.map(|c| -b * c));
        }
    }
    let known =
        Known { truth: (0..N).map(truth).collect(), covariates, constants: vec![Vec::new(); N] };
    let parameters = std::array::from_fn(|k| {
        let start = if [1, 4, 6].contains(&k) { 1.0 } else { 0.0 };
        Parameter::new("p", start, -20.0, 20.0)
    });
    let found = known.fitted(&ExpLinear, &parameters);
    assert_recovered(&known, &found, |v, k| CLOSE * known.truth[v][k].abs().max(1.0));
}

#[test]
fn seven_parameters_of_stretched_decays_within_the_rounding_of_single_precision() {
    let truth = |v: usize| {
        let u = |k| uniform(v, k);
        [
            0.8 + 0.4 * u(0),
            1.2 + 0.6 * u(1),
            0.4 + 0.3 * u(2),
            0.1 + 0.2 * u(3),
            0.6 + 0.35 * u(4),
            0.6 + 0.35 * u(5),
            0.6 + 0.35 * u(6),
        ]
    };
    let axes = |v: usize| {
        let (sa, ca) = (6.3 * uniform(v, 7)).sin_cos();
        let (sb, cb) = (3.1 * uniform(v, 8)).sin_cos();
        let axes = [[ca * sb, sa * sb, cb], [ca * cb, sa * cb, -sb], [-sa, ca, 0.0]];
        // As f32 has them; the eigenvalues behind serve starts only.
        axes.concat().into_iter().map(|c: f64| f64::from(c as f32)).chain([0.0; 3]).collect()
    };
    // The paper's protocol: 5 unweighted volumes and 30 directions at 10 b.
    let mut covariates = vec![0.0; 4 * 5];
    for b in [0.1, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0] {
        for dir in half_sphere(30) {
            covariates.push(f64::from(b as f32));
            covariates.extend(dir.map(|c| f64::from(c as f32)));
        }
    }
    let n = 2000;
    let known = Known {
        truth: (0..n).map(truth).collect(),
        covariates,
        constants: (0..n).map(axes).collect(),
    };
    let a = |name| Parameter::new(name, 0.8, 0.0, 20.0);
    let gamma = |name| Parameter::new(name, 0.8, 0.1, 1.0);
    let parameters = [
        Parameter::new("S0", 1.0, 0.0, 100.0),
        a("A1"),
        a("A2"),
        a("A3"),
        gamma("gamma1"),
        gamma("gamma2"),
        gamma("gamma3"),
    ];
    for projection in [Projection::Dti, Projection::Paper] {
        let model = StretchedTensor { projection };
        let found = known.fitted(&model, &parameters);
        let bounds: Vec<[f64; 7]> =
            (0..n).map(|v| known.rounding_bound(&model, v, known.truth[v][0])).collect();
        // Beside the bound the rounding of the result itself.
        assert_recovered(&known, &found, |v, k| 10.0 * bounds[v][k] + 1e-6);
    }
}
