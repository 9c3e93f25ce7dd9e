//! Fields and warps of files against closed forms, and which way a scanner's field shifts.

use std::fs;
use std::path::{Path, PathBuf};

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, Grid, Image, Intent, Mask, WriteOptions, read_image, write_image};
use fimbria_registration::Distortion;
use serde_json::json;

use super::super::{CorrectSeries, CorrectSettings};
use crate::options::{Values, from_values};
use crate::stages::load::SubjectFiles;
use crate::{Logbook, MapFormat, Session, StageError, Unfinished};

const READOUT_S: f64 = 0.05;

/// Oblique, and of other voxels than the maps.
fn series_grid() -> Grid {
    Grid {
        dims: [16, 18, 10],
        ras_from_vox: Affine([
            [-1.8, 0.0, 0.2, 15.0],
            [0.0, 2.4, -0.3, -20.0],
            [0.15, 0.25, 3.0, -12.0],
        ]),
    }
}

/// A map around it.
fn map_grid() -> Grid {
    let mut ras_from_vox = Affine::from_spacing([3.0; 3]);
    (0..3).for_each(|a| ras_from_vox.0[a][3] = -33.0);
    Grid { dims: [23, 24, 22], ras_from_vox }
}

/// A folder with a series that has a sidecar, and maps to put beside it.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new(sidecar: &str) -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        fs::write(scene.at("dwi.json"), sidecar).unwrap();
        let series = Image::zeros(series_grid(), 1);
        write_image(scene.at("dwi.nii"), &series, &WriteOptions::default()).unwrap();
        scene
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes an image whose volumes are functions of the place, scanner mm.
    fn put(&self, name: &str, grid: Grid, intent: i32, volumes: &[&dyn Fn([f64; 3]) -> f64]) {
        let mut image = Image::zeros(grid, volumes.len());
        for (volume, value) in volumes.iter().enumerate() {
            for (voxel, sample) in image.volume_mut(volume).iter_mut().enumerate() {
                let at = grid.voxel(voxel).map(|i| i as f64);
                *sample = value(grid.ras_from_vox.apply(at)) as f32;
            }
        }
        let intent = Intent { code: intent, ..Intent::default() };
        let options = WriteOptions { intent, ..WriteOptions::default() };
        write_image(self.at(name), &image, &options).unwrap();
    }

    /// The shifts, mm along voxel axes, of every voxel of the series.
    fn shifts(&self, settings: serde_json::Value) -> Result<Vec<[f32; 3]>, String> {
        let grid = series_grid();
        let mask = Mask { grid, voxels: (0..grid.len() as u32).collect() };
        let known = distortion(&self.at("dwi.nii"), settings, &mask);
        known.map(|known| known.unwrap().shifts().to_vec()).map_err(|error| error.to_string())
    }
}

/// What a stage of these settings does.
fn with_log<T>(
    dwi: &Path,
    settings: serde_json::Value,
    done: impl FnOnce(&CorrectSeries, &Logbook<'_>) -> T,
) -> T {
    let settings: Values = settings.as_object().unwrap().clone();
    let settings: CorrectSettings = from_values(&settings).unwrap();
    let files = SubjectFiles::new(dwi.to_owned());
    let stage = CorrectSeries { files, others: Vec::new(), settings, format: MapFormat::default() };
    let workers = Workers::new(2).unwrap();
    let session = Session {
        on: Backend::cpu(&workers),
        progress: &Silent,
        unfinished: &Unfinished::new(),
        command_line: &[],
    };
    done(&stage, &Logbook::new(session))
}

fn distortion(
    dwi: &Path,
    settings: serde_json::Value,
    mask: &Mask,
) -> Result<Option<Distortion>, StageError> {
    with_log(dwi, settings, |stage, log| {
        let known = stage.distortion(&[mask.grid], mask, &stage.encodings()?, log)?;
        Ok(known.map(|mut known| known.distortions.remove(0)))
    })
}

fn sidecar(direction: &str) -> String {
    json!({ "PhaseEncodingDirection": direction, "TotalReadoutTime": READOUT_S }).to_string()
}

#[test]
fn a_constant_field_shifts_by_field_times_readout_voxels() {
    // 30 Hz, in each unit.
    let units =
        [("Hz", 30.0), ("rad/s", 30.0 * std::f64::consts::TAU), ("T", 30.0 / 42.577_478_52e6)];
    for (direction, axis, sign) in [("j", 1, 1.0), ("j-", 1, -1.0), ("i", 0, 1.0), ("k-", 2, -1.0)]
    {
        let scene = Scene::new(&sidecar(direction));
        for (unit, value) in units {
            scene.put("map.nii", map_grid(), 0, &[&|_| value]);
            fs::write(scene.at("map.json"), json!({ "Units": unit }).to_string()).unwrap();
            let shifts = scene.shifts(json!({ "field": [scene.at("map.nii")] })).unwrap();
            let known = sign * 30.0 * READOUT_S * series_grid().ras_from_vox.spacing()[axis];
            for shift in &shifts {
                for a in 0..3 {
                    let known = if a == axis { known } else { 0.0 };
                    // Single numbers of some mm, through a spline.
                    assert!(
                        (f64::from(shift[a]) - known).abs() < 1e-4,
                        "{direction} {unit} {shift:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_field_lies_where_its_header_says_and_goes_on_where_it_is_not_known() {
    let scene = Scene::new(&sidecar("j"));
    // Known within a ball, 0 outside, as maps are that others have masked.
    let linear = |p: [f64; 3]| 20.0 + 0.5 * p[0] - 0.8 * p[1] + 0.3 * p[2];
    let is_known = |p: [f64; 3]| p.iter().map(|x| x * x).sum::<f64>() < 22.0 * 22.0;
    scene.put("map.nii", map_grid(), 0, &[&|p| if is_known(p) { linear(p) } else { 0.0 }]);
    let shifts = scene
        .shifts(json!({ "field": [scene.at("map.nii")], "field_unit": "hz", "field_fwhm": 0.0 }));
    let shifts = shifts.unwrap();
    let grid = series_grid();
    let mm_per_hertz = READOUT_S * grid.ras_from_vox.spacing()[1];
    let (mut well_inside, mut beyond) = (0, Vec::new());
    for (voxel, shift) in shifts.iter().enumerate() {
        let p = grid.ras_from_vox.apply(grid.voxel(voxel).map(|i| i as f64));
        let off = (f64::from(shift[1]) / mm_per_hertz - linear(p)).abs();
        let r = p.iter().map(|x| x * x).sum::<f64>().sqrt();
        if r < 12.0 {
            // Splines feel the edge of what is known, four voxels on, by a few thousandths of its bend.
            assert!(off < 0.05, "{p:?} {off}");
            well_inside += 1;
        } else if r > 22.0 && r < 26.0 {
            beyond.push((off, linear(p).abs()));
        }
    }
    assert!(well_inside > 100 && beyond.len() > 100, "{well_inside} {}", beyond.len());
    // A harmonic function follows a field of 1 Hz a mm for some mm: masked to 0 all of it would be off.
    let sum = |of: fn(&(f64, f64)) -> f64| beyond.iter().map(of).sum::<f64>();
    let [off, all] = [sum(|both| both.0), sum(|both| both.1)];
    assert!(off < 0.25 * all, "{off} {all}");
}

#[test]
fn a_field_is_moved_by_the_way_that_is_given() {
    let scene = Scene::new(&sidecar("j"));
    let linear = |p: [f64; 3]| 200.0 + 2.0 * p[1];
    scene.put("map.nii", map_grid(), 0, &[&linear]);
    // Points of the series lie 5 mm farther in the map.
    fs::write(scene.at("way.txt"), "1 0 0 0\n0 1 0 5\n0 0 1 0\n").unwrap();
    let plain = json!({ "field": [scene.at("map.nii")], "field_unit": "hz" });
    let mut moved = plain.clone();
    moved["field_transform"] = json!([scene.at("way.txt")]);
    let [plain, moved] = [plain, moved].map(|settings| scene.shifts(settings).unwrap());
    let middle = series_grid().index([8, 9, 5]);
    let by = f64::from(moved[middle][1] - plain[middle][1]);
    let known = 10.0 * READOUT_S * series_grid().ras_from_vox.spacing()[1];
    assert!((by - known).abs() < 1e-3, "{by} {known}");
}

#[test]
fn a_warp_of_places_and_one_of_displacements_shift_alike() {
    let scene = Scene::new(&sidecar("j"));
    let bent = |p: [f64; 3]| 3.0 * (p[1] / 15.0).sin() + 0.1 * p[0];
    // MRtrix3: where each place is taken from.
    let places: [&dyn Fn([f64; 3]) -> f64; 3] = [&|p| p[0], &|p| p[1] + bent(p), &|p| p[2]];
    scene.put("mrtrix.nii", map_grid(), 0, &places);
    // ITK: vectors of intent 1007 in LPS mm.
    let vectors: [&dyn Fn([f64; 3]) -> f64; 3] = [&|_| 0.0, &|p| -bent(p), &|_| 0.0];
    scene.put("itk.nii", map_grid(), 1007, &vectors);
    let all = ["mrtrix.nii", "itk.nii"]
        .map(|name| scene.shifts(json!({ "warp": [scene.at(name)] })).unwrap());
    let grid = series_grid();
    let axes = grid.ras_from_vox.rotation();
    for (voxel, (a, b)) in all[0].iter().zip(&all[1]).enumerate() {
        let p = grid.ras_from_vox.apply(grid.voxel(voxel).map(|i| i as f64));
        for axis in 0..3 {
            // Linear between voxels of 3 mm of a bend of 3 / 15^2 per mm: 3^2 / 8 times that.
            let known = axes[1][axis] * bent(p);
            assert!((f64::from(a[axis]) - known).abs() < 0.02, "{voxel} {a:?} {known}");
            assert!((a[axis] - b[axis]).abs() < 1e-4, "{voxel} {a:?} {b:?}");
        }
    }
}

#[test]
fn the_readout_follows_from_echo_spacing_and_lines() {
    let said = json!({ "PhaseEncodingDirection": "j", "EffectiveEchoSpacing": 0.001 });
    let scene = Scene::new(&said.to_string());
    scene.put("map.nii", map_grid(), 0, &[&|_| 100.0]);
    let field = json!({ "field": [scene.at("map.nii")], "field_unit": "hz" });
    let known = 100.0 * 0.001 * 17.0 * series_grid().ras_from_vox.spacing()[1];
    assert!((f64::from(scene.shifts(field.clone()).unwrap()[0][1]) - known).abs() < 1e-3);
    let mut given = field;
    given["readout_time"] = json!(0.034);
    let shifts = scene.shifts(given).unwrap();
    assert!((f64::from(shifts[0][1]) - 2.0 * known).abs() < 1e-3);
}

#[test]
fn what_is_not_known_is_asked_for_by_name() {
    let scene = Scene::new(r#"{"PhaseEncodingDirection": "j"}"#);
    scene.put("map.nii", map_grid(), 0, &[&|_| 10.0]);
    scene.put("far.nii", Grid { ras_from_vox: far(), ..map_grid() }, 0, &[&|_| 10.0]);
    scene.put("nothing.nii", map_grid(), 0, &[&|_| 0.0]);
    let field = |name: &str| json!({ "field": [scene.at(name)] });
    let in_hertz = |name: &str| json!({ "field": [scene.at(name)], "field_unit": "hz" });
    for (settings, part) in [
        (field("map.nii"), "--field-unit"),
        (in_hertz("map.nii"), "--readout-time"),
        (in_hertz("far.nii"), "--field-transform"),
        (in_hertz("nothing.nii"), "known nowhere"),
        (json!({ "field": [scene.at("map.nii"), scene.at("map.nii")] }), "--field-magnitude"),
        (json!({ "field": [scene.at("map.nii")], "field_unit": "ppm" }), "MagneticFieldStrength"),
    ] {
        let error = scene.shifts(settings).unwrap_err();
        assert!(error.contains(part), "{part}: {error}");
    }
    fs::write(scene.at("dwi.json"), r#"{"PhaseEncodingDirection": "j", "TotalReadoutTime": 47}"#)
        .unwrap();
    let error = scene.shifts(in_hertz("map.nii")).unwrap_err();
    assert!(error.contains("TotalReadoutTime of 47"), "{error}");
}

fn far() -> Affine {
    let mut far = map_grid().ras_from_vox;
    far.0[2][3] += 500.0;
    far
}

/// The first volumes of a series of the scanners' reference data, with its table and sidecar.
fn first_volumes(folder: &Path, data: &Path, name: &str, volumes: usize) -> PathBuf {
    let all = read_image(data.join(format!("{name}.nii.gz"))).unwrap();
    let part = all.data[..volumes * all.grid.len()].to_vec();
    let part = Image { grid: all.grid, n_volumes: volumes, data: part };
    let path = folder.join(format!("{name}.nii.gz"));
    write_image(&path, &part, &WriteOptions::default()).unwrap();
    fs::copy(data.join(format!("{name}.json")), folder.join(format!("{name}.json"))).unwrap();
    for extension in ["bval", "bvec"] {
        let file = format!("{name}.{extension}");
        let text = fs::read_to_string(data.join(&file)).unwrap();
        let line = |line: &str| line.split_whitespace().take(volumes).collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(line).collect();
        fs::write(folder.join(&file), lines.join("\n") + "\n").unwrap();
    }
    path
}

/// The residual between opposed encodings of one head falls by its field map, and rises with the wrong sign.
#[test]
fn a_scanners_field_lays_opposed_encodings_on_each_other_and_its_negative_does_not() {
    let Some(data) = fimbria_testing::refdata("scanners/siemens_prisma_xa30") else { return };
    let folder = tempfile::tempdir().unwrap();
    let series = ["dwi_AP", "dwi_PA"].map(|name| first_volumes(folder.path(), &data, name, 8));
    let gre = |name: &str| data.join(format!("gre_{name}.nii.gz"));
    let field = json!({
        "field": [gre("phasediff")], "field_magnitude": [gre("e1"), gre("e2")], "eddy": "none",
    });
    let mut turned = [field.clone(), field.clone()];
    turned[0]["phase_encoding"] = json!("j");
    turned[1]["phase_encoding"] = json!("j-");
    let plain = json!({ "eddy": "none" });
    let mut inside = None;
    // Root mean square of the difference of the unweighted volumes over their mean.
    let mut apart = |settings: [serde_json::Value; 2]| {
        let pairs: Vec<_> = series.iter().zip(settings).collect();
        let made = pairs.into_iter().map(|(path, settings)| {
            with_log(path, settings, |stage, log| {
                let (subject, made) = stage.correct(log).unwrap();
                (subject.mask, made.series.volume(0).to_vec())
            })
        });
        let made: Vec<_> = made.collect();
        let mask = inside.get_or_insert_with(|| made[0].0.clone());
        let sums = mask.voxels.iter().fold([0.0, 0.0], |[squares, sum], &v| {
            let [a, b] = [0, 1].map(|i| f64::from(made[i].1[v as usize]));
            [squares + (a - b).powi(2), sum + 0.5 * (a + b)]
        });
        (sums[0] * mask.len() as f64).sqrt() / sums[1]
    };
    let right = apart([field.clone(), field]);
    let [plain, wrong] = [[plain.clone(), plain], turned].map(&mut apart);
    assert!(right < 0.65 * plain && wrong > 1.25 * plain, "{plain:.3} {right:.3} {wrong:.3}");
}
