//! A number that records what is done to it.

use std::cell::RefCell;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::graph::{Binary, Graph, Input, Node, Unary};
use crate::lm::{Model, Number, with_prepared};

/// A node of a graph under construction: arithmetic on it adds nodes, so that a function written
/// over [`Number`] becomes a formula.
#[derive(Clone, Copy)]
pub struct Symbol<'g> {
    graph: &'g RefCell<Graph>,
    node: Node,
}

impl fmt::Debug for Symbol<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Symbol({:?})", self.node)
    }
}

impl<'g> Symbol<'g> {
    /// An input of the formula.
    pub fn input(graph: &'g RefCell<Graph>, input: Input) -> Self {
        Self { graph, node: graph.borrow_mut().input(input) }
    }

    /// What it has become.
    pub fn node(self) -> Node {
        self.node
    }

    fn with(self, make: impl FnOnce(&mut Graph) -> Node) -> Self {
        Self { node: make(&mut self.graph.borrow_mut()), ..self }
    }
}

impl Graph {
    /// The signal of a model and its derivatives by the parameters, in one graph: the very
    /// operations that the model does in lanes.
    pub fn of_model<const P: usize>(model: &impl Model<P>) -> (Self, Vec<Node>) {
        let graph = RefCell::new(Self::new());
        let inputs = |n: usize, kind: fn(u16) -> Input| -> Vec<Symbol<'_>> {
            (0..n).map(|index| Symbol::input(&graph, kind(index as u16))).collect()
        };
        let p: [Symbol<'_>; P] =
            std::array::from_fn(|k| Symbol::input(&graph, Input::Parameter(k as u16)));
        let covariates = inputs(model.n_covariates(), Input::Sample);
        let constants = inputs(model.n_constants(), Input::Problem);
        let prepared = with_prepared(model, &p, &constants);
        let (value, slope) = model.signal_and_slope(&p, &covariates, &prepared);
        let roots = std::iter::once(value).chain(slope).map(Symbol::node).collect();
        (graph.into_inner(), roots)
    }
}

/// Operators as functions of the graph.
macro_rules! operators {
    ($($trait:ident :: $name:ident => $function:expr;)*) => {$(
        impl $trait for Symbol<'_> {
            type Output = Self;
            fn $name(self, other: Self) -> Self {
                self.with(|graph| graph.binary($function, self.node, other.node))
            }
        }
    )*};
}

operators! {
    Add::add => Binary::Add;
    Sub::sub => Binary::Sub;
    Mul::mul => Binary::Mul;
    Div::div => Binary::Div;
}

impl Neg for Symbol<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.with(|graph| graph.neg(self.node))
    }
}

impl Number for Symbol<'_> {
    type Constant = Self;

    fn constant(self, value: f64) -> Self {
        self.with(|graph| graph.constant(value))
    }
    fn lift(self, constant: Self) -> Self {
        constant
    }
    fn exp(self) -> Self {
        self.with(|graph| graph.unary(Unary::Exp, self.node))
    }
    fn ln(self) -> Self {
        self.with(|graph| graph.unary(Unary::Ln, self.node))
    }
    fn sqrt(self) -> Self {
        self.with(|graph| graph.unary(Unary::Sqrt, self.node))
    }
    fn abs(self) -> Self {
        self.with(|graph| graph.unary(Unary::Abs, self.node))
    }
    fn at_least(self, least: Self) -> Self {
        self.with(|graph| graph.binary(Binary::Max, self.node, least.node))
    }
    fn sin(self) -> Self {
        self.with(|graph| graph.unary(Unary::Sin, self.node))
    }
    fn cos(self) -> Self {
        self.with(|graph| graph.unary(Unary::Cos, self.node))
    }
    fn atan(self) -> Self {
        self.with(|graph| graph.unary(Unary::Atan, self.node))
    }
    fn if_less(self, other: Self, yes: Self, no: Self) -> Self {
        self.with(|graph| graph.if_less(self.node, other.node, yes.node, no.node))
    }
    fn plus_product(self, a: Self, b: Self) -> Self {
        self.with(|graph| graph.mul_add(a.node, b.node, self.node))
    }
}
