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
fn matrices_have_the_form_and_the_names_that_are_asked_for() {
    let folder = with_tractogram();
    fs::write(folder.join("lut.tsv"), "index\tname\n1\tleft\n7\tnowhere\n").unwrap();
    let options = "--exact-label --upper --hollow --npy --per-volume --lut lut.tsv";
    let ran = folder.done(&format!("connectome a.trx labels.nii {options} -o out"));
    assert!(ran.stderr.contains("names 1 of 2 labels: 2 is the first without"), "{}", ran.stderr);
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    // Each label has one voxel.
    assert_eq!(read("out/weights.csv"), "0,2\n0,0\n");
    assert_eq!(read("out/counts.csv"), "0,2\n0,0\n");
    assert_eq!(read("out/labels.tsv"), "index\tname\n1\tleft\n2\t2\n");
    let npy = fs::read(folder.join("out/weights.npy")).unwrap();
    let numbers: Vec<f64> =
        npy[128..].chunks(8).map(|x| f64::from_le_bytes(x.try_into().unwrap())).collect();
    assert_eq!(numbers, [0.0, 2.0, 0.0, 0.0]);
    let page = {
        folder.done("report out -o page.html");
        read("page.html")
    };
    assert!(page.contains(">left</text>"), "names stand beside the matrix");
}

#[test]
fn maps_along_streamlines_are_one_volume_under_one_name() {
    let folder = with_tractogram();
    let labels = folder.image("labels.nii");
    let mut two = Image::zeros(labels.grid, 2);
    two.data.fill(1.0);
    write_image(folder.join("two.nii"), &two, &WriteOptions::default()).unwrap();
    for (maps, words) in [
        ("--map a=two.nii", "the map a: it has 2 volumes"),
        ("--map a=labels.nii --map A=labels.nii", "two maps have one name"),
        ("--map a=none.nii", "none.nii"),
        ("--lut labels.nii", "labels.nii"),
    ] {
        let error = folder.failed(&format!("connectome a.trx labels.nii {maps} -o c"));
        assert!(error.contains(words), "{maps}: {error}");
        assert!(!folder.join("c").exists());
    }
    let ran = folder.run("connectome a.trx labels.nii --map labels.nii -o c");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("NAME=FILE"), "{}", ran.stderr);
}

/// Numbers of a table, `#` beginning a comment.
fn numbers(path: &std::path::Path) -> Vec<f64> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let words = lines.flat_map(|line| line.split([',', ' ', '\t']));
    words.filter(|word| !word.is_empty()).map(|word| word.parse().unwrap()).collect()
}

/// Streamlines that bend at random between voxels of a grid with eight labels and a map.
fn with_many() -> Folder {
    let folder = Folder::new();
    let draws = fimbria_compute::philox::Philox::new(7);
    let drawn = |item: u64, step: u64| {
        let [a, b, c, _] = draws.at(item, step as u32);
        [a, b, c].map(fimbria_compute::philox::uniform)
    };
    let mut lines = Streamlines::default();
    for item in 0..400 {
        let points = (0..5 + item % 7).map(|step| {
            let [x, y, z] = drawn(item, step).map(f64::from);
            // Well inside: what tcksample counts as 0 outside does not count here.
            let vox = [0.2 + 5.6 * x, 0.2 + 4.6 * y, 0.2 + 3.6 * z];
            grid().ras_from_vox.apply(vox).map(|x| x as f32)
        });
        lines.push(&points.collect::<Vec<_>>());
    }
    let tractogram = Tractogram::new(Header::on(grid()), lines);
    tractogram.write(folder.join("a.tck"), &LineOptions::default()).unwrap();
    let mut labels = Image::zeros(grid(), 1);
    let mut map = Image::zeros(grid(), 1);
    for voxel in 0..grid().len() {
        let [x, y, z] = grid().voxel(voxel);
        labels.data[voxel] = (1 + x / 4 + 2 * (y / 2) + 4 * usize::from(z > 3)) as f32;
        map.data[voxel] = drawn(1000 + voxel as u64, 0)[0];
    }
    let options = WriteOptions::default();
    write_image(folder.join("labels.nii"), &labels, &options).unwrap();
    write_image(folder.join("map.nii"), &map, &options).unwrap();
    let weights: String = (0..400).map(|k| format!("{}\n", drawn(k, 50)[0])).collect();
    fs::write(folder.join("w.txt"), weights).unwrap();
    folder
}

#[test]
fn edges_are_those_of_tck2connectome() {
    if std::process::Command::new("tck2connectome").arg("-version").output().is_err() {
        fimbria_testing::missing("tck2connectome");
        return;
    }
    let folder = with_many();
    let theirs = |program: &str, words: &str| {
        let mut command = std::process::Command::new(program);
        command.current_dir(folder.join("")).args(words.split_whitespace()).arg("-quiet");
        assert!(command.status().unwrap().success(), "{program} {words}");
    };
    theirs("tcksample", "a.tck map.nii mean.txt -stat_tck mean");
    for (number, (ours, file, options)) in [
        ("", "weights", "-symmetric"),
        ("--weights w.txt", "weights", "-symmetric -tck_weights_in w.txt"),
        ("--weights w.txt", "counts", "-symmetric"),
        (
            "--weights w.txt",
            "lengths",
            "-symmetric -tck_weights_in w.txt -scale_length -stat_edge mean",
        ),
        ("--per-length", "weights", "-symmetric -scale_invlength"),
        ("--per-volume", "weights", "-symmetric -scale_invnodevol"),
        (
            "--per-length --per-volume --weights w.txt --hollow",
            "weights",
            "-symmetric -scale_invlength -scale_invnodevol -tck_weights_in w.txt -zero_diagonal",
        ),
        ("--upper", "weights", ""),
        ("--map m=map.nii", "mean_m", "-symmetric -scale_file mean.txt -stat_edge mean"),
        (
            "--map m=map.nii --weights w.txt --upper",
            "mean_m",
            "-scale_file mean.txt -stat_edge mean -tck_weights_in w.txt",
        ),
        (
            "--map m=map.nii --weights w.txt --of-edge sum",
            "sum_m",
            "-symmetric -scale_file mean.txt -stat_edge sum -tck_weights_in w.txt",
        ),
        (
            "--map m=map.nii --weights w.txt --of-edge min",
            "min_m",
            "-symmetric -scale_file mean.txt -stat_edge min -tck_weights_in w.txt",
        ),
        (
            "--weights w.txt --of-edge max",
            "lengths",
            "-symmetric -scale_length -stat_edge max -tck_weights_in w.txt",
        ),
        ("--exact-label", "weights", "-symmetric -assignment_end_voxels"),
        ("--reverse-search 3", "weights", "-symmetric -assignment_reverse_search 3"),
    ]
    .into_iter()
    .enumerate()
    {
        folder.done(&format!("connectome a.tck labels.nii {ours} -o ours{number}"));
        theirs("tck2connectome", &format!("a.tck labels.nii theirs{number}.csv {options}"));
        let found = numbers(&folder.join(&format!("ours{number}/{file}.csv")));
        let mut expected = numbers(&folder.join(&format!("theirs{number}.csv")));
        // Without streamlines theirs have no least or largest value, ours 0 as for the others.
        expected.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 0.0);
        assert_eq!(found.len(), expected.len(), "{ours}");
        assert!(expected.iter().any(|x| *x > 0.0), "{ours}");
        for (a, b) in found.iter().zip(&expected) {
            // Theirs are sums and lengths in single precision, from text of ten digits.
            assert!((a - b).abs() <= 3e-6 * b.abs(), "{ours} {file}: {a} and {b}");
        }
    }
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
    let read = folder.done("info cut.trk --lengths");
    assert!(read.stdout.contains("read         2 streamlines"), "{}", read.stdout);
    assert!(read.stdout.contains("6.0000 to 6.0000 mm"), "{}", read.stdout);
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
