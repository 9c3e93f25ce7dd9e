//! The kernel's text for one model and one set of options.

use std::fmt::Write as _;

use fimbria_compute::device::KernelSource;
use fimbria_compute::math;

use crate::expr::{Precision, kernel_text};
use crate::lm::likelihood::{
    BESSEL_SPLIT, I0_LARGE, I0_SMALL, I1_LARGE, I1_SMALL, LEAST_VARIANCE, ROOT_HALF_PI,
};
use crate::lm::problems::Rows;
use crate::lm::rules::{self, Rules};
use crate::lm::{
    Likelihood, LmOptions, LmStatus, Parameter, Problems, Sigma, SignalFormulas, Starts, Weights,
};

/// The kernel `lm_fit`.
pub(crate) fn source(
    formulas: &SignalFormulas,
    parameters: &[Parameter],
    problems: &Problems<'_>,
    options: &LmOptions,
    precision: Precision,
) -> KernelSource {
    let rows = Rows::new(parameters.len(), options);
    let weights = match problems.weights {
        Weights::Equal => 0,
        Weights::PerSample(_) => 1,
        Weights::PerProblem(_) => 2,
    };
    let kind = match options.likelihood {
        Likelihood::Gaussian => u8::from(weights != 0),
        Likelihood::OffsetGaussian => 2,
        Likelihood::Rician => 3,
        Likelihood::RicianMean => 4,
    };
    let (sigma_row, sigma) = match options.sigma {
        Sigma::Shared(sigma) => (-1, f64::from(sigma)),
        Sigma::Constant(row) => (row as i64, 0.0),
    };
    let mut text = tables(parameters, precision);
    text.push_str(&kernel_text("lm_model", &formulas.staged, precision));
    text.push_str(include_str!("lm.cl"));
    let mut source = KernelSource::new("lm_fit", text)
        .after(math::KERNEL_TEXT)
        .with("P", format_args!("{}u", parameters.len()))
        .with("N_SAMPLES", format_args!("{}u", problems.n_samples()))
        .with("N_COLUMNS", format_args!("{}u", formulas.staged.n_columns()))
        .with("N_CONSTANTS", format_args!("{}u", formulas.n_constants))
        .with("N_ROWS", format_args!("{}u", rows.count()))
        .with("KIND", kind)
        .with("WEIGHTS", weights)
        .with("OWN_STARTS", u8::from(matches!(problems.starts, Starts::PerProblem(_))))
        .with("SIGMA_ROW", sigma_row)
        .with("SIGMA", precision.literal(sigma))
        .with("WANTS_COVARIANCE", u8::from(options.covariance))
        .with("ROW_RESIDUAL", rows.residual())
        .with("ROW_ITERATIONS", rows.iterations())
        .with("ROW_STATUS", rows.status())
        .with("ROW_COVARIANCE", format_args!("{}u", parameters.len() + 3))
        .with("MAX_ITERATIONS", precision.literal(f64::from(options.max_iterations)));
    for (name, status) in [
        ("STATUS_CONVERGED", LmStatus::Converged),
        ("STATUS_AT_BOUND", LmStatus::AtBound),
        ("STATUS_NOT_CONVERGED", LmStatus::NotConverged),
        ("STATUS_BAD_PROBLEM", LmStatus::BadProblem),
        ("STATUS_SINGULAR", LmStatus::Singular),
    ] {
        source = source.with_f32(name, status.code());
    }
    with_arithmetic(with_rules(source, precision), precision)
}

/// Bounds, starts and which are fixed, and the polynomials of the Bessel functions.
fn tables(parameters: &[Parameter], precision: Precision) -> String {
    let mut text = String::new();
    let mut table = |name: &str, of: &dyn Fn(&Parameter) -> f64| {
        let values: Vec<_> = parameters.iter().map(|p| precision.literal(of(p))).collect();
        let _ = writeln!(text, "CONSTANT_TABLE REAL {name}[] = {{{}}};", values.join(", "));
    };
    // No bound is as good as the largest number, which a table can hold.
    let largest = f64::from(f32::MAX);
    table("lm_lower", &|p| p.lower.max(-largest));
    table("lm_upper", &|p| p.upper.min(largest));
    table("lm_start", &|p| p.start);
    let fixed: Vec<_> = parameters.iter().map(|p| u8::from(p.fixed).to_string()).collect();
    let _ = writeln!(text, "CONSTANT_TABLE i32 lm_fixed[] = {{{}}};", fixed.join(", "));
    for (name, coefficients) in [
        ("lm_i0_small", &I0_SMALL[..]),
        ("lm_i1_small", &I1_SMALL),
        ("lm_i0_large", &I0_LARGE),
        ("lm_i1_large", &I1_LARGE),
    ] {
        let mut terms = coefficients.iter().map(|c| precision.literal(f64::from(*c)));
        let first = terms.next().unwrap_or_default();
        let sum = terms.fold(first, |sum, next| format!("R_FMA({sum}, x, {next})"));
        let _ = writeln!(text, "DEVICE_FN REAL {name}(REAL x) {{ return {sum}; }}");
    }
    text
}

fn with_rules(mut source: KernelSource, precision: Precision) -> KernelSource {
    let rules = match precision {
        Precision::Single => Rules::SINGLE,
        Precision::Double => Rules::DOUBLE,
    };
    for (name, value) in [
        ("HALF_ROUNDING_SQUARED", 0.5 * rules.rounding * rules.rounding),
        ("FLAT", rules.flat),
        ("DECREASE", rules.decrease),
        ("STEP_SQUARED", rules.step * rules.step),
        ("LAST_DAMPING", rules.last_damping),
        ("PIVOT", rules.pivot),
        ("SINGULAR", rules.singular),
        ("FADED", rules.faded),
        ("NO_INFLUENCE", rules.no_influence),
        ("FIRST_DAMPING", rules::FIRST_DAMPING),
        ("MOST_DAMPING", rules::MOST_DAMPING),
        ("LEAST_DAMPING", rules::LEAST_DAMPING),
        ("SHRINK", rules::SHRINK),
        ("BESSEL_SPLIT", f64::from(BESSEL_SPLIT)),
        ("LEAST_VARIANCE", f64::from(LEAST_VARIANCE)),
        ("ROOT_HALF_PI", f64::from(ROOT_HALF_PI)),
    ] {
        source = source.with(name, precision.literal(value));
    }
    source
}

/// The operations on `REAL`.
fn with_arithmetic(source: KernelSource, precision: Precision) -> KernelSource {
    let (largest, operations) = match precision {
        Precision::Single => (
            f64::from(f32::MAX),
            [
                ("R_FMA(a, b, c)", "FMA(a, b, c)"),
                ("R_DIV(a, b)", "fb_div(a, b)"),
                ("R_SQRT(x)", "fb_sqrt(x)"),
                ("R_RSQRT(x)", "fb_rsqrt_finite(x)"),
                ("R_LN(x)", "fb_ln(x)"),
                ("R_EXP(x)", "fb_exp(x)"),
                ("R_ABS(x)", "fb_abs(x)"),
                ("R_MIN(a, b)", "fb_min(a, b)"),
                ("R_MAX(a, b)", "fb_max(a, b)"),
            ],
        ),
        Precision::Double => (
            f64::MAX,
            [
                ("R_FMA(a, b, c)", "fma((f64)(a), (f64)(b), (f64)(c))"),
                ("R_DIV(a, b)", "((a) / (b))"),
                ("R_SQRT(x)", "sqrt((f64)(x))"),
                ("R_RSQRT(x)", "(1.0 / sqrt((f64)(x)))"),
                ("R_LN(x)", "log((f64)(x))"),
                ("R_EXP(x)", "exp((f64)(x))"),
                ("R_ABS(x)", "fabs((f64)(x))"),
                ("R_MIN(a, b)", "((a) < (b) ? (a) : (b))"),
                ("R_MAX(a, b)", "((a) > (b) ? (a) : (b))"),
            ],
        ),
    };
    let source =
        source.with("REAL", precision.name()).with("R_LARGEST", precision.literal(largest));
    operations.into_iter().fold(source, |source, (name, value)| source.with(name, value))
}
