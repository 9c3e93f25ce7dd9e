//! This crate's kernels against their oracles, for `fimbria devices --check`.

use fimbria_compute::check::{Check, Comparison, Extent};
use fimbria_compute::device::{Device, DeviceError, KernelSource};
use fimbria_compute::philox::{Philox, normals};

use crate::batch::{Batch, BatchError, DeviceBatch, Products, Shift, Stop, device_source};
use crate::layout::Layout;
use crate::problem::Form;
use crate::sshopm::{self, Extremum, Stopping, sshopm};
use crate::starts::on_half_sphere;
use crate::tables::Chain;

/// The checks of this crate's kernels.
pub fn checks() -> Vec<Check> {
    let fixed = (Shift::Fixed(1.0), sshopm::Shift::Fixed(1.0), 0.1);
    let adaptive = (Shift::Adaptive, sshopm::Shift::Adaptive(Extremum::Maximum), 0.1);
    let small = (adaptive.0, adaptive.1, 1e-7);
    [
        ("SS-HOPM, tables (4, 3)", (4, 3), Products::Tables, fixed),
        ("SS-HOPM, plain (4, 3)", (4, 3), Products::Plain, fixed),
        ("SS-HOPM, shared (4, 3)", (4, 3), Products::Shared, fixed),
        ("SS-HOPM, adaptive (4, 3)", (4, 3), Products::Shared, adaptive),
        ("SS-HOPM, adaptive, entries near 1e-7 (4, 3)", (4, 3), Products::Shared, small),
        ("SS-HOPM, shared (6, 3)", (6, 3), Products::Shared, fixed),
        ("SS-HOPM, adaptive (8, 3)", (8, 3), Products::Shared, adaptive),
        ("SS-HOPM, plain (3, 5)", (3, 5), Products::Plain, fixed),
        ("SS-HOPM, shared (4, 4)", (4, 4), Products::Shared, fixed),
    ]
    .into_iter()
    .map(|(name, (order, dimension), products, (shift, theirs, size))| {
        Check::new(name, sources(order, dimension, products, shift), move |device, extent| {
            iterations(device, extent, (order, dimension), products, (shift, theirs), size)
        })
    })
    .chain(crate::peaks::checks())
    .collect()
}

fn sources(order: usize, dimension: usize, products: Products, shift: Shift) -> Vec<KernelSource> {
    let layout = Layout::new(order, dimension);
    layout.map_or_else(|_| Vec::new(), |layout| vec![device_source(layout, products, shift)])
}

/// Four iterations on random tensors, normal with a standard deviation of `size`.
fn iterations(
    device: &Device,
    extent: Extent,
    (order, dimension): (usize, usize),
    products: Products,
    (shift, theirs): (Shift, sshopm::Shift),
    size: f32,
) -> Result<Comparison, DeviceError> {
    let failed = Comparison { results: 0, max_error: f64::INFINITY, tolerance: 0.0 };
    let Ok(layout) = Layout::new(order, dimension) else { return Ok(failed) };
    let (n_tensors, n_starts) = match extent {
        Extent::Toy => (2, 3),
        Extent::Full => (50, 150),
    };
    let random = Philox::new(17);
    let tensors: Vec<f32> = (0..n_tensors * layout.len())
        .map(|item| normals::<f32>(random.at(item as u64, 0))[0] * size)
        .collect();
    let starts: Vec<f32> = on_half_sphere(n_starts, dimension).iter().map(|&x| x as f32).collect();
    let batch = Batch { layout, tensors: &tensors, starts: &starts };
    let found = DeviceBatch::new(device, &batch, products, shift, Stop::Iterations(4)).and_then(
        |mut batch| {
            batch.solve()?;
            Ok(batch.endpoints()?)
        },
    );
    let found = match found {
        Ok(found) => found,
        Err(BatchError::Device(error)) => return Err(error),
        Err(_) => return Ok(failed),
    };

    let chain = Chain::new(layout);
    let mut expected = Vec::new();
    for tensor in tensors.chunks(layout.len()) {
        let tensor: Vec<f64> = tensor.iter().map(|&a| a.into()).collect();
        for start in starts.chunks(dimension) {
            let start: Vec<f64> = start.iter().map(|&x| x.into()).collect();
            let stopping = Stopping { tolerance: -1.0, max_iterations: 4 };
            expected.extend(sshopm(Form::new(&chain, &tensor), &start, theirs, stopping).x);
        }
    }
    let found: Vec<f64> = found.x.iter().map(|&x| x.into()).collect();
    // Rounding, enlarged by iterations that part; the adaptive shift has the square root of it
    // where eigenvalues meet.
    let tolerance = if shift == Shift::Adaptive { 1e-3 } else { 1e-4 };
    Ok(Comparison::of_numbers(&expected, &found, 1.0, tolerance))
}
