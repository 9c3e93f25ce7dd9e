//! What a run made, on its way into the folder of the session.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use fimbria_pipeline::stages::gradients::{GRADIENTS_FIXED, NOTHING_FIXED};
use fimbria_pipeline::stages::methods::derivatives;
use fimbria_pipeline::{DerivativeNames, Derived, OutputFolder, RunRecord};
use serde_json::Value;

use crate::files::move_file;
use crate::json::{read_json, write_json};
use crate::names::place;
use crate::sidecar::Common;
use crate::{BidsError, DataSet, Labels, Series, sticks};

/// A finished run of a series.
pub(crate) struct Ran<'a> {
    pub(crate) data_set: &'a DataSet,
    pub(crate) series: &'a Series,
    /// The name of the labels between which streamlines were counted, and their files.
    pub(crate) labels: Option<(&'a str, &'a Labels)>,
    /// The folder of the run.
    pub(crate) folder: PathBuf,
    /// Its record.
    pub(crate) record: RunRecord,
}

impl Ran<'_> {
    pub(crate) fn names(&self) -> DerivativeNames {
        DerivativeNames::from_series(&self.series.called, self.labels.map(|(name, _)| name))
    }

    /// The page of the run.
    pub(crate) fn page(&self) -> PathBuf {
        self.folder.join("report").join("report.html")
    }

    /// What was done to the gradient table; `None` where it was taken as it is.
    pub(crate) fn mended(&self) -> Option<String> {
        let record = self.folder.join("fix_gradients").join(OutputFolder::RECORD);
        let record = RunRecord::read(&record).ok()?;
        let done = record.results.get(GRADIENTS_FIXED)?.as_str()?;
        (done != NOTHING_FIXED).then(|| done.to_owned())
    }

    /// Moves every file of the run but its page to `out`, of the stages that are wanted, with the sidecars of
    /// BIDS; hands back what they are called by stages.
    pub(crate) fn publish(
        &self,
        out: &mut OutputFolder,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<BTreeMap<String, Vec<String>>, BidsError> {
        let labels = self.labels.map(|(_, labels)| labels);
        let is_constrained =
            self.record.parameters.get("track").is_some_and(|track| track["anatomy"].is_object());
        let tissues = self.series.tissues.as_deref().filter(|_| is_constrained);
        let common = Common::new(self.data_set, self.series, labels, tissues)
            .with_mended_table(self.mended());
        let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
        if is_wanted("sticks") {
            sticks::publish(&self.folder, &self.record, &self.names(), &common, out)?;
            files.insert("sticks".to_owned(), out.staged().to_vec());
        }
        let outputs = self.record.outputs.iter().filter_map(|output| output.file.split_once('/'));
        for (stage, file) in outputs.filter(|(stage, _)| is_wanted(stage)) {
            let begun = out.staged().len();
            self.publish_file(stage, file, &common, out)?;
            files.entry(stage.to_owned()).or_default().extend_from_slice(&out.staged()[begun..]);
        }
        Ok(files)
    }

    fn publish_file(
        &self,
        stage: &str,
        file: &str,
        common: &Common,
        out: &mut OutputFolder,
    ) -> Result<(), BidsError> {
        let Some(derivatives) = derivatives(stage) else { return Ok(()) };
        let (nothing, folder) = (Value::Null, self.folder.join(stage));
        let derived = Derived {
            stage,
            file,
            parameters: self.record.parameters.get(stage).unwrap_or(&nothing),
            folder: &folder,
            label_names: self.labels.and_then(|(_, labels)| labels.table.as_deref()),
        };
        let Some(place) = place(&self.names(), &derived) else { return Ok(()) };
        let from = folder.join(file);
        let complete = |sidecar| common.complete(derivatives.sources, sidecar);
        if file.ends_with(".json") {
            let mut sidecar = read_json(&from);
            (derivatives.complete)(&derived, &mut sidecar);
            return write_json(out, &place, &complete(sidecar));
        }
        if file.ends_with(".csv") && place.ends_with(".tsv") {
            let text = fs::read_to_string(&from).map_err(BidsError::io("read", &from))?;
            out.write(&place, text.replace(',', "\t").as_bytes())?;
        } else {
            move_file(&from, &out.stage(&place)?)?;
        }
        if let Some(sidecar) = (derivatives.describe)(&derived) {
            let stem = place.split('.').next().unwrap_or(&place);
            write_json(out, &format!("{stem}.json"), &complete(sidecar))?;
        }
        Ok(())
    }
}
