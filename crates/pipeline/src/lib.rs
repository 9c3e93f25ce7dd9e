//! What lies between a command and the systems that compute.
//!
//! * [`OutputFolder`]: files that appear all at once or not at all; [`RunRecord`]: the `run.json`
//!   written last, with inputs and their hashes, parameters, machine, times, counts and warnings;
//! * [`Stage`] and [`run_stages`]: the graph of stages, what they hand on in memory
//!   ([`Products`]), and what an earlier run makes superfluous;
//! * [`brain_mask`]: a simple mask where the user has none.
//!
//! Nothing here computes a model, and nothing prints: callers pass a [`Session`].

mod brain_mask;
mod graph;
mod hashing;
mod output;
mod record;
mod session;
mod unfinished;

pub use brain_mask::{brain_mask, mean_unweighted};
pub use graph::{
    Existing, Finished, MissingProduct, PipelineError, Products, Stage, StageError, run_stages,
};
pub use hashing::{HashError, Hashing};
pub use output::{OutputError, OutputFolder};
pub use record::{InputEntry, Machine, OutputEntry, RunRecord, StageEntry};
pub use session::{Input, Logbook, Session};
pub use unfinished::Unfinished;
