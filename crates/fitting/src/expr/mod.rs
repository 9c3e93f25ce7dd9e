//! Formulas as data: written by a user or traced from a compiled model, differentiated, and turned
//! into what each processor runs.
//!
//! * [`Graph`]: operations shared wherever they are the same, simplified as they are made;
//! * [`Graph::parse`]: the text `S0*exp(-b*D)+C` to a graph; errors name the column;
//! * [`Graph::of_model`]: the signal of a compiled model, traced by a [`Symbol`];
//! * [`Graph::derivatives`]: exact partial derivatives, by the rules that dual numbers follow;
//! * [`Graph::evaluate`]: in f64, the oracle;
//! * [`Staged`]: what depends on samples alone, taken out and done once;
//! * [`Tape`]: instructions over registers of SIMD lanes;
//! * [`kernel_text`]: a function in the kernel dialect.
//!
//! All do the same operations in the same order: where multiply-add is fused, a tape and a kernel
//! give the same bits.

mod derivative;
mod evaluate;
mod fuse;
mod graph;
mod kernel;
mod parse;
mod program;
mod simplify;
mod stage;
mod tape;
mod trace;

pub use graph::{Binary, ConstantBits, Graph, Input, Node, Operation, Unary};
pub use kernel::{Precision, kernel_text};
pub use parse::{FUNCTIONS, MAX_DEPTH, MAX_NODES, MAX_TEXT, Names, ParseError, ParseErrorKind};
pub use stage::Staged;
pub use tape::Tape;
pub use trace::Symbol;

#[cfg(test)]
mod tests;
