//! Formulas as text.
//!
//! ```text
//! sum      = product (('+' | '-') product)*
//! product  = sign (('*' | '/') sign)*
//! sign     = ('+' | '-')* power
//! power    = atom (('^' | '**') sign)?          so that 2^3^2 = 2^9, -2^2 = -4, 2^-1 = 1/2
//! atom     = number | name | function '(' sum (',' sum)* ')' | '(' sum ')'
//! ```
//!
//! Depth and size are limited, so that no text exhausts the stack or the memory.

mod error;
mod functions;
mod lexer;
mod parser;

pub use error::{ParseError, ParseErrorKind};
pub use functions::FUNCTIONS;

use super::graph::{Graph, Node};

/// The longest text, in bytes.
pub const MAX_TEXT: usize = 1 << 16;
/// The most operations a formula may have.
pub const MAX_NODES: usize = 1 << 12;
/// The deepest nesting of parentheses, signs and powers.
pub const MAX_DEPTH: usize = 100;

/// What names in a formula stand for; the place of a name is the number of its input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names<'a> {
    /// [`Parameter`](super::Input::Parameter)s.
    pub parameters: &'a [&'a str],
    /// [`Sample`](super::Input::Sample)s.
    pub samples: &'a [&'a str],
    /// [`Problem`](super::Input::Problem) constants.
    pub problems: &'a [&'a str],
}

impl Names<'_> {
    /// True where `name` can be written in a formula: a letter, then letters, digits and `_`.
    pub fn is_name(name: &str) -> bool {
        let mut characters = name.chars();
        characters.next().is_some_and(lexer::starts_name) && characters.all(lexer::continues_name)
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().chain(self.samples).chain(self.problems).copied()
    }
}

impl Graph {
    /// The formula `text` over `names`, `pi` and the [`FUNCTIONS`].
    ///
    /// # Errors
    /// Where `text` is no formula, with the column and what was meant, if that can be guessed.
    pub fn parse(&mut self, text: &str, names: &Names<'_>) -> Result<Node, ParseError> {
        parser::parse(self, text, names)
    }
}
