//! Numbers side by side that can be read from and written to memory.

use fimbria_compute::{Lanes, Real, Words};
use pulp::Simd;

/// One `f32`, or a register of them.
pub(crate) trait Pack: Real {
    /// What proves that the processor has such registers.
    type Token: Copy;
    /// How many numbers.
    const LANES: usize;

    /// `value` in every lane.
    fn filled(token: Self::Token, value: f32) -> Self;

    /// The first [`LANES`](Self::LANES) elements.
    fn read(token: Self::Token, from: &[f32]) -> Self;

    /// The first [`LANES`](Self::LANES) elements.
    fn read_words(token: Self::Token, from: &[u32]) -> Self::Word;

    /// Writes as many lanes as there is room for.
    fn write(self, to: &mut [f32]);
}

impl Pack for f32 {
    type Token = ();
    const LANES: usize = 1;

    #[inline(always)]
    fn filled((): (), value: f32) -> Self {
        value
    }
    #[inline(always)]
    fn read((): (), from: &[f32]) -> Self {
        from[0]
    }
    #[inline(always)]
    fn read_words((): (), from: &[u32]) -> u32 {
        from[0]
    }
    #[inline(always)]
    fn write(self, to: &mut [f32]) {
        to[0] = self;
    }
}

impl<S: Simd> Pack for Lanes<S> {
    type Token = S;
    const LANES: usize = Self::LANES;

    #[inline(always)]
    fn filled(simd: S, value: f32) -> Self {
        Self::new(simd, value)
    }
    #[inline(always)]
    fn read(simd: S, from: &[f32]) -> Self {
        Self::load(simd, from)
    }
    #[inline(always)]
    fn read_words(simd: S, from: &[u32]) -> Words<S> {
        Words::load(simd, from)
    }
    #[inline(always)]
    fn write(self, to: &mut [f32]) {
        self.store_partial(to);
    }
}
