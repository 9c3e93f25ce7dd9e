//! What files of a run are called in derivatives.

use std::path::Path;

use fimbria_pipeline::BidsName;
use serde_json::Value;

/// What streamlines followed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Followed {
    /// Samples of sticks.
    Samples,
    /// Densities, along curves whose curvatures they draw.
    Curves,
    /// Densities, along arcs drawn by them.
    Densities,
    /// Densities, along their nearest maximum.
    Maxima,
}

impl Followed {
    /// What a run says of its stage `track` in its record.
    pub(crate) fn by(said: &Value) -> Self {
        match (said["through"].as_str(), said["track"]["algorithm"].as_str()) {
            (Some("samples"), _) => Self::Samples,
            (_, Some("deterministic")) => Self::Maxima,
            (_, Some("probabilistic")) => Self::Densities,
            _ => Self::Curves,
        }
    }

    fn model(self) -> &'static str {
        match self {
            Self::Samples => "bs",
            Self::Curves | Self::Densities | Self::Maxima => "csd",
        }
    }

    /// The entity that tells such streamlines from others: BEP 46 has no word for those through samples.
    fn track(self) -> &'static str {
        match self {
            Self::Samples => "desc-sticks",
            Self::Curves => "track-ptt",
            Self::Densities => "track-ifod",
            Self::Maxima => "track-sdstream",
        }
    }
}

/// What names of one series have in common.
pub(crate) struct Names {
    /// Its entities, with an underscore at the end ("sub-01_space-ACPC_").
    entities: String,
    /// Those of them that a gradient-echo scan has: subject, session, space.
    of_scan: String,
    /// `seg-NAME_` of the labels between which streamlines are counted.
    labels: String,
}

impl Names {
    /// Of the series of this name, with these labels.
    pub(crate) fn from_series(series: &BidsName, labels: Option<&str>) -> Self {
        let mut of_scan = series.clone();
        of_scan.entities.retain(|(key, _)| ["sub", "ses", "space"].contains(&key.as_str()));
        let labels = labels.map_or(String::new(), |name| format!("seg-{}_", plain(name)));
        let entities = series.clone().without("desc").prefix();
        Self { entities, of_scan: of_scan.prefix(), labels }
    }

    /// `sub-01_space-ACPC`.
    pub(crate) fn label(&self) -> &str {
        self.entities.trim_end_matches('_')
    }

    /// The place of a map of a model without its extension; `desc` tells it from others of the label.
    pub(crate) fn map(&self, model: &str, param: &str, desc: &str) -> String {
        format!("dwi/{}model-{model}_param-{param}_desc-{desc}_dwimap", self.entities)
    }

    /// The place, below the folder of the session, of what `stage` wrote as `file`; `None` for the page and
    /// the numbers that it alone shows.
    pub(crate) fn place(&self, stage: &str, file: &str, followed: Followed) -> Option<String> {
        let Self { entities, of_scan, labels } = self;
        let (stem, extension) = file.split_once('.').unwrap_or((file, ""));
        let param = stem.split("_param-").nth(1).and_then(|rest| rest.split('_').next());
        Some(match (stage, stem) {
            ("plan" | "report" | "quality", _) => return None,
            ("field" | "qsm", _) => {
                let name = match (stage, param.unwrap_or(stem)) {
                    ("qsm", "chi") => "Chimap".to_owned(),
                    (_, "r2star") => "R2starmap".to_owned(),
                    ("field", "totalfield") => "desc-total_fieldmap".to_owned(),
                    ("field", "localfield") => "desc-local_fieldmap".to_owned(),
                    ("field", "mask") => "desc-gre_mask".to_owned(),
                    ("qsm", "mask") => "desc-qsm_mask".to_owned(),
                    (_, other) => format!("desc-{}_{stage}", plain(other)),
                };
                format!("anat/{of_scan}{name}.{extension}")
            }
            // Named by the stage.
            _ if BidsName::parse(Path::new(file)).is_some() => format!("dwi/{file}"),
            ("load", "mask") => format!("dwi/{entities}desc-brain_mask.{extension}"),
            ("load", "mean_b0") => format!("dwi/{entities}dwiref.{extension}"),
            ("fix_gradients", _) => format!("dwi/{entities}desc-fixed_dwi.{extension}"),
            ("sticks", _) => format!("dwi/{entities}desc-sticks.bedpostX/{file}"),
            ("track", "tracks") => {
                let track = followed.track();
                format!("dwi/{entities}{track}_tractogram.{extension}")
            }
            ("life", "pruned") => format!("dwi/{entities}desc-pruned_tractogram.{extension}"),
            ("sift2", "weights") => format!("dwi/{entities}model-sift2_streamlineweights.csv"),
            ("connectome", "labels") => {
                format!("dwi/{entities}{labels}meas-count_relmat.nodes.{extension}")
            }
            ("connectome", _) => {
                let meas = match stem {
                    "weights" | "counts" => "count".to_owned(),
                    "lengths" => "length".to_owned(),
                    other => plain(other),
                };
                let extension = if extension == "csv" { "tsv" } else { extension };
                format!("dwi/{entities}{labels}meas-{meas}_relmat.{extension}")
            }
            ("regions", _) => format!("dwi/{entities}{labels}scalarstats.{extension}"),
            ("fod", _) => {
                format!("dwi/{entities}model-csd_param-{}_dwimap.{extension}", plain(stem))
            }
            ("track", _) => {
                let model = followed.model();
                format!("dwi/{entities}model-{model}_param-{}_dwimap.{extension}", plain(stem))
            }
            _ => format!("dwi/{entities}model-{stage}_param-{}_dwimap.{extension}", plain(stem)),
        })
    }
}

/// A label of BIDS: letters and digits.
fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_of_a_run_have_names_of_bids() {
        let series = "sub-01_ses-2_dir-AP_space-ACPC_desc-preproc_dwi.nii.gz";
        let series = BidsName::parse(Path::new(series)).unwrap();
        let names = Names::from_series(&series, Some("4S156Parcels"));
        let at = "dwi/sub-01_ses-2_dir-AP_space-ACPC_";
        let fa = "sub-01_ses-2_dir-AP_space-ACPC_model-tensor_param-fa_dwimap.nii.gz";
        for (stage, file, expected) in [
            ("dti", fa, format!("dwi/{fa}")),
            ("load", "mask.nii.gz", format!("{at}desc-brain_mask.nii.gz")),
            ("load", "mean_b0.nii.gz", format!("{at}dwiref.nii.gz")),
            ("fod", "response_gm.txt", format!("{at}model-csd_param-responsegm_dwimap.txt")),
            ("track", "tracks.trx", format!("{at}track-ifod_tractogram.trx")),
            ("track", "visits.nii.gz", format!("{at}model-csd_param-visits_dwimap.nii.gz")),
            ("connectome", "weights.csv", format!("{at}seg-4S156Parcels_meas-count_relmat.tsv")),
            ("connectome", "sift2.csv", format!("{at}seg-4S156Parcels_meas-sift2_relmat.tsv")),
            ("connectome", "mean_FA.csv", format!("{at}seg-4S156Parcels_meas-meanFA_relmat.tsv")),
            ("connectome", "lengths.npy", format!("{at}seg-4S156Parcels_meas-length_relmat.npy")),
            ("regions", "regions.tsv", format!("{at}seg-4S156Parcels_scalarstats.tsv")),
            ("sift2", "weights.txt", format!("{at}model-sift2_streamlineweights.csv")),
            ("sticks", "dyads1.nii.gz", format!("{at}desc-sticks.bedpostX/dyads1.nii.gz")),
            (
                "qsm",
                "model-qsm_param-chi_dwimap.nii.gz",
                "anat/sub-01_ses-2_space-ACPC_Chimap.nii.gz".to_owned(),
            ),
            (
                "field",
                "model-field_param-totalfield_dwimap.json",
                "anat/sub-01_ses-2_space-ACPC_desc-total_fieldmap.json".to_owned(),
            ),
            ("life", "pruned.trx", format!("{at}desc-pruned_tractogram.trx")),
            ("life", "weights.txt", format!("{at}model-life_param-weights_dwimap.txt")),
        ] {
            assert_eq!(names.place(stage, file, Followed::Densities), Some(expected));
        }
        assert_eq!(names.place("report", "report.html", Followed::Densities), None);
    }

    #[test]
    fn streamlines_are_named_by_what_they_followed() {
        let series = BidsName::parse(Path::new("sub-01_dwi.nii.gz")).unwrap();
        let names = Names::from_series(&series, None);
        for (through, algorithm, track, model) in [
            ("densities", "transport", "track-ptt", "csd"),
            ("densities", "probabilistic", "track-ifod", "csd"),
            ("densities", "deterministic", "track-sdstream", "csd"),
            ("samples", "probabilistic", "desc-sticks", "bs"),
        ] {
            let said = json!({ "through": through, "track": { "algorithm": algorithm } });
            let place = |file| names.place("track", file, Followed::by(&said)).unwrap();
            assert_eq!(place("tracks.trx"), format!("dwi/sub-01_{track}_tractogram.trx"));
            let visits = format!("dwi/sub-01_model-{model}_param-visits_dwimap.nii.gz");
            assert_eq!(place("visits.nii.gz"), visits);
        }
    }
}
