use std::sync::Arc;

use rayon::prelude::*;
use rustfft::Fft;

use super::{Complex, FftError, Float, check_length};
use crate::Workers;

/// Elements that one task transforms: enough to outweigh handing it over.
const TASK: usize = 1 << 15;

/// The transforms of many lines of one length, each line contiguous.
#[derive(Clone)]
pub struct Fft1<T: Float> {
    pub(super) forward: Arc<dyn Fft<T>>,
    pub(super) inverse: Arc<dyn Fft<T>>,
}

impl<T: Float> Fft1<T> {
    /// A plan for lines of `length`.
    ///
    /// # Errors
    /// Where `length` is zero or has factors other than 2, 3, 5 and 7.
    pub fn new(length: usize) -> Result<Self, FftError> {
        let length = check_length(length)?;
        let [forward, inverse] = T::lines(length);
        Ok(Self { forward, inverse })
    }

    /// Number of elements of a line.
    pub fn length(&self) -> usize {
        self.forward.len()
    }

    /// Transforms every line of `data` in place.
    ///
    /// # Panics
    /// Where `data` is not a whole number of lines.
    pub fn forward(&self, workers: &Workers, data: &mut [Complex<T>]) {
        self.lines(workers, data, &*self.forward, T::one());
    }

    /// Undoes [`forward`](Self::forward).
    ///
    /// # Panics
    /// Where `data` is not a whole number of lines.
    pub fn inverse(&self, workers: &Workers, data: &mut [Complex<T>]) {
        self.lines(workers, data, &*self.inverse, reciprocal(self.length()));
    }

    fn lines(&self, workers: &Workers, data: &mut [Complex<T>], fft: &dyn Fft<T>, scale: T) {
        assert!(data.len().is_multiple_of(fft.len()), "not a whole number of lines");
        let lines = (TASK / fft.len()).max(1);
        let tasks = data.par_chunks_mut(lines * fft.len());
        workers.install(|| {
            tasks.for_each_init(
                || scratch(fft),
                |scratch, task| {
                    fft.process_with_scratch(task, scratch);
                    if scale != T::one() {
                        task.iter_mut().for_each(|x| *x = x.scale(scale));
                    }
                },
            )
        });
    }
}

/// The working memory that `fft` needs in place.
pub(super) fn scratch<T: Float>(fft: &dyn Fft<T>) -> Vec<Complex<T>> {
    vec![Complex::new(T::zero(), T::zero()); fft.get_inplace_scratch_len()]
}

/// 1 / n.
pub(super) fn reciprocal<T: Float>(n: usize) -> T {
    T::rounded(1.0 / n as f64)
}
