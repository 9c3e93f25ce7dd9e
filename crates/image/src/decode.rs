//! Stored samples to `f32`, one routine per type and byte order.
//!
//! The type is chosen once per image ([`decoder`]); inside a routine nothing depends on it at run
//! time, so runs of neighbouring samples vectorise.

use bytemuck::Pod;
use half::f16;

use crate::{ByteOrder, Datatype, Scaling};

/// Decodes `out.len()` samples: sample `first + i * step` of the data goes to `out[i]`, scaled.
///
/// Arguments: data, first, step, scaling, out. Indices count samples, not bytes. Panics where a
/// sample lies outside the data.
pub(crate) type Decode = fn(&[u8], usize, isize, Scaling, &mut [f32]);

/// The routine for a type and byte order.
pub(crate) fn decoder(datatype: Datatype, order: ByteOrder) -> Decode {
    if order == ByteOrder::NATIVE {
        decoder_for::<false>(datatype)
    } else {
        decoder_for::<true>(datatype)
    }
}

fn decoder_for<const SWAP: bool>(datatype: Datatype) -> Decode {
    match datatype {
        Datatype::Bit => decode_bits,
        Datatype::Int8 => decode::<i8, SWAP>,
        Datatype::UInt8 => decode::<u8, SWAP>,
        Datatype::Int16 => decode::<i16, SWAP>,
        Datatype::UInt16 => decode::<u16, SWAP>,
        Datatype::Int32 => decode::<i32, SWAP>,
        Datatype::UInt32 => decode::<u32, SWAP>,
        Datatype::Int64 => decode::<i64, SWAP>,
        Datatype::UInt64 => decode::<u64, SWAP>,
        Datatype::Float16 => decode::<f16, SWAP>,
        Datatype::Float32 => decode::<f32, SWAP>,
        Datatype::Float64 => decode::<f64, SWAP>,
    }
}

/// A number as files hold it.
pub(crate) trait Number: Pod {
    /// The same number with its bytes reversed.
    fn reversed(self) -> Self;
    /// Nearest `f32`.
    fn to_f32(self) -> f32;
    /// Nearest `f64`.
    fn to_f64(self) -> f64;
    /// The same whole number; of a float its whole part.
    fn to_i128(self) -> i128;
}

macro_rules! number {
    ($($t:ty: $from:expr),*) => {$(
        impl Number for $t {
            #[inline(always)]
            fn reversed(self) -> Self {
                let mut bytes = self.to_ne_bytes();
                bytes.reverse();
                $from(bytes)
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn to_i128(self) -> i128 {
                self as i128
            }
        }
    )*};
}
number!(i8: i8::from_ne_bytes, u8: u8::from_ne_bytes, i16: i16::from_ne_bytes,
        u16: u16::from_ne_bytes, i32: i32::from_ne_bytes, u32: u32::from_ne_bytes,
        i64: i64::from_ne_bytes, u64: u64::from_ne_bytes, f32: f32::from_ne_bytes,
        f64: f64::from_ne_bytes);

impl Number for f16 {
    #[inline(always)]
    fn reversed(self) -> Self {
        Self::from_bits(self.to_bits().swap_bytes())
    }
    #[inline(always)]
    fn to_f32(self) -> f32 {
        f16::to_f32(self)
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f16::to_f64(self)
    }
    #[inline(always)]
    fn to_i128(self) -> i128 {
        f16::to_f64(self) as i128
    }
}

fn decode<T: Number, const SWAP: bool>(
    data: &[u8],
    first: usize,
    step: isize,
    scaling: Scaling,
    out: &mut [f32],
) {
    if scaling.is_none() {
        convert::<T, SWAP>(data, first, step, out, T::to_f32);
    } else {
        // In f64, so that the result is the exact value rounded once (as nibabel computes it).
        let Scaling { slope, intercept } = scaling;
        convert::<T, SWAP>(data, first, step, out, |x| (x.to_f64() * slope + intercept) as f32);
    }
}

#[inline(always)]
fn convert<T: Number, const SWAP: bool>(
    data: &[u8],
    first: usize,
    step: isize,
    out: &mut [f32],
    value: impl Fn(T) -> f32,
) {
    let size = size_of::<T>();
    let load = |bytes: &[u8]| {
        let stored = bytemuck::pod_read_unaligned::<T>(bytes);
        value(if SWAP { stored.reversed() } else { stored })
    };
    let count = out.len();
    match step {
        1 => {
            let run = &data[first * size..(first + count) * size];
            for (o, bytes) in out.iter_mut().zip(run.chunks_exact(size)) {
                *o = load(bytes);
            }
        }
        -1 => {
            let run = &data[(first + 1 - count) * size..(first + 1) * size];
            for (o, bytes) in out.iter_mut().zip(run.chunks_exact(size).rev()) {
                *o = load(bytes);
            }
        }
        _ => {
            for (i, o) in out.iter_mut().enumerate() {
                let at = first.wrapping_add_signed(step.wrapping_mul(i as isize)) * size;
                *o = load(&data[at..at + size]);
            }
        }
    }
}

fn decode_bits(data: &[u8], first: usize, step: isize, scaling: Scaling, out: &mut [f32]) {
    let value = [0.0, 1.0].map(|bit| (bit * scaling.slope + scaling.intercept) as f32);
    for (i, o) in out.iter_mut().enumerate() {
        let at = first.wrapping_add_signed(step.wrapping_mul(i as isize));
        *o = value[usize::from(data[at / 8] >> (7 - at % 8) & 1)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(d: Datatype, order: ByteOrder, data: &[u8], first: usize, step: isize) -> Vec<f32> {
        let mut out = vec![0.0; 3];
        decoder(d, order)(data, first, step, Scaling::NONE, &mut out);
        out
    }

    #[test]
    fn steps_of_any_sign_pick_the_right_samples() {
        let data: Vec<u8> = (0..20i16).flat_map(|i| (i - 5).to_be_bytes()).collect();
        let at = |first, step| decoded(Datatype::Int16, ByteOrder::Big, &data, first, step);
        assert_eq!(at(4, 1), [-1.0, 0.0, 1.0]);
        assert_eq!(at(4, -1), [-1.0, -2.0, -3.0]);
        assert_eq!(at(4, 7), [-1.0, 6.0, 13.0]);
        assert_eq!(at(19, -8), [14.0, 6.0, -2.0]);
    }

    #[test]
    fn bits_come_most_significant_first() {
        let data = [0b0100_0000, 0b1000_0001];
        let at = |first, step| decoded(Datatype::Bit, ByteOrder::Little, &data, first, step);
        assert_eq!(at(0, 1), [0.0, 1.0, 0.0]);
        assert_eq!(at(7, 1), [0.0, 1.0, 0.0]);
        assert_eq!(at(15, -7), [1.0, 1.0, 1.0]);
    }

    #[test]
    fn scaling_is_computed_in_double_precision() {
        // 16777217 is no f32: scaled in f32 the result would be 0.
        let scaling = Scaling { slope: 1.0, intercept: -16_777_216.0 };
        let mut out = [0.0];
        let data = 16_777_217i32.to_le_bytes();
        decoder(Datatype::Int32, ByteOrder::Little)(&data, 0, 1, scaling, &mut out);
        assert_eq!(out, [1.0]);
    }
}
