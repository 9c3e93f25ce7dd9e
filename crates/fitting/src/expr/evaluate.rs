//! Formulas in f64, one number at a time: the oracle of tapes and kernels.

use super::graph::{Graph, Input, Node, Operation};

impl Graph {
    /// The values of `roots` for these inputs.
    ///
    /// # Panics
    /// Where a formula refers to more inputs than there are.
    pub fn evaluate(
        &self,
        roots: &[Node],
        parameters: &[f64],
        sample: &[f64],
        problem: &[f64],
    ) -> Vec<f64> {
        let mut values: Vec<f64> = Vec::with_capacity(self.operations().len());
        for (operation, needed) in self.operations().iter().zip(self.needed(roots)) {
            let of = |node: Node| values[node.index()];
            let value = match *operation {
                _ if !needed => f64::NAN,
                Operation::Constant(_) => operation.constant().unwrap_or(f64::NAN),
                Operation::Input(Input::Parameter(index)) => parameters[usize::from(index)],
                Operation::Input(Input::Sample(index)) => sample[usize::from(index)],
                Operation::Input(Input::Problem(index)) => problem[usize::from(index)],
                Operation::Unary(function, a) => function.apply(of(a)),
                Operation::Binary(function, a, b) => function.apply(of(a), of(b)),
                Operation::MulAdd(a, b, c) => of(a).mul_add(of(b), of(c)),
                Operation::NegMulAdd(a, b, c) => (-of(a)).mul_add(of(b), of(c)),
                Operation::IfLess(a, b, yes, no) => {
                    if of(a) < of(b) {
                        of(yes)
                    } else {
                        of(no)
                    }
                }
            };
            values.push(value);
        }
        roots.iter().map(|root| values[root.index()]).collect()
    }
}
