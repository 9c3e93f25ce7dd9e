//! Derivatives against differences and closed forms.

use proptest::prelude::*;

use super::random::{formula, inputs, parsed};
use crate::expr::{Graph, Input, Names};

proptest! {
    #[test]
    fn derivatives_are_the_limits_of_differences(text in formula(), at in inputs()) {
        let (graph, roots) = parsed(&text);
        let value = |p: [f64; 3]| graph.evaluate(&roots[..1], &p, &at[3..5], &at[5..])[0];
        let p = [at[0], at[1], at[2]];
        let exact = graph.evaluate(&roots, &p, &at[3..5], &at[5..]);
        for j in 0..3 {
            let central = |h: f64| {
                let (mut up, mut down) = (p, p);
                up[j] += h;
                down[j] -= h;
                (value(up) - value(down)) / (2.0 * h)
            };
            // Richardson; its error is judged by how much halving the step changes it.
            let refined = |h: f64| (4.0 * central(h / 2.0) - central(h)) / 3.0;
            let (coarse, fine) = (refined(1e-3), refined(5e-4));
            let uncertain = 10.0 * (coarse - fine).abs() + 1e-8 * (1.0 + exact[0].abs());
            let error = (exact[j + 1] - fine).abs();
            prop_assert!(error <= uncertain, "d/dp{j} {text}: {} against {fine}", exact[j + 1]);
        }
    }
}

/// d `text` / d D at D, with b = 2 and S0 = 1.5, G = 0.7.
fn derivative_by(parameter: u16, text: &str, d: f64) -> f64 {
    let names = Names { parameters: &["D", "S0", "G"], samples: &["b"], problems: &[] };
    let mut graph = Graph::new();
    let root = graph.parse(text, &names).unwrap();
    let derivative = graph.derivative(root, Input::Parameter(parameter));
    graph.evaluate(&[derivative], &[d, 1.5, 0.7], &[2.0], &[])[0]
}

#[test]
fn closed_forms() {
    for (text, d, expected) in [
        ("S0*exp(-b*D)", 0.6, -3.0 * (-1.2f64).exp()),
        ("D^3", 2.0, 12.0),
        ("1/D", 2.0, -0.25),
        ("sqrt(D)", 4.0, 0.25),
        ("abs(D)", -2.0, -1.0),
        ("abs(D)", 2.0, 1.0),
        ("min(D, 1)", 0.5, 1.0),
        ("min(D, 1)", 1.5, 0.0),
        ("max(D, 1)", 1.5, 1.0),
        ("max(D, 1)", 0.5, 0.0),
        ("tanh(D)", 0.3, 1.0 / 0.3f64.cosh().powi(2)),
        ("sinh(D)", 0.3, 0.3f64.cosh()),
        ("log10(D)", 2.0, 0.5 / 10f64.ln()),
        ("2^D", 1.0, 2.0 * 2f64.ln()),
        ("b*S0", 1.0, 0.0),
    ] {
        let found = derivative_by(0, text, d);
        assert!((found - expected).abs() < 1e-14, "{text} at {d}: {found} for {expected}");
    }
}

/// The stretched exponential at b D = 0: ln 0 and 0 · ∞ lie on the way.
#[test]
fn powers_of_zero_have_the_derivative_zero() {
    assert_eq!(derivative_by(2, "S0*exp(-(b*D)^G)", 0.0), 0.0);
    assert_eq!(derivative_by(0, "S0*exp(-(b*D)^G)", 0.0), 0.0);
    assert_eq!(derivative_by(1, "S0*exp(-(b*D)^G)", 0.0), 1.0);
}
