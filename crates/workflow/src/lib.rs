//! How stages run one after another, and what stays of them on disk.
//!
//! * [`Stage`] and [`run_stages`]: the graph of stages, what they hand on in memory ([`Products`]), and what
//!   an earlier run makes superfluous;
//! * [`OutputFolder`]: files that appear all at once or not at all; [`RunRecord`]: the `run.json` written last,
//!   with inputs and their hashes, parameters, machine, times, counts and warnings;
//! * [`CheckpointFile`]: work under way, to go on from;
//! * [`Session`] and [`Logbook`]: where a stage works, and what it notes;
//! * [`Page`]: where the manual says more about a warning.
//!
//! Nothing here knows what a stage computes, and nothing prints: callers pass a [`Session`].

mod checkpoint_file;
mod graph;
mod hashing;
mod left;
mod manual;
mod output;
mod record;
mod same_work;
mod session;
mod stage;
mod unchanged;
mod unfinished;

pub use checkpoint_file::{CheckpointError, CheckpointFile, remove_checkpoints};
pub use graph::{
    Earlier, Existing, Fingerprint, Finished, PipelineError, Unmade, earlier_command,
    fingerprints_of_run, run_command, run_stages,
};
pub use hashing::{HashError, Hashed, Hashing, Input, InputEntry, hash_file, with_sidecar};
pub use left::clear_run;
pub use manual::Page;
pub use output::{
    OutputError, OutputFolder, final_names, is_own, is_same, place_below, refuse_name_of_file,
    rename,
};
pub use record::{Machine, OutputEntry, RunRecord, StageEntry, StepEntry};
pub use same_work::{DifferentWork, ensure_same_work};
pub use session::{Logbook, Session};
pub use stage::{MissingProduct, Product, Products, Stage, StageError, StageRecords, Taken};
pub use unchanged::{all_unchanged, unchanged};
pub use unfinished::{Held, Unfinished};
