//! The arithmetic of [`DeviceSpace`].

use super::{Check, Comparison, Extent, bits, normal_numbers};
use crate::device::{Device, DeviceError, DeviceSpace};
use crate::operator::VectorSpace;

pub(super) fn checks() -> [Check; 2] {
    let sources = || vec![DeviceSpace::kernel_source()];
    [
        Check::new("axpy, scale, projection (exact)", sources(), element_by_element),
        Check::new("inner product", sources(), inner_product),
    ]
}

/// Enough for several blocks of the inner product and a last one that is not full.
fn len(extent: Extent) -> usize {
    match extent {
        Extent::Toy => 8192 + 200,
        Extent::Full => 1_000_003,
    }
}

fn element_by_element(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let n = len(extent);
    let (x, y) = (normal_numbers(1, n), normal_numbers(2, n));
    let oracle: Vec<f32> = x
        .iter()
        .zip(&y)
        .map(|(&x, &y)| -3.0 * x.mul_add(0.3, y))
        .map(|z| if z < 0.0 { 0.0 } else { z })
        .collect();

    let space = DeviceSpace::new(device, n)?;
    let on_x = space.upload(&x)?;
    let on_y = space.upload(&y)?;
    let mut z = space.zeros()?;
    space.copy(&on_y, &mut z)?;
    space.axpy(0.3, &on_x, &mut z)?;
    space.scale(-3.0, &mut z)?;
    space.project_nonnegative(&mut z)?;
    let mut result = vec![0.0; n];
    space.download(&z, &mut result)?;
    Ok(Comparison::of_bits(&bits(&oracle), &bits(&result)))
}

fn inner_product(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let n = len(extent);
    let (x, y) = (normal_numbers(3, n), normal_numbers(4, n));
    // Products of two f32 are exact in f64.
    let products = || x.iter().zip(&y).map(|(&x, &y)| f64::from(x) * f64::from(y));
    let oracle: f64 = products().sum();
    let scale: f64 = products().map(f64::abs).sum();

    let space = DeviceSpace::new(device, n)?;
    let result = space.dot(&space.upload(&x)?, &space.upload(&y)?)?;
    // 71 additions of pairs, each within 2^-46 of the terms' magnitude, and f64 on the host.
    Ok(Comparison::of_numbers(&[oracle], &[result], scale, 71.0 * 2.0_f64.powi(-46)))
}
