//! Processes that do the same work.

use fimbria_compute::comm::Comm;

/// Processes that should do the same work do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "process {rank} found other inputs, options or finished work than process 0: all need \
     the same files, on a file system that they share"
)]
pub(crate) struct DifferentWork {
    rank: usize,
}

/// Makes sure that all processes do what the first one does: the problem of this `fingerprint`, from
/// the same iteration, or whatever else tells where it begins.
pub(crate) fn agree(
    comm: &dyn Comm,
    fingerprint: u128,
    begins_at: u64,
) -> Result<(), DifferentWork> {
    let mut first = [0; 24];
    first[..16].copy_from_slice(&fingerprint.to_le_bytes());
    first[16..].copy_from_slice(&begins_at.to_le_bytes());
    let mine = first;
    comm.broadcast(&mut first, 0);
    if mine == first { Ok(()) } else { Err(DifferentWork { rank: comm.rank() }) }
}
