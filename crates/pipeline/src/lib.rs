//! What lies between a command and the systems that compute.
//!
//! * [`OutputFolder`]: files that appear all at once or not at all; [`RunRecord`]: the `run.json`
//!   written last, with inputs and their hashes, parameters, machine, times, counts and warnings;
//! * [`Stage`] and [`run_stages`]: the graph of stages, what they hand on in memory
//!   ([`Products`]), and what an earlier run makes superfluous;
//! * [`options`], [`method_text`], [`Written`]: what a method may be told, says of itself and writes, said
//!   once;
//! * [`stages`]: the stages there are, one file each;
//! * [`Derivatives`]: how the files of a method are named and described in BIDS;
//! * [`RunConfig`]: the stages of a subject and their parameters, from a TOML file or flags;
//! * [`MapStyle`]: maps under the names and in the orders and frames of fimbria, FSL, MRtrix3 and
//!   BIDS;
//! * [`probtrackx2`]: FSL's program of that name;
//! * [`Page`]: where the manual says more about a warning;
//! * [`CheckpointFile`]: work under way, to go on from;
//!
//! Nothing here computes a model, and nothing prints: callers pass a [`Session`].

mod bids_name;
mod byte_size;
mod checkpoint_file;
mod columns;
mod derivatives;
mod graph;
mod hashing;
mod left;
mod manual;
mod map_file;
mod map_layout;
pub mod method_text;
pub mod options;
mod output;
pub mod probtrackx2;
mod record;
mod run;
mod same_work;
mod session;
mod stage;
pub mod stages;
mod surfaces;
mod transforms;
mod unchanged;
mod unfinished;
mod written;

pub use bids_name::{BidsName, bids_entities};
pub use byte_size::{ByteSize, ByteSizeError};
pub use checkpoint_file::{CheckpointError, CheckpointFile};
pub use derivatives::{DerivativeNames, Derivatives, Derived, Source};
pub use graph::{
    Earlier, Existing, Fingerprint, Finished, PipelineError, Unmade, earlier_command,
    fingerprints_of_run, run_command, run_stages,
};
pub use hashing::{HashError, Hashed, Hashing, Input, InputEntry, hash_file};
pub use left::clear_run;
pub use manual::Page;
pub use map_file::{Carried, MapContext, MapError, MapStyle};
pub use map_layout::{MapFormat, MapLayout};
pub use options::{Choice, Named};
pub use output::{
    OutputError, OutputFolder, final_names, is_own, is_same, place_below, refuse_name_of_file,
    rename,
};
pub use record::{Machine, OutputEntry, RunRecord, StageEntry, StepEntry};
pub use run::{ConfigError, Preset, ReportConfig, RunConfig, demo_stages};
pub use session::{Logbook, Session};
pub use stage::{MissingProduct, Product, Products, Stage, StageError, StageRecords, Taken};
pub use stages::fits::follow::{TooManyVolumes, follow};
pub use stages::studies::Study;
pub use surfaces::{MeshSpace, SurfaceError};
pub use transforms::{TransformError, TransformFile};
pub use unfinished::{Held, Unfinished};
pub use written::{FileKind, Writes, Written};
