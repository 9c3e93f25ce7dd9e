//! What files of a run are called in derivatives.

use fimbria_pipeline::stages::methods::derivatives;
use fimbria_pipeline::{DerivativeNames, Derived};

/// The place of a file below the folder of the session; `None` for the page and the numbers that it
/// alone shows, and for what is left out.
pub(crate) fn place(names: &DerivativeNames, file: &Derived<'_>) -> Option<String> {
    let derivatives = derivatives(file.stage)?;
    (!(derivatives.leaves_out)(file)).then(|| (derivatives.place)(file, names))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fimbria_pipeline::BidsName;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn files_of_a_run_have_names_of_bids() {
        let series = "sub-01_ses-2_dir-AP_space-ACPC_desc-preproc_dwi.nii.gz";
        let series = BidsName::parse(Path::new(series)).unwrap();
        let names = DerivativeNames::from_series(&series, Some("4S156Parcels"));
        let place = |stage, file, parameters: &Value| {
            let folder = Path::new(stage);
            place(&names, &Derived { stage, file, parameters, folder, label_names: None })
        };
        let at = "dwi/sub-01_ses-2_dir-AP_space-ACPC_";
        let fa = "sub-01_ses-2_dir-AP_space-ACPC_model-tensor_param-fa_dwimap.nii.gz";
        for (stage, file, expected) in [
            ("dti", fa, format!("dwi/{fa}")),
            ("load", "mask.nii.gz", format!("{at}desc-brain_mask.nii.gz")),
            ("load", "mean_b0.nii.gz", format!("{at}dwiref.nii.gz")),
            ("fod", "response_gm.txt", format!("{at}model-csd_param-responsegm_dwimap.txt")),
            ("track", "tracks.trx", format!("{at}track-ptt_tractogram.trx")),
            ("track", "visits.nii.gz", format!("{at}model-csd_param-visits_dwimap.nii.gz")),
            ("connectome", "weights.csv", format!("{at}seg-4S156Parcels_meas-count_relmat.tsv")),
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
            ("align", "moving_to_fixed_itk.txt", format!("{at}from-T1w_to-dwi_mode-image_xfm.txt")),
            ("align", "moved.nii.gz", format!("{at}space-dwi_T1w.nii.gz")),
            ("life", "pruned.trx", format!("{at}desc-pruned_tractogram.trx")),
            ("life", "weights.txt", format!("{at}model-life_param-weights_dwimap.txt")),
        ] {
            assert_eq!(place(stage, file, &Value::Null), Some(expected));
        }
        let weighted = place("connectome", "weights.csv", &json!({ "weights": "sift2" }));
        assert_eq!(weighted, Some(format!("{at}seg-4S156Parcels_meas-sift2_relmat.tsv")));
        assert_eq!(place("report", "report.html", &Value::Null), None);
        assert_eq!(place("align", "moving_to_fixed_mrtrix.txt", &Value::Null), None);
    }
}
