//! What is kept of voxels that do not determine all parameters of a model: phantoms of known truth
//! at the bounds.

use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask, Status};
use fimbria_models::curve::{CurveOptions, Robust};
use fimbria_models::dti::Precision;
use fimbria_models::expr::{self, ExprOptions, Parameter, VoxelConstants};
use fimbria_models::stremi::{self, StremiOptions};
use fimbria_models::{Fitted, ivim, mono, stremi1d};
use fimbria_tensors::starts::half_sphere;

const N: usize = 1000;
const S0: f64 = 500.0;
const GRID: Grid = Grid { dims: [N, 1, 1], ras_from_vox: Affine::IDENTITY };

/// Two unweighted volumes, then these b, all along x.
fn along_x(b: &[f64]) -> GradientTable {
    let b_s_per_mm2: Vec<f64> = [0.0, 0.0].iter().chain(b).copied().collect();
    let dir = |b: &f64| if *b > 0.0 { [1.0, 0.0, 0.0] } else { [0.0; 3] };
    let dirs_ras = b_s_per_mm2.iter().map(dir).collect();
    GradientTable { b_s_per_mm2, dirs_ras, b0_threshold: 5.0 }
}

fn of_perfusion() -> GradientTable {
    let small = [10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0];
    along_x(&[&small[..], &[200.0, 300.0, 400.0, 600.0, 800.0, 1000.0]].concat())
}

/// S0 times `signal` of b (ms/µm²) and direction in all voxels, with normal noise.
fn series(table: &GradientTable, snr: f64, signal: impl Fn(f64, [f64; 3]) -> f64) -> (Image, Mask) {
    let philox = Philox::new(3);
    let mut image = Image::zeros(GRID, table.len());
    for (v, (b, g)) in table.b_s_per_mm2.iter().zip(&table.dirs_ras).enumerate() {
        for (voxel, sample) in image.volume_mut(v).iter_mut().enumerate() {
            let noise = f64::from(normals::<f32>(philox.at(voxel as u64, v as u32))[0]);
            *sample = (S0 * (signal(b / 1000.0, *g) + noise / snr)) as f32;
        }
    }
    (image, Mask::full(GRID))
}

fn on_cpu<T>(run: impl FnOnce(&Backend<'_>) -> T) -> T {
    let workers = Workers::new(2).unwrap();
    run(&Backend::cpu(&workers))
}

/// Of the voxels with this status.
fn values(fit: &Fitted, map: &str, status: Status) -> Vec<f64> {
    let of = fit.map("status").unwrap().data.iter();
    let with = of.zip(&fit.map(map).unwrap().data).filter(|(s, _)| **s == status.code());
    with.map(|(_, value)| f64::from(*value)).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn ivim_without_perfusion_keeps_diffusivity_fraction_and_signal() {
    let table = of_perfusion();
    let (image, mask) = series(&table, 100.0, |b, _| (-0.8 * b).exp());
    for precision in [Precision::Single, Precision::Double] {
        for robust in [None, Some(Robust::Huber)] {
            let options =
                CurveOptions { precision, robust, errors: true, ..CurveOptions::default() };
            let fit = on_cpu(|on| ivim::fit(&image, &mask, &table, &options, on, &Silent)).unwrap();
            assert_eq!(fit.status.count(Status::Singular), 0, "{precision:?}");
            let undefined = |map: &str| values(&fit, map, Status::Undefined);
            // Noise makes f negative, which it may not be, in some half of all voxels; in some of
            // these another D* makes it positive.
            assert!(undefined("f").len() > N / 5, "{}", undefined("f").len());
            assert!(undefined("f").iter().all(|f| *f == 0.0));
            assert!(undefined("Dstar").iter().all(|d| d.is_nan()));
            assert!(undefined("D_error").iter().all(|e| (5e-6..5e-5).contains(e)));
            // What is left is an exponential: no bias but of the choice of voxels, whose signals
            // begin low. D of one has a deviation of 1.2e-5 (mm²/s), S0 of 1.5.
            assert!((mean(&undefined("D")) - 0.8e-3).abs() < 2e-5, "{}", mean(&undefined("D")));
            assert!((mean(&undefined("S0")) / S0 - 1.0).abs() < 3e-3, "{}", mean(&undefined("S0")));
        }
    }
}

#[test]
fn a_pseudo_diffusivity_at_its_bound_leaves_the_rest_alone() {
    // D* is beyond the 500 µm²/ms that are allowed: all of it has decayed at b = 10 already.
    let table = of_perfusion();
    let (image, mask) =
        series(&table, 1e6, |b, _| 0.1 * (-5000.0 * b).exp() + 0.9 * (-0.8 * b).exp());
    let options = CurveOptions::default();
    let fit = on_cpu(|on| ivim::fit(&image, &mask, &table, &options, on, &Silent)).unwrap();
    assert_eq!(fit.status.count(Status::Constrained), N as u64);
    let found = |map: &str| mean(&values(&fit, map, Status::Constrained));
    // exp(-10 b D*) is 0.7 % there.
    assert!((found("f") - 0.1).abs() < 1e-3 && (found("D") - 0.8e-3).abs() < 2e-6);
}

#[test]
fn a_signal_that_does_not_decay_has_a_diffusivity_of_zero_and_a_size() {
    let table = along_x(&[500.0, 1000.0, 2000.0, 3000.0]);
    let (image, mask) = series(&table, 1e6, |b, _| (0.1 * b).exp());
    let options = CurveOptions::default();
    let fit = on_cpu(|on| mono::fit(&image, &mask, &table, &options, on, &Silent)).unwrap();
    assert_eq!(fit.status.count(Status::Constrained), N as u64);
    assert!(values(&fit, "D", Status::Constrained).iter().all(|d| *d == 0.0));
    // S0 exp(0.1 b) has a mean of 1.121 S0 over these volumes.
    assert!((mean(&values(&fit, "S0", Status::Constrained)) / S0 - 1.121).abs() < 1e-3);

    let fit = on_cpu(|on| stremi1d::fit(&image, &mask, &table, &options, on, &Silent)).unwrap();
    assert_eq!(fit.status.count(Status::Undefined), N as u64);
    let undefined = |map: &str| values(&fit, map, Status::Undefined);
    assert!(undefined("MA").iter().all(|a| *a == 0.0));
    assert!(undefined("Mgamma").iter().all(|gamma| gamma.is_nan()));
    assert!((mean(&undefined("S0")) / S0 - 1.121).abs() < 1e-3);
}

#[test]
fn a_stretched_tensor_keeps_the_axes_along_which_signal_is_lost() {
    let mut table = along_x(&[]);
    for b in [500.0, 1000.0, 2000.0, 3000.0] {
        table.b_s_per_mm2.extend(vec![b; 30]);
        table.dirs_ras.extend(half_sphere(30));
    }
    // Nothing is lost along z, not even to noise.
    let (image, mask) = series(&table, 1e7, |b, g| {
        (-(b * g[0] * g[0]).powf(0.8) - 0.6 * (b * g[1] * g[1]).powf(0.7) + 0.02 * b * g[2] * g[2])
            .exp()
    });
    let options = StremiOptions::default();
    let fit = on_cpu(|on| stremi::fit(&image, &mask, &table, &options, on, &Silent)).unwrap();
    assert_eq!(fit.status.count(Status::Undefined), N as u64);
    let volume = |map: &str, volume: usize| {
        let values = fit.map(map).unwrap().volume(volume);
        values.iter().map(|x| f64::from(*x)).collect::<Vec<_>>()
    };
    // The signal that rises along z is not the model's; the axes are a tensor's, of a signal that
    // is none.
    assert!((mean(&volume("gamma", 0)) - 0.8).abs() < 0.05);
    assert!((mean(&volume("A", 0)) - 1.0).abs() < 0.05);
    assert!((mean(&volume("gamma", 1)) - 0.7).abs() < 0.05);
    assert!(volume("A", 2).iter().all(|a| *a == 0.0));
    assert!(volume("gamma", 2).iter().all(|gamma| gamma.is_nan()));
    assert!((mean(&volume("S0", 0)) / S0 - 1.0).abs() < 0.02);
}

#[test]
fn an_expression_keeps_what_its_volumes_determine() {
    let table = along_x(&[250.0, 500.0, 1000.0, 2000.0, 3000.0]);
    let (image, mask) = series(&table, 1e6, |b, _| (-0.7 * b).exp());
    let options = ExprOptions {
        acquired: Vec::new(),
        starts: 1,
        formula: "S0*(exp(-b*D) + f*exp(-b*10*R))".into(),
        parameters: vec![
            Parameter::new("S0", 400.0, 0.0, 1e5),
            Parameter::new("D", 1.0, 0.0, 5.0),
            // Held down to nothing.
            Parameter::new("f", -0.05, -1.0, 0.0),
            Parameter::new("R", 1.0, 0.5, 5.0),
        ],
        curve: CurveOptions::default(),
    };
    let none = VoxelConstants::default();
    let fit = on_cpu(|on| expr::fit(&image, &mask, &table, none, &options, on, &Silent)).unwrap();
    let undefined = |map: &str| values(&fit, map, Status::Undefined);
    // Noise of 1e-6 makes f negative in half of all voxels.
    assert!(undefined("D").len() > N / 5 && fit.status.count(Status::Singular) == 0);
    // Of R = 5 only the unweighted volumes see f, and none R.
    assert!(undefined("R").iter().all(|r| r.is_nan()));
    assert!(undefined("f").iter().all(|f| f.abs() < 1e-5));
    assert!((mean(&undefined("D")) - 0.7).abs() < 1e-5);
    assert!((mean(&undefined("S0")) / S0 - 1.0).abs() < 1e-5);
}
