//! Directions, streamlines and what is made of them.

use std::fs;

use super::fixtures::{with_coefficients, with_directions, with_series};
use super::{Instead, On, Proof, Refused, Row, STYLE, TABLE, Two, With, prove};

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
            ("sample-every", With("--sample-every 10")),
            ("adapt-every", With("--adapt-every 10")),
            ("rng-seed", With("--rng-seed 7")),
            ("half", With("--half")),
        ],
    ],
};

const SELECT_4: &str = "hot.nii --hot --seeds seed.nii.gz --select 4 --min-length 0";

const CURVES_4: &str =
    "hot.nii --hot --seeds seed.nii.gz --select 4 --min-length 0 --algorithm transport";

const TISSUES: &str = "hot.nii --hot --seeds edge.nii.gz -n 4 --min-length 0 --act 5tt.nii";

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
        (
            "include-any",
            Two(
                "bpx --seeds seed.nii.gz -n 4 --include far.nii.gz --include beside.nii.gz",
                "bpx --seeds seed.nii.gz -n 4 --include far.nii.gz --include beside.nii.gz --include-any",
            ),
        ),
        ("in-order", On("bpx --seeds seed.nii.gz -n 4 --include far.nii.gz", "--in-order")),
        ("exclude", With("--exclude far.nii.gz")),
        ("stop", With("--stop far.nii.gz")),
        ("target", With("--target far.nii.gz")),
        ("network", On("bpx --seeds seed.nii.gz --seeds far.nii.gz -n 4", "--network")),
        ("act", On("hot.nii --hot --seeds seed.nii.gz -n 4", "--act 5tt.nii")),
        ("backtrack", On(TISSUES, "--backtrack=false")),
        ("crop", On(TISSUES, "--crop=false")),
        ("seed-boundary", On(TISSUES, "--seed-boundary")),
        ("samples", Instead("bpx --seeds seed.nii.gz -n 5")),
        ("select", Two(SELECT_4, "hot.nii --hot --seeds seed.nii.gz --select 5 --min-length 0")),
        ("most-starts", On(SELECT_4, "--most-starts 2")),
        ("seeds-by", On("hot.nii --hot --seeds two.nii.gz --select 4", "--seeds-by density")),
        ("algorithm", On(SELECT_4, "--algorithm deterministic")),
        ("probe", On(CURVES_4, "--probe 3")),
        ("cutoff", On(SELECT_4, "--cutoff 0.2")),
        ("power", On(SELECT_4, "--power 2")),
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
        ("compress", With("--compress 0.1")),
        ("one-direction", On(SELECT_4, "--one-direction")),
        ("downsample", With("--downsample 2")),
        ("tracks", With("--tracks tck")),
    ]],
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
        super::fixtures::put(&folder, "peaks.nii", &super::fixtures::even(&[0.6, 0.0, 0.8]));
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
            ("hindered", With("--hindered 0.0005 --peaks peaks.nii")),
            ("peaks", With("--hindered 0.0005 --peaks peaks.nii")),
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

const CONNECTOME: Proof = Proof {
    command: "connectome",
    fixture: || {
        let folder = crate::tractogram::with_tractogram();
        fs::write(folder.join("w.txt"), "1 2 3\n").unwrap();
        fs::write(folder.join("lut.txt"), "1 left\n2 right\n").unwrap();
        folder
    },
    line: "a.trx labels.nii",
    rows: &[&[
        ("radius", With("--radius 2")),
        ("exact-label", With("--exact-label")),
        ("reverse-search", With("--reverse-search 2")),
        ("forward-search", With("--forward-search 2")),
        ("all-voxels", With("--all-voxels")),
        ("weights", With("--weights w.txt")),
        ("map", With("--map region=labels.nii")),
        ("of-edge", With("--of-edge max")),
        ("lut", With("--lut lut.txt")),
        ("all-labels", With("--all-labels")),
        ("per-length", With("--per-length")),
        ("per-volume", With("--per-volume")),
        ("hollow", With("--hollow")),
        ("upper", With("--upper")),
        ("npy", With("--npy")),
        ("assignments", With("--assignments")),
    ]],
};

const SIFT2: Proof = Proof {
    command: "sift2",
    fixture: || {
        let folder = crate::sift2::with_densities();
        fs::write(folder.join("w.txt"), "1 2 3\n").unwrap();
        folder
    },
    line: "a.trx fod.nii --sh-basis mrtrix",
    rows: &[&[
        ("sh-basis", Instead("a.trx fod.nii --sh-basis dipy --frame scanner")),
        ("order", With("--order 4")),
        ("frame", With("--frame voxel")),
        ("mask", With("--mask labels.nii")),
        ("act", With("--act 5tt.nii")),
        ("start", With("--start w.txt")),
        ("variation", With("--variation 0.5")),
        ("tikhonov", With("--tikhonov 0.5")),
        ("least-filled", With("--least-filled 0.2")),
        ("least-peak", With("--least-peak 0.3")),
        ("iterations", With("--iterations 2")),
    ]],
};

const FIXEL: Proof = Proof {
    command: "fixel",
    fixture: crate::sift2::with_densities,
    line: "fod.nii --sh-basis mrtrix",
    rows: &[&[
        ("sh-basis", Instead("fod.nii --sh-basis dipy --frame scanner")),
        ("order", With("--order 4")),
        ("frame", With("--frame voxel")),
        ("mask", With("--mask labels.nii")),
        ("tractogram", With("--tractogram a.trx")),
        ("angle", On("fod.nii --sh-basis mrtrix --tractogram a.trx", "--angle 30")),
        ("least-peak", With("--least-peak 0.3")),
        ("direction", With("--direction peak")),
        ("format", With("--format nii")),
    ]],
};

/// Options that say where regions lie, after a line that has one of them.
const SPACE: &[Row] = &[
    ("lut", With("--lut lut.txt")),
    ("transform", With("--transform matrix.txt")),
    ("fsl-in", With("--transform matrix.txt --fsl-in a.nii --fsl-ref b.nii")),
    ("fsl-ref", With("--transform matrix.txt --fsl-in a.nii --fsl-ref b.nii")),
];

fn with_tracts() -> crate::util::Folder {
    let folder = crate::tract::with_tracts(40);
    fs::write(folder.join("matrix.txt"), "1 0 0 1\n0 1 0 0\n0 0 1 0\n0 0 0 1\n").unwrap();
    fs::write(folder.join("all.toml"), "[a]\ninclude = ['a.nii']\n").unwrap();
    fs::write(folder.join("both.txt"), "1 2\n2 2\n".repeat(20)).unwrap();
    fs::write(folder.join("other.toml"), "[a]\nexclude = ['a.nii']\n").unwrap();
    folder
}

const EDIT: Proof = Proof {
    command: "tract edit",
    fixture: with_tracts,
    // The first word is the extension of what is written.
    line: ".trx a.trx --include a.nii",
    rows: &[
        SPACE,
        &[
            ("include", With("--include b.nii")),
            ("include-any", With("--include-any b.nii")),
            ("exclude", With("--exclude 1,2,3,4")),
            ("ends-in", With("--ends-in labels.nii:1")),
            ("ends-only", With("--ends-only")),
            ("min-length", With("--min-length 10")),
            ("max-length", With("--max-length 50")),
            ("weights", With("--weights w.txt")),
            ("min-weight", On(".trx a.trx --weights weight", "--min-weight 0.2")),
            ("max-weight", On(".trx a.trx --weights weight", "--max-weight 0.7")),
            ("assignments", With("--assignments both.txt --connects 1")),
            ("connects", With("--assignments both.txt --connects 1")),
            ("inverse", With("--inverse")),
            ("skip", With("--skip 2")),
            ("number", With("--number 3")),
            ("rng-seed", On(".trx a.trx --number 3", "--rng-seed 2")),
            ("points", With("--points 9")),
            ("step", With("--step 2")),
            ("compress", With("--compress 0.1")),
            ("reference", With("--reference b.nii")),
        ],
    ],
};

const BUNDLES: Proof = Proof {
    command: "tract bundles",
    fixture: with_tracts,
    line: "a.trx --bundles all.toml",
    rows: &[
        SPACE,
        &[
            ("bundles", Instead("a.trx --bundles other.toml")),
            ("weights", With("--weights w.txt")),
            ("tracks", With("--tracks tck")),
            ("reference", With("--reference b.nii")),
        ],
    ],
};

const CLEAN: Proof = Proof {
    command: "tract clean",
    fixture: with_tracts,
    line: ".trx a.trx",
    rows: &[&[
        ("distance", With("--distance 3")),
        ("length", With("--length 3")),
        ("points", With("--points 20")),
        ("weights", With("--weights w.txt")),
        ("reference", With("--reference b.nii")),
    ]],
};

const PROFILE: Proof = Proof {
    command: "tract profile",
    fixture: with_tracts,
    line: "a.trx --map a.nii",
    rows: &[&[
        ("map", With("--map b.nii")),
        ("points", With("--points 20")),
        ("start", With("--start b.nii")),
        ("lut", On("a.trx --map a.nii --start labels.nii:1", "--lut lut.txt")),
        ("weights", With("--weights weight")),
    ]],
};

const MAP: Proof = Proof {
    command: "tract map",
    fixture: with_tracts,
    // The first word is the extension of what is written.
    line: ".nii a.trx",
    rows: &[&[
        ("of", With("--of number")),
        ("map", With("--of map --map a.nii")),
        ("along", On(".nii a.trx --of map --map a.nii", "--along max")),
        ("weights", With("--weights w.txt")),
        ("template", With("--template fine.nii")),
        ("voxel", With("--voxel 2")),
    ]],
};

const CLUSTER: Proof = Proof {
    command: "tract cluster",
    fixture: with_tracts,
    line: "a.trx",
    rows: &[&[
        ("threshold", With("--threshold 20")),
        ("points", With("--points 5")),
        ("min-size", With("--min-size 2")),
        ("tracks", With("--tracks tck")),
        ("reference", With("--reference b.nii")),
    ]],
};

const SAMPLE: Proof = Proof {
    command: "tract sample",
    fixture: with_tracts,
    // The first word is the extension of what is written.
    line: ".trx a.trx --map a.nii",
    rows: &[&[
        ("map", Instead(".trx a.trx --map b.nii")),
        ("along", With("--along max")),
        ("look-up", With("--look-up nearest")),
        ("reference", With("--reference b.nii")),
    ]],
};

pub(super) const PROOFS: &[&Proof] = &[
    &PEAKS,
    &STICKS,
    &TRACK,
    &LIFE,
    &CONNECTOME,
    &SIFT2,
    &FIXEL,
    &EDIT,
    &BUNDLES,
    &CLEAN,
    &PROFILE,
    &MAP,
    &CLUSTER,
    &SAMPLE,
];

#[test]
fn of_fixel() {
    prove(&FIXEL);
}

#[test]
fn of_tract_edit() {
    prove(&EDIT);
}

#[test]
fn of_tract_bundles() {
    prove(&BUNDLES);
}

#[test]
fn of_tract_clean() {
    prove(&CLEAN);
}

#[test]
fn of_tract_profile() {
    prove(&PROFILE);
}

#[test]
fn of_tract_map() {
    prove(&MAP);
}

#[test]
fn of_tract_cluster() {
    prove(&CLUSTER);
}

#[test]
fn of_tract_sample() {
    prove(&SAMPLE);
}

#[test]
fn of_peaks() {
    prove(&PEAKS);
}

#[test]
fn of_sticks() {
    prove(&STICKS);
}

#[test]
fn of_track() {
    prove(&TRACK);
}

#[test]
fn of_life() {
    prove(&LIFE);
}

#[test]
fn of_connectome() {
    prove(&CONNECTOME);
}

#[test]
fn of_sift2() {
    prove(&SIFT2);
}
