//! Digital subjects.

use super::{Instead, Own, Proof, Row, With, prove};
use crate::util::Folder;

const HEAD: &[Row] = &[
    ("size", Instead("--size 12,14,12 --voxel 14")),
    ("voxel", Instead("--size 12,14,11 --voxel 15")),
    ("tilt", With("--tilt 1,2,3")),
    ("x-left-to-right", With("--x-left-to-right")),
    ("snr", With("--snr inf")),
    ("rng-seed", With("--rng-seed 2")),
    ("format", With("--format nii")),
];

const CROSSING: Proof = Proof {
    command: "phantom crossing",
    fixture: Folder::new,
    line: "--size 12,14,11 --voxel 14",
    rows: &[HEAD, &[("b0s", With("--b0s 1")), ("shells", With("--shells 700:12"))]],
};

const GRE: Proof = Proof {
    command: "phantom gre",
    fixture: Folder::new,
    line: "--size 12,14,11 --voxel 14",
    rows: &[
        HEAD,
        &[
            ("te", With("--te 5")),
            ("b0", With("--b0 7")),
            ("fibre", With("--fibre -0.1")),
            ("anisotropy", With("--anisotropy 0.02")),
            ("grey", With("--grey 0.1")),
            ("air", With("--air 0")),
            ("finer", With("--finer 1")),
        ],
    ],
};

const PROTOCOL: Proof = Proof {
    command: "phantom protocol",
    fixture: Folder::new,
    line: "--size 6,6,2",
    rows: &[&[
        ("law", With("--law stretched")),
        ("size", Instead("--size 6,7,2")),
        ("voxel", With("--voxel 9")),
        ("snr", With("--snr inf")),
        ("rng-seed", With("--rng-seed 2")),
        ("format", With("--format nii")),
    ]],
};

const TENSORS: Proof = Proof {
    command: "phantom tensors",
    fixture: Folder::new,
    line: "--size 4,4",
    rows: &[&[
        ("size", Instead("--size 4,5")),
        ("order", With("--order 6")),
        ("angles", With("--angles 50,80")),
        ("noise", With("--noise 0.01")),
        ("rng-seed", With("--rng-seed 2")),
        ("format", With("--format nii")),
    ]],
};

/// A head takes longer than other subjects: its options are proven by its stage.
const BY_STAGE: super::Vary = Own("every_option_is_in_the_record");

const FOLDED: Proof = Proof {
    command: "phantom head",
    fixture: Folder::new,
    line: "--voxel 40 --size 4,5,4 --b0s 1 --shells 700:6 --samples 2",
    rows: &[
        &[("format", With("--format nii"))],
        &[
            ("subject", BY_STAGE),
            ("voxel", BY_STAGE),
            ("size", BY_STAGE),
            ("tilt", BY_STAGE),
            ("x-left-to-right", BY_STAGE),
            ("b0s", BY_STAGE),
            ("shells", BY_STAGE),
            ("snr", BY_STAGE),
            ("rng-seed", BY_STAGE),
            ("b-tensor", BY_STAGE),
            ("motion", BY_STAGE),
            ("dropped-slices", BY_STAGE),
            ("nonlinearity", BY_STAGE),
            ("samples", BY_STAGE),
            ("gre", BY_STAGE),
            ("gre-b0", BY_STAGE),
            ("gre-voxel", BY_STAGE),
            ("gre-snr", BY_STAGE),
            ("bids", Own("data_set_and_derivatives_pass_the_validator_and_are_read_by_pybids")),
            ("broken", Own("data_set_and_derivatives_pass_the_validator_and_are_read_by_pybids")),
        ],
    ],
};

pub(super) const PROOFS: &[&Proof] = &[&CROSSING, &GRE, &PROTOCOL, &TENSORS, &FOLDED];

#[test]
fn of_phantom_crossing() {
    prove(&CROSSING);
}

#[test]
fn of_phantom_gre() {
    prove(&GRE);
}

#[test]
fn of_phantom_protocol() {
    prove(&PROTOCOL);
}

#[test]
fn of_phantom_head() {
    prove(&FOLDED);
}

#[test]
fn of_phantom_tensors() {
    prove(&TENSORS);
}
