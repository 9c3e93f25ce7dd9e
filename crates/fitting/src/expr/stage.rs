//! What of a formula is the same for all problems, for all samples, or for neither.

use super::graph::{Graph, Input, Node, Operation};
use super::program::Registers;
use crate::lm::Number;

/// When a node can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Without any input.
    Constant,
    /// Of sample inputs only: once for all problems.
    PerSample,
    /// Of parameters and problem constants only: once for all samples.
    PerProblem,
    /// Of both: for every sample of every problem.
    Both,
}

/// Formulas cut at what depends on samples alone: those nodes become columns of a table that is
/// made once, and what is left reads the table.
#[derive(Clone, Debug)]
pub struct Staged {
    graph: Graph,
    roots: Vec<Node>,
    needed: Vec<bool>,
    stages: Vec<Stage>,
    /// The nodes that are columns of the table, in order.
    columns: Vec<Node>,
}

impl Staged {
    /// `roots` of `graph`.
    pub fn new(graph: &Graph, roots: &[Node]) -> Self {
        let needed = graph.needed(roots);
        let mut stages: Vec<Stage> = Vec::with_capacity(needed.len());
        for operation in graph.operations() {
            stages.push(match operation {
                Operation::Constant(_) => Stage::Constant,
                Operation::Input(Input::Sample(_)) => Stage::PerSample,
                Operation::Input(_) => Stage::PerProblem,
                other => other
                    .operands()
                    .map(|operand| stages[operand.index()])
                    .fold(Stage::Constant, Stage::and),
            });
        }
        let mut is_column = vec![false; needed.len()];
        for root in roots.iter().map(|root| root.index()) {
            is_column[root] = stages[root] == Stage::PerSample;
        }
        for (index, operation) in graph.operations().iter().enumerate() {
            if needed[index] && stages[index] == Stage::Both {
                for operand in operation.operands().map(Node::index) {
                    is_column[operand] |= stages[operand] == Stage::PerSample;
                }
            }
        }
        let columns = (0..needed.len()).filter(|i| is_column[*i]).map(Graph::node_at).collect();
        Self { graph: graph.clone(), roots: roots.to_vec(), needed, stages, columns }
    }

    /// The operations.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The formulas.
    pub fn roots(&self) -> &[Node] {
        &self.roots
    }

    /// Number of columns of the [table](Self::table).
    pub fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// The nodes that are columns, in order.
    pub(super) fn columns(&self) -> &[Node] {
        &self.columns
    }

    /// What to compute at `stage`, in order; inputs and constants among it.
    pub(super) fn nodes(&self, stage: Stage) -> impl Iterator<Item = (Node, Operation)> {
        self.graph.operations().iter().enumerate().filter_map(move |(index, operation)| {
            let wanted = self.needed[index] && self.stages[index] == stage;
            wanted.then_some((Graph::node_at(index), *operation))
        })
    }

    /// The table `[sample][column]` of `samples` `[sample][input]`, in the arithmetic of `N`.
    ///
    /// # Panics
    /// Where `samples` is not whole rows of `n_inputs`, or the formula refers to more inputs.
    pub fn table<N>(&self, samples: &[N], n_inputs: usize) -> Vec<N>
    where
        N: Number<Constant = N> + Default,
    {
        if self.columns.is_empty() {
            return Vec::new();
        }
        assert_eq!(samples.len() % n_inputs, 0, "rows of {n_inputs} inputs");
        let mut registers = Registers::default();
        let first_input = registers.reserve(n_inputs);
        let mut constants = Vec::new();
        for (node, operation) in self.nodes(Stage::Constant).chain(self.nodes(Stage::PerSample)) {
            match operation {
                Operation::Input(Input::Sample(input)) => {
                    assert!(usize::from(input) < n_inputs, "sample input {input} of {n_inputs}");
                    registers.place(node, first_input + usize::from(input));
                }
                _ => {
                    if let Some(value) = operation.constant() {
                        let register = registers.reserve(1);
                        registers.place(node, register);
                        constants.push((register, N::default().constant(value)));
                    }
                }
            }
        }
        let program = registers.compile(
            self.nodes(Stage::PerSample).filter(|(_, o)| !matches!(o, Operation::Input(_))),
        );
        let mut file = vec![N::default(); registers.count()];
        for (register, value) in constants {
            file[register] = value;
        }
        let mut table = Vec::with_capacity(samples.len() / n_inputs * self.n_columns());
        for row in samples.chunks_exact(n_inputs) {
            file[first_input..][..n_inputs].copy_from_slice(row);
            program.run(&mut file);
            table.extend(self.columns.iter().map(|c| file[registers.register(*c) as usize]));
        }
        table
    }
}

impl Stage {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Constant, stage) | (stage, Self::Constant) => stage,
            (a, b) if a == b => a,
            _ => Self::Both,
        }
    }
}
