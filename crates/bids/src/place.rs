//! The results of a session put in their place.

use std::fs;

use fimbria_pipeline::{Logbook, OutputFolder};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::made::{Earlier, Made, PAGE, note, pages_of};
use crate::own::{is_as_written, is_free, put, remove};
use crate::participants::{Participants, ReportLevel};
use crate::planned::{Planned, key};
use crate::publish::Ran;
use crate::rows::page_below;
use crate::{BidsError, Session, citation, gathered};

/// Where a series has the hash of its page, which is no output of the session where it lies outside its folder.
const PAGE_HASH: &str = "page_xxh3_128";

impl Participants {
    /// The way from the folder of a session to that of its page.
    fn above(&self, session: &Session) -> &'static str {
        match (self.level, &session.session) {
            (ReportLevel::Root, Some(_)) => "../../",
            (ReportLevel::Root, None) | (ReportLevel::Subject, Some(_)) => "../",
            (ReportLevel::Subject, None) | (ReportLevel::Session, _) => "",
        }
    }

    /// Whether the page is as it was written, of a series by what the record says of it.
    pub(crate) fn page_is_whole(&self, session: &Session, series: &Value) -> bool {
        let page = page_below(&session.folder(), series["page"].as_str().unwrap_or_default());
        is_as_written(&self.out, &page, series[PAGE_HASH].as_str().unwrap_or_default())
    }

    /// Refuses to work where files of somebody else are in the way of what is to be made.
    pub(crate) fn refuse_others(
        &self,
        session: &Session,
        planned: &[Planned<'_>],
        missing: &[Made],
        earlier: Option<&Earlier>,
    ) -> Result<(), BidsError> {
        let folder = self.out.join(session.folder());
        let is_own = |name: &str| {
            let mut listed = earlier.iter().flat_map(|earlier| &earlier.record.outputs);
            let listed = listed.find(|output| output.file == name);
            listed.is_some_and(|output| fimbria_pipeline::is_own(&folder, output))
        };
        let mut names = Vec::new();
        for one in planned {
            let series = one.names();
            for stage in &one.stages {
                let key = key(stage.name(), one.labels);
                let is_missing = |made: &Made| made.series == series.label() && made.stage == key;
                if missing.iter().any(is_missing) {
                    let there = one.places(&**stage).into_iter().filter(|name| {
                        folder.join(name).symlink_metadata().is_ok() && !is_own(name)
                    });
                    names.extend(there);
                }
            }
            let page =
                format!("{}{}", self.above(session), self.page_name(session, series.label()));
            let below = page_below(&session.folder(), &page);
            let is_in_the_way = match page.starts_with("../") {
                true => !is_free(&self.out, &below)?,
                false => self.out.join(&below).symlink_metadata().is_ok() && !is_own(&page),
            };
            names.extend(is_in_the_way.then_some(page));
        }
        match names.is_empty() {
            true => Ok(()),
            false => Err(BidsError::InTheWay { folder, names }),
        }
    }

    /// The name of the page of a series of this label.
    fn page_name(&self, session: &Session, label: &str) -> String {
        match self.weighted(session).0.len() {
            1 => format!("{}.html", session.name()),
            _ => format!("{label}.html"),
        }
    }

    /// Puts what was run in its place, of stages that are `missing`: pages first, then the folder of the session,
    /// in which the rest of the `earlier` one stays.
    pub(crate) fn publish(
        &self,
        session: &Session,
        ran: &[Ran<'_>],
        results: Vec<Value>,
        missing: Vec<Made>,
        earlier: Option<&Earlier>,
        log: &Logbook<'_>,
    ) -> Result<(), BidsError> {
        let folder = self.out.join(session.folder());
        let mut out = OutputFolder::update(&folder, self.force, log.session().unfinished)?;
        let inputs: Vec<_> = ran.iter().flat_map(|ran| ran.record.inputs.clone()).collect();
        let parameters =
            ran.iter().map(|ran| (ran.names().label().to_owned(), ran.record.parameters.clone()));
        let mut record = log.record("bids", inputs, Value::Object(parameters.collect()));
        // A page is made anew whatever is added.
        let is_page = |made: &&Made| made.stage == PAGE;
        let mut replaced = missing.clone();
        let pages = earlier.iter().flat_map(|earlier| &earlier.made).filter(is_page);
        for page in pages.filter(|page| ran.iter().any(|ran| ran.names().label() == page.series)) {
            if !missing.iter().any(|made| made.is_for(page)) {
                replaced.push(page.clone());
            }
        }
        let (staying, files) =
            earlier.map(|earlier| earlier.staying(&replaced, &folder)).unwrap_or_default();
        out.keep(files);
        let mut made = staying.clone();
        let mut all_series = Vec::new();
        for (ran, mut entry) in ran.iter().zip(results) {
            let names = ran.names();
            let label = names.label();
            let up = self.above(session);
            let page = format!("{up}{}", self.page_name(session, label));
            let text = fs::read(ran.page()).map_err(BidsError::io("read", ran.page()))?;
            if up.is_empty() {
                out.write(&page, &text)?;
            } else if !put(&self.out, &page_below(&session.folder(), &page), &text, self.force)? {
                let names = vec![page];
                return Err(BidsError::InTheWay { folder, names });
            }
            let is_wanted = |stage: &str| {
                let key = key(stage, ran.labels);
                replaced.iter().any(|made| made.series == label && made.stage == key)
            };
            let mut gathered = Vec::new();
            for one in replaced.iter().filter(|made| made.series == label && made.gathers) {
                if let Some(earlier) = earlier {
                    gathered = gathered::extend(ran, one, earlier, &staying, &folder)?;
                }
            }
            // Images of some models are read and written anew.
            let mut files =
                log.session().on.workers.install(|| ran.publish(&mut out, &is_wanted))?;
            if up.is_empty() {
                files.insert(PAGE.to_owned(), vec![page.clone()]);
            }
            for one in replaced.iter().filter(|made| made.series == label) {
                let files = files.remove(one.method()).unwrap_or_default();
                let gathered = if one.gathers { gathered.clone() } else { Vec::new() };
                made.push(Made { files, gathered, ..one.clone() });
            }
            record.warnings.extend(ran.record.warnings.iter().cloned());
            entry["name"] = json!(label);
            entry["page"] = json!(page);
            entry[PAGE_HASH] = json!(format!("{:032x}", xxh3_128(&text)));
            let before = earlier.and_then(|earlier| earlier.series(label));
            if let Some(before) = before.filter(|_| staying.iter().any(|made| made.series == label))
            {
                citation::add(&mut entry, before);
                add_columns(&mut entry, before);
            }
            all_series.push(entry);
        }
        for before in earlier.iter().flat_map(|earlier| earlier.all_series()) {
            let is_there = staying.iter().any(|made| before["name"] == *made.series);
            if is_there && all_series.iter().all(|series| series["name"] != before["name"]) {
                all_series.push(before.clone());
            }
        }
        record.results.insert("series".to_owned(), json!(all_series));
        let all: String = made.iter().map(|made| &*made.fingerprint.results).collect();
        record.fingerprint = Some(format!("{:032x}", xxh3_128(all.as_bytes())));
        note(&mut record, &made, &staying, earlier);
        let record = out.commit(record)?;
        // A page that was elsewhere before.
        for before in earlier.iter().flat_map(|earlier| pages_of(&earlier.record)) {
            if before.starts_with("../") && pages_of(&record).all(|page| page != before) {
                remove(&self.out, &page_below(&session.folder(), before))?;
            }
        }
        Ok(())
    }
}

/// What the group's table says of a series stays where nothing new is said.
fn add_columns(entry: &mut Value, before: &Value) {
    let Some(columns) = before["columns"].as_object() else { return };
    for (name, value) in columns {
        if entry["columns"][name].is_null() {
            entry["columns"][name] = value.clone();
        }
    }
}
