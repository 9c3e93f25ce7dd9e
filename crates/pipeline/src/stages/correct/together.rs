//! Which raw series of a session are one measurement in parts, and are corrected together.

use std::error::Error;
use std::path::Path;

use super::several::{ECHO_TIME, SeveralError};
use super::{CorrectSeries, CorrectSettings};
use crate::stages::load::SubjectFiles;
use crate::stages::sidecar::said_of;
use crate::{BidsName, MapFormat, StageError};

/// Series that are corrected together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Together {
    /// Their places among those that were given, the first first.
    pub series: Vec<usize>,
    /// Why they are not with others of their measurement, a sentence.
    pub apart: Option<String>,
}

/// Deals series of a session to corrections. Those are together that are parts of one measurement: `MultipartID` of
/// their sidecars is the same, or, where it is not there, their names of BIDS differ in `run` and `dir` alone. Of them only
/// those that can be: on like grids, of one echo time, and distorted alike or by a field or warps that are known.
/// What cannot be read is by itself, where its own run says why.
pub fn together(series: &[SubjectFiles], settings: &CorrectSettings) -> Vec<Together> {
    let measurements: Vec<_> = series.iter().map(|files| measurement(&files.dwi)).collect();
    let mut all = Vec::new();
    for (at, measurement) in measurements.iter().enumerate() {
        if measurement.is_some() && measurements[..at].contains(measurement) {
            continue;
        }
        let is_same = |other: &usize| {
            *other == at || measurement.is_some() && measurements[*other] == *measurement
        };
        all.extend(parts((at..series.len()).filter(is_same).collect(), series, settings));
    }
    all
}

/// What series are of one measurement that have the same; `None` where a name says nothing.
fn measurement(dwi: &Path) -> Option<String> {
    let name = BidsName::parse(dwi)?;
    // A sidecar that cannot be read says so where it is needed.
    let sidecar = said_of(dwi).ok().flatten().unwrap_or_default();
    let own = || name.clone().without("run").without("dir").prefix();
    Some(sidecar["MultipartID"].as_str().map_or_else(own, |id| format!("MultipartID {id}")))
}

/// These of one measurement, all together where they can be, else each with the first that it can be with.
fn parts(own: Vec<usize>, series: &[SubjectFiles], settings: &CorrectSettings) -> Vec<Together> {
    if refusal(&own, series, settings).is_none() {
        return vec![Together { series: own, apart: None }];
    }
    let mut all: Vec<Together> = Vec::new();
    for at in own {
        let mut apart = None;
        let with = all.iter().position(|others| {
            let reason = refusal(&[others.series[0], at], series, settings);
            let fits = reason.is_none();
            apart = apart.take().or(reason);
            fits
        });
        match with {
            Some(with) => all[with].series.push(at),
            None => all.push(Together { series: vec![at], apart }),
        }
    }
    all
}

/// Why these cannot be corrected together; `None` where they can.
fn refusal(own: &[usize], series: &[SubjectFiles], settings: &CorrectSettings) -> Option<String> {
    let mut files = own.iter().map(|at| series[*at].clone());
    let first = files.next()?;
    let others: Vec<SubjectFiles> = files.collect();
    if others.is_empty() {
        return None;
    }
    let paths = own.iter().map(|at| &*series[*at].dwi);
    let settings = settings.clone().with_field_beside(paths);
    CorrectSeries { files: first, others, settings, format: MapFormat::default() }
        .check_together()
        .err()
        .map(|error| reason(&*error))
}

/// In words for who named no series.
fn reason(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<SeveralError>() {
        Some(SeveralError::Distorted { path, own, first, others }) => format!(
            "{} ({own}) and {} ({others}) are distorted in different ways, and no map of fmap/ is for them: together they \
             would be blurred",
            path.display(),
            first.display()
        ),
        _ => error.to_string(),
    }
}

impl CorrectSeries {
    fn check_together(&self) -> Result<(), StageError> {
        let grids = self.grids()?;
        if let Some(sentence) = self.other_times(ECHO_TIME)?.into_iter().next() {
            return Err(sentence.into());
        }
        self.check_alike(&self.encodings()?, &grids[0])
    }
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, Grid, Image, WriteOptions, write_image};

    use super::*;

    /// Series of these names with these voxels and sidecars, in the parts that are corrected together, with their reasons.
    fn dealt(series: &[(&str, f64, &str)], fields: &[(&str, &str)]) -> Vec<(Vec<usize>, String)> {
        let folder = tempfile::tempdir().unwrap();
        let put = |place: &str, mm: f64, sidecar: &str| {
            let path = folder.path().join(format!("sub-1/{place}.nii"));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut grid = Grid { dims: [2, 2, 2], ras_from_vox: Affine::IDENTITY };
            (0..3).for_each(|axis| grid.ras_from_vox.0[axis][axis] = mm);
            write_image(&path, &Image::zeros(grid, 1), &WriteOptions::default()).unwrap();
            std::fs::write(path.with_extension("json"), sidecar).unwrap();
            path
        };
        let files: Vec<_> = series
            .iter()
            .map(|(name, mm, sidecar)| {
                SubjectFiles::new(put(&format!("dwi/sub-1_{name}dwi"), *mm, sidecar))
            })
            .collect();
        for (name, sidecar) in fields {
            put(&format!("fmap/sub-1_{name}"), 2.0, sidecar);
        }
        let settings = crate::options::from_values(&crate::options::Values::new()).unwrap();
        let all = together(&files, &settings).into_iter();
        all.map(|one| (one.series, one.apart.unwrap_or_default())).collect()
    }

    const J: &str = r#"{"PhaseEncodingDirection": "j", "TotalReadoutTime": 0.05}"#;
    const OPPOSED: &str = r#"{"PhaseEncodingDirection": "j-", "TotalReadoutTime": 0.05}"#;

    #[test]
    fn runs_of_one_measurement_are_together_and_other_acquisitions_are_not() {
        let series = [("run-1_", 2.0, J), ("acq-b_run-1_", 2.0, J), ("run-2_", 2.0, J)];
        let all = dealt(&series, &[]);
        assert_eq!(all, [(vec![0, 2], String::new()), (vec![1], String::new())]);
        // What the data set calls one is one.
        let one = r#"{"PhaseEncodingDirection": "j", "MultipartID": "a"}"#;
        let all = dealt(&[("run-1_", 2.0, one), ("acq-b_", 2.0, one), ("run-2_", 2.0, J)], &[]);
        assert_eq!(all, [(vec![0, 1], String::new()), (vec![2], String::new())]);
    }

    #[test]
    fn opposed_encodings_are_together_where_a_field_is_known() {
        let series =
            [("dir-AP_run-1_", 2.0, J), ("dir-PA_run-1_", 2.0, OPPOSED), ("dir-AP_run-2_", 2.0, J)];
        let all = dealt(&series, &[]);
        assert_eq!(all[0], (vec![0, 2], String::new()));
        assert_eq!(all[1].0, [1]);
        assert!(
            all[1].1.contains("distorted in different ways") && all[1].1.contains("fmap/"),
            "{all:?}"
        );
        let sidecar = r#"{"IntendedFor": "dwi/sub-1_dir-PA_run-1_dwi.nii", "Units": "Hz"}"#;
        assert_eq!(dealt(&series, &[("fieldmap", sidecar)]), [(vec![0, 1, 2], String::new())]);
    }

    #[test]
    fn other_voxels_echoes_and_encodings_that_nobody_knows_are_apart_with_a_word() {
        let late = r#"{"PhaseEncodingDirection": "j", "EchoTime": 0.1}"#;
        let early = r#"{"PhaseEncodingDirection": "j", "EchoTime": 0.08}"#;
        let axis = r#"{"PhaseEncodingAxis": "j"}"#;
        for (first, other, word) in [
            (("run-1_", 2.0, J), ("run-2_", 3.0, J), "3.000 x 3.000 x 3.000 mm"),
            (("run-1_", 2.0, late), ("run-2_", 2.0, early), "EchoTime"),
            (("run-1_", 2.0, axis), ("run-2_", 2.0, axis), "which way"),
            (("run-1_", 2.0, "{}"), ("run-2_", 2.0, J), "along which axis"),
        ] {
            let all = dealt(&[first, other], &[]);
            assert_eq!((&all[0].0[..], &all[1].0[..]), (&[0][..], &[1][..]), "{word}");
            assert!(all[0].1.is_empty() && all[1].1.contains(word), "{all:?}");
        }
    }
}
