//! From phase to susceptibility.

use std::fs;

use fimbria_image::Image;

use super::fixtures::put;
use super::{Instead, On, Proof, Refused, STYLE, Two, With, prove};
use crate::util::Folder;

const FIELD: Proof = Proof {
    command: "field",
    fixture: || {
        let folder = Folder::new();
        folder.done("phantom gre --size 20,24,18 --voxel 7.5 --te 4 12 20 --format nii -o gre");
        // Parts of complex images, and two coils.
        let (phase, mut re) = (folder.image("gre/phase.nii"), folder.image("gre/magnitude.nii"));
        let mut im = re.clone();
        let parts = re.data.iter_mut().zip(&mut im.data).zip(&phase.data);
        parts.for_each(|((re, im), phase)| (*re, *im) = (*re * phase.cos(), *im * phase.sin()));
        let one = Image { grid: phase.grid, n_volumes: 1, data: phase.volume(0).to_vec() };
        put(&folder, "one.nii", &one);
        put(&folder, "re.nii", &re);
        put(&folder, "im.nii", &im);
        folder
    },
    line: "gre/phase.nii --mask gre/mask.nii --background lbv",
    rows: &[
        STYLE,
        &[
            ("unwrap", With("--unwrap laplacian")),
            ("offset", With("--offset false")),
            ("background", Instead("gre/phase.nii --mask gre/mask.nii")),
            ("radius", On("gre/phase.nii --mask gre/mask.nii --background vsharp", "--radius 10")),
            (
                "strength",
                On(
                    "gre/phase.nii --mask gre/mask.nii --background resharp --radius 10",
                    "--strength 0.1",
                ),
            ),
            ("phase-range", With("--phase-range -3.1416 3.1416")),
            ("magnitude", With("--magnitude gre/magnitude.nii")),
            (
                "imaginary",
                Two(
                    "re.nii --imaginary im.nii --te 4,12,20 --b0 3 --mask gre/mask.nii",
                    "re.nii --imaginary re.nii --te 4,12,20 --b0 3 --mask gre/mask.nii",
                ),
            ),
            (
                "coils",
                On("gre/phase.nii --magnitude gre/magnitude.nii --mask gre/mask.nii", "--coils 1"),
            ),
            (
                "relative",
                Two(
                    "one.nii --mask gre/mask.nii --te 5 --b0 3 --background pdf",
                    "one.nii --mask gre/mask.nii --relative --background pdf",
                ),
            ),
            ("bipolar", With("--bipolar true")),
            ("mask-quality", With("--mask-quality 0.3")),
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
    line: "field.nii --mask mask.nii --device cpu --method dqsm --iterations 1",
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
                    "field.nii --mask mask.nii --device cpu --method dqsm --iterations 1 --solver landweber",
                    "--step 0.1",
                ),
            ),
            (
                "products",
                On(
                    "field.nii --mask truth.nii --device cpu --method dqsm --iterations 1",
                    "--products dense",
                ),
            ),
            ("edges", With("--edges zero")),
            ("support", With("--support 5")),
            ("start", With("--start tikhonov")),
            (
                "iterations",
                Instead("field.nii --mask mask.nii --device cpu --method dqsm --iterations 2"),
            ),
            ("tolerance", With("--tolerance 1e-3")),
            ("gradient-tolerance", With("--gradient-tolerance 1e-3")),
            ("noise", With("--noise 0.001")),
            ("strength", On("field.nii --mask mask.nii --method tkd", "--strength 0.2")),
            ("data", On("field.nii --mask mask.nii --method tv --b0 3", "--data phase --te 20")),
            (
                "te",
                Two(
                    "field.nii --mask mask.nii --method ndi --iterations 2 --b0 3 --te 20",
                    "field.nii --mask mask.nii --method ndi --iterations 2 --b0 3 --te 25",
                ),
            ),
            (
                "magnitude",
                Two(
                    "field.nii --mask mask.nii --method medi --magnitude fa.nii",
                    "field.nii --mask mask.nii --method medi --magnitude truth.nii",
                ),
            ),
            ("two-pass", On("field.nii --mask mask.nii --method tkd", "--two-pass truth.nii")),
            ("outside", On("field.nii --mask mask.nii --method tv", "--outside nothing")),
            ("zero-mean", With("--zero-mean")),
            ("reference", With("--reference truth.nii")),
            (
                "reference-label",
                On(
                    "field.nii --mask mask.nii --method tkd --reference mask.nii",
                    "--reference-label 1",
                ),
            ),
            ("truth", With("--truth truth.nii")),
            (
                "mask",
                Instead("field.nii --mask truth.nii --device cpu --method dqsm --iterations 1"),
            ),
            ("dti", With("--dti dti")),
            ("v1", With("--v1 v1.nii")),
            ("fa", With("--v1 v1.nii --fa fa.nii")),
            (
                "v1-frame",
                On(
                    "field.nii --mask mask.nii --device cpu --method dqsm --iterations 1 --v1 v1.nii --fa fa.nii",
                    "--v1-frame voxel",
                ),
            ),
            (
                "resample",
                On(
                    "field.nii --mask mask.nii --device cpu --method dqsm --iterations 1 --v1 v1.nii --fa fa.nii",
                    "--resample",
                ),
            ),
            (
                "fa-threshold",
                On(
                    "field.nii --mask mask.nii --device cpu --method dqsm --iterations 1 --v1 v1.nii --fa fa.nii",
                    "--fa-threshold 0.3",
                ),
            ),
            ("weights", With("--weights fa.nii")),
            (
                "field-unit",
                Two(
                    "hz.nii --mask mask.nii --device cpu --method dqsm --iterations 1 --b0 3 --field-unit hz",
                    "hz.nii --mask mask.nii --device cpu --method dqsm --iterations 1 --b0 3 --field-unit rad/s",
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

pub(super) const PROOFS: &[&Proof] = &[&FIELD, &QSM];

#[test]
fn of_field() {
    prove(&FIELD);
}

#[test]
fn of_qsm() {
    prove(&QSM);
}
