//! Tissue of bundles from kurtosis: DIPY finds the same, and crossings are marked.

use std::path::Path;

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{
    Affine, GradientTable, Grid, Image, Mask, WriteOptions, read_image, write_image,
};
use fimbria_models::dki::{Compat, DkiOptions};
use fimbria_models::{Fitted, wmti};
use fimbria_testing::{Noise, acquisition, tensor};

const N: usize = 60;

fn table() -> GradientTable {
    acquisition(6, &[(1000.0, 40), (2000.0, 60)])
}

/// Bundles of sticks in hindered water, noise of a fiftieth; every third voxel has two that cross at 90°.
fn series(table: &GradientTable) -> (Image, Mask) {
    let grid = Grid { dims: [N, 1, 1], ras_from_vox: Affine::IDENTITY };
    let mut image = Image::zeros(grid, table.len());
    let mut noise = Noise(11);
    for voxel in 0..N {
        let (turn, f) = (voxel as f64, 0.5 + 0.003 * voxel as f64);
        let frame = tensor([1.0, 0.0, 0.0], [turn, 1.7 * turn, 0.4 * turn]).1;
        let axes = if voxel % 3 == 0 { &frame[..2] } else { &frame[..1] };
        for (volume, (&b, &g)) in table.b_s_per_mm2.iter().zip(&table.dirs_ras).enumerate() {
            let mut signal = 0.0;
            for e in axes {
                let along = |d: [f64; 2]| {
                    let cos = e[0] * g[0] + e[1] * g[1] + e[2] * g[2];
                    (-1e-3 * b * (d[1] + (d[0] - d[1]) * cos * cos)).exp()
                };
                signal += f * along([1.0, 0.0]) + (1.0 - f) * along([2.2, 0.4]);
            }
            let signal = 900.0 * signal / axes.len() as f64;
            image.data[volume * N + voxel] = noise.rician(signal, 18.0) as f32;
        }
    }
    (image, Mask { grid, voxels: (0..N as u32).collect() })
}

fn fitted((image, mask): &(Image, Mask), table: &GradientTable, options: &DkiOptions) -> Fitted {
    let workers = Workers::new(2).unwrap();
    wmti::fit(image, mask, table, options, &Backend::cpu(&workers), &Silent).unwrap()
}

#[test]
fn maps_come_in_their_order_and_crossings_are_marked() {
    let table = table();
    let fit = fitted(&series(&table), &table, &DkiOptions::default());
    let names = |specs: Vec<fimbria_image::MapSpec>| -> Vec<String> {
        specs.into_iter().map(|spec| spec.name.into_owned()).collect()
    };
    let made = fit.maps.iter().map(|map| map.spec.clone()).collect();
    assert_eq!(names(made), names(wmti::maps()));
    let aligned = &fit.map("aligned").unwrap().data;
    for (voxel, &aligned) in aligned.iter().enumerate() {
        assert_eq!(aligned, f32::from(u8::from(voxel % 3 != 0)), "{voxel}");
    }
}

#[test]
fn dipy_finds_the_same() {
    let table = table();
    let (image, mask) = series(&table);
    let out = tempfile::tempdir().unwrap();
    let files = ["dwi.nii", "bval", "bvec"].map(|name| out.path().join(name));
    write_image(&files[0], &image, &WriteOptions::default()).unwrap();
    let numbers = |of: Vec<String>| of.join(" ");
    let bval = table.b_s_per_mm2.iter().map(f64::to_string).collect();
    std::fs::write(&files[1], numbers(bval)).unwrap();
    let row = |i: usize| numbers(table.dirs_ras.iter().map(|g| g[i].to_string()).collect());
    std::fs::write(&files[2], [row(0), row(1), row(2)].join("\n")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/dipy_dkimicro.py");
    let Some(mut python) = fimbria_testing::python("dipy") else { return };
    let ran = python.arg(&script).args(&files).arg(out.path()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let options = DkiOptions { compat: Some(Compat::Dipy), ..DkiOptions::default() };
    let fit = fitted(&(image, mask), &table, &options);
    // Of the size of the map. DIPY has another set of 100 directions and climbs to Kmax until the slope is
    // below 1e-2; where Kmax is hardly above the noise K is clipped at 0 in other directions.
    for (name, scale, limit) in [
        ("AWF", 1.0, 2e-3),
        ("axonalD", 1e-3, 2e-2),
        ("ADE", 1e-3, 2e-2),
        ("RDE", 1e-3, 1e-2),
        ("tortuosity", 1.0, 0.1),
    ] {
        let ours = fit.map(name).unwrap();
        let theirs = read_image(out.path().join(format!("{name}.nii"))).unwrap();
        for (voxel, (ours, theirs)) in ours.data.iter().zip(&theirs.data).enumerate() {
            let difference = f64::from((ours - theirs).abs()) / scale;
            assert!(difference < limit, "{name} of voxel {voxel}: {ours}, DIPY {theirs}");
        }
    }
}
