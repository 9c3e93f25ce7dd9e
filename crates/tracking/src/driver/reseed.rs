//! Seeds whose chances follow the streamlines that are there.

use fimbria_compute::comm::Comm;

use crate::Sample;
use crate::densities::SeedChances;

/// Starts of the first stretch, and of each later one the part of all before it: chances change where a stretch
/// ends, by the number of a start alone, so that they are the same for any threads, rounds and processes.
const FIRST: u64 = 1024;
const PART: u64 = 8;

/// Chances of seeds that follow what is made.
pub trait Reseed: Sync {
    /// Those of the streamlines that are started next.
    fn chances(&self) -> &SeedChances;

    /// Takes a streamline that is kept, on any thread, in any order.
    fn pass(&self, sample: &Sample<'_>);

    /// What was passed since the last call counts, or is as if it had never been.
    fn settle(&mut self, counts: bool);

    /// A stretch of so many starts ends, on every process: chances change.
    fn renew(&mut self, starts: u64, comm: &dyn Comm);
}

/// Where the stretch ends that begins at this start.
pub(super) fn end_of_stretch(begin: u64) -> u64 {
    begin + FIRST.max(begin / PART)
}
