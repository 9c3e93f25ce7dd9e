//! The dialect's own functions: each kernel function gives the bits of its Rust twin.

use super::{Check, Comparison, Extent, bits};
use crate::device::{Device, DeviceError, KernelSource, Launch};
use crate::math::{Function, KERNEL_TEXT, TWINS, Twin};

const APPLY: &str = "
KERNEL(apply)(GLOBAL const f32 *RESTRICT a, GLOBAL const f32 *RESTRICT b,
              GLOBAL f32 *RESTRICT result, u64 n) {
    u64 i = GLOBAL_ID();
    if (i < n) result[i] = CALL(a[i], b[i]);
}
";

pub(super) fn checks() -> Vec<Check> {
    TWINS
        .iter()
        .map(|&twin| {
            let name = format!("{} (bits of its CPU twin)", twin.kernel);
            Check::new(name, vec![source(twin)], move |device, extent| {
                compare(twin, device, extent)
            })
        })
        .collect()
}

fn source(twin: Twin) -> KernelSource {
    let call = match twin.cpu {
        Function::One(_) => format!("{}(a)", twin.kernel),
        Function::Two(_) => format!("{}(a, b)", twin.kernel),
    };
    KernelSource::new(twin.kernel, APPLY).after(KERNEL_TEXT).with("CALL(a, b)", call)
}

fn compare(twin: Twin, device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let (a, b) = arguments(extent);
    let oracle: Vec<f32> = match twin.cpu {
        Function::One(f) => a.iter().map(|&a| f(a)).collect(),
        Function::Two(f) => a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect(),
    };
    let kernel = device.kernel(&source(twin), "apply")?;
    let (on_a, on_b) = (device.upload(&a)?, device.upload(&b)?);
    let result = device.zeros::<f32>(a.len())?;
    let arguments = [(&on_a).into(), (&on_b).into(), (&result).into(), (a.len() as u64).into()];
    // SAFETY: the kernel's four parameters; all buffers hold n elements.
    unsafe { kernel.launch(Launch::items(a.len()), &arguments)? };
    let result = result.to_vec()?;
    let canonical = |numbers: &[f32]| bits(&numbers.iter().map(|&x| agreed(x)).collect::<Vec<_>>());
    Ok(Comparison::of_bits(&canonical(&oracle), &canonical(&result)))
}

/// Maps results that [`Twin`] calls equal to one.
fn agreed(x: f32) -> f32 {
    if x.is_nan() {
        f32::NAN
    } else if x.abs() < f32::MIN_POSITIVE {
        0.0
    } else {
        x
    }
}

/// Pairs that cover all exponents and signs, where functions switch, and the special numbers.
fn arguments(extent: Extent) -> (Vec<f32>, Vec<f32>) {
    let (step, n) = match extent {
        Extent::Toy => (1 << 24, 64),
        Extent::Full => (20_011, 50_000),
    };
    let special = [0.0, 1.0, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY, f32::NAN];
    let patterns = (0..u32::MAX).step_by(step).map(f32::from_bits).filter(|x| !x.is_subnormal());
    // From -100 to 100, where exp, sincos and turns do their work, and from -1 to 1 for acos.
    let evenly = (0..n).flat_map(|i| {
        let x = 2.0 * (i as f32 / n as f32) - 1.0;
        [100.0 * x, x]
    });
    let a: Vec<f32> =
        special.into_iter().flat_map(|x| [x, -x]).chain(patterns).chain(evenly).collect();
    // Paired with themselves in another order: ratios of like and of very different numbers.
    let b: Vec<f32> = (0..a.len()).map(|i| a[i * 7919 % a.len()]).collect();
    (a, b)
}
