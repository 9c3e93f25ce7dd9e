//! Tracking among all methods, and in words for a paper.

use std::path::PathBuf;

use fimbria_streamlines::Format;

use super::derivatives::DERIVATIVES;
use super::{
    Algorithm, AnatomyOptions, SeedsBy, TRACK_WRITES, Through, TrackInRun, TrackParameters,
    WholeBrain, tracks_name,
};
use super::{Tracked, section};
use crate::Taken;
use crate::Written;
use crate::options::Resolved;
use crate::stages::in_run::{InRun, InRunError, RunContext, Stages, When};
use crate::stages::method::{Method, OptionTable, PageSection};
use crate::stages::peaks::LEAST_DENSITY;
use crate::stages::shown::Methods;

pub(in crate::stages) const METHOD: Method = Method {
    in_run: Some(InRun {
        when: When::Usual,
        needs: &[],
        writes: Some(Written::folder(
            "track/",
            "tracks.trx (or .tck, .trk): streamlines of the voxels with a direction \
             (through densities 10000, of seeds drawn at random), with their data as `fimbria track` \
             writes them; visits: how many pass each voxel",
        )),
        stages,
    }),
    table: Some(OptionTable::of::<TrackInRun>()),
    writes: TRACK_WRITES,
    restored: |record| Some(Box::new(WholeBrain::of_record(record)?)),
    text: |records| Some(text(&records.iter().find_map(WholeBrain::of_record)?)),
    section: Some(PageSection {
        takes: || vec![Taken::where_made::<Tracked>()],
        draw: |shown| match (shown.products.find::<Tracked>(), shown.fa) {
            (Some(tracked), Some(fa)) => {
                Ok(Some(section::tracks(tracked, shown.records, fa, shown.mask)?))
            }
            _ => Ok(None),
        },
    }),
    derivatives: Some(DERIVATIVES),
    ..Method::named("track")
};

/// Through the samples, or without them the densities that peaks are of.
fn stages(run: &RunContext<'_>) -> Stages {
    let through = match (run.makes("sticks"), run.makes("peaks")) {
        (true, _) => Through::Samples,
        (false, true) => Through::Densities,
        (false, false) => return Err(InRunError::NoDirections),
    };
    let mut options: TrackInRun = run.options("track")?;
    options.check(through).map_err(InRunError::in_table("track"))?;
    if run.makes("life") {
        options.to_be_evaluated(through);
    }
    Ok(vec![Box::new(WholeBrain { options, through })])
}

/// Where a run leaves its streamlines.
pub(in crate::stages) fn tractogram_of(run: &RunContext<'_>) -> Result<PathBuf, InRunError> {
    let options: TrackInRun = run.options("track")?;
    let format = options.parameters.tracks.0.0.unwrap_or(Format::DEFAULT);
    Ok(run.root.join("track").join(tracks_name(format)))
}

/// What was done, in words for a paper.
fn text(track: &WholeBrain) -> Methods {
    let (parameters, anatomy) = (track.resolved(), track.resolved_anatomy());
    let TrackParameters { samples, select, step, min_length, max_length, angle, cutoff, .. } =
        &*parameters;
    let algorithm = parameters.algorithm.unwrap_or_default().0;
    let is_constrained = anatomy.act.is_some();
    let (within, followed, part, reference) = match track.through {
        Through::Samples => (
            "with a direction".to_owned(),
            "random samples of the sticks, interpolated by random corners,".to_owned(),
            "a quarter",
            "Behrens TEJ et al. NeuroImage 34, 144 (2007)",
        ),
        Through::Densities => {
            let (along, part, reference) = match algorithm {
                Algorithm::Deterministic => (
                    "the nearest maxima of the interpolated densities",
                    "a fifth",
                    "Tournier J-D et al. Proc ISMRM 18, 1670 (2010)",
                ),
                Algorithm::Probabilistic => (
                    "arcs drawn by the interpolated densities along them",
                    "half",
                    "Tournier J-D et al. Proc ISMRM 18, 1670 (2010)",
                ),
                Algorithm::Transport => (
                    "curves whose curvatures were drawn by the interpolated densities ahead (parallel \
                     transport)",
                    "a tenth",
                    "Aydogan DB, Shi Y. IEEE Trans Med Imaging 40, 635 (2021)",
                ),
            };
            let end = cutoff.map_or(String::new(), |cutoff| format!(" down to {cutoff}"));
            let within = if is_constrained && anatomy.seed_boundary {
                "that the boundary of grey and white matter passes, on that boundary".to_owned()
            } else {
                format!("whose density has a peak above {LEAST_DENSITY}")
            };
            (within, format!("{along}{end},"), part, reference)
        }
    };
    let step = step.map_or_else(|| format!("{part} of a voxel"), |mm| format!("{mm} mm"));
    let is_dynamic = parameters.seeds_by() == SeedsBy::Dynamic;
    let starts = match (select, samples) {
        (Some(_), _) if is_dynamic => {
            "points drawn where streamlines so far were fewer than the densities asked for (dynamic seeding), in \
             voxels"
                .to_owned()
        }
        (Some(_), _) => "points drawn at random in voxels".to_owned(),
        (None, Some(1) | None) => "a point in every voxel".to_owned(),
        (None, Some(n)) => format!("{n} points in every voxel"),
    };
    let ways = if parameters.one_direction { "one way" } else { "both ways" };
    let kept = match select {
        Some(n) => format!("were kept, until there were {n}"),
        None => "were kept".to_owned(),
    };
    let [angle, least, most] = [angle, min_length, max_length].map(|x| x.unwrap_or_default());
    Methods {
        text: format!(
            "From {starts} {within}, streamlines followed {followed} {ways} in \
             steps of {step}, turning by at most {angle:.0}° a step; those of {least} to {most} mm \
             {kept}.{}",
            if is_constrained { constraint(&anatomy) } else { String::new() }
        ),
        references: [
            Some(reference),
            is_dynamic.then_some("Smith RE et al. NeuroImage 119, 338 (2015)"),
            is_constrained.then_some("Smith RE et al. NeuroImage 62, 1924 (2012)"),
        ]
        .into_iter()
        .flatten()
        .collect(),
    }
}

/// Where they were let end, as a further sentence.
fn constraint(anatomy: &Resolved<AnatomyOptions>) -> String {
    let mut text =
        " By a segmentation of tissues, both ends had to lie in grey matter or where the \
                    image ends, and none in fluid"
            .to_owned();
    if anatomy.backtrack == Some(true) {
        text += "; those that ended otherwise were taken back and went on another way";
    }
    if anatomy.crop == Some(true) {
        text += "; ends were cut at the boundary of grey and white matter";
    }
    text + "."
}
