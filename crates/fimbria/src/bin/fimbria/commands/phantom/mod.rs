//! `fimbria phantom`

mod crossing;
mod gre;
mod head;
mod protocol;
mod tensors;

use clap::{Args, Subcommand};
use fimbria_pipeline::stages::phantom::{Phantom, PhantomSpec};
use fimbria_pipeline::{MapFormat, Stage};

use crate::args::{FormatArgs, OutputArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Make a digital subject whose truth is known
#[derive(Debug, Args)]
pub(crate) struct PhantomCommand {
    #[command(subcommand)]
    kind: Kind,
}

/// The kinds there are.
#[derive(Debug, Subcommand)]
enum Kind {
    Crossing(crossing::Crossing),
    Gre(gre::Gre),
    Head(head::HeadCommand),
    Protocol(protocol::Protocol),
    Tensors(tensors::Tensors),
}

impl PhantomCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        match self.kind {
            Kind::Crossing(crossing) => crossing.run(console),
            Kind::Gre(gre) => gre.run(console),
            Kind::Head(head) => head.run(console),
            Kind::Protocol(protocol) => protocol.run(console),
            Kind::Tensors(tensors) => tensors.run(console),
        }
    }
}

/// What all kinds share.
#[derive(Debug, Args)]
struct Making {
    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

impl Making {
    fn make(self, spec: PhantomSpec, console: &Console) -> Result<(), Failure> {
        self.run(|format| Box::new(Phantom { spec, format }), console)
    }

    /// Makes the phantom whose images are in a format.
    fn run(
        self,
        phantom: impl FnOnce(MapFormat) -> Box<dyn Stage>,
        console: &Console,
    ) -> Result<(), Failure> {
        let Self { output, format, threads } = self;
        let phantom = phantom(format.format());
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("phantom", &[&*phantom], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
