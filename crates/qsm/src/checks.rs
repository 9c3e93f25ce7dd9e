//! This crate's kernels against their oracle, for `fimbria devices --check`.

use fimbria_compute::check::{Check, Comparison, Extent, Refusal};
use fimbria_compute::dense::vec3;
use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::fft::DeviceFftError;
use fimbria_compute::operator::{LinearOperator, Operator as _, VectorSpace};
use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{Backend, Progress, Silent, Workers};

use crate::device::{
    DeviceLaplacian, DeviceOperator, DeviceOperatorError, laplacian_source, pairs_source,
};
use crate::ilsqr::{Ilsqr, filters_source, invert_ilsqr};
use crate::nonlinear::{Nonlinear, invert_nonlinear, nonlinear_source};
use crate::solver::Iteration;
use crate::tensor::{
    DeviceTensorPenalty, DeviceTensors, TensorOperator, TensorPenalty, tensors_source,
};
use crate::variation::{
    Guidance, Outside, Prior, Step, Variation, reconstruct_variation, variation_source,
};
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
        Check::new("susceptibility: total variation", vec![variation_source()], variation),
        Check::new("susceptibility: steps downhill", vec![nonlinear_source()], downhill),
        Check::new("susceptibility: streaks", vec![filters_source()], streaks),
    ]
}

/// A box of unknowns, a third of them cylinders, seen from all of it.
fn model(extent: Extent, support: Option<u32>) -> FieldModel {
    let dims = match extent {
        Extent::Toy => [5, 3, 4],
        Extent::Full => [17, 14, 15],
    };
    let geometry = Geometry { dims, spacing: [0.9, 1.0, 1.0 / 0.9], b0: [0.36, -0.48, 0.8] };
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
fn lists(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let model = model(extent, None);
    let workers = Workers::new(1).expect("a thread");
    let (x, y) = (numbers(1, model.unknowns.len()), numbers(2, model.receivers.len()));
    let operator =
        DeviceOperator::new(&model, Products::Fast, device, &workers).map_err(of_device)?;
    let mut got = operator.listed().map(|pairs| u32::from(pairs > 0)).to_vec();
    let bits = |products: [Vec<f32>; 2]| products.into_iter().flatten().map(f32::to_bits);
    got.extend(bits(both(&operator, &x, &y)?));
    let mut expected = vec![1; 2];
    expected.extend(bits(both(&operator.without_lists(), &x, &y)?));
    Ok(Comparison::of_bits(&expected, &got))
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

/// Maps of every prior that a device has the kernels for, of a field and of a phase.
fn variation(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let model = model(extent, None);
    // Receivers are the unknowns.
    let model = FieldModel { receivers: model.unknowns.clone(), ..model };
    let n = model.unknowns.len();
    let of = |seed: u64, by: f32| -> Vec<f32> { numbers(seed, n).iter().map(|x| by * x).collect() };
    let (field, weights) =
        (of(1, 0.1), of(2, 1.0).iter().map(|w| 0.1 + w.abs()).collect::<Vec<_>>());
    let magnitude = of(3, 1.0);
    let fa = of(4, 0.2).iter().map(|fa| fa.abs().min(1.0)).collect();
    let guidance = Guidance { fa, images: vec![of(5, 0.1).iter().map(|x| 1.0 + x).collect()] };
    let workers = Workers::new(1).expect("a thread");
    let mut errors = Vec::new();
    for (prior, radians) in [
        (Prior::Total, None),
        (Prior::Magnitude(&magnitude), Some(16.0)),
        (Prior::Explained(&guidance), None),
        (Prior::Generalised, None),
        (Prior::Generalised, Some(16.0)),
    ] {
        let outside = if radians.is_none() { Outside::Sources } else { Outside::Nothing };
        let iterations = if extent == Extent::Toy { 2 } else { 12 };
        let how =
            Variation { iterations, tolerance: 0.0, outside, radians, ..Variation::default() };
        let map = |on: &Backend<'_>, progress: &dyn Progress| {
            reconstruct_variation(&model, &field, Some(&weights), prior, how, on, progress)
                .expect("a sound problem")
        };
        let here = map(&Backend::cpu(&workers), &Silent);
        let refusal = Refusal::default();
        let there = map(&Backend::new(&workers, std::slice::from_ref(device)), &refusal);
        refusal.told_by(device, "total variation")?;
        errors
            .extend([error(&there.chi, &wide(&here.chi)), error(&there.field, &wide(&here.field))]);
        for (there, here) in there.log.iter().zip(&here.log) {
            let apart = |of: fn(&Step) -> f64| (of(there) - of(here)).abs() / of(here);
            errors.extend([apart(|s| s.data), apart(|s| s.variation), apart(|s| s.rms)]);
        }
    }
    // Transforms of f32 in another order, a dozen of them after each other.
    Ok(Comparison::of_numbers(&vec![0.0; errors.len()], &errors, 1.0, 2e-5))
}

/// Maps whose streaks are taken off.
fn streaks(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let model = model(extent, None);
    let model = FieldModel { receivers: model.unknowns.clone(), ..model };
    let field = numbers(1, model.unknowns.len());
    let iterations = if extent == Extent::Toy { 2 } else { 8 };
    let how = Ilsqr { iterations, tolerance: 0.0, ..Ilsqr::default() };
    let workers = Workers::new(1).expect("a thread");
    let map = |on: &Backend<'_>, progress: &dyn Progress| {
        invert_ilsqr(&model, &field, None, how, on, progress).expect("a sound problem")
    };
    let here = map(&Backend::cpu(&workers), &Silent);
    let refusal = Refusal::default();
    let there = map(&Backend::new(&workers, std::slice::from_ref(device)), &refusal);
    refusal.told_by(device, "streaks")?;
    let told = |log: &[Iteration]| log.iter().map(|step| step.rms as f32).collect::<Vec<f32>>();
    let errors = [
        error(&there.chi, &wide(&here.chi)),
        error(&there.field, &wide(&here.field)),
        error(&told(&there.log), &wide(&told(&here.log))),
    ];
    // Rounding of f32 transforms, which conjugate gradients amplify from one iteration to the next.
    Ok(Comparison::of_numbers(&[0.0; 3], &errors, 1.0, 1e-4))
}

/// Maps of the phase.
fn downhill(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let model = model(extent, None);
    let model = FieldModel { receivers: model.unknowns.clone(), ..model };
    let n = model.unknowns.len();
    let field: Vec<f32> = numbers(1, n).iter().map(|x| 0.1 * x).collect();
    let weights: Vec<f32> = numbers(2, n).iter().map(|w| 0.1 + w.abs()).collect();
    let iterations = if extent == Extent::Toy { 2 } else { 30 };
    let how = Nonlinear { lambda: 1e-3, radians: 16.0, iterations, tolerance: 0.0 };
    let workers = Workers::new(1).expect("a thread");
    let map = |on: &Backend<'_>, progress: &dyn Progress| {
        invert_nonlinear(&model, &field, Some(&weights), how, on, progress)
            .expect("a sound problem")
    };
    let here = map(&Backend::cpu(&workers), &Silent);
    let refusal = Refusal::default();
    let there = map(&Backend::new(&workers, std::slice::from_ref(device)), &refusal);
    refusal.told_by(device, "steps downhill")?;
    let mut errors =
        vec![error(&there.chi, &wide(&here.chi)), error(&there.field, &wide(&here.field))];
    for (there, here) in there.log.iter().zip(&here.log) {
        let apart = |of: fn(&Iteration) -> f64| (of(there) - of(here)).abs() / of(here);
        errors.extend([apart(|s| s.data), apart(|s| s.penalty), apart(|s| s.rms)]);
        errors.extend([apart(|s| s.relative_change), apart(|s| s.relative_gradient)]);
    }
    // Transforms of f32 in another order, some dozens of them after each other.
    Ok(Comparison::of_numbers(&vec![0.0; errors.len()], &errors, 1.0, 2e-5))
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
