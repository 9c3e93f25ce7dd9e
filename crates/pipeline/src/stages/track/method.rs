//! Tracking among all methods, and in words for a paper.

use super::{
    Algorithm, AnatomyOptions, TRACK_WRITES, Through, TrackInRun, TrackParameters, WholeBrain,
};
use crate::stages::method::{Method, OptionTable};
use crate::stages::peaks::LEAST_DENSITY;
use crate::stages::shown::Methods;

pub(in crate::stages) const METHOD: Method = Method {
    table: Some(OptionTable::of::<TrackInRun>()),
    writes: TRACK_WRITES,
    restored: |record| Some(Box::new(WholeBrain::of_record(record)?)),
    text: |records| Some(text(&records.iter().find_map(WholeBrain::of_record)?)),
    ..Method::named("track")
};

/// What was done, in words for a paper.
fn text(track: &WholeBrain) -> Methods {
    let (parameters, anatomy) = (track.resolved(), &track.options.anatomy);
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
    let starts = match (select, samples) {
        (Some(_), _) => "points drawn at random in voxels".to_owned(),
        (None, Some(1) | None) => "a point in every voxel".to_owned(),
        (None, Some(n)) => format!("{n} points in every voxel"),
    };
    let kept = match select {
        Some(n) => format!("were kept, until there were {n}"),
        None => "were kept".to_owned(),
    };
    let [angle, least, most] = [angle, min_length, max_length].map(|x| x.unwrap_or_default());
    Methods {
        text: format!(
            "From {starts} {within}, streamlines followed {followed} both ways in \
             steps of {step}, turning by at most {angle:.0}° a step; those of {least} to {most} mm \
             {kept}.{}",
            if is_constrained { constraint(anatomy) } else { String::new() }
        ),
        references: match is_constrained {
            true => vec![reference, "Smith RE et al. NeuroImage 62, 1924 (2012)"],
            false => vec![reference],
        },
    }
}

/// Where they were let end, as a further sentence.
fn constraint(anatomy: &AnatomyOptions) -> String {
    let mut text =
        " By a segmentation of tissues, both ends had to lie in grey matter or where the \
                    image ends, and none in fluid"
            .to_owned();
    if anatomy.backtrack {
        text += "; those that ended otherwise were taken back and went on another way";
    }
    if anatomy.crop {
        text += "; ends were cut at the boundary of grey and white matter";
    }
    text + "."
}
