//! Operations in the order they can be done, each stored once.

use std::collections::HashMap;

/// The result of one operation of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(u32);

impl Node {
    /// Its place in [`Graph::operations`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a formula is evaluated on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// What is fitted, by number.
    Parameter(u16),
    /// What differs from sample to sample and is the same for all problems: b, a direction.
    Sample(u16),
    /// What differs from problem to problem and is the same for all samples: a noise level.
    Problem(u16),
}

/// Functions of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// -x
    Neg,
    /// eˣ
    Exp,
    /// The natural logarithm.
    Ln,
    /// The square root.
    Sqrt,
    /// The magnitude.
    Abs,
    /// The sine of an angle in radians.
    Sin,
    /// The cosine of an angle in radians.
    Cos,
    /// The angle in radians whose tangent it is.
    Atan,
}

/// Functions of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// a + b
    Add,
    /// a - b
    Sub,
    /// a b
    Mul,
    /// a / b
    Div,
    /// `a < b ? a : b`
    Min,
    /// `a > b ? a : b`
    Max,
}

/// A constant by its bits, so that equal ones are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConstantBits(u64);

/// How a node comes about; the nodes it names are earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A number.
    Constant(ConstantBits),
    /// A number given at evaluation.
    Input(Input),
    /// A function of one node.
    Unary(Unary, Node),
    /// A function of two nodes.
    Binary(Binary, Node, Node),
    /// `a b + c`, rounded once.
    MulAdd(Node, Node, Node),
    /// `c - a b`, rounded once.
    NegMulAdd(Node, Node, Node),
    /// `a < b ? c : d`
    IfLess(Node, Node, Node, Node),
}

impl Operation {
    /// The constant, if it is one.
    pub fn constant(self) -> Option<f64> {
        match self {
            Self::Constant(bits) => Some(f64::from_bits(bits.0)),
            _ => None,
        }
    }

    /// The nodes it is computed from.
    pub fn operands(self) -> impl Iterator<Item = Node> {
        let operands = match self {
            Self::Constant(_) | Self::Input(_) => [None; 4],
            Self::Unary(_, a) => [Some(a), None, None, None],
            Self::Binary(_, a, b) => [Some(a), Some(b), None, None],
            Self::MulAdd(a, b, c) | Self::NegMulAdd(a, b, c) => [Some(a), Some(b), Some(c), None],
            Self::IfLess(a, b, c, d) => [Some(a), Some(b), Some(c), Some(d)],
        };
        operands.into_iter().flatten()
    }

    /// The same operation on other nodes.
    pub(super) fn with_operands(self, of: impl Fn(Node) -> Node) -> Self {
        match self {
            Self::Constant(_) | Self::Input(_) => self,
            Self::Unary(function, a) => Self::Unary(function, of(a)),
            Self::Binary(function, a, b) => Self::Binary(function, of(a), of(b)),
            Self::MulAdd(a, b, c) => Self::MulAdd(of(a), of(b), of(c)),
            Self::NegMulAdd(a, b, c) => Self::NegMulAdd(of(a), of(b), of(c)),
            Self::IfLess(a, b, c, d) => Self::IfLess(of(a), of(b), of(c), of(d)),
        }
    }
}

/// Operations in the order they can be done. Making one that is already there gives the node that
/// is there, so that common subexpressions are shared.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    operations: Vec<Operation>,
    known: HashMap<Operation, Node>,
}

impl Graph {
    /// No operations.
    pub fn new() -> Self {
        Self::default()
    }

    /// All operations; each uses earlier ones only.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// How `node` comes about.
    ///
    /// # Panics
    /// For a node of another, larger graph.
    pub fn operation(&self, node: Node) -> Operation {
        self.operations[node.index()]
    }

    /// The constant that `node` is, if it is one.
    pub fn constant_of(&self, node: Node) -> Option<f64> {
        self.operation(node).constant()
    }

    /// A constant.
    pub fn constant(&mut self, value: f64) -> Node {
        self.intern(Operation::Constant(ConstantBits(value.to_bits())))
    }

    /// An input.
    pub fn input(&mut self, input: Input) -> Node {
        self.intern(Operation::Input(input))
    }

    /// For each operation, whether any of `roots` needs it.
    pub fn needed(&self, roots: &[Node]) -> Vec<bool> {
        let mut needed = vec![false; self.operations.len()];
        for root in roots {
            needed[root.index()] = true;
        }
        for index in (0..self.operations.len()).rev() {
            if needed[index] {
                for operand in self.operations[index].operands() {
                    needed[operand.index()] = true;
                }
            }
        }
        needed
    }

    /// How many inputs of each kind a formula refers to: one more than the highest number among
    /// parameters, samples and problem constants that `roots` need.
    pub fn n_inputs(&self, roots: &[Node]) -> [usize; 3] {
        let mut n = [0; 3];
        for (operation, needed) in self.operations.iter().zip(self.needed(roots)) {
            if let (Operation::Input(input), true) = (*operation, needed) {
                let (kind, index) = match input {
                    Input::Parameter(index) => (0, index),
                    Input::Sample(index) => (1, index),
                    Input::Problem(index) => (2, index),
                };
                n[kind] = n[kind].max(usize::from(index) + 1);
            }
        }
        n
    }

    /// The node of an operation as it stands.
    pub(super) fn intern(&mut self, operation: Operation) -> Node {
        if let Some(&node) = self.known.get(&operation) {
            return node;
        }
        let node = Node(self.operations.len() as u32);
        self.operations.push(operation);
        self.known.insert(operation, node);
        node
    }

    /// The node of an operation, if it is there.
    pub(super) fn known_as(&self, operation: Operation) -> Option<Node> {
        self.known.get(&operation).copied()
    }

    pub(super) fn node_at(index: usize) -> Node {
        Node(index as u32)
    }
}
