//! How things are timed.

use std::time::{Duration, Instant};

use fimbria_compute::Progress;
use fimbria_compute::device::Spent;

use crate::{Console, Failure};

/// The least times of several runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    /// Seconds on the clock.
    pub(crate) wall: f64,
    /// Processor seconds of all threads together, where the system counts them.
    pub(crate) processor: Option<f64>,
    /// Where the seconds on the clock went, of a metered device: of the run that took the least, but for
    /// kernels that were compiled before the first.
    pub(crate) spent: Option<Spent>,
}

/// Times `work`: once uncounted, for fresh memory, caches and clocks, then three times, or as often
/// as half a second allows; fewer times where that takes long.
pub(crate) fn best<E: Into<Failure>>(
    console: &dyn Console,
    mut work: impl FnMut() -> Result<(), E>,
) -> Result<Time, Failure> {
    const PATIENCE: Duration = Duration::from_millis(500);
    const LEAST_RUNS: usize = 3;
    const LONG: Duration = Duration::from_secs(5);
    const MOST_RUNS: usize = 100;
    let first = once(console, &mut work)?;
    let begun = Instant::now();
    let mut best = Time { wall: f64::INFINITY, processor: None, spent: None };
    for run in 0..MOST_RUNS {
        let elapsed = begun.elapsed();
        if elapsed > LONG || (run >= LEAST_RUNS && elapsed > PATIENCE) {
            break;
        }
        console.check()?;
        let time = once(console, &mut work)?;
        if time.wall < best.wall {
            (best.wall, best.spent) = (time.wall, time.spent);
        }
        best.processor = match (best.processor, time.processor) {
            (Some(least), Some(now)) => Some(least.min(now)),
            (_, now) => now,
        };
    }
    best.compiled_in(first);
    Ok(best)
}

impl Time {
    /// As if `factor` times as much had been done, by kernels compiled once.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self {
            wall: factor * self.wall,
            processor: self.processor.map(|seconds| factor * seconds),
            spent: self.spent.map(|spent| Spent { compile: spent.compile, ..spent.times(factor) }),
        }
    }

    /// One after the other.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            wall: self.wall + other.wall,
            processor: self.processor.zip(other.processor).map(|(a, b)| a + b),
            spent: self.spent.zip(other.spent).map(|(a, b)| a.plus(b)),
        }
    }

    /// Takes over what compiling took in a run before.
    pub(crate) fn compiled_in(&mut self, before: Self) {
        if let (Some(spent), Some(before)) = (&mut self.spent, before.spent) {
            spent.compile += before.compile;
        }
    }
}

/// Times `work` once.
pub(crate) fn once<E: Into<Failure>>(
    console: &dyn Console,
    work: impl FnOnce() -> Result<(), E>,
) -> Result<Time, Failure> {
    let spent = console.spent();
    let (processor, wall) = (processor_seconds(), Instant::now());
    work().map_err(Into::into)?;
    let wall = wall.elapsed().as_secs_f64();
    let processor = processor.zip(processor_seconds()).map(|(before, now)| now - before);
    let each = console.spent().into_iter().zip(spent).map(|(now, before)| now.since(before));
    // The clocks of those that others were timed beside ran, too.
    let spent = each.filter(Spent::is_of_work).reduce(Spent::plus);
    Ok(Time { wall, processor, spent })
}

/// Processor time of this process so far.
#[cfg(unix)]
fn processor_seconds() -> Option<f64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    (status == 0).then_some(time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64)
}

#[cfg(not(unix))]
fn processor_seconds() -> Option<f64> {
    None
}

/// The most memory that this process has had, in bytes.
#[cfg(target_os = "linux")]
pub(crate) fn peak_memory() -> Option<u64> {
    // SAFETY: all fields are numbers; the call fills them.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    // Linux counts in KiB; others in other units.
    u64::try_from(usage.ru_maxrss).ok().map(|kilobytes| kilobytes << 10)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn peak_memory() -> Option<u64> {
    None
}

/// Lets a library warn and be interrupted; its progress would stand among the rows.
pub(crate) struct Interruptible<'a>(pub(crate) &'a dyn Console);

impl Progress for Interruptible<'_> {
    fn start(&self, _what: &str, _total: u64) {}
    fn advance(&self, _items: u64) {}
    fn warn(&self, message: &str) {
        self.0.warn(message);
    }
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}
