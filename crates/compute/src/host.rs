//! Vectors in this process's memory.

use fimbria_memory::try_zeros;
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::operator::VectorSpace;
use crate::{Lanes, Real, Workers};

/// Elements that one task works on. Sums are made per block, then over blocks in order, so that
/// they have the same bits for any number of threads and any SIMD level.
pub(crate) const BLOCK: usize = 8192;

/// What can go wrong with vectors in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The allocator has no more.
    #[error("out of memory: a vector of {len} numbers needs {bytes} bytes")]
    OutOfMemory {
        /// Number of elements.
        len: usize,
        /// Bytes asked for.
        bytes: u128,
    },
}

/// The space of vectors of `len` numbers in this process's memory, worked on by all threads.
///
/// # Panics
/// All operations panic on vectors of another length.
#[derive(Clone, Copy, Debug)]
pub struct HostSpace<'w> {
    workers: &'w Workers,
    len: usize,
}

impl<'w> HostSpace<'w> {
    /// Vectors of `len` numbers, worked on by `workers`.
    pub fn new(workers: &'w Workers, len: usize) -> Self {
        Self { workers, len }
    }

    /// The threads that work on these vectors.
    pub fn workers(&self) -> &'w Workers {
        self.workers
    }

    pub(crate) fn check(&self, x: &[f32]) {
        assert_eq!(x.len(), self.len, "a vector of another space");
    }

    /// Runs `task` on corresponding blocks of `x` and `y`.
    fn blocks(&self, x: &[f32], y: &mut [f32], task: impl Fn(&[f32], &mut [f32]) + Sync) {
        self.check(x);
        self.check(y);
        let pairs = x.par_chunks(BLOCK).zip(y.par_chunks_mut(BLOCK));
        self.workers.install(|| pairs.for_each(|(x, y)| task(x, y)));
    }
}

impl VectorSpace for HostSpace<'_> {
    type Vector = Vec<f32>;
    type Error = HostError;

    fn len(&self) -> usize {
        self.len
    }

    fn zeros(&self) -> Result<Vec<f32>, HostError> {
        let bytes = self.len as u128 * size_of::<f32>() as u128;
        try_zeros(self.len).map_err(|_| HostError::OutOfMemory { len: self.len, bytes })
    }

    fn upload(&self, host: &[f32]) -> Result<Vec<f32>, HostError> {
        let mut x = self.zeros()?;
        self.blocks(host, &mut x, |host, x| x.copy_from_slice(host));
        Ok(x)
    }

    fn download(&self, x: &Vec<f32>, host: &mut [f32]) -> Result<(), HostError> {
        self.blocks(x, host, |x, host| host.copy_from_slice(x));
        Ok(())
    }

    fn copy(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        self.blocks(x, y, |x, y| y.copy_from_slice(x));
        Ok(())
    }

    fn axpy(&self, alpha: f32, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        let simd = self.workers.simd();
        self.blocks(x, y, |x, y| simd.run(Axpy { alpha, x, y }));
        Ok(())
    }

    fn scale(&self, alpha: f32, x: &mut Vec<f32>) -> Result<(), HostError> {
        self.check(x);
        let scale = |x: &mut [f32]| x.iter_mut().for_each(|x| *x *= alpha);
        self.workers.install(|| x.par_chunks_mut(BLOCK).for_each(scale));
        Ok(())
    }

    fn dot(&self, x: &Vec<f32>, y: &Vec<f32>) -> Result<f64, HostError> {
        self.check(x);
        self.check(y);
        let simd = self.workers.simd();
        let pairs = x.par_chunks(BLOCK).zip(y.par_chunks(BLOCK));
        let sums: Vec<f64> =
            self.workers.install(|| pairs.map(|(x, y)| simd.run(Dot { x, y })).collect());
        Ok(sums.iter().sum())
    }

    fn project_nonnegative(&self, x: &mut Vec<f32>) -> Result<(), HostError> {
        self.check(x);
        // Written so that a NaN stays one.
        let project = |x: &mut f32| *x = if *x < 0.0 { 0.0 } else { *x };
        let project = |x: &mut [f32]| x.iter_mut().for_each(project);
        self.workers.install(|| x.par_chunks_mut(BLOCK).for_each(project));
        Ok(())
    }
}

/// `y += alpha x`, fused where the level fuses.
struct Axpy<'a> {
    alpha: f32,
    x: &'a [f32],
    y: &'a mut [f32],
}

impl WithSimd for Axpy<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let n = Lanes::<S>::LANES;
        let alpha = Lanes::new(simd, self.alpha);
        let (x, x_rest) = self.x.split_at(self.x.len() / n * n);
        let (y, y_rest) = self.y.split_at_mut(x.len());
        for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
            alpha.mul_add(Lanes::load(simd, x), Lanes::load(simd, y)).store(y);
        }
        let rest = Lanes::load_partial(simd, x_rest);
        alpha.mul_add(rest, Lanes::load_partial(simd, y_rest)).store_partial(y_rest);
    }
}

/// The inner product of one block in f64.
///
/// Products of two `f32` are exact in f64, and the sums run in 16 fixed columns, however many the
/// level's registers hold: the result has the same bits at every level.
struct Dot<'a> {
    x: &'a [f32],
    y: &'a [f32],
}

impl WithSimd for Dot<'_> {
    type Output = f64;
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> f64 {
        let mut columns = [0.0_f64; 16];
        let (x, x_rest) = self.x.as_chunks::<16>();
        let (y, y_rest) = self.y.as_chunks::<16>();
        for (x, y) in x.iter().zip(y) {
            for i in 0..16 {
                columns[i] += f64::from(x[i]) * f64::from(y[i]);
            }
        }
        for (i, (x, y)) in x_rest.iter().zip(y_rest).enumerate() {
            columns[i] += f64::from(*x) * f64::from(*y);
        }
        columns.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimdLevel;

    const LEN: usize = 3 * BLOCK + 37;

    /// Numbers of either sign and several magnitudes.
    fn vector(seed: u64) -> Vec<f32> {
        let random = crate::philox::Philox::new(seed);
        (0..LEN as u64).map(|i| crate::philox::normals::<f32>(random.at(i, 0))[0]).collect()
    }

    /// What `work` gives at every level and for one to three threads.
    fn everywhere<R>(work: impl Fn(&HostSpace) -> R) -> Vec<(SimdLevel, R)> {
        let mut results = Vec::new();
        for level in SimdLevel::available() {
            for threads in 1..=3 {
                let workers = Workers::new(threads).unwrap().with_simd(level);
                results.push((level, work(&HostSpace::new(&workers, LEN))));
            }
        }
        results
    }

    #[test]
    fn dot_is_the_inner_product() {
        let (x, y) = (vector(1), vector(2));
        let workers = Workers::new(2).unwrap();
        let got = HostSpace::new(&workers, LEN).dot(&x, &y).unwrap();
        let terms = || x.iter().zip(&y).map(|(&x, &y)| f64::from(x) * f64::from(y));
        let exact: f64 = terms().sum();
        // Rounding of n f64 additions, in any order, is at most n ε Σ|terms|.
        let bound = LEN as f64 * f64::EPSILON * terms().map(f64::abs).sum::<f64>();
        assert!((got - exact).abs() <= bound, "{got} {exact}");
    }

    #[test]
    fn dot_has_the_same_bits_for_any_threads_and_level() {
        let (x, y) = (vector(1), vector(2));
        let dots = everywhere(|space| space.dot(&x, &y).unwrap().to_bits());
        assert!(dots.iter().all(|dot| dot.1 == dots[0].1), "{dots:x?}");
    }

    #[test]
    fn axpy_has_the_same_bits_for_any_threads_and_fusing_level() {
        let (x, y) = (vector(1), vector(2));
        let expected: Vec<f32> = x.iter().zip(&y).map(|(&x, &y)| 0.37_f32.mul_add(x, y)).collect();
        for (level, got) in everywhere(|space| {
            let mut y = y.clone();
            space.axpy(0.37, &x, &mut y).unwrap();
            y
        }) {
            if level.fuses() {
                assert!(got == expected, "{level:?}");
            }
            // Rounding the product first costs at most half an ulp of it, at most 3 here.
            let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-6;
            assert!(got.iter().zip(&expected).all(close), "{level:?}");
        }
    }

    #[test]
    fn projection_keeps_what_is_positive_or_not_a_number() {
        let workers = Workers::new(2).unwrap();
        let space = HostSpace::new(&workers, 5);
        let mut x = vec![-1.0, 0.0, 2.5, -0.0, f32::NAN];
        space.project_nonnegative(&mut x).unwrap();
        assert_eq!(x[..4], [0.0, 0.0, 2.5, 0.0]);
        assert!(x[4].is_nan());
    }

    #[test]
    fn scaling_and_copies_act_on_every_element() {
        let workers = Workers::new(2).unwrap();
        let space = HostSpace::new(&workers, LEN);
        let host = vector(3);
        let mut x = space.upload(&host).unwrap();
        space.scale(2.0, &mut x).unwrap();
        let mut y = space.zeros().unwrap();
        space.copy(&x, &mut y).unwrap();
        let mut back = vec![0.0; LEN];
        space.download(&y, &mut back).unwrap();
        assert!(back.iter().zip(&host).all(|(back, host)| *back == 2.0 * host));
    }

    #[test]
    fn a_vector_beyond_memory_is_an_error() {
        let workers = Workers::new(1).unwrap();
        let len = usize::MAX / 8;
        let got = HostSpace::new(&workers, len).zeros();
        assert_eq!(got, Err(HostError::OutOfMemory { len, bytes: 4 * len as u128 }));
    }
}
