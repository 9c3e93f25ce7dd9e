//! `fimbria track`, `fimbria probtrackx2` and `fimbria compare`.

use std::fs;

use fimbria_image::{Image, WriteOptions, write_image};
use fimbria_streamlines::Tractogram;

use crate::util::{Folder, grid};

/// Samples of one fibre along FSL's x axis with a fraction of 0.5, everywhere in the grid, as a
/// bedpostX folder; one seed voxel.
fn with_samples() -> Folder {
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

fn voxels(voxels: &[[usize; 3]]) -> Image {
    let mut image = Image::zeros(grid(), 1);
    for voxel in voxels {
        image.data[grid().index(*voxel)] = 1.0;
    }
    image
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
fn what_cannot_be_tracked_is_one_error() {
    let folder = with_samples();
    let error = folder.failed("track bpx --seeds none.nii.gz -o out");
    assert!(error.contains("none.nii.gz has no voxel"), "{error}");
    fs::remove_file(folder.join("bpx/merged_ph1samples.nii.gz")).unwrap();
    let error = folder.failed("track bpx --seeds seed.nii.gz -o out");
    assert!(error.contains("merged_ph1samples"), "{error}");
    assert!(!folder.join("out").exists());
}

#[test]
fn probtrackx2_writes_the_files_of_fsl() {
    let folder = with_samples();
    let line = "probtrackx2 -x seed -s bpx/merged -m bpx/nodif_brain_mask --opd -P 10";
    folder.done(&format!("{line} --os2t --targetmasks=far --dir=log --forcedir --rseed=7"));
    assert_eq!(fs::read_to_string(folder.join("log/waytotal")).unwrap().trim(), "10");
    assert_eq!(folder.image("log/fdt_paths.nii.gz").data[grid().index([0, 2, 2])], 10.0);
    assert_eq!(folder.image("log/seeds_to_far.nii.gz").data[grid().index([3, 2, 2])], 10.0);
    assert!(folder.join("log/probtrackx.log").exists());
    // A folder that exists gets a plus.
    folder.done(&format!("{line} --dir=log"));
    assert!(folder.join("log+/waytotal").exists());
}

#[test]
fn probtrackx2_saves_paths_of_fixed_numbers() {
    let folder = with_samples();
    fs::write(folder.join("points.txt"), "3 2 2\n").unwrap();
    folder.done(
        "probtrackx2 -x points.txt --simple -s bpx/merged -m bpx/nodif_brain_mask --opd -P 1 \
         --savepaths --rng constant:0.5 --dir=log",
    );
    let text = fs::read_to_string(folder.join("log/saved_paths.txt")).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with('#')).count(), 3);
    // Radiological: x counts from the other end of 7 voxels; steps of 0.5 mm in voxels of 2 mm.
    let points: Vec<_> = text.lines().skip(1).take(2).collect();
    assert_eq!(points, ["3 2 2", "2.75 2 2"]);
    assert!(folder.join("log/fdt_paths_3_2_2.nii.gz").exists());
}

#[test]
fn all_points_share_one_sequence_of_numbers() {
    let folder = with_samples();
    let paths = |points: &str, dir: &str| {
        fs::write(folder.join("points.txt"), points).unwrap();
        folder.done(&format!(
            "probtrackx2 -x points.txt --simple -s bpx/merged -m bpx/nodif_brain_mask --opd -P 1 \
             -f --savepaths --rng lcg:12345 --dir={dir}"
        ));
        let text = fs::read_to_string(folder.join(dir).join("saved_paths.txt")).unwrap();
        text.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
    };
    // The same point again and again: were each to start the sequence anew, all paths were the same.
    let same = paths(&"3 2 2\n".repeat(8), "same");
    assert_eq!(same.len(), 24);
    assert!(same[3..].iter().zip(&same).any(|(a, b)| a != b), "{same:?}");
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
        assert!(record["parameters"]["voxels"].as_u64().unwrap() >= 3);
        record["parameters"]["Q"].as_f64().unwrap()
    };
    // Longer steps reach farther: far more than other random numbers change.
    let (same, longer) = (q([3, 4], "same"), q([5, 6], "longer"));
    assert!(longer > 20.0 * same, "{same} {longer}");
}
