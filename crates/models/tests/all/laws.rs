//! Laws that hold for every series: what must not matter to a fit, and what must turn with it.

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask};
use fimbria_models::Fitted;
use fimbria_models::dti::{DtiMap, DtiOptions, Method, Precision, fit};
use fimbria_testing::{Noise, acquisition, signals, tensor};
use proptest::prelude::*;

const GRID: Grid = Grid { dims: [5, 3, 2], ras_from_vox: Affine::IDENTITY };
/// Of the largest element of a tensor: maps are stored in f32, and so are the samples of the series
/// that is turned or put in another order.
const STORED: f64 = 4.0 * f32::EPSILON as f64;

fn table() -> GradientTable {
    acquisition(3, &[(1000.0, 16), (1400.0, 16)])
}

/// Noisy signals of a tensor of its own in every voxel, as one list for each volume.
fn series(table: &GradientTable, seed: u64) -> Image {
    let mut random = Noise(seed);
    let mut image = Image::zeros(GRID, table.len());
    for voxel in 0..GRID.len() {
        let l = [1.0e-3 + 0.7e-3 * random.uniform(), 0.7e-3, 0.3e-3 + 0.2e-3 * random.uniform()];
        let (d, _) = tensor(l, std::array::from_fn(|_| 7.0 * random.uniform()));
        for (v, s) in signals(table, 500.0, d).into_iter().enumerate() {
            image.volume_mut(v)[voxel] = (s + 10.0 * random.normal()) as f32;
        }
    }
    image
}

fn fitted(image: &Image, table: &GradientTable, mask: &Mask, options: &DtiOptions) -> Fitted {
    let workers = Workers::new(2).unwrap();
    fit(image, mask, table, None, options, &Backend::cpu(&workers), &Silent).unwrap()
}

/// In f64, so that only what is stored is rounded.
fn precise(method: Method) -> DtiOptions {
    DtiOptions { method, precision: Precision::Double, ..DtiOptions::default() }
}

/// The largest difference of the elements of two tensors over the largest element, of all voxels.
fn apart(a: &Fitted, b: impl Fn(usize, usize) -> f64) -> f64 {
    let a = a.map(DtiMap::Tensor).unwrap();
    let (mut difference, mut largest) = (0.0_f64, 0.0_f64);
    for voxel in 0..GRID.len() {
        for k in 0..6 {
            let expected = b(voxel, k);
            difference = difference.max((f64::from(a.volume(k)[voxel]) - expected).abs());
            largest = largest.max(expected.abs());
        }
    }
    difference / largest
}

fn element(of: &Fitted) -> impl Fn(usize, usize) -> f64 {
    let tensor = of.map(DtiMap::Tensor).unwrap();
    move |voxel, k| f64::from(tensor.volume(k)[voxel])
}

/// R, for three Euler angles: the columns are the eigenvectors that [`tensor`] gives for them.
fn rotation(angles: [f64; 3]) -> [[f64; 3]; 3] {
    let (_, v) = tensor([3.0, 2.0, 1.0], angles);
    std::array::from_fn(|i| std::array::from_fn(|j| v[j][i]))
}

fn method() -> impl Strategy<Value = Method> {
    prop_oneof![Just(Method::Ols), Just(Method::Wls), Just(Method::Iwls)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_order_of_volumes_does_not_matter(
        method in method(),
        seed: u64,
        order in Just((0..35).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let table = table();
        let image = series(&table, seed);
        let mut shuffled = Image::zeros(GRID, table.len());
        let mut turned = table.clone();
        for (to, &from) in order.iter().enumerate() {
            shuffled.volume_mut(to).copy_from_slice(image.volume(from));
            turned.b_s_per_mm2[to] = table.b_s_per_mm2[from];
            turned.dirs_ras[to] = table.dirs_ras[from];
        }
        let (mask, options) = (Mask::full(GRID), precise(method));
        let expected = fitted(&image, &table, &mask, &options);
        let found = fitted(&shuffled, &turned, &mask, &options);
        prop_assert!(apart(&found, element(&expected)) <= STORED);
    }

    /// D of turned directions is R D Rᵀ.
    #[test]
    fn the_tensor_turns_with_the_directions(
        method in method(),
        seed: u64,
        angles in prop::array::uniform3(0.0..6.3_f64),
    ) {
        let table = table();
        let image = series(&table, seed);
        let r = rotation(angles);
        let mut turned = table.clone();
        for g in &mut turned.dirs_ras {
            *g = std::array::from_fn(|i| (0..3).map(|j| r[i][j] * g[j]).sum());
        }
        let (mask, options) = (Mask::full(GRID), precise(method));
        let straight = fitted(&image, &table, &mask, &options);
        let d = element(&straight);
        let found = fitted(&image, &turned, &mask, &options);
        let expected = |voxel: usize, k: usize| {
            let (i, j) = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)][k];
            let place = |a: usize, b: usize| [[0, 1, 2], [1, 3, 4], [2, 4, 5]][a][b];
            let terms = (0..9).map(|ab| (ab / 3, ab % 3));
            terms.map(|(a, b)| r[i][a] * d(voxel, place(a, b)) * r[j][b]).sum::<f64>()
        };
        // Each of nine terms is a stored number.
        prop_assert!(apart(&found, expected) <= 3.0 * STORED);
    }

    /// A scanner's gain changes S0 alone.
    #[test]
    fn a_gain_changes_s0_alone(method in method(), seed: u64, gain in 0.05..20.0_f64) {
        let table = table();
        let image = series(&table, seed);
        let mut brighter = image.clone();
        brighter.data.iter_mut().for_each(|s| *s = (f64::from(*s) * gain) as f32);
        let (mask, options) = (Mask::full(GRID), precise(method));
        let dim = fitted(&image, &table, &mask, &options);
        let found = fitted(&brighter, &table, &mask, &options);
        // Half a unit of every sample, in ln S; 35 samples at b D of about 1 average it.
        let rounding = f64::from(f32::EPSILON) / (1000.0 * 1e-3);
        prop_assert!(apart(&found, element(&dim)) <= STORED + 4.0 * rounding);
        let (a, b) = (found.map(DtiMap::S0).unwrap(), dim.map(DtiMap::S0).unwrap());
        for (a, b) in a.data.iter().zip(&b.data) {
            prop_assert!((f64::from(*a) / (gain * f64::from(*b)) - 1.0).abs() <= 4.0 * rounding);
        }
    }

    /// A voxel is fitted by itself: its neighbours in the mask, the lanes beside it and the threads
    /// change no bit.
    #[test]
    fn the_rest_of_the_mask_changes_no_bit(method in method(), seed: u64, some in 1_u64..1 << 30) {
        let table = table();
        let image = series(&table, seed);
        let options = DtiOptions { method, ..DtiOptions::default() };
        let whole = fitted(&image, &table, &Mask::full(GRID), &options);
        let voxels: Vec<u32> = (0..30).filter(|v| some >> v & 1 == 1).collect();
        let part = fitted(&image, &table, &Mask { grid: GRID, voxels: voxels.clone() }, &options);
        let of = |fit: &Fitted, voxel: u32| -> Vec<u32> {
            let tensor = fit.map(DtiMap::Tensor).unwrap();
            (0..6).map(|k| tensor.volume(k)[voxel as usize].to_bits()).collect()
        };
        for voxel in voxels {
            prop_assert_eq!(of(&part, voxel), of(&whole, voxel), "voxel {}", voxel);
        }
    }
}
