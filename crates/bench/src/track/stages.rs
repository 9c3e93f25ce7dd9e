//! Where the time goes: the paper's Table 4.2.

use fimbria_compute::{Interrupted, Workers};
use fimbria_streamlines::{Format, Header, Streamlines, TractogramError, WriteOptions, create};
use fimbria_tracking::{Collect, Deal, Lines, Sample, Tally};

use super::super::clock::{Interruptible, best};
use super::super::table::{Table, digits, number, percent, words};
use super::Processor;
use super::subject::{Subject, methods};
use crate::{Console, Failure};

/// Takes samples and does nothing.
struct Nothing;

impl Collect for Nothing {
    type Block = ();
    fn sample(&mut self, _sample: &Sample<'_>) {}
    fn end_block(&mut self) {}
}

/// Visits and streamlines, as `fimbria track` makes them.
struct Both<'a>(Tally<'a>, Lines);

impl Collect for Both<'_> {
    type Block = Streamlines;
    fn sample(&mut self, sample: &Sample<'_>) {
        self.0.sample(sample);
        self.1.sample(sample);
    }
    fn end_block(&mut self) -> Streamlines {
        self.1.end_block()
    }
}

/// A failure to write, or an interruption.
#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error(transparent)]
    File(#[from] TractogramError),
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

pub(super) fn table(
    subject: &Subject,
    particles: u32,
    console: &dyn Console,
) -> Result<(), Failure> {
    let table = Table::begin(
        console,
        [words("stage", 22), number("s", 7), number("ns/particle", 11), number("share", 6)],
    )?;
    let (quiet, deal) = (Interruptible(console), Deal::default());
    let place = Processor::Threads(Workers::new(1)?);
    let (_, basic) = methods()[0];
    let run = |what: &dyn Fn() -> Result<(), Failure>| -> Result<f64, Failure> {
        let time = best(console, what)?;
        Ok(time.processor.unwrap_or(time.wall))
    };
    let quietly = |()| Ok::<(), Interrupted>(());
    let steps = run(&|| {
        subject.collected(&basic, particles, &place, deal, &quiet, || Nothing, quietly)?;
        Ok(())
    })?;
    let visits = run(&|| {
        subject.counted(&basic, particles, &place, deal, &quiet)?;
        Ok(())
    })?;
    let both = || Both(Tally::new(&subject.space, 1, false), Lines::new(&subject.space));
    let lines = run(&|| {
        let each = |_: Streamlines| Ok::<(), Interrupted>(());
        subject.collected(&basic, particles, &place, deal, &quiet, both, each)?;
        Ok(())
    })?;
    let folder = tempfile::tempdir()?;
    let file = run(&|| {
        let mut header = Header::on(*subject.field.grid());
        header.per_streamline = Lines::columns();
        let path = folder.path().join("tracks.trx");
        let mut writer = create(&path, Format::DEFAULT, &header, &WriteOptions::default())?;
        let each = |lines: Streamlines| Ok::<(), WriteError>(writer.write(&lines)?);
        subject.collected(&basic, particles, &place, deal, &quiet, both, each)?;
        writer.finish()?;
        Ok(())
    })?;
    let made = f64::from(subject.samples_for(particles)) * subject.seeds.len() as f64;
    let mut before = 0.0;
    for (stage, until) in [
        ("steps", steps),
        ("counting of visits", visits),
        ("streamlines, data", lines),
        ("TRX file", file),
        ("all", file),
    ] {
        let seconds = if stage == "all" { until } else { (until - before).max(0.0) };
        before = until;
        table.row([
            stage.to_owned(),
            digits(seconds),
            digits(1e9 * seconds / made),
            percent(seconds / file),
        ])?;
    }
    Ok(())
}
