//! The fits of series.

use std::fs;

use super::fixtures::{add_maps, add_tables, put};
use super::{Alias, Instead, Proof, Refused, Row, STYLE, TABLE, Two, With, prove};
use crate::util::{Folder, subject};

const LINE: &str = "dwi.nii --mask mask.nii";

/// What every fit takes.
const SERIES: &[Row] = &[
    ("mask", Instead("dwi.nii --mask other_mask.nii")),
    ("data", Alias),
    ("shells", With("--shells 1000,2000")),
    ("bmax", With("--bmax 1900")),
];

/// What the fits have in common that iterate.
const CURVE: &[Row] = &[
    ("precision", With("--precision double")),
    ("max-iterations", With("--max-iterations 3")),
    ("robust", With("--robust huber")),
    ("errors", With("--errors")),
    ("sigma", With("--likelihood rician --sigma 5")),
    ("likelihood", With("--likelihood rician --sigma 5")),
    ("background", With("--likelihood rician --background outside.nii")),
];

/// Most fits take one table for all voxels.
const NO_DEVIATION: &[Row] = &[("grad-dev", Refused("--grad-dev dev.nii"))];

const PROTOCOL: &str = "dwi.nii --mask mask.nii --bmax 4000";

const OF_PROTOCOL: &[Row] = &[
    ("mask", Instead("dwi.nii --mask other_mask.nii --bmax 4000")),
    ("data", Alias),
    ("shells", With("--shells 600,1000,2000,3000")),
    ("bmax", Instead("dwi.nii --mask mask.nii --bmax 6000")),
];

/// Many b along each direction, in some voxels.
fn with_protocol() -> Folder {
    let folder = Folder::new();
    folder.done("phantom protocol --size 5,5,2 --voxel 12 --format nii -o p");
    for name in ["dwi.nii", "dwi.bval", "dwi.bvec", "mask.nii"] {
        fs::rename(folder.join(&format!("p/{name}")), folder.join(name)).unwrap();
    }
    fs::remove_dir_all(folder.join("p")).unwrap();
    add_tables(&folder);
    let mut mask = folder.image("mask.nii");
    let mut outside = mask.clone();
    outside.data.iter_mut().for_each(|inside| *inside = 1.0 - *inside);
    put(&folder, "outside.nii", &outside);
    let first = mask.data.iter().position(|&inside| inside > 0.0).unwrap();
    mask.data[first] = 0.0;
    put(&folder, "other_mask.nii", &mask);
    folder
}

/// The subject with two shells, other tables and masks.
fn with_shells() -> Folder {
    let folder = crate::fit_dki::folder();
    add_tables(&folder);
    add_maps(&folder);
    let mut outside = subject().mask;
    outside.data.iter_mut().for_each(|inside| *inside = 1.0 - *inside);
    put(&folder, "outside.nii", &outside);
    let white = "# Shells: 1000,2000\n800 -500 100\n500 -400 80\n";
    fs::write(folder.join("white.txt"), white).unwrap();
    for (name, rows) in [
        ("response.txt", "1000 -400 100\n800 -500 100\n500 -400 80\n"),
        ("gm.txt", "900\n400\n200\n"),
        ("flat.txt", "1000\n300\n100\n"),
        ("fast.txt", "2000\n200\n50\n"),
    ] {
        fs::write(folder.join(name), format!("# Shells: 0,1000,2000\n{rows}")).unwrap();
    }
    folder
}

const DTI: Proof = Proof {
    command: "fit dti",
    fixture: with_shells,
    line: LINE,
    rows: &[
        TABLE,
        STYLE,
        SERIES,
        &[
            ("grad-dev", With("--grad-dev dev.nii")),
            ("method", With("--method ols")),
            ("compat", With("--compat dipy")),
            ("precision", With("--precision double")),
            ("sigma", With("--method restore --sigma 5")),
            ("maps", With("--maps FA")),
        ],
    ],
};

const HOT: Proof = Proof {
    command: "fit hot",
    fixture: with_protocol,
    line: PROTOCOL,
    rows: &[
        TABLE,
        STYLE,
        OF_PROTOCOL,
        &[
            ("grad-dev", Refused("--grad-dev dev.nii")),
            ("order", With("--order 6")),
            ("method", With("--method ols")),
            ("positive", With("--positive")),
        ],
    ],
};

const MONO: Proof = Proof {
    command: "fit mono",
    fixture: with_shells,
    line: LINE,
    rows: &[TABLE, STYLE, SERIES, CURVE, NO_DEVIATION],
};

const DKI: Proof = Proof {
    command: "fit dki",
    fixture: with_shells,
    line: LINE,
    rows: &[
        TABLE,
        STYLE,
        &[
            ("mask", Instead("dwi.nii --mask other_mask.nii")),
            ("data", Alias),
            ("shells", With("--shells 1000,2000")),
            ("bmax", With("--bmax 2500")),
            ("method", With("--method ols")),
            ("compat", With("--compat dipy")),
            ("unconstrained", With("--unconstrained")),
            ("clip", With("--clip 0,5")),
            ("maps", With("--maps MK")),
        ],
        NO_DEVIATION,
    ],
};

const MSDKI: Proof = Proof {
    command: "fit msdki",
    fixture: with_shells,
    line: LINE,
    rows: &[
        TABLE,
        STYLE,
        &[
            ("mask", Instead("dwi.nii --mask other_mask.nii")),
            ("data", Alias),
            ("shells", With("--shells 1000,2000")),
            ("bmax", With("--bmax 2500")),
        ],
        NO_DEVIATION,
    ],
};

const FOD_LINE: &str = "dwi.nii --mask mask.nii --order 4 --response white.txt --tissues white";
const FOD_OF_THREE: &str = "dwi.nii --mask mask.nii --order 4 --tissues three \
                            --response response.txt --response-gm flat.txt --response-csf flat.txt";

const FOD: Proof = Proof {
    command: "fit fod",
    fixture: with_shells,
    line: FOD_LINE,
    rows: &[
        TABLE,
        STYLE,
        &[
            (
                "mask",
                Instead(
                    "dwi.nii --mask other_mask.nii --order 4 --response white.txt --tissues white",
                ),
            ),
            ("data", Alias),
            ("shells", With("--shells 1000,2000")),
            ("bmax", With("--bmax 2500")),
            (
                "order",
                Instead("dwi.nii --mask mask.nii --order 6 --response white.txt --tissues white"),
            ),
            ("tissues", Instead(FOD_OF_THREE)),
            ("response", Instead("dwi.nii --mask mask.nii --order 4 --tissues white")),
            (
                "response-gm",
                Two(
                    FOD_OF_THREE,
                    "dwi.nii --mask mask.nii --order 4 --tissues three --response response.txt \
                     --response-gm gm.txt --response-csf flat.txt",
                ),
            ),
            (
                "response-csf",
                Two(
                    FOD_OF_THREE,
                    "dwi.nii --mask mask.nii --order 4 --tissues three --response response.txt \
                     --response-gm flat.txt --response-csf fast.txt",
                ),
            ),
            ("regularisation", With("--regularisation 0.1")),
        ],
        // It warns that every voxel has the table's.
        &[("grad-dev", With("--grad-dev dev.nii"))],
    ],
};

const IVIM: Proof = Proof {
    command: "fit ivim",
    fixture: with_protocol,
    line: PROTOCOL,
    rows: &[
        TABLE,
        STYLE,
        &[
            ("mask", Instead("dwi.nii --mask other_mask.nii --bmax 4000")),
            ("data", Alias),
            ("shells", With("--shells 100,1000,2000")),
            ("bmax", Instead("dwi.nii --mask mask.nii --bmax 6000")),
        ],
        CURVE,
        NO_DEVIATION,
    ],
};

const EXPR: Proof = Proof {
    command: "fit expr",
    fixture: with_shells,
    line: "dwi.nii --mask mask.nii --model S0*exp(-b*D) --param S0=500 --param D=1",
    rows: &[
        TABLE,
        STYLE,
        &[
            (
                "mask",
                Instead(
                    "dwi.nii --mask other_mask.nii --model S0*exp(-b*D) --param S0=500 --param D=1",
                ),
            ),
            ("data", Alias),
            ("shells", With("--shells 1000,2000")),
            ("bmax", With("--bmax 1900")),
            (
                "model",
                Instead(
                    "dwi.nii --mask mask.nii --model S0*exp(-b*D)+0 --param S0=500 --param D=1",
                ),
            ),
            (
                "param",
                Instead("dwi.nii --mask mask.nii --model S0*exp(-b*D) --param S0=500 --param D=2"),
            ),
            (
                "constant",
                Instead(
                    "dwi.nii --mask mask.nii --model c*S0*exp(-b*D) --param S0=500 --param D=1 \
                     --constant c=mask.nii",
                ),
            ),
            ("per-volume", With("--per-volume TE=other.bval")),
            ("starts", With("--starts 2")),
            ("about", With("--about D=diffusivity")),
        ],
        CURVE,
        NO_DEVIATION,
    ],
};

const STREMI: Proof = Proof {
    command: "fit stremi",
    fixture: with_protocol,
    line: PROTOCOL,
    rows: &[
        TABLE,
        STYLE,
        OF_PROTOCOL,
        CURVE,
        &[("projection", With("--projection paper")), ("axes-bmax", With("--axes-bmax 1200"))],
        NO_DEVIATION,
    ],
};

const NODDI: Proof = Proof {
    command: "fit noddi",
    fixture: with_protocol,
    line: PROTOCOL,
    rows: &[
        TABLE,
        STYLE,
        OF_PROTOCOL,
        CURVE,
        &[("tissue", With("--tissue ex-vivo")), ("compat", With("--compat amico"))],
        NO_DEVIATION,
    ],
};

const FWDTI: Proof = Proof {
    command: "fit fwdti",
    fixture: with_protocol,
    line: PROTOCOL,
    rows: &[
        TABLE,
        STYLE,
        OF_PROTOCOL,
        CURVE,
        &[("single-shell", With("--single-shell"))],
        NO_DEVIATION,
    ],
};

const GQI: Proof = Proof {
    command: "fit gqi",
    fixture: with_protocol,
    line: PROTOCOL,
    rows: &[
        TABLE,
        STYLE,
        OF_PROTOCOL,
        &[("length", With("--length 1.2")), ("weighting", With("--weighting squared"))],
        NO_DEVIATION,
    ],
};

const AXDKI: Proof = Proof {
    command: "fit axdki",
    fixture: with_protocol,
    line: PROTOCOL,
    rows: &[TABLE, STYLE, OF_PROTOCOL, CURVE, NO_DEVIATION],
};

const SMT: Proof = Proof {
    command: "fit smt",
    fixture: with_protocol,
    line: PROTOCOL,
    rows: &[
        TABLE,
        STYLE,
        OF_PROTOCOL,
        CURVE,
        &[("compartments", With("--compartments two"))],
        NO_DEVIATION,
    ],
};

const DKIMICRO: Proof = Proof {
    command: "fit dkimicro",
    fixture: with_shells,
    line: "dwi.nii --mask mask.nii",
    rows: &[
        TABLE,
        STYLE,
        &[
            ("mask", Instead("dwi.nii --mask other_mask.nii")),
            ("data", Alias),
            ("shells", With("--shells 1000,2000")),
            ("bmax", With("--bmax 2500")),
            ("method", With("--method ols")),
            ("unconstrained", With("--unconstrained")),
        ],
        NO_DEVIATION,
    ],
};

const MAPMRI: Proof = Proof {
    command: "fit mapmri",
    fixture: with_protocol,
    line: "dwi.nii --mask mask.nii --order 4 --big-delta 40 --small-delta 20",
    rows: &[
        TABLE,
        STYLE,
        &[
            (
                "mask",
                Instead("dwi.nii --mask other_mask.nii --order 4 --big-delta 40 --small-delta 20"),
            ),
            ("data", Alias),
            ("shells", With("--shells 1000,2000")),
            ("bmax", With("--bmax 4000")),
            ("order", Instead("dwi.nii --mask mask.nii --order 6 --big-delta 40 --small-delta 20")),
            ("laplacian", With("--laplacian gcv")),
            ("axes-bmax", With("--axes-bmax 1200")),
            ("isotropic", With("--isotropic")),
            ("odf", With("--odf")),
            ("positive", With("--positive")),
            (
                "big-delta",
                Instead("dwi.nii --mask mask.nii --order 4 --big-delta 45 --small-delta 20"),
            ),
            (
                "small-delta",
                Instead("dwi.nii --mask mask.nii --order 4 --big-delta 40 --small-delta 25"),
            ),
        ],
        NO_DEVIATION,
    ],
};

const STREMI1D: Proof = Proof {
    command: "fit stremi1d",
    fixture: with_protocol,
    line: PROTOCOL,
    rows: &[TABLE, STYLE, OF_PROTOCOL, CURVE, NO_DEVIATION],
};

const DKI1D: Proof = Proof {
    command: "fit dki1d",
    fixture: with_protocol,
    line: PROTOCOL,
    rows: &[
        TABLE,
        STYLE,
        OF_PROTOCOL,
        &[
            ("eta", With("--eta fixed:0.01")),
            ("precision", With("--precision double")),
            ("max-iterations", With("--max-iterations 3")),
            ("robust", With("--robust huber")),
            ("errors", With("--errors")),
            ("sigma", With("--sigma 5")),
            ("background", With("--background outside.nii")),
        ],
        NO_DEVIATION,
    ],
};

pub(super) const PROOFS: &[&Proof] = &[
    &DTI, &HOT, &MONO, &DKI, &FOD, &IVIM, &EXPR, &STREMI, &STREMI1D, &DKI1D, &MSDKI, &NODDI,
    &FWDTI, &SMT, &AXDKI, &DKIMICRO, &MAPMRI, &GQI,
];

#[test]
fn of_dti() {
    prove(&DTI);
}

#[test]
fn of_hot() {
    prove(&HOT);
}

#[test]
fn of_mono() {
    prove(&MONO);
}

#[test]
fn of_dki() {
    prove(&DKI);
}

#[test]
fn of_fod() {
    prove(&FOD);
}

#[test]
fn of_ivim() {
    prove(&IVIM);
}

#[test]
fn of_noddi() {
    prove(&NODDI);
}

#[test]
fn of_fwdti() {
    prove(&FWDTI);
}

#[test]
fn of_smt() {
    prove(&SMT);
}

#[test]
fn of_mapmri() {
    prove(&MAPMRI);
}

#[test]
fn of_gqi() {
    prove(&GQI);
}

#[test]
fn of_axdki() {
    prove(&AXDKI);
}

#[test]
fn of_dkimicro() {
    prove(&DKIMICRO);
}

#[test]
fn of_expr() {
    prove(&EXPR);
}

#[test]
fn of_stremi() {
    prove(&STREMI);
}

#[test]
fn of_stremi1d() {
    prove(&STREMI1D);
}

#[test]
fn of_dki1d() {
    prove(&DKI1D);
}

#[test]
fn of_msdki() {
    prove(&MSDKI);
}
