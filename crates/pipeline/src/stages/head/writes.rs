//! What `fimbria phantom head` writes.

use fimbria_image::MapKind;

use crate::stages::head_data_set::DATA_SET_WRITES;
use crate::{FileKind, Written};

/// What asks for faults.
const MOTION: &str = "with --motion";
const DROPPED: &str = "with --dropped-slices";
const B_TENSOR: &str = "with --b-tensor";
const NONLINEARITY: &str = "with --nonlinearity";
/// What asks for the gradient-echo scan.
const GRE: &str = "with --gre";

/// What `fimbria phantom head` writes.
pub const HEAD_WRITES: &[Written] = &[
    Written::image("dwi", MapKind::Scalar, 0, "arbitrary", "the series"),
    Written::BVAL,
    Written::BVEC,
    Written::file(
        "dwi.bshape",
        FileKind::Table,
        "shape of each volume's b-tensor: 1 linear, -0.5 planar, 0 spherical",
    )
    .only(B_TENSOR),
    Written::code("mask", "voxels at least half of which are brain or its fluid"),
    Written::scalar("t1w", "arbitrary", "a T1-weighted picture without noise"),
    Written::scalar("labels", "", "numbers of labels.txt (uint16), FreeSurfer's where it has them"),
    Written::file(
        "labels.txt",
        FileKind::Table,
        "number, name, red, green, blue, 0: a table that FSLeyes and mrview read",
    ),
    Written::image(
        "5tt",
        MapKind::Scalar,
        5,
        "",
        "cortical grey, subcortical grey, white, fluid, none; sum 1 in the mask, 0 \
         outside: what `track --act` and MRtrix3 read",
    ),
    Written::image(
        "truth/tissues",
        MapKind::Scalar,
        9,
        "",
        "sum 1 everywhere: cortical and subcortical grey, white, fluid, blood, soft, \
         fat, bone, air",
    ),
    Written::image(
        "truth/dirs",
        MapKind::Peaks,
        12,
        "",
        "x y z of up to four fibres, largest fraction first, 0 = none",
    ),
    Written::image(
        "truth/fractions",
        MapKind::Scalar,
        4,
        "",
        "their parts of the unweighted signal",
    ),
    Written::image(
        "truth/bundles",
        MapKind::Scalar,
        4,
        "",
        "numbers of their bundles, as in truth/bundles.txt",
    ),
    Written::image("truth/ODI", MapKind::Scalar, 4, "", "NODDI's index of their dispersion"),
    Written::image("truth/NDI", MapKind::Scalar, 4, "", "part of their water that is inside axons"),
    Written::scalar("truth/FA", "", "of the signal without noise, in closed form, in the mask"),
    Written::scalar("truth/MD", "mm^2/s", "the same"),
    Written::scalar("truth/MK", "", "the same"),
    Written::scalar("truth/S0", "arbitrary", "signal without weighting and noise"),
    Written::scalar("truth/coil", "", "sensitivity of the coil"),
    Written::scalar("truth/PD", "", "proton density, 1 in fluid"),
    Written::scalar("truth/T1", "s", "mean over the voxel's water"),
    Written::scalar("truth/T2", "s", "the same"),
    Written::file(
        "truth/tracts.trx",
        FileKind::Tractogram,
        "the streamlines, a group for each bundle",
    ),
    Written::code("truth/bundles/*", "of each bundle the voxels that its streamlines pass"),
    Written::file(
        "truth/bundles.txt",
        FileKind::Table,
        "number, name and streamlines of each bundle; the last number is that of \
         fibres of no bundle",
    ),
    Written::image(
        "grad_dev",
        MapKind::Scalar,
        9,
        "",
        "L of every voxel, column by column, as FSL's: what --grad-dev of the fits reads",
    )
    .only(NONLINEARITY),
    Written::file(
        "truth/motion.tsv",
        FileKind::Table,
        "where the head is in each volume: mm along scanner x, y, z, then radians about them",
    )
    .only(MOTION),
    Written::file(
        "truth/dropped.tsv",
        FileKind::Table,
        "volume and slice, from 0, and what is left of the signal",
    )
    .only(DROPPED),
    Written::image("gre/phase", MapKind::Scalar, 0, "rad", "phase of every echo, wrapped")
        .only(GRE),
    Written::file("gre/phase.json", FileKind::Json, "echo times and B0").only(GRE),
    Written::image("gre/magnitude", MapKind::Scalar, 0, "arbitrary", "magnitude of every echo")
        .only(GRE),
    Written::code("gre/mask", "voxels that are brain or its fluid alone").only(GRE),
    Written::scalar(
        "gre/truth/chi",
        "ppm",
        "mean of the susceptibility tensor, 0 outside the mask",
    )
    .only(GRE),
    Written::scalar("gre/truth/local_field", "ppm", "field of what is in the mask").only(GRE),
    Written::scalar("gre/truth/total_field", "ppm", "the same with all outside it, shimmed")
        .only(GRE),
    Written::image(
        "gre/truth/fibre",
        MapKind::Vector,
        3,
        "",
        "direction of the largest fibre, as long as its fraction",
    )
    .only(GRE),
    Written::scalar("gre/truth/r2star", "1/s", "decay of the magnitude but for that by the field")
        .only(GRE),
    Written::scalar("gre/truth/phase_offset", "rad", "phase at echo time 0").only(GRE),
    Written::scalar("gre/truth/labels", "", "numbers of labels.txt").only(GRE),
    DATA_SET_WRITES[0],
    DATA_SET_WRITES[1],
    DATA_SET_WRITES[2],
    DATA_SET_WRITES[3],
    Written::file("run.json", FileKind::Json, "parameters, machine, times"),
];
