//! Random numbers that depend on what they are for, not on who draws them or when.
//!
//! Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3") scrambles a
//! 128-bit counter under a 64-bit key. Here the key is the seed and the counter is (item, step,
//! stream): item is the thing itself (a voxel of the seed grid, a sample), never a running index,
//! so that results do not depend on threads, chunks, ranks or devices. Kernels with
//! [`KERNEL_TEXT`] draw the same numbers.

use crate::math::{ln, sincos_turns};
use crate::real::{Real, Word};

/// The same functions for kernels, in the kernel dialect; needs
/// [`math::KERNEL_TEXT`](crate::math::KERNEL_TEXT) before it.
pub const KERNEL_TEXT: &str = include_str!("philox/kernel.cl");

const ROUNDS: u32 = 10;
const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// The golden ratio and √3 - 1, in units of 2^-32: each round adds them to the key.
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// A source of random numbers: a seed, and what the numbers are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Philox {
    seed: u64,
    stream: u32,
}

impl Philox {
    /// Stream 0 of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { seed, stream: 0 }
    }

    /// Another stream of the same seed, for numbers that serve another purpose.
    #[must_use]
    pub fn stream(self, stream: u32) -> Self {
        Self { stream, ..self }
    }

    /// Four random words for `step` of `item`.
    #[inline]
    pub fn at(self, item: u64, step: u32) -> [u32; 4] {
        self.lanes(item as u32, (item >> 32) as u32, step)
    }

    /// As [`at`](Self::at) for several items side by side, each given by the low and the high half
    /// of its number, and its step.
    #[inline(always)]
    pub fn lanes<W: Word>(self, item_low: W, item_high: W, step: W) -> [W; 4] {
        let key = [self.seed as u32, (self.seed >> 32) as u32];
        philox4x32_10([step, step.splat(self.stream), item_low, item_high], key)
    }
}

/// The bijection itself, as Random123 defines it: `counter` scrambled under `key`.
#[inline(always)]
fn philox4x32_10<W: Word>(counter: [W; 4], key: [u32; 2]) -> [W; 4] {
    let [mut a, mut b, mut c, mut d] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..ROUNDS {
        let (low0, high0) = a.mul_wide(a.splat(MULTIPLIERS[0]));
        let (low1, high1) = c.mul_wide(c.splat(MULTIPLIERS[1]));
        (a, b, c, d) = (high1 ^ b ^ k0, low1, high0 ^ d ^ k1, low0);
        (k0, k1) = (k0.wrapping_add(WEYL[0]), k1.wrapping_add(WEYL[1]));
    }
    [a, b, c, d]
}

/// A number strictly between 0 and 1 from a random word: one of the odd multiples of 2^-24.
#[inline(always)]
pub fn uniform<R: Real>(word: R::Word) -> R {
    // With the top 23 bits as mantissa: in [1, 2), then in [0, 1), then half a step up.
    let one_to_two = R::from_word((word >> 9) | 0x3f80_0000);
    (one_to_two - 1.0) + 1.0 / 16_777_216.0
}

/// Four independent standard normal numbers from four random words, by the method of Box and
/// Muller; none is beyond 5.77, where 23 bits end.
#[inline(always)]
pub fn normals<R: Real>(words: [R::Word; 4]) -> [R; 4] {
    let [a, b] = normal_pair(words[0], words[1]);
    let [c, d] = normal_pair(words[2], words[3]);
    [a, b, c, d]
}

#[inline(always)]
fn normal_pair<R: Real>(radius: R::Word, angle: R::Word) -> [R; 2] {
    let radius = (ln(uniform::<R>(radius)) * -2.0).sqrt();
    let (sin, cos) = sincos_turns(uniform::<R>(angle));
    [radius * cos, radius * sin]
}

#[cfg(test)]
mod tests;
