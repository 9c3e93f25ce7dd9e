//! `fimbria tract`: streamlines chosen and changed, images made of them, maps sampled along them, bundles found, cleaned and
//! measured.

mod bundles;
mod clean;
mod cluster;
mod edit;
mod map;
mod profile;
mod sample;

use clap::{Args, Subcommand};

use crate::console::Console;
use crate::failure::Failure;

/// Choose streamlines, make images of them, find bundles, clean them and measure maps along them
#[derive(Debug, Args)]
pub(crate) struct TractCommand {
    #[command(subcommand)]
    task: Task,
}

/// What there is to do.
#[derive(Debug, Subcommand)]
enum Task {
    Edit(Box<edit::EditCommand>),
    Bundles(Box<bundles::BundlesCommand>),
    Cluster(cluster::ClusterCommand),
    Clean(clean::CleanCommand),
    Profile(profile::ProfileCommand),
    Sample(sample::SampleCommand),
    Map(map::MapCommand),
}

impl TractCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        match self.task {
            Task::Edit(edit) => edit.run(console),
            Task::Bundles(bundles) => bundles.run(console),
            Task::Cluster(cluster) => cluster.run(console),
            Task::Clean(clean) => clean.run(console),
            Task::Profile(profile) => profile.run(console),
            Task::Sample(sample) => sample.run(console),
            Task::Map(map) => map.run(console),
        }
    }
}
