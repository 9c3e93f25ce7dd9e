//! What a method may be told, said once.
//!
//! The options of a method are one struct that derives clap's `Args` and serde's `Serialize`. What a
//! field is called, takes, means and is when nothing is said stands with the field:
//!
//! ```
//! use clap::Args;
//! use fimbria_pipeline::options::{Described as _, above, usual};
//! use serde::Serialize;
//!
//! /// Fit something
//! #[derive(Args, Serialize)]
//! struct SomethingOptions {
//!     /// Leave out volumes with b above this
//!     #[arg(long, value_name = "B", number = above(0.0, "s/mm²"), default_value_t = 3000.0)]
//!     bmax: f64,
//! }
//!
//! let options: SomethingOptions = usual();
//! assert_eq!(options.bmax, 3000.0);
//! ```
//!
//! From that come the command line and its help, the keys of `run`'s TOML and `--set`, the parameters
//! in run.json and what is read back from there ([`from_values`]), and `fimbria describe`: a value of
//! a file is turned into the words of a command line, so that one parser judges all.
//!
//! Defaults that depend on other options are filled in by [`Resolve`]; where one option chooses among
//! ways to do a job, each way has its own ([`Way`]).

mod choice;
mod described;
mod named_file;
mod number;
mod resolved;
mod takes;
mod values;
mod ways;

pub use choice::{Choice, Named, choice};
pub use described::{Described, InRun, UsedBy, Usual, complete};
pub use named_file::NamedFile;
pub use number::{Number, Quantity, above, any, at_least, one_of, within};
pub use resolved::{Place, Resolve, Resolved};
pub use takes::{FileType, Takes};
pub use values::{
    OptionError, Options, Values, from_values, in_run, in_words, paths_beside, refuse_unused,
    usual, words_of_values,
};
pub use ways::{Variant, Way, Ways, list, values_of, with_defaults_of};
