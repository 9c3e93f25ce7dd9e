//! `fimbria track` and `fimbria compare`.

use std::fs;

use fimbria_image::gifti::Surface;
use fimbria_image::{Image, WriteOptions, write_image};
use fimbria_streamlines::{Format, Tractogram};
use fimbria_tensors::sh::{ShBasis, ShToForm};

use crate::util::{Folder, grid};

/// Samples of one fibre along FSL's x axis with a fraction of 0.5, everywhere in the grid, as a
/// bedpostX folder; one seed voxel.
pub(crate) fn with_samples() -> Folder {
    let folder = Folder::new();
    fs::create_dir(folder.join("bpx")).unwrap();
    let constant = |value: f32, volumes: usize| {
        let mut image = Image::zeros(grid(), volumes);
        image.data.fill(value);
        image
    };
    let write = |name: &str, image: &Image| {
        write_image(folder.join(name), image, &WriteOptions::default()).unwrap();
    };
    write("bpx/merged_th1samples.nii.gz", &constant(std::f32::consts::FRAC_PI_2, 3));
    // Exactly 0 would mean no direction.
    write("bpx/merged_ph1samples.nii.gz", &constant(1e-6, 3));
    write("bpx/merged_f1samples.nii.gz", &constant(0.5, 3));
    write("bpx/nodif_brain_mask.nii.gz", &constant(1.0, 1));
    write("seed.nii.gz", &voxels(&[[3, 2, 2]]));
    write("far.nii.gz", &voxels(&[[6, 2, 2]]));
    write("beside.nii.gz", &voxels(&[[3, 4, 2]]));
    write("none.nii.gz", &voxels(&[]));
    folder
}

pub(crate) fn voxels(voxels: &[[usize; 3]]) -> Image {
    let mut image = Image::zeros(grid(), 1);
    for voxel in voxels {
        image.data[grid().index(*voxel)] = 1.0;
    }
    image
}

#[test]
fn a_region_that_does_not_say_how_it_lies_is_warned_of() {
    let folder = with_samples();
    let seed = voxels(&[[3, 2, 2]]);
    write_image(folder.join("seed.nii"), &seed, &WriteOptions::default()).unwrap();
    crate::qsm::without_orientation(&folder, "seed.nii", "unplaced.nii");
    let said = folder.run("track bpx --seeds unplaced.nii -n 1 -o out").stderr;
    assert!(said.contains("unplaced.nii: the header does not say how the image lies"), "{said}");
}

#[test]
fn streamlines_follow_the_fibre_through_the_whole_mask() {
    let folder = with_samples();
    folder.done("track bpx --seeds seed.nii.gz -n 4 -o out");
    let tracks = Tractogram::read(folder.join("out/tracks.trx")).unwrap().streamlines;
    assert_eq!(tracks.len(), 4);
    let ras = |voxel: [f64; 3]| grid().ras_from_vox.apply(voxel);
    let (first, last) = (ras([-0.5, 2.0, 2.0]), ras([6.5, 2.0, 2.0]));
    for points in tracks.iter() {
        let ends = [points[0], points[points.len() - 1]];
        for end in ends {
            let distance = |to: [f64; 3]| {
                (0..3).map(|a| (f64::from(end[a]) - to[a]).powi(2)).sum::<f64>().sqrt()
            };
            // Up to one step of 0.5 mm before the edge of the mask.
            assert!(distance(first).min(distance(last)) < 0.51, "{end:?} {first:?} {last:?}");
        }
    }
    let visits = folder.image("out/visits.nii.gz");
    for i in 0..7 {
        assert_eq!(visits.data[grid().index([i, 2, 2])], 4.0);
    }
    assert_eq!(visits.data.iter().sum::<f32>(), 28.0);
    let record = folder.json("out/run.json");
    // At the edge of the mask, or where a corner beyond it was drawn.
    let counts = &record["stages"][1]["counts"];
    let ends = |why: &str| counts[format!("ends: {why}")].as_u64().unwrap();
    assert_eq!(ends("outside mask") + ends("outside samples"), 8);
}

#[test]
fn every_format_and_number_of_threads_gives_the_same_streamlines() {
    let folder = with_samples();
    let line = "track bpx --seeds seed.nii.gz -n 40 --jitter 1.5 --use-fraction";
    folder.done(&format!("{line} -o a --threads 1"));
    folder.done(&format!("{line} -o b --threads 3"));
    folder.done(&format!("{line} -o c --tracks tck"));
    let read = |name: &str| Tractogram::read(folder.join(name)).unwrap().streamlines;
    assert_eq!(read("a/tracks.trx"), read("b/tracks.trx"));
    assert_eq!(read("a/tracks.trx").positions(), read("c/tracks.tck").positions());
}

#[test]
fn regions_keep_reject_and_end_streamlines() {
    let folder = with_samples();
    let kept = |options: &str| {
        folder.done(&format!("track bpx --seeds seed.nii.gz -n 5 -o out -f {options}"));
        fs::read_to_string(folder.join("out/waytotal")).unwrap().trim().parse::<u32>().unwrap()
    };
    assert_eq!(kept("--include far.nii.gz"), 5);
    assert_eq!(kept("--include beside.nii.gz"), 0);
    assert_eq!(kept("--exclude far.nii.gz"), 0);
    assert_eq!(kept("--stop far.nii.gz --target far.nii.gz"), 5);
    assert_eq!(folder.image("out/seeds_to_far.nii.gz").data[grid().index([3, 2, 2])], 5.0);
}

#[test]
fn peaks_are_tracked_as_samples_are() {
    let folder = with_samples();
    let mut peaks = Image::zeros(grid(), 3);
    // Along the image's x axis, in scanner axes.
    let turn = grid().ras_from_vox.rotation();
    for k in 0..3 {
        peaks.volume_mut(k).fill(turn[k][0] as f32 * 0.7);
    }
    write_image(folder.join("peaks.nii.gz"), &peaks, &WriteOptions::default()).unwrap();
    folder.done("track peaks.nii.gz --seeds seed.nii.gz -n 2 -o out");
    let visits = folder.image("out/visits.nii.gz");
    assert_eq!((0..7).map(|i| visits.data[grid().index([i, 2, 2])]).sum::<f32>(), 14.0);
    assert_eq!(visits.data.iter().sum::<f32>(), 14.0);
    folder.done("track peaks.nii.gz --seeds seed.nii.gz -n 50 --dispersion 20 -o wide");
    assert!(folder.image("wide/visits.nii.gz").data.iter().filter(|v| **v > 0.0).count() > 7);
}

#[test]
fn a_region_that_nobody_reaches_is_told_and_recorded() {
    let folder = with_samples();
    let line = "track bpx --seeds seed.nii.gz -n 3";
    let ran = folder.done(&format!("{line} --include beside.nii.gz -o out"));
    assert!(ran.stderr.contains("no streamline was kept"), "{}", ran.stderr);
    assert_eq!(folder.json("out/run.json")["stages"][1]["counts"]["kept"], 0);
    assert_eq!(Tractogram::read(folder.join("out/tracks.trx")).unwrap().streamlines.len(), 0);
    let ran = folder.done(&format!("{line} --include none.nii.gz -o none"));
    assert!(ran.stderr.contains("nothing can reach it"), "{}", ran.stderr);
}

#[test]
fn surfaces_and_points_are_seeds_too() {
    let folder = with_samples();
    let ras = |voxel: [f64; 3]| grid().ras_from_vox.apply(voxel).map(|x| x as f32);
    let surface = Surface {
        vertices: vec![ras([3.0, 4.0, 2.0]), ras([3.0, 2.0, 2.0]), ras([2.0, 2.0, 2.0])],
        triangles: vec![[0, 1, 2]],
        values: Some(vec![0.0, 1.0, 0.0]),
    };
    surface.write(folder.join("white.gii")).unwrap();
    let [x, y, z] = ras([3.0, 2.0, 2.0]);
    fs::write(folder.join("points.txt"), format!("{x} {y} {z}\n")).unwrap();
    let rest = "--target far.nii.gz -n 4";
    folder.done(&format!("track bpx --seeds seed.nii.gz {rest} -o voxels"));
    folder.done(&format!("track bpx --seeds white.gii --seeds points.txt {rest} -o others"));
    let visits = |name: &str| folder.image(&format!("{name}/visits.nii.gz")).data;
    // The same point twice: as a vertex and as a point of a list.
    let twice: Vec<_> = visits("voxels").iter().map(|n| 2.0 * n).collect();
    assert_eq!(visits("others"), twice);
    let reached = Surface::read(folder.join("others/seeds_white_to_far.gii")).unwrap();
    assert_eq!(reached.values, Some(vec![0.0, 4.0, 0.0]));
    let reached = fs::read_to_string(folder.join("others/seeds_points_to_far.txt")).unwrap();
    assert_eq!(reached, "4\n");
    assert_eq!(fs::read_to_string(folder.join("others/waytotal")).unwrap(), "4\n4\n");

    let error = folder.failed("track bpx --seeds white.gii --seeds points.txt --network -o none");
    assert!(error.contains("voxels or surfaces"), "{error}");
    fs::write(folder.join("points.txt"), "1 2\n").unwrap();
    let error = folder.failed("track bpx --seeds points.txt -o none");
    assert!(error.contains("points.txt, line 1: no point, three numbers"), "{error}");
}

#[test]
fn seeds_outside_the_mask_are_told() {
    let folder = with_samples();
    let two = voxels(&[[3, 2, 2], [3, 4, 2]]);
    write_image(folder.join("two.nii.gz"), &two, &WriteOptions::default()).unwrap();
    let line = "track bpx -n 3 --mask beside.nii.gz";
    let ran = folder.done(&format!("{line} --seeds two.nii.gz -o some"));
    assert!(
        ran.stderr.contains("outside the mask of the directions: 1 of 2 seeds"),
        "{}",
        ran.stderr
    );
    let ran = folder.done(&format!("{line} --seeds seed.nii.gz -o none"));
    assert!(ran.stderr.contains("every seed lies outside the mask"), "{}", ran.stderr);
}

#[test]
fn functions_of_both_kinds_and_frames_are_followed_along_their_maxima() {
    let folder = with_samples();
    // Along the image's x axis, in scanner and in FSL's axes: det(affine) > 0, so that FSL counts
    // x the other way, which a function that is even does not show.
    let turn = grid().ras_from_vox.rotation();
    let scanner = [turn[0][0], turn[1][0], turn[2][0]];
    let along_x = |name: &str, options: &str| {
        // The grid is small.
        let line = format!("track {name} --seeds seed.nii.gz -n 200 --min-length 0 {options}");
        folder.done(&format!("{line} -o {name}.out"));
        let visits = folder.image(&format!("{name}.out/visits.nii.gz"));
        let on_axis: f32 = (0..7).map(|i| visits.data[grid().index([i, 2, 2])]).sum();
        // Lobes are a few voxels wide at the ends; off the axis there are less than on it.
        assert!(on_axis > 0.5 * visits.data.iter().sum::<f32>(), "{name}: {on_axis}");
        assert!(visits.data[grid().index([5, 2, 2])] > 150.0, "{name}");
    };
    // (v.u)^6 as unique entries of a tensor of order 6, in fimbria's order, and as V1.
    let write = |name: &str, values: &[f64]| {
        let mut image = Image::zeros(grid(), values.len());
        for (volume, value) in values.iter().enumerate() {
            image.volume_mut(volume).fill(*value as f32);
        }
        write_image(folder.join(name), &image, &WriteOptions::default()).unwrap();
    };
    let order = 8;
    let entries = |v: [f64; 3]| -> Vec<f64> {
        let mut entries = Vec::new();
        for x in (0..=order).rev() {
            for y in (0..=order - x).rev() {
                let z = order - x - y;
                entries.push(v[0].powi(x) * v[1].powi(y) * v[2].powi(z));
            }
        }
        entries
    };
    write("hot.nii.gz", &entries(scanner));
    along_x("hot.nii.gz", "--hot --algorithm deterministic");
    write("hot_fsl.nii.gz", &entries([1.0, 0.0, 0.0]));
    along_x("hot_fsl.nii.gz", "--hot --frame fsl --algorithm deterministic");
    write("v1.nii.gz", &scanner);
    along_x("v1.nii.gz", "");
    write("v1_fsl.nii.gz", &[1.0, 0.0, 0.0]);
    along_x("v1_fsl.nii.gz", "--frame fsl");
    let form = ShToForm::new(ShBasis::Mrtrix, order as usize).unwrap();
    let rows = form.sh_from_form().chunks_exact(form.count());
    let entries = entries(scanner);
    let harmonics: Vec<f64> =
        rows.map(|row| row.iter().zip(&entries).map(|(a, b)| a * b).sum()).collect();
    write("sh.nii.gz", &harmonics);
    along_x("sh.nii.gz", "--sh-basis mrtrix --algorithm deterministic");
}

#[test]
fn options_that_have_no_use_with_the_directions_are_refused() {
    let folder = with_samples();
    let mut form = Image::zeros(grid(), 15);
    form.volume_mut(0).fill(1.0);
    write_image(folder.join("hot.nii.gz"), &form, &WriteOptions::default()).unwrap();
    for (directions, option, holds) in [
        ("bpx", "--dispersion 10", "--dispersion has no use with the samples of bpx"),
        ("bpx", "--frame voxel", "--frame has no use with the samples of bpx"),
        ("bpx", "--peaks", "--peaks has no use with the samples of bpx"),
        ("hot.nii.gz --hot", "--dispersion 10", "has no use with the functions of hot.nii.gz"),
        ("hot.nii.gz --hot", "--use-fraction", "--use-fraction has no use with the functions"),
        ("hot.nii.gz --hot", "--fibre-threshold 0.1", "--fibre-threshold has no use"),
        (
            "hot.nii.gz --hot",
            "--algorithm deterministic --power 2",
            "`power` has no use with the algorithm deterministic",
        ),
        (
            "hot.nii.gz --hot",
            "--algorithm probabilistic --probe 1",
            "`probe` has no use with the algorithm probabilistic",
        ),
        ("bpx", "--select 10", "--select has no use with the samples of bpx"),
        ("hot.nii.gz", "--select 10", "leave it out, or name densities by --sh-basis or --hot"),
        ("bpx", "--cutoff 0.2", "--cutoff has no use with the samples of bpx"),
        ("bpx", "--act 5tt.nii.gz", "--act has no use with the samples of bpx"),
        (
            "hot.nii.gz --hot",
            "--act 5tt.nii.gz --backtrack --algorithm deterministic",
            "`backtrack` has no use with the algorithm deterministic",
        ),
    ] {
        let ran = folder.run(&format!("track {directions} --seeds seed.nii.gz -o out {option}"));
        assert_eq!(ran.code, Some(2), "{option}: {}", ran.stderr);
        assert!(ran.stderr.contains(holds), "{option}: {}", ran.stderr);
        assert!(!folder.join("out").exists(), "{option}");
    }
}

/// `(v.u)^8` along the image's x axis everywhere.
pub(crate) fn with_densities() -> Folder {
    let folder = with_samples();
    let turn = grid().ras_from_vox.rotation();
    let v = [turn[0][0], turn[1][0], turn[2][0]];
    let mut image = Image::zeros(grid(), 45);
    let mut term = 0;
    for x in (0..=8).rev() {
        for y in (0..=8 - x).rev() {
            let entry = v[0].powi(x) * v[1].powi(y) * v[2].powi(8 - x - y);
            image.volume_mut(term).fill(entry as f32);
            term += 1;
        }
    }
    write_image(folder.join("hot.nii.gz"), &image, &WriteOptions::default()).unwrap();
    write_image(folder.join("all.nii.gz"), &voxels(&every()), &WriteOptions::default()).unwrap();
    folder
}

fn every() -> Vec<[usize; 3]> {
    (0..grid().len()).map(|index| grid().voxel(index)).collect()
}

#[test]
fn so_many_streamlines_through_densities_as_asked_for_are_kept_whatever_the_threads() {
    let folder = with_densities();
    let line =
        "track hot.nii.gz --hot --seeds all.nii.gz --select 1500 --min-length 4 --device cpu";
    folder.done(&format!("{line} -o a --threads 1"));
    folder.done(&format!("{line} -o b --threads 3"));
    let read = |name: &str| Tractogram::read(folder.join(name)).unwrap().streamlines;
    let tracks = read("a/tracks.trx");
    assert_eq!(tracks.len(), 1500);
    assert_eq!(tracks, read("b/tracks.trx"));
    let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!(bytes("a/visits.nii.gz") == bytes("b/visits.nii.gz"));
    let line = format!("{line} --seeds-by dynamic --tracks tck");
    folder.done(&format!("{line} -o c --threads 1"));
    folder.done(&format!("{line} -o d --threads 3"));
    assert!(bytes("c/tracks.tck") == bytes("d/tracks.tck"));
    // What was started in vain counts for nothing but the number started.
    let counts = &folder.json("a/run.json")["stages"][1]["counts"];
    assert_eq!(counts["kept"], 1500);
    assert!(counts["samples"].as_u64().unwrap() >= 1500);
    assert_eq!(fs::read_to_string(folder.join("a/waytotal")).unwrap(), "1500\n");
}

#[test]
fn fewer_streamlines_than_asked_for_are_told_once_a_thousand_times_as_many_were_started() {
    let folder = with_densities();
    let line = "track hot.nii.gz --hot --seeds seed.nii.gz --select 2 --min-length 200 -o out";
    let ran = folder.done(&format!("{line} --device cpu"));
    let told = "0 of 2 streamlines are there after 2000 were started";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
}

#[test]
fn densities_below_the_cut_off_are_not_followed() {
    let folder = with_densities();
    let line = "track hot.nii.gz --hot --seeds seed.nii.gz -n 5 --min-length 0 --device cpu";
    for algorithm in ["transport", "probabilistic", "deterministic"] {
        // The largest density is 1.
        folder.done(&format!("{line} --algorithm {algorithm} --cutoff 1.5 -o out -f"));
        let counts = &folder.json("out/run.json")["stages"][1]["counts"];
        assert_eq!(counts["ends: small density"], 10, "{algorithm}: {counts}");
    }
}

/// Five tissues: cortex on the left, then white matter, then the tissue with this number.
pub(crate) fn tissues(at_the_end: usize) -> Image {
    let mut image = Image::zeros(grid(), 5);
    for index in 0..grid().len() {
        let tissue = match grid().voxel(index)[0] {
            0..=1 => 0,
            2..=5 => 2,
            _ => at_the_end,
        };
        image.volume_mut(tissue)[index] = 1.0;
    }
    image
}

#[test]
fn tissues_say_where_streamlines_end() {
    let folder = with_densities();
    let write = |name: &str, image: &Image| {
        write_image(folder.join(name), image, &WriteOptions::default()).unwrap();
    };
    write("5tt.nii.gz", &tissues(0));
    // The same as labels of FreeSurfer.
    let mut labels = Image::zeros(grid(), 1);
    for (index, label) in labels.data.iter_mut().enumerate() {
        *label = if (2..=5).contains(&grid().voxel(index)[0]) { 41.0 } else { 2011.0 };
    }
    write("aseg.nii.gz", &labels);
    write("fluid.nii.gz", &tissues(3));
    let line = "track hot.nii.gz --hot --seeds seed.nii.gz -n 20 --min-length 0 --device cpu";
    let counts = |more: &str| {
        folder.done(&format!("{line} {more} -o out -f"));
        folder.json("out/run.json")["stages"][1]["counts"].clone()
    };
    let tracks = || Tractogram::read(folder.join("out/tracks.trx")).unwrap().streamlines;
    let whole = counts("--act 5tt.nii.gz --crop=false");
    assert_eq!((&whole["kept"], &whole["ends: cortex"]), (&20.into(), &40.into()));
    let lines = tracks();
    assert_eq!(counts("--act aseg.nii.gz --crop=false")["kept"], 20);
    assert!(tracks() == lines);
    // Streamlines end where the cortex begins, so that cropping takes off no more than rounding.
    assert_eq!(counts("--act 5tt.nii.gz")["ends: cortex"], 40);
    let turn = grid().ras_from_vox.rotation();
    let along = |point: &[f32; 3]| (0..3).map(|a| turn[a][0] as f32 * point[a]).sum::<f32>();
    for (cut, whole) in tracks().iter().zip(lines.iter()) {
        let length =
            |points: &[[f32; 3]]| (along(&points[points.len() - 1]) - along(&points[0])).abs();
        assert!((length(cut) - length(whole)).abs() < 1e-3, "{} {}", length(cut), length(whole));
    }
    let boundary = counts("--act 5tt.nii.gz --seed-boundary --seeds all.nii.gz");
    assert!(boundary["kept"].as_u64().unwrap() > 0, "{boundary}");
    // Into fluid goes one half of each, whatever way it tries.
    for more in ["", "--backtrack=false"] {
        let wrong = counts(&format!("--act fluid.nii.gz {more}"));
        assert_eq!(wrong["kept"], 0, "{wrong}");
    }
}

#[test]
fn images_that_are_no_tissues_are_refused() {
    let folder = with_densities();
    write_image(folder.join("5tt.nii.gz"), &tissues(0), &WriteOptions::default()).unwrap();
    write_image(folder.join("none.nii.gz"), &voxels(&[]), &WriteOptions::default()).unwrap();
    let mut cortex = voxels(&[[3, 2, 2]]);
    cortex.data.iter_mut().for_each(|label| *label *= 2011.0);
    write_image(folder.join("cortex.nii.gz"), &cortex, &WriteOptions::default()).unwrap();
    let line = "track hot.nii.gz --hot --seeds seed.nii.gz -n 2";
    for (act, why) in [
        ("hot.nii.gz", "it has 45 volumes: a five-tissue image has five"),
        (
            "seed.nii.gz",
            "label 1 and others, in 1 of 1 voxels with labels, are none of FreeSurfer's",
        ),
        ("cortex.nii.gz", "there is no white matter in it"),
    ] {
        let error = folder.failed(&format!("{line} --act {act} -o out"));
        assert!(error.contains(why) && error.contains(act), "{error}");
    }
    // Tissues that lie elsewhere are told of.
    let mut elsewhere = tissues(0);
    elsewhere.grid.ras_from_vox.0[2][3] += 9.0;
    write_image(folder.join("elsewhere.nii.gz"), &elsewhere, &WriteOptions::default()).unwrap();
    let told = folder.done(&format!("{line} --act elsewhere.nii.gz -o moved --device cpu")).stderr;
    assert!(told.contains("do both images show the same head"), "{told}");
    let far = format!("{line} --act 5tt.nii.gz --seed-boundary -o out");
    let error = folder.failed(&far);
    assert!(error.contains("passes no voxel of the seeds"), "{error}");
}

#[test]
fn what_cannot_be_tracked_is_one_error() {
    let folder = with_samples();
    let error = folder.failed("track bpx --seeds none.nii.gz -o out");
    assert!(error.contains("none.nii.gz has no voxel"), "{error}");

    let mut other = grid();
    other.dims[1] += 1;
    let write = |name: &str, image: &Image| {
        write_image(folder.join(name), image, &WriteOptions::default()).unwrap();
    };
    write("other.nii.gz", &Image::zeros(other, 1));
    let error = folder.failed("track bpx --seeds seed.nii.gz --exclude other.nii.gz -o out");
    assert!(error.contains("other.nii.gz") && error.contains("[7, 7, 5]"), "{error}");
    let error = folder.failed("track bpx --seeds seed.nii.gz --mask other.nii.gz -o out");
    assert!(error.contains("other.nii.gz"), "{error}");
    let error = folder.failed("track bpx --seeds seed.nii.gz --mask none.nii.gz -o out");
    assert!(error.contains("none.nii.gz"), "{error}");

    let theta = folder.join("bpx/merged_th1samples.nii.gz");
    let good = folder.image("bpx/merged_th1samples.nii.gz");
    let mut bad = good.clone();
    bad.data[grid().index([4, 2, 2])] = f32::NAN;
    write("bpx/merged_th1samples.nii.gz", &bad);
    let error = folder.failed("track bpx --seeds seed.nii.gz -o out");
    assert!(error.contains("merged_th1samples"), "{error}");
    write("bpx/merged_th1samples.nii.gz", &good);
    assert!(theta.exists());
    fs::remove_file(folder.join("bpx/merged_ph1samples.nii.gz")).unwrap();
    let error = folder.failed("track bpx --seeds seed.nii.gz -o out");
    assert!(error.contains("merged_ph1samples"), "{error}");
    assert!(!folder.join("out").exists());
}

#[test]
fn two_sets_of_maps_are_tested_against_each_other() {
    let folder = with_samples();
    let run = |seed: u32, options: &str| {
        folder.done(&format!(
            "track bpx --seeds seed.nii.gz -n 3000 --use-fraction --tracks none --rng-seed {seed} \
             {options} -o run{seed}"
        ));
    };
    (1..=4).for_each(|seed| run(seed, ""));
    (5..=6).for_each(|seed| run(seed, "--step 0.7"));
    let q = |other: [u32; 2], out: &str| {
        let map = |n: u32| format!("run{n}/visits.nii.gz");
        let [a, b, c, d] = [map(1), map(2), map(other[0]), map(other[1])];
        let text = folder.done(&format!("compare {a} {b} -o {out} -- {c} {d}")).stdout;
        assert!(text.contains("Q "), "{text}");
        let record = folder.json(&format!("{out}/run.json"));
        assert!(record["voxels"].as_u64().unwrap() >= 3);
        record["Q"].as_f64().unwrap()
    };
    // Longer steps reach farther: far more than other random numbers change.
    let (same, longer) = (q([3, 4], "same"), q([5, 6], "longer"));
    assert!(longer > 20.0 * same, "{same} {longer}");
}

/// A pair of header and samples that is compressed was once taken for the base name of bedpostX samples.
#[test]
fn peaks_are_an_image_whatever_format_they_are_in() {
    let folder = with_samples();
    let mut peaks = Image::zeros(grid(), 3);
    peaks.data[..grid().len()].fill(0.5);
    let track = |image: &str, out: &str| {
        folder.done(&format!("track {image} --seeds seed.nii.gz -n 2 -o {out}"));
        Tractogram::read(folder.join(out).join("tracks.trx")).unwrap().streamlines
    };
    write_image(folder.join("peaks.nii"), &peaks, &WriteOptions::default()).unwrap();
    let expected = track("peaks.nii", "of_nii");
    assert_eq!(expected.len(), 2);
    for name in ["a.hdr.gz", "b.img.gz", "c.hdr", "d.img", "e.mif.gz", "f.nii.gz"] {
        write_image(folder.join(name), &peaks, &WriteOptions::default()).unwrap();
        assert_eq!(track(name, &format!("of_{name}_")), expected, "{name}");
    }
}

#[test]
fn streamlines_are_written_in_every_format_there_is() {
    let folder = with_samples();
    for (format, extension, _) in Format::OF_FILES {
        let line =
            format!("track bpx --seeds seed.nii.gz -n 2 --tracks {extension} -o {extension}-out");
        folder.done(&line);
        let path = folder.join(&format!("{extension}-out/tracks.{extension}"));
        assert_eq!(Format::from_content(&path).unwrap(), *format);
        assert_eq!(Tractogram::read(path).unwrap().streamlines.len(), 2);
    }
}

/// Samples of every device, and of the threads, by the record of a command.
fn shares(folder: &Folder, record: &str) -> (Vec<u64>, u64) {
    let record = folder.json(record);
    let stages = record["stages"].as_array().unwrap();
    let counts = stages.iter().find_map(|stage| {
        stage["counts"].as_object().filter(|counts| counts.contains_key("samples_on_cpu"))
    });
    let counts = counts.unwrap_or_else(|| panic!("nobody made samples: {record}"));
    let all = counts.iter().filter(|(name, _)| name.starts_with("samples_on_"));
    let (cpu, devices): (Vec<_>, Vec<_>) = all.partition(|(name, _)| *name == "samples_on_cpu");
    let of = |(_, samples): (&String, &serde_json::Value)| samples.as_u64().unwrap();
    let shares: Vec<u64> = devices.into_iter().map(of).collect();
    let cpu = of(cpu[0]);
    assert_eq!(shares.iter().sum::<u64>() + cpu, counts["samples"].as_u64().unwrap());
    (shares, cpu)
}

#[test]
fn devices_share_the_samples_and_the_record_says_who_made_how_many() {
    let folder = with_samples();
    if fimbria_testing::opencl_device().is_none() {
        return;
    }
    let fsl =
        "probtrackx2 -x bpx/nodif_brain_mask -s bpx/merged -m bpx/nodif_brain_mask --opd -P 400";
    let track = "track bpx --seeds bpx/nodif_brain_mask.nii.gz -n 400";
    for (line, out) in [(fsl, "--dir="), (track, "-o ")] {
        folder.done(&format!("{line} --device cpu {out}threads"));
        let mut command = folder.command(&format!("{line} --device opencl:0,1 {out}devices"));
        command.env("POCL_DEVICES", "pthread pthread");
        let ran = crate::util::Ran::of(&fimbria_testing::output_of(&mut command));
        assert_eq!(ran.code, Some(0), "`{line}`: {}", ran.stderr);
        let (shares, cpu) = shares(&folder, "devices/run.json");
        assert_eq!((shares.len(), cpu), (2, 0));
        assert!(shares.iter().all(|share| *share > 0), "{shares:?}");
        let [mut found, mut expected] =
            ["devices", "threads"].map(|out| crate::bids::contents(&folder.join(out)));
        for all in [&mut found, &mut expected] {
            all.retain(|name, _| !name.ends_with("run.json") && !name.ends_with("probtrackx.log"));
        }
        assert!(found == expected, "`{line}`");
        for out in ["devices", "threads"] {
            fs::remove_dir_all(folder.join(out)).unwrap();
        }
    }
}
