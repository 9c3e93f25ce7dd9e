//! What can be wrong with a formula, and where.

use std::fmt;

use super::{MAX_DEPTH, MAX_NODES, MAX_TEXT};

/// A text that is no formula.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind} at column {column}")]
pub struct ParseError {
    /// Characters before the trouble, plus one.
    pub column: usize,
    /// What the trouble is.
    pub kind: ParseErrorKind,
}

/// What is wrong with a formula.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParseErrorKind {
    /// There is nothing.
    #[error("the formula is empty: expected a number, a name or a parenthesis")]
    Empty,
    /// Longer than [`MAX_TEXT`].
    #[error("the formula has {0} bytes, more than {MAX_TEXT}")]
    TooLong(usize),
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// More than [`MAX_NODES`] operations.
    #[error("more than {MAX_NODES} operations")]
    TooLarge,
    /// A character that no formula has.
    #[error("unexpected character {0:?}")]
    Character(char),
    /// Not a number, or larger than any.
    #[error("{0:?} is no finite number")]
    Number(String),
    /// Something else should stand here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What should.
        expected: &'static str,
        /// What does.
        found: String,
    },
    /// A name that stands for nothing.
    #[error("unknown name '{name}'{}", guess(.similar, .known))]
    UnknownName {
        /// As written.
        name: String,
        /// Known names much like it.
        similar: Vec<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// A function that there is not.
    #[error("unknown function '{name}'{}", guess(.similar, .known))]
    UnknownFunction {
        /// As written.
        name: String,
        /// Known functions much like it.
        similar: Vec<String>,
        /// All known functions.
        known: Vec<String>,
    },
    /// A function without its arguments.
    #[error("'{0}' is a function: write {0}(...)")]
    FunctionAsName(String),
    /// A function with too many or too few.
    #[error("{name} takes {expected} {}, not {found}", if *.expected == 1 { "argument" } else { "arguments" })]
    Arguments {
        /// The function.
        name: String,
        /// How many it takes.
        expected: usize,
        /// How many there are.
        found: usize,
    },
}

/// "; did you mean 'a' or 'b'?", else the names there are.
fn guess(similar: &[String], known: &[String]) -> impl fmt::Display {
    let quoted = |names: &[String], between: &str| {
        names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(between)
    };
    if similar.is_empty() {
        format!(" (known: {})", quoted(known, ", "))
    } else {
        format!("; did you mean {}?", quoted(similar, " or "))
    }
}

/// Those of `known` that `name` may be a slip of: the same but for case, or a letter or two.
pub(super) fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let length = name.chars().count();
    let allowed = if length <= 2 { 1 } else { 2.min(length / 2) };
    let lower = name.to_lowercase();
    let mut found: Vec<(usize, &str)> = known
        .map(|other| {
            let same_but_for_case = other.to_lowercase() == lower;
            (if same_but_for_case { 0 } else { distance(name, other) }, other)
        })
        .filter(|(distance, other)| *distance <= allowed && *distance < other.chars().count())
        .collect();
    found.sort();
    found.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

/// The number of letters to insert, delete or change (Levenshtein); names longer than 40 are far
/// from everything.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().max(b.len()) > 40 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
