//! What is made of samples: counts, and where wanted streamlines.

use fimbria_compute::Progress as _;
use fimbria_image::counted as in_words;
use fimbria_streamlines::Streamlines;
use fimbria_streamlines::edit::Reshape;
use fimbria_tracking::{
    Attempts, Collect, Counts, Deal, DensityTracking, EndReason, Lines, Met, Needs, Parcel, Points,
    Reseed, Sample, Tally, Tracking, devices_judge, track_among, track_reseeded,
};

use super::TrackError;
use super::reseed::DynamicSeeds;
use crate::{Logbook, Page};

/// A tally, and where wanted the streamlines.
pub(super) struct Counted<'a> {
    pub(super) tally: Tally<'a>,
    pub(super) lines: Option<Lines>,
}

impl Collect for Counted<'_> {
    type Block = Option<Streamlines>;

    fn sample(&mut self, sample: &Sample<'_>) {
        self.tally.add(sample);
        if let Some(lines) = &mut self.lines {
            lines.sample(sample);
        }
    }

    fn needs(&self) -> Needs<'_> {
        let points = if self.lines.is_some() { Points::Kept } else { Points::None };
        Needs { points, ..self.tally.needs() }
    }

    fn counted(&mut self, counts: &Counts) {
        self.tally.add_counts(counts);
    }

    fn met(&mut self, met: &Met<'_>) {
        self.tally.add_met(met);
    }

    fn counted_sample(&mut self, sample: &Sample<'_>) {
        if let Some(lines) = &mut self.lines {
            lines.sample(sample);
        }
    }

    fn end_block(&mut self) -> Option<Streamlines> {
        self.lines.as_mut().map(Lines::end_block)
    }
}

impl Parcel for Counted<'_> {
    fn merge(&mut self, other: Self) {
        self.tally.merge(other.tally);
    }

    /// No bytes where no streamlines are wanted.
    fn pack(block: Option<Streamlines>) -> Vec<u8> {
        block.map(Lines::pack).unwrap_or_default()
    }

    fn unpack(bytes: &[u8]) -> Option<Streamlines> {
        (!bytes.is_empty()).then(|| Lines::unpack(bytes))
    }
}

/// Hands streamlines on with some of their points, where that is asked for.
pub(super) fn reshaping<'a>(
    reshape: Option<Reshape>,
    log: &'a Logbook<'_>,
    mut each: impl FnMut(Streamlines) -> Result<(), TrackError> + 'a,
) -> impl FnMut(Streamlines) -> Result<(), TrackError> + 'a {
    move |lines| {
        // Only steps may be too small for a streamline.
        let few = reshape.map(|reshape| reshape.apply(&lines, 0, log.session().on.workers).ok());
        each(few.flatten().unwrap_or(lines))
    }
}

/// Tracks with all processes. The first gets all counts, which it logs, and all streamlines, which
/// come to `each` in the order of seeds.
pub(super) fn counted<'t>(
    tracking: &Tracking<'_>,
    log: &Logbook<'_>,
    new: impl Fn() -> Counted<'t> + Sync,
    mut each: impl FnMut(Streamlines) -> Result<(), TrackError>,
) -> Result<Tally<'t>, TrackError> {
    let on = log.session().on;
    note_who_judges(tracking, log);
    // Every process needs a tally of all that is counted, also one without a sample.
    let mut tally = new().tally;
    let made = track_among(tracking, on, Deal::default(), log, new, |lines| {
        lines.map_or(Ok(()), &mut each)
    })?;
    made.collectors.into_iter().for_each(|part| tally.merge(part.tally));
    tally.gather(on.comm);
    count(&tally, log);
    log.count_shares_of("samples", &made.shares);
    Ok(tally)
}

/// Says so where devices follow streamlines, and threads judge them.
pub(crate) fn note_who_judges(tracking: &Tracking<'_>, log: &Logbook<'_>) {
    if !log.session().on.devices.is_empty() && !devices_judge(tracking) {
        log.note(
            "the threads judge and count these streamlines: devices know no surfaces and no warps, and no more \
             than 256 regions of a network, 32 waypoints and 30 regions to stop on leaving",
        );
    }
}

/// The same through densities, from seeds with fixed chances or `dynamic` ones.
pub(super) fn counted_through_densities<'t>(
    tracking: &DensityTracking<'_>,
    dynamic: Option<&mut DynamicSeeds>,
    log: &Logbook<'_>,
    new: impl Fn() -> Counted<'t> + Sync,
    mut each: impl FnMut(Streamlines) -> Result<(), TrackError>,
) -> Result<Tally<'t>, TrackError> {
    let on = log.session().on;
    if !on.devices.is_empty() && !tracking.may_use_devices() {
        log.note(
            "these streamlines are made by the threads: devices have no kernel of curves or of going back",
        );
    }
    let mut tally = new().tally;
    let reseed = dynamic.map(|seeds| seeds as &mut dyn Reseed);
    let each = |lines: Option<Streamlines>| lines.map_or(Ok(()), &mut each);
    let selected = track_reseeded(tracking, reseed, on, log, new, each)?;
    selected.collectors.into_iter().for_each(|part| tally.merge(part.tally));
    tally.gather(on.comm);
    count(&tally, log);
    log.count_shares_of("samples", &selected.shares);
    if let (Some(kept), Attempts::UntilKept { select, .. }) = (selected.kept, tracking.attempts)
        && kept < select
    {
        log.warn(Page::Tracking, &format!(
            "{kept} of {select} streamlines are there after {} were started: see in run.json why \
             the others ended, or lower --min-length or --cutoff",
            selected.attempts
        ));
    }
    Ok(tally)
}

/// Notes how many samples were made and kept, and why halves ended.
pub(crate) fn count(tally: &Tally<'_>, log: &Logbook<'_>) {
    let kept: u64 = tally.kept.iter().sum();
    log.note(&format!("{kept} of {} kept", in_words(tally.made, "streamline")));
    log.count("samples", tally.made);
    log.count("kept", kept);
    log.count("points", tally.points);
    for ((reason, name), count) in EndReason::ALL.iter().zip(tally.ends) {
        // Only densities end so, or tissues end them.
        if *reason < EndReason::Cutoff || count > 0 {
            log.count(&format!("ends: {name}"), count);
        }
    }
}

#[cfg(test)]
mod tests {
    use fimbria_compute::{Backend, Silent, Workers};

    use super::*;
    use crate::options::usual;
    use crate::stages::track::TrackParameters;
    use crate::{Session, Unfinished};

    /// A right angle in steps of a millimetre, as these options hand it on.
    fn handed_on(compress: Option<f64>, downsample: Option<u32>) -> Vec<[f32; 3]> {
        let workers = Workers::new(1).unwrap();
        let session = Session {
            on: Backend::cpu(&workers),
            progress: &Silent,
            unfinished: &Unfinished::new(),
            command_line: &[],
        };
        let log = Logbook::new(session);
        let corner = |i: u8| [f32::from(i.min(6)), f32::from(i.saturating_sub(6)), 0.0];
        let mut lines = Streamlines::default();
        lines.push(&(0..12).map(corner).collect::<Vec<_>>());
        let options = TrackParameters { compress, downsample, ..usual() };
        let mut points = Vec::new();
        let each = |lines: Streamlines| {
            points.extend_from_slice(lines.points(0));
            Ok(())
        };
        reshaping(options.reshape(), &log, each)(lines).unwrap();
        points
    }

    #[test]
    fn streamlines_are_handed_on_with_the_points_that_are_asked_for() {
        assert_eq!(handed_on(None, None).len(), 12);
        let ends_and_corner = vec![[0.0; 3], [6.0, 0.0, 0.0], [6.0, 5.0, 0.0]];
        assert_eq!(handed_on(Some(0.1), None), ends_and_corner);
        let fifth = vec![[0.0; 3], [5.0, 0.0, 0.0], [6.0, 4.0, 0.0], [6.0, 5.0, 0.0]];
        assert_eq!(handed_on(None, Some(5)), fifth);
    }
}
