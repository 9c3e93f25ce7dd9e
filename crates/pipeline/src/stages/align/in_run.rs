//! Alignment in a run: an image of the subject is laid on its series, and what lies with it comes along.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::{AlignImages, AlignSettings, METHOD, label_file};
use crate::MapFormat;
use crate::options::{Described as _, Takes, Values};
use crate::stages::in_run::{InRunError, RunContext, Stages, options_of};
use crate::stages::label_names::table_beside;
use crate::stages::load::SubjectFiles;

/// The table `[align]` of a run.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub(super) struct AlignInRun {
    /// Image of the subject that is laid on the series, such as T1w
    #[arg(long, value_name = "IMAGE", required = true, takes = Takes::IMAGE)]
    moving: PathBuf,

    /// Tissues in its space, as `act` of [track]: streamlines end by them
    #[arg(long, value_name = "IMAGE", takes = Takes::IMAGE)]
    act: Option<PathBuf>,

    /// What is compared, and what comes along.
    #[command(flatten)]
    #[serde(flatten)]
    settings: AlignSettings,
}

/// The stage, onto the series as earlier stages hand it on.
pub(super) fn stages(run: &RunContext<'_>) -> Stages {
    let AlignInRun { moving, act, mut settings } = run.options(METHOD.name)?;
    if let Some(act) = act.filter(|act| !settings.labels.contains(act)) {
        settings.labels.push(act);
    }
    let moving = SubjectFiles { memory: run.memory, ..SubjectFiles::new(moving) };
    let format = run.style.map_format();
    Ok(vec![Box::new(AlignImages { moving, fixed: None, settings, format })])
}

/// Gives [connectome] and [regions] the first labels that [align] brings along in a run into the folder `root`,
/// where they have none of their own, and [track] its tissues. Where streamlines are asked for by a word
/// (`tracks`), labels make a connectome of them.
pub(crate) fn fill_in(
    tables: &mut BTreeMap<String, Values>,
    root: &Path,
    format: MapFormat,
    tracks: bool,
) -> Result<(), InRunError> {
    if !tables.contains_key(METHOD.name) {
        return Ok(());
    }
    let AlignInRun { act, settings, .. } = options_of(tables, METHOD.name)?;
    let text = |path: &Path| Value::from(path.to_string_lossy());
    let laid = |path: &Path| text(&root.join(METHOD.name).join(label_file(path, format)));
    if let Some(labels) = settings.labels.first() {
        if tracks {
            tables.entry("connectome".to_owned()).or_default();
        }
        for name in ["connectome", "regions"] {
            let Some(table) = tables.get_mut(name).filter(|table| !table.contains_key("labels"))
            else {
                continue;
            };
            table.insert("labels".to_owned(), laid(labels));
            if let Some(lut) = table_beside(labels) {
                table.entry("lut").or_insert(text(&lut));
            }
        }
    }
    if let Some(act) = act {
        tables.entry("track".to_owned()).or_default().entry("act").or_insert(laid(&act));
    }
    Ok(())
}
