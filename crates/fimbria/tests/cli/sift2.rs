//! `fimbria sift2`.

use fimbria_image::{Image, WriteOptions, write_image};
use fimbria_streamlines::{Header, Streamlines, Tractogram, WriteOptions as LineOptions};

use crate::tractogram::with_tractogram;
use crate::util::{Folder, grid};

/// A tractogram along x with fod.nii, densities along x that grow from voxel to voxel, and 5tt.nii,
/// white matter everywhere.
pub(crate) fn with_densities() -> Folder {
    let folder = with_tractogram();
    let mut fod = Image::zeros(grid(), 15);
    for voxel in 0..grid().len() {
        let density = 1.0 + voxel as f32;
        // A constant with harmonics of degree 2 that are largest along x.
        fod.data[voxel] = density;
        fod.volume_mut(3)[voxel] = -0.4 * density;
        fod.volume_mut(5)[voxel] = 0.7 * density;
    }
    write_image(folder.join("fod.nii"), &fod, &WriteOptions::default()).unwrap();
    let mut tissues = Image::zeros(grid(), 5);
    tissues.volume_mut(2).fill(1.0);
    write_image(folder.join("5tt.nii"), &tissues, &WriteOptions::default()).unwrap();
    folder
}

fn weights(folder: &Folder, name: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn weights_go_into_the_connectome() {
    let folder = with_densities();
    folder.done("sift2 a.trx fod.nii --sh-basis mrtrix -o sift2");
    let found = weights(&folder, "sift2/weights.txt");
    assert_eq!(found.len(), 3);
    let record = folder.json("sift2/run.json");
    let misfit = |which| record[which].as_f64().unwrap();
    assert!(misfit("misfit_after") < misfit("misfit_before"), "{record}");
    folder.done("connectome a.trx labels.nii --weights sift2/weights.txt --exact-label -o c");
    let row = std::fs::read_to_string(folder.join("c/weights.csv")).unwrap();
    let between: f64 = row.lines().next().unwrap().split(',').nth(1).unwrap().parse().unwrap();
    assert!((between - found[0] - found[1]).abs() < 1e-6, "{row} {found:?}");
}

#[test]
fn densities_and_streamlines_in_different_places_are_refused() {
    let folder = with_densities();
    let mut far = Image::zeros(grid(), 15);
    far.grid.ras_from_vox.0[0][3] += 500.0;
    far.volume_mut(0).fill(1.0);
    write_image(folder.join("far.nii"), &far, &WriteOptions::default()).unwrap();
    let ran = folder.run("sift2 a.trx far.nii --sh-basis mrtrix -o s");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("do they lie in the same place"), "{}", ran.stderr);
    assert!(!folder.join("s").exists());
}

#[test]
fn given_weights_are_judged_and_begun_with() {
    let folder = with_densities();
    folder.done("sift2 a.trx fod.nii --sh-basis mrtrix -o found");
    let ran = folder.done(
        "sift2 a.trx fod.nii --sh-basis mrtrix --start found/weights.txt --iterations 0 -o judged",
    );
    assert!(!ran.stderr.contains("settled"), "{}", ran.stderr);
    let (found, judged) = (folder.json("found/run.json"), folder.json("judged/run.json"));
    let [after, same] =
        [&found["misfit_after"], &judged["misfit_after"]].map(|x| x.as_f64().unwrap());
    // Weights in the file are logarithms in single precision.
    assert!((after - same).abs() < 1e-4 * after, "{after} {same}");
    assert_eq!(judged["iterations"], 0);
    let given = weights(&folder, "found/weights.txt");
    for (a, b) in given.iter().zip(weights(&folder, "judged/weights.txt")) {
        assert!((a - b).abs() < 1e-5 * a, "{a} {b}");
    }
    std::fs::write(folder.join("two.txt"), "1 2\n").unwrap();
    let error = folder.failed("sift2 a.trx fod.nii --sh-basis mrtrix --start two.txt -o none");
    assert!(error.contains("two.txt has 2 weights"), "{error}");
}

#[test]
fn more_memory_than_allowed_is_told_before_the_work() {
    let folder = with_densities();
    let Tractogram { header, streamlines } = Tractogram::read(folder.join("a.trx")).unwrap();
    let mut many = Streamlines::default();
    for _ in 0..300_000 {
        many.push(streamlines.points(0));
    }
    let header = Header { per_streamline: Vec::new(), ..header };
    let many = Tractogram::new(header, many);
    many.write(folder.join("many.tck"), &LineOptions::default()).unwrap();
    let line = "sift2 many.tck fod.nii --sh-basis mrtrix --iterations 1";
    let error = folder.failed(&format!("{line} --memory 80M -o s"));
    assert!(error.contains("weighing takes about") && error.contains("80.0 MiB"), "{error}");
    assert!(!folder.join("s").exists());
    // What is foreseen is enough.
    let ran = folder.done(&format!("{line} --memory 160M -o s"));
    assert!(ran.stderr.contains("of memory at most"), "{}", ran.stderr);
    assert_eq!(weights(&folder, "s/weights.txt").len(), 300_000);
}

/// The model is theirs; lobes, regularisation and the way down are not quite: weights agree as far as
/// these go (a correlation of logarithms of 0.81 on a head of 4 mm).
#[test]
fn weights_are_like_those_of_tcksift2() {
    if std::process::Command::new("tcksift2").arg("-version").output().is_err() {
        fimbria_testing::missing("tcksift2");
        return;
    }
    let folder = Folder::new();
    folder.done("phantom crossing --size 24,28,22 --voxel 6.5 --format nii -o head");
    folder.done("fit fod head/dwi.nii --mask head/mask.nii --format mif --device cpu -o fod");
    folder.done(
        "track fod/fod.mif --seeds head/mask.nii --select 3000 --min-length 10 --device cpu -o track",
    );
    folder.done("convert track/tracks.trx -o tracks.tck");
    folder.done("sift2 tracks.tck fod/fod.mif -o ours");
    let mut theirs = std::process::Command::new("tcksift2");
    theirs.current_dir(folder.join("")).args(["-quiet", "tracks.tck", "fod/fod.mif", "theirs.txt"]);
    assert!(theirs.status().unwrap().success());
    let ours = weights(&folder, "ours/weights.txt");
    let text = std::fs::read_to_string(folder.join("theirs.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let theirs: Vec<f64> =
        lines.flat_map(str::split_whitespace).map(|word| word.parse().unwrap()).collect();
    assert_eq!(ours.len(), theirs.len());
    let both: Vec<[f64; 2]> = ours.iter().zip(&theirs).map(|(a, b)| [*a, *b]).collect();
    let both: Vec<_> = both.into_iter().filter(|[a, b]| *a > 0.0 && *b > 0.0).collect();
    let logs: Vec<[f64; 2]> = both.iter().map(|pair| pair.map(f64::ln)).collect();
    let n = logs.len() as f64;
    let mean = [0, 1].map(|i| logs.iter().map(|l| l[i]).sum::<f64>() / n);
    let product = |i: usize, j: usize| -> f64 {
        logs.iter().map(|l| (l[i] - mean[i]) * (l[j] - mean[j])).sum()
    };
    let correlation = product(0, 1) / (product(0, 0) * product(1, 1)).sqrt();
    assert!(correlation > 0.6, "{correlation}");
}
