//! Tests of formulas; each processor's form of them against f64.

mod derivatives;
mod forms;
mod parsing;
mod random;
