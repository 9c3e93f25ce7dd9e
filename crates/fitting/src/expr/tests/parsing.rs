//! Precedence, names, limits and messages of the parser.

use proptest::prelude::*;

use crate::expr::{Graph, MAX_DEPTH, MAX_NODES, Names, ParseErrorKind};

const NAMES: Names<'_> =
    Names { parameters: &["S0", "D", "C"], samples: &["b", "gx"], problems: &["sigma"] };

/// With S0 = 2, D = 3, C = 5, b = 7, gx = 11, sigma = 13.
fn value(text: &str) -> f64 {
    let mut graph = Graph::new();
    let root = graph.parse(text, &NAMES).unwrap_or_else(|e| panic!("{text}: {e}"));
    graph.evaluate(&[root], &[2.0, 3.0, 5.0], &[7.0, 11.0], &[13.0])[0]
}

fn message(text: &str) -> String {
    Graph::new().parse(text, &NAMES).unwrap_err().to_string()
}

#[test]
fn operators_bind_as_usual() {
    for (text, expected) in [
        ("1+2*3", 7.0),
        ("(1+2)*3", 9.0),
        ("10-4-3", 3.0),
        ("24/4/3", 2.0),
        ("2^3^2", 512.0),
        ("2**3**2", 512.0),
        ("-2^2", -4.0),
        ("2^-1", 0.5),
        ("2*-3", -6.0),
        ("--3", 3.0),
        ("+-+3", -3.0),
        ("2--3", 5.0),
        ("-b*D", -21.0),
        ("1.5e2 + .5E-1 + 2.", 152.05),
        (" S0 *\texp( 0 )\n", 2.0),
        ("S0*D+C*b", 41.0),
        ("sigma - gx", 2.0),
        ("2 · 3 − 1", 5.0),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn functions_are_those_of_mathematics() {
    for (text, expected) in [
        ("exp(1)", std::f64::consts::E),
        ("ln(exp(2))", 2.0),
        ("log(exp(2))", 2.0),
        ("log10(1000)", 3.0),
        ("sqrt(b+2)", 3.0),
        ("abs(-D)", 3.0),
        ("sin(pi/2)", 1.0),
        ("cos(π)", -1.0),
        ("tan(pi/4)", 1.0),
        ("sinh(D)", 3f64.sinh()),
        ("cosh(D)", 3f64.cosh()),
        ("tanh(D)", 3f64.tanh()),
        ("tanh(100*D)", 1.0),
        ("tanh(-100*D)", -1.0),
        ("min(D, C)", 3.0),
        ("max(D, C)", 5.0),
        ("pow(b, 2)", 49.0),
        ("D^0.5", 3f64.sqrt()),
        ("D^-0.5", 1.0 / 3f64.sqrt()),
        ("D^D", 27.0),
        ("D^2.5", 3f64.powf(2.5)),
        ("(D-3)^S0", 0.0),
        ("(-D)^3", -27.0),
        ("D^0", 1.0),
        ("D^64/D^63", 3.0),
        ("D^-3", 1.0 / 27.0),
    ] {
        let found = value(text);
        // Powers and hyperbolic functions are several roundings of f64.
        assert!((found - expected).abs() <= 1e-14 * expected.abs().max(1.0), "{text}: {found}");
    }
}

#[test]
fn errors_name_the_column_and_what_was_meant() {
    for (text, expected) in [
        ("", "the formula is empty: expected a number, a name or a parenthesis at column 1"),
        ("S0*exp(-b*D", "expected an operator or ')', found the end at column 12"),
        ("S0**", "expected a number, a name or '(', found the end at column 5"),
        ("S0 D", "expected an operator or the end, found 'D' at column 4"),
        ("2exp(D)", "expected an operator or the end, found 'exp' at column 2"),
        ("S0*exp(-b*D))", "expected an operator or the end, found ')' at column 13"),
        ("S0*", "expected a number, a name or '(', found the end at column 4"),
        ("b*+*D", "expected a number, a name or '(', found '*' at column 4"),
        ("S1*b", "unknown name 'S1'; did you mean 'S0'? at column 1"),
        ("b*d", "unknown name 'd'; did you mean 'D'? at column 3"),
        ("1+sgma", "unknown name 'sgma'; did you mean 'sigma'? at column 3"),
        (
            "b*kurtosis",
            "unknown name 'kurtosis' (known: 'S0', 'D', 'C', 'b', 'gx', 'sigma', 'pi') at column 3",
        ),
        ("S0*Exp(-b)", "unknown function 'Exp'; did you mean 'exp'? at column 4"),
        ("exp*2", "'exp' is a function: write exp(...) at column 1"),
        ("min(1)", "min takes 2 arguments, not 1 at column 1"),
        ("exp()", "exp takes 1 argument, not 0 at column 1"),
        ("µ+$", "unknown name 'µ'"),
        ("S0 + $", "unexpected character '$' at column 6"),
        ("1e999", "\"1e999\" is no finite number at column 1"),
        ("D + .", "\".\" is no finite number at column 5"),
    ] {
        let found = message(text);
        assert!(found.starts_with(expected), "{text}: {found}");
    }
}

#[test]
fn columns_count_characters_not_bytes() {
    assert!(message("π*π + X").ends_with("at column 7"));
}

#[test]
fn nesting_is_limited_before_the_stack_is() {
    let nested = |n: usize| format!("{}1{}", "(".repeat(n), ")".repeat(n));
    assert!(Graph::new().parse(&nested(MAX_DEPTH - 1), &NAMES).is_ok());
    for text in [nested(30_000), "2^".repeat(30_000) + "1", "exp(".repeat(15_000)] {
        let error = Graph::new().parse(&text, &NAMES).unwrap_err();
        assert_eq!(error.kind, ParseErrorKind::TooDeep);
    }
    // Signs do not nest.
    assert_eq!(value(&("-".repeat(60_000) + "1")), 1.0);
}

#[test]
fn size_is_limited() {
    let sum: String = (0..MAX_NODES).map(|i| format!("+{i}*D")).collect();
    let error = Graph::new().parse(&sum, &NAMES).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::TooLarge);
    let long = "1+".repeat(40_000) + "1";
    let error = Graph::new().parse(&long, &NAMES).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::TooLong(80_001));
}

#[test]
fn equal_parts_are_shared_and_constants_folded() {
    let mut graph = Graph::new();
    let whole = graph.parse("exp(b*D)*C + C*exp(D*b) + (2*3 - 6)", &NAMES).unwrap();
    let needed = graph.needed(&[whole]).iter().filter(|needed| **needed).count();
    // b, D, C, b D, exp, C exp, the sum.
    assert_eq!(needed, 7, "{graph:?}");
    let mut other = Graph::new();
    let root = other.parse("D*1 + 0*b", &NAMES).unwrap();
    assert_eq!(other.evaluate(&[root], &[0.0, 4.0], &[f64::NAN], &[]), [4.0]);
}

proptest! {
    #[test]
    fn any_text_is_a_formula_or_an_error(text in "[-+*/^(),.0-9 a-zSDCbexp_]{0,60}") {
        match Graph::new().parse(&text, &NAMES) {
            Ok(_) => {}
            Err(error) => {
                prop_assert!(error.column >= 1 && error.column <= text.chars().count() + 1);
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
