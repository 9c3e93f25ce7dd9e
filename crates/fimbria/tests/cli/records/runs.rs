//! Commands that are made of others: a run, and one of every series of a data set.

use super::fixtures::with_series;
use super::{Instead, Own, Proof, Refused, Row, STYLE, TABLE, With, prove};
use crate::util::Folder;

const SETTINGS: &[Row] = &[
    ("set", With("--set dti.method=ols")),
    ("fix-gradients", Own("a_wrong_table_is_mended_and_the_record_says_so")),
    ("raw", Own("a_raw_run_is_a_correction_and_a_run_of_what_it_wrote")),
];

const RUN: Proof = Proof {
    command: "run",
    fixture: with_series,
    line: "dwi.nii --mask mask.nii --set run.fits=[]",
    rows: &[
        TABLE,
        STYLE,
        SETTINGS,
        &[
            ("mask", Instead("dwi.nii --mask other_mask.nii --set run.fits=[]")),
            ("grad-dev", With("--grad-dev dev.nii")),
        ],
    ],
};

const MAPS: Proof = Proof {
    command: "maps",
    fixture: with_series,
    line: "dwi.nii --mask mask.nii --models dti,mono",
    rows: &[
        TABLE,
        STYLE,
        &[
            ("mask", Instead("dwi.nii --mask other_mask.nii --models dti,mono")),
            ("models", Instead("dwi.nii --mask mask.nii --models dti")),
            ("preset", With("--preset hbcd")),
            ("set", With("--set dti.method=ols")),
            ("grad-dev", Refused("--grad-dev dev.nii")),
        ],
    ],
};

/// A subject without sessions, and one with two.
fn with_data_set() -> Folder {
    let folder = Folder::new();
    crate::bids::data_set(&folder, &crate::bids::SERIES[..3]);
    folder
}

const BIDS: Proof = Proof {
    command: "bids",
    fixture: with_data_set,
    line: "--set dti.maps=[\"FA\",\"MD\"]",
    rows: &[
        SETTINGS,
        &[
            ("participant-label", With("--participant-label 02")),
            ("session-label", With("--participant-label 02 --session-label 1")),
            ("datasets", Own("labels_of_another_data_set_are_taken_with_what_it_calls_them")),
            ("atlas", Own("a_connectome_has_streamlines_and_a_matrix_of_its_labels")),
            ("no-act", Own("tissues_beside_a_series_say_where_its_streamlines_end")),
            ("preset", With("--preset fibres")),
            (
                "separate-all-dwis",
                Own("opposed_series_with_a_field_map_are_one_set_of_derivatives"),
            ),
        ],
    ],
};

pub(super) const PROOFS: &[&Proof] = &[&RUN, &MAPS, &BIDS];

#[test]
fn of_run() {
    prove(&RUN);
}

#[test]
fn of_maps() {
    prove(&MAPS);
}

#[test]
fn of_bids() {
    prove(&BIDS);
}
