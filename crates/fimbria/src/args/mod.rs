//! Options that several commands share, one group per file.
//!
//! A group has one method that turns it into what the libraries take; it takes the group apart
//! without `..`, so that an option nobody uses does not compile without a warning. Commands do the
//! same with their own.

mod choice;
mod curve;
mod devices;
#[cfg(feature = "mpi")]
mod exchange;
mod existing;
mod maps;
mod memory;
mod output;
mod sign;
mod simd;
mod subject;
mod threads;
mod verbosity;
mod volumes;

pub(crate) use choice::choice;
pub(crate) use curve::{LikelihoodArgs, NoiseArgs, SolverArgs, b_limit};
pub(crate) use devices::DeviceArgs;
#[cfg(feature = "mpi")]
pub(crate) use exchange::{ExchangeName, exchange};
pub(crate) use existing::ExistingArgs;
pub(crate) use maps::MapArgs;
pub(crate) use memory::MemoryArgs;
pub(crate) use output::OutputArgs;
pub(crate) use sign::sign;
pub(crate) use simd::simd_level;
pub(crate) use subject::{ScratchArgs, SubjectArgs, TableArgs};
pub(crate) use threads::ThreadArgs;
pub(crate) use verbosity::Verbosity;
pub(crate) use volumes::ShellArgs;
