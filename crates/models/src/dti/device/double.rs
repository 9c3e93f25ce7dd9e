//! Every tensor fit in double precision on a device: signals to parameters, as the oracle does it. Maps are
//! made by the threads.

use fimbria_compute::device::{Device, DeviceError, KernelSource, Launch};

use super::source::{with_recipe, with_rows_and_codes};
use crate::dti::Problem;
use crate::dti::design::SMALLEST_PIVOT;
use crate::dti::layout::parameter_row;
use crate::dti::oracle::steps::{FIRST_DAMPING, LAST_DAMPING, MAX_STEPS, SMALLEST_DECREASE};
use crate::dti::recipe::{
    MAX_ROBUST_FITS, MIN_RELATIVE_SCALE, OUTLIER_SIGMAS, ROBUST_CHANGE, Refinement, SIGMA_OF_MAD,
};

/// Voxels that are fitted at a time: as many as large cards hold.
const SLOTS: usize = 1 << 16;
/// Arrays of samples that a robust fit works in.
const ROBUST_ARRAYS: usize = 3;

/// Bytes on a device that each voxel takes, by buffer: samples, parameters and working memory (of which
/// there is no more for more than 65536 voxels).
pub(crate) fn bytes_of_voxel(problem: &Problem) -> Vec<usize> {
    let rows =
        [problem.n_volumes(), problem.n_parameter_rows()].map(|rows| rows * size_of::<f32>());
    [&rows[..], &[scratch_rows(problem) * size_of::<f64>()]].concat()
}

/// Working memory of a voxel, in numbers.
fn scratch_rows(problem: &Problem) -> usize {
    match problem.recipe.refinement {
        Refinement::Robust { .. } => ROBUST_ARRAYS * problem.n_volumes(),
        _ => 0,
    }
}

/// Parameters `[row][voxel]` of signals `[volume][voxel]` of `n` voxels, both as long as that.
///
/// # Errors
/// Where the device has no double precision, refuses the kernel or has no memory.
pub(crate) fn fit(
    device: &Device,
    problem: &Problem,
    signals: &[f32],
    n: usize,
    parameters: &mut [f32],
) -> Result<(), DeviceError> {
    device.has_double()?;
    let kernel = device.kernel(&source(problem), "dti_fit_double")?;
    let slots = n.min(SLOTS);
    let rows = device.upload::<f64>(problem.design.rows.as_flattened())?;
    let inverse = device.upload::<f64>(problem.design.pseudo_inverse.as_flattened())?;
    let series = device.upload::<f32>(signals)?;
    let scratch = device.allocate::<f64>(scratch_rows(problem) * slots)?;
    let fitted = device.allocate::<f32>(parameter_row::COUNT * n)?;
    let arguments = [
        (n as u64).into(),
        (slots as u64).into(),
        (&rows).into(),
        (&inverse).into(),
        (&series).into(),
        (&scratch).into(),
        (&fitted).into(),
    ];
    // SAFETY: the kernel's seven parameters; the tables have a row per volume, signals and parameters `n`
    // elements per row, and the working memory of a robust fit `slots`; no other fit touches it.
    unsafe { kernel.launch(Launch::items(slots), &arguments)? };
    fitted.read(0, parameters)
}

/// The kernel's text, specialised for one problem.
pub(crate) fn source(problem: &Problem) -> KernelSource {
    let recipe = &problem.recipe;
    let (refinement, sigma, own_scale) = match recipe.refinement {
        Refinement::None => (0, 0.0, false),
        Refinement::Nonlinear => (1, 0.0, false),
        Refinement::Robust { sigma, own_scale_in_weights } => {
            (2, sigma.unwrap_or(0.0), own_scale_in_weights)
        }
    };
    let text = KernelSource::new("dti_fit_double", include_str!("double.cl"));
    let (source, floor) = with_recipe(text, problem);
    let mut source = source
        .with("REFINEMENT", refinement)
        .with("FLOOR_NONLINEAR", u8::from(recipe.floor_nonlinear))
        .with("OWN_SCALE_IN_WEIGHTS", u8::from(own_scale))
        .with("MAX_STEPS", format_args!("{MAX_STEPS}u"))
        .with("MAX_ROBUST_FITS", format_args!("{MAX_ROBUST_FITS}u"));
    for (name, value) in [
        ("FLOOR_VALUE", floor),
        ("SIGMA", sigma),
        ("SMALLEST_PIVOT", SMALLEST_PIVOT),
        ("FIRST_DAMPING", FIRST_DAMPING),
        ("LAST_DAMPING", LAST_DAMPING),
        ("SMALLEST_DECREASE", SMALLEST_DECREASE),
        ("EPSILON", f64::EPSILON),
        ("LARGEST", f64::MAX),
        ("OUTLIER_SIGMAS", OUTLIER_SIGMAS),
        ("ROBUST_CHANGE", ROBUST_CHANGE),
        ("MIN_RELATIVE_SCALE", MIN_RELATIVE_SCALE),
        ("SIGMA_OF_MAD", SIGMA_OF_MAD),
    ] {
        source = source.with(name, format_args!("{value:e}"));
    }
    with_rows_and_codes(source)
}
