//! Whole maps on a device beside those of threads.

use fimbria_compute::check::{Comparison, Extent, Refusal};
use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::{Backend, Progress, Silent, Workers};

use super::{error, model, numbers, odd_model, wide};
use crate::FieldModel;
use crate::fourier::{FourierMethod, invert};
use crate::ilsqr::{Ilsqr, invert_ilsqr};
use crate::nonlinear::{Nonlinear, invert_nonlinear};
use crate::solver::Iteration;
use crate::variation::{
    Guidance, Outside, Prior, Step, Supported, Variation, reconstruct_variation,
};

/// Maps of every prior that a device has the kernels for, of a field and of a phase.
pub(super) fn variation(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
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
    let own = of(6, 0.02);
    let supported =
        Supported { guidance: &guidance, coefficients: &[-0.1, 0.05, 0.02, 0.01], own: &own };
    let workers = Workers::new(1).expect("a thread");
    let mut errors = Vec::new();
    for (prior, radians) in [
        (Prior::Total, None),
        (Prior::Magnitude(&magnitude), Some(16.0)),
        (Prior::Explained(&guidance), None),
        (Prior::Supported(&supported), None),
        (Prior::Supported(&supported), Some(16.0)),
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
        errors.push(lengths_apart(&there.log, &here.log));
        for (there, here) in there.log.iter().zip(&here.log) {
            let apart = |of: fn(&Step) -> f64| (of(there) - of(here)).abs() / of(here);
            errors.extend([apart(|s| s.data), apart(|s| s.variation), apart(|s| s.rms)]);
        }
    }
    // Transforms of f32 in another order, a dozen of them after each other.
    Ok(Comparison::of_numbers(&vec![0.0; errors.len()], &errors, 1.0, 2e-5))
}

/// Maps that are filled in where the dipole is small.
pub(super) fn two_steps(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let geometry = model(extent, None).geometry;
    let field: Vec<f32> = numbers(1, geometry.len()).iter().map(|x| 0.1 * x).collect();
    let workers = Workers::new(1).expect("a thread");
    let map = |on: &Backend<'_>, progress: &dyn Progress| {
        invert(&geometry, &field, FourierMethod::RTS, on, progress).expect("a sound problem")
    };
    let (here, of_here) = map(&Backend::cpu(&workers), &Silent);
    let refusal = Refusal::default();
    let (there, of_there) = map(&Backend::new(&workers, std::slice::from_ref(device)), &refusal);
    refusal.told_by(device, "two steps")?;
    let mut errors = vec![error(&there, &wide(&here)), lengths_apart(&of_there, &of_here)];
    for (there, here) in of_there.iter().zip(&of_here) {
        let apart = |of: fn(&Step) -> f64| (of(there) - of(here)).abs() / of(here);
        errors.extend([apart(|s| s.data), apart(|s| s.variation), apart(|s| s.rms)]);
        errors.push(apart(|s| s.relative_change));
    }
    // Transforms of f32 in another order, some dozens of them after each other.
    Ok(Comparison::of_numbers(&vec![0.0; errors.len()], &errors, 1.0, 2e-5))
}

/// Maps whose streaks are taken off.
pub(super) fn streaks(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
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
        lengths_apart(&there.log, &here.log),
    ];
    // Rounding of f32 transforms, which conjugate gradients amplify from one iteration to the next.
    Ok(Comparison::of_numbers(&[0.0; 4], &errors, 1.0, 1e-4))
}

/// Maps of the phase, of which the halves of spectra differ where the length along x is odd.
pub(super) fn downhill(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let mut errors = errors_downhill(device, extent, model(extent, None))?;
    if extent == Extent::Full {
        errors.extend(errors_downhill(device, extent, odd_model())?);
    }
    // Transforms of f32 in another order, some dozens of them after each other.
    Ok(Comparison::of_numbers(&vec![0.0; errors.len()], &errors, 1.0, 2e-5))
}

fn errors_downhill(
    device: &Device,
    extent: Extent,
    model: FieldModel,
) -> Result<Vec<f64>, DeviceError> {
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
    let mut errors = vec![
        error(&there.chi, &wide(&here.chi)),
        error(&there.field, &wide(&here.field)),
        lengths_apart(&there.log, &here.log),
    ];
    for (there, here) in there.log.iter().zip(&here.log) {
        let apart = |of: fn(&Iteration) -> f64| (of(there) - of(here)).abs() / of(here);
        errors.extend([apart(|s| s.data), apart(|s| s.penalty), apart(|s| s.rms)]);
        errors.extend([apart(|s| s.relative_change), apart(|s| s.relative_gradient)]);
    }
    Ok(errors)
}

/// By how many iterations logs differ: one more would be another map.
fn lengths_apart<T>(there: &[T], here: &[T]) -> f64 {
    there.len().abs_diff(here.len()) as f64
}
