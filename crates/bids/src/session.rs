//! A session made: the runs of its series, and their results put in place.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use fimbria_image::GradientTable;
use fimbria_pipeline::options::Values;
use fimbria_pipeline::stages::gradients::GRADIENTS_FIXED;
use fimbria_pipeline::stages::quality::Quality;
use fimbria_pipeline::stages::report::methods_of;
use fimbria_pipeline::{
    ByteSize, Choice as _, Existing, Finished, Hashing, InputEntry, Logbook, MapLayout, MapStyle,
    Named, OutputEntry, OutputFolder, Page, PipelineError, RunConfig, RunRecord,
    Session as Machine, Stage, StageRecords, fingerprint_of_run, run_stages,
};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::claim::Claim;
use crate::files::{OWN, make_folder, replace};
use crate::group::subject_page;
use crate::participants::{Ended, Participants, ReportLevel};
use crate::publish::Ran;
use crate::seen::Seen;
use crate::tables::doubt_of;
use crate::{BidsError, Labels, Series, Session, citation, numbers, verdicts};

/// A change of names, sidecars or records makes finished sessions again.
const SHAPE: u32 = 2;

/// What the run of a series is told, and name and files of the labels between which streamlines are counted.
type Configured<'a> = (RunConfig, Option<(&'a str, &'a Labels)>);

/// A run of a series that is to be made.
struct Planned<'a> {
    series: &'a Series,
    labels: Option<(&'a str, &'a Labels)>,
    folder: PathBuf,
    stages: Vec<Box<dyn Stage>>,
}

impl Planned<'_> {
    /// What is read beside what the stages read: by what role, and where it is.
    fn own(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let table = self.label_names().map(|table| ("label_names", table));
        let image_qc = self.series.image_qc.as_deref().map(|table| ("image_qc", table));
        table.into_iter().chain(image_qc)
    }

    /// The table that says what the labels are called.
    fn label_names(&self) -> Option<&Path> {
        self.labels.and_then(|(_, labels)| labels.table.as_deref())
    }

    /// The same with their hashes.
    fn own_inputs(&self) -> Result<Vec<InputEntry>, BidsError> {
        let own = self.own().map(|(role, path)| (role.to_owned(), path.to_owned()));
        Ok(Hashing::start(own.collect()).finish().map_err(PipelineError::from)?)
    }
}

impl Participants {
    fn work(&self, session: &Session) -> PathBuf {
        let work = self.work.clone().unwrap_or_else(|| self.out.join(OWN).join("work"));
        work.join(session.name())
    }

    /// The series of a session, and apart those without a weighted volume beside them.
    fn weighted<'s>(&self, session: &'s Session) -> (Vec<&'s Series>, Vec<&'s Series>) {
        let threshold = self.config.input.b0_threshold;
        let threshold = threshold.unwrap_or(GradientTable::DEFAULT_B0_THRESHOLD);
        let is_unweighted = |series: &&Series| series.is_unweighted(threshold);
        let (unweighted, weighted): (Vec<_>, Vec<_>) =
            session.series.iter().partition(is_unweighted);
        // Where there are no others the run says what it lacks.
        if weighted.is_empty() { (unweighted, weighted) } else { (weighted, unweighted) }
    }

    /// Makes a session, unless it is there, within so much memory.
    pub(crate) fn session(
        &self,
        session: &Session,
        memory: Option<ByteSize>,
        machine: Machine<'_>,
    ) -> Result<Ended, BidsError> {
        let work = self.work(session);
        let (series, unweighted) = self.weighted(session);
        // Of several the error says which.
        let named = |series: &Series, error: BidsError| match session.series.len() {
            1 => error,
            _ => BidsError::Series { series: series.name.to_string(), source: Box::new(error) },
        };
        let mut planned = Vec::new();
        for series in series {
            planned.push(self.plan(series, &work, memory).map_err(|error| named(series, error))?);
        }
        let folder = self.out.join(session.folder());
        let read = || RunRecord::read(&folder.join(OutputFolder::RECORD)).ok();
        let seen = |planned: &[Planned<'_>], record: &RunRecord| {
            let stages = planned.iter().flat_map(|planned| &planned.stages).map(|stage| &**stage);
            let own = planned.iter().flat_map(Planned::own).map(|(_, path)| path);
            Seen::now(&self.out, &session.name(), &folder, &self.shape(), stages, own, record)
        };
        let earlier = if self.force { None } else { read() };
        if earlier.as_ref().is_some_and(|record| seen(&planned, record).is_same()) {
            return Ok(Ended::Kept);
        }
        let fingerprint = self.fingerprint(&planned)?;
        let whole = earlier.filter(|record| record.is_complete_in(&folder));
        let is_same = |record: &&RunRecord| record.fingerprint.as_ref() == Some(&fingerprint);
        if let Some(record) = whole.as_ref().filter(is_same) {
            // What a process left that was killed right after it had finished.
            OutputFolder::clear_beside(&folder);
            let _ = fs::remove_dir_all(&work);
            self.page_of_subject(session)?;
            seen(&planned, record).note()?;
            return Ok(Ended::Kept);
        }
        let existing = if self.force { Existing::Overwrite } else { Existing::Resume };
        let log = Logbook::new(machine);
        let (mut ran, mut results) = (Vec::new(), Vec::new());
        if whole.is_some() {
            log.warn(
                Page::Bids,
                &format!(
                    "{}: what is there was made with other options or inputs, and is replaced",
                    session.name()
                ),
            );
        }
        for series in unweighted {
            log.warn(
                Page::Bids,
                &format!(
                    "{} is no series: no volume is weighted (as of a scan that tells distortion)",
                    series.name
                ),
            );
        }
        for one in &planned {
            let Planned { series, labels, folder, stages } = one;
            if let Some(doubt) = one.label_names().and_then(doubt_of) {
                log.warn(Page::Bids, &format!("{doubt}: regions have no names"));
            }
            make_folder(folder)?;
            let Finished { products, mut record } =
                run_stages("bids", stages, folder, existing, machine)
                    .map_err(|error| named(series, error.into()))?;
            let records = products.find::<StageRecords>().map(|records| &records.0[..]);
            let methods = citation::kept(&methods_of(records.unwrap_or_default()));
            // Maps are read again one by one: all of them would be in memory twice.
            drop(products);
            log.adopt(record.stages.iter().cloned());
            let numbers = machine.on.workers.install(|| numbers::of_run(folder, &record))?;
            record.inputs.extend(one.own_inputs()?);
            let (labels, folder) = (*labels, folder.clone());
            let ran_now = Ran { data_set: &self.data_set, series, labels, folder, record };
            let quality = verdicts::of_run(&ran_now.folder)?;
            let mut result = json!({
                "columns": numbers,
                "input_columns": of_input(series, quality.as_ref()),
                verdicts::VERDICTS: quality.map(|quality| quality.verdicts),
                citation::METHODS: methods,
            });
            if let Some(mended) = ran_now.mended() {
                result[GRADIENTS_FIXED] = json!(mended);
            }
            results.push(result);
            ran.push(ran_now);
        }
        self.publish(session, &ran, results, fingerprint, &log)?;
        self.page_of_subject(session)?;
        // What is left of the runs are their records and pages.
        let _ = fs::remove_dir_all(&work);
        if let Some(record) = read() {
            seen(&planned, &record).note()?;
        }
        Ok(Ended::Done)
    }

    /// Writes the page of a subject with sessions, of those that are finished.
    fn page_of_subject(&self, session: &Session) -> Result<(), BidsError> {
        if session.session.is_none() {
            return Ok(());
        }
        let _claim = Claim::of_root(&self.out)?;
        subject_page(&self.out, &format!("sub-{}", session.subject), self.level)
    }

    /// Puts what was run in its place: pages first, then the folder of the session as a whole.
    fn publish(
        &self,
        session: &Session,
        all: &[Ran<'_>],
        results: Vec<Value>,
        fingerprint: String,
        log: &Logbook<'_>,
    ) -> Result<(), BidsError> {
        let folder = self.out.join(session.folder());
        let unfinished = log.session().unfinished;
        let earlier = RunRecord::read(&folder.join(OutputFolder::RECORD)).ok();
        let mut out = OutputFolder::create(&folder, &[], true, unfinished)?;
        let inputs: Vec<_> = all.iter().flat_map(|ran| ran.record.inputs.clone()).collect();
        let parameters =
            all.iter().map(|ran| (ran.names().label().to_owned(), ran.record.parameters.clone()));
        let mut record = log.record("bids", inputs, Value::Object(parameters.collect()));
        record.fingerprint = Some(fingerprint);
        let mut series_results = Vec::new();
        for (ran, mut entry) in all.iter().zip(results) {
            let name = match all.len() {
                1 => session.name(),
                _ => ran.names().label().to_owned(),
            };
            let up = self.above(session);
            let page = format!("{up}{name}.html");
            let text = fs::read(ran.page()).map_err(BidsError::io("read", ran.page()))?;
            if up.is_empty() {
                out.write(&page, &text)?;
            } else {
                replace(&folder.join(&page), &text)?;
                let (bytes, xxh3_128) = (text.len() as u64, format!("{:032x}", xxh3_128(&text)));
                record.outputs.push(OutputEntry { file: page.clone(), bytes, xxh3_128 });
            }
            // Images of some models are read and written anew.
            log.session().on.workers.install(|| ran.publish(&mut out))?;
            record.warnings.extend(ran.record.warnings.iter().cloned());
            entry["name"] = json!(ran.names().label());
            entry["page"] = json!(page);
            series_results.push(entry);
        }
        record.results.insert("series".to_owned(), json!(series_results));
        let record = out.commit(record)?;
        // A page that was elsewhere before.
        for before in earlier.iter().flat_map(|record| &record.outputs) {
            let is_left = record.outputs.iter().all(|output| output.file != before.file);
            if is_left && before.file.starts_with("../") {
                let _ = fs::remove_file(folder.join(&before.file));
            }
        }
        Ok(())
    }

    /// The way from the folder of a session to that of its page.
    fn above(&self, session: &Session) -> &'static str {
        match (self.level, &session.session) {
            (ReportLevel::Root, Some(_)) => "../../",
            (ReportLevel::Root, None) | (ReportLevel::Subject, Some(_)) => "../",
            (ReportLevel::Subject, None) | (ReportLevel::Session, _) => "",
        }
    }

    /// What of the derivatives depends on no run.
    fn shape(&self) -> String {
        format!("{SHAPE} {}", self.level.name())
    }

    fn fingerprint(&self, planned: &[Planned<'_>]) -> Result<String, BidsError> {
        let mut all = self.shape();
        for one in planned {
            let Planned { series, stages, labels, .. } = one;
            let labels = labels.map_or("", |(name, _)| name);
            all += &format!(" {} {labels} {}", series.name, fingerprint_of_run(stages)?);
            for InputEntry { role, xxh3_128, .. } in one.own_inputs()? {
                all += &format!(" {role} {xxh3_128}");
            }
        }
        Ok(format!("{:032x}", xxh3_128(all.as_bytes())))
    }

    fn plan<'a>(
        &'a self,
        series: &'a Series,
        work: &Path,
        memory: Option<ByteSize>,
    ) -> Result<Planned<'a>, BidsError> {
        let (mut config, labels) = self.configured(series)?;
        config.input.memory = memory;
        let folder = work.join(series.name.clone().without("desc").prefix().trim_end_matches('_'));
        let stages = config.stages(&folder)?;
        Ok(Planned { series, labels, folder, stages })
    }

    /// What the run of a series takes, of all of a session the most; `None` where that cannot be told.
    pub(crate) fn memory_needed(&self, session: &Session) -> Option<u64> {
        let mut most = 1;
        for series in &session.series {
            // What cannot be read fails before it takes any.
            let Ok((config, _)) = self.configured(series) else { continue };
            match config.memory_needed() {
                Ok(Some(needed)) => most = needed.0.max(most),
                Ok(None) => return None,
                Err(_) => {}
            }
        }
        Some(most)
    }

    /// What the run of a series is told, and between which labels streamlines are counted.
    fn configured<'a>(&'a self, series: &'a Series) -> Result<Configured<'a>, BidsError> {
        let preset = self.config.run.preset.map(|Named(preset)| preset);
        let asks = |table: &str| self.config.tables.contains_key(table);
        let mut config = self.config.clone();
        config.input.dwi = series.dwi.clone();
        config.input.mask = series.mask.clone();
        config.input.grad_dev = series.grad_dev.clone();
        if let Some([bval, bvec]) = series.tables.clone() {
            (config.input.bval, config.input.bvec) = (Some(bval), Some(bvec));
        }
        config.maps = MapStyle { format: None, layout: Named(MapLayout::Bids) };
        if let Some(path) = &series.confounds {
            let table = config.tables.entry("quality".to_owned()).or_default();
            table.entry("confounds".to_owned()).or_insert_with(|| json!(path));
        }
        let title = series.name.clone().without("desc").prefix();
        config.report.title = Some(title.trim_end_matches('_').replace('_', " "));
        let needs_scan = ["gre", "field", "qsm"].iter().any(|table| asks(table))
            || preset == Some(fimbria_pipeline::Preset::Susceptibility);
        if needs_scan || preset.is_some_and(|preset| preset.maps_susceptibility()) {
            match &series.echoes {
                Some([phase, magnitude]) => {
                    let scan = config.tables.entry("gre".to_owned()).or_default();
                    scan.insert("phase".to_owned(), json!(phase));
                    if !magnitude.is_empty() {
                        scan.insert("magnitude".to_owned(), json!(magnitude));
                    }
                }
                None if needs_scan => return Err(BidsError::NoScan),
                None => {}
            }
        }
        let mut labels = None;
        if asks("connectome") || preset.is_some_and(|preset| preset.tracks()) {
            labels = self.labels(series)?;
            if let Some((_, Labels { image, .. })) = labels {
                let table: &mut Values = config.tables.entry("connectome".to_owned()).or_default();
                table.insert("labels".to_owned(), json!(image));
            }
        }
        if let Some(path) = series.tissues.as_ref().filter(|_| self.anatomy)
            && config.follows_densities()
        {
            let table = config.tables.entry("track".to_owned()).or_default();
            table.insert("act".to_owned(), json!(path));
        }
        Ok((config, labels))
    }

    /// The labels between which streamlines of a series are counted; `None` where it has none.
    fn labels<'a>(&self, series: &'a Series) -> Result<Option<(&'a str, &'a Labels)>, BidsError> {
        let known = || series.labels.keys().cloned().collect::<Vec<_>>();
        let entry = match (&self.atlas, series.labels.len()) {
            (Some(name), _) => match series.labels.get_key_value(name) {
                None => return Err(BidsError::NoAtlas { name: name.clone(), known: known() }),
                entry => entry,
            },
            (None, 0 | 1) => series.labels.first_key_value(),
            (None, _) => return Err(BidsError::Atlases(known())),
        };
        Ok(entry.map(|(name, labels)| (name.as_str(), labels)))
    }
}

/// More bytes than the heading and the first row of a table of image quality have.
const MOST_OF_A_ROW: u64 = 1 << 20;

/// What others measured of the input: the mean displacement from volume to volume, and the columns of
/// QSIPrep's own table.
fn of_input(series: &Series, quality: Option<&Quality>) -> Map<String, Value> {
    let mut columns = Map::new();
    let moved = quality.iter().flat_map(|quality| quality.framewise_mm.iter().flatten());
    let moved: Vec<f64> = moved.copied().collect();
    if !moved.is_empty() {
        let mean = moved.iter().sum::<f64>() / moved.len() as f64;
        columns.insert("framewise_displacement_mean".to_owned(), json!(mean));
    }
    let first_row = |path: &Path| {
        let file = fimbria_image::open_regular(path).ok()?;
        let mut lines = BufReader::new(file.take(MOST_OF_A_ROW)).lines().map_while(Result::ok);
        // Before 1.0 QSIPrep wrote it with commas.
        let between = if path.extension().is_some_and(|e| e == "csv") { ',' } else { '\t' };
        let mut row = || Some(lines.next()?.split(between).map(str::to_owned).collect::<Vec<_>>());
        Some((row()?, row()?))
    };
    if let Some((heading, row)) = series.image_qc.as_deref().and_then(first_row) {
        for (name, value) in heading.iter().zip(&row) {
            if let Ok(number) = value.parse::<f64>() {
                columns.insert(format!("input_{name}"), json!(number));
            }
        }
    }
    columns
}
