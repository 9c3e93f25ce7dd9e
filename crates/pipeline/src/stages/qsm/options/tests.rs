use std::collections::BTreeSet;

use clap::{Args as _, Command};
use fimbria_qsm::PUBLISHED_SUPPORT;
use serde_json::{Value, json};

use super::*;
use crate::options::{Choice, UsedBy, Way as _, from_values, usual};
use crate::stages::qsm::ways::WAYS;

fn given(values: &Value) -> QsmParameters {
    from_values(values.as_object().unwrap()).unwrap()
}

fn resolved(values: &Value) -> QsmParameters {
    given(values).with_defaults(&Place::Command)
}

fn refused(values: &Value) -> String {
    let read = from_values::<QsmParameters>(values.as_object().unwrap());
    read.and_then(|options| options.check()).unwrap_err().to_string()
}

#[test]
fn resolved_options_have_every_default() {
    let plain = usual::<QsmParameters>().with_defaults(&Place::Command);
    assert_eq!((plain.method.0.name(), plain.strength), ("dtv", None));
    let dqsm = resolved(&json!({ "method": "dqsm" }));
    assert_eq!((dqsm.kappa, dqsm.step, dqsm.support), (Some(0.985), None, None));
    assert_eq!(dqsm.solver, Some(Named(Iterate::Cgls)));
    let published = resolved(&json!({ "compat": "dqsm" }));
    assert_eq!((published.kappa, published.step), (Some(0.75), Some(0.15)));
    assert_eq!(published.support, Some(PUBLISHED_SUPPORT));
    assert_eq!(published.solver, Some(Named(Iterate::Landweber)));
    let cgls = resolved(&json!({ "compat": "dqsm", "solver": "cgls" }));
    assert_eq!(cgls.step, None);
    let tkd = resolved(&json!({ "method": "tkd" }));
    assert_eq!((tkd.strength, tkd.kappa, tkd.iterations), (Some(0.15), None, None));
    let ndi = resolved(&json!({ "method": "ndi", "strength": 0.1 }));
    assert_eq!((ndi.strength, ndi.iterations, ndi.outside), (Some(0.1), Some(200), None));
    let ilsqr = resolved(&json!({ "method": "ilsqr", "iterations": 9 }));
    let ends = (ilsqr.iterations, ilsqr.tolerance, ilsqr.gradient_tolerance);
    assert_eq!((ilsqr.strength, ends), (Some(0.1), (Some(9), None, Some(1e-2))));
    // Filled in once more they are the same.
    for all in [plain, dqsm, published, cgls, tkd, ndi, ilsqr] {
        assert_eq!(all.with_defaults(&Place::Command), all);
    }
}

#[test]
fn a_run_has_defaults_of_its_own_but_for_the_published_numbers() {
    let in_run = |values: &Value| {
        let options = given(values).with_defaults(&Place::Run);
        (options.kappa, options.iterations)
    };
    assert_eq!(in_run(&json!({ "method": "tensor" })), (Some(0.95), Some(20)));
    assert_eq!(in_run(&json!({ "method": "dqsm", "kappa": 0.9 })), (Some(0.9), Some(20)));
    assert_eq!(in_run(&json!({ "compat": "dqsm" })), (Some(0.75), Some(1000)));
}

/// A name that no option has would never be filled in.
#[test]
fn every_default_is_that_of_an_option() {
    let command = QsmParameters::augment_args(Command::new("x"));
    let options: BTreeSet<_> = command.get_arguments().map(|arg| arg.get_id().as_str()).collect();
    for (method, name, _) in WAYS {
        for option in method.defaults(&QsmParameters::default(), Place::Command).keys() {
            assert!(options.contains(option.as_str()), "{name}: {option}");
        }
    }
}

#[test]
fn options_that_a_method_would_ignore_are_refused_by_name() {
    let command = QsmParameters::augment_args(Command::new("x"));
    let users = |option: &str| {
        let arg = command.get_arguments().find(|arg| arg.get_id() == option).unwrap();
        arg.get::<UsedBy>().unwrap().choices.clone()
    };
    assert_eq!(users("kappa"), ["dqsm", "tensor"]);
    assert_eq!(users("compat"), ["dqsm"]);
    for (_, name, _) in WAYS {
        given(&json!({ "method": name })).check().unwrap();
        for (option, value) in [
            ("kappa", json!(0.5)),
            ("compat", json!("dqsm")),
            ("iterations", json!(5)),
            ("tolerance", json!(0.1)),
            ("gradient_tolerance", json!(0.1)),
            ("data", json!("phase")),
            ("strength", json!(0.1)),
        ] {
            let values = json!({ "method": name, option: value });
            if users(option).contains(name) {
                given(&values).check().unwrap();
            } else {
                let error = refused(&values);
                let option = option.replace('_', "-");
                assert!(error.contains(&option) && error.contains(name), "{error}");
            }
        }
    }
}

#[test]
fn a_step_needs_landwebers_iteration() {
    assert!(refused(&json!({ "method": "dqsm", "step": 0.1 })).contains("cgls chooses its own"));
    given(&json!({ "method": "dqsm", "step": 0.1, "solver": "landweber" })).check().unwrap();
    given(&json!({ "step": 0.1, "compat": "dqsm" })).check().unwrap();
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let options = [
        ("kappa", 0.0),
        ("kappa", 1.1),
        ("step", 0.0),
        ("noise", 0.0),
        ("tolerance", -1.0),
        ("gradient_tolerance", -1.0),
        ("fa_threshold", 1.1),
        ("support", 0.0),
        ("iterations", 0.0),
        ("strength", 0.0),
    ];
    for (option, value) in options {
        let method = if option == "strength" { "dtv" } else { "dqsm" };
        let error = refused(&json!({ "method": method, option: value }));
        assert!(error.contains(&option.replace('_', "-")), "{error}");
    }
    for method in ["tkd", "rts", "ilsqr"] {
        let error = refused(&json!({ "method": method, "strength": 0.7 }));
        assert!(error.contains("beyond 2/3"), "{error}");
    }
}

/// What a paper says of a map has its method, its numbers, and every choice that changes the map.
#[test]
fn words_for_a_paper_tell_what_was_chosen() {
    let text = |values: &Value| given(values).resolve(&Place::Command).methods(true).text;
    for (_, name, _) in WAYS {
        let plain = text(&json!({ "method": name }));
        let methods = given(&json!({ "method": name })).resolve(&Place::Command).methods(true);
        assert!(!methods.references.is_empty(), "{name}");
        let changes = [
            ("strength", json!(0.123)),
            ("kappa", json!(0.123)),
            ("fa_threshold", json!(0.123)),
            ("solver", json!("lsmr")),
            ("solver", json!("landweber")),
            ("edges", json!("zero")),
            ("start", json!("tikhonov")),
            ("data", json!("phase")),
            ("outside", json!("nothing")),
            ("compat", json!("dqsm")),
        ];
        for (option, value) in changes {
            let values = json!({ "method": name, option: value });
            if given(&values).check().is_ok() {
                assert_ne!(text(&values), plain, "{name}: {option}");
            }
        }
    }
    let others = WAYS.iter().map(|(_, name, _)| text(&json!({ "method": name })));
    assert_eq!(others.collect::<BTreeSet<_>>().len(), WAYS.len());
}
