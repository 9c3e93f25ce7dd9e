//! What lies between a command and the systems that compute.
//!
//! * what [`fimbria_workflow`] has: the graph of stages, records, outputs;
//! * [`options`], [`method_text`], [`Written`]: what a method may be told, says of itself and writes, said
//!   once;
//! * [`stages`]: the stages there are, one file each;
//! * [`Derivatives`]: how the files of a method are named and described in BIDS;
//! * [`RunConfig`]: the stages of a subject and their parameters, from a TOML file or flags;
//! * [`MapStyle`]: maps under the names and in the orders and frames of fimbria, FSL, MRtrix3 and
//!   BIDS;
//! * [`probtrackx2`]: FSL's program of that name.
//!
//! Nothing here computes a model, and nothing prints: callers pass a [`Session`].

mod bids_name;
mod byte_size;
mod columns;
mod derivatives;
mod map_file;
mod map_layout;
pub mod method_text;
pub mod options;
pub mod probtrackx2;
mod run;
pub mod stages;
mod surfaces;
mod transforms;
mod written;

pub use bids_name::{BidsName, bids_entities, shared_entities};
pub use byte_size::{ByteSize, ByteSizeError};
pub use derivatives::{DerivativeNames, Derivatives, Derived, Source};
pub use fimbria_workflow::{
    CheckpointError, CheckpointFile, Earlier, Existing, Fingerprint, Finished, HashError, Hashed,
    Hashing, Held, Input, InputEntry, Logbook, Machine, MissingProduct, OutputEntry, OutputError,
    OutputFolder, Page, PipelineError, Product, Products, RunRecord, Session, Stage, StageEntry,
    StageError, StageRecords, StepEntry, Taken, Unfinished, Unmade, clear_run, earlier_command,
    final_names, fingerprints_of_run, hash_file, is_own, is_same, place_below, refuse_name_of_file,
    rename, run_command, run_stages,
};
pub use map_file::{Carried, MapContext, MapError, MapStyle};
pub use map_layout::{MapFormat, MapLayout};
pub use options::{Choice, Named};
pub use run::{ConfigError, Preset, ReportConfig, RunConfig, demo_stages};
pub use stages::fits::follow::{TooManyVolumes, follow};
pub use stages::studies::Study;
pub use surfaces::{MeshSpace, SurfaceError};
pub use transforms::{TransformError, TransformFile};
pub use written::{FileKind, Writes, Written};
