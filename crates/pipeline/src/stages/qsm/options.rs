//! Which option belongs to which method, and what its value may be.

use fimbria_qsm::dqsm::Iterate;

use super::{QsmMethod, QsmParameters};
use crate::{Choice as _, Named};

const GUIDED: &[QsmMethod] = &[QsmMethod::Dqsm, QsmMethod::Tensor];
const CYLINDERS: &[QsmMethod] = &[QsmMethod::Dqsm];
const UNGUIDED: &[QsmMethod] =
    &[QsmMethod::Tkd, QsmMethod::Tikhonov, QsmMethod::Tv, QsmMethod::Rts];

/// The options that some methods use and others do not; all methods use those not listed.
const METHODS_OF: &[(&str, &[QsmMethod])] = &[
    ("dti", GUIDED),
    ("v1", GUIDED),
    ("fa", GUIDED),
    ("fa-threshold", GUIDED),
    ("weights", GUIDED),
    ("kappa", GUIDED),
    ("solver", GUIDED),
    ("step", GUIDED),
    ("edges", GUIDED),
    ("support", GUIDED),
    ("start", GUIDED),
    ("iterations", GUIDED),
    ("tolerance", GUIDED),
    ("gradient-tolerance", GUIDED),
    ("noise", GUIDED),
    ("checkpoint", GUIDED),
    ("compat", CYLINDERS),
    ("products", CYLINDERS),
    ("device", CYLINDERS),
    ("strength", UNGUIDED),
];

/// Options that contradict each other or make no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum QsmOptionError {
    /// An option that the method would ignore.
    #[error("the option `{option}` is not used by the method {method}, only by {by}")]
    Unused {
        /// The option.
        option: &'static str,
        /// The method.
        method: &'static str,
        /// The methods that use it.
        by: String,
    },
    /// A step for a solver that chooses its own.
    #[error("the option `step` is that of the solver landweber; {0} chooses its own")]
    Step(&'static str),
    /// A value that makes no sense.
    #[error("{option} = {value}: {rule}")]
    Value {
        /// The option.
        option: &'static str,
        /// Its value.
        value: f64,
        /// What it should be.
        rule: &'static str,
    },
}

/// The table of methods and options, a line for each set of methods.
pub fn options_by_method() -> String {
    let line = |methods: &[QsmMethod]| {
        let options = METHODS_OF.iter().filter(|(_, users)| *users == methods);
        let options: Vec<_> = options.map(|(option, _)| format!("--{option}")).collect();
        format!("  {}: {}", names(methods), options.join(" "))
    };
    [GUIDED, CYLINDERS, UNGUIDED].map(line).join("\n")
}

fn names(methods: &[QsmMethod]) -> String {
    methods.iter().map(|method| method.name()).collect::<Vec<_>>().join(", ")
}

fn within(
    option: &'static str,
    value: Option<f64>,
    rule: &'static str,
    is_valid: impl Fn(f64) -> bool,
) -> Result<(), QsmOptionError> {
    match value {
        Some(value) if !is_valid(value) => Err(QsmOptionError::Value { option, value, rule }),
        _ => Ok(()),
    }
}

impl QsmParameters {
    /// Makes sure that every option given is used and makes sense; `others` are the names of those
    /// given that are no parameters (`weights`, `v1`).
    ///
    /// # Errors
    /// [`QsmOptionError`].
    pub fn check(&self, others: &[&'static str]) -> Result<(), QsmOptionError> {
        for option in self.given().into_iter().chain(others.iter().copied()) {
            let users = METHODS_OF.iter().find(|(name, _)| *name == option);
            if let Some((option, users)) = users
                && !users.contains(&self.method.0)
            {
                let method = self.method.0.name();
                return Err(QsmOptionError::Unused { option, method, by: names(users) });
            }
        }
        let solver = self.in_effect().solver;
        if let (Some(_), Some(Named(solver @ (Iterate::Cgls | Iterate::Lsmr)))) =
            (self.step, solver)
        {
            return Err(QsmOptionError::Step(solver.name()));
        }
        let fa = "FA is 0 to 1";
        within("fa-threshold", self.fa_threshold, fa, |fa| (0.0..=1.0).contains(&fa))?;
        let above_zero = |value: f64| value > 0.0 && value.is_finite();
        let not_below_zero = |value: f64| value >= 0.0 && value.is_finite();
        let count = |value: Option<usize>| value.map(|value| value as f64);
        let share = "the share of the data is above 0 and at most 1";
        within("kappa", self.kappa, share, |kappa| kappa > 0.0 && kappa <= 1.0)?;
        within("step", self.step, "a step is above 0", above_zero)?;
        within("noise", self.noise_ppm, "noise is above 0", above_zero)?;
        within("strength", self.strength, "it is above 0", above_zero)?;
        if matches!(self.method.0, QsmMethod::Tkd | QsmMethod::Rts) {
            // The kernel of a dipole is -2/3 to 1/3.
            let rule = "no part of the kernel is beyond 2/3";
            within("strength", self.strength, rule, |strength| strength < 2.0 / 3.0)?;
        }
        within("tolerance", self.tolerance, "a share is 0 or more", not_below_zero)?;
        let gradient = self.gradient_tolerance;
        within("gradient-tolerance", gradient, "a share is 0 or more", not_below_zero)?;
        let support = self.support.map(f64::from);
        within("support", support, "a source reaches 1 voxel at least", |n| n >= 1.0)?;
        within("iterations", count(self.iterations), "it takes 1 at least", |n| n >= 1.0)
    }

    /// The names of the options that were given.
    fn given(&self) -> Vec<&'static str> {
        // Whole, so that a new parameter is not forgotten.
        let Self {
            method: _,
            compat,
            fa_threshold,
            products,
            solver,
            kappa,
            step,
            edges,
            support,
            start,
            iterations,
            tolerance,
            gradient_tolerance,
            noise_ppm,
            strength,
            zero_mean: _,
        } = self;
        let options = [
            ("compat", compat.is_some()),
            ("fa-threshold", fa_threshold.is_some()),
            ("products", products.is_some()),
            ("solver", solver.is_some()),
            ("kappa", kappa.is_some()),
            ("step", step.is_some()),
            ("edges", edges.is_some()),
            ("support", support.is_some()),
            ("start", start.is_some()),
            ("iterations", iterations.is_some()),
            ("tolerance", tolerance.is_some()),
            ("gradient-tolerance", gradient_tolerance.is_some()),
            ("noise", noise_ppm.is_some()),
            ("strength", strength.is_some()),
        ];
        options.into_iter().filter(|(_, is_given)| *is_given).map(|(option, _)| option).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::qsm::QsmCompat;

    fn refused(parameters: QsmParameters, others: &[&'static str]) -> String {
        parameters.check(others).unwrap_err().to_string()
    }

    #[test]
    fn what_a_method_would_ignore_is_refused_by_name() {
        for (method, ..) in QsmMethod::CHOICES {
            let with = QsmParameters { method: Named(*method), ..QsmParameters::default() };
            with.check(&[]).unwrap();
            let compat = Some(Named(QsmCompat::Dqsm));
            for (option, parameters) in [
                ("kappa", QsmParameters { kappa: Some(0.5), ..with.clone() }),
                ("compat", QsmParameters { compat, ..with.clone() }),
                ("iterations", QsmParameters { iterations: Some(5), ..with.clone() }),
                ("strength", QsmParameters { strength: Some(0.1), ..with.clone() }),
            ] {
                let users = METHODS_OF.iter().find(|(name, _)| *name == option).unwrap().1;
                if users.contains(method) {
                    parameters.check(&[]).unwrap();
                } else {
                    let said = refused(parameters, &[]);
                    assert!(said.contains(option) && said.contains(method.name()), "{said}");
                }
            }
        }
        let method = Named(QsmMethod::Tkd);
        let tkd = QsmParameters { method, ..QsmParameters::default() };
        assert!(refused(tkd, &["weights"]).contains("`weights`"));
    }

    #[test]
    fn a_step_needs_landwebers_iteration() {
        let step = Some(0.1);
        let plain = QsmParameters { step, ..QsmParameters::default() };
        assert!(refused(plain.clone(), &[]).contains("cgls chooses its own"));
        let solver = Some(Named(Iterate::Landweber));
        QsmParameters { solver, ..plain.clone() }.check(&[]).unwrap();
        QsmParameters { compat: Some(Named(QsmCompat::Dqsm)), ..plain }.check(&[]).unwrap();
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let usual = QsmParameters::default;
        let landweber = Some(Named(Iterate::Landweber));
        for (name, parameters) in [
            ("kappa = 0", QsmParameters { kappa: Some(0.0), ..usual() }),
            ("kappa = NaN", QsmParameters { kappa: Some(f64::NAN), ..usual() }),
            ("step = 0", QsmParameters { step: Some(0.0), solver: landweber, ..usual() }),
            ("noise = NaN", QsmParameters { noise_ppm: Some(f64::NAN), ..usual() }),
            ("tolerance = NaN", QsmParameters { tolerance: Some(f64::NAN), ..usual() }),
            ("tolerance = -1", QsmParameters { gradient_tolerance: Some(-1.0), ..usual() }),
            ("fa-threshold = NaN", QsmParameters { fa_threshold: Some(f64::NAN), ..usual() }),
            ("support = 0", QsmParameters { support: Some(0), ..usual() }),
            ("iterations = 0", QsmParameters { iterations: Some(0), ..usual() }),
        ] {
            let said = refused(parameters, &[]);
            assert!(said.contains(name), "{said}");
        }
    }
}
