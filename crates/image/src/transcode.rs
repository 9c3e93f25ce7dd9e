//! Stored samples to stored samples of another order, byte order or type, without a detour that
//! loses digits: whole numbers pass as whole numbers, the others in `f64`.

use std::sync::atomic::{AtomicU64, Ordering};

use half::f16;

use crate::decode::Number;
use crate::layout::Layout;
use crate::{ByteOrder, Datatype, Scaling};

/// Samples as they are stored, on their way to be stored otherwise.
pub(crate) struct Transcoder<'a> {
    pub(crate) data: &'a [u8],
    /// The stored samples in the order of the target.
    pub(crate) walk: Layout,
    pub(crate) from: (Datatype, ByteOrder),
    /// What is applied on the way; [`Scaling::NONE`] where the target keeps the scaling.
    pub(crate) scaling: Scaling,
    pub(crate) to: (Datatype, ByteOrder),
    pub(crate) changes: Changes,
}

/// How many samples the target type could not hold.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) clipped: AtomicU64,
    pub(crate) rounded: AtomicU64,
}

/// What became of a number.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    None,
    /// To the nearest number of the type.
    Rounded,
    /// It lies outside the type, is too small for it, or is NaN where there is none.
    Clipped,
}

/// Numbers with all their digits.
enum Numbers {
    Whole(Vec<i128>),
    Real(Vec<f64>),
}

/// A type that any number can be brought to.
trait Target: Number {
    fn of_whole(value: i128) -> (Self, Change);
    fn of_real(value: f64) -> (Self, Change);
}

macro_rules! integer {
    ($($t:ty),*) => {$(
        impl Target for $t {
            fn of_whole(value: i128) -> (Self, Change) {
                match Self::try_from(value) {
                    Ok(kept) => (kept, Change::None),
                    Err(_) if value < 0 => (Self::MIN, Change::Clipped),
                    Err(_) => (Self::MAX, Change::Clipped),
                }
            }
            fn of_real(value: f64) -> (Self, Change) {
                if value.is_nan() {
                    return (0, Change::Clipped);
                }
                let whole = value.round_ties_even();
                match Self::of_whole(whole as i128) { // saturates
                    (kept, Change::None) if whole != value => (kept, Change::Rounded),
                    other => other,
                }
            }
        }
    )*};
}
integer!(i8, u8, i16, u16, i32, u32, i64, u64);

macro_rules! float {
    ($($t:ty: $of:expr),*) => {$(
        impl Target for $t {
            fn of_whole(value: i128) -> (Self, Change) {
                let kept: Self = $of(value as f64);
                let back = kept.to_f64();
                let change = match back.is_finite() {
                    true if back as i128 == value => Change::None,
                    true => Change::Rounded,
                    false => Change::Clipped,
                };
                (kept, change)
            }
            fn of_real(value: f64) -> (Self, Change) {
                let kept: Self = $of(value);
                let back = kept.to_f64();
                let change = if back == value || value.is_nan() {
                    Change::None
                } else if back.is_finite() && back != 0.0 {
                    Change::Rounded
                } else {
                    Change::Clipped
                };
                (kept, change)
            }
        }
    )*};
}
float!(f16: f16::from_f64, f32: |x| x as f32, f64: |x| x);

/// Runs a piece of code for the Rust type of a datatype; `Bit` has none and a piece of its own.
macro_rules! with_type {
    ($datatype:expr, $t:ident => $body:expr, bit => $bit:expr) => {
        match $datatype {
            Datatype::Bit => $bit,
            Datatype::Int8 => {
                type $t = i8;
                $body
            }
            Datatype::UInt8 => {
                type $t = u8;
                $body
            }
            Datatype::Int16 => {
                type $t = i16;
                $body
            }
            Datatype::UInt16 => {
                type $t = u16;
                $body
            }
            Datatype::Int32 => {
                type $t = i32;
                $body
            }
            Datatype::UInt32 => {
                type $t = u32;
                $body
            }
            Datatype::Int64 => {
                type $t = i64;
                $body
            }
            Datatype::UInt64 => {
                type $t = u64;
                $body
            }
            Datatype::Float16 => {
                type $t = f16;
                $body
            }
            Datatype::Float32 => {
                type $t = f32;
                $body
            }
            Datatype::Float64 => {
                type $t = f64;
                $body
            }
        }
    };
}

/// Bit number `at`, most significant first.
fn bit(data: &[u8], at: usize) -> u8 {
    data[at / 8] >> (7 - at % 8) & 1
}

impl Transcoder<'_> {
    /// Bytes of all samples in the target.
    pub(crate) fn n_bytes(&self) -> usize {
        (self.walk.len() * self.to.0.bits()).div_ceil(8)
    }

    /// Bytes `from .. to` of the target; both hold whole samples, or are the end.
    pub(crate) fn encode(&self, from: usize, to: usize) -> Vec<u8> {
        let bits = self.to.0.bits();
        let start = from * 8 / bits;
        let end = (to * 8 / bits).min(self.walk.len());
        let mut out = vec![0; to - from];
        let unchanged = self.from.0 == self.to.0 && self.scaling.is_none();
        self.walk.for_each_run(start, end - start, |done, sample, step, count| {
            if unchanged {
                self.copy(sample, step, count, &mut out, done);
            } else {
                self.write(&self.read(sample, step, count), &mut out, done);
            }
        });
        out
    }

    /// The same bytes, turned round where the byte orders differ.
    fn copy(&self, first: usize, step: isize, count: usize, out: &mut [u8], at: usize) {
        let places = (0..count as isize).map(|i| first.wrapping_add_signed(step.wrapping_mul(i)));
        let size = match self.from.0.bits() {
            1 => {
                for (i, place) in places.enumerate() {
                    out[(at + i) / 8] |= bit(self.data, place) << (7 - (at + i) % 8);
                }
                return;
            }
            bits => bits / 8,
        };
        let out = &mut out[at * size..(at + count) * size];
        let turned = self.from.1 != self.to.1 && size > 1;
        if step == 1 && !turned {
            out.copy_from_slice(&self.data[first * size..(first + count) * size]);
            return;
        }
        for (bytes, place) in out.chunks_exact_mut(size).zip(places) {
            bytes.copy_from_slice(&self.data[place * size..(place + 1) * size]);
            if turned {
                bytes.reverse();
            }
        }
    }

    fn read(&self, first: usize, step: isize, count: usize) -> Numbers {
        let places = (0..count as isize).map(|i| first.wrapping_add_signed(step.wrapping_mul(i)));
        let (datatype, order) = self.from;
        let Scaling { slope, intercept } = self.scaling;
        let whole = !datatype.is_float() && self.scaling.is_none();
        with_type!(datatype,
            T => {
                let numbers = places.map(|place| {
                    let size = size_of::<T>();
                    let bytes = &self.data[place * size..(place + 1) * size];
                    let stored = bytemuck::pod_read_unaligned::<T>(bytes);
                    if order == ByteOrder::NATIVE { stored } else { stored.reversed() }
                });
                if whole {
                    Numbers::Whole(numbers.map(Number::to_i128).collect())
                } else if self.scaling.is_none() {
                    Numbers::Real(numbers.map(Number::to_f64).collect())
                } else {
                    Numbers::Real(numbers.map(|x| x.to_f64() * slope + intercept).collect())
                }
            },
            bit => {
                let numbers = places.map(|place| bit(self.data, place));
                if whole {
                    Numbers::Whole(numbers.map(i128::from).collect())
                } else {
                    Numbers::Real(numbers.map(|x| f64::from(x) * slope + intercept).collect())
                }
            }
        )
    }

    fn write(&self, numbers: &Numbers, out: &mut [u8], at: usize) {
        let (datatype, order) = self.to;
        let (mut clipped, mut rounded) = (0, 0);
        let mut count = |change| {
            clipped += u64::from(change == Change::Clipped);
            rounded += u64::from(change == Change::Rounded);
        };
        with_type!(datatype,
            T => {
                let size = size_of::<T>();
                let mut put = |i: usize, (kept, change): (T, Change)| {
                    count(change);
                    let stored = if order == ByteOrder::NATIVE { kept } else { kept.reversed() };
                    out[(at + i) * size..(at + i + 1) * size]
                        .copy_from_slice(bytemuck::bytes_of(&stored));
                };
                match numbers {
                    Numbers::Whole(all) => {
                        all.iter().enumerate().for_each(|(i, &x)| put(i, T::of_whole(x)));
                    }
                    Numbers::Real(all) => {
                        all.iter().enumerate().for_each(|(i, &x)| put(i, T::of_real(x)));
                    }
                }
            },
            bit => {
                // A bit is a byte that is 0 or 1.
                let mut put = |i: usize, (kept, change): (u8, Change)| {
                    count(if kept > 1 { Change::Clipped } else { change });
                    out[(at + i) / 8] |= u8::from(kept > 0) << (7 - (at + i) % 8);
                };
                match numbers {
                    Numbers::Whole(all) => {
                        all.iter().enumerate().for_each(|(i, &x)| put(i, Target::of_whole(x)));
                    }
                    Numbers::Real(all) => {
                        all.iter().enumerate().for_each(|(i, &x)| put(i, Target::of_real(x)));
                    }
                }
            }
        );
        self.changes.clipped.fetch_add(clipped, Ordering::Relaxed);
        self.changes.rounded.fetch_add(rounded, Ordering::Relaxed);
    }
}
