use std::sync::Arc;

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftNum, FftPlanner};

/// What transforms are made in: `f32` or `f64`.
///
/// Plans of each are made here and not where they are used, so that rustfft is compiled once and not by
/// every crate that transforms.
pub trait Float: FftNum {
    /// The nearest of these numbers.
    fn rounded(value: f64) -> Self;

    /// Plans for lines of `length`: forward and inverse.
    fn lines(length: usize) -> [Arc<dyn Fft<Self>>; 2];

    /// Plans for real lines of `length`: forward, and back from the half of the spectrum.
    fn real_lines(length: usize) -> (Arc<dyn RealToComplex<Self>>, Arc<dyn ComplexToReal<Self>>);
}

macro_rules! float {
    ($number:ty) => {
        impl Float for $number {
            fn rounded(value: f64) -> Self {
                value as Self
            }

            fn lines(length: usize) -> [Arc<dyn Fft<Self>>; 2] {
                let mut planner = FftPlanner::new();
                [planner.plan_fft_forward(length), planner.plan_fft_inverse(length)]
            }

            fn real_lines(
                length: usize,
            ) -> (Arc<dyn RealToComplex<Self>>, Arc<dyn ComplexToReal<Self>>) {
                let mut planner = RealFftPlanner::new();
                (planner.plan_fft_forward(length), planner.plan_fft_inverse(length))
            }
        }
    };
}

float!(f32);
float!(f64);
