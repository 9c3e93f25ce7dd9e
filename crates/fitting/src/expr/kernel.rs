//! Formulas as a function in the kernel dialect.

use std::fmt::Write as _;

use super::graph::{Binary, Input, Node, Operation, Unary};
use super::stage::{Stage, Staged};

/// The type a kernel computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// `f32`, with the dialect's own functions: the bits of the CPU's lanes.
    Single,
    /// `f64`, with the runtime's functions.
    Double,
}

/// A kernel's function
///
/// ```text
/// DEVICE_FN REAL name(const REAL *p, const REAL *k, GLOBAL const REAL *s, REAL *d)
/// ```
///
/// of parameters `p`, problem constants `k` and a row `s` of the [table](Staged::table), which
/// returns the first formula and leaves the others in `d`. What does not depend on the sample
/// stands first, for the compiler to take out of a loop over samples. `REAL` is `f32` or `f64`;
/// the text needs [`math::KERNEL_TEXT`](fimbria_compute::math::KERNEL_TEXT) before it.
pub fn kernel_text(name: &str, staged: &Staged, precision: Precision) -> String {
    let real = precision.name();
    let mut text = format!(
        "DEVICE_FN {real} {name}(const {real} *p, const {real} *k, GLOBAL const {real} *s, \
         {real} *d) {{\n"
    );
    for (column, node) in staged.columns().iter().enumerate() {
        let _ = writeln!(text, "    {real} t{} = s[{column}];", node.index());
    }
    for stage in [Stage::Constant, Stage::PerProblem, Stage::Both] {
        for (node, operation) in staged.nodes(stage) {
            let value = precision.expression(operation);
            let _ = writeln!(text, "    {real} t{} = {value};", node.index());
        }
    }
    let mut roots = staged.roots().iter();
    let first = roots.next();
    for (index, root) in roots.enumerate() {
        let _ = writeln!(text, "    d[{index}] = t{};", root.index());
    }
    if let Some(first) = first {
        let _ = writeln!(text, "    return t{};", first.index());
    }
    text.push_str("}\n");
    text
}

impl Precision {
    /// The type's name in the dialect.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "f32",
            Self::Double => "f64",
        }
    }

    /// A number, exactly.
    pub(crate) fn literal(self, value: f64) -> String {
        let rounded = if self == Self::Single { f64::from(value as f32) } else { value };
        let suffix = if self == Self::Single { "f" } else { "" };
        if rounded.is_nan() {
            "FB_NAN".to_owned()
        } else if rounded.is_infinite() {
            if rounded > 0.0 { "FB_INFINITY".to_owned() } else { "(-FB_INFINITY)".to_owned() }
        } else if self == Self::Single {
            // The shortest decimal that reads back as this f32.
            format!("({:e}{suffix})", value as f32)
        } else {
            format!("({value:e}{suffix})")
        }
    }

    fn expression(self, operation: Operation) -> String {
        let t = |node: Node| format!("t{}", node.index());
        let single = self == Self::Single;
        match operation {
            Operation::Constant(_) => self.literal(operation.constant().unwrap_or(f64::NAN)),
            Operation::Input(Input::Parameter(index)) => format!("p[{index}]"),
            Operation::Input(Input::Problem(index)) => format!("k[{index}]"),
            Operation::Input(Input::Sample(index)) => format!("s[{index}]"),
            Operation::Unary(function, a) => {
                let a = t(a);
                let name = match function {
                    Unary::Neg => return format!("-{a}"),
                    Unary::Exp => ["fb_exp", "exp"],
                    Unary::Ln => ["fb_ln", "log"],
                    Unary::Sqrt => ["fb_sqrt", "sqrt"],
                    Unary::Abs => ["fb_abs", "fabs"],
                    Unary::Sin => ["fb_sin", "sin"],
                    Unary::Cos => ["fb_cos", "cos"],
                    Unary::Atan if single => return format!("fb_atan2({a}, 1.0f)"),
                    Unary::Atan => ["", "atan"],
                };
                format!("{}({a})", name[usize::from(!single)])
            }
            Operation::Binary(function, a, b) => {
                let (a, b) = (t(a), t(b));
                match function {
                    Binary::Add => format!("{a} + {b}"),
                    Binary::Sub => format!("{a} - {b}"),
                    Binary::Mul => format!("{a} * {b}"),
                    Binary::Div if single => format!("fb_div({a}, {b})"),
                    Binary::Div => format!("{a} / {b}"),
                    Binary::Min => format!("{a} < {b} ? {a} : {b}"),
                    Binary::Max => format!("{a} > {b} ? {a} : {b}"),
                }
            }
            Operation::MulAdd(a, b, c) => {
                format!("{}({}, {}, {})", self.fma(), t(a), t(b), t(c))
            }
            Operation::NegMulAdd(a, b, c) => {
                format!("{}(-{}, {}, {})", self.fma(), t(a), t(b), t(c))
            }
            Operation::IfLess(a, b, yes, no) => {
                format!("{} < {} ? {} : {}", t(a), t(b), t(yes), t(no))
            }
        }
    }

    fn fma(self) -> &'static str {
        if self == Self::Single { "FMA" } else { "fma" }
    }
}
