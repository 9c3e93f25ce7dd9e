//! From a BIDS data set to derivatives: `fimbria bids`.
//!
//! * [`DataSet`]: subjects and sessions of a raw data set or of QSIPrep's derivatives; [`Series`]: their
//!   series, with what belongs to each; `tables`: what labels are called;
//! * [`Participants`]: every session, and what becomes of each; `session`: the runs of one
//!   ([`fimbria_pipeline::RunConfig`], nothing of its own); `shares`: threads and memory of those beside each
//!   other; `claim`: which process has which session; `seen`: what is finished; `failed`: what is kept of one that
//!   is not; `foreseen`: what a call would take;
//! * `made`, `own`, `work`: what is ours: stages of a session, files of the root, folders to work in;
//! * `place`, `publish`, `names`, `sidecar`, `sticks`: what a run made, under the names and with the words of BIDS;
//! * `root`, `citation`: what belongs to the data set as a whole;
//! * [`group`], `rows`, `numbers`, `verdicts`, `settings`, `strips`: a table and a page of all sessions; [`digest`]:
//!   what two sites compare.
//!
//! Nothing here computes a model or reads a series; inputs are only ever read.

mod citation;
mod claim;
mod data_set;
mod digest;
mod error;
mod failed;
mod files;
mod foreseen;
mod gathered;
mod group;
mod joined;
mod json;
mod made;
mod names;
mod numbers;
mod own;
mod participants;
mod place;
mod planned;
mod publish;
mod resources;
mod responses;
mod root;
mod rows;
mod seen;
mod series;
mod session;
mod settings;
mod sidecar;
mod sticks;
mod strips;
mod tables;
mod verdicts;
mod work;

pub use self::data_set::{DataSet, OtherSet, Session};
pub use self::digest::{Digest, digest};
pub use self::error::BidsError;
pub use self::failed::FAILED;
pub use self::foreseen::{Foreseen, Needs, foretold};
pub use self::group::{Group, group};
pub use self::participants::{Ended, Outcome, Participants, ReportLevel, theirs};
pub use self::series::{Labels, Series};
