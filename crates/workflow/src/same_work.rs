//! Processes that do the same work.

use fimbria_compute::comm::Comm;

/// Processes that should do the same work do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "process {rank} found other inputs, options or finished work than process 0: all need \
     the same files, on a file system that they share"
)]
pub struct DifferentWork {
    rank: usize,
}

/// Makes sure that all processes do what the first one does: the problem of this `fingerprint`, from
/// the same iteration, or whatever else tells where it begins. Where one does not, all get the error,
/// so that none goes on alone.
pub fn ensure_same_work(
    comm: &dyn Comm,
    fingerprint: u128,
    begins_at: u64,
) -> Result<(), DifferentWork> {
    let mut first = [0; 24];
    first[..16].copy_from_slice(&fingerprint.to_le_bytes());
    first[16..].copy_from_slice(&begins_at.to_le_bytes());
    let mine = first;
    comm.broadcast(&mut first, 0);
    let differs = comm.of_each(u64::from(mine != first));
    match differs.iter().position(|&differs| differs != 0) {
        Some(rank) => Err(DifferentWork { rank }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use fimbria_testing::as_processes;

    use super::*;

    #[test]
    fn all_hear_of_the_first_process_that_does_other_work() {
        let ended = as_processes(4, |comm| {
            let fingerprint = if comm.rank() >= 2 { 8 } else { 7 };
            ensure_same_work(comm, fingerprint, 0)
        });
        assert_eq!(ended, [Err(DifferentWork { rank: 2 }); 4]);
    }

    #[test]
    fn the_place_to_begin_at_is_part_of_the_work() {
        let ended = as_processes(2, |comm| ensure_same_work(comm, 7, comm.rank() as u64));
        assert_eq!(ended, [Err(DifferentWork { rank: 1 }); 2]);
        let ended = as_processes(2, |comm| ensure_same_work(comm, 7, 5));
        assert_eq!(ended, [Ok(()); 2]);
    }
}
