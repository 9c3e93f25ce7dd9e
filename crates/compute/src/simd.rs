//! Which vector instructions to use, decided at run time: one binary for every processor.

use pulp::{Simd, WithSimd};

/// A set of vector instructions.
///
/// Results have the same bits on [`Avx2`](Self::Avx2), [`Avx512`](Self::Avx512) and
/// [`Neon`](Self::Neon), which fuse `a * b + c`; [`Scalar`](Self::Scalar) rounds in between and
/// differs from them by rounding. Processors of x86-64 without FMA, all from before 2013, take it too:
/// a level of their own would be a quarter of the program's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SimdLevel {
    /// One element at a time (on x86-64 that is scalar SSE2); runs everywhere.
    Scalar,
    /// Eight lanes of x86-64-v3 (AVX2 and FMA).
    Avx2,
    /// Sixteen lanes of x86-64-v4 (AVX-512 F, BW, CD, DQ, VL).
    Avx512,
    /// Four lanes of AArch64.
    Neon,
}

impl SimdLevel {
    /// Every level this processor has, least first.
    pub fn available() -> Vec<Self> {
        let mut levels = vec![Self::Scalar];
        #[cfg(target_arch = "x86_64")]
        {
            use pulp::x86::{V3, V4};
            levels.extend(V3::try_new().map(|_| Self::Avx2));
            levels.extend(V4::try_new().map(|_| Self::Avx512));
        }
        #[cfg(target_arch = "aarch64")]
        levels.extend(pulp::aarch64::Neon::try_new().map(|_| Self::Neon));
        levels
    }

    /// The widest level this processor has.
    pub fn best() -> Self {
        Self::available().pop().unwrap_or(Self::Scalar)
    }

    /// True where `a * b + c` is rounded once.
    pub fn fuses(self) -> bool {
        matches!(self, Self::Avx2 | Self::Avx512 | Self::Neon)
    }

    /// Runs `kernel` compiled for this level, or for [`Scalar`](Self::Scalar) where the processor
    /// does not have it.
    pub fn run<K: WithSimd>(self, kernel: K) -> K::Output {
        // The kernel is compiled for `Scalar` in one place, the end.
        #[cfg(target_arch = "x86_64")]
        {
            use pulp::x86::{V3, V4};
            if self == Self::Avx512
                && let Some(simd) = V4::try_new()
            {
                return Simd::vectorize(simd, kernel);
            }
            if self == Self::Avx2
                && let Some(simd) = V3::try_new()
            {
                return Simd::vectorize(simd, kernel);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if self == Self::Neon
            && let Some(simd) = pulp::aarch64::Neon::try_new()
        {
            return Simd::vectorize(simd, kernel);
        }
        pulp::Scalar::new().vectorize(kernel)
    }
}
