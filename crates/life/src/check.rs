//! Every kernel of this crate against its oracle on a given device.

use fimbria_compute::check::{Check, Comparison, Extent};
use fimbria_compute::device::{Device, DeviceError, DeviceSpace};
use fimbria_compute::operator::{LinearOperator as _, Operator as _, VectorSpace as _};
use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{HostSpace, Workers};

use crate::product::Blocks;
use crate::{DeviceProduct, Dictionary, LifeError, OrthantSpace as _, orthant};

/// The checks of this crate's kernels.
pub fn checks() -> Vec<Check> {
    // A column that fits one group, and one that is longer than it.
    let sources = vec![DeviceProduct::kernel_source(48), DeviceProduct::kernel_source(96)];
    vec![
        Check::new("connectome products", sources, products),
        Check::new("bounds of non-negative least squares", vec![orthant::kernel_source()], bounds),
    ]
}

fn numbers(seed: u64, n: usize) -> Vec<f32> {
    let philox = Philox::new(seed);
    (0..n.div_ceil(4) as u64).flat_map(|item| normals::<f32>(philox.at(item, 0))).take(n).collect()
}

/// The gradient against sums in f64 over entries in random order of streamlines and atoms.
fn products(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let (voxels, streamlines, atoms, entries) = match extent {
        Extent::Toy => (3, 7, 5, 20),
        Extent::Full => (500, 900, 300, 90),
    };
    let (mut errors, mut results) = (Vec::new(), 0);
    for rank in [43, 90] {
        let dictionary = Dictionary::from_columns(rank, &numbers(1, rank * atoms));
        let blocks = Blocks::random(voxels, streamlines, atoms, entries);
        let product = DeviceProduct::new(device, &blocks, &dictionary).map_err(|e| match e {
            LifeError::Device(error) => error,
            // Nothing else can go wrong with so few entries.
            other => DeviceError::Runtime {
                device: device.info().name.clone(),
                call: "DeviceProduct::new",
                detail: other.to_string(),
            },
        })?;
        let x: Vec<f32> = numbers(2, streamlines).iter().map(|x| x.max(0.0)).collect();
        let b = blocks.padded(&dictionary, &numbers(3, rank * voxels));
        let mut g = product.domain().zeros()?;
        let b_there = product.range().upload(&b)?;
        let squares = product.gradient(&product.domain().upload(&x)?, &b_there, &mut g)?;
        let (expected, magnitude, expected_squares) = blocks.gradient_f64(&dictionary, &x, &b);
        let g = g.to_vec()?;
        results += g.len();
        for f in 0..streamlines {
            errors.push((f64::from(g[f]) - expected[f]) / magnitude[f].max(1e-30));
        }
        errors.push((squares - expected_squares) / expected_squares);
    }
    let comparison = Comparison::of_numbers(
        &vec![0.0; errors.len()],
        &errors,
        1.0,
        // Relative to the sums of magnitudes: chains of at most 90 terms for residuals, 12 for
        // products, then a compensated sum; rounding errors are of either sign.
        30.0 * f64::from(f32::EPSILON),
    );
    Ok(Comparison { results, ..comparison })
}

/// The bits of the host.
fn bounds(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let n = if extent == Extent::Toy { 300 } else { 100_003 };
    let workers = Workers::new(1).map_err(|error| DeviceError::Runtime {
        device: device.info().name.clone(),
        call: "Workers::new",
        detail: error.to_string(),
    })?;
    let host = HostSpace::new(&workers, n);
    let there = DeviceSpace::new(device, n)?;
    let x: Vec<f32> = numbers(4, n).iter().map(|x| x.max(0.0)).collect();
    let (g, p) = (numbers(5, n), numbers(6, n));
    let (x_there, g_there, p_there) = (there.upload(&x)?, there.upload(&g)?, there.upload(&p)?);
    let (mut held, mut face) = (there.upload(&p)?, there.upload(&p)?);
    there.hold(&x_there, &g_there, &mut held)?;
    there.restrict_to_face(&x_there, &mut face)?;
    let positive: Vec<f32> = x.iter().map(|x| x + 0.25).collect();
    let step = there.longest_step(&there.upload(&positive)?, &p_there)?;
    let (mut held_here, mut face_here) = (p.clone(), p.clone());
    // Vectors of the space's own length: these cannot fail.
    let on_host = host
        .hold(&x, &g, &mut held_here)
        .and_then(|()| host.restrict_to_face(&x, &mut face_here))
        .and_then(|()| host.longest_step(&positive, &p));
    let bits = |parts: [&[f32]; 2], step: f64| -> Vec<u32> {
        let all = parts.into_iter().flatten().copied().chain([step as f32]);
        all.map(f32::to_bits).collect()
    };
    let step_here = on_host.unwrap_or(f64::NAN);
    let found = bits([&held.to_vec()?, &face.to_vec()?], step);
    Ok(Comparison::of_bits(&bits([&held_here, &face_here], step_here), &found))
}
