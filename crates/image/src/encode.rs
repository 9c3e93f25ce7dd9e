//! `f32` to stored samples: the mirror of `decode`.
//!
//! Integers are rounded to nearest (halves to even) and saturate; NaN becomes zero.

use half::f16;

use crate::decode::Number;
use crate::{ByteOrder, Datatype};

/// Encodes `count` values: `source[first + i * step]` becomes sample `at + i` of `out`.
///
/// Arguments: source, first, step, count, out, at. `out` is expected to hold zeros (bits are only
/// set). Panics where a sample lies outside `source` or `out`.
pub(crate) type Encode = fn(&[f32], usize, isize, usize, &mut [u8], usize);

/// The routine for a type and byte order.
pub(crate) fn encoder(datatype: Datatype, order: ByteOrder) -> Encode {
    if order == ByteOrder::NATIVE {
        encoder_for::<false>(datatype)
    } else {
        encoder_for::<true>(datatype)
    }
}

fn encoder_for<const SWAP: bool>(datatype: Datatype) -> Encode {
    match datatype {
        Datatype::Bit => encode_bits,
        Datatype::Int8 => encode::<i8, SWAP>,
        Datatype::UInt8 => encode::<u8, SWAP>,
        Datatype::Int16 => encode::<i16, SWAP>,
        Datatype::UInt16 => encode::<u16, SWAP>,
        Datatype::Int32 => encode::<i32, SWAP>,
        Datatype::UInt32 => encode::<u32, SWAP>,
        Datatype::Int64 => encode::<i64, SWAP>,
        Datatype::UInt64 => encode::<u64, SWAP>,
        Datatype::Float16 => encode::<f16, SWAP>,
        Datatype::Float32 => encode::<f32, SWAP>,
        Datatype::Float64 => encode::<f64, SWAP>,
    }
}

/// A type that `f32` values can be stored as.
trait Target: Number {
    fn from_f32(value: f32) -> Self;
}

/// Rounds to nearest, halves to even, without a call into the C library, so that it vectorises on
/// every machine: above 2^23 an `f32` is an integer already, below it the addition rounds.
#[inline(always)]
fn round(value: f32) -> f32 {
    const INTEGERS_FROM: f32 = 8_388_608.0;
    let magnitude = value.abs();
    let rounded = (magnitude + INTEGERS_FROM) - INTEGERS_FROM;
    if magnitude < INTEGERS_FROM { rounded.copysign(value) } else { value }
}

macro_rules! integer_target {
    ($($t:ty),*) => {$(
        impl Target for $t {
            #[inline(always)]
            fn from_f32(value: f32) -> Self {
                round(value) as Self // saturates; NaN is 0
            }
        }
    )*};
}
integer_target!(i8, u8, i16, u16, i32, u32, i64, u64);

impl Target for f16 {
    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        Self::from_f32(value)
    }
}

impl Target for f32 {
    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        value
    }
}

impl Target for f64 {
    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        value.into()
    }
}

fn encode<T: Target, const SWAP: bool>(
    source: &[f32],
    first: usize,
    step: isize,
    count: usize,
    out: &mut [u8],
    at: usize,
) {
    let size = size_of::<T>();
    let store = |bytes: &mut [u8], value: f32| {
        let stored = T::from_f32(value);
        let stored = if SWAP { stored.reversed() } else { stored };
        bytes.copy_from_slice(bytemuck::bytes_of(&stored));
    };
    let samples = out[at * size..(at + count) * size].chunks_exact_mut(size);
    if step == 1 {
        for (bytes, &value) in samples.zip(&source[first..first + count]) {
            store(bytes, value);
        }
    } else {
        for (i, bytes) in samples.enumerate() {
            store(bytes, source[first.wrapping_add_signed(step.wrapping_mul(i as isize))]);
        }
    }
}

fn encode_bits(source: &[f32], first: usize, step: isize, count: usize, out: &mut [u8], at: usize) {
    for i in 0..count {
        let value = source[first.wrapping_add_signed(step.wrapping_mul(i as isize))];
        let bit = u8::from(round(value) >= 1.0);
        out[(at + i) / 8] |= bit << (7 - (at + i) % 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scaling;
    use crate::decode::decoder;

    fn stored(d: Datatype, values: &[f32]) -> Vec<f32> {
        let mut bytes = vec![0; d.bytes_for(values.len()).unwrap() as usize];
        encoder(d, ByteOrder::Big)(values, 0, 1, values.len(), &mut bytes, 0);
        let mut back = vec![0.0; values.len()];
        decoder(d, ByteOrder::Big)(&bytes, 0, 1, Scaling::NONE, &mut back);
        back
    }

    #[test]
    fn integers_round_to_even_saturate_and_make_nan_zero() {
        let values = [0.5, 1.5, -2.5, 3.499, 1e30, -1e30, f32::NAN, f32::INFINITY];
        assert_eq!(stored(Datatype::Int8, &values), [0., 2., -2., 3., 127., -128., 0., 127.]);
        assert_eq!(stored(Datatype::UInt16, &values), [0., 2., 0., 3., 65535., 0., 0., 65535.]);
        assert_eq!(stored(Datatype::Bit, &values), [0., 1., 0., 1., 1., 0., 0., 1.]);
    }

    #[test]
    fn rounding_agrees_with_the_standard_library() {
        for i in -4000..4000 {
            let x = i as f32 * 0.125;
            assert_eq!(round(x), x.round_ties_even(), "{x}");
        }
        for x in [8_388_607.5f32, 8_388_609.0, -8_388_607.5, 1e20] {
            assert_eq!(round(x), x.round_ties_even(), "{x}");
        }
    }

    #[test]
    fn floats_keep_nan_and_infinity() {
        for d in [Datatype::Float16, Datatype::Float32, Datatype::Float64] {
            let back = stored(d, &[f32::NAN, f32::NEG_INFINITY, 0.25]);
            assert!(back[0].is_nan());
            assert_eq!(back[1..], [f32::NEG_INFINITY, 0.25]);
        }
    }

    #[test]
    fn what_fits_a_type_returns_unchanged() {
        for d in Datatype::ALL {
            let values = if d == Datatype::Bit { [0.0, 1.0, 1.0] } else { [0.0, 17.0, 127.0] };
            assert_eq!(stored(d, &values), values, "{d}");
        }
    }
}
