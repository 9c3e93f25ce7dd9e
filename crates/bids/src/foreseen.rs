//! What a call would do, with the time, memory and disk that it is expected to take: nothing is written.
//!
//! Rates are those of the run in `benches/runs/2026-11-25-epyc-2core/bids.txt` (1,503,734 voxels, 288 volumes, a million
//! streamlines, 1.68 of two cores), in seconds of one core. Where sessions are finished their own times correct
//! them.

use fimbria_image::{ImageHeader, read_image};
use fimbria_pipeline::ByteSize;
use serde_json::Value;

use crate::failed::chain;
use crate::made::Earlier;
use crate::planned::Planned;
use crate::{BidsError, Participants, Series, Session};

/// What a stage takes time and disk for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// A number of the file.
    Raw,
    /// A number in the mask.
    Sample,
    /// A voxel of the mask.
    Voxel,
    Streamline,
    Session,
}

use Unit::{Raw, Sample, Session as Once, Streamline, Voxel};

/// What a stage is expected to take.
struct Rate {
    stage: &'static str,
    /// Seconds of a core by unit, and whether several cores share them.
    seconds: f64,
    unit: Unit,
    shared: bool,
    /// Bytes of its files by another unit.
    bytes: f64,
    of: Unit,
}

const fn rate(
    stage: &'static str,
    (seconds, unit, shared): (f64, Unit, bool),
    (bytes, of): (f64, Unit),
) -> Rate {
    Rate { stage, seconds, unit, shared, bytes, of }
}

/// By name; a stage that is not here was not measured.
const RATES: [Rate; 14] = [
    rate("load", (20e-9, Raw, false), (0.0, Once)),
    rate("plan", (0.0, Once, false), (0.0, Once)),
    rate("dti", (15.5e-9, Sample, true), (70.0, Voxel)),
    rate("gradients", (0.7, Once, true), (0.0, Once)),
    rate("quality", (8e-9, Sample, true), (0.0, Once)),
    rate("normalise", (0.5e-6, Voxel, true), (8.0, Voxel)),
    rate("fod", (285e-6, Voxel, true), (170.0, Voxel)),
    rate("peaks", (2.5e-6, Voxel, true), (60.0, Voxel)),
    rate("track", (208e-6, Streamline, true), (1870.0, Streamline)),
    rate("sift2", (389e-6, Streamline, true), (12.0, Streamline)),
    rate("connectome", (3.4e-6, Streamline, true), (1e5, Once)),
    rate("dki", (60e-9, Sample, true), (120.0, Voxel)),
    rate("msdki", (8.2e-9, Sample, true), (15.0, Voxel)),
    rate("report", (18.0, Once, false), (25e6, Once)),
];

/// What a session is expected to take.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Needs {
    /// The stages that are made.
    pub stages: Vec<String>,
    /// Seconds on so many threads.
    pub seconds: f64,
    /// Bytes of files.
    pub disk: f64,
    /// Bytes of memory, where that can be told.
    pub memory: Option<u64>,
    /// The stages that no rate is known of: what they take comes on top.
    pub unmeasured: Vec<String>,
    /// Why series are not corrected together that could be, a sentence each.
    pub apart: Vec<String>,
}

/// What would become of a session.
#[derive(Debug)]
pub enum Foreseen {
    /// It is finished, of the same inputs with the same parameters.
    Kept,
    /// It would be made.
    Made(Needs),
    /// It could not be made.
    Failed(BidsError),
}

/// What there is of each unit in a series.
struct Amounts {
    raw: f64,
    voxels: f64,
    volumes: f64,
    streamlines: f64,
}

impl Participants {
    /// What would become of every session on so many threads.
    ///
    /// # Errors
    /// Where what is told contradicts the data set.
    pub fn foresee(&self, threads: usize) -> Result<Vec<(String, Foreseen)>, BidsError> {
        self.check()?;
        let threads = self.threads_each.map_or(threads, |most| most.min(threads)).max(1);
        let mut all = Vec::new();
        // Measured over expected seconds of what is finished here.
        let (mut measured, mut expected) = (0.0, 0.0);
        for session in &self.data_set.sessions {
            let session = &self.joined(session)?;
            let foreseen = match self.plans(session, None) {
                Err(error) => Foreseen::Failed(error),
                Ok(planned) if !self.force && self.is_finished(session, &planned) => {
                    if let Some(earlier) = Earlier::read(&self.out.join(session.folder())) {
                        let [taken, foretold] = compared(&planned, &earlier);
                        measured += taken;
                        expected += foretold;
                    }
                    Foreseen::Kept
                }
                Ok(planned) => {
                    let memory = self.memory_needed(session);
                    let apart = session.apart.clone();
                    Foreseen::Made(Needs { memory, apart, ..needs(&planned, threads) })
                }
            };
            all.push((session.name(), foreseen));
        }
        if measured > 0.0 && expected > 0.0 {
            for (_, foreseen) in &mut all {
                if let Foreseen::Made(needs) = foreseen {
                    needs.seconds *= measured / expected;
                }
            }
        }
        Ok(all)
    }
}

/// Seconds that the stages of a finished session took, and those expected, of stages with a rate.
fn compared(planned: &[Planned<'_>], earlier: &Earlier) -> [f64; 2] {
    let threads = earlier.record.machine.threads.max(1);
    let (mut taken, mut expected) = (0.0, 0.0);
    for stage in &earlier.record.stages {
        let Some(rate) = RATES.iter().find(|rate| rate.stage == stage.name) else { continue };
        taken += stage.seconds;
        // The series of a session are nearly always alike.
        if let Some(amounts) = planned.first().and_then(|one| Amounts::new(one).ok()) {
            expected += amounts.seconds(rate, threads);
        }
    }
    [taken, expected]
}

/// What the runs of a session take.
fn needs(planned: &[Planned<'_>], threads: usize) -> Needs {
    let mut needs = Needs::default();
    for one in planned {
        let amounts = Amounts::new(one);
        for (at, stage) in one.stages.iter().enumerate() {
            needs.stages.push(match (at, one.series.series().count()) {
                (0, several @ 2..) => format!("{} of {several} series", stage.name()),
                _ => stage.name().to_owned(),
            });
            let rate = RATES.iter().find(|rate| rate.stage == stage.name());
            match (rate, &amounts) {
                (Some(rate), Ok(amounts)) => {
                    needs.seconds += amounts.seconds(rate, threads);
                    needs.disk += rate.bytes * amounts.number(rate.of);
                }
                _ => needs.unmeasured.push(stage.name().to_owned()),
            }
        }
    }
    needs
}

impl Amounts {
    fn new(one: &Planned<'_>) -> Result<Self, fimbria_image::ImageError> {
        let grid = ImageHeader::read(&one.series.dwi)?.grid().len() as f64;
        let mut volumes = 0.0;
        for path in one.series.series() {
            volumes += ImageHeader::read(path)?.n_volumes() as f64;
        }
        let voxels = inside(one.series).unwrap_or(USUAL_PART * grid);
        let track = one.stages.iter().find(|stage| stage.name() == "track");
        let track = track.map_or(Value::Null, |stage| stage.parameters()["track"].clone());
        let streamlines = match (track["select"].as_f64(), track["samples"].as_f64()) {
            (Some(select), _) => select,
            (None, Some(samples)) => samples * voxels,
            (None, None) => voxels,
        };
        Ok(Self { raw: grid * volumes, voxels, volumes, streamlines })
    }

    fn number(&self, unit: Unit) -> f64 {
        match unit {
            Raw => self.raw,
            Sample => self.voxels * self.volumes,
            Voxel => self.voxels,
            Streamline => self.streamlines,
            Once => 1.0,
        }
    }

    fn seconds(&self, rate: &Rate, threads: usize) -> f64 {
        let cores = if rate.shared { threads as f64 } else { 1.0 };
        rate.seconds * self.number(rate.unit) / cores
    }
}

/// A brain is such a part of its box.
const USUAL_PART: f64 = 0.3;

/// The voxels of the mask, where there is one.
fn inside(series: &Series) -> Option<f64> {
    let mask = read_image(series.mask.as_ref()?).ok()?;
    Some(mask.data.iter().filter(|voxel| **voxel > 0.0).count() as f64)
}

impl Participants {
    /// Whether a session is as it was when it was last finished.
    fn is_finished(&self, session: &Session, planned: &[Planned<'_>]) -> bool {
        let earlier = Earlier::read(&self.out.join(session.folder()));
        earlier.is_some_and(|earlier| self.seen(session, planned, &earlier).is_same())
    }
}

/// A table of what would be done, and below it all together.
pub fn foretold(all: &[(String, Foreseen)]) -> String {
    let mut text = "session\twhat\tminutes\tmemory\tdisk\n".to_owned();
    let size = |bytes: f64| ByteSize(bytes as u64).to_string();
    let (mut kept, mut failed, mut sum, mut most) = (0, 0, Needs::default(), Some(0));
    for (session, foreseen) in all {
        text += &match foreseen {
            Foreseen::Kept => {
                kept += 1;
                format!("{session}\tkept: it is finished\t0\t\t\n")
            }
            Foreseen::Failed(error) => {
                failed += 1;
                format!("{session}\tfails: {}\t\t\t\n", chain(error))
            }
            Foreseen::Made(needs) => {
                sum.seconds += needs.seconds;
                sum.disk += needs.disk;
                sum.apart.extend(needs.apart.iter().cloned());
                most = most.zip(needs.memory).map(|(most, one)| one.max(most));
                let new = needs.unmeasured.iter().filter(|one| !sum.unmeasured.contains(one));
                let new: Vec<_> = new.cloned().collect();
                sum.unmeasured.extend(new);
                format!(
                    "{session}\t{}\t{:.1}\t{}\t{}\n",
                    needs.stages.join(" "),
                    needs.seconds / 60.0,
                    needs.memory.map_or("n/a".to_owned(), |bytes| size(bytes as f64)),
                    size(needs.disk)
                )
            }
        };
    }
    text += &format!(
        "all\t{} to make, {kept} kept, {failed} that fail\t{:.1}\t{}\t{}\n",
        all.len() - kept - failed,
        sum.seconds / 60.0,
        most.map_or("n/a".to_owned(), |bytes| size(bytes as f64)),
        size(sum.disk)
    );
    for sentence in &sum.apart {
        text += &format!("{sentence}\n");
    }
    if !sum.unmeasured.is_empty() {
        text += &format!("without {}, whose rates are not known\n", sum.unmeasured.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The run that the rates are of, on the cores that it had.
    #[test]
    fn the_run_that_was_measured_is_foretold() {
        let amounts = Amounts {
            raw: 145.0 * 174.0 * 145.0 * 288.0,
            voxels: 1_503_734.0,
            volumes: 288.0,
            streamlines: 1e6,
        };
        let all: f64 = RATES.iter().map(|rate| amounts.seconds(rate, 1)).sum();
        let alone: f64 =
            RATES.iter().filter(|rate| !rate.shared).map(|rate| amounts.seconds(rate, 1)).sum();
        let wall = alone + (all - alone) / 1.68;
        // The wall time was 677 s; what was normalised is not in it, and stages are rounded.
        assert!((wall - 677.0).abs() < 0.05 * 677.0, "{wall}");
    }
}
