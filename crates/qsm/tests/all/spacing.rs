//! Maps and local fields hardly change where voxel sizes change by what single precision makes of an
//! oblique affine.

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, Grid, Mask};
use fimbria_qsm::Geometry;
use fimbria_qsm::background::{Background, remove_background};
use fimbria_qsm::fourier::{FourierMethod, dipole_field, invert};

use crate::support::{narrow, norm, normal_numbers, relative_error, wide};

const DIMS: [usize; 3] = [28, 30, 26];
/// A ball of the largest radius ends on voxels.
const SIZE_MM: f64 = 2.0;

/// Voxels of 2 mm, but for parts in a million of them: one size for all, and one for each axis.
const SIZES: [[f64; 3]; 4] = [
    [SIZE_MM * (1.0 + 1e-6), SIZE_MM * (1.0 + 1e-6), SIZE_MM * (1.0 + 1e-6)],
    [SIZE_MM * (1.0 - 1e-6), SIZE_MM * (1.0 - 1e-6), SIZE_MM * (1.0 - 1e-6)],
    [SIZE_MM * (1.0 + 1e-6), SIZE_MM, SIZE_MM * (1.0 - 1e-6)],
    [SIZE_MM, SIZE_MM * (1.0 - 2e-6), SIZE_MM * (1.0 + 2e-6)],
];

fn grid(spacing: [f64; 3]) -> Grid {
    Grid { dims: DIMS, ras_from_vox: Affine::from_spacing(spacing) }
}

fn geometry(spacing: [f64; 3]) -> Geometry {
    Geometry { dims: DIMS, spacing, b0: [0.0, 0.6, 0.8], reversed: [false; 3] }
}

/// Voxels within a ball of 12 of them.
fn mask(spacing: [f64; 3]) -> Mask {
    let grid = grid(spacing);
    let from_middle = |v: u32| {
        let at = grid.voxel(v as usize);
        (0..3).map(|a| (at[a] as f64 - 0.5 * DIMS[a] as f64).powi(2)).sum::<f64>()
    };
    Mask { grid, voxels: (0..grid.len() as u32).filter(|&v| from_middle(v) < 144.0).collect() }
}

/// A field that is the same number for number whatever the spacing: of some sources, with a slope that
/// is background, and noise.
fn field(workers: &Workers) -> Vec<f32> {
    let geometry = geometry([SIZE_MM; 3]);
    let source = |v: usize| {
        let at = geometry.voxel(v);
        let near = |centre: [f64; 3]| {
            (0..3).map(|a| (at[a] as f64 - centre[a]).powi(2)).sum::<f64>() < 9.0
        };
        0.3 * f64::from(u8::from(near([10.0, 15.0, 13.0])))
            - 0.2 * f64::from(u8::from(near([18.0, 12.0, 14.0])))
    };
    let chi: Vec<f32> = (0..geometry.len()).map(|v| source(v) as f32).collect();
    let of_sources = wide(&dipole_field(&geometry, &chi, workers).unwrap());
    let noise = normal_numbers(3, geometry.len());
    let slope = |v: usize| 0.01 * geometry.voxel(v)[0] as f64;
    let all = (0..geometry.len()).map(|v| of_sources[v] + slope(v) + 0.002 * noise[v]);
    narrow(&all.collect::<Vec<_>>())
}

#[test]
fn a_background_is_removed_alike_from_voxels_that_differ_in_the_sixth_digit() {
    let workers = Workers::new(2).unwrap();
    let total = field(&workers);
    for method in [Background::VSHARP, Background::PDF, Background::LBV] {
        let local = |spacing: [f64; 3]| {
            let (grid, geometry, mask) = (grid(spacing), geometry(spacing), mask(spacing));
            remove_background(&grid, &geometry, &total, &mask, method, &workers, &Silent).unwrap()
        };
        let expected = local([SIZE_MM; 3]);
        assert!(norm(&wide(&expected.field)) > 0.1, "{method:?}");
        for spacing in SIZES {
            let got = local(spacing);
            assert_eq!(got.mask.voxels, expected.mask.voxels, "{method:?} {spacing:?}");
            let off = relative_error(&wide(&got.field), &wide(&expected.field));
            // PDF and LBV end where the residual is 3e-3 and 1e-6, an iteration earlier or later: that changes some per cent
            // of the field, and next to nothing.
            let bound = if method == Background::PDF { 0.05 } else { 1e-2 };
            assert!(off < bound, "{method:?} {spacing:?}: {off}");
        }
    }
}

#[test]
fn maps_in_the_fourier_domain_are_alike_of_voxels_that_differ_in_the_sixth_digit() {
    let workers = Workers::new(2).unwrap();
    let total = field(&workers);
    for method in [FourierMethod::TKD, FourierMethod::TIKHONOV, FourierMethod::RTS] {
        let map = |spacing: [f64; 3]| {
            let on = Backend::cpu(&workers);
            wide(&invert(&geometry(spacing), &total, method, &on, &Silent).unwrap().0)
        };
        let expected = map([SIZE_MM; 3]);
        for spacing in SIZES {
            // Single frequencies may cross a threshold.
            let off = relative_error(&map(spacing), &expected);
            assert!(off < 1e-2, "{method:?} {spacing:?}: {off}");
        }
    }
}
