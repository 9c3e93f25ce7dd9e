//! Tractograms in `fimbria convert`, `fimbria info` and `fimbria connectome`.

use std::fs;

use fimbria_image::{Image, WriteOptions, write_image};
use fimbria_streamlines::{Column, Header, Streamlines, Tractogram, WriteOptions as LineOptions};

use crate::util::{Folder, grid};

/// a.trx: two streamlines from voxel (0, 0, 0) to (3, 0, 0) and one back to where it began, with
/// weights; labels.nii: 1 and 2 at those voxels.
pub(crate) fn with_tractogram() -> Folder {
    let folder = Folder::new();
    let ras = |i: f64| grid().ras_from_vox.apply([i, 0.0, 0.0]).map(|x| x as f32);
    let mut lines = Streamlines::default();
    lines.push(&[ras(0.0), ras(1.5), ras(3.0)]);
    lines.push(&[ras(3.0), ras(0.0)]);
    lines.push(&[ras(0.0), ras(1.0), ras(0.0)]);
    lines.add_per_streamline(Column::from_f32("weight", 1, &[1.0, 2.0, 5.0]));
    let tractogram = Tractogram::new(Header::on(grid()), lines);
    tractogram.write(folder.join("a.trx"), &LineOptions::default()).unwrap();
    let mut labels = Image::zeros(grid(), 1);
    labels.data[grid().index([0, 0, 0])] = 1.0;
    labels.data[grid().index([3, 0, 0])] = 2.0;
    write_image(folder.join("labels.nii"), &labels, &WriteOptions::default()).unwrap();
    folder
}

#[test]
fn a_tractogram_goes_through_every_format_and_back() {
    let folder = with_tractogram();
    folder.done("convert a.trx -o b.trk");
    folder.done("convert b.trk --trx-folder -o c");
    let ran = folder.done("convert c -o d.tck");
    assert!(ran.stderr.contains("data per streamline (weight)"), "{}", ran.stderr);
    folder.done("convert d.tck --reference labels.nii --datatype float16 -o e.trx");
    let read = |name: &str| Tractogram::read(folder.join(name)).unwrap();
    let (first, last) = (read("a.trx"), read("e.trx"));
    assert_eq!(read("c").streamlines.per_streamline(), first.streamlines.per_streamline());
    assert_eq!(last.streamlines.offsets(), first.streamlines.offsets());
    assert_eq!(last.header.grid.unwrap().dims, grid().dims);
    let positions = last.streamlines.positions().iter().zip(first.streamlines.positions());
    for (a, b) in positions {
        for axis in 0..3 {
            // Half precision: 11 bits of coordinates up to 16 mm.
            assert!((a[axis] - b[axis]).abs() < 8e-3, "{a:?} {b:?}");
        }
    }
    let record = folder.json("b.trk.run.json");
    assert_eq!(record["stages"][0]["counts"]["streamlines"], 3);
    assert!(folder.join("c/run.json").exists());
}

#[test]
fn options_of_images_are_refused_for_tractograms() {
    let folder = with_tractogram();
    fs::write(folder.join("grad.b"), "0 0 0 0\n").unwrap();
    for option in ["--grad grad.b", "--bval grad.b --bvec grad.b", "--tensors dipy:mrtrix"] {
        let ran = folder.run(&format!("convert a.trx -o b.trk {option}"));
        assert_eq!(ran.code, Some(2), "{option}: {}", ran.stderr);
        assert!(ran.stderr.contains("for images, not for a tractogram"), "{}", ran.stderr);
        assert!(!folder.join("b.trk").exists(), "{option}");
    }
}

#[test]
fn a_reference_is_asked_for() {
    let folder = with_tractogram();
    folder.done("convert a.trx -o b.tck");
    let error = folder.failed("convert b.tck -o c.trk");
    assert!(error.contains("reference"), "{error}");
    assert_eq!(folder.names(".").iter().filter(|name| name.contains("c.trk")).count(), 0);
}

#[test]
fn counts_grid_and_data_are_shown_and_lengths_on_request() {
    let folder = with_tractogram();
    let text = folder.done("info a.trx").stdout;
    for part in ["TRX", "streamlines  3", "points       8", "7 x 6 x 5", "weight (1 x Float32)"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    assert!(!text.contains("median"));
    let text = folder.done("info a.trx --lengths").stdout;
    // Voxels of 2 mm along x: lengths of 6, 6 and 4 mm.
    for part in ["4.0000 to 6.0000 mm, median 6.0000", "mean 5.3333 mm"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn labels_that_no_streamline_meets_are_told_and_none_are_refused() {
    let folder = with_tractogram();
    let labels = folder.image("labels.nii");
    let write = |name: &str, image: &Image| {
        write_image(folder.join(name), image, &WriteOptions::default()).unwrap();
    };
    let mut far = labels.clone();
    for row in &mut far.grid.ras_from_vox.0 {
        row[3] += 1000.0;
    }
    write("far.nii", &far);
    let ran = folder.done("connectome a.trx far.nii --radius 1 -o far");
    assert!(ran.stderr.contains("no streamline ends at labels"), "{}", ran.stderr);
    let none = Image::zeros(labels.grid, 1);
    write("none.nii", &none);
    let error = folder.failed("connectome a.trx none.nii -o none");
    assert!(error.contains("no voxel has a label above 0"), "{error}");
}

#[test]
fn connections_are_counted_weighed_and_measured() {
    let folder = with_tractogram();
    folder.done("connectome a.trx labels.nii --radius 1 -o out");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("out/weights.csv"), "1,2\n2,0\n");
    assert_eq!(read("out/labels.txt"), "1\n2\n");
    let lengths: Vec<f64> =
        read("out/lengths.csv").split([',', '\n']).filter_map(|x| x.parse().ok()).collect();
    for (length, expected) in lengths.iter().zip([4.0, 6.0, 6.0, 0.0]) {
        // Coordinates are single precision.
        assert!((length - expected).abs() < 1e-5, "{lengths:?}");
    }
    folder.done("connectome a.trx labels.nii --exact-label --weights weight -o own");
    assert_eq!(read("own/weights.csv"), "5,3\n3,0\n");
    fs::write(folder.join("w.txt"), "10 20\n30\n").unwrap();
    folder.done("connectome a.trx labels.nii --exact-label --weights w.txt -o listed");
    assert_eq!(read("listed/weights.csv"), "30,30\n30,0\n");
}

#[test]
fn weights_that_no_connectome_can_have_are_refused() {
    let folder = with_tractogram();
    let line = "connectome a.trx labels.nii --exact-label -o c --weights";
    for (text, words) in [
        ("1 nan 3\n", "w.txt, line 1: `nan` is no finite number"),
        ("1\n-2\n3\n", "w.txt, line 2: `-2` is no weight"),
        ("1 2\n", "w.txt has 2 weights, and the tractogram another number of streamlines"),
        ("1 2 3 4\n", "w.txt has 4 weights, and the tractogram another number of streamlines"),
    ] {
        fs::write(folder.join("w.txt"), text).unwrap();
        let error = folder.failed(&format!("{line} w.txt"));
        assert!(error.contains(words), "{error}");
        assert!(!folder.join("c").exists());
    }
    for value in [f32::NAN, -1.0] {
        let Tractogram { header, mut streamlines } =
            Tractogram::read(folder.join("a.trx")).unwrap();
        streamlines.add_per_streamline(Column::from_f32("own", 1, &[1.0, value, 2.0]));
        let own = Tractogram::new(header, streamlines);
        own.write(folder.join("own.trx"), &LineOptions::default()).unwrap();
        let error = folder.failed(&format!("{line} own").replace("a.trx", "own.trx"));
        assert!(error.contains("`own` of streamline 1 is"), "{error}");
        assert!(!folder.join("c").exists());
    }
}

#[test]
fn damaged_tractograms_are_one_error() {
    let folder = with_tractogram();
    folder.done("convert a.trx -o b.trk");
    let bytes = fs::read(folder.join("b.trk")).unwrap();
    fs::write(folder.join("short.trk"), &bytes[..bytes.len() - 5]).unwrap();
    let error = folder.failed("convert short.trk -o d.tck");
    assert!(error.contains("short.trk, streamline 2"), "{error}");
    assert!(!folder.join("d.tck").exists());
}

#[test]
fn a_tck_cut_short_is_said_by_info_and_refused_by_convert() {
    let folder = with_tractogram();
    folder.done("convert a.trx -o b.tck");
    let bytes = fs::read(folder.join("b.tck")).unwrap();
    fs::write(folder.join("cut.tck"), &bytes[..bytes.len() - 24]).unwrap();
    let ran = folder.run("info cut.tck");
    assert!(ran.stderr.contains("cut short"), "{}", ran.stderr);
    let error = folder.failed("convert cut.tck -o c.trk --reference labels.nii");
    assert!(error.contains("cut.tck, streamline 2"), "{error}");
    assert!(!folder.join("c.trk").exists());
}

#[test]
fn a_trk_cut_short_is_said_by_info_and_refused_by_convert() {
    let folder = with_tractogram();
    folder.done("convert a.trx -o b.trk");
    let bytes = fs::read(folder.join("b.trk")).unwrap();
    fs::write(folder.join("cut.trk"), &bytes[..bytes.len() - 24]).unwrap();
    let ran = folder.done("info cut.trk");
    assert!(ran.stderr.contains("the file ends before the streamline does"), "{}", ran.stderr);
    assert_eq!(folder.done("info b.trk").stderr, "");
    let error = folder.failed("convert cut.trk -o c.tck");
    assert!(error.contains("cut.trk, streamline 2"), "{error}");
    assert!(!folder.join("c.tck").exists());
}

#[test]
fn double_precision_of_a_tractogram_is_said() {
    let folder = with_tractogram();
    folder.done("convert a.trx --datatype float64 -o wide.trx");
    let ran = folder.done("convert wide.trx -o b.tck");
    assert!(ran.stderr.contains("float64"), "{}", ran.stderr);
    assert!(folder.done("info b.tck").stdout.contains("Float32"));
    let ran = folder.done("convert a.trx --datatype float64 -o c.tck");
    assert!(ran.stderr.contains("nibabel"), "{}", ran.stderr);
}

#[test]
fn labels_in_metres_end_the_search_with_the_grid() {
    let folder = with_tractogram();
    let mut labels = folder.image("labels.nii");
    for row in &mut labels.grid.ras_from_vox.0 {
        row.iter_mut().for_each(|x| *x *= 1e-3);
    }
    let options = WriteOptions::default();
    write_image(folder.join("metres.nii"), &labels, &options).unwrap();
    let ran = folder.done("connectome a.trx metres.nii -o c");
    assert!(ran.stderr.contains("no streamline ends at labels"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn pipes_among_the_inputs_are_refused_at_once() {
    let folder = with_tractogram();
    let made = std::process::Command::new("mkfifo").arg(folder.join("pipe")).status();
    assert!(made.unwrap().success());
    for line in [
        "info pipe",
        "convert pipe -o a.tck",
        "connectome pipe labels.nii -o c",
        "connectome a.trx pipe -o c",
        "connectome a.trx labels.nii --weights pipe -o c",
        "eigen pipe -o e.json",
    ] {
        let ran = folder.run(line);
        assert!(matches!(ran.code, Some(1 | 2)), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains("pipe"), "{line}: {}", ran.stderr);
    }
}
