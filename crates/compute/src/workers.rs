//! The threads that work, and the vector instructions they use.

use crate::SimdLevel;

/// The operating system refused to start threads.
#[derive(Debug, thiserror::Error)]
#[error("could not start {threads} worker threads")]
pub struct WorkersError {
    threads: usize,
    source: rayon::ThreadPoolBuildError,
}

/// A pool of threads and the SIMD level they run at; passed to every function that works in
/// parallel.
#[derive(Debug)]
pub struct Workers {
    pool: rayon::ThreadPool,
    simd: SimdLevel,
}

impl Workers {
    /// A pool of `threads` threads (0: one per core this process may use) at the best SIMD level.
    ///
    /// # Errors
    /// Where the threads cannot be started.
    pub fn new(threads: usize) -> Result<Self, WorkersError> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("fimbria-{i}"))
            .build()
            .map_err(|source| WorkersError { threads, source })?;
        Ok(Self { pool, simd: SimdLevel::best() })
    }

    /// The same pool at another SIMD level.
    #[must_use]
    pub fn with_simd(self, simd: SimdLevel) -> Self {
        Self { simd, ..self }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// The SIMD level kernels run at.
    pub fn simd(&self) -> SimdLevel {
        self.simd
    }

    /// Runs `work` inside the pool: rayon's parallel iterators in it use these threads only.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }
}
