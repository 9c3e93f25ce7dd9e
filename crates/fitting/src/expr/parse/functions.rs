//! The functions a formula may call.

use crate::expr::graph::{Binary, Graph, Node, Unary};

/// Name, number of arguments and meaning of every function.
pub const FUNCTIONS: &[(&str, usize, &str)] = &[
    ("exp", 1, "eˣ"),
    ("ln", 1, "natural logarithm"),
    ("log", 1, "natural logarithm"),
    ("log10", 1, "logarithm to base 10"),
    ("sqrt", 1, "square root"),
    ("abs", 1, "magnitude"),
    ("sin", 1, "sine, radians"),
    ("cos", 1, "cosine, radians"),
    ("tan", 1, "tangent, radians"),
    ("atan", 1, "arctangent, radians"),
    ("sinh", 1, "hyperbolic sine"),
    ("cosh", 1, "hyperbolic cosine"),
    ("tanh", 1, "hyperbolic tangent"),
    ("min", 2, "the smaller"),
    ("max", 2, "the larger"),
    ("pow", 2, "power"),
];

/// The number of arguments of the function `name`.
pub(super) fn arity(name: &str) -> Option<usize> {
    FUNCTIONS.iter().find(|(known, ..)| *known == name).map(|(_, arity, _)| *arity)
}

/// The node of `name` of `arguments`; `None` for another name or number of arguments.
pub(super) fn call(graph: &mut Graph, name: &str, arguments: &[Node]) -> Option<Node> {
    Some(match (name, arguments) {
        ("exp", &[x]) => graph.unary(Unary::Exp, x),
        ("ln" | "log", &[x]) => graph.unary(Unary::Ln, x),
        ("log10", &[x]) => {
            let log = graph.unary(Unary::Ln, x);
            let unit = graph.constant(std::f64::consts::LOG10_E);
            graph.mul(log, unit)
        }
        ("sqrt", &[x]) => graph.unary(Unary::Sqrt, x),
        ("abs", &[x]) => graph.unary(Unary::Abs, x),
        ("sin", &[x]) => graph.unary(Unary::Sin, x),
        ("cos", &[x]) => graph.unary(Unary::Cos, x),
        ("tan", &[x]) => {
            let (sine, cosine) = (graph.unary(Unary::Sin, x), graph.unary(Unary::Cos, x));
            graph.div(sine, cosine)
        }
        ("atan", &[x]) => graph.unary(Unary::Atan, x),
        ("sinh", &[x]) => hyperbolic(graph, x, Binary::Sub),
        ("cosh", &[x]) => hyperbolic(graph, x, Binary::Add),
        ("tanh", &[x]) => tanh(graph, x),
        ("min", &[a, b]) => graph.binary(Binary::Min, a, b),
        ("max", &[a, b]) => graph.binary(Binary::Max, a, b),
        ("pow", &[a, b]) => graph.pow(a, b),
        _ => return None,
    })
}

/// (eˣ ± e⁻ˣ) / 2
fn hyperbolic(graph: &mut Graph, x: Node, sign: Binary) -> Node {
    let negative = graph.neg(x);
    let (up, down) = (graph.unary(Unary::Exp, x), graph.unary(Unary::Exp, negative));
    let both = graph.binary(sign, up, down);
    let half = graph.constant(0.5);
    graph.mul(both, half)
}

/// 1 - 2 / (e²ˣ + 1), which overflows nowhere.
fn tanh(graph: &mut Graph, x: Node) -> Node {
    let (one, two) = (graph.constant(1.0), graph.constant(2.0));
    let twice = graph.mul(two, x);
    let power = graph.unary(Unary::Exp, twice);
    let below = graph.add(power, one);
    let part = graph.div(two, below);
    graph.sub(one, part)
}
