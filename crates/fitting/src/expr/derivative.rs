//! Partial derivatives on the graph, by the rules dual numbers follow.

use std::collections::HashMap;

use super::graph::{Binary, Graph, Input, Node, Operation, Unary};

impl Graph {
    /// ∂`root`/∂`with_respect_to` for each of the inputs.
    ///
    /// Rules are those of `lm::Dual` in the same order of operations, so that both give the same
    /// bits. At kinks (`abs`, `min`, `max`) it is the derivative of the branch that is taken; a
    /// power of zero, and with it an exponential of -∞, has the derivative zero.
    pub fn derivatives(&mut self, root: Node, with_respect_to: &[Input]) -> Vec<Node> {
        with_respect_to.iter().map(|&input| self.derivative(root, input)).collect()
    }

    /// ∂`root`/∂`input`; see [`derivatives`](Self::derivatives).
    pub fn derivative(&mut self, root: Node, input: Input) -> Node {
        // In the order of operations, not by recursion: formulas may be deep.
        let needed = self.needed(&[root]);
        let mut of: HashMap<Node, Node> = HashMap::new();
        let zero = self.constant(0.0);
        for (index, _) in needed.iter().enumerate().filter(|(_, needed)| **needed) {
            let node = Self::node_at(index);
            let operation = self.operation(node);
            let d = |node: Node| of.get(&node).copied().unwrap_or(zero);
            let depends = operation.operands().any(|operand| d(operand) != zero);
            let derivative = match operation {
                Operation::Input(found) if found == input => self.constant(1.0),
                _ if !depends => continue,
                Operation::Constant(_) | Operation::Input(_) => continue,
                Operation::Unary(function, a) => self.of_unary(function, node, a, d(a)),
                Operation::Binary(function, a, b) => {
                    self.of_binary(function, node, [a, b], [d(a), d(b)])
                }
                Operation::MulAdd(a, b, c) => {
                    let inner = self.mul_add(a, d(b), d(c));
                    self.mul_add(d(a), b, inner)
                }
                Operation::NegMulAdd(a, b, c) => {
                    let inner = self.neg_mul_add(a, d(b), d(c));
                    self.neg_mul_add(d(a), b, inner)
                }
                Operation::IfLess(a, b, yes, no) => self.if_less(a, b, d(yes), d(no)),
            };
            of.insert(node, derivative);
        }
        of.get(&root).copied().unwrap_or(zero)
    }

    /// Of `node` = function(a), where a changes at the rate `da`.
    fn of_unary(&mut self, function: Unary, node: Node, a: Node, da: Node) -> Node {
        match function {
            Unary::Neg => self.neg(da),
            Unary::Exp => {
                let slope = self.mul(node, da);
                if self.is_power(a) {
                    let zero = self.constant(0.0);
                    self.if_less(zero, node, slope, zero)
                } else {
                    slope
                }
            }
            Unary::Ln => {
                let one = self.constant(1.0);
                let over = self.div(one, a);
                self.mul(da, over)
            }
            Unary::Sqrt => {
                let half = self.constant(0.5);
                let over = self.div(half, node);
                self.mul(over, da)
            }
            Unary::Abs => {
                let zero = self.constant(0.0);
                let negative = self.neg(da);
                self.if_less(a, zero, negative, da)
            }
            Unary::Sin => {
                let cosine = self.unary(Unary::Cos, a);
                self.mul(cosine, da)
            }
            Unary::Cos => {
                let sine = self.unary(Unary::Sin, a);
                let negative = self.neg(sine);
                self.mul(negative, da)
            }
            Unary::Atan => {
                let one = self.constant(1.0);
                let below = self.mul_add(a, a, one);
                let over = self.div(one, below);
                self.mul(over, da)
            }
        }
    }

    /// Of `node` = function(a, b), where a and b change at the rates `da` and `db`.
    fn of_binary(&mut self, f: Binary, node: Node, [a, b]: [Node; 2], [da, db]: [Node; 2]) -> Node {
        match f {
            Binary::Add => self.add(da, db),
            Binary::Sub => self.sub(da, db),
            Binary::Mul => {
                let second = self.mul(a, db);
                self.mul_add(da, b, second)
            }
            Binary::Div => {
                let one = self.constant(1.0);
                let inverse = self.div(one, b);
                let above = self.neg_mul_add(node, db, da);
                self.mul(above, inverse)
            }
            Binary::Min => self.if_less(a, b, da, db),
            Binary::Max => self.if_less(b, a, da, db),
        }
    }

    /// True for the exponent · ln(base) that [`Graph::pow`] takes the exponential of.
    fn is_power(&self, node: Node) -> bool {
        let is_log = |node: Node| matches!(self.operation(node), Operation::Unary(Unary::Ln, _));
        match self.operation(node) {
            Operation::Binary(Binary::Mul, a, b) => is_log(a) || is_log(b),
            other => is_log(node) || matches!(other, Operation::Unary(Unary::Neg, a) if is_log(a)),
        }
    }
}
