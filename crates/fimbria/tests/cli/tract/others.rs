//! Beside MRtrix3 and DIPY.

use std::fs;
use std::process::Command;

use fimbria_streamlines::{Header, Streamlines, Tractogram, arc_length_mm};

use super::profile::with_bundle;
use super::{numbers, read, with_tracts};
use crate::util::Folder;

pub(super) fn has(tool: &str) -> bool {
    let there = Command::new(tool).arg("-version").output().is_ok();
    if !there {
        fimbria_testing::missing(tool);
    }
    there
}

pub(super) fn ran(folder: &Folder, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut command = Command::new(words[0]);
    command.args(["-quiet", "-force"]).args(&words[1..]).current_dir(folder.path());
    assert!(command.status().unwrap().success(), "{line}");
}

#[test]
fn streamlines_chosen_are_those_of_tckedit() {
    if !has("tckedit") {
        return;
    }
    let folder = with_tracts(400);
    for (ours, theirs) in [
        ("--include a.nii --ends-only", "-include a.nii -ends_only"),
        (
            "--include a.nii --exclude fine.nii --ends-only",
            "-include a.nii -exclude fine.nii -ends_only",
        ),
        ("--min-length 20.2 --max-length 40.7", "-minlength 20.2 -maxlength 40.7"),
        ("--include b.nii --ends-only --inverse", "-include b.nii -ends_only -inverse"),
        ("--skip 30", "-skip 30"),
        (
            "--weights w.txt --min-weight 0.2 --max-weight 0.6",
            "-tck_weights_in w.txt -minweight 0.2 -maxweight 0.6 -tck_weights_out theirs.txt",
        ),
    ] {
        folder.done(&format!("tract edit a.tck {ours} -o ours.tck --force -q"));
        ran(&folder, &format!("tckedit a.tck theirs.tck {theirs}"));
        let (mine, other) = (read(&folder, "ours.tck"), read(&folder, "theirs.tck"));
        assert!((10..400).contains(&mine.streamlines.len()), "{ours}: {}", mine.streamlines.len());
        assert_eq!(mine.streamlines, other.streamlines, "{ours}");
    }
    let listed = |name: &str| -> Vec<f32> {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.flat_map(str::split_whitespace).map(|word| word.parse().unwrap()).collect()
    };
    let (mine, other) = (listed("ours.tck.weights.txt"), listed("theirs.txt"));
    assert_eq!(mine.len(), other.len());
    // Theirs have six digits.
    assert!(mine.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-5));
}

/// They look at points alone.
#[test]
fn regions_are_crossed_as_by_tckedit_of_dense_points() {
    if !has("tckedit") {
        return;
    }
    let folder = with_tracts(400);
    folder.done("tract edit a.tck --step 0.02 -o dense.tck -q");
    let (all, dense) = (read(&folder, "a.tck"), read(&folder, "dense.tck"));
    for (ours, theirs) in [
        ("--include a.nii", "-include a.nii"),
        ("--include a.nii --exclude b.nii", "-include a.nii -exclude b.nii"),
        ("--include a.nii --include fine.nii", "-include a.nii -include fine.nii"),
        ("--include a.nii --include 0,0,0,8", "-include a.nii -include 0,0,0,8"),
    ] {
        folder.done(&format!("tract edit a.tck {ours} -o ours.tck --force -q"));
        ran(&folder, &format!("tckedit dense.tck theirs.tck {theirs}"));
        let mine = numbers(&all, &read(&folder, "ours.tck"));
        let other = numbers(&dense, &read(&folder, "theirs.tck"));
        assert!((10..400).contains(&mine.len()), "{ours}: {}", mine.len());
        // Corners of less than a fiftieth of a millimetre pass between their points.
        let apart = mine.iter().filter(|i| !other.contains(i)).count()
            + other.iter().filter(|i| !mine.contains(i)).count();
        assert!(apart <= 1, "{ours}: {apart} of {}", mine.len());
    }
}

const TARGETS: &str = r#"
import sys
import nibabel as nib
from dipy.tracking.utils import target_line_based

lines = list(nib.streamlines.load(sys.argv[1]).streamlines)
image = nib.load(sys.argv[2])
met = target_line_based(lines, image.affine, image.get_fdata() > 0)
numbers = {line.tobytes(): number for number, line in enumerate(lines)}
for line in met:
    print(numbers[line.astype("float32").tobytes()])
"#;

#[test]
fn regions_are_crossed_as_by_dipys_target_line_based() {
    let Some(mut python) = fimbria_testing::python("dipy.tracking.utils") else { return };
    let folder = with_tracts(300);
    folder.done("tract edit a.tck --compress 0.3 -o few.tck -q");
    let done = python.args(["-W", "ignore", "-c", TARGETS, "few.tck", "fine.nii"]);
    let done = done.current_dir(folder.path()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).unwrap();
    let theirs: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
    folder.done("tract edit few.tck --include fine.nii -o met.tck -q");
    let ours = numbers(&read(&folder, "few.tck"), &read(&folder, "met.tck"));
    assert!(ours.len() > 20, "{}", ours.len());
    assert_eq!(ours, theirs);
}

/// What docs/tracts.md says of lengths.
#[test]
fn tckedit_takes_in_lengths_that_miss_by_a_part_of_a_step_and_we_do_not() {
    if !has("tckedit") {
        return;
    }
    let folder = Folder::new();
    let mut lines = Streamlines::default();
    for x in [19.82, 19.84, 19.88, 19.92, 20.0, 20.08, 20.12, 20.16, 20.18] {
        lines.push(&[[0.0; 3], [x, 0.0, 0.0]]);
    }
    let step = ("step_size".to_owned(), "1".to_owned());
    let factor = ("downsample_factor".to_owned(), "3".to_owned());
    for (keyvals, least, most) in [
        (vec![], 20.0, 20.0),
        (vec![step.clone()], 19.92, 20.08),
        (vec![step, factor], 19.84, 20.16),
    ] {
        let header = Header { keyvals, ..Header::default() };
        let tractogram = Tractogram::new(header, lines.clone());
        tractogram.write(folder.join("a.tck"), &Default::default()).unwrap();
        let ends = |name: &str| {
            let kept = read(&folder, name);
            let lengths: Vec<f64> = kept.streamlines.iter().map(arc_length_mm).collect();
            (lengths[0], lengths[lengths.len() - 1])
        };
        ran(&folder, "tckedit a.tck least.tck -minlength 20");
        ran(&folder, "tckedit a.tck most.tck -maxlength 20");
        assert!((ends("least.tck").0 - least).abs() < 1e-5, "{:?}", ends("least.tck"));
        assert!((ends("most.tck").1 - most).abs() < 1e-5, "{:?}", ends("most.tck"));
        folder.done("tract edit a.tck --min-length 20 --max-length 20 -o ours.tck --force -q");
        assert_eq!(ends("ours.tck"), (20.0, 20.0));
    }
}

/// Their curve through the points is a spline: it leaves straight pieces of 1 mm that turn by some 15° by some hundredths
/// of a millimetre, and is longer by as much, so that points move along.
#[test]
fn points_are_nearly_those_of_tckresample() {
    if !has("tckresample") {
        return;
    }
    let folder = with_tracts(100);
    folder.done("tract edit a.tck --points 25 -o ours.tck");
    ran(&folder, "tckresample a.tck theirs.tck -num_points 25");
    let (ours, theirs) = (read(&folder, "ours.tck"), read(&folder, "theirs.tck"));
    assert_eq!(ours.streamlines.offsets(), theirs.streamlines.offsets());
    let pairs = ours.streamlines.positions().iter().zip(theirs.streamlines.positions());
    let far = |(a, b): (&[f32; 3], &[f32; 3])| {
        (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f32>().sqrt()
    };
    let mut far: Vec<f32> = pairs.map(far).collect();
    far.sort_by(f32::total_cmp);
    let (median, most) = (far[far.len() / 2], far[far.len() - 1]);
    assert!(median < 0.03 && most < 0.15, "{median} {most}");
}

const DIPY: &str = r#"
import sys
import nibabel as nib
import numpy as np
from dipy.stats.analysis import afq_profile, gaussian_weights
from dipy.tracking.streamline import Streamlines, orient_by_streamline, set_number_of_points
from scipy.spatial.distance import mahalanobis

lines = Streamlines(nib.streamlines.load(sys.argv[1]).streamlines)
table = np.genfromtxt(sys.argv[2], names=True)
image = nib.load(sys.argv[3])
data, name = image.get_fdata(), sys.argv[3].split(".")[0]
core = np.stack([table[c] for c in ("x_mm", "y_mm", "z_mm")], 1)
lines = orient_by_streamline(lines, core)
nodes = np.array(set_number_of_points(lines, nb_points=len(core)))
print("core", np.abs(nodes.mean(0) - core).max())

# The weights of gaussian_weights, with the whole covariance: DIPY gives scipy its upper triangle alone, which is another
# distance unless the axes of the spread are those of the scanner.
d = np.empty(nodes.shape[:2])
for k in range(nodes.shape[1]):
    inverse = np.linalg.inv(np.cov(nodes[:, k].T, ddof=0))
    d[:, k] = [mahalanobis(node, nodes[:, k].mean(0), inverse) for node in nodes[:, k]]
weights = 1 / d
weights /= weights.sum(0)
profile = afq_profile(data, lines, image.affine, n_points=len(core), weights=weights)
print("profile", np.abs(profile - table[name + "_mean"]).max())
if len(sys.argv) > 4:
    theirs = afq_profile(data, lines, image.affine, n_points=len(core), weights=gaussian_weights(lines, n_points=len(core)))
    print("theirs", np.abs(theirs - table[name + "_mean"]).max())
print("range", table[name + "_mean"].max() - table[name + "_mean"].min())
"#;

/// What a script of Python says, by name.
fn said(folder: &Folder, words: &[&str]) -> Option<Vec<(String, f64)>> {
    let mut python = fimbria_testing::python("dipy.stats.analysis")?;
    let done = python.args(["-W", "ignore", "-c", DIPY]).args(words).current_dir(folder.path());
    let done = done.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).unwrap();
    let line = |line: &str| {
        let (name, value) = line.split_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap())
    };
    Some(text.lines().map(line).collect())
}

#[test]
fn profiles_are_those_of_dipy() {
    use fimbria_testing::Noise;
    let folder = with_bundle();
    let mut draws = Noise(11);
    // Bent lines that spread along axes of their own, and lines whose spread is along those of the scanner: each at all
    // eight signs of its offset.
    let (mut bent, mut plain) = (Streamlines::default(), Streamlines::default());
    for _ in 0..60 {
        let off: [f64; 3] = std::array::from_fn(|_| draws.normal());
        let point = |k: u32| {
            let t = f64::from(k) / 80.0;
            let y = 20.0 + 6.0 * (2.0 * t).sin() + off[0] + 0.5 * off[1];
            [50.0 * t + 3.0 + off[2], y, 30.0 + off[1] * (1.0 + t)].map(|x| x as f32)
        };
        bent.push(&(0..=80).map(point).collect::<Vec<_>>());
    }
    for _ in 0..8 {
        let off: [f64; 3] = std::array::from_fn(|_| 0.3 + draws.uniform());
        for signs in 0..8 {
            let by: [f64; 3] =
                std::array::from_fn(|a| if signs >> a & 1 == 1 { -off[a] } else { off[a] });
            let point = |k: u32| {
                [0.5 * f64::from(k) + 5.0 + by[0], 20.0 + by[1], 30.0 + by[2]].map(|x| x as f32)
            };
            plain.push(&(0..=100).map(point).collect::<Vec<_>>());
        }
    }
    let grid = folder.image("ramp.nii").grid;
    super::voxels(&folder, "waves.nii", grid, |p| {
        (0.5 + 0.3 * (0.2 * p[0]).sin() * (0.3 * p[1]).cos() + 0.01 * p[2]) as f32
    });
    for (name, lines, more) in [("bent", bent, None), ("plain", plain, Some("theirs"))] {
        let tractogram = Tractogram::new(Header::default(), lines);
        let file = format!("{name}.tck");
        tractogram.write(folder.join(&file), &Default::default()).unwrap();
        folder.done(&format!("tract profile {file} --map waves.nii -o {name}"));
        let table = format!("{name}/profile.tsv");
        let mut words = vec![&file[..], &table[..], "waves.nii"];
        words.extend(more);
        let Some(said) = said(&folder, &words) else { return };
        for (what, value) in said {
            match &what[..] {
                "range" => assert!(value > 0.2, "{name}: {value}"),
                // The table has four digits.
                "core" => assert!(value < 1e-4, "{name}: {value}"),
                // Single precision of coordinates, and the millionth that makes our covariance regular.
                _ => assert!(value < 2e-5, "{name}, {what}: {value}"),
            }
        }
    }
}

#[test]
fn values_along_streamlines_are_those_of_tcksample() {
    if !has("tcksample") {
        return;
    }
    let folder = with_tracts(300);
    // What is outside the map is 0 for them, and no value for us: nothing is.
    let ras_from_vox = fimbria_image::Affine([
        [2.0, 0.0, 0.0, -100.0],
        [0.0, 2.0, 0.0, -100.0],
        [0.0, 0.0, 2.0, -100.0],
    ]);
    let wide = fimbria_image::Grid { dims: [100; 3], ras_from_vox };
    super::voxels(&folder, "waves.nii", wide, |p| {
        (0.5 + 0.3 * (0.2 * p[0]).sin() * (0.3 * p[1]).cos() + 0.01 * p[2]) as f32
    });
    let listed = |name: &str| -> Vec<f64> {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.flat_map(str::split_whitespace).map(|word| word.parse().unwrap()).collect()
    };
    // Of the text six digits; lengths, and with them means, are theirs in single precision. Points that lie between two
    // voxels may be in either, and what crosses a corner may be seen or not: few streamlines are farther apart.
    for (ours, theirs, near, few) in [
        ("", "-stat_tck mean", 3e-6, 0),
        ("--along median", "-stat_tck median", 3e-6, 0),
        ("--along min", "-stat_tck min", 3e-6, 0),
        ("--along max", "-stat_tck max", 3e-6, 0),
        ("--along points", "", 1e-5, 0),
        ("--look-up nearest", "-nointerp -stat_tck mean", 3e-6, 3),
        ("--along median --look-up nearest", "-nointerp -stat_tck median", 3e-6, 3),
        ("--look-up voxels", "-precise -stat_tck mean", 1e-2, 3),
        ("--along min --look-up voxels", "-precise -stat_tck min", 3e-6, 15),
        ("--along max --look-up voxels", "-precise -stat_tck max", 3e-6, 15),
    ] {
        folder.done(&format!("tract sample a.tck --map waves.nii {ours} -o ours.txt -f -q"));
        ran(&folder, &format!("tcksample a.tck waves.nii theirs.txt {theirs}"));
        let (mine, other) = (listed("ours.txt"), listed("theirs.txt"));
        assert_eq!(mine.len(), other.len(), "{ours}");
        let far = mine.iter().zip(&other).filter(|(a, b)| (*a - *b).abs() > near).count();
        assert!(far <= few, "{ours}: {far}");
    }
}

const QUICK_BUNDLES: &str = r#"
import sys
import nibabel as nib
import numpy as np
from dipy.segment.clustering import QuickBundles
from dipy.segment.featurespeed import ResampleFeature
from dipy.segment.metricspeed import AveragePointwiseEuclideanMetric
lines = nib.streamlines.load(sys.argv[1]).streamlines
metric = AveragePointwiseEuclideanMetric(ResampleFeature(nb_points=12))
clusters = QuickBundles(threshold=float(sys.argv[2]), metric=metric).cluster(lines)
of = np.zeros(len(lines), int)
for number, cluster in enumerate(clusters, 1):
    of[cluster.indices] = number
print("\n".join(map(str, of)))
"#;

#[test]
fn clusters_are_those_of_dipy() {
    let folder = with_tracts(1500);
    for threshold in ["8", "15", "30"] {
        let Some(mut python) = fimbria_testing::python("dipy.segment.clustering") else { return };
        let done = python.args(["-W", "ignore", "-c", QUICK_BUNDLES, "a.tck", threshold]);
        let done = done.current_dir(folder.path()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        folder.done(&format!("tract cluster a.tck --threshold {threshold} -o out -f -q"));
        let ours = fs::read_to_string(folder.join("out/clusters.txt")).unwrap();
        assert_eq!(ours, String::from_utf8(done.stdout).unwrap(), "{threshold}");
    }
}

#[test]
fn streamlines_of_edges_are_those_of_connectome2tck() {
    if !has("connectome2tck") {
        return;
    }
    let folder = with_tracts(300);
    folder.done("connectome a.tck labels.nii --assignments -o net -q");
    ran(&folder, "tck2connectome a.tck labels.nii c.csv -out_assignments theirs.txt");
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let theirs = text("theirs.txt");
    let theirs: Vec<&str> = theirs.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(text("net/assignments.txt").lines().collect::<Vec<_>>(), theirs);
    for (ours, nodes) in [
        ("--connects 1,2", "-nodes 1,2 -exclusive"),
        ("--connects 1,1", "-nodes 1 -exclusive -keep_self"),
        ("--connects 0", "-nodes 0 -keep_self"),
        ("--connects 2", "-nodes 2 -keep_self"),
    ] {
        let line = format!("tract edit a.tck --assignments net/assignments.txt {ours}");
        folder.done(&format!("{line} -o ours.tck -f -q"));
        ran(
            &folder,
            &format!("connectome2tck a.tck net/assignments.txt theirs.tck -files single {nodes}"),
        );
        let (mine, other) = (read(&folder, "ours.tck"), read(&folder, "theirs.tck"));
        assert_eq!(mine.streamlines, other.streamlines, "{ours}");
        assert!((5..300).contains(&mine.streamlines.len()), "{ours}");
        folder.done(&format!("{line} --inverse -o rest.tck -f -q"));
        assert_eq!(read(&folder, "rest.tck").streamlines.len(), 300 - mine.streamlines.len());
    }
    fs::write(folder.join("short.txt"), "1 2\n").unwrap();
    let error = folder.failed("tract edit a.tck --assignments short.txt --connects 1 -o x.tck");
    assert!(error.contains("labels of 1 streamlines, and there is another number"), "{error}");
}
