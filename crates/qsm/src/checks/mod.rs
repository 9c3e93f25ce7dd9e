//! This crate's kernels against their oracle, for `fimbria devices --check`.

mod maps;

use fimbria_compute::Workers;
use fimbria_compute::check::{Check, Comparison, Extent, Outcome};
use fimbria_compute::dense::vec3;
use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::fft::DeviceFftError;
use fimbria_compute::operator::{LinearOperator, Operator as _, VectorSpace};
use fimbria_compute::philox::{Philox, normals};

use crate::device::{
    DeviceLaplacian, DeviceOperator, DeviceOperatorError, laplacian_source, pairs_source,
};
use crate::fourier::two_step_source;
use crate::ilsqr::filters_source;
use crate::nonlinear::nonlinear_source;
use crate::tensor::{
    DeviceTensorPenalty, DeviceTensors, TensorOperator, TensorPenalty, tensors_source,
};
use crate::variation::variation_source;
use crate::{Edges, FieldModel, Geometry, Laplacian, Products, Shape, Share, oracle};

/// The checks of this crate's kernels.
pub fn checks() -> Vec<Check> {
    let fast = vec![pairs_source(false, true, None), laplacian_source(true)];
    let dense = vec![pairs_source(false, false, Some(6)), pairs_source(true, false, Some(6))];
    let penalty = vec![laplacian_source(true), laplacian_source(false)];
    vec![
        Check::new("susceptibility: fast product and adjoint", fast, |device, extent| {
            products(device, extent, Products::Fast, None)
        }),
        Check::new("susceptibility: lists of pairs", vec![pairs_source(false, true, None)], lists),
        Check::new("susceptibility: dense product and adjoint", dense, |device, extent| {
            products(device, extent, Products::Dense, Some(6))
        }),
        Check::new("susceptibility: penalty and adjoint", penalty, penalties),
        Check::new(
            "susceptibility: tensors and adjoint",
            vec![tensors_source(), laplacian_source(true)],
            tensors,
        ),
        Check::new("susceptibility: total variation", vec![variation_source()], maps::variation),
        Check::new("susceptibility: two steps", vec![two_step_source()], maps::two_steps),
        Check::new("susceptibility: steps downhill", vec![nonlinear_source()], maps::downhill),
        Check::new("susceptibility: streaks", vec![filters_source()], maps::streaks),
    ]
}

/// A box of unknowns, a third of them cylinders, seen from all of it.
fn model(extent: Extent, support: Option<u32>) -> FieldModel {
    // Padded to half as much again of an odd length along x, and of an even one: halves of spectra differ.
    match extent {
        Extent::Toy => model_of([5, 3, 4], support),
        Extent::Full => model_of([16, 14, 15], support),
    }
}

/// A box that is padded to 25, an odd length, along x.
fn odd_model() -> FieldModel {
    model_of([17, 14, 15], None)
}

fn model_of(dims: [usize; 3], support: Option<u32>) -> FieldModel {
    let geometry = Geometry {
        dims,
        spacing: [0.9, 1.0, 1.0 / 0.9],
        b0: [0.36, -0.48, 0.8],
        reversed: [false; 3],
    };
    let receivers: Vec<u32> = (0..geometry.len() as u32).collect();
    let mask: Vec<u32> = receivers.iter().copied().filter(|v| v % 7 != 0).collect();
    let philox = Philox::new(5);
    let shape = |&voxel: &u32| {
        let n = normals::<f32>(philox.at(voxel.into(), 0)).map(f64::from);
        let axis = vec3::unit([n[0], n[1], n[2]]);
        match axis {
            Some(axis) if voxel % 3 == 0 => Shape::Cylinder(axis),
            _ => Shape::Sphere,
        }
    };
    let shapes = mask.iter().map(shape).collect();
    FieldModel::new(&geometry, &mask, shapes, &receivers)
        .expect("a model by construction")
        .with_support(support)
}

fn numbers(seed: u64, n: usize) -> Vec<f32> {
    let philox = Philox::new(seed);
    (0..n as u64).map(|i| normals::<f32>(philox.at(i, 0))[0]).collect()
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).collect()
}

/// The norm of `got - expected` over that of `expected`.
fn error(got: &[f32], expected: &[f64]) -> f64 {
    let square = |x: f64| x * x;
    let left: f64 = got.iter().zip(expected).map(|(a, b)| square(f64::from(*a) - b)).sum();
    (left / expected.iter().map(|x| square(*x)).sum::<f64>()).sqrt()
}

/// What a device says; the models of checks are sound.
fn of_device(error: DeviceOperatorError) -> DeviceError {
    match error {
        DeviceOperatorError::Device(error)
        | DeviceOperatorError::Fft(DeviceFftError::Device(error)) => error,
        error => unreachable!("{error}: the model is sound"),
    }
}

/// What f32 products may err by.
const TOLERANCE: f64 = 3e-6;

fn products(
    device: &Device,
    extent: Extent,
    products: Products,
    support: Option<u32>,
) -> Result<Comparison, DeviceError> {
    let model = model(extent, support);
    let workers = Workers::new(1).expect("a thread");
    let operator = DeviceOperator::new(&model, products, device, &workers).map_err(of_device)?;
    let (x, y) = (numbers(1, model.unknowns.len()), numbers(2, model.receivers.len()));
    let [ax, aty] = both(&operator, &x, &y)?;
    let errors = [
        error(&ax, &oracle::apply(&model, &wide(&x))),
        error(&aty, &oracle::adjoint(&model, &wide(&y))),
    ];
    Ok(Comparison::of_numbers(&[0.0; 2], &errors, 1.0, TOLERANCE))
}

/// Products over lists, bit by bit beside those that test every pair.
fn lists(device: &Device, extent: Extent) -> Result<Outcome, DeviceError> {
    let model = model(extent, None);
    let workers = Workers::new(1).expect("a thread");
    let (x, y) = (numbers(1, model.unknowns.len()), numbers(2, model.receivers.len()));
    let operator =
        DeviceOperator::new(&model, Products::Fast, device, &workers).map_err(of_device)?;
    // Of tiles and of sources; memory may have been too short for one of them.
    let listed: Vec<usize> = operator.listed().into_iter().flatten().collect();
    if listed.is_empty() {
        return Ok(Outcome::NotRun(
            "the device has too little memory for lists: products test every pair",
        ));
    }
    let mut got: Vec<u32> = listed.iter().map(|&pairs| u32::from(pairs > 0)).collect();
    let bits = |products: [Vec<f32>; 2]| products.into_iter().flatten().map(f32::to_bits);
    got.extend(bits(both(&operator, &x, &y)?));
    let mut expected = vec![1; listed.len()];
    expected.extend(bits(both(&operator.without_lists(), &x, &y)?));
    Ok(Comparison::of_bits(&expected, &got).into())
}

fn tensors(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let model = model(extent, None);
    let workers = Workers::new(1).expect("a thread");
    let there =
        DeviceTensors::of_share(&model, device, &workers, Share::WHOLE).map_err(of_device)?;
    let here = TensorOperator::new(&model, &workers).expect("a small volume");
    let (x, y) = (numbers(1, here.domain().len()), numbers(2, model.receivers.len()));
    let [ax, aty] = both(&there, &x, &y)?;
    let [product, adjoint] = both(&here, &x, &y).expect("memory for a small volume");
    let mut errors = vec![error(&ax, &wide(&product)), error(&aty, &wide(&adjoint))];
    let there =
        DeviceTensorPenalty::new(&model, Edges::Free, device, &workers).map_err(of_device)?;
    let here = TensorPenalty::new(&model, Edges::Free, &workers).expect("a small volume");
    let y = numbers(2, here.range().len());
    let [dx, dty] = both(&there, &x, &y)?;
    let [product, adjoint] = both(&here, &x, &y).expect("memory for a small volume");
    errors.extend([error(&dx, &wide(&product)), error(&dty, &wide(&adjoint))]);
    Ok(Comparison::of_numbers(&vec![0.0; errors.len()], &errors, 1.0, TOLERANCE))
}

fn penalties(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let model = model(extent, None);
    let workers = Workers::new(1).expect("a thread");
    let mut errors = Vec::new();
    for edges in [Edges::Free, Edges::Zero] {
        let there = DeviceLaplacian::new(&model, edges, device, &workers)?;
        let here = Laplacian::new(&model, edges, &workers);
        let (x, y) = (numbers(1, model.unknowns.len()), numbers(2, model.geometry.len()));
        let [dx, dty] = both(&there, &x, &y)?;
        let [expected, adjoint] = both(&here, &x, &y).expect("memory for a small volume");
        errors.extend([error(&dx, &wide(&expected)), error(&dty, &wide(&adjoint))]);
    }
    // Sums of 19 numbers in another order.
    Ok(Comparison::of_numbers(&vec![0.0; errors.len()], &errors, 1.0, 1e-6))
}

/// The product with `x` and the adjoint's with `y`.
fn both<A: LinearOperator>(
    operator: &A,
    x: &[f32],
    y: &[f32],
) -> Result<[Vec<f32>; 2], <A::Domain as VectorSpace>::Error> {
    let (domain, range) = (operator.domain(), operator.range());
    let (mut ax, mut aty) = (range.zeros()?, domain.zeros()?);
    operator.apply(&domain.upload(x)?, &mut ax)?;
    operator.adjoint(&range.upload(y)?, &mut aty)?;
    let (mut product, mut adjoint) = (vec![0.0; range.len()], vec![0.0; domain.len()]);
    range.download(&ax, &mut product)?;
    domain.download(&aty, &mut adjoint)?;
    Ok([product, adjoint])
}
