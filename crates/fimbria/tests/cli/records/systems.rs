//! All but the fits of series and FSL's program.

use std::fs;

use serde_json::json;

use super::fixtures::{even, put, with_coefficients, with_directions, with_series};
use super::{Instead, On, Proof, Refused, Row, STYLE, TABLE, Two, With, prove};
use crate::util::Folder;

const TRACK: Proof = Proof {
    command: "track",
    fixture: with_directions,
    line: "bpx --seeds seed.nii.gz -n 4",
    rows: &[&[
        ("sh-basis", On("hot.nii --seeds seed.nii.gz -n 4 --sh-basis mrtrix", "--frame voxel")),
        ("peaks", On("peaks.nii --seeds seed.nii.gz -n 4", "--peaks")),
        ("hot", Instead("hot.nii --hot --seeds seed.nii.gz -n 4")),
        ("frame", On("peaks.nii --seeds seed.nii.gz -n 4", "--frame voxel")),
        ("dispersion", On("peaks.nii --seeds seed.nii.gz -n 4", "--dispersion 10")),
        ("mask", With("--mask beside.nii.gz")),
        ("seeds", Instead("bpx --seeds two.nii.gz -n 4")),
        ("include", With("--include far.nii.gz")),
        ("in-order", On("bpx --seeds seed.nii.gz -n 4 --include far.nii.gz", "--in-order")),
        ("exclude", With("--exclude far.nii.gz")),
        ("stop", With("--stop far.nii.gz")),
        ("target", With("--target far.nii.gz")),
        ("network", On("bpx --seeds seed.nii.gz --seeds far.nii.gz -n 4", "--network")),
        ("samples", Instead("bpx --seeds seed.nii.gz -n 5")),
        ("step", With("--step 0.7")),
        ("max-length", With("--max-length 5")),
        ("min-length", With("--min-length 5")),
        ("angle", With("--angle 30")),
        ("fibre-threshold", With("--fibre-threshold 0.2")),
        ("use-fraction", With("--use-fraction")),
        ("modified-euler", With("--modified-euler")),
        ("loop-check", With("--loop-check")),
        ("first-fibre", With("--first-fibre uniform")),
        ("jitter", With("--jitter 1")),
        ("rng-seed", With("--rng-seed 7")),
        ("tracks", With("--tracks tck")),
    ]],
};

const CONNECTOME: Proof = Proof {
    command: "connectome",
    fixture: || {
        let folder = crate::tractogram::with_tractogram();
        fs::write(folder.join("w.txt"), "1 2 3\n").unwrap();
        folder
    },
    line: "a.trx labels.nii",
    rows: &[&[
        ("radius", With("--radius 2")),
        ("exact-label", With("--exact-label")),
        ("weights", With("--weights w.txt")),
    ]],
};

const PEAKS: Proof = Proof {
    command: "peaks",
    fixture: with_coefficients,
    line: "hot.nii",
    rows: &[
        STYLE,
        &[
            ("method", With("--method low-rank")),
            ("fibre", On("hot.nii --method low-rank", "--fibre delta")),
            ("sh-basis", On("hot.nii --sh-basis mrtrix", "--frame voxel")),
            ("number", With("--number 1")),
            ("threshold", With("--threshold 0.5")),
            ("absolute-threshold", With("--absolute-threshold 0.01")),
            ("separation", With("--separation 40")),
            ("starts", With("--starts 60")),
            ("order", With("--order 6")),
            ("frame", With("--frame voxel")),
            ("mask", With("--mask mask.nii")),
        ],
    ],
};

const EIGEN: Proof = Proof {
    command: "eigen",
    fixture: || {
        let folder = Folder::new();
        let tensors = json!({ "order": 2, "dimension": 2, "tensors": [[2.0, 1.0, 3.0]] });
        fs::write(folder.join("in.json"), tensors.to_string()).unwrap();
        folder
    },
    line: "in.json",
    rows: &[&[
        ("tolerance", With("--tolerance 1e-6")),
        ("starts", With("--starts 20")),
        ("rng-seed", With("--rng-seed 3")),
        ("shift", With("--shift 1")),
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

const STICKS: Proof = Proof {
    command: "sticks",
    fixture: with_series,
    line: "dwi.nii --mask mask.nii --device cpu --burn-in 20 --jumps 40",
    rows: &[
        TABLE,
        &[
            ("grad-dev", With("--grad-dev dev.nii")),
            ("mask", Instead("dwi.nii --mask other_mask.nii --device cpu --burn-in 20 --jumps 40")),
            ("model", With("--model 1")),
            ("fibres", With("--fibres 1")),
            ("ard", With("--ard off")),
            ("fudge", With("--fudge 2")),
            ("noise", With("--noise rician")),
            ("f0", With("--f0 ard")),
            (
                "ratio",
                On(
                    "dwi.nii --mask mask.nii --device cpu --burn-in 20 --jumps 40 --model 3",
                    "--ratio 0.2,0.03",
                ),
            ),
            ("burn-in", Instead("dwi.nii --mask mask.nii --device cpu --burn-in 21 --jumps 40")),
            ("jumps", Instead("dwi.nii --mask mask.nii --device cpu --burn-in 20 --jumps 80")),
            ("sample-every", With("--sample-every 20")),
            ("adapt-every", With("--adapt-every 10")),
            ("rng-seed", With("--rng-seed 7")),
            ("half", With("--half")),
        ],
    ],
};

const FIELD: Proof = Proof {
    command: "field",
    fixture: || {
        let folder = Folder::new();
        folder.done("phantom gre --size 20,24,18 --voxel 7.5 --te 4 12 20 --format nii -o gre");
        folder
    },
    line: "gre/phase.nii --mask gre/mask.nii --background pdf",
    rows: &[
        STYLE,
        &[
            ("unwrap", With("--unwrap laplacian")),
            ("offset", With("--offset false")),
            ("background", Instead("gre/phase.nii --mask gre/mask.nii --background lbv")),
            ("radius", On("gre/phase.nii --mask gre/mask.nii", "--radius 10")),
            ("phase-range", With("--phase-range -3.1416 3.1416")),
            ("magnitude", With("--magnitude gre/magnitude.nii")),
            ("te", With("--te 4,12,21")),
            ("b0", With("--b0 2.9")),
            ("b0-dir", With("--b0-dir 0 0.6 0.8")),
            ("b0-dir-vox", With("--b0-dir-vox 0 0.6 0.8")),
            ("phase-sign", With("--phase-sign -1")),
            ("mask", Instead("gre/phase.nii --magnitude gre/magnitude.nii --background pdf")),
        ],
    ],
};

const QSM: Proof = Proof {
    command: "qsm",
    fixture: || {
        let folder = crate::qsm::with_sphere();
        let mut hertz = folder.image("field.nii");
        hertz.data.iter_mut().for_each(|ppm| *ppm *= 128.0);
        put(&folder, "hz.nii", &hertz);
        fs::create_dir(folder.join("dti")).unwrap();
        fs::copy(folder.join("v1.nii"), folder.join("dti/V1.nii")).unwrap();
        fs::copy(folder.join("fa.nii"), folder.join("dti/FA.nii")).unwrap();
        folder
    },
    line: "field.nii --mask mask.nii --device cpu --iterations 1",
    rows: &[
        STYLE,
        &[
            ("method", Instead("field.nii --mask mask.nii --method tkd")),
            ("compat", With("--compat dqsm --b0 3")),
            ("kappa", With("--kappa 0.5")),
            ("solver", With("--solver lsmr")),
            (
                "step",
                On(
                    "field.nii --mask mask.nii --device cpu --iterations 1 --solver landweber",
                    "--step 0.1",
                ),
            ),
            (
                "products",
                On("field.nii --mask truth.nii --device cpu --iterations 1", "--products dense"),
            ),
            ("edges", With("--edges zero")),
            ("support", With("--support 5")),
            ("start", With("--start tikhonov")),
            ("iterations", Instead("field.nii --mask mask.nii --device cpu --iterations 2")),
            ("tolerance", With("--tolerance 1e-3")),
            ("gradient-tolerance", With("--gradient-tolerance 1e-3")),
            ("noise", With("--noise 0.001")),
            ("strength", On("field.nii --mask mask.nii --method tkd", "--strength 0.2")),
            ("zero-mean", With("--zero-mean")),
            ("reference", With("--reference truth.nii")),
            ("truth", With("--truth truth.nii")),
            ("mask", Instead("field.nii --mask truth.nii --device cpu --iterations 1")),
            ("dti", With("--dti dti")),
            ("v1", With("--v1 v1.nii")),
            ("fa", With("--v1 v1.nii --fa fa.nii")),
            (
                "v1-frame",
                On(
                    "field.nii --mask mask.nii --device cpu --iterations 1 --v1 v1.nii --fa fa.nii",
                    "--v1-frame voxel",
                ),
            ),
            (
                "resample",
                On(
                    "field.nii --mask mask.nii --device cpu --iterations 1 --v1 v1.nii --fa fa.nii",
                    "--resample",
                ),
            ),
            (
                "fa-threshold",
                On(
                    "field.nii --mask mask.nii --device cpu --iterations 1 --v1 v1.nii --fa fa.nii",
                    "--fa-threshold 0.3",
                ),
            ),
            ("weights", With("--weights fa.nii")),
            (
                "field-unit",
                Two(
                    "hz.nii --mask mask.nii --device cpu --iterations 1 --b0 3 --field-unit hz",
                    "hz.nii --mask mask.nii --device cpu --iterations 1 --b0 3 --field-unit rad/s",
                ),
            ),
            ("phase-sign", With("--phase-sign -1")),
            ("b0", With("--b0 3")),
            ("b0-dir", With("--b0-dir 0 0.6 0.8")),
            ("b0-dir-vox", With("--b0-dir-vox 0 0.6 0.8")),
            // Those files stand alone: tests of their own read them.
            ("dqsm-files", Refused("--dqsm-files")),
        ],
    ],
};

const LIFE: Proof = Proof {
    command: "life",
    fixture: || {
        let folder = crate::life::with_companions();
        super::fixtures::add_tables(&folder);
        super::fixtures::add_maps(&folder);
        fs::write(folder.join("sets.txt"), "along 0 1 2 3\nacross 12 13\n").unwrap();
        fs::write(folder.join("start.txt"), "0.1\n".repeat(20)).unwrap();
        fs::write(folder.join("dirs.txt"), "1 0 0\n0 1 0\n0 0 1\n").unwrap();
        folder
    },
    line: "lines.tck --dwi dwi.nii",
    rows: &[
        TABLE,
        STYLE,
        &[
            ("dwi", Instead("lines.tck --dwi stronger.nii")),
            ("mask", With("--mask mask.nii")),
            ("grad-dev", Refused("--grad-dev dev.nii")),
            ("second", With("--second same.nii")),
            ("labels", With("--labels labels.nii")),
            ("sets", With("--sets sets.txt")),
            ("start", With("--start start.txt")),
            ("compat", With("--compat dipy")),
            ("atoms", With("--atoms exact")),
            ("directions", With("--directions dirs.txt")),
            ("axial", With("--axial 0.0015")),
            ("radial", With("--radial 0.0001")),
            ("isotropic", On("lines.tck --dwi dwi.nii --demean none", "--isotropic 0.003")),
            ("normalise", With("--normalise nodes")),
            ("demean", With("--demean none")),
            ("rank", With("--rank full")),
            ("solver", With("--solver sbb")),
            ("max-iterations", With("--max-iterations 3")),
            ("tolerance", With("--tolerance 0.1")),
            ("l1", With("--l1 0.1")),
            ("group", On("lines.tck --dwi dwi.nii --sets sets.txt", "--group 0.1")),
        ],
    ],
};

/// The grid of a head.
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

pub(super) const PROOFS: &[&Proof] = &[
    &TRACK,
    &CONNECTOME,
    &PEAKS,
    &EIGEN,
    &COMPARE,
    &CONVERT,
    &STICKS,
    &FIELD,
    &QSM,
    &LIFE,
    &CROSSING,
    &GRE,
    &PROTOCOL,
    &TENSORS,
];

#[test]
fn of_track() {
    prove(&TRACK);
}

#[test]
fn of_connectome() {
    prove(&CONNECTOME);
}

#[test]
fn of_peaks() {
    prove(&PEAKS);
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
fn of_sticks() {
    prove(&STICKS);
}

#[test]
fn of_field() {
    prove(&FIELD);
}

#[test]
fn of_qsm() {
    prove(&QSM);
}

#[test]
fn of_life() {
    prove(&LIFE);
}

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
fn of_phantom_tensors() {
    prove(&TENSORS);
}
