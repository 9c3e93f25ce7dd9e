//! Maps hardly change where an affine changes by what single precision makes of it.

use fimbria_image::{Affine, WriteOptions, write_image};
use serde_json::Value;

use crate::qsm::with_sphere;
use crate::util::Folder;

/// The images with these names, on a grid whose axes differ by parts in a million, as `off-…`.
fn on_another_grid(folder: &Folder, names: &[&str]) {
    for name in names {
        let mut image = folder.image(name);
        let Affine(mut rows) = image.grid.ras_from_vox;
        for row in &mut rows {
            (0..3).for_each(|axis| row[axis] *= 1.0 + [1e-6, 0.0, -1e-6][axis]);
        }
        image.grid.ras_from_vox = Affine(rows);
        write_image(folder.join(&format!("off-{name}")), &image, &WriteOptions::default()).unwrap();
    }
}

/// What two maps differ by, as a part of the first: root mean squares.
fn apart(folder: &Folder, [a, b]: [&str; 2]) -> f64 {
    let [a, b] = [a, b].map(|name| folder.image(name).data);
    let square = |x: f32| f64::from(x).powi(2);
    let difference: f64 = a.iter().zip(&b).map(|(a, b)| square(a - b)).sum();
    let size: f64 = a.iter().map(|a| square(*a)).sum();
    assert!(size > 0.0);
    (difference / size).sqrt()
}

/// The choices of an option, by the description of its command.
fn choices(command: &str, option: &str) -> Vec<String> {
    let text = Folder::new().done(&format!("describe {command} --format json")).stdout;
    let described: Value = serde_json::from_str(&text).unwrap();
    let options = described["options"].as_array().unwrap();
    let found = options.iter().find(|described| described["name"] == option).unwrap();
    let names = found["choices"].as_array().unwrap().iter();
    names.map(|choice| choice["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_map_of_susceptibility_is_alike_of_axes_that_differ_in_the_sixth_digit() {
    let folder = with_sphere();
    on_another_grid(&folder, &["field.nii", "mask.nii", "fa.nii", "v1.nii"]);
    let methods = choices("qsm", "method");
    assert!(methods.len() > 9, "{methods:?}");
    for method in methods {
        let map = |off: &str| {
            let given = match method.as_str() {
                "dtv" | "dqsm" | "tensor" => format!("--v1 {off}v1.nii --fa {off}fa.nii"),
                "medi" => format!("--magnitude {off}fa.nii"),
                "ndi" => "--te 20 --b0 3".to_owned(),
                _ => String::new(),
            };
            let files = format!("{off}field.nii --mask {off}mask.nii {given}");
            folder.done(&format!("qsm {files} --method {method} -o {off}{method}"));
        };
        ["", "off-"].into_iter().for_each(map);
        let maps = [format!("{method}/chi.nii.gz"), format!("off-{method}/chi.nii.gz")];
        let off = apart(&folder, [&maps[0], &maps[1]]);
        // An iteration may end one earlier, and a frequency cross a threshold.
        assert!(off < 1e-2, "{method}: {off}");
    }
}

#[test]
fn every_local_field_is_alike_of_axes_that_differ_in_the_sixth_digit() {
    let folder = crate::field::with_echoes();
    on_another_grid(&folder, &["phase.nii", "mag.nii", "mask.nii"]);
    for background in choices("field", "background") {
        let map = |off: &str| {
            let files = format!("{off}phase.nii --magnitude {off}mag.nii --mask {off}mask.nii");
            let options = format!("--te 5,12,20 --b0 3 --background {background}");
            folder.done(&format!("field {files} {options} -o {off}{background}"));
        };
        ["", "off-"].into_iter().for_each(map);
        for name in ["total_field", "local_field", "mask", "quality", "weights", "r2star"] {
            let maps = [background.clone(), format!("off-{background}")];
            let maps = maps.map(|folder| format!("{folder}/{name}.nii.gz"));
            let off = apart(&folder, [&maps[0], &maps[1]]);
            // PDF may end an iteration earlier, where it fits less of what is smooth.
            assert!(off < 1e-2, "{background} {name}: {off}");
        }
    }
}
