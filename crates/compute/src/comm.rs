//! Several processes that work as one. The default is one process; MPI implements the same trait
//! in a crate of its own.

/// What ranks need of each other. All calls but [`to_first`](Self::to_first) are collective: every
/// rank makes the same ones in the same order.
pub trait Comm: Send + Sync {
    /// This process, from 0.
    fn rank(&self) -> usize;

    /// Number of processes.
    fn size(&self) -> usize;

    /// This process among those of the same machine, from 0; all are of one machine where nothing else is
    /// known.
    fn local_rank(&self) -> usize {
        self.rank()
    }

    /// Which of the `n` devices of its machine, above 0, this process takes: processes of one machine take
    /// turns.
    fn device_of(&self, n: usize) -> usize {
        self.local_rank() % n
    }

    /// Replaces `values` by their sums over ranks. Integer sums do not depend on their order, so
    /// fixed-point sums are the same for any number of ranks.
    fn sum_i64(&self, values: &mut [i64]);

    /// Replaces `values` by their sums over ranks, in rank order.
    fn sum_f64(&self, values: &mut [f64]);

    /// Replaces every rank's `bytes` by those of `root`; lengths must agree.
    fn broadcast(&self, bytes: &mut [u8], root: usize);

    /// Hands the `bytes` of rank `from` to rank 0, which gets them; `from` gets none. These two alone
    /// make the call, and wait for each other; what rank 0 gives of its own counts only where it is
    /// `from`. Calls of one rank arrive in their order.
    fn to_first(&self, bytes: Vec<u8>, from: usize) -> Vec<u8>;

    /// Waits until every rank is here.
    fn barrier(&self);

    /// What each rank brings, by rank.
    fn of_each(&self, mine: u64) -> Vec<u64> {
        let mut all = vec![0; self.size()];
        // Bits, of which every other rank adds none.
        all[self.rank()] = mine as i64;
        self.sum_i64(&mut all);
        all.into_iter().map(|one| one as u64).collect()
    }
}

/// One process: every collective is the identity.
#[derive(Clone, Copy, Debug, Default)]
pub struct Solo;

impl Comm for Solo {
    fn rank(&self) -> usize {
        0
    }
    fn size(&self) -> usize {
        1
    }
    fn sum_i64(&self, _values: &mut [i64]) {}
    fn sum_f64(&self, _values: &mut [f64]) {}
    fn broadcast(&self, _bytes: &mut [u8], _root: usize) {}
    fn to_first(&self, bytes: Vec<u8>, _from: usize) -> Vec<u8> {
        bytes
    }
    fn barrier(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of several processes, four to a machine.
    struct OfFour(usize);

    impl Comm for OfFour {
        fn rank(&self) -> usize {
            self.0
        }
        fn size(&self) -> usize {
            12
        }
        fn local_rank(&self) -> usize {
            self.0 % 4
        }
        fn sum_i64(&self, _values: &mut [i64]) {}
        fn sum_f64(&self, _values: &mut [f64]) {}
        fn broadcast(&self, _bytes: &mut [u8], _root: usize) {}
        fn to_first(&self, bytes: Vec<u8>, _from: usize) -> Vec<u8> {
            bytes
        }
        fn barrier(&self) {}
    }

    /// By their number among all, three devices of the second machine would go to processes 4, 5, 6 and 7
    /// as 1, 2, 0 and 1.
    #[test]
    fn processes_take_turns_at_the_devices_of_their_own_machine() {
        let taken = |n: usize| (4..8).map(|rank| OfFour(rank).device_of(n)).collect::<Vec<_>>();
        assert_eq!((taken(4), taken(3)), (vec![0, 1, 2, 3], vec![0, 1, 2, 0]));
    }

    #[test]
    fn one_process_hands_its_bytes_to_itself() {
        assert_eq!(Solo.to_first(vec![1, 2, 3], 0), [1, 2, 3]);
    }

    #[test]
    fn one_process_brings_what_it_has_to_itself() {
        assert_eq!(Solo.of_each(u64::MAX), [u64::MAX]);
    }
}
