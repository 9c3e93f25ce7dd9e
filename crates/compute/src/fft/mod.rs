//! Fast Fourier transforms: of many lines, and of volumes; [`DeviceFft`] and [`DeviceRealFft`] do the same on
//! devices.
//!
//! Forward is `X[k] = Σ x[j] exp(-2πi jk/n)`, inverse divides by the number of elements, so that
//! it undoes forward; the adjoint of forward is the number of elements times inverse. Volumes are
//! stored x fastest, then y, then z. Lengths are products of 2, 3, 5 and 7, as on devices: choose
//! them with [`good_size`].
//!
//! Plans are made once and used from any thread. Each line is transformed by one thread in the
//! same way, so that results have the same bits for any number of threads; they may differ in the
//! last bits between instruction sets (the transforms are those of rustfft).

mod codelet;
mod columns;
mod device;
mod float;
mod lines;
mod real;
mod volume;

pub use device::{DeviceFft, DeviceFftError, DeviceRealFft, VolumeShape};
pub(crate) use device::{Limits, sources_of_lines, sources_of_passes};
pub use float::Float;
pub use lines::Fft1;
pub use real::RealFft3;
pub use rustfft::num_complex::{Complex, Complex32, Complex64};
pub use volume::Fft3;

/// Why a plan cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FftError {
    /// A length has other factors.
    #[error("a Fourier transform of length {length}: lengths are products of 2, 3, 5 and 7")]
    Length {
        /// The length asked for.
        length: usize,
    },
    /// The volume has more elements than memory has addresses.
    #[error("a Fourier transform of {shape:?} elements does not fit in memory")]
    TooLarge {
        /// The shape asked for.
        shape: [usize; 3],
    },
}

/// True for products of 2, 3, 5 and 7 (1 included).
pub fn is_good_size(n: usize) -> bool {
    let mut rest = n;
    for factor in [2, 3, 5, 7] {
        while rest > 0 && rest.is_multiple_of(factor) {
            rest /= factor;
        }
    }
    rest == 1
}

/// The least product of 2, 3, 5 and 7 that is at least `n`: pad to it.
pub fn good_size(n: usize) -> usize {
    let mut size = n.max(1);
    while !is_good_size(size) {
        size += 1;
    }
    size
}

fn check_length(length: usize) -> Result<usize, FftError> {
    if is_good_size(length) { Ok(length) } else { Err(FftError::Length { length }) }
}

/// Checks all lengths and that as many complex f64 can be addressed.
fn check_shape(shape: [usize; 3]) -> Result<[usize; 3], FftError> {
    for length in shape {
        check_length(length)?;
    }
    let bytes = shape.iter().try_fold(size_of::<Complex64>(), |n, &m| n.checked_mul(m));
    match bytes {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(shape),
        _ => Err(FftError::TooLarge { shape }),
    }
}

#[cfg(test)]
mod tests;
