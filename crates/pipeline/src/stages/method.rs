//! What a method says of itself for every room: its stage, its folder and its table in the file of a run.

use std::path::Path;

use fimbria_image::{Image, MapSpec, Mask};
use fimbria_report::Section;

use super::in_run::InRun;
use super::shown::Methods;
use crate::options::{OptionError, Options, Values, in_run, paths_beside};
use crate::{Derivatives, Products, RunRecord, Stage, StageError, Taken, Written};

/// A method, by the name of its stage; `methods.rs` lists them. Types of options and
/// stages stay inside its functions.
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// Its options in a run; `None` where there are none.
    pub(crate) table: Option<OptionTable>,
    /// When a run makes it, and how; `None` for fits, and for what no run makes by itself.
    pub(crate) in_run: Option<InRun>,
    /// What its command writes.
    pub(crate) writes: &'static [Written],
    /// Maps of the folder with this record that are not what `writes` has.
    pub(crate) maps: fn(&RunRecord) -> Vec<&'static MapSpec>,
    /// The stage that wrote the folder with this record, where the page shows what it restores.
    pub(crate) restored: fn(&RunRecord) -> Option<Box<dyn Stage>>,
    /// Its part of the page of a run.
    pub(crate) section: Option<PageSection>,
    /// Its files among derivatives of BIDS; `None` where they are none.
    pub(crate) derivatives: Option<Derivatives>,
    /// What was done, where one of these records is its own.
    pub(crate) text: fn(&[RunRecord]) -> Option<Methods>,
}

impl Method {
    /// A method of which nothing else is known.
    pub(crate) const fn named(name: &'static str) -> Self {
        Self {
            name,
            table: None,
            in_run: None,
            writes: &[],
            maps: |_| Vec::new(),
            restored: |_| None,
            section: None,
            derivatives: None,
            text: |_| None,
        }
    }
}

/// A part of the page of a run.
pub(crate) struct PageSection {
    /// What it is drawn of.
    pub(crate) takes: fn() -> Vec<Taken>,
    /// Draws it, where that was made.
    pub(crate) draw: fn(&Shown<'_>) -> Result<Option<Section>, StageError>,
}

/// What the page of a run is drawn of.
pub(crate) struct Shown<'p> {
    /// Of all stages.
    pub(crate) products: &'p Products,
    /// Of all stages, in order.
    pub(crate) records: &'p [RunRecord],
    /// What pictures lie upon, where there is one.
    pub(crate) fa: Option<&'p Image>,
    /// The voxels that were fitted.
    pub(crate) mask: &'p Mask,
}

/// The options of a stage as a table of a run's file.
pub(crate) struct OptionTable {
    /// Whether they are options of the stage, and do not contradict each other.
    pub(crate) check: fn(&Values) -> Result<(), OptionError>,
    /// Takes the files among them as relative to a folder.
    pub(crate) paths_beside: fn(&Path, &mut Values),
}

impl OptionTable {
    pub(crate) const fn of<T: Options>() -> Self {
        Self { check: |values| in_run::<T>(values).map(drop), paths_beside: paths_beside::<T> }
    }
}
