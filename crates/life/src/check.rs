//! Every kernel of this crate against its oracle on a given device.

use fimbria_compute::check::{Check, Comparison, Extent};
use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::operator::LinearOperator as _;
use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{HostError, Workers};

use crate::Dictionary;
use crate::product::{Blocks, DealtProduct, kernel_source, restriction_source};

/// Numbers of a column that fits one group, and of one that is longer than it.
const RANKS: [usize; 2] = [43, 90];

/// The checks of this crate's kernels.
pub fn checks() -> Vec<Check> {
    let source = |rank: usize| kernel_source(rank.next_multiple_of(Dictionary::ALIGN));
    let sources = || RANKS.map(source).to_vec();
    let with_columns = || [sources(), vec![restriction_source()]].concat();
    vec![
        Check::new("connectome products", sources(), products),
        Check::new("connectome products as on threads", with_columns(), as_on_threads),
    ]
}

fn numbers(seed: u64, n: usize) -> Vec<f32> {
    let philox = Philox::new(seed);
    (0..n.div_ceil(4) as u64).flat_map(|item| normals::<f32>(philox.at(item, 0))).take(n).collect()
}

/// A dictionary, blocks that use it, weights and a signal.
fn sample(extent: Extent, rank: usize) -> (Dictionary, Blocks, Vec<f32>, Vec<f32>) {
    let (voxels, streamlines, atoms, entries) = match extent {
        Extent::Toy => (3, 7, 5, 20),
        Extent::Full => (500, 900, 300, 90),
    };
    let dictionary = Dictionary::from_columns(rank, &numbers(1, rank * atoms));
    let blocks = Blocks::random(voxels, streamlines, atoms, entries);
    let x = numbers(2, streamlines).iter().map(|x| x.max(0.0)).collect();
    let b = blocks.padded(&dictionary, &numbers(3, rank * voxels));
    (dictionary, blocks, x, b)
}

/// The gradient against sums in f64 over entries in random order of streamlines and atoms.
fn products(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let (mut errors, mut results) = (Vec::new(), 0);
    for rank in RANKS {
        let (dictionary, blocks, x, b) = sample(extent, rank);
        let (g, squares) = blocks.gradient_on(device, &dictionary, None, &x, &b)?;
        let (expected, magnitude, expected_squares) = blocks.gradient_f64(&dictionary, &x, &b);
        results += g.len();
        for f in 0..g.len() {
            errors.push((f64::from(g[f]) - expected[f]) / magnitude[f].max(1e-30));
        }
        errors.push((squares - expected_squares) / expected_squares);
    }
    let comparison = Comparison::of_numbers(
        &vec![0.0; errors.len()],
        &errors,
        1.0,
        // Relative to the sums of magnitudes: chains of at most 90 terms for residuals, 6 for
        // products, then sums of a block's; rounding errors are of either sign.
        30.0 * f64::from(f32::EPSILON),
    );
    Ok(Comparison { results, ..comparison })
}

/// The bits of the threads, of all columns and of some, where these fuse as a device does; else their
/// numbers.
fn as_on_threads(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let on_host = |call, detail: String| DeviceError::Runtime {
        device: device.info().name.clone(),
        call,
        detail,
    };
    let workers = Workers::new(1).map_err(|error| on_host("Workers::new", error.to_string()))?;
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for rank in RANKS {
        let (dictionary, blocks, x, b) = sample(extent, rank);
        let mut threads = DealtProduct::on_threads(&blocks, &dictionary, &workers);
        let some: Vec<bool> = (0..x.len()).map(|f| f % 3 != 1).collect();
        for kept in [None, Some(&some[..])] {
            threads.restrict(kept);
            let is_kept = |f: &usize| kept.is_none_or(|kept| kept[*f]);
            let x: Vec<f32> = (0..x.len()).filter(is_kept).map(|f| x[f]).collect();
            let mut g = vec![0.0; x.len()];
            let of_memory = |error: HostError| on_host("DealtProduct", error.to_string());
            let squares = threads.gradient(&x, &b, &mut g).map_err(of_memory)?;
            let (found, found_squares) = blocks.gradient_on(device, &dictionary, kept, &x, &b)?;
            here.extend(g.into_iter().chain([squares as f32]));
            there.extend(found.into_iter().chain([found_squares as f32]));
        }
    }
    if workers.simd().fuses() {
        let bits = |numbers: &[f32]| -> Vec<u32> { numbers.iter().map(|x| x.to_bits()).collect() };
        return Ok(Comparison::of_bits(&bits(&here), &bits(&there)));
    }
    let wide = |numbers: &[f32]| -> Vec<f64> { numbers.iter().map(|x| f64::from(*x)).collect() };
    let largest = here.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
    // Products rounded before they are added: a few of its ε in the largest.
    let tolerance = 100.0 * f64::from(f32::EPSILON);
    Ok(Comparison::of_numbers(&wide(&here), &wide(&there), f64::from(largest), tolerance))
}
