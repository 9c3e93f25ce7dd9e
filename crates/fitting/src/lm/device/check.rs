//! The kernels against the lanes, for `fimbria devices --check`.

use fimbria_compute::SimdLevel;
use fimbria_compute::check::{Check, Comparison, Extent};
use fimbria_compute::device::{Device, DeviceError, KernelSource};
use fimbria_compute::philox::{Philox, normals};

use super::source::source;
use crate::expr::{Names, Precision};
use crate::lm::{
    Arithmetic, Expression, Likelihood, LmOptions, LmStatus, Parameter, Problems, Rows, Sigma,
    Starts, Weights,
};

/// What is fitted in one check.
struct Case {
    name: &'static str,
    formula: &'static str,
    parameters: Vec<Parameter>,
    likelihood: Likelihood,
    weighted: bool,
    precision: Precision,
}

const N_SAMPLES: usize = 16;

/// The checks of the fits: every likelihood, weights, bounds, a fixed parameter, covariance.
pub fn checks() -> Vec<Check> {
    let decay = || {
        vec![
            Parameter::new("S0", 1.0, 0.0, 10.0),
            Parameter::new("D", 1.0, 0.0, 5.0),
            Parameter::new("C", 0.0, 0.0, 1.0),
        ]
    };
    let kurtosis = || {
        vec![
            Parameter::new("S0", 1.0, 0.0, 10.0),
            Parameter::new("D", 1.0, 0.0, 4.0),
            Parameter::new("K", 0.5, -1.0, 3.0),
        ]
    };
    let single = |name, formula, parameters, likelihood, weighted| Case {
        name,
        formula,
        parameters,
        likelihood,
        weighted,
        precision: Precision::Single,
    };
    const DECAY: &str = "S0*exp(-b*D) + C";
    const KURTOSIS: &str = "S0*exp(-b*D + b^2*D^2*K/6)";
    let mut fixed = decay();
    fixed[2] = Parameter::new("C", 0.0, 0.0, 1.0).fixed_at(0.02);
    [
        single("LM least squares", DECAY, decay(), Likelihood::Gaussian, false),
        single("LM weighted, one fixed", DECAY, fixed, Likelihood::Gaussian, true),
        single("LM offset-Gaussian", KURTOSIS, kurtosis(), Likelihood::OffsetGaussian, false),
        single("LM Rician", KURTOSIS, kurtosis(), Likelihood::Rician, false),
        single("LM Rician mean", KURTOSIS, kurtosis(), Likelihood::RicianMean, false),
        Case {
            precision: Precision::Double,
            ..single("LM double precision", KURTOSIS, kurtosis(), Likelihood::Gaussian, false)
        },
    ]
    .into_iter()
    .filter_map(check)
    .collect()
}

fn check(case: Case) -> Option<Check> {
    let names: Vec<&str> = case.parameters.iter().map(|p| p.name.as_str()).collect();
    let names = Names { parameters: &names, samples: &["b"], problems: &[] };
    let expression = Expression::new(case.formula, &names).ok()?;
    let data = Data::new(1, case.weighted);
    let sources = match case.precision {
        Precision::Single => vec![source(
            expression.formulas(),
            &case.parameters,
            &data.problems(),
            &case.options(),
            case.precision,
        )],
        // Not every device has f64.
        Precision::Double => Vec::<KernelSource>::new(),
    };
    let precision = case.precision;
    let check = Check::new(case.name, sources, move |device, extent| {
        case.compare(&expression, device, extent)
    });
    Some(match precision {
        Precision::Single => check,
        Precision::Double => check.needing_f64(),
    })
}

impl Case {
    fn options(&self) -> LmOptions {
        LmOptions {
            likelihood: self.likelihood,
            sigma: Sigma::Shared(0.05),
            covariance: true,
            ..LmOptions::default()
        }
    }

    /// Parameters of the problems both call determined: in units of their bounds.
    fn compare(
        &self,
        expression: &Expression,
        device: &Device,
        extent: Extent,
    ) -> Result<Comparison, DeviceError> {
        let nothing = Comparison { results: 0, max_error: f64::INFINITY, tolerance: 0.0 };
        let n = match (extent, self.precision) {
            (Extent::Toy, _) => 40,
            (Extent::Full, Precision::Single) => 5000,
            (Extent::Full, Precision::Double) => 500,
        };
        let data = Data::new(n, self.weighted);
        let (problems, options) = (data.problems(), self.options());
        let rows = Rows::new(self.parameters.len(), &options);
        let mut expected = vec![0.0; rows.count() * n];
        let mut found = expected.clone();
        let level = SimdLevel::best();
        let arithmetic = match self.precision {
            Precision::Single => Arithmetic::Single(level),
            Precision::Double => Arithmetic::Double,
        };
        let fitted =
            expression.fit(&self.parameters, &problems, &options, arithmetic, &mut expected);
        let on_device = super::fit(
            device,
            expression.formulas(),
            &self.parameters,
            &problems,
            &options,
            self.precision,
            &mut found,
        );
        match (fitted, on_device) {
            (Ok(()), Ok(())) => {}
            (_, Err(super::DeviceFitError::Device(error))) => return Err(error),
            _ => return Ok(nothing),
        }
        if level.fuses() && self.precision == Precision::Single {
            let bits = |rows: &[f32]| rows.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            return Ok(Comparison::of_bits(&bits(&expected), &bits(&found)));
        }
        let fine = |array: &[f32], i: usize| {
            let code = array[rows.status() * n + i];
            [LmStatus::Converged, LmStatus::AtBound].iter().any(|status| status.code() == code)
        };
        let both: Vec<usize> = (0..n).filter(|&i| fine(&expected, i) && fine(&found, i)).collect();
        let either = (0..n).filter(|&i| fine(&expected, i) || fine(&found, i)).count();
        // Rounding decides whether a flat problem ends within its iterations, in few of them.
        if both.len() * 50 < either * 49 {
            return Ok(nothing);
        }
        let numbers = |array: &[f32]| -> Vec<f64> {
            let of = |i: &usize| -> Vec<f64> {
                (0..self.parameters.len()).map(|k| f64::from(array[k * n + i])).collect()
            };
            both.iter().flat_map(of).collect()
        };
        Ok(Comparison::of_numbers(&numbers(&expected), &numbers(&found), 1.0, TOLERANCE))
    }
}

/// Both stop at steps of 1e-6 of the signal in single precision, which the least determined
/// parameter, K of a dark and slow decay, turns into a thousand times as much.
const TOLERANCE: f64 = 1e-2;

/// Noisy decays of all rates; of every fifty problems one has a sample that is no
/// number and one is dark.
struct Data {
    n: usize,
    samples: Vec<f32>,
    covariates: Vec<f32>,
    weights: Option<Vec<f32>>,
}

impl Data {
    fn new(n: usize, weighted: bool) -> Self {
        let philox = Philox::new(4);
        let covariates: Vec<f32> = (0..N_SAMPLES).map(|i| 0.2 * i as f32).collect();
        let mut samples = vec![0.0; N_SAMPLES * n];
        for i in 0..n {
            let random = normals::<f32>(philox.at(i as u64, 0));
            let (s0, d, c) = (1.0 + 0.2 * random[0], random[1].abs(), 0.05 * random[2].abs());
            for (k, b) in covariates.iter().enumerate() {
                let noise = normals::<f32>(philox.at(i as u64, 1 + k as u32))[0];
                samples[k * n + i] = (s0 * (-b * d).exp() + c + 0.03 * noise).abs();
            }
            if i % 50 == 17 {
                samples[3 * n + i] = f32::NAN;
            }
            if i % 50 == 31 {
                (0..N_SAMPLES).for_each(|k| samples[k * n + i] = 0.0);
            }
        }
        let weights = weighted.then(|| (0..N_SAMPLES).map(|k| 1.0 / (1.0 + k as f32)).collect());
        Self { n, samples, covariates, weights }
    }

    fn problems(&self) -> Problems<'_> {
        Problems {
            n: self.n,
            stride: self.n,
            samples: &self.samples,
            covariates: &self.covariates,
            constants: &[],
            weights: self.weights.as_deref().map_or(Weights::Equal, Weights::PerSample),
            starts: Starts::Shared,
        }
    }
}
