//! A session made: the runs of its series, and their results put in place.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use fimbria_image::GradientTable;
use fimbria_pipeline::options::Values;
use fimbria_pipeline::stages::gradients::GRADIENTS_FIXED;
use fimbria_pipeline::stages::methods::derivatives;
use fimbria_pipeline::stages::quality::Quality;
use fimbria_pipeline::stages::report::methods_of;
use fimbria_pipeline::{
    ByteSize, Choice as _, Existing, Fingerprint, Finished, Logbook, MapLayout, MapStyle, Named,
    OutputFolder, Page, RunConfig, Session as Machine, StageRecords, fingerprints_of_run,
    hash_file, run_stages,
};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::claim::Claim;
use crate::files::make_folder;
use crate::group::subject_page;
use crate::made::{Earlier, Made, PAGE};
use crate::participants::{Ended, Participants, theirs};
use crate::planned::{Planned, key, named};
use crate::publish::Ran;
use crate::tables::doubt_of;
use crate::work::Work;
use crate::{BidsError, Labels, Series, Session, citation, numbers, verdicts};

/// A change of names, sidecars or records makes finished sessions again.
const SHAPE: u32 = 3;

/// What the run of a series is told, and name and files of the labels between which streamlines are counted.
type Configured<'a> = (RunConfig, Option<(&'a str, &'a Labels)>);

impl Participants {
    /// The series of a session, and apart those without a weighted volume beside them.
    pub(crate) fn weighted<'s>(&self, session: &'s Session) -> (Vec<&'s Series>, Vec<&'s Series>) {
        let threshold = self.config.input.b0_threshold;
        let threshold = threshold.unwrap_or(GradientTable::DEFAULT_B0_THRESHOLD);
        let is_unweighted = |series: &&Series| series.is_unweighted(threshold);
        let (unweighted, weighted): (Vec<_>, Vec<_>) =
            session.series.iter().partition(is_unweighted);
        // Where there are no others the run says what it lacks.
        if weighted.is_empty() { (unweighted, weighted) } else { (weighted, unweighted) }
    }

    /// Makes what of a session is not there, within so much memory.
    pub(crate) fn session(
        &self,
        session: &Session,
        memory: Option<ByteSize>,
        machine: Machine<'_>,
    ) -> Result<Ended, BidsError> {
        let session = &self.joined(session)?;
        let (name, folder) = (session.name(), self.out.join(session.folder()));
        let work = Work::new(self.work.as_deref(), &self.out);
        let (_, unweighted) = self.weighted(session);
        let planned = self.plans(session, memory)?;
        let seen = |earlier: &Earlier| self.seen(session, &planned, earlier);
        let is_same = |earlier: &Earlier| seen(earlier).is_same();
        if !self.force && Earlier::read(&folder).as_ref().is_some_and(is_same) {
            return Ok(Ended::Kept);
        }
        if folder.is_dir() {
            // A change that was killed halfway is undone before what is there counts.
            drop(OutputFolder::update(&folder, self.force, machine.unfinished)?);
        }
        let earlier = Earlier::read(&folder);
        let mut made = Vec::new();
        for one in &planned {
            made.extend(self.made_by(one)?);
        }
        let log = Logbook::new(machine);
        let missing = match &earlier {
            Some(earlier) if !self.force => {
                let compared =
                    earlier.compare(&made, &folder, |page| self.page_is_whole(session, page));
                if !compared.other_options.is_empty() {
                    let stages = compared.other_options;
                    return Err(BidsError::OtherOptions { session: name, stages });
                }
                if !compared.other_inputs.is_empty() {
                    log.warn(
                        Page::Bids,
                        &format!(
                            "{name}: results of {} were made of other inputs, and are replaced",
                            compared.other_inputs.join(", ")
                        ),
                    );
                }
                compared.missing
            }
            _ => made.clone(),
        };
        if let (Some(earlier), true) = (&earlier, missing.is_empty()) {
            // What a process left that was killed right after it had finished.
            OutputFolder::clear_beside(&folder);
            work.clear(&name);
            self.page_of_subject(session, &log)?;
            seen(earlier).note()?;
            return Ok(Ended::Kept);
        }
        if !self.force {
            self.refuse_others(session, &planned, &missing, earlier.as_ref())?;
        }
        work.begin(&name)?;
        let existing = if self.force { Existing::Overwrite } else { Existing::Resume };
        let (mut ran, mut results) = (Vec::new(), Vec::new());
        for series in unweighted {
            log.warn(
                Page::Bids,
                &format!(
                    "{} is no series: no volume is weighted (as of a scan that tells distortion)",
                    series.name
                ),
            );
        }
        for sentence in session.apart.iter().cloned().chain(self.unmade(&planned, earlier.as_ref()))
        {
            log.warn(Page::Bids, &sentence);
        }
        for one in &planned {
            let Planned { series, labels, folder, stages } = one;
            if let Some(doubt) = one.label_names().and_then(doubt_of) {
                log.warn(Page::Bids, &format!("{doubt}: regions have no names"));
            }
            make_folder(folder)?;
            let Finished { products, mut record } =
                run_stages("bids", stages, folder, existing, machine)
                    .map_err(|error| named(session, series, error.into()))?;
            one.leave_out_others(&mut record);
            let records = products.find::<StageRecords>().map(|records| &records.0[..]);
            let methods = citation::kept(&methods_of(records.unwrap_or_default()));
            // Maps are read again one by one: all of them would be in memory twice.
            drop(products);
            log.adopt(record.stages.iter().cloned());
            let numbers = machine.on.workers.install(|| numbers::from_run(folder, &record))?;
            record.inputs.extend(one.own_inputs()?);
            let (labels, folder) = (*labels, folder.clone());
            let ran_now = Ran { data_set: &self.data_set, series, labels, folder, record };
            let quality = verdicts::from_run(&ran_now.folder)?;
            let mut result = json!({
                "columns": numbers,
                "input_columns": input_columns(series, quality.as_ref()),
                verdicts::VERDICTS: quality.map(|quality| quality.verdicts),
                citation::METHODS: methods,
            });
            if let Some(mended) = ran_now.mended() {
                result[GRADIENTS_FIXED] = json!(mended);
            }
            results.push(result);
            ran.push(ran_now);
        }
        self.publish(session, &ran, results, missing, earlier.as_ref(), &log)?;
        self.page_of_subject(session, &log)?;
        // What is left of the runs are their records and pages.
        work.clear(&name);
        if let Some(earlier) = Earlier::read(&folder) {
            seen(&earlier).note()?;
        }
        Ok(Ended::Done)
    }

    /// Writes the page of a subject with sessions, of those that are finished. One that has a series outside its
    /// sessions, too, has a page by its name already.
    fn page_of_subject(&self, session: &Session, log: &Logbook<'_>) -> Result<(), BidsError> {
        if session.session.is_none() || session.is_beside_others {
            return Ok(());
        }
        let _claim = Claim::take_root(&self.out)?;
        let subject = format!("sub-{}", session.subject);
        if !subject_page(&self.out, &subject, self.level)? {
            log.warn(Page::Bids, &theirs(&format!("{subject}.html")));
        }
        Ok(())
    }

    /// What of the derivatives depends on no run.
    pub(crate) fn shape(&self) -> String {
        format!("{SHAPE} {}", self.level.name())
    }

    /// What the run of a series makes, stage by stage; the page last.
    fn made_by(&self, one: &Planned<'_>) -> Result<Vec<Made>, BidsError> {
        let series = one.names().label().to_owned();
        let hash = |text: String| format!("{:032x}", xxh3_128(text.as_bytes()));
        let own = one.own_inputs()?;
        let own_hash = |role: &str| -> String {
            own.iter().filter(|own| own.role == role).map(|own| &*own.xxh3_128).collect()
        };
        let mut page = format!("{} {}", self.shape(), own_hash("image_qc"));
        let mut all = Vec::new();
        for (stage, mut fingerprint) in
            one.stages.iter().zip(fingerprints_of_run(&one.stages, &one.folder)?)
        {
            if one.places(&**stage).is_empty() {
                // A page is of whatever was made; its own part is what it is told and reads by itself.
                if ["quality", "report"].contains(&stage.name()) {
                    page += &stage.parameters().to_string();
                    for (_, path) in stage.inputs() {
                        let hashed = hash_file(&path).map_err(BidsError::io("read", path))?;
                        page += &hashed.1;
                    }
                }
                continue;
            }
            if stage.name() == "connectome" {
                fingerprint.results += &own_hash("label_names");
            }
            let Fingerprint { results, options } = fingerprint;
            let [results, options] = [results, options].map(|all| hash(format!("{SHAPE} {all}")));
            let gathers = derivatives(stage.name()).is_some_and(|of_stage| of_stage.gathers);
            let (series, stage) = (series.clone(), key(stage.name(), one.labels));
            let fingerprint = Fingerprint { results, options };
            let (files, gathered) = (Vec::new(), Vec::new());
            all.push(Made { series, stage, fingerprint, files, gathered, gathers });
        }
        let (stage, fingerprint) =
            (PAGE.to_owned(), Fingerprint { results: hash(page), options: String::new() });
        let (files, gathered) = (Vec::new(), Vec::new());
        all.push(Made { series, stage, fingerprint, files, gathered, gathers: false });
        Ok(all)
    }

    pub(crate) fn plan<'a>(
        &'a self,
        series: &'a Series,
        work: &Path,
        memory: Option<ByteSize>,
    ) -> Result<Planned<'a>, BidsError> {
        let (mut config, labels) = self.configured(series)?;
        config.input.memory = memory;
        let folder =
            work.join(series.called.clone().without("desc").prefix().trim_end_matches('_'));
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
        if config.corrects() && series.name.entity("desc").is_some() {
            return Err(BidsError::Preprocessed(series.name.to_string()));
        }
        config.input = series.files(&config.input);
        config.entities = Some(series.called.clone().without("desc").prefix());
        config.maps = MapStyle { format: None, layout: Named(MapLayout::Bids) };
        if let Some(path) = &series.confounds {
            let table = config.tables.entry("quality".to_owned()).or_default();
            table.entry("confounds".to_owned()).or_insert_with(|| json!(path));
        }
        let title = series.called.clone().without("desc").prefix();
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
        let tracks = asks("connectome") || preset.is_some_and(|preset| preset.tracks());
        // Regions alone do not ask which of several labels are meant.
        let labels = match tracks || self.atlas.is_some() || series.labels.len() == 1 {
            true => self.labels(series)?,
            false => None,
        };
        if let Some((_, Labels { image, table })) = labels {
            let mut given = match series.moves_with(image) {
                Some(t1w) => {
                    let align = config.tables.entry("align".to_owned()).or_default();
                    align.insert("moving".to_owned(), json!(t1w));
                    align.insert("labels".to_owned(), json!([image]));
                    Values::new()
                }
                None => Values::from_iter([("labels".to_owned(), json!(image))]),
            };
            if tracks {
                let connectome = config.tables.entry("connectome".to_owned()).or_default();
                connectome.append(&mut given.clone());
            }
            given.extend(table.iter().map(|table| ("lut".to_owned(), json!(table))));
            config.tables.entry("regions".to_owned()).or_default().append(&mut given);
        }
        if let Some(path) = series.tissues.as_ref().filter(|_| self.anatomy)
            && config.follows_densities()
        {
            let (table, moving) = match series.moves_with(path) {
                Some(t1w) => ("align", Some(("moving".to_owned(), json!(t1w)))),
                None => ("track", None),
            };
            let table = config.tables.entry(table.to_owned()).or_default();
            table.extend(moving);
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
fn input_columns(series: &Series, quality: Option<&Quality>) -> Map<String, Value> {
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
