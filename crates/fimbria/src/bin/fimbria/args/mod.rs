//! Options that several commands share, one group per file.
//!
//! A group has one method that turns it into what the libraries take; it takes the group apart
//! without `..`, so that an option nobody uses does not compile without a warning. Commands do the
//! same with their own.

mod devices;
#[cfg(feature = "mpi")]
mod exchange;
mod existing;
mod format;
mod kept;
mod maps;
mod memory;
mod output;
mod run;
mod subject;
mod threads;
mod verbosity;

pub(crate) use devices::DeviceArgs;
#[cfg(feature = "mpi")]
pub(crate) use exchange::{ExchangeName, exchange};
pub(crate) use existing::ExistingArgs;
pub(crate) use fimbria_pipeline::options::choice;
pub(crate) use format::FormatArgs;
pub(crate) use kept::KeptOutputArgs;
pub(crate) use maps::MapArgs;
pub(crate) use memory::MemoryArgs;
pub(crate) use output::OutputArgs;
pub(crate) use run::{RunArgs, RunFolder};
pub(crate) use subject::{ScratchArgs, SubjectArgs, TableArgs, TablesArgs};
pub(crate) use threads::ThreadArgs;
pub(crate) use verbosity::Verbosity;
