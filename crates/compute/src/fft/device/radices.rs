//! What lengths are made of, and the factors between.

use std::f64::consts::TAU;

use crate::device::{Buffer, Device, DeviceError};
use crate::fft::Complex32;

/// Largest radix: its elements and their sums still fit a GPU's registers.
pub(super) const MAX_RADIX: usize = 16;

/// The fewest factors of at most [`MAX_RADIX`], and of these the ones with the least largest:
/// each is one pass, through memory or through that of a group.
pub(super) fn radices(n: usize) -> Vec<usize> {
    if n == 1 {
        return Vec::new();
    }
    (2..=MAX_RADIX)
        .rev()
        .filter(|radix| n.is_multiple_of(*radix))
        .map(|radix| {
            let mut factors = radices(n / radix);
            factors.insert(0, radix);
            factors
        })
        .min_by_key(|factors| (factors.len(), factors.iter().copied().max()))
        .unwrap_or_default()
}

/// exp(-2πi j/n), j < n.
pub(super) fn turns_of(device: &Device, n: usize) -> Result<Buffer<Complex32>, DeviceError> {
    let turn = |j: usize| {
        let (sin, cos) = (-TAU * j as f64 / n as f64).sin_cos();
        Complex32::new(cos as f32, sin as f32)
    };
    device.upload(&(0..n).map(turn).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fft::is_good_size;

    #[test]
    fn lengths_take_the_fewest_passes() {
        assert_eq!(radices(1), []);
        assert_eq!(radices(16), [16]);
        assert_eq!(radices(36), [6, 6]);
        assert_eq!(radices(256), [16, 16]);
        assert_eq!(radices(343), [7, 7, 7]);
        assert_eq!(radices(240).len(), 2);
    }

    #[test]
    fn radices_multiply_to_the_length() {
        for n in (1..3000).filter(|&n| is_good_size(n)) {
            let factors = radices(n);
            assert_eq!(factors.iter().product::<usize>(), n);
            assert!(factors.iter().all(|&radix| (2..=MAX_RADIX).contains(&radix)));
        }
    }
}
