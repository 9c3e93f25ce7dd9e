//! Formulas as two programs over registers of numbers: what is done once per set of parameters,
//! and what is done for every sample.

use super::graph::{Input, Operation};
use super::program::{Program, Register, Registers};
use super::stage::{Stage, Staged};
use crate::lm::Number;

/// Formulas ready to be evaluated over lanes.
///
/// The caller holds the register file: [`prepare`](Self::prepare) it, then [`set`](Self::set) for
/// each set of parameters, then [`sample`](Self::sample) for each row of the
/// [table](Staged::table).
#[derive(Clone, Debug)]
pub struct Tape {
    n_parameters: usize,
    n_problems: usize,
    n_columns: usize,
    /// Inputs stand first: parameters, problem constants, columns.
    n_registers: usize,
    constants: Vec<(usize, f64)>,
    per_problem: Program,
    both: Program,
    outputs: Vec<Register>,
}

impl Tape {
    /// The formulas of `staged`, of `n_parameters` parameters and `n_problems` problem constants.
    ///
    /// # Panics
    /// Where a formula refers to more of either.
    pub fn new(staged: &Staged, n_parameters: usize, n_problems: usize) -> Self {
        let mut registers = Registers::default();
        let first_parameter = registers.reserve(n_parameters);
        let first_problem = registers.reserve(n_problems);
        let first_column = registers.reserve(staged.n_columns());
        let mut constants = Vec::new();
        for (node, operation) in staged.nodes(Stage::Constant) {
            let register = registers.reserve(1);
            registers.place(node, register);
            constants.push((register, operation.constant().unwrap_or(f64::NAN)));
        }
        for (place, node) in staged.columns().iter().enumerate() {
            registers.place(*node, first_column + place);
        }
        for (node, operation) in staged.nodes(Stage::PerProblem) {
            let (first, index, n) = match operation {
                Operation::Input(Input::Parameter(index)) => (first_parameter, index, n_parameters),
                Operation::Input(Input::Problem(index)) => (first_problem, index, n_problems),
                _ => continue,
            };
            assert!(usize::from(index) < n, "input {index} of {n}");
            registers.place(node, first + usize::from(index));
        }
        let no_input = |operation: &Operation| !matches!(operation, Operation::Input(_));
        let per_problem = registers
            .compile(staged.nodes(Stage::PerProblem).filter(|(_, operation)| no_input(operation)));
        let both: Vec<_> = staged.nodes(Stage::Both).collect();
        let both = registers.compile_sparing(staged.graph(), &both, staged.roots());
        let outputs = staged.roots().iter().map(|root| registers.register(*root)).collect();
        Self {
            n_parameters,
            n_problems,
            n_columns: staged.n_columns(),
            n_registers: registers.count(),
            constants,
            per_problem,
            both,
            outputs,
        }
    }

    /// Size of the register file.
    pub fn n_registers(&self) -> usize {
        self.n_registers
    }

    /// Number of instructions that depend on the parameters alone, and on the sample too.
    pub fn n_instructions(&self) -> (usize, usize) {
        (self.per_problem.len(), self.both.len())
    }

    /// Puts the constants into a new register file.
    ///
    /// # Panics
    /// As all functions here: where `file` has fewer than [`n_registers`](Self::n_registers).
    #[inline(always)]
    pub fn prepare<N: Number>(&self, file: &mut [N]) {
        let like = file[0];
        for &(register, value) in &self.constants {
            file[register] = like.lift(like.constant(value));
        }
    }

    /// Takes parameters and problem constants.
    #[inline(always)]
    pub fn set<N: Number>(&self, file: &mut [N], parameters: &[N], problem: &[N::Constant]) {
        let like = file[0];
        file[..self.n_parameters].copy_from_slice(&parameters[..self.n_parameters]);
        for k in 0..self.n_problems {
            file[self.n_parameters + k] = like.lift(problem[k]);
        }
        self.per_problem.run(file);
    }

    /// Evaluates all formulas at a sample, a row of the [table](Staged::table).
    #[inline(always)]
    pub fn sample<N: Number>(&self, file: &mut [N], row: &[N::Constant]) {
        let first = self.n_parameters + self.n_problems;
        let like = file[0];
        for k in 0..self.n_columns {
            file[first + k] = like.lift(row[k]);
        }
        self.both.run(file);
    }

    /// Formula `index` at the sample.
    #[inline(always)]
    pub fn output<N: Copy>(&self, file: &[N], index: usize) -> N {
        file[self.outputs[index] as usize]
    }
}
