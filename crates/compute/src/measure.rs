//! What this processor attains: memory and cache bandwidth and multiply-add rate, the floors that
//! times are held against.
//!
//! Every measurement counts its bytes or operations and gives them beside the best time of
//! several repetitions, on data that are not zeros, with results that the compiler must keep. All
//! threads of the [`Workers`] run at once, each on memory of its own that it has touched first;
//! for a table by thread count measure with pools of 1, 2, ... threads.

mod rows;

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pulp::{Simd, WithSimd};

pub use self::rows::rows;
use crate::{Lanes, Real, SimdLevel, Workers};

/// How long one measurement repeats its work.
const PATIENCE: Duration = Duration::from_millis(60);

/// Bytes that a thread at least reads in one repetition, so that starting it costs nothing.
const REPETITION: usize = 4 << 20;

/// Bytes that all threads together, and each at least, go through to measure memory: several times
/// the last cache of processors with few and with many cores.
const MEMORY_TOTAL: usize = 512 << 20;
const MEMORY_THREAD: usize = 32 << 20;

/// Working sets of a thread from within any first cache to beyond most second ones.
const CACHE_SETS: [usize; 7] =
    [8 << 10, 32 << 10, 128 << 10, 512 << 10, 2 << 20, 8 << 20, 32 << 20];

/// Independent multiply-adds in flight: enough for two units of four cycles' latency, and few
/// enough for sixteen registers.
const CHAINS: usize = 12;

/// Multiply-adds of each chain in one repetition.
const STEPS: usize = 50_000;

/// An attained bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidth {
    /// Bytes each thread goes through again and again.
    pub working_set: usize,
    /// Bytes read and written by all threads in one repetition.
    pub bytes: u64,
    /// The best time of one repetition.
    pub seconds: f64,
}

impl Bandwidth {
    /// Bytes in a second.
    pub fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}

/// An attained arithmetic rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The SIMD level.
    pub level: SimdLevel,
    /// f32 operations by all threads in one repetition; a multiply-add counts as two.
    pub operations: u64,
    /// The best time of one repetition.
    pub seconds: f64,
}

impl Rate {
    /// Operations in a second.
    pub fn operations_per_second(&self) -> f64 {
        self.operations as f64 / self.seconds
    }
}

/// What a processor attains with some number of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuMeasurement {
    /// Number of threads that ran at once.
    pub threads: usize,
    /// Reading memory beyond the caches.
    pub memory_read: Bandwidth,
    /// `a = b + s c` on memory beyond the caches, counted as two reads and one write (the read of
    /// `a` that most processors make before writing it is not counted).
    pub memory_triad: Bandwidth,
    /// Reading working sets of 8 KiB to 32 MiB a thread: each cache shows as a step.
    pub cache_read: Vec<Bandwidth>,
    /// Multiply-adds on registers, at each SIMD level of the processor.
    pub multiply_add: Vec<Rate>,
}

/// Measures everything with the threads of `workers`, in about two seconds and with 512 MiB of
/// memory (32 MiB a thread where that is more).
pub fn cpu(workers: &Workers) -> CpuMeasurement {
    let memory_set = (MEMORY_TOTAL / workers.threads()).max(MEMORY_THREAD);
    let levels = SimdLevel::available();
    CpuMeasurement {
        threads: workers.threads(),
        memory_read: read(workers, memory_set),
        memory_triad: triad(workers, memory_set),
        cache_read: CACHE_SETS.map(|set| read(workers, set)).to_vec(),
        multiply_add: levels.into_iter().map(|level| multiply_add(workers, level)).collect(),
    }
}

/// Reading `working_set` bytes a thread (a multiple of 64).
fn read(workers: &Workers, working_set: usize) -> Bandwidth {
    let (level, n) = (workers.simd(), working_set / size_of::<f32>());
    let passes = REPETITION.div_ceil(working_set.max(1));
    let seconds = best_time(workers, || {
        let data = numbers(n);
        move || {
            for _ in 0..passes {
                black_box(level.run(Sum(black_box(&data))));
            }
        }
    });
    let bytes = (workers.threads() * passes * n * size_of::<f32>()) as u64;
    Bandwidth { working_set, bytes, seconds }
}

/// `a = b + s c` on `working_set` bytes a thread, a third for each array.
fn triad(workers: &Workers, working_set: usize) -> Bandwidth {
    let (level, n) = (workers.simd(), working_set / 3 / size_of::<f32>());
    let passes = REPETITION.div_ceil(working_set.max(1));
    let seconds = best_time(workers, || {
        let (mut a, b, c) = (numbers(n), numbers(n), numbers(n));
        move || {
            for _ in 0..passes {
                level.run(Triad { a: black_box(&mut a), b: black_box(&b), c: black_box(&c) });
            }
        }
    });
    let bytes = (workers.threads() * passes * 3 * n * size_of::<f32>()) as u64;
    Bandwidth { working_set, bytes, seconds }
}

/// Multiply-adds on registers at `level`.
fn multiply_add(workers: &Workers, level: SimdLevel) -> Rate {
    let lanes = level.run(CountLanes);
    let seconds = best_time(workers, || {
        let start = numbers(CHAINS * lanes);
        move || {
            black_box(level.run(MultiplyAdd(black_box(&start))));
        }
    });
    let operations = (workers.threads() * STEPS * CHAINS * lanes * 2) as u64;
    Rate { level, operations, seconds }
}

/// `n` numbers that are not zeros, in memory that this thread is the first to touch.
fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| 1.0 + (i % 1024) as f32 / 1024.0).collect()
}

/// The least time in which all threads together do once the work that `prepare` makes for each.
fn best_time<W: FnMut()>(workers: &Workers, prepare: impl Fn() -> W + Sync) -> f64 {
    let together = Barrier::new(workers.threads());
    let repetitions = AtomicUsize::new(0);
    let of_thread = || {
        let mut work = prepare();
        work();
        let begin = Instant::now();
        work();
        let fit = PATIENCE.as_nanos() / begin.elapsed().as_nanos().max(1);
        repetitions.fetch_max(fit.clamp(3, 1000) as usize, Ordering::Relaxed);
        together.wait();
        let mut times = Vec::new();
        for _ in 0..repetitions.load(Ordering::Relaxed) {
            together.wait();
            let begin = Instant::now();
            work();
            times.push((begin, Instant::now()));
        }
        times
    };
    // Each repetition takes from the first thread's begin to the last one's end.
    let threads = workers.install(|| rayon::broadcast(|_| of_thread()));
    let mut best = f64::INFINITY;
    for repetition in 0..repetitions.into_inner() {
        let begin = threads.iter().map(|times| times[repetition].0).min();
        let end = threads.iter().map(|times| times[repetition].1).max();
        if let (Some(begin), Some(end)) = (begin, end) {
            best = best.min((end - begin).as_secs_f64());
        }
    }
    best
}

/// The sum of numbers, in eight registers so that additions do not wait for each other.
struct Sum<'a>(&'a [f32]);

impl WithSimd for Sum<'_> {
    type Output = f32;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let n = Lanes::<S>::LANES;
        let mut sums = [Lanes::new(simd, 0.0); 8];
        for group in self.0.chunks_exact(8 * n) {
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = *sum + Lanes::load(simd, &group[k * n..]);
            }
        }
        let [a, b, c, d, e, f, g, h] = sums;
        simd.reduce_sum_f32s((((a + b) + (c + d)) + ((e + f) + (g + h))).register())
    }
}

/// `a = b + s c`
struct Triad<'a> {
    a: &'a mut [f32],
    b: &'a [f32],
    c: &'a [f32],
}

impl WithSimd for Triad<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let n = Lanes::<S>::LANES;
        let s = Lanes::new(simd, 0.75);
        let (b, c) = (self.b.chunks_exact(n), self.c.chunks_exact(n));
        for (a, (b, c)) in self.a.chunks_exact_mut(n).zip(b.zip(c)) {
            s.mul_add(Lanes::load(simd, c), Lanes::load(simd, b)).store(a);
        }
    }
}

/// [`STEPS`] multiply-adds of each of [`CHAINS`] registers, begun with the numbers given.
struct MultiplyAdd<'a>(&'a [f32]);

impl WithSimd for MultiplyAdd<'_> {
    type Output = f32;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let n = Lanes::<S>::LANES;
        let mut chains = [Lanes::new(simd, 0.0); CHAINS];
        for (chain, start) in chains.iter_mut().zip(self.0.chunks_exact(n)) {
            *chain = Lanes::load(simd, start);
        }
        let (a, b) = (Lanes::new(simd, 0.75), Lanes::new(simd, 0.25));
        for _ in 0..STEPS {
            for chain in &mut chains {
                *chain = chain.mul_add(a, b);
            }
        }
        let mut sum = chains[0];
        for chain in &chains[1..] {
            sum = sum + *chain;
        }
        simd.reduce_sum_f32s(sum.register())
    }
}

/// The number of f32 lanes of a level.
struct CountLanes;

impl WithSimd for CountLanes {
    type Output = usize;
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> usize {
        Lanes::<S>::LANES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_operations_are_those_of_all_threads() {
        let workers = Workers::new(2).unwrap();
        let working_set = 1 << 20;
        assert_eq!(read(&workers, working_set).bytes, 2 * 4 * (1 << 20));
        // A third of 2^20 bytes is 87381 numbers.
        assert_eq!(triad(&workers, working_set).bytes, 2 * 4 * 3 * 4 * 87381);
        let rate = multiply_add(&workers, SimdLevel::Scalar);
        assert_eq!(rate.operations, 2 * 2 * (STEPS * CHAINS) as u64);
    }

    /// No processor reads more than a few thousand bytes or operates a few thousand times in a
    /// nanosecond and thread; more would mean that the compiler has removed the work.
    #[test]
    fn the_work_is_really_done() {
        let workers = Workers::new(1).unwrap();
        let bandwidth = read(&workers, 32 << 10).bytes_per_second();
        assert!((1e7..1e12).contains(&bandwidth), "{bandwidth:e}");
        for level in SimdLevel::available() {
            let rate = multiply_add(&workers, level).operations_per_second();
            assert!((1e6..1e12).contains(&rate), "{rate:e} at {level:?}");
        }
    }
}
