//! The kernels of [`measure`](crate::device::measure()): what they compute besides taking time.

use super::{Check, Comparison, Extent, bits, normal_numbers};
use crate::device::{Device, DeviceError, Launch, measure_source};

const GROUP: usize = 128;

pub(super) fn check() -> Check {
    Check::new("measurement kernels", vec![measure_source()], compare)
}

fn compare(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let groups = match extent {
        Extent::Toy => 2,
        Extent::Full => 1000,
    };
    let items = groups * GROUP;
    let launch = Launch::groups_of(GROUP, groups);
    let source = measure_source();
    let (b, c) = (normal_numbers(1, items), normal_numbers(2, items));
    // Each of 16 rounds halves the distance to 2 four times or more: no bit of it is left.
    let mut oracle: Vec<f32> = b.iter().zip(&c).map(|(&b, c)| c.mul_add(3.0, b)).collect();
    oracle.extend(vec![2.0; 3 * items]);

    let (on_b, on_c) = (device.upload(&b)?, device.upload(&c)?);
    let result = device.zeros::<f32>(items)?;
    let mut results = Vec::new();
    let arguments =
        [(items as u64).into(), 3.0_f32.into(), (&on_b).into(), (&on_c).into(), (&result).into()];
    // SAFETY: the kernel's five parameters; each buffer holds one number for each item.
    unsafe { device.kernel(&source, "triad")?.launch(launch, &arguments)? };
    results.extend(result.to_vec()?);

    let ones = device.upload(&vec![1.0_f32; 256])?;
    let arguments = [256_u32.into(), 16_u32.into(), (&ones).into(), (&result).into()];
    // SAFETY: four parameters; 256 numbers to read, one to write for each item.
    unsafe { device.kernel(&source, "read_again")?.launch(launch, &arguments)? };
    results.extend(result.to_vec()?);

    let arguments = [16_u32.into(), (&result).into()];
    // SAFETY: two parameters; one number to write for each item.
    unsafe { device.kernel(&source, "read_local")?.launch(launch, &arguments)? };
    results.extend(result.to_vec()?);

    let arguments = [16_u32.into(), 0.5_f32.into(), 1.0_f32.into(), (&result).into()];
    // SAFETY: four parameters; one number to write for each item.
    unsafe { device.kernel(&source, "multiply_add")?.launch(launch, &arguments)? };
    results.extend(result.to_vec()?);
    Ok(Comparison::of_bits(&bits(&oracle), &bits(&results)))
}
