//! `fimbria tract edit`.

use std::fs;

use fimbria_streamlines::{Tractogram, WriteOptions, arc_length_mm};

use super::{grid, numbers, read, with_tracts};
use crate::tractogram::with_tractogram;

#[test]
fn regions_lengths_and_weights_choose_streamlines() {
    let folder = with_tracts(150);
    let all = read(&folder, "a.trx");
    let kept = |options: &str| {
        folder.done(&format!("tract edit a.trx {options} -o out.trx --force -q"));
        numbers(&all, &read(&folder, "out.trx"))
    };
    let everything: Vec<usize> = (0..150).collect();
    assert_eq!(kept(""), everything);
    let (a, b) = (kept("--include a.nii"), kept("--include b.nii"));
    assert!(a.len() > 20 && a.len() < 140 && b.len() > 20, "{} {}", a.len(), b.len());
    let both: Vec<usize> = a.iter().filter(|i| b.contains(i)).copied().collect();
    assert_eq!(kept("--include a.nii --include b.nii"), both);
    let either: Vec<usize> =
        everything.iter().filter(|i| a.contains(i) || b.contains(i)).copied().collect();
    assert_eq!(kept("--include-any a.nii --include-any b.nii"), either);
    let a_alone: Vec<usize> = a.iter().filter(|i| !b.contains(i)).copied().collect();
    assert_eq!(kept("--include a.nii --exclude b.nii"), a_alone);
    let others: Vec<usize> = everything.iter().filter(|i| !a.contains(i)).copied().collect();
    assert_eq!(kept("--include a.nii --inverse"), others);
    // Labels, by number and by name, are the halves of the image.
    let [left, right] = ["1", "2"].map(|label| kept(&format!("--ends-in labels.nii:{label}")));
    assert_eq!(kept("--ends-in labels.nii:Left --lut lut.txt"), left);
    let one_each: Vec<usize> = left.iter().filter(|i| right.contains(i)).copied().collect();
    assert_eq!(kept("--ends-in labels.nii:1 --ends-in labels.nii:2"), one_each);
    let length = |i: &usize| arc_length_mm(all.streamlines.points(*i));
    let long: Vec<usize> = everything.iter().filter(|i| length(i) >= 30.0).copied().collect();
    assert_eq!(kept("--min-length 30"), long);
    let weights: Vec<f64> = all.streamlines.per_streamline()[0].values().collect();
    let heavy: Vec<usize> =
        everything.iter().filter(|i| (0.25..=0.75).contains(&weights[**i])).copied().collect();
    assert_eq!(kept("--weights weight --min-weight 0.25 --max-weight 0.75"), heavy);
    assert_eq!(kept("--weights w.txt --min-weight 0.25 --max-weight 0.75"), heavy);
    let text = fs::read_to_string(folder.join("out.trx.weights.txt")).unwrap();
    let written: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(written, heavy.iter().map(|i| weights[*i]).collect::<Vec<_>>());
}

#[test]
fn data_and_groups_go_along_with_their_streamlines() {
    let folder = with_tracts(90);
    let all = read(&folder, "a.trx");
    folder.done("tract edit a.trx --include a.nii -o out.trx");
    let some = read(&folder, "out.trx");
    let kept = numbers(&all, &some);
    let weights: Vec<f64> = all.streamlines.per_streamline()[0].values().collect();
    let own: Vec<f64> = some.streamlines.per_streamline()[0].values().collect();
    assert_eq!(own, kept.iter().map(|i| weights[*i]).collect::<Vec<_>>());
    let fa = some.streamlines.per_point()[0].values();
    for (fa, point) in fa.zip(some.streamlines.positions()) {
        assert_eq!(fa as f32, point[0] * 0.01);
    }
    for (group, by) in some.header.groups.iter().zip([2, 3]) {
        let members = (0..kept.len() as u32).filter(|i| kept[*i as usize].is_multiple_of(by));
        assert_eq!(group.members, members.collect::<Vec<_>>(), "{}", group.name);
    }
    // Of several, the numbers go on, and what not all have is left out with a warning.
    let ran = folder.done("tract edit a.trx out.trx a.tck -o joined.trx");
    assert!(
        ran.stderr.contains("not all tractograms have are left out: fa, weight"),
        "{}",
        ran.stderr
    );
    let joined = read(&folder, "joined.trx");
    assert_eq!(joined.streamlines.len(), 180 + kept.len());
    let shifted = some.header.groups[0].members.iter().map(|member| member + 90);
    let members: Vec<u32> = all.header.groups[0].members.iter().copied().chain(shifted).collect();
    assert_eq!(joined.header.groups[0].members, members);
    folder.done("tract edit a.trx out.trx -o two.trx");
    assert_eq!(read(&folder, "two.trx").streamlines.per_point()[0].len(), {
        all.streamlines.n_points() + some.streamlines.n_points()
    });
}

#[test]
fn a_random_sample_is_of_its_seed_whatever_the_threads() {
    let folder = with_tracts(300);
    let all = read(&folder, "a.trx");
    let bytes = |options: &str, out: &str| {
        folder.done(&format!("tract edit a.trx {options} -o {out} -q"));
        fs::read(folder.join(out)).unwrap()
    };
    let line = "--include a.nii --number 40 --rng-seed 5 --skip 3 --compress 0.05";
    let one = bytes(&format!("{line} --threads 1"), "one.tck");
    assert!(one == bytes(&format!("{line} --threads 2"), "two.tck"));
    assert_eq!(read(&folder, "one.tck").streamlines.len(), 40);
    let line = line.replace("--rng-seed 5", "--rng-seed 6");
    assert!(one != bytes(&line, "other.tck"));
    folder.done("tract edit a.trx --number 40 --skip 250 -o late.trx");
    let late = numbers(&all, &read(&folder, "late.trx"));
    assert!(late.len() == 40 && late.is_sorted() && late[0] >= 250, "{late:?}");
    let ran = folder.done("tract edit a.trx --number 1000 -o all.trx");
    assert!(ran.stderr.contains("300 streamlines to choose 1000 from"), "{}", ran.stderr);
    assert_eq!(read(&folder, "all.trx").streamlines.len(), 300);
}

#[test]
fn points_are_made_anew_after_streamlines_are_chosen() {
    let folder = with_tracts(60);
    let all = read(&folder, "a.trx");
    folder.done("tract edit a.trx --points 12 --min-length 20 -o points.trx");
    let points = read(&folder, "points.trx");
    assert!(points.streamlines.iter().all(|line| line.len() == 12));
    folder.done("tract edit a.trx --step 0.5 -o step.trx");
    let step = read(&folder, "step.trx");
    for (fine, line) in step.streamlines.iter().zip(all.streamlines.iter()) {
        let (length, before) = (arc_length_mm(fine), arc_length_mm(line));
        // Every other point lies on a straight piece of 1 mm.
        assert!((length / before - 1.0).abs() < 1e-3, "{length} {before}");
        assert_eq!((fine[0], fine.last()), (line[0], line.last()));
    }
    folder.done("tract edit a.trx --compress 0.2 --include a.nii -o small.trx");
    folder.done("tract edit a.trx --include a.nii -o whole.trx");
    let (small, whole) = (read(&folder, "small.trx"), read(&folder, "whole.trx"));
    assert_eq!(small.streamlines.len(), whole.streamlines.len());
    assert!(small.streamlines.n_points() < whole.streamlines.n_points() / 2);
    assert_eq!(small.header.groups, whole.header.groups);
}

#[test]
fn nothing_kept_is_an_empty_file_and_a_warning() {
    let folder = with_tracts(20);
    for out in ["out.tck", "out.trk", "out.trx"] {
        let ran = folder.done(&format!("tract edit a.trx --include 900,0,0,1 -o {out}"));
        assert!(ran.stderr.contains("no streamline is kept"), "{}", ran.stderr);
        assert!(ran.stderr.contains("(fimbria help tracts)"), "{}", ran.stderr);
        assert_eq!(read(&folder, out).streamlines.len(), 0);
    }
    Tractogram::default().write(folder.join("none.tck"), &WriteOptions::default()).unwrap();
    let ran = folder.done("tract edit none.tck --include a.nii --number 3 -o still.tck");
    assert_eq!(read(&folder, "still.tck").streamlines.len(), 0, "{}", ran.stderr);
}

#[test]
fn wrong_regions_and_weights_are_one_error() {
    let folder = with_tracts(10);
    fs::write(folder.join("short.txt"), "1 2 3\n").unwrap();
    fs::write(folder.join("long.txt"), "1\n".repeat(11)).unwrap();
    fs::write(folder.join("half.txt"), "1 0 0 0\n0 1 0\n").unwrap();
    for (options, said) in [
        ("--include nowhere.nii", "nowhere.nii"),
        ("--include labels.nii:7", "labels.nii:7 has no voxel inside"),
        ("--include labels.nii:Left", "--lut gives the table"),
        ("--include labels.nii:Up --lut lut.txt", "lut.txt has no label named `Up`"),
        ("--weights short.txt", "short.txt has 3 weights"),
        ("--weights long.txt", "long.txt has 11 weights"),
        ("--include a.nii --transform half.txt", "half.txt"),
        ("--include a.nii --transform b.nii", "b.nii has 1 volumes"),
    ] {
        let error = folder.failed(&format!("tract edit a.tck {options} -o out.tck"));
        assert!(error.contains(said), "{options}: {error}");
        assert!(!folder.join("out.tck").exists(), "{options}");
    }
    for options in [
        "--ends-in a.nii --ends-in b.nii --ends-in fine.nii",
        "--min-length 9 --max-length 5",
        "--include 1,2,3",
        "--include 1,2,3,-4",
        "--points 1",
        "--points 5 --step 2",
        "--min-weight 2",
        "--transform half.txt --fsl-in a.nii",
    ] {
        let ran = folder.run(&format!("tract edit a.tck {options} -o out.tck"));
        assert_eq!(ran.code, Some(2), "{options}: {}", ran.stderr);
        assert!(!folder.join("out.tck").exists());
    }
    let error = folder.failed("tract edit a.tck -o out.trx");
    assert!(error.contains("reference"), "{error}");
}

#[test]
fn a_tractogram_of_few_points_is_met_between_them() {
    let folder = with_tractogram();
    let ras = crate::util::grid().ras_from_vox.apply([1.0, 0.0, 0.0]);
    let ball = format!("{},{},{},0.3", ras[0], ras[1], ras[2]);
    // The ball about voxel 1 lies between the ends of the second line, from voxel 3 to 0.
    folder.done(&format!("tract edit a.trx --include {ball} -o out.trx"));
    assert_eq!(read(&folder, "out.trx").streamlines.len(), 3);
    folder.done(&format!("tract edit a.trx --include {ball} --ends-only -o ends.trx"));
    assert_eq!(read(&folder, "ends.trx").streamlines.len(), 0);
}

#[test]
fn transforms_of_another_kind_are_refused_by_name() {
    let folder = with_tracts(5);
    let with_intent = |name: &str, code: i32| {
        let mut options = fimbria_image::WriteOptions::default();
        options.intent.code = code;
        let image = fimbria_image::Image::zeros(grid(), 3);
        fimbria_image::write_image(folder.join(name), &image, &options).unwrap();
    };
    with_intent("1Warp.nii.gz", 1007);
    with_intent("fnirt.nii.gz", 2006);
    with_intent("splines.nii.gz", 2007);
    fs::write(folder.join("composite.h5"), b"\x89HDF\r\n\x1a\n").unwrap();
    let bspline =
        "#Insight Transform File V1.0\nTransform: BSplineTransform_double_3_3\nParameters: 1\n";
    fs::write(folder.join("bspline.txt"), bspline).unwrap();
    fs::write(folder.join("turned.txt"), "1 0 0 0\n0 1 0 0\n0 0 1 0\n3 -4 2 1\n").unwrap();
    fs::write(folder.join("scaled.mat"), "1 0 0 3\n0 1 0 4\n0 0 1 0\n0 0 0 2\n").unwrap();
    let fsl = "--fsl-in a.nii --fsl-ref a.nii";
    for (options, message) in [
        ("--transform [1Warp.nii.gz,1]".to_owned(), "only matrices are inverted"),
        ("--transform composite.h5".to_owned(), "CompositeTransformUtil"),
        ("--transform bspline.txt".to_owned(), "BSplineTransform"),
        ("--transform fnirt.nii.gz".to_owned(), "fnirt.nii.gz is a field of FSL (intent 2006)"),
        ("--transform splines.nii.gz".to_owned(), "splines.nii.gz holds coefficients"),
        (
            "--transform turned.txt".to_owned(),
            "turned.txt: the last row of a transform is 0 0 0 1, not 3 -4 2 1",
        ),
        (
            format!("--transform scaled.mat {fsl}"),
            "scaled.mat: the last row of a transform is 0 0 0 1, not 0 0 0 2",
        ),
    ] {
        let error =
            folder.failed(&format!("tract edit a.tck --include a.nii {options} -o out.tck"));
        assert!(error.contains(message), "{options}: {error}");
    }
    let fnirt = folder.run(&format!(
        "tract edit a.tck --include a.nii --transform fnirt.nii.gz {fsl} -o out.tck"
    ));
    assert_eq!(fnirt.code, Some(0), "{}", fnirt.stderr);
}
