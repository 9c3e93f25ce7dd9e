//! FSL's probtrackx2.

use std::fs;

use super::fixtures::with_directions;
use super::{Instead, On, Proof, With, prove};

const LINE: &str = "-s bpx/merged -m bpx/nodif_brain_mask -x seed --opd -P 3";
const SEVERAL: &str = "-s bpx/merged -m bpx/nodif_brain_mask -x both.txt --opd -P 3";
const REGION: &str = "-s bpx/merged -m bpx/nodif_brain_mask -x seed --opd -P 3 --waypoints=far";

const PROBTRACKX2: Proof = Proof {
    command: "probtrackx2",
    fixture: || {
        let folder = with_directions();
        fs::create_dir(folder.join("other")).unwrap();
        for name in folder.names("bpx") {
            fs::copy(folder.join(&format!("bpx/{name}")), folder.join(&format!("other/{name}")))
                .unwrap();
        }
        let f = super::fixtures::even(&[0.4, 0.4, 0.4]);
        super::fixtures::put(&folder, "other/merged_f1samples.nii.gz", &f);
        fs::write(folder.join("seed.mat"), "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n").unwrap();
        fs::write(folder.join("both.txt"), "seed far\n").unwrap();
        fs::write(folder.join("points.txt"), "3 2 2\n").unwrap();
        crate::probtrackx2::write_triangle(&folder, "white.gii");
        folder
    },
    line: LINE,
    rows: &[&[
        ("samples", Instead("-s other/merged -m bpx/nodif_brain_mask -x seed --opd -P 3")),
        ("mask", Instead("-s bpx/merged -m seed -x seed --opd -P 3")),
        ("seed", Instead("-s bpx/merged -m bpx/nodif_brain_mask -x far --opd -P 3")),
        ("out", With("--out paths")),
        (
            "simple",
            On(
                "-s bpx/merged -m bpx/nodif_brain_mask -x points.txt --simple --opd -P 3",
                "--rseed 3",
            ),
        ),
        ("xfm", With("--xfm seed.mat")),
        ("invxfm", With("--invxfm seed.mat")),
        ("seedref", With("--seedref seed")),
        ("meshspace", With("--meshspace first")),
        ("closestvertex", With("--closestvertex")),
        ("opd", Instead("-s bpx/merged -m bpx/nodif_brain_mask -x seed -P 3")),
        ("pd", With("--pd")),
        ("ompl", With("--ompl")),
        (
            "os2t",
            On(
                "-s bpx/merged -m bpx/nodif_brain_mask -x seed --opd -P 3 --targetmasks far",
                "--os2t",
            ),
        ),
        ("targetmasks", With("--targetmasks far")),
        (
            "s2tastext",
            On(
                "-s bpx/merged -m bpx/nodif_brain_mask -x seed --opd -P 3 --targetmasks far",
                "--s2tastext",
            ),
        ),
        (
            "otargetpaths",
            On(
                "-s bpx/merged -m bpx/nodif_brain_mask -x seed --opd -P 3 --os2t --targetmasks far",
                "--otargetpaths --ompl --opathdir",
            ),
        ),
        ("prefdir", With("--prefdir far")),
        ("locfibchoice", With("--locfibchoice far")),
        ("loccurvthresh", With("--loccurvthresh far")),
        ("no_integrity", With("--no_integrity far")),
        ("noprobinterpol", With("--noprobinterpol")),
        (
            "onewayonly",
            On("-s bpx/merged -m bpx/nodif_brain_mask -x white.gii --opd -P 3", "--onewayonly"),
        ),
        ("omatrix1", With("--omatrix1")),
        ("distthresh1", With("--omatrix1 --distthresh1 2")),
        (
            "omatrix2",
            On(
                "-s bpx/merged -m bpx/nodif_brain_mask -x seed --opd -P 3 --target2 far",
                "--omatrix2",
            ),
        ),
        ("target2", With("--target2 far")),
        (
            "omatrix3",
            On(
                "-s bpx/merged -m bpx/nodif_brain_mask -x seed --opd -P 3 --target3 far",
                "--omatrix3",
            ),
        ),
        ("target3", With("--target3 far")),
        (
            "lrtarget3",
            On(
                "-s bpx/merged -m bpx/nodif_brain_mask -x seed --opd -P 3 --omatrix3 --target3 far",
                "--lrtarget3 seed",
            ),
        ),
        ("distthresh3", With("--distthresh3 2")),
        ("fopd", With("--fopd far")),
        ("opathdir", With("--opathdir")),
        ("savepaths", With("--savepaths")),
        ("waypoints", With("--waypoints far")),
        ("waycond", On(REGION, "--waycond OR")),
        ("wayorder", On(REGION, "--wayorder")),
        ("onewaycondition", On(REGION, "--onewaycondition")),
        ("avoid", With("--avoid far")),
        ("stop", With("--stop far")),
        ("wtstop", With("--wtstop far")),
        ("network", On(SEVERAL, "--network")),
        ("forcefirststep", With("--forcefirststep")),
        ("nsamples", Instead("-s bpx/merged -m bpx/nodif_brain_mask -x seed --opd -P 4")),
        ("nsteps", With("--nsteps 20")),
        ("steplength", With("--steplength 0.7")),
        ("distthresh", With("--distthresh 2")),
        ("cthr", With("--cthr 0.3")),
        ("fibthresh", With("--fibthresh 0.02")),
        ("loopcheck", With("--loopcheck")),
        ("usef", With("--usef")),
        ("modeuler", With("--modeuler")),
        ("sampvox", With("--sampvox 1")),
        ("randfib", With("--randfib 1")),
        ("fibst", With("--fibst 2")),
        ("rseed", With("--rseed 3")),
        ("rng", With("--rng constant:0.5")),
    ]],
};

pub(super) const PROOFS: &[&Proof] = &[&PROBTRACKX2];

#[test]
fn of_probtrackx2() {
    prove(&PROBTRACKX2);
}
