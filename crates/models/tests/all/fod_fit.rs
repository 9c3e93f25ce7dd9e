//! Fibre orientation densities from a series with known truth: responses, directions, refusals.

use std::sync::Mutex;

use fimbria_compute::{Backend, Progress, Silent, SimdLevel, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask, Status};
use fimbria_models::ProtocolError;
use fimbria_models::fod::{FodError, FodFit, FodOptions, Response, Tissues, fit};
use fimbria_tensors::sh::{ShBasis, evaluate};
use fimbria_testing::{Noise, acquisition};

const GRID: Grid = Grid { dims: [20, 10, 2], ras_from_vox: Affine::IDENTITY };
/// Standard deviation of the noise; the unweighted signal is 600 or more.
const SIGMA: f64 = 20.0;

/// What a voxel holds, by its place.
enum Kind {
    One([f64; 3]),
    Two([f64; 3], [f64; 3]),
    Grey,
    Fluid,
}

fn axis(i: usize) -> [f64; 3] {
    let mut noise = Noise(i as u64 + 100);
    let z = noise.uniform();
    let (sin, cos) = (std::f64::consts::TAU * noise.uniform()).sin_cos();
    let r = (1.0 - z * z).sqrt();
    [r * cos, r * sin, z]
}

fn kind(voxel: usize) -> Kind {
    let [i, _, k] = GRID.voxel(voxel);
    match (i, k) {
        (0..8, _) => Kind::One(axis(voxel)),
        (8..12, _) => {
            let a = axis(voxel);
            // An axis across it.
            let b = if a[2] > 0.9 { [1.0, 0.0, 0.0] } else { [0.0, 0.0, 1.0] };
            let cross =
                [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
            let norm = cross.iter().map(|c| c * c).sum::<f64>().sqrt();
            Kind::Two(a, cross.map(|c| c / norm))
        }
        (12..17, _) => Kind::Grey,
        _ => Kind::Fluid,
    }
}

fn signal(kind: &Kind, b: f64, g: [f64; 3]) -> f64 {
    let fibre = |a: &[f64; 3]| {
        let cos: f64 = (0..3).map(|k| a[k] * g[k]).sum();
        600.0 * (-b * (0.3e-3 + 1.4e-3 * cos * cos)).exp()
    };
    match kind {
        Kind::One(a) => fibre(a),
        Kind::Two(a, b) => 0.5 * (fibre(a) + fibre(b)),
        Kind::Grey => 800.0 * (-b * 0.8e-3).exp(),
        Kind::Fluid => 1200.0 * (-b * 3e-3).exp(),
    }
}

fn series(table: &GradientTable) -> Image {
    let mut image = Image::zeros(GRID, table.len());
    let mut noise = Noise(3);
    for voxel in 0..GRID.len() {
        let kind = kind(voxel);
        for (v, (&b, &g)) in table.b_s_per_mm2.iter().zip(&table.dirs_ras).enumerate() {
            let s = noise.rician(signal(&kind, b, g), SIGMA);
            image.volume_mut(v)[voxel] = s as f32;
        }
    }
    image
}

fn multi_shell() -> GradientTable {
    acquisition(6, &[(1000.0, 32), (2000.0, 32), (3000.0, 32)])
}

fn run(table: &GradientTable, options: &FodOptions, on: &Backend<'_>) -> Result<FodFit, FodError> {
    fit(&series(table), &Mask::full(GRID), table, options, on, &Silent)
}

fn on_cpu(table: &GradientTable, options: &FodOptions) -> Result<FodFit, FodError> {
    let workers = Workers::new(2).unwrap();
    run(table, options, &Backend::cpu(&workers))
}

fn coefficients(found: &FodFit, voxel: usize) -> Vec<f64> {
    let fod = found.fitted.map("fod").unwrap();
    (0..fod.n_volumes).map(|k| f64::from(fod.volume(k)[voxel])).collect()
}

fn amplitude(x: &[f64], dir: [f64; 3]) -> f64 {
    evaluate(ShBasis::Mrtrix, 8, dir).iter().zip(x).map(|(y, f)| y * f).sum()
}

#[test]
fn the_responses_are_those_of_the_tissues() {
    let found = on_cpu(&multi_shell(), &FodOptions::default()).unwrap();
    let mean = |response: &Response, shell: usize| {
        response.zonal[shell][0] / (4.0 * std::f64::consts::PI).sqrt()
    };
    let [grey, fluid] = found.responses.isotropic.as_ref().unwrap();
    for (shell, b) in [0.0, 1000.0, 2000.0, 3000.0].into_iter().enumerate() {
        // The mean of a fibre's signal over directions, by the midpoint rule.
        let white = (0..1000)
            .map(|i| signal(&Kind::One([0.0, 0.0, 1.0]), b, [0.0, 0.0, (f64::from(i) + 0.5) / 1e3]))
            .sum::<f64>()
            / 1e3;
        for (name, found, expected) in [
            ("white", mean(&found.responses.white, shell), white),
            ("grey", mean(grey, shell), signal(&Kind::Grey, b, [0.0; 3])),
            ("fluid", mean(fluid, shell), signal(&Kind::Fluid, b, [0.0; 3])),
        ] {
            // What noise adds to a magnitude: σ²/2s of a large signal s, at most 1.25σ (along a
            // fibre the signal is lost in it); and 2 % that choosing voxels by noise may cost.
            let floor =
                if expected > 10.0 * SIGMA { SIGMA * SIGMA / expected } else { 1.3 * SIGMA };
            let tolerance = 0.02 * expected + floor;
            assert!((found - expected).abs() < tolerance, "{name} {shell}: {found} {expected}");
        }
    }
}

#[test]
fn densities_peak_along_the_fibres_and_amounts_are_right() {
    let found = on_cpu(&multi_shell(), &FodOptions::default()).unwrap();
    let tissues = found.fitted.map("tissues").unwrap();
    // Sums over the voxels of a kind, which fibres share: amounts and voxels.
    let mut sums = [[0.0f32; 4]; 3];
    for voxel in 0..GRID.len() {
        let x = coefficients(&found, voxel);
        let (axes, expected) = match kind(voxel) {
            Kind::One(a) => (vec![a], [1.0, 0.0, 0.0]),
            Kind::Two(a, b) => (vec![a, b], [1.0, 0.0, 0.0]),
            Kind::Grey => (vec![], [0.0, 1.0, 0.0]),
            Kind::Fluid => (vec![], [0.0, 0.0, 1.0]),
        };
        let kind = expected.iter().position(|&amount| amount == 1.0).unwrap();
        (0..3).for_each(|t| sums[kind][t] += tissues.volume(t)[voxel]);
        sums[kind][3] += 1.0;
        for axis in &axes {
            let across = if axis[2].abs() < 0.7 { [0.0, 0.0, 1.0] } else { [1.0, 0.0, 0.0] };
            let along = amplitude(&x, *axis);
            // The sharpest lobe of order 8 that is nowhere negative has a height of 1.2 per amount.
            let amount = 1.0 / axes.len() as f64;
            assert!(along > 0.6 * amount, "voxel {voxel}: {along}");
            if axes.len() == 1 {
                assert!(along > 3.0 * amplitude(&x, across), "voxel {voxel}");
            }
        }
    }
    for (kind, sums) in sums.iter().enumerate() {
        for t in 0..3 {
            let (mean, expected) = (sums[t] / sums[3], f32::from(u8::from(t == kind)));
            // The constraint turns noise into fibres of no direction, and the regularisation
            // favours them.
            assert!((mean - expected).abs() < 0.25, "tissue {t} in voxels of {kind}: {mean}");
        }
    }
    let status = &found.fitted.status;
    assert_eq!(status.count(Status::Fitted) + status.count(Status::Constrained), GRID.len() as u64);
}

#[test]
fn neither_threads_nor_lanes_change_a_bit() {
    let table = multi_shell();
    let values = |threads: usize, simd: SimdLevel| -> Vec<Vec<f32>> {
        let workers = Workers::new(threads).unwrap().with_simd(simd);
        // Responses given: the tensor fit that looks for fibres rounds as its level does.
        let options = given(&table);
        let found = run(&table, &options, &Backend::cpu(&workers)).unwrap();
        found.fitted.maps.into_iter().map(|map| map.image.data).collect()
    };
    let expected = values(1, SimdLevel::best());
    for level in SimdLevel::available() {
        let values = values(3, level);
        if level != SimdLevel::Scalar {
            assert!(values == expected, "{level:?}");
            continue;
        }
        // It does not fuse, so that the walk begins elsewhere; it ends where no constraint is violated by 1e-9.
        for (a, b) in values.iter().zip(&expected) {
            let largest = b.iter().fold(0.0f32, |most, x| most.max(x.abs()));
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-5 * largest));
        }
    }
}

/// Options with responses given, roughly right.
fn given(table: &GradientTable) -> FodOptions {
    let b: Vec<f64> = table.shells().iter().map(|s| s.b_s_per_mm2).collect();
    let rows = ["2100 0 0 0 0", "1150 -390 70 -8 1", "720 -400 150 -36 6", "530 -360 190 -65 16"];
    let white = Response::from_text(&rows.join("\n")).unwrap();
    let isotropic = |s0: f64, d: f64| Response {
        b_s_per_mm2: Some(b.clone()),
        zonal: b.iter().map(|b| vec![3.545 * s0 * (-b * d).exp()]).collect(),
    };
    FodOptions {
        white: Some(white),
        grey: Some(isotropic(800.0, 0.8e-3)),
        fluid: Some(isotropic(1200.0, 3e-3)),
        ..FodOptions::default()
    }
}

#[test]
fn devices_and_threads_agree() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let table = multi_shell();
    let workers = Workers::new(2).unwrap();
    let devices = [device];
    for order in [8, 12] {
        let usual = FodOptions { order, ..FodOptions::default() };
        let estimated = on_cpu(&table, &usual).unwrap();
        let [grey, fluid] = estimated.responses.isotropic.clone().unwrap();
        let white = Some(estimated.responses.white.clone());
        let options = FodOptions { white, grey: Some(grey), fluid: Some(fluid), ..usual };
        let on_device = run(&table, &options, &Backend::new(&workers, &devices)).unwrap();
        assert_eq!(on_device.fitted.shares.cpu, 0);
        for (a, b) in estimated.fitted.maps.iter().zip(&on_device.fitted.maps) {
            if matches!(a.spec.name.as_ref(), "status" | "residual") {
                continue;
            }
            for (x, y) in a.image.data.iter().zip(&b.image.data) {
                // The kernel's stopping rule, as in its check; densities are of height 3 to 6.
                assert!((x - y).abs() < 1e-2, "{order} {}: {x} {y}", a.spec.name);
            }
        }
    }
}

#[test]
fn one_shell_tells_three_tissues_apart_and_their_responses_come_from_it() {
    let table = acquisition(4, &[(3000.0, 60)]);
    let found = on_cpu(&table, &FodOptions::default()).unwrap();
    let [grey, fluid] = found.responses.isotropic.as_ref().unwrap();
    assert!([&found.responses.white, grey, fluid].iter().all(|response| response.zonal.len() == 2));
    let tissues = found.fitted.map("tissues").unwrap();
    let mut sums = [[0.0f32; 4]; 3];
    for voxel in 0..GRID.len() {
        let kind = match kind(voxel) {
            Kind::One(_) | Kind::Two(..) => 0,
            Kind::Grey => 1,
            Kind::Fluid => 2,
        };
        (0..3).for_each(|t| sums[kind][t] += tissues.volume(t)[voxel]);
        sums[kind][3] += 1.0;
    }
    for (kind, sums) in sums.iter().enumerate() {
        for t in 0..3 {
            let (mean, expected) = (sums[t] / sums[3], f32::from(u8::from(t == kind)));
            // As of several shells, with crossing fibres taken for grey matter in part.
            assert!((mean - expected).abs() < 0.25, "tissue {t} in voxels of {kind}: {mean}");
        }
    }
}

#[test]
fn without_unweighted_volumes_one_shell_makes_fibres_alone() {
    let table = acquisition(0, &[(3000.0, 60)]);
    let white = Response::from_text("530 -360 190 -65 16").unwrap();
    let options = FodOptions { white: Some(white.clone()), ..FodOptions::default() };
    let found = on_cpu(&table, &options).unwrap();
    assert!(found.responses.isotropic.is_none());
    assert_eq!(found.fitted.map("tissues").unwrap().n_volumes, 1);
    let unused = FodOptions { grey: given(&multi_shell()).grey, ..options.clone() };
    let error = on_cpu(&table, &unused).unwrap_err();
    assert!(matches!(error, FodError::UnusedResponse("grey matter")), "{error}");
    let three = FodOptions { tissues: Tissues::Three, ..FodOptions::default() };
    assert!(matches!(on_cpu(&table, &three).unwrap_err(), FodError::Unweighted));
}

#[test]
fn a_response_of_the_weighted_shell_alone_makes_fibres_alone() {
    let table = acquisition(4, &[(3000.0, 60)]);
    let with = |text: &str, tissues| {
        let white = Some(Response::from_text(text).unwrap());
        on_cpu(&table, &FodOptions { white, tissues, ..FodOptions::default() })
    };
    for text in ["530 -360 190 -65 16", "# Shells: 3000\n530 -360 190 -65 16"] {
        let found = with(text, Tissues::Auto).unwrap();
        assert_eq!(found.fitted.map("tissues").unwrap().n_volumes, 1);
        let error = with(text, Tissues::Three).unwrap_err();
        assert!(matches!(error, FodError::Response { .. }), "{error}");
    }
}

/// Keeps what it is warned of.
#[derive(Default)]
struct Warned(Mutex<String>);

impl Progress for Warned {
    fn start(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn warn(&self, message: &str) {
        self.0.lock().unwrap().push_str(message);
    }
    fn is_cancelled(&self) -> bool {
        false
    }
}

#[test]
fn one_shell_of_low_b_is_warned_of() {
    let workers = Workers::new(2).unwrap();
    let warning = |b: f64, tissues| {
        let (table, warned) = (acquisition(4, &[(b, 60)]), Warned::default());
        let options = FodOptions { tissues, ..FodOptions::default() };
        let (series, on) = (series(&table), Backend::cpu(&workers));
        fit(&series, &Mask::full(GRID), &table, &options, &on, &warned).unwrap();
        warned.0.into_inner().unwrap()
    };
    assert!(warning(1000.0, Tissues::Auto).contains("one shell at b = 1000 s/mm²"));
    assert_eq!(warning(1000.0, Tissues::White), "");
    assert_eq!(warning(3000.0, Tissues::Auto), "");
}

#[test]
fn one_shell_of_a_mask_without_fluid_is_fitted_with_fibres_alone() {
    let workers = Workers::new(2).unwrap();
    let (table, warned) = (acquisition(4, &[(3000.0, 60)]), Warned::default());
    let is_fibre = |v: &u32| !matches!(kind(*v as usize), Kind::Grey | Kind::Fluid);
    let mask = Mask { grid: GRID, voxels: (0..GRID.len() as u32).filter(is_fibre).collect() };
    let run = |tissues, progress: &dyn Progress| {
        let options = FodOptions { tissues, ..FodOptions::default() };
        fit(&series(&table), &mask, &table, &options, &Backend::cpu(&workers), progress)
    };
    let done = run(Tissues::Auto, &warned).unwrap();
    assert!(done.responses.isotropic.is_none());
    let alone = run(Tissues::White, &Silent).unwrap();
    for (map, other) in done.fitted.maps.iter().zip(&alone.fitted.maps) {
        assert_eq!(map.image.data, other.image.data, "{}", map.spec.name);
    }
    assert!(warned.0.into_inner().unwrap().starts_with("fibres alone are fitted: only "));
    // Asked for, they are missed.
    let error = run(Tissues::Three, &Silent).unwrap_err();
    assert!(matches!(error, FodError::TooFewVoxels { .. }), "{error}");
}

#[test]
fn a_mask_without_fibres_is_refused() {
    let table = multi_shell();
    let workers = Workers::new(1).unwrap();
    let grey = |v: &u32| matches!(kind(*v as usize), Kind::Grey);
    let mask = Mask { grid: GRID, voxels: (0..GRID.len() as u32).filter(grey).collect() };
    let options = FodOptions::default();
    let on = Backend::cpu(&workers);
    let error = fit(&series(&table), &mask, &table, &options, &on, &Silent).unwrap_err();
    let fibres = matches!(error, FodError::TooFewVoxels { tissue: "single fibres", .. });
    assert!(fibres && error.to_string().contains("10 are needed"), "{error}");
}

#[test]
fn a_table_of_another_length_is_refused() {
    let workers = Workers::new(1).unwrap();
    let image = series(&acquisition(1, &[(1000.0, 20)]));
    let error = fit(
        &image,
        &Mask::full(GRID),
        &multi_shell(),
        &FodOptions::default(),
        &Backend::cpu(&workers),
        &Silent,
    )
    .unwrap_err();
    assert!(
        matches!(error, FodError::Protocol(ProtocolError::VolumeCount { series: 21, table: 102 })),
        "{error}"
    );
}
