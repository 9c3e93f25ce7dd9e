//! What of a session was made by which stage, as its record says: stages are kept, replaced and added one by
//! one, so that a run of one preset leaves what another has made.

use std::path::Path;

use fimbria_pipeline::{Fingerprint, OutputEntry, OutputFolder, RunRecord, place_below};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Where the record of a session has it.
const MADE: &str = "made";

/// What the stage called so stands for that makes no files of its own: the page, and what the group's table
/// says.
pub(crate) const PAGE: &str = "page";

/// What a stage of the run of a series makes, or has made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Made {
    /// The series.
    pub(crate) series: String,
    /// The stage; of a connectome with the name of its labels.
    pub(crate) stage: String,
    #[serde(flatten)]
    pub(crate) fingerprint: Fingerprint,
    /// Its files below the folder of the session.
    pub(crate) files: Vec<String>,
    /// Results of earlier runs that its table has lines of as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) gathered: Vec<String>,
    /// Whether it gathers what others made.
    #[serde(skip)]
    pub(crate) gathers: bool,
}

impl Made {
    /// Whether the two stand for the same results, of whatever inputs and options.
    pub(crate) fn is_for(&self, other: &Self) -> bool {
        (&self.series, &self.stage) == (&other.series, &other.stage)
    }

    /// Whether these are the results of `planned`, or have them among others.
    fn has_results_of(&self, planned: &Self) -> bool {
        let results = &planned.fingerprint.results;
        self.fingerprint.results == *results || self.gathered.contains(results)
    }

    /// The stage without the name of labels.
    pub(crate) fn method(&self) -> &str {
        self.stage.split(' ').next().unwrap_or(&self.stage)
    }

    fn is_page(&self) -> bool {
        self.stage == PAGE
    }
}

/// The pages of a session, from its folder.
pub(crate) fn pages_of(record: &RunRecord) -> impl Iterator<Item = &str> {
    let series = record.results.get("series").and_then(Value::as_array);
    series.into_iter().flatten().filter_map(|series| series["page"].as_str())
}

/// A finished session, as its record has it.
pub(crate) struct Earlier {
    pub(crate) record: RunRecord,
    pub(crate) made: Vec<Made>,
}

/// How what is planned compares with what is there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Compared {
    /// What of it is to be made.
    pub(crate) missing: Vec<Made>,
    /// Stages that were made with other options.
    pub(crate) other_options: Vec<String>,
    /// Stages that were made of other inputs with the same options.
    pub(crate) other_inputs: Vec<String>,
}

impl Earlier {
    /// The session in `folder`, if one is finished there.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        let record = RunRecord::read(&folder.join(OutputFolder::RECORD)).ok()?;
        let made = record.results.get(MADE).cloned().unwrap_or_default();
        Some(Self { record, made: serde_json::from_value(made).unwrap_or_default() })
    }

    fn entries<'a>(&'a self, made: &'a Made) -> impl Iterator<Item = &'a OutputEntry> {
        self.record.outputs.iter().filter(|output| made.files.contains(&output.file))
    }

    /// Compares what is planned with what is there in `folder`; whether the page of a series is, `has_page` says
    /// by what the record says of the series.
    pub(crate) fn compare(
        &self,
        planned: &[Made],
        folder: &Path,
        has_page: impl Fn(&Value) -> bool,
    ) -> Compared {
        let mut compared = Compared::default();
        // Of another version, which did not say what is of which stage.
        if self.made.is_empty() {
            compared.other_options.push("an earlier version".to_owned());
        }
        for made in planned {
            let before = self.made.iter().find(|before| before.is_for(made));
            let is_same = before.is_some_and(|before| before.has_results_of(made));
            let is_whole = is_same
                && before.is_some_and(|before| self.is_whole(before, folder))
                && (!made.is_page() || self.series(&made.series).is_some_and(&has_page));
            if is_whole {
                continue;
            }
            compared.missing.push(made.clone());
            let differs = !is_same && !made.is_page() && !made.gathers;
            let Some(before) = before.filter(|_| differs) else { continue };
            match before.fingerprint.options == made.fingerprint.options {
                true => compared.other_inputs.push(made.stage.clone()),
                false => compared.other_options.push(made.stage.clone()),
            }
        }
        compared
    }

    /// What the record says of a series.
    pub(crate) fn series(&self, name: &str) -> Option<&Value> {
        self.all_series().find(|series| series["name"] == name)
    }

    /// The same of all.
    pub(crate) fn all_series(&self) -> impl Iterator<Item = &Value> {
        self.record.results.get("series").and_then(Value::as_array).into_iter().flatten()
    }

    /// Whether the files of a stage are there as they were written.
    fn is_whole(&self, made: &Made, folder: &Path) -> bool {
        let entries: Vec<_> = self.entries(made).collect();
        entries.len() == made.files.len() && entries.iter().all(|entry| entry.is_whole_in(folder))
    }

    /// What stays in `folder` where `planned` is made: stages, and files, also those that no stage is said to
    /// have made.
    pub(crate) fn staying(&self, planned: &[Made], folder: &Path) -> (Vec<Made>, Vec<OutputEntry>) {
        let is_planned = |made: &Made| planned.iter().any(|planned| planned.is_for(made));
        let (replaced, staying): (Vec<_>, Vec<_>) =
            self.made.iter().cloned().partition(|made| is_planned(made));
        let is_replaced =
            |output: &OutputEntry| replaced.iter().any(|made| made.files.contains(&output.file));
        let is_there = |output: &OutputEntry| place_below(folder, &output.file).is_some();
        let outputs = self.record.outputs.iter().filter(|o| !is_replaced(o) && is_there(o));
        (staying, outputs.cloned().collect())
    }
}

/// Notes in the record of a session what was made of it, and of what is `staying` of the `earlier` one what its
/// record says.
pub(crate) fn note(
    record: &mut RunRecord,
    made: &[Made],
    staying: &[Made],
    earlier: Option<&Earlier>,
) {
    record.results.insert(MADE.to_owned(), json!(made));
    let Some(Earlier { record: before, .. }) = earlier else { return };
    if staying.is_empty() {
        return;
    }
    for input in &before.inputs {
        if !record.inputs.contains(input) {
            record.inputs.push(input.clone());
        }
    }
    for one in staying {
        let (series, stage) = (&one.series, one.method());
        let parameters = &before.parameters[series][stage];
        if record.parameters[series][stage].is_null() && !parameters.is_null() {
            record.parameters[series][stage] = parameters.clone();
        }
        if record.stages.iter().any(|timed| timed.name == stage) {
            continue;
        }
        let of_stage = before.stages.iter().filter(|timed| timed.name == stage);
        record.stages.extend(of_stage.cloned());
        let prefix = format!("{stage}: ");
        let warnings = before.warnings.iter().filter(|warning| warning.starts_with(&prefix));
        record.warnings.extend(warnings.cloned());
    }
}
