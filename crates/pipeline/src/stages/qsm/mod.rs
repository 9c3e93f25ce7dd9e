//! Susceptibility: the stage that maps it, and the methods there are.
//!
//! Each method is a file of `ways` that says everything about it but for its mathematics; a new one is that
//! file and its line in the list. `options`: what the command line may say.

mod chi_map;
mod choices;
mod convergence;
mod fingerprint;
pub mod help;
mod inversion;
mod job;
mod method;
mod options;
mod reference;
pub(in crate::stages) mod section;
mod stage;
mod ways;

pub use self::chi_map::{ChiMap, QSM_WRITES};
pub use self::choices::{DataTerm, QsmCompat, Start};
pub use self::convergence::ConvergenceLog;
pub use self::inversion::QsmMethod;
pub use self::job::{Checkpointing, NeedsPhase};
pub(in crate::stages) use self::method::{METHOD, parameters_of};
pub use self::options::QsmParameters;
pub use self::reference::{GivenReference, NoNames, NoReference};
pub use self::stage::MapSusceptibility;
pub use self::ways::{NeedsB0, NeedsMagnitude};
