//! Products that are only added become fused multiply-adds.

use super::graph::{Binary, Graph, Node, Operation, Unary};

impl Graph {
    /// The same formulas with `a b + c` and `c - a b` rounded once wherever the product has no
    /// other use, and nothing besides; the new graph and its `roots`.
    ///
    /// For formulas in which the order of operations was nobody's choice: half the instructions of
    /// a sum of products, and a rounding less in each.
    pub fn fused(&self, roots: &[Node]) -> (Self, Vec<Node>) {
        let needed = self.needed(roots);
        let mut uses = vec![0_u32; self.operations().len()];
        for root in roots {
            uses[root.index()] += 1;
        }
        for (operation, _) in self.operations().iter().zip(&needed).filter(|(_, needed)| **needed) {
            operation.operands().for_each(|operand| uses[operand.index()] += 1);
        }
        let product = |node: Node| match self.operation(node) {
            Operation::Binary(Binary::Mul, a, b) if uses[node.index()] == 1 => Some((a, b)),
            _ => None,
        };
        let negated = |node: Node| match self.operation(node) {
            Operation::Unary(Unary::Neg, a) if uses[node.index()] == 1 => product(a),
            _ => None,
        };

        let mut fused = Self::new();
        // Nodes that nothing needs keep a place that nobody looks at.
        let mut of = vec![Self::node_at(0); self.operations().len()];
        for (index, operation) in self.operations().iter().enumerate() {
            if !needed[index] {
                continue;
            }
            let new = |node: Node| of[node.index()];
            of[index] = match *operation {
                Operation::Binary(Binary::Add, a, b) => {
                    if let Some((x, y)) = product(a) {
                        fused.mul_add(new(x), new(y), new(b))
                    } else if let Some((x, y)) = product(b) {
                        fused.mul_add(new(x), new(y), new(a))
                    } else if let Some((x, y)) = negated(a) {
                        fused.neg_mul_add(new(x), new(y), new(b))
                    } else if let Some((x, y)) = negated(b) {
                        fused.neg_mul_add(new(x), new(y), new(a))
                    } else {
                        fused.add(new(a), new(b))
                    }
                }
                Operation::Binary(Binary::Sub, a, b) => match (product(b), negated(b)) {
                    (Some((x, y)), _) => fused.neg_mul_add(new(x), new(y), new(a)),
                    (_, Some((x, y))) => fused.mul_add(new(x), new(y), new(a)),
                    _ => fused.sub(new(a), new(b)),
                },
                other => fused.intern(other.with_operands(new)),
            };
        }
        let roots = roots.iter().map(|root| of[root.index()]).collect();
        (fused, roots)
    }
}
