//! Models given as text, fitted over a mask.

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask, Status};
use fimbria_models::Fitted;
use fimbria_models::curve::{CurveOptions, Likelihood};
use fimbria_models::dti::Precision;
use fimbria_models::expr::{ExprFitError, ExprOptions, Parameter, VoxelConstants, fit};

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
        acquired: Vec::new(),
        starts: 1,
        formula: formula.into(),
        parameters: vec![Parameter::new("S0", 500.0, 0.0, 1e5), Parameter::new("D", 1.0, 0.0, 5.0)],
        curve: CurveOptions::default(),
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
fn numbers_of_each_volume_come_in_by_name() {
    let mut image = series(0.0);
    let times: Vec<f64> = (0..image.n_volumes).map(|v| [0.5, 1.0, 1.5][v % 3]).collect();
    for (v, te) in times.iter().enumerate() {
        image.volume_mut(v).iter_mut().for_each(|sample| *sample *= (-te / 0.8).exp() as f32);
    }
    let mut options = options("S0*exp(-b*D - TE/T2)");
    options.parameters.push(Parameter::new("T2", 0.5, 0.01, 5.0));
    options.acquired = vec![("TE".to_owned(), times)];
    let fitted = run(&image, VoxelConstants::default(), &options).unwrap();
    // Rounding of f32 samples.
    assert!(fitted.map("T2").unwrap().data.iter().all(|t2| (t2 - 0.8).abs() < 1e-4));
    options.acquired[0].1.pop();
    let said = run(&image, VoxelConstants::default(), &options).unwrap_err().to_string();
    assert!(said.contains("'TE' has 9 numbers for 10 volumes"), "{said}");
}

#[test]
fn of_several_starts_the_best_fit_stays() {
    // From D = 0.75 the way down ends at the bound.
    let mut options = options("S0*(2 + cos(7*D + b))");
    options.parameters[1] = Parameter::new("D", 0.75, 0.0, 0.8);
    let mut image = series(0.0);
    for (v, b) in table().b_s_per_mm2.iter().enumerate() {
        image.volume_mut(v).fill((400.0 * (2.0 + (7.0 * 0.1 + b / 1000.0).cos())) as f32);
    }
    let off = |starts| {
        let options = ExprOptions { starts, ..options.clone() };
        let fitted = run(&image, VoxelConstants::default(), &options).unwrap();
        let count = |status| fitted.status.count(status);
        let counted = count(Status::Fitted) + count(Status::Constrained);
        assert_eq!(counted, GRID.len() as u64, "{starts}");
        (fitted.map("D").unwrap().data[0] - 0.1).abs()
    };
    assert!(off(1) > 0.1 && off(8) < 1e-4, "{} {}", off(1), off(8));
}

#[test]
fn a_signal_below_zero_is_fitted_by_least_squares() {
    let mut image = series(0.0);
    image.data.iter_mut().for_each(|sample| *sample = -*sample);
    let fitted = run(&image, VoxelConstants::default(), &options("-S0*exp(-b*D)")).unwrap();
    let (s0, d) = truth(7);
    let at = |name: &str| f64::from(fitted.map(name).unwrap().data[7]);
    assert_eq!(at("status"), 1.0);
    // Rounding of f32 samples.
    assert!((at("S0") / s0 - 1.0).abs() < 1e-5 && (at("D") - d).abs() < 1e-5);
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
fn a_start_at_which_parameters_look_alike_is_no_reason_to_refuse() {
    // At A = 10 nothing of the second part is left, and neither A nor C has any influence.
    let mut options = options("S0*exp(-b*D) + C*exp(-exp(A)*(0.5 + b^2))");
    for (name, start) in [("C", 100.0), ("A", 10.0)] {
        options.parameters.push(Parameter::new(name, start, f64::NEG_INFINITY, f64::INFINITY));
    }
    run(&series(0.0), VoxelConstants::default(), &options).unwrap();
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
    options.curve.likelihood = Likelihood::OffsetGaussian;
    let fitted = run(&image, constants, &options).unwrap();
    assert!(fitted.map("C").unwrap().data.iter().all(|c| *c == 0.0));
    for voxel in 0..GRID.len() {
        assert!((f64::from(fitted.map("D").unwrap().data[voxel]) - truth(voxel).1).abs() < 3e-5);
    }
}

#[test]
fn devices_give_the_maps_of_the_threads() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
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
        return fimbria_testing::skipped("the bits: this processor does not fuse a * b + c");
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
        (with(&|o| o.parameters[0].name = "d".into()), "the name 'D' is given twice"),
        (with(&|o| o.parameters[1].lower = 2.0), "parameter D: start 1 and bounds 2 to 5"),
        (with(&|o| o.parameters[1].start = f64::NAN), "parameter D: start NaN"),
        (with(&|o| o.curve.b_max_s_per_mm2 = Some(f64::NAN)), "the largest b to use is NaN"),
        (options("S0*D*exp(-b)"), "tell 1 of the 2 parameters"),
        (options("S0*exp(-b*D)/(D-1)"), "is inf at its start for volume 0"),
        (options("S0*log(D-b)"), "for volume 5, b = 1.2 ms/µm²: choose another start"),
    ] {
        let found = error(&options);
        assert!(found.contains(expected), "{found}");
    }
    let sigma = Image { data: vec![-25.0; GRID.len()], ..Image::zeros(GRID, 1) };
    let constants = VoxelConstants { named: &[], sigma: Some(&sigma) };
    let rician = with(&|o| o.curve.likelihood = Likelihood::Rician);
    for (options, expected) in
        [(&rician, "no finite value above zero"), (&with(&|_| {}), "takes no")]
    {
        let found = run(&image, constants, options).map(|_| ()).unwrap_err().to_string();
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn a_voxel_that_cannot_be_fitted_is_zero_and_says_why() {
    let mut image = series(0.0);
    for volume in 0..image.n_volumes {
        let samples = image.volume_mut(volume);
        samples[1] = f32::NAN;
        samples[2] = -samples[2];
        samples[3] = 0.0;
    }
    let mut sigma = Image { data: vec![2.0; GRID.len()], ..Image::zeros(GRID, 1) };
    sigma.data[4] = -1.0;
    sigma.data[5] = f32::NAN;
    let mut options = options("S0*exp(-b*D)");
    options.curve.likelihood = Likelihood::Rician;
    options.curve.errors = true;
    let constants = VoxelConstants { named: &[], sigma: Some(&sigma) };
    let fitted = run(&image, constants, &options).unwrap();
    for voxel in 1..6 {
        for map in &fitted.maps {
            let expected = if map.spec.name == "status" { 4.0 } else { 0.0 };
            assert_eq!(map.image.data[voxel], expected, "{} of {voxel}", map.spec.name);
        }
    }
    assert_eq!(fitted.map("status").unwrap().data[6], 1.0);
}

#[test]
fn errors_precision_and_the_largest_b_are_those_of_every_fit() {
    let mut image = series(0.0);
    // Volumes beyond the largest b hold something else.
    (8..10).for_each(|volume| image.volume_mut(volume).fill(1e4));
    let mut options = options("S0*exp(-b*D)");
    options.curve.b_max_s_per_mm2 = Some(1500.0);
    for precision in [Precision::Single, Precision::Double] {
        options.curve.precision = precision;
        options.curve.errors = true;
        let noisy = {
            let mut noisy = image.clone();
            // Residuals of 1: σ² is their sum of squares over 7 - 2 samples.
            (0..7).for_each(|v| {
                let sign = if v % 2 == 0 { 1.0 } else { -1.0 };
                noisy.volume_mut(v).iter_mut().for_each(|s| *s += sign);
            });
            noisy
        };
        let fitted = run(&noisy, VoxelConstants::default(), &options).unwrap();
        for voxel in 0..GRID.len() {
            let at = |name: &str| f64::from(fitted.map(name).unwrap().data[voxel]);
            let error = at("D_error");
            assert!(error > 0.0 && (at("D") - truth(voxel).1).abs() < 3.0 * error);
        }
    }
}
