//! Writes products of a symmetric tensor with a vector as straight lines of multiply-adds, in Rust
//! (when the crate is built) and in the kernel dialect (when a kernel is).
//!
//! Both languages are given the same operations in the same order, and so give the same bits.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// A language to write in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Rust,
    Kernel,
}

impl Language {
    /// `w * a[entry] + sum`, rounded once.
    fn multiply_add(self, w: &str, entry: usize, sum: &str) -> String {
        match self {
            Self::Rust => format!("{w}.mul_add(a[{entry}], {sum})"),
            Self::Kernel => format!("FMA({w}, a[{entry}], {sum})"),
        }
    }

    /// A new variable.
    fn define(self, name: &str, value: &str) -> String {
        match self {
            Self::Rust => format!("        let {name} = {value};\n"),
            Self::Kernel => format!("    f32 {name} = {value};\n"),
        }
    }

    /// The small whole number `n` in single precision.
    fn number(self, n: u64) -> String {
        match self {
            Self::Rust => format!("{n}.0"),
            Self::Kernel => format!("{n}.0f"),
        }
    }
}

/// Straight lines being written, and what they cost.
struct Body {
    language: Language,
    text: String,
    flops: usize,
    /// Products of x that have a variable.
    made: HashSet<String>,
}

/// The index classes of order `m` and dimension `n`: non-decreasing indices, lexicographic.
fn index_classes(m: usize, n: usize) -> Vec<Vec<usize>> {
    let mut classes = vec![Vec::new()];
    for _ in 0..m {
        classes = classes
            .into_iter()
            .flat_map(|class| {
                let last = class.last().copied().unwrap_or(0);
                (last..n).map(move |i| class.iter().copied().chain([i]).collect())
            })
            .collect();
    }
    classes
}

/// How many tensor indices an index class stands for.
fn multiplicity(class: &[usize]) -> u64 {
    let (mut count, mut run) = (1, 0);
    for (k, index) in class.iter().enumerate() {
        run = if k > 0 && class[k - 1] == *index { run + 1 } else { 1 };
        // Exact at every step: the multinomial coefficient of the first k + 1 indices.
        count = count * (k as u64 + 1) / run;
    }
    count
}

/// The place of the class with these indices, in any order.
fn place(classes: &HashMap<Vec<usize>, usize>, indices: impl Iterator<Item = usize>) -> usize {
    let mut class: Vec<usize> = indices.collect();
    class.sort_unstable();
    classes[&class]
}

fn places(m: usize, n: usize) -> HashMap<Vec<usize>, usize> {
    index_classes(m, n).into_iter().zip(0..).collect()
}

impl Body {
    fn new(language: Language) -> Self {
        Self { language, text: String::new(), flops: 0, made: HashSet::new() }
    }

    fn line(&mut self, name: &str, value: &str, flops: usize) {
        let line = self.language.define(name, value);
        self.text.push_str(&line);
        self.flops += flops;
    }

    /// The variable that holds the product of the x of `class`, made from products of half as many.
    fn monomial(&mut self, class: &[usize]) -> String {
        let digits: String = class.iter().map(|i| format!("{i}")).collect();
        if class.len() == 1 {
            return format!("x{digits}");
        }
        let name = format!("m{digits}");
        if self.made.insert(name.clone()) {
            let (left, right) = class.split_at(class.len() / 2);
            let product = format!("{} * {}", self.monomial(left), self.monomial(right));
            self.line(&name, &product, 1);
        }
        name
    }

    /// `sum = w * a[entry] + sum`, the first time `sum = w * a[entry]`.
    fn accumulate(&mut self, sum: &str, first: bool, w: &str, entry: usize) {
        let (value, flops) = if first {
            (format!("{w} * a[{entry}]"), 1)
        } else {
            (self.language.multiply_add(w, entry, sum), 2)
        };
        if first || self.language == Language::Rust {
            self.line(sum, &value, flops);
        } else {
            let _ = writeln!(self.text, "    {sum} = {value};");
            self.flops += flops;
        }
    }

    /// B = A x^(m-2), its unique entries b0, b1 …: every weighted monomial is made once and used
    /// by all of them.
    fn contraction(&mut self, m: usize, n: usize) {
        let entries = places(m, n);
        let pairs = index_classes(2, n);
        for (k, class) in index_classes(m - 2, n).iter().enumerate() {
            let mut weighted =
                if class.is_empty() { self.language.number(1) } else { self.monomial(class) };
            let count = multiplicity(class);
            if count > 1 {
                let name = format!("w{k}");
                let value = format!("{weighted} * {}", self.language.number(count));
                self.line(&name, &value, 1);
                weighted = name;
            }
            for (b, pair) in pairs.iter().enumerate() {
                let entry = place(&entries, class.iter().chain(pair).copied());
                self.accumulate(&format!("b{b}"), k == 0, &weighted, entry);
            }
        }
    }

    /// One sum as the paper unrolls it: every term multiplies its x anew.
    fn plain_sum(&mut self, sum: &str, m: usize, n: usize, component: Option<usize>) {
        let entries = places(m, n);
        let degree = m - usize::from(component.is_some());
        for (k, class) in index_classes(degree, n).iter().enumerate() {
            let mut factors: Vec<String> = class.iter().map(|i| format!("x{i}")).collect();
            let count = multiplicity(class);
            if count > 1 {
                factors.push(self.language.number(count));
            }
            let term = format!("{sum}t{k}");
            self.line(&term, &factors.join(" * "), factors.len() - 1);
            let entry = place(&entries, class.iter().copied().chain(component));
            self.accumulate(sum, k == 0, &term, entry);
        }
    }
}

/// The trait's implementations for dimension 3 and the given orders.
#[allow(dead_code)] // the build script's part
pub(crate) fn rust_forms(orders: &[usize]) -> String {
    let mut text = String::new();
    for &m in orders {
        let [mut shared, mut value, mut vector] = [0; 3].map(|_| Body::new(Language::Rust));
        shared.contraction(m, 3);
        value.plain_sum("y", m, 3, None);
        for i in 0..3 {
            vector.plain_sum(&format!("y{i}"), m, 3, Some(i));
        }
        let count = index_classes(m, 3).len();
        let open = format!("        let a = &a[..{count}];\n        let [x0, x1, x2] = *x;\n");
        let _ = write!(
            text,
            "/// Order {m}.\n\
             #[derive(Clone, Copy, Debug)]\n\
             pub struct Order{m};\n\n\
             impl Form for Order{m} {{\n    \
             type Of<T: Copy> = [T; {count}];\n    \
             const ORDER: usize = {m};\n    \
             const ENTRIES: usize = {count};\n    \
             const CONTRACTION_FLOPS: usize = {};\n    \
             const PLAIN_FLOPS: usize = {};\n\n    \
             #[inline(always)]\n    \
             fn all<T: Copy>(x: T) -> [T; {count}] {{\n        [x; {count}]\n    }}\n\n    \
             #[inline(always)]\n    \
             fn contract<R: Real>(a: &[R], x: &[R; 3]) -> [R; 6] {{\n{open}{}        \
             [b0, b1, b2, b3, b4, b5]\n    }}\n\n    \
             #[inline(always)]\n    \
             #[allow(clippy::let_and_return)]\n    \
             fn plain_value<R: Real>(a: &[R], x: &[R; 3]) -> R {{\n{open}{}        y\n    }}\n\n    \
             #[inline(always)]\n    \
             fn plain_vector<R: Real>(a: &[R], x: &[R; 3]) -> [R; 3] {{\n{open}{}        \
             [y0, y1, y2]\n    }}\n}}\n\n",
            shared.flops,
            value.flops + vector.flops,
            shared.text,
            value.text,
            vector.text,
        );
    }
    text
}
/// Kernel functions for order `m`, dimension `n`, with the tensor in local memory:
/// `contract(a, x, b)`, B = A x^(m-2) with shared products (`m` at least 2), and the paper's
/// `plain_value(a, x)` and `plain_vector(a, x, y)`.
pub fn kernel_functions(m: usize, n: usize) -> String {
    let [mut shared, mut value, mut vector] = [0; 3].map(|_| Body::new(Language::Kernel));
    shared.contraction(m, n);
    value.plain_sum("y", m, n, None);
    let (mut pairs, mut components) = (String::new(), String::new());
    for i in 0..n {
        vector.plain_sum(&format!("y{i}"), m, n, Some(i));
        let _ = writeln!(components, "    out[{i}] = y{i};");
    }
    for b in 0..n * (n + 1) / 2 {
        let _ = writeln!(pairs, "    out[{b}] = b{b};");
    }
    let mut open = String::new();
    for i in 0..n {
        let _ = writeln!(open, "    f32 x{i} = x[{i}];");
    }
    format!(
        "DEVICE_FN void contract(LOCAL_PTR const f32 *a, const f32 *x, f32 *out) {{\n{open}{}{pairs}}}\n\
         DEVICE_FN f32 plain_value(LOCAL_PTR const f32 *a, const f32 *x) {{\n{open}{}    return y;\n}}\n\
         DEVICE_FN void plain_vector(LOCAL_PTR const f32 *a, const f32 *x, f32 *out) {{\n{open}{}{components}}}\n",
        shared.text, value.text, vector.text,
    )
}

/// Flops of the kernel functions of one shape: of `contract`, and of both plain ones together.
pub fn kernel_flops(m: usize, n: usize) -> (usize, usize) {
    let [mut shared, mut plain] = [0; 2].map(|_| Body::new(Language::Kernel));
    shared.contraction(m, n);
    plain.plain_sum("y", m, n, None);
    for i in 0..n {
        plain.plain_sum(&format!("y{i}"), m, n, Some(i));
    }
    (shared.flops, plain.flops)
}
