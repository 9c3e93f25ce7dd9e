//! What takes files as they are.

use std::fs;

use serde_json::json;

use super::fixtures::{even, put, with_series};
use super::{Instead, On, Proof, TABLE, With, prove};
use crate::util::{Folder, npy};

const EIGEN: Proof = Proof {
    command: "eigen",
    fixture: || {
        let folder = Folder::new();
        let tensors = json!({ "order": 2, "dimension": 2, "tensors": [[2.0, 1.0, 3.0]] });
        fs::write(folder.join("in.json"), tensors.to_string()).unwrap();
        put(&folder, "in.nii", &even(&[2.0, 1.0, 0.5, 3.0, 0.0, 1.0]));
        let mut mask = even(&[0.0]);
        mask.data[0] = 1.0;
        put(&folder, "mask.nii", &mask);
        fs::write(folder.join("in.npy"), npy("<f4", [1, 15], &[1; 60])).unwrap();
        folder
    },
    line: "in.json",
    rows: &[&[
        ("tolerance", With("--tolerance 1e-6")),
        ("starts", With("--starts 20")),
        ("rng-seed", With("--rng-seed 3")),
        ("shift", With("--shift 1")),
        ("mask", On("in.nii", "--mask mask.nii")),
        ("dimension", On("in.npy", "--dimension 5")),
        ("kinds", With("--kinds maxima")),
        ("precision", With("--precision single")),
    ]],
};

const COMPARE: Proof = Proof {
    command: "compare",
    fixture: || {
        let folder = Folder::new();
        for (name, value) in [("a", 30.0), ("b", 31.0), ("c", 35.0), ("d", 36.0)] {
            put(&folder, &format!("{name}.nii"), &even(&[value]));
        }
        folder
    },
    line: "--threads 1 a.nii b.nii -- c.nii d.nii",
    rows: &[&[("threshold", Instead("--threshold 3 a.nii b.nii -- c.nii d.nii"))]],
};

const CONVERT: Proof = Proof {
    command: "convert",
    fixture: || {
        let folder = with_series();
        let tracts = crate::tractogram::with_tractogram();
        for name in ["a.trx", "labels.nii"] {
            fs::copy(tracts.join(name), folder.join(name)).unwrap();
        }
        put(&folder, "six.nii", &even(&[1.0, 0.1, 0.2, 2.0, 0.3, 3.0]));
        folder.done("convert a.trx -o a.tck");
        folder
    },
    // The first word is the extension of what is written.
    line: ".nii dwi.nii",
    rows: &[
        TABLE,
        &[
            ("datatype", With("--datatype float64")),
            ("tensors", On(".nii six.nii", "--tensors dipy:mrtrix")),
            ("reference", On(".tck a.tck", "--reference labels.nii")),
            ("trx-folder", On("/ a.trx --trx-folder", "--datatype float16")),
        ],
    ],
};

const RESPONSE: Proof = Proof {
    command: "response",
    fixture: || {
        let folder = Folder::new();
        fs::write(folder.join("a.txt"), "900 0\n420 -180\n").unwrap();
        fs::write(folder.join("b.txt"), "1800 0\n400 -80\n").unwrap();
        folder
    },
    // The first word is the extension of what is written.
    line: ".txt a.txt b.txt",
    rows: &[&[("legacy", With("--legacy"))]],
};

const MASK: Proof = Proof {
    command: "mask",
    fixture: with_series,
    line: "dwi.nii",
    rows: &[TABLE, &[("format", With("--format nii"))]],
};

const CORRECT: Proof = Proof {
    command: "correct",
    fixture: || {
        let folder = with_series();
        let said = r#"{"PhaseEncodingDirection": "j", "TotalReadoutTime": 0.05, "MagneticFieldStrength": 3}"#;
        fs::write(folder.join("dwi.json"), said).unwrap();
        let said = r#"{"PhaseEncodingDirection": "j-", "TotalReadoutTime": 0.05}"#;
        fs::write(folder.join("opposed.json"), said).unwrap();
        for extension in ["nii", "bval", "bvec"] {
            let [from, to] = ["dwi", "opposed"].map(|stem| format!("{stem}.{extension}"));
            fs::copy(folder.join(&from), folder.join(&to)).unwrap();
        }
        // A field that rises along the phase encoding, and places one voxel further.
        let (mut field, mut warp) = (even(&[0.0]), even(&[0.0; 3]));
        let grid = field.grid;
        for voxel in 0..grid.len() {
            let at = grid.voxel(voxel).map(|i| i as f64);
            field.data[voxel] = 1.0 + (at[1] * at[1]) as f32;
            let place = grid.ras_from_vox.apply([at[0], at[1] + 1.0, at[2]]);
            (0..3).for_each(|axis| warp.volume_mut(axis)[voxel] = place[axis] as f32);
        }
        put(&folder, "field.nii", &field);
        fs::write(folder.join("field.json"), r#"{"Units": "Hz"}"#).unwrap();
        put(&folder, "bright.nii", &even(&[100.0]));
        put(&folder, "warp.nii", &warp);
        fs::write(folder.join("shift.txt"), "1 0 0 1\n0 1 0 0\n0 0 1 0\n0 0 0 1\n").unwrap();
        folder
    },
    line: "dwi.nii --mask mask.nii",
    rows: &[
        TABLE,
        &[
            ("mask", Instead("dwi.nii --mask other_mask.nii")),
            ("phase-encoding", On(TWO_WITH_FIELD, "--phase-encoding j --phase-encoding i")),
            ("eddy", With("--eddy none")),
            ("keep-dropped", With("--keep-dropped")),
            ("field", With("--field field.nii")),
            ("field-magnitude", On(WITH_FIELD, "--field-magnitude bright.nii")),
            ("field-unit", On(WITH_FIELD, "--field-unit rad/s")),
            ("field-transform", On(WITH_FIELD, "--field-transform shift.txt")),
            ("field-fwhm", On(WITH_FIELD, "--field-fwhm 0")),
            ("readout-time", On(TWO_WITH_FIELD, "--readout-time 0.05 --readout-time 0.1")),
            ("warp", With("--warp warp.nii")),
            ("keep-distortion", With("--keep-distortion")),
            ("format", With("--format nii")),
        ],
    ],
};

/// Of two series, which lie in one place.
const TWO_WITH_FIELD: &str = "dwi.nii opposed.nii --mask mask.nii --field field.nii";

const WITH_FIELD: &str = "dwi.nii --mask mask.nii --field field.nii";

const ALIGN: Proof = Proof {
    command: "align",
    fixture: || {
        let folder = crate::align::with_heads();
        fs::write(folder.join("matrix.txt"), "1 0 0 1\n0 1 0 0\n0 0 1 0\n0 0 0 1\n").unwrap();
        folder
    },
    line: "t1w.nii b0.nii --labels labels.nii",
    rows: &[&[
        ("mask", With("--mask mask.nii")),
        ("labels", Instead("t1w.nii b0.nii")),
        ("keep-grid", With("--keep-grid")),
        ("transform", With("--transform matrix.txt")),
        ("fsl", With("--transform matrix.txt --fsl")),
        ("format", With("--format nii")),
    ]],
};

const NORMALISE: Proof = Proof {
    command: "normalise",
    fixture: crate::normalise::with_tissues,
    line: "wm.nii gm.nii csf.nii --mask all.nii",
    rows: &[&[
        ("mask", Instead("wm.nii gm.nii csf.nii --mask fewer.nii")),
        ("order", With("--order 1")),
        ("format", With("--format nii")),
        ("layout", With("--layout mrtrix")),
    ]],
};

const REGIONS: Proof = Proof {
    command: "regions",
    fixture: || {
        let folder = Folder::new();
        for (name, value) in [("labels", 7.0), ("fa", 0.4), ("md", 0.8)] {
            put(&folder, &format!("{name}.nii"), &even(&[value]));
        }
        fs::write(folder.join("lut.txt"), "7 Here 0 0 0 0\n").unwrap();
        folder
    },
    line: "labels.nii --map fa.nii",
    rows: &[&[
        ("map", Instead("labels.nii --map md.nii")),
        ("lut", With("--lut lut.txt")),
        ("mask", With("--mask labels.nii")),
    ]],
};

pub(super) const PROOFS: &[&Proof] =
    &[&EIGEN, &COMPARE, &CONVERT, &RESPONSE, &MASK, &CORRECT, &ALIGN, &NORMALISE, &REGIONS];

#[test]
fn of_response() {
    prove(&RESPONSE);
}

#[test]
fn of_eigen() {
    prove(&EIGEN);
}

#[test]
fn of_compare() {
    prove(&COMPARE);
}

#[test]
fn of_convert() {
    prove(&CONVERT);
}

#[test]
fn of_mask() {
    prove(&MASK);
}

#[test]
fn of_correct() {
    prove(&CORRECT);
}

#[test]
fn of_normalise() {
    prove(&NORMALISE);
}

#[test]
fn of_regions() {
    prove(&REGIONS);
}
