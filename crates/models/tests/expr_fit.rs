//! Models given as text, fitted over a mask.

#[path = "../../compute/tests/support/mod.rs"]
mod support;

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask};
use fimbria_models::Fitted;
use fimbria_models::expr::{ExprFitError, ExprOptions, Likelihood, Parameter, VoxelConstants, fit};

const GRID: Grid = Grid { dims: [10, 9, 4], ras_from_vox: Affine::IDENTITY };

fn table() -> GradientTable {
    let b = [0.0, 0.0, 300.0, 600.0, 900.0, 1200.0, 1500.0, 2000.0, 2500.0, 3000.0];
    GradientTable {
        b_s_per_mm2: b.to_vec(),
        dirs_ras: b.iter().map(|b| if *b > 0.0 { [0.0, 0.6, 0.8] } else { [0.0; 3] }).collect(),
        b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
    }
}

fn truth(voxel: usize) -> (f64, f64) {
    (300.0 + voxel as f64, 0.3 + voxel as f64 / 200.0)
}

/// S0 exp(-b D) + `background`.
fn series(background: f64) -> Image {
    let table = table();
    let mut image = Image::zeros(GRID, table.len());
    for (v, b) in table.b_s_per_mm2.iter().enumerate() {
        for voxel in 0..GRID.len() {
            let (s0, d) = truth(voxel);
            image.volume_mut(v)[voxel] = (s0 * (-b / 1000.0 * d).exp() + background) as f32;
        }
    }
    image
}

fn options(formula: &str) -> ExprOptions {
    ExprOptions {
        formula: formula.into(),
        parameters: vec![Parameter::new("S0", 500.0, 0.0, 1e5), Parameter::new("D", 1.0, 0.0, 5.0)],
        likelihood: Likelihood::Gaussian,
        sigma: None,
        robust: None,
    }
}

fn run(
    image: &Image,
    constants: VoxelConstants<'_>,
    options: &ExprOptions,
) -> Result<Fitted, ExprFitError> {
    let workers = Workers::new(2).unwrap();
    fit(image, &Mask::full(GRID), &table(), constants, options, &Backend::cpu(&workers), &Silent)
}

#[test]
fn b_is_in_ms_per_um2_and_parameters_come_back() {
    let fitted = run(&series(0.0), VoxelConstants::default(), &options("S0*exp(-b*D)")).unwrap();
    for voxel in 0..GRID.len() {
        let (s0, d) = truth(voxel);
        let at = |name: &str| f64::from(fitted.map(name).unwrap().data[voxel]);
        assert_eq!(at("status"), 1.0);
        // Rounding of f32 samples.
        assert!((at("S0") / s0 - 1.0).abs() < 1e-5 && (at("D") - d).abs() < 1e-5);
        assert!(at("residual") < 1e-3 && at("iterations") >= 2.0);
    }
}

#[test]
fn directions_are_in_scanner_axes() {
    let options = options("S0*exp(-b*D*(gx*gx*5 + gy*gy/0.72 + gz*gz/1.28))");
    let fitted = run(&series(0.0), VoxelConstants::default(), &options).unwrap();
    let (_, d) = truth(7);
    assert!((f64::from(fitted.map("D").unwrap().data[7]) - d).abs() < 1e-5);
}

#[test]
fn maps_are_constants_of_their_voxels() {
    let mut image = series(0.0);
    let mut background = Image::zeros(GRID, 1);
    for voxel in 0..GRID.len() {
        background.data[voxel] = 10.0 + voxel as f32;
        for v in 0..image.n_volumes {
            image.volume_mut(v)[voxel] += background.data[voxel];
        }
    }
    let named = [("floor".to_owned(), background)];
    let constants = VoxelConstants { named: &named, sigma: None };
    let fitted = run(&image, constants, &options("S0*exp(-b*D) + floor")).unwrap();
    for voxel in 0..GRID.len() {
        assert!((f64::from(fitted.map("D").unwrap().data[voxel]) - truth(voxel).1).abs() < 3e-5);
    }
}

#[test]
fn fixed_parameters_stay_and_a_noise_map_is_used() {
    let mut image = series(0.0);
    for value in &mut image.data {
        *value = value.hypot(25.0);
    }
    let sigma = Image { data: vec![25.0; GRID.len()], ..Image::zeros(GRID, 1) };
    let constants = VoxelConstants { named: &[], sigma: Some(&sigma) };
    let mut options = options("S0*exp(-b*D) + C");
    options.parameters.push(Parameter::new("C", 0.0, -1.0, 1.0).fixed_at(0.0));
    options.likelihood = Likelihood::OffsetGaussian;
    let fitted = run(&image, constants, &options).unwrap();
    assert!(fitted.map("C").unwrap().data.iter().all(|c| *c == 0.0));
    for voxel in 0..GRID.len() {
        assert!((f64::from(fitted.map("D").unwrap().data[voxel]) - truth(voxel).1).abs() < 3e-5);
    }
}

#[test]
fn devices_give_the_maps_of_the_threads() {
    let Some(device) = support::opencl_device() else { return };
    let workers = Workers::new(2).unwrap();
    let devices = [device];
    let image = series(3.0);
    let options = options("S0*exp(-b*D)");
    let run = |on: &Backend<'_>| {
        let constants = VoxelConstants::default();
        fit(&image, &Mask::full(GRID), &table(), constants, &options, on, &Silent).unwrap()
    };
    let expected = run(&Backend::cpu(&workers));
    let found = run(&Backend::new(&workers, &devices));
    assert_eq!(found.shares.cpu, 0);
    if !workers.simd().fuses() {
        return support::skipped("the bits: this processor does not fuse a * b + c");
    }
    for (a, b) in expected.maps.iter().zip(&found.maps) {
        assert!(a.image.data == b.image.data, "{}", a.spec.name);
    }
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let image = series(0.0);
    let error = |options: &ExprOptions| {
        run(&image, VoxelConstants::default(), options).map(|_| ()).unwrap_err().to_string()
    };
    let with = |change: &dyn Fn(&mut ExprOptions)| {
        let mut options = options("S0*exp(-b*D)");
        change(&mut options);
        options
    };
    for (options, expected) in [
        (options("S0*exp(-b*d)"), "unknown name 'd'; did you mean 'D'? at column 11"),
        (options("S0*b"), "parameter 'D' has no influence"),
        (with(&|o| o.parameters[0].name = "b".into()), "'b' cannot be a name"),
        (with(&|o| o.parameters[0].name = "Status".into()), "'Status' cannot be a name"),
        (with(&|o| o.parameters[0].name = "d".into()), "'D' cannot be a name"),
        (with(&|o| o.parameters[1].lower = 2.0), "parameter D: start 1 and bounds 2 to 5"),
        (with(&|o| o.parameters[1].start = f64::NAN), "parameter D: start NaN"),
        (with(&|o| o.likelihood = Likelihood::Rician), "need one noise level"),
        (with(&|o| o.sigma = Some(1.0)), "need one noise level"),
    ] {
        let found = error(&options);
        assert!(found.contains(expected), "{found}");
    }
}
