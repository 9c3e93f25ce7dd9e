//! Every kernel against its scalar twin on a given device, from the bare binary: what
//! `fimbria devices --check` runs to prove a machine or a card.

pub mod collatz;
mod dialect;
mod fourier;
mod mathematics;
mod random;
mod rates;
mod refusal;
mod vectors;

use std::time::Instant;

pub use self::refusal::Refusal;
use crate::device::{Device, DeviceError, KernelSource};
use crate::philox::{Philox, normals};

/// How much a check does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A few work groups, for simulators that look for data races.
    Toy,
    /// Enough to meet every branch; a second or so on a processor.
    Full,
}

/// A kernel beside its oracle.
pub struct Check {
    name: String,
    sources: Vec<KernelSource>,
    needs_f64: bool,
    compare: Box<Compare>,
}

/// Runs kernels on a device and compares them with their oracle.
type Compare = dyn Fn(&Device, Extent) -> Result<Outcome, DeviceError> + Send + Sync;

/// How far a device's results lie from the oracle's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Number of results compared.
    pub results: usize,
    /// Largest difference, in the unit of `tolerance`; NaN or infinite where a result is.
    pub max_error: f64,
    /// Largest difference that rounding explains; 0 where the bits must agree.
    pub tolerance: f64,
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// How far apart the results are.
    Compared(Comparison),
    /// The device lacks what the kernel needs, and no result depends on it: what it lacks, and what goes on in its
    /// place.
    NotRun(&'static str),
}

impl From<Comparison> for Outcome {
    fn from(comparison: Comparison) -> Self {
        Self::Compared(comparison)
    }
}

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckReport {
    /// What came of it.
    pub outcome: Outcome,
    /// Time of the whole check, compilation and oracle included.
    pub seconds: f64,
}

impl Check {
    /// A check that compares as `compare` does, or says why it does not, of kernels with the texts `sources`, in
    /// typical specialisations.
    pub fn new<O: Into<Outcome>>(
        name: impl Into<String>,
        sources: Vec<KernelSource>,
        compare: impl Fn(&Device, Extent) -> Result<O, DeviceError> + Send + Sync + 'static,
    ) -> Self {
        let compare = move |device: &Device, extent| compare(device, extent).map(O::into);
        Self { name: name.into(), sources, needs_f64: false, compare: Box::new(compare) }
    }

    /// The same for a kernel that not every device can run.
    #[must_use]
    pub fn needing_f64(self) -> Self {
        Self { needs_f64: true, ..self }
    }

    /// What is proven, in a few words.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The texts it covers, for compilers that need no device.
    pub fn sources(&self) -> &[KernelSource] {
        &self.sources
    }

    /// Runs it.
    ///
    /// # Errors
    /// Where the device fails, or does not compile the kernel.
    pub fn run(&self, device: &Device, extent: Extent) -> Result<CheckReport, DeviceError> {
        let start = Instant::now();
        let outcome = match self.needs_f64 && !device.info().has_f64 {
            true => Outcome::NotRun(NO_DOUBLE),
            false => (self.compare)(device, extent)?,
        };
        Ok(CheckReport { outcome, seconds: start.elapsed().as_secs_f64() })
    }
}

/// Why checks in double precision are not run.
const NO_DOUBLE: &str = "the device has no double precision: the CPU does this";

impl CheckReport {
    /// False where results were compared and differ, or none came to be compared.
    pub fn passed(&self) -> bool {
        match self.outcome {
            Outcome::Compared(comparison) => comparison.passed(),
            Outcome::NotRun(_) => true,
        }
    }
}

impl Comparison {
    /// Of results whose bits must agree: the error is the number of those that do not.
    pub fn of_bits(oracle: &[u32], device: &[u32]) -> Self {
        let differ = oracle.iter().zip(device).filter(|(a, b)| a != b).count();
        let missing = oracle.len().abs_diff(device.len());
        let max_error = (differ + missing) as f64;
        Self { results: oracle.len(), max_error, tolerance: 0.0 }
    }

    /// Of numbers, as the largest difference over `scale`.
    pub fn of_numbers(oracle: &[f64], device: &[f64], scale: f64, tolerance: f64) -> Self {
        let mut max_error: f64 = if oracle.len() == device.len() { 0.0 } else { f64::INFINITY };
        for (a, b) in oracle.iter().zip(device) {
            let error = (a - b).abs() / scale;
            // `max` would drop a NaN.
            if error.is_nan() || error > max_error {
                max_error = error;
            }
        }
        Self { results: oracle.len(), max_error, tolerance }
    }

    /// True where there are results and the error is within the tolerance; a NaN is not.
    pub fn passed(&self) -> bool {
        self.results > 0 && self.max_error <= self.tolerance
    }
}

/// The checks of this crate's kernels.
pub fn checks() -> Vec<Check> {
    let mut checks = vec![dialect::check(), collatz::check(), random::check(), rates::check()];
    checks.extend(fourier::checks());
    checks.extend(mathematics::checks());
    checks.extend(vectors::checks());
    checks
}

/// `n` standard normal numbers, the same for the same seed.
fn normal_numbers(seed: u64, n: usize) -> Vec<f32> {
    let philox = Philox::new(seed);
    (0..n.div_ceil(4) as u64).flat_map(|item| normals::<f32>(philox.at(item, 0))).take(n).collect()
}

fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_and_missing_results_fail() {
        assert!(!Comparison::of_numbers(&[1.0, 2.0], &[f64::NAN, 2.0], 1.0, 1e9).passed());
        assert!(!Comparison::of_numbers(&[1.0, 2.0], &[1.0], 1.0, 1e9).passed());
        assert!(!Comparison::of_bits(&[1, 2], &[1]).passed());
    }

    #[test]
    fn nothing_compared_proves_nothing() {
        assert!(!Comparison::of_numbers(&[], &[], 1.0, 1.0).passed());
        assert!(!Comparison::of_bits(&[], &[]).passed());
    }

    #[test]
    fn the_largest_difference_counts() {
        let comparison = Comparison::of_numbers(&[1.0, 2.0, 3.0], &[1.0, 2.5, 3.1], 2.0, 0.25);
        assert_eq!(comparison.max_error, 0.25);
        assert!(comparison.passed());
        assert!(!Comparison::of_bits(&[1, 2, 3], &[1, 0, 3]).passed());
    }
}
