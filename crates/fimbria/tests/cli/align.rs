//! `fimbria align`.

use fimbria_image::{Affine, Grid, Image, WriteOptions, write_image};

use crate::util::Folder;

/// A head's motion between the two scans, scanner mm of the T1w image from those of the series: a turn about z, a shift.
fn motion() -> Affine {
    let (sin, cos) = 0.1f64.sin_cos();
    Affine([[cos, -sin, 0.0, 4.0], [sin, cos, 0.0, -5.0], [0.0, 0.0, 1.0, 3.0]])
}

/// An ellipsoid with a hole and a side of its own, by shells: fluid, grey, white.
fn tissue(p: [f64; 3]) -> usize {
    let r = ((p[0] / 48.0).powi(2) + (p[1] / 62.0).powi(2) + (p[2] / 44.0).powi(2)).sqrt();
    let hole = ((p[0] - 9.0) / 10.0).powi(2)
        + ((p[1] + 12.0) / 20.0).powi(2)
        + ((p[2] - 6.0) / 9.0).powi(2);
    match r {
        _ if hole < 1.0 => 1,
        r if r > 1.0 => 0,
        r if r > 0.88 => 1,
        r if r > 0.7 + 0.05 * (p[0] / 7.0).sin() => 2,
        _ => 3,
    }
}

fn centred(dims: [usize; 3], mm: f64) -> Grid {
    let mut ras_from_vox = Affine::from_spacing([mm; 3]);
    (0..3).for_each(|a| ras_from_vox.0[a][3] = -0.5 * mm * (dims[a] as f64 - 1.0));
    Grid { dims, ras_from_vox }
}

/// `t1w.nii` and its `labels.nii`, `b0.nii` of another contrast with `mask.nii`, and `tissues.nii` on its grid, which are
/// labels as they should come out.
pub(crate) fn with_heads() -> Folder {
    let folder = Folder::new();
    let (fine, coarse) = (centred([56, 70, 50], 2.0), centred([42, 50, 36], 3.0));
    let back = motion().inverse().unwrap();
    let put = |name: &str, grid: Grid, value: &dyn Fn([f64; 3]) -> f32| {
        let mut image = Image::zeros(grid, 1);
        for voxel in 0..grid.len() {
            let at = grid.ras_from_vox.apply(grid.voxel(voxel).map(|i| i as f64));
            image.data[voxel] = value(at);
        }
        write_image(folder.join(name), &image, &WriteOptions::default()).unwrap();
    };
    put("t1w.nii", fine, &|p| [0.0, 150.0, 500.0, 800.0][tissue(back.apply(p))]);
    put("labels.nii", fine, &|p| [0.0, 24.0, 1003.0, 2.0][tissue(back.apply(p))]);
    put("b0.nii", coarse, &|p| [10.0, 1600.0, 850.0, 700.0][tissue(p)]);
    put("tissues.nii", coarse, &|p| [0.0, 24.0, 1003.0, 2.0][tissue(p)]);
    put("mask.nii", coarse, &|p| f32::from(tissue(p) > 0));
    folder
}

fn matrix(folder: &Folder, name: &str) -> Affine {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    Affine(std::array::from_fn(|i| std::array::from_fn(|j| numbers[4 * i + j])))
}

/// The largest distance, mm, between where two ways take points of a head.
fn apart(a: &Affine, b: &Affine) -> f64 {
    let off = |corner: usize| {
        let p = [(0, 50.0), (1, 60.0), (2, 45.0)];
        let p = p.map(|(axis, mm)| if corner >> axis & 1 == 1 { mm } else { -mm });
        let (a, b) = (a.apply(p), b.apply(p));
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    };
    (0..8).map(off).fold(0.0, f64::max)
}

/// The share of voxels of `tissues.nii` that are not background and have another label.
fn wrong(folder: &Folder, name: &str) -> f64 {
    let (labels, known) = (folder.image(name), folder.image("tissues.nii"));
    let inside: Vec<usize> = (0..known.data.len()).filter(|v| known.data[*v] > 0.0).collect();
    let wrong = inside.iter().filter(|v| labels.data[**v] != known.data[**v]).count();
    wrong as f64 / inside.len() as f64
}

#[test]
fn labels_of_a_t1w_image_come_onto_the_series() {
    let folder = with_heads();
    folder.done("align t1w.nii b0.nii --labels labels.nii -o out");
    let there = matrix(&folder, "out/moving_to_fixed_mrtrix.txt");
    // Half a voxel of 3 mm, at the corners of a box around the head: it is smooth, and its edges are hard.
    assert!(apart(&there, &motion()) < 1.5, "{there:?}");
    let back = matrix(&folder, "out/fixed_to_moving_mrtrix.txt");
    assert!(apart(&back.after(&there), &Affine::IDENTITY) < 1e-9);
    // Voxels that a boundary passes through.
    assert!(
        wrong(&folder, "out/labels_labels.nii.gz") < 0.1,
        "{}",
        wrong(&folder, "out/labels_labels.nii.gz")
    );
    let record = folder.json("out/run.json");
    let moved = record["moved"]["degrees"].as_f64().unwrap();
    assert!((moved - 0.1f64.to_degrees()).abs() < 0.6, "{moved}");
}

#[test]
fn what_is_written_for_itk_and_mrtrix3_is_one_way() {
    let folder = with_heads();
    folder.done("align t1w.nii b0.nii --labels labels.nii --mask mask.nii -o out");
    for (out, way) in [
        ("itk", "out/moving_to_fixed_itk.txt"),
        ("inverse", "[out/fixed_to_moving_itk.txt,1]"),
        ("mrtrix", "out/moving_to_fixed_mrtrix.txt"),
    ] {
        folder
            .done(&format!("align t1w.nii b0.nii --labels labels.nii --transform {way} -o {out}"));
        let [a, b] = ["out", out].map(|name| folder.image(&format!("{name}/moved.nii.gz")).data);
        let most = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        // Values up to 800 in f32.
        assert!(most < 0.01, "{out}: {most}");
        assert!(!folder.join(&format!("{out}/moving_to_fixed_itk.txt")).exists());
    }
}

#[test]
fn labels_that_keep_their_grid_lie_where_the_others_do() {
    let folder = with_heads();
    folder.done("align t1w.nii b0.nii --labels labels.nii --keep-grid -o out");
    let (kept, before) = (folder.image("out/labels_labels.nii.gz"), folder.image("labels.nii"));
    assert_eq!(kept.data, before.data);
    let there = matrix(&folder, "out/moving_to_fixed_mrtrix.txt");
    let again = there.after(&kept.grid.ras_from_vox);
    // Headers hold single numbers.
    assert!(apart(&again, &before.grid.ras_from_vox) < 1e-3);
}

#[test]
fn images_that_cannot_be_laid_on_each_other_are_one_error() {
    let folder = with_heads();
    let flat = Image::zeros(centred([8, 8, 8], 4.0), 1);
    write_image(folder.join("flat.nii"), &flat, &WriteOptions::default()).unwrap();
    for (line, message) in [
        ("flat.nii b0.nii", "one value everywhere"),
        ("t1w.nii b0.nii --labels labels.nii --labels labels.nii", "named labels_labels"),
        ("t1w.nii b0.nii --labels t1w_missing.nii", "t1w_missing.nii"),
        ("t1w.nii b0.nii --mask t1w.nii", "mask t1w.nii"),
    ] {
        let error = folder.failed(&format!("align {line} -o out"));
        assert!(error.contains(message), "{line}: {error}");
        assert!(!folder.join("out").exists(), "{line}");
    }
}

/// A raw series of a head in `p`, and its T1w image, labels and tissues as the head lay before it moved.
pub(crate) fn with_raw_series() -> Folder {
    let folder = Folder::new();
    folder.done("phantom head --voxel 6 --b0s 2 --shells 2000:30 --snr 40 -o p");
    for name in ["t1w", "labels", "5tt"] {
        let mut image = folder.image(&format!("p/{name}.nii.gz"));
        image.grid.ras_from_vox = motion().after(&image.grid.ras_from_vox);
        write_image(folder.join(&format!("{name}.nii")), &image, &WriteOptions::default()).unwrap();
    }
    folder
}

#[test]
fn a_run_lays_a_t1w_image_on_its_corrected_series_and_counts_between_its_labels() {
    let folder = with_raw_series();
    let run = "run p/dwi.nii.gz --raw --device cpu --set run.preset=connectome --set fod.order=4 \
               --set track.select=300 --set align.moving=t1w.nii --set align.labels=[\"labels.nii\"] \
               --set align.act=5tt.nii --set correct.phase_encoding=j --set correct.eddy=none -o out";
    folder.done(run);
    let [labels, known] =
        ["out/align/labels_labels.nii.gz", "p/labels.nii.gz"].map(|name| folder.image(name));
    let inside: Vec<usize> = (0..known.data.len()).filter(|v| known.data[*v] > 0.0).collect();
    let differ = inside.iter().filter(|v| labels.data[**v] != known.data[**v]).count();
    // Half a voxel of 6 mm off, or one that a thin label shares with others.
    assert!((differ as f64) < 0.35 * inside.len() as f64, "{differ} of {}", inside.len());
    let page = std::fs::read_to_string(folder.join("out/report/report.html")).unwrap();
    assert!(page.contains("The image of [align], moved by"), "no alignment on the page");
    let inputs = folder.json("out/track/run.json")["inputs"].to_string();
    assert!(inputs.contains("labels_5tt.nii.gz"), "{inputs}");
    let fingerprint =
        |stage: &str| folder.json(&format!("out/{stage}/run.json"))["fingerprint"].clone();
    let stages = ["correct", "fod", "align", "track", "connectome"];
    let before = stages.map(fingerprint);
    folder.done(&format!("{run} --resume"));
    assert_eq!(stages.map(fingerprint), before);
    // Other labels: what they are brought along by, and what is counted between them.
    let mut other = folder.image("labels.nii");
    other.data.iter_mut().for_each(|label| *label = f32::from(*label > 0.0));
    write_image(folder.join("labels.nii"), &other, &WriteOptions::default()).unwrap();
    folder.done(&format!("{run} --resume"));
    let after = stages.map(fingerprint);
    assert_eq!(after[..2], before[..2]);
    assert!(after[2] != before[2] && after[4] != before[4]);
}
