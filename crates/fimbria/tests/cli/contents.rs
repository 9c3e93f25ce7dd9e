//! What an image holds: what it says of itself, and what is refused.

use fimbria_image::{Image, Intent, WriteOptions, write_image};
use fimbria_tensors::layout::Layout;
use fimbria_tensors::sh::{ShBasis, evaluate};

use crate::track::{voxels, with_samples};
use crate::util::{FIT, Folder, grid, subject};

/// A unit vector that differs from voxel to voxel, all over the sphere.
fn direction(voxel: usize) -> [f64; 3] {
    let z = 1.0 - 2.0 * ((voxel as f64 * 0.618_033_988_7) % 1.0);
    let (r, phi) = ((1.0 - z * z).sqrt(), 2.4 * voxel as f64);
    [r * phi.cos(), r * phi.sin(), z]
}

/// An image of what `values` gives in each voxel.
fn image(values: impl Fn(usize) -> Vec<f64>) -> Image {
    let mut image = Image::zeros(grid(), values(0).len());
    for voxel in 0..grid().len() {
        for (volume, value) in values(voxel).into_iter().enumerate() {
            image.volume_mut(volume)[voxel] = value as f32;
        }
    }
    image
}

fn write(folder: &Folder, name: &str, image: &Image, description: &str) {
    let options = WriteOptions { description: description.to_owned(), ..WriteOptions::default() };
    write_image(folder.join(name), image, &options).unwrap();
}

fn with_seed() -> Folder {
    let folder = Folder::new();
    write(&folder, "seed.nii.gz", &voxels(&[[3, 2, 2]]), "");
    folder
}

/// Unique entries of the sum of a ball and a power.
fn entries(order: usize, v: [f64; 3]) -> Vec<f64> {
    let power = |class: Vec<usize>| {
        let even = (0..3).all(|i| class.iter().filter(|j| **j == i).count() % 2 == 0);
        class.iter().map(|&i| v[i]).product::<f64>() + if even { 0.05 } else { 0.0 }
    };
    Layout::new(order, 3).unwrap().index_classes().map(power).collect()
}

/// Harmonics of a delta function and a ball.
fn harmonics(order: usize, v: [f64; 3]) -> Vec<f64> {
    let mut coefficients = evaluate(ShBasis::Mrtrix, order, v);
    coefficients[0] += 0.05;
    coefficients
}

/// xx xy xz yy yz zz of a stick and a ball, mm²/s.
fn tensor([x, y, z]: [f64; 3]) -> [f64; 6] {
    [x * x + 0.2, x * y, x * z, y * y + 0.2, y * z, z * z + 0.2].map(|d| 1e-3 * d)
}

const TRACK: &str = "--seeds seed.nii.gz -n 2 -o out -f";

#[test]
fn an_image_that_says_that_it_holds_no_directions_is_not_tracked() {
    let folder = with_seed();
    subject().write(folder.path());
    folder.done(&format!("{FIT} -o dti"));
    let error = folder.failed(&format!("track dti/tensor.nii.gz {TRACK}"));
    assert!(error.contains("holds a diffusion tensor, says its description"), "{error}");
    let error = folder.failed(&format!("track dti/status.nii.gz {TRACK}"));
    assert!(error.contains("holds plain numbers, says its description"), "{error}");
    folder.done("fit hot dwi.nii --mask mask.nii --bvec-frame scanner --order 4 -o hot");
    let error = folder.failed(&format!("track hot/hot.nii.gz {TRACK}"));
    assert!(error.contains("unique entries of a symmetric tensor") && error.contains("--hot"));
    folder.done(&format!("track hot/hot.nii.gz --hot {TRACK}"));
    folder.done(&format!("track dti/V1.nii.gz {TRACK}"));
}

#[test]
fn densities_of_this_program_say_their_basis_in_every_layout_and_after_convert() {
    let folder = with_seed();
    subject().write(folder.path());
    for layout in ["fimbria", "fsl", "mrtrix", "bids"] {
        let fit = "fit fod dwi.nii --mask mask.nii --bvec-frame scanner --order 4";
        folder.done(&format!("{fit} --layout {layout} -o {layout}"));
        let name = match layout {
            "fsl" => "fsl/fod_fod.nii.gz",
            "mrtrix" => "mrtrix/fod.mif",
            "bids" => "bids/model-csd_param-wm_dwimap.nii.gz",
            _ => "fimbria/fod.nii.gz",
        };
        folder.done(&format!("peaks {name} -o out -f"));
        let record = folder.json("out/run.json");
        assert_eq!(record["parameters"]["load"]["sh_basis"], "mrtrix", "{layout}");
        folder.done(&format!("track {name} {TRACK}"));
        for to in ["fod.nii", "fod.mif", "fod.img"] {
            folder.done(&format!("convert {name} -o {to} -f"));
            folder.done(&format!("peaks {to} -o out -f"));
            assert_eq!(folder.json("out/run.json")["parameters"]["load"]["sh_basis"], "mrtrix");
        }
    }
}

#[test]
fn a_history_of_mrtrix_says_the_basis_also_through_conversions() {
    let folder = with_seed();
    let history =
        "dwi2fod csd dwi.mif response.txt fod.mif  (version=3.0.3)\nmrconvert a.mif b.mif";
    let keyvals = vec![("command_history".to_owned(), history.to_owned())];
    let options = WriteOptions { keyvals, ..WriteOptions::default() };
    let fod = image(|voxel| harmonics(8, direction(voxel)));
    write_image(folder.join("fod.mif"), &fod, &options).unwrap();
    folder.done(&format!("track fod.mif {TRACK}"));
    folder.done("convert fod.mif -o again.mif");
    folder.done(&format!("track again.mif {TRACK}"));
    // A NIfTI image has no history; the description says what that said.
    folder.done("convert fod.mif -o fod.nii.gz");
    folder.done("peaks fod.nii.gz -o peaks");
}

#[test]
fn comments_of_an_earlier_image_do_not_speak_for_what_is_made_of_it() {
    // MRtrix3 copies the comments of its input: a density that says so lies before peaks, a series
    // before a density.
    let folder = with_seed();
    let made = |name: &str, image: &Image, description: &str, command: &str| {
        let history = format!("fimbria fit fod dwi.mif -o x  (version=fimbria 0.1.0)\n{command}");
        let options = WriteOptions {
            description: description.to_owned(),
            keyvals: vec![("command_history".to_owned(), history)],
            ..WriteOptions::default()
        };
        write_image(folder.join(name), image, &options).unwrap();
    };
    let density = "FOD as real spherical harmonics, MRtrix3 basis, scanner RAS axes";
    let sh2peaks = "/usr/bin/sh2peaks -num 5 fod.mif peaks.mif  (version=3.0.3)";
    made("peaks.mif", &peaks(5, f64::NAN, [0.7, 0.3]), density, sh2peaks);
    folder.done(&format!("track peaks.mif {TRACK}"));
    let as_said = std::fs::read(folder.join("out/tracks.trx")).unwrap();
    folder.done(&format!("track peaks.mif --peaks {TRACK}"));
    assert!(std::fs::read(folder.join("out/tracks.trx")).unwrap() == as_said);

    let fod = image(|voxel| harmonics(8, direction(voxel)));
    let series = "diffusion-weighted series of a phantom";
    made("fod.mif", &fod, series, "dwi2fod csd dwi.mif r.txt fod.mif  (version=3.0.3)");
    folder.done(&format!("track fod.mif {TRACK}"));
    folder.done("peaks fod.mif -o found");
    assert_eq!(folder.json("found/run.json")["parameters"]["load"]["sh_basis"], "mrtrix");
    // Where this program made it, its own words count.
    made("own.mif", &fod, density, "fimbria fit fod dwi.mif -o x  (version=fimbria 0.1.0)");
    folder.done("peaks own.mif -o own");
}

#[test]
fn coefficients_of_real_fits_are_not_followed_as_directions() {
    let folder = with_seed();
    // Fits to noise break the bounds of coefficients in a third of the voxels.
    let noisy = |order: usize, make: fn(usize, [f64; 3]) -> Vec<f64>| {
        image(move |voxel| {
            let sign = if voxel % 3 == 0 { -1.0 } else { 1.0 };
            make(order, direction(voxel)).into_iter().map(|x| sign * x).collect()
        })
    };
    write(&folder, "hot.nii", &noisy(8, entries), "");
    let error = folder.failed(&format!("track hot.nii {TRACK}"));
    assert!(error.contains("look like unique entries"), "{error}");
    write(&folder, "sh.nii", &noisy(4, harmonics), "");
    let error = folder.failed(&format!("track sh.nii {TRACK}"));
    assert!(error.contains("look like spherical harmonics"), "{error}");
    let error = folder.failed("peaks sh.nii -o none");
    assert!(error.contains("--sh-basis"), "{error}");
    // Kurtosis in another order of entries is like neither, and no list of peaks.
    let kurtosis = image(|v| (0..15).map(|k| direction(v + 71 * k)[k % 3]).collect());
    write(&folder, "kurtosis.nii", &kurtosis, "");
    folder.failed(&format!("track kurtosis.nii {TRACK}"));
    folder.failed("peaks kurtosis.nii -o none");
    folder.done(&format!("track kurtosis.nii --peaks {TRACK}"));
}

#[test]
fn images_that_say_nothing_are_refused_where_their_values_cannot_be_directions() {
    let folder = with_seed();
    let reordered = |order: [usize; 6]| {
        image(move |voxel| order.map(|entry| tensor(direction(voxel))[entry]).to_vec())
    };
    for (name, image, looks) in [
        ("tensor", reordered([0, 1, 2, 3, 4, 5]), "a diffusion tensor"),
        ("dt", reordered([0, 3, 5, 1, 2, 4]), "a diffusion tensor"),
        ("lower", reordered([0, 1, 3, 2, 4, 5]), "a diffusion tensor"),
        ("form", image(|v| entries(4, direction(v))), "unique entries of a symmetric tensor"),
        ("eighth", image(|v| entries(8, direction(v))), "unique entries of a symmetric tensor"),
        ("sh", image(|v| harmonics(4, direction(v))), "spherical harmonics"),
        ("fod", image(|v| harmonics(8, direction(v))), "spherical harmonics"),
        ("values", image(|v| direction(v).map(|c| 0.3 * c.abs()).to_vec()), "plain numbers"),
    ] {
        write(&folder, &format!("{name}.nii"), &image, "");
        let error = folder.failed(&format!("track {name}.nii {TRACK}"));
        assert!(error.contains(&format!("look like {looks}")), "{name}: {error}");
    }
    folder.done(&format!("track form.nii --peaks {TRACK}"));
    let error = folder.failed("peaks fod.nii -o peaks");
    assert!(error.contains("look like spherical harmonics") && error.contains("--sh-basis"));
}

/// Peaks of two fibres in every second voxel, of one elsewhere, lengths and what is missing as a
/// program writes them.
fn peaks(n: usize, missing: f64, lengths: [f64; 2]) -> Image {
    image(|voxel| {
        let mut values = vec![missing; 3 * n];
        for peak in 0..2 - voxel % 2 {
            let dir = direction(voxel + 1000 * peak);
            values[3 * peak..3 * peak + 3].copy_from_slice(&dir.map(|c| c * lengths[peak]));
        }
        values
    })
}

#[test]
fn peaks_of_sh2peaks_are_taken_for_peaks() {
    let folder = with_seed();
    // MRtrix3 writes NaN where there is none.
    for n in [2, 3, 5, 15] {
        write(&folder, "peaks.nii", &peaks(n, f64::NAN, [0.7, 0.3]), "MRtrix version: 3.0.4");
        folder.done(&format!("track peaks.nii {TRACK}"));
    }
    let error = folder.failed("peaks peaks.nii -o none");
    assert!(error.contains("look like fibre directions"), "{error}");
}

/// Without a mask hardly a voxel of sh2peaks has fewer than were asked for, and in a quarter of them they
/// do not come in order.
#[test]
fn peaks_that_are_all_there_and_mostly_in_order_are_taken_for_peaks() {
    let folder = with_seed();
    let mut all = peaks(5, f64::NAN, [0.7, 0.3]);
    let n = all.grid.len();
    for voxel in 0..n {
        for peak in 0..5 {
            let length =
                if voxel % 4 == 3 { 0.1 * (peak + 1) as f32 } else { 1.0 / (peak + 1) as f32 };
            let turn = (voxel + 2 * peak) as f32;
            for (k, c) in [turn.cos(), 0.8 * turn.sin(), 0.6 * turn.sin()].into_iter().enumerate() {
                all.data[(3 * peak + k) * n + voxel] = length * c;
            }
        }
    }
    write(&folder, "peaks.nii", &all, "MRtrix version: 3.0.4");
    folder.done(&format!("track peaks.nii {TRACK}"));
}

/// Six volumes could be two directions, nine three.
#[test]
fn harmonics_of_order_2_and_whole_matrices_are_not_followed() {
    let folder = with_seed();
    let (mut harmonics, mut matrices) = (peaks(2, 0.0, [1.0, 1.0]), peaks(3, 0.0, [1.0, 1.0]));
    let n = harmonics.grid.len();
    for voxel in 0..n {
        let wave = |k: usize| (0.7 * (voxel * (k + 2)) as f32).sin();
        for k in 0..6 {
            harmonics.data[k * n + voxel] = if k == 0 { 0.5 } else { 0.2 * wave(k) };
        }
        let entries = [1.0, 0.3, 0.2, 0.3, 0.9, 0.1, 0.2, 0.1, 0.8];
        for (k, entry) in entries.into_iter().enumerate() {
            matrices.data[k * n + voxel] = entry * (1.5 + wave(0));
        }
    }
    for (image, looks) in [(harmonics, "spherical harmonics"), (matrices, "a diffusion tensor")] {
        write(&folder, "image.nii", &image, "");
        let error = folder.failed(&format!("track image.nii {TRACK}"));
        assert!(error.contains(looks), "{error}");
    }
}

#[test]
fn a_status_map_is_no_image_of_labels_and_peaks_are_no_deviation_of_gradients() {
    let folder = crate::tractogram::with_tractogram();
    folder.done("phantom crossing --size 6,6,4 --voxel 8 --format nii -o head");
    folder.done("fit dti head/dwi.nii --mask head/mask.nii --device cpu --format nii -o dti");
    let error = folder.failed("connectome a.trx dti/status.nii -o c");
    assert!(error.contains("no labels of regions"), "{error}");
    let line = "fit dti head/dwi.nii --mask head/mask.nii --device cpu";
    let error = folder.failed(&format!("{line} --grad-dev dti/V1.nii -o d"));
    assert!(error.contains("holds fibre directions"), "{error}");
}

#[test]
fn peaks_of_tractseg_are_taken_for_peaks() {
    let folder = with_seed();
    // Those of sh2peaks with zeros for NaN.
    write(&folder, "peaks.nii.gz", &peaks(3, 0.0, [0.9, 0.4]), "");
    folder.done(&format!("track peaks.nii.gz {TRACK}"));
}

#[test]
fn peaks_of_dipy_are_read_as_volumes_and_with_five_dimensions() {
    let folder = with_seed();
    let flat = peaks(5, 0.0, [1.0, 1.0]);
    write(&folder, "flat.nii", &flat, "");
    folder.done(&format!("track flat.nii --frame voxel {TRACK}"));
    let of_flat = std::fs::read(folder.join("out/tracks.trx")).unwrap();
    // The fourth dimension counts peaks, the fifth x y z, so that all x come first.
    let mut by_axis = flat.clone();
    for (peak, k) in (0..5).flat_map(|peak| (0..3).map(move |k| (peak, k))) {
        by_axis.volume_mut(5 * k + peak).copy_from_slice(flat.volume(3 * peak + k));
    }
    write(&folder, "five.nii", &by_axis, "");
    // NIfTI-1: dim[0] at byte 40, then the sizes.
    let mut bytes = std::fs::read(folder.join("five.nii")).unwrap();
    bytes[40..42].copy_from_slice(&5_i16.to_ne_bytes());
    bytes[48..50].copy_from_slice(&5_i16.to_ne_bytes());
    bytes[50..52].copy_from_slice(&3_i16.to_ne_bytes());
    std::fs::write(folder.join("five.nii"), bytes).unwrap();
    folder.done(&format!("track five.nii --frame voxel {TRACK}"));
    assert!(std::fs::read(folder.join("out/tracks.trx")).unwrap() == of_flat);
    let ran = folder.done(&format!("track five.nii {TRACK}"));
    assert!(ran.stderr.contains("--frame voxel"), "{}", ran.stderr);
}

#[test]
fn dyads_of_bedpostx_are_directions_in_axes_of_fsl() {
    let folder = with_samples();
    // The fibres of the samples run along FSL's x.
    let mut dyads = Image::zeros(grid(), 3);
    dyads.volume_mut(0).fill(1.0);
    write(&folder, "dyads1.nii.gz", &dyads, "");
    folder.done(&format!("track dyads1.nii.gz {TRACK}"));
    assert_eq!(folder.image("out/visits.nii.gz").data.iter().sum::<f32>(), 14.0);
    let intent = Intent { code: 2003, ..Intent::default() };
    let options = WriteOptions { intent, ..WriteOptions::default() };
    write_image(folder.join("dti_V1.nii.gz"), &dyads, &options).unwrap();
    folder.done(&format!("track dti_V1.nii.gz {TRACK}"));
    assert_eq!(folder.image("out/visits.nii.gz").data.iter().sum::<f32>(), 14.0);
    // What is said on the command line counts.
    folder.done(&format!("track dti_V1.nii.gz --frame scanner {TRACK}"));
    assert_ne!(folder.image("out/visits.nii.gz").data.iter().sum::<f32>(), 14.0);
}

#[test]
fn directions_of_every_layout_are_followed_to_the_same_place() {
    let folder = with_seed();
    subject().write(folder.path());
    let mut visits = Vec::new();
    for (layout, name) in [
        ("fimbria", "V1.nii.gz"),
        ("fsl", "dti_V1.nii.gz"),
        ("mrtrix", "vector1.mif"),
        ("bids", "model-tensor_param-v1_dwimap.nii.gz"),
    ] {
        folder.done(&format!("{FIT} --layout {layout} -o {layout}"));
        folder.done(&format!("track {layout}/{name} {TRACK}"));
        visits.push(folder.image("out/visits.nii.gz").data);
    }
    assert!(visits.iter().all(|map| *map == visits[0]));
}

#[test]
fn labels_of_several_volumes_are_refused_and_copied_headers_are_not() {
    let folder = with_samples();
    folder.done("track bpx --seeds seed.nii.gz -n 2 -o t");
    write(&folder, "four.nii", &image(|_| vec![1.0, 2.0]), "");
    let error = folder.failed("connectome t/tracks.trx four.nii -o net");
    assert!(error.contains("2 volumes: an image of labels has one"), "{error}");
    // What was made of an image with its header does not hold what that did.
    write(&folder, "labels.nii", &image(|_| vec![1.0]), "spherical harmonics, MRtrix basis");
    folder.done("connectome t/tracks.trx labels.nii -o net");
    write(&folder, "nine.nii", &peaks(3, 0.0, [0.9, 0.4]), "spherical harmonics, MRtrix basis");
    folder.done(&format!("track nine.nii {TRACK}"));
}

#[test]
fn susceptibility_is_guided_by_directions_only() {
    let folder = Folder::new();
    subject().write(folder.path());
    folder.done(&format!("{FIT} -o dti"));
    write(&folder, "field.nii", &image(|v| vec![0.01 * direction(v)[0]]), "");
    let colours = image(|v| direction(v).map(|c| 0.4 * c.abs()).to_vec());
    write(&folder, "colours.nii", &colours, "");
    let error = folder.failed("qsm field.nii --v1 colours.nii -o qsm");
    assert!(error.contains("look like plain numbers"), "{error}");
    let error = folder.failed("qsm field.nii --v1 dti/V1.nii.gz --fa dti/V2.nii.gz -o qsm");
    assert!(error.contains("3 volumes; it must have 1 volume"), "{error}");
    // What it is stands in the file, whatever it is called.
    std::fs::copy(folder.join("dti/V2.nii.gz"), folder.join("V1.nii.gz")).unwrap();
    for command in [
        "qsm field.nii --v1 V1.nii.gz --fa dti/FA.nii.gz -o qsm",
        "track V1.nii.gz --seeds mask.nii -o tracks",
    ] {
        let error = folder.failed(command);
        assert!(error.contains("holds the second or third eigenvector of a tensor"), "{error}");
    }
    // Directions in axes of FSL say so and are turned.
    folder.done(&format!("{FIT} --layout fsl -o fsl"));
    let guided = |v1: &str, fa: &str| {
        folder.done(&format!(
            "qsm field.nii --method dtv --v1 {v1} --fa {fa} --iterations 3 -o qsm -f"
        ));
        folder.image("qsm/chi.nii.gz").data
    };
    let (ours, theirs) = (
        guided("dti/V1.nii.gz", "dti/FA.nii.gz"),
        guided("fsl/dti_V1.nii.gz", "fsl/dti_FA.nii.gz"),
    );
    let largest = ours.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    // The directions are rounded once more when they are turned.
    assert!(ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() < 1e-4 * largest));
}
