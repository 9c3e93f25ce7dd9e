//! Random formulas of three parameters `p q r`, two sample inputs `s t` and a problem constant `k`,
//! smooth and of moderate size for inputs between 0.2 and 2.

use proptest::prelude::*;

use crate::expr::{Graph, Names, Node};

pub(super) const NAMES: Names<'_> =
    Names { parameters: &["p", "q", "r"], samples: &["s", "t"], problems: &["k"] };

/// Text of a formula whose value stays within a few orders of magnitude of one.
pub(super) fn formula() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("p".to_owned()),
        Just("q".to_owned()),
        Just("r".to_owned()),
        Just("s".to_owned()),
        Just("t".to_owned()),
        Just("k".to_owned()),
        (0.2..2.0_f64).prop_map(|x| format!("{x:.3}")),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} + {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} - {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("sin({a} * {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} / (1 + {b}^2)")),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| format!("(1 + ({a})^2)^(cos({b}) / 2)")),
            inner.clone().prop_map(|a| format!("exp(-({a})^2)")),
            inner.clone().prop_map(|a| format!("ln(1 + ({a})^2)")),
            inner.clone().prop_map(|a| format!("sqrt(1 + ({a})^2)")),
            inner.clone().prop_map(|a| format!("cos({a})")),
            (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| format!("({a}*{b} + {c})")),
        ]
    })
}

/// Inputs `p q r`, `s t`, `k`.
pub(super) fn inputs() -> impl Strategy<Value = [f64; 6]> {
    proptest::array::uniform6(0.2..2.0_f64)
}

/// The formula and its three derivatives.
pub(super) fn parsed(text: &str) -> (Graph, Vec<Node>) {
    use crate::expr::Input;
    let mut graph = Graph::new();
    let value = graph.parse(text, &NAMES).unwrap_or_else(|e| panic!("{text}: {e}"));
    let mut roots = vec![value];
    roots.extend(graph.derivatives(value, &[0, 1, 2].map(Input::Parameter)));
    (graph, roots)
}
