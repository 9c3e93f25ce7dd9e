//! Spherical means: tissue comes back however its fibres lie, and one shell is refused.

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask};
use fimbria_models::Fitted;
use fimbria_models::curve::CurveOptions;
use fimbria_models::dti::Precision;
use fimbria_models::smt::{self, Compartments, SmtOptions};
use fimbria_testing::{acquisition, quadratic, tensor};

const S0: f64 = 900.0;

fn table() -> GradientTable {
    acquisition(4, &[(700.0, 100), (1500.0, 150), (2500.0, 200)])
}

/// Voxels of two bundles each, at any angle, of the same microscopic signal: that of tensors with these axial
/// and radial diffusivities (µm²/ms) and shares.
fn crossings(
    table: &GradientTable,
    pools: impl Fn(usize) -> Vec<(f64, [f64; 2])>,
) -> (Image, Mask) {
    let grid = Grid { dims: [40, 1, 1], ras_from_vox: Affine::IDENTITY };
    let mut image = Image::zeros(grid, table.len());
    for voxel in 0..40 {
        let turn = voxel as f64;
        for (share, [along, across]) in pools(voxel) {
            for (weight, angles) in [(0.6, [turn, 1.7 * turn, 0.0]), (0.4, [0.3 * turn, turn, 1.0])]
            {
                let (d, _) = tensor([along, across, across], angles);
                for (volume, (&b, &g)) in table.b_s_per_mm2.iter().zip(&table.dirs_ras).enumerate()
                {
                    let signal = S0 * share * weight * (-1e-3 * b * quadratic(d, g)).exp();
                    image.data[volume * 40 + voxel] += signal as f32;
                }
            }
        }
    }
    (image, Mask { grid, voxels: (0..40).collect() })
}

fn fitted(
    (image, mask): &(Image, Mask),
    compartments: Compartments,
    curve: CurveOptions,
) -> Fitted {
    let workers = Workers::new(2).unwrap();
    let options = SmtOptions { curve, compartments };
    smt::fit(image, mask, &table(), &options, &Backend::cpu(&workers), &Silent).unwrap()
}

fn value(fit: &Fitted, name: &str, voxel: usize) -> f64 {
    f64::from(fit.map(name).unwrap().data[voxel])
}

#[test]
fn a_microscopic_tensor_comes_back_from_any_crossing() {
    let truth = |voxel: usize| [1.2 + 0.04 * voxel as f64, 0.2 + 0.01 * voxel as f64];
    let series = crossings(&table(), |voxel| vec![(1.0, truth(voxel))]);
    for precision in [Precision::Single, Precision::Double] {
        let curve = CurveOptions { precision, ..CurveOptions::default() };
        let fit = fitted(&series, Compartments::One, curve);
        for voxel in 0..40 {
            let [along, across] = truth(voxel);
            // The mean over 100 to 200 directions is that of all to some 1e-4 of the signal.
            assert!((value(&fit, "long", voxel) / along - 1e-3).abs() < 2e-5, "{voxel}");
            assert!((value(&fit, "trans", voxel) - 1e-3 * across).abs() < 1e-5, "{voxel}");
            let anisotropy = (along - across) / (along * along + 2.0 * across * across).sqrt();
            assert!((value(&fit, "uFA", voxel) - anisotropy).abs() < 1e-2, "{voxel}");
        }
    }
}

#[test]
fn sticks_and_what_they_hinder_come_back_from_any_crossing() {
    let truth = |voxel: usize| (0.3 + 0.01 * voxel as f64, 1.4 + 0.02 * voxel as f64);
    let series = crossings(&table(), |voxel| {
        let (v, d) = truth(voxel);
        vec![(v, [d, 0.0]), (1.0 - v, [d, (1.0 - v) * d])]
    });
    let fit = fitted(&series, Compartments::Two, CurveOptions::default());
    for voxel in 0..40 {
        let (v, d) = truth(voxel);
        assert!((value(&fit, "intra", voxel) - v).abs() < 2e-2, "{voxel}: {v}");
        // Four means hardly tell a slower λ from fewer sticks: rounding and the directions move both by 3 %.
        let diff = value(&fit, "diff", voxel);
        assert!((diff - 1e-3 * d).abs() < 6e-5, "{voxel}: {d} {diff}");
        assert!((value(&fit, "extratrans", voxel) - 1e-3 * (1.0 - v) * d).abs() < 4e-5, "{voxel}");
        assert!((value(&fit, "S0", voxel) / S0 - 1.0).abs() < 2e-3, "{voxel}");
    }
}

#[test]
fn one_shell_is_refused_and_so_is_a_b_beyond_the_rule() {
    let error = smt::check(&acquisition(4, &[(1000.0, 60)]), None).unwrap_err().to_string();
    assert!(error.contains("one shell") && error.contains("2 such b-values"), "{error}");
    let far = acquisition(4, &[(1000.0, 30), (20_000.0, 30)]);
    assert!(smt::check(&far, None).unwrap_err().to_string().contains("20000"));
    smt::check(&far, Some(5000.0)).unwrap_err();
    smt::check(&table(), None).unwrap();
}
