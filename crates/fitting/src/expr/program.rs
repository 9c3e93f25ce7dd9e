//! Instructions over registers, each a number or a vector of them.

use std::collections::HashMap;

use super::graph::{Binary, Graph, Node, Operation, Unary};
use crate::lm::Number;

/// A place in the register file.
pub(super) type Register = u32;

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    Unary(Unary),
    Binary(Binary),
    MulAdd,
    NegMulAdd,
    IfLess,
}

#[derive(Clone, Copy, Debug)]
struct Instruction {
    code: Code,
    to: Register,
    from: [Register; 4],
}

/// Instructions to be done in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Program(Vec<Instruction>);

impl Program {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Does them on a register file that holds every register they name.
    #[inline(always)]
    pub(super) fn run<N: Number>(&self, registers: &mut [N]) {
        for instruction in &self.0 {
            let [a, b, c, d] = instruction.from;
            let a = registers[a as usize];
            let b = registers[b as usize];
            let value = match instruction.code {
                Code::Unary(Unary::Neg) => -a,
                Code::Unary(Unary::Exp) => a.exp(),
                Code::Unary(Unary::Ln) => a.ln(),
                Code::Unary(Unary::Sqrt) => a.sqrt(),
                Code::Unary(Unary::Abs) => a.abs(),
                Code::Unary(Unary::Sin) => a.sin(),
                Code::Unary(Unary::Cos) => a.cos(),
                Code::Unary(Unary::Atan) => a.atan(),
                Code::Binary(Binary::Add) => a + b,
                Code::Binary(Binary::Sub) => a - b,
                Code::Binary(Binary::Mul) => a * b,
                Code::Binary(Binary::Div) => a / b,
                Code::Binary(Binary::Min) => a.if_less(b, a, b),
                Code::Binary(Binary::Max) => b.if_less(a, a, b),
                Code::MulAdd => registers[c as usize].plus_product(a, b),
                Code::NegMulAdd => registers[c as usize].plus_product(-a, b),
                Code::IfLess => a.if_less(b, registers[c as usize], registers[d as usize]),
            };
            registers[instruction.to as usize] = value;
        }
    }
}

/// Gives nodes registers.
#[derive(Debug, Default)]
pub(super) struct Registers {
    of: HashMap<Node, Register>,
    free: Vec<Register>,
    count: Register,
}

impl Registers {
    /// The size of the register file.
    pub(super) fn count(&self) -> usize {
        self.count as usize
    }

    /// `n` registers in a row, kept for good; the first.
    pub(super) fn reserve(&mut self, n: usize) -> usize {
        let first = self.count as usize;
        self.count += n as Register;
        first
    }

    /// Says where `node` is.
    pub(super) fn place(&mut self, node: Node, register: usize) {
        self.of.insert(node, register as Register);
    }

    /// Where `node` is; every node asked for has been placed or computed.
    pub(super) fn register(&self, node: Node) -> Register {
        self.of[&node]
    }

    /// Instructions that compute `nodes` in order, each into a register of its own.
    pub(super) fn compile(&mut self, nodes: impl Iterator<Item = (Node, Operation)>) -> Program {
        let instructions = nodes.filter_map(|(node, operation)| {
            let register = self.reserve(1) as Register;
            self.instruction(node, operation, register)
        });
        Program(instructions.collect())
    }

    /// The same, where a register is used again once nothing later among `nodes` needs it.
    /// `kept` are needed to the end; what was placed before is never overwritten.
    pub(super) fn compile_sparing(
        &mut self,
        graph: &Graph,
        nodes: &[(Node, Operation)],
        kept: &[Node],
    ) -> Program {
        let mut last_use = vec![usize::MAX; graph.operations().len()];
        for (step, (_, operation)) in nodes.iter().enumerate() {
            operation.operands().for_each(|operand| last_use[operand.index()] = step);
        }
        let own: std::collections::HashSet<Node> =
            nodes.iter().map(|(node, _)| *node).filter(|node| !kept.contains(node)).collect();
        let mut program = Vec::with_capacity(nodes.len());
        for (step, &(node, operation)) in nodes.iter().enumerate() {
            let mut ending: Vec<Node> = operation
                .operands()
                .filter(|operand| own.contains(operand) && last_use[operand.index()] == step)
                .collect();
            ending.sort();
            ending.dedup();
            // Operands are read before the result is written: their registers are free for it.
            self.free.extend(ending.iter().map(|operand| self.of[operand]));
            let register = self.free.pop().unwrap_or_else(|| self.reserve(1) as Register);
            program.extend(self.instruction(node, operation, register));
        }
        self.free.clear();
        Program(program)
    }

    /// Puts `node` into `register`; `None` for inputs and constants, which are no instructions.
    fn instruction(
        &mut self,
        node: Node,
        operation: Operation,
        register: Register,
    ) -> Option<Instruction> {
        let code = match operation {
            Operation::Constant(_) | Operation::Input(_) => return None,
            Operation::Unary(function, _) => Code::Unary(function),
            Operation::Binary(function, ..) => Code::Binary(function),
            Operation::MulAdd(..) => Code::MulAdd,
            Operation::NegMulAdd(..) => Code::NegMulAdd,
            Operation::IfLess(..) => Code::IfLess,
        };
        // Operands an instruction does not have are read all the same: register 0 always exists.
        let mut from = [0; 4];
        for (place, operand) in from.iter_mut().zip(operation.operands()) {
            *place = self.register(operand);
        }
        self.of.insert(node, register);
        Some(Instruction { code, to: register, from })
    }
}
