//! Threads and memory shared by sessions that are worked on beside each other.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use fimbria_pipeline::ByteSize;

/// What there is for all sessions, and who waits for a share of it. Sessions get theirs in their order.
pub(crate) struct Resources {
    threads: usize,
    /// As many of them a session has at most.
    most: usize,
    memory: Option<ByteSize>,
    /// The next session, held by who waits for its share; and how many there are.
    next: Mutex<usize>,
    sessions: usize,
    free: Mutex<Free>,
    changed: Condvar,
}

/// What nobody has.
struct Free {
    threads: usize,
    memory: u64,
    /// Sessions at work.
    at_work: usize,
}

/// What one session has to itself, until it is dropped.
pub(crate) struct Share<'s> {
    of: &'s Resources,
    /// The number of the session.
    pub(crate) index: usize,
    /// Threads.
    pub(crate) threads: usize,
    /// Memory; `None` where it has no limit.
    pub(crate) memory: Option<ByteSize>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Resources {
    /// So many threads, of which each session has `most` at most, and so much memory for so many sessions; where
    /// memory has no limit each session has all, one after the other.
    pub(crate) fn new(
        (threads, most): (usize, Option<usize>),
        memory: Option<ByteSize>,
        sessions: usize,
    ) -> Self {
        let free = Free { threads, memory: memory.map_or(0, |memory| memory.0), at_work: 0 };
        Self {
            threads,
            most: most.unwrap_or(threads).clamp(1, threads.max(1)),
            memory,
            next: Mutex::new(0),
            sessions,
            free: Mutex::new(free),
            changed: Condvar::new(),
        }
    }

    /// How many sessions are at work at once at most: each has a thread.
    pub(crate) fn at_once(&self) -> usize {
        if self.memory.is_some() { self.threads.min(self.sessions) } else { 1 }
    }

    /// Waits for what the next session is to have, of which `needs` says how many bytes it takes; `None`
    /// once all have had theirs, or where `stops` says so. One that takes more than there is, or of which
    /// nobody can tell, is alone.
    pub(crate) fn next(
        &self,
        needs: impl FnOnce(usize) -> Option<u64>,
        stops: impl Fn() -> bool,
    ) -> Option<Share<'_>> {
        let mut next = locked(&self.next);
        let (index, left) = (*next, self.sessions - *next);
        if left == 0 || stops() {
            return None;
        }
        *next += 1;
        let needs = if self.memory.is_some() { needs(index) } else { None };
        let mut free = locked(&self.free);
        loop {
            // So many like this one there is room for, of those that are left.
            let room = needs.map_or(0, |needs| free.memory / needs.max(1));
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            let beside = room.min(left).min(free.threads);
            if beside > 0 || free.at_work == 0 {
                let beside = beside.max(1);
                let threads = free.threads.div_ceil(beside).min(self.most);
                let memory = free.memory / beside as u64;
                free.threads -= threads;
                free.memory -= memory;
                free.at_work += 1;
                let memory = self.memory.map(|_| ByteSize(memory));
                return Some(Share { of: self, index, threads, memory });
            }
            free = self.changed.wait(free).unwrap_or_else(PoisonError::into_inner);
            if stops() {
                return None;
            }
        }
    }
}

impl Share<'_> {
    /// Whether nobody else is at work meanwhile.
    pub(crate) fn is_all(&self) -> bool {
        self.threads == self.of.threads
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut free = locked(&self.of.free);
        free.threads += self.threads;
        free.memory += self.memory.map_or(0, |memory| memory.0);
        free.at_work -= 1;
        self.of.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const G: u64 = 1 << 30;

    fn of(threads: usize, memory: u64, sessions: usize) -> Resources {
        Resources::new((threads, None), Some(ByteSize(memory * G)), sessions)
    }

    fn next(shares: &Resources, needs: Option<u64>) -> Option<Share<'_>> {
        shares.next(|_| needs.map(|needs| needs * G), || false)
    }

    #[test]
    fn so_many_are_beside_each_other_as_fit_and_nothing_is_given_twice() {
        let shares = of(8, 16, 10);
        let given: Vec<_> = (0..3).map(|_| next(&shares, Some(5)).unwrap()).collect();
        let threads: Vec<_> = given.iter().map(|share| share.threads).collect();
        assert_eq!(threads, [3, 3, 2]);
        let memory: u64 = given.iter().map(|share| share.memory.unwrap().0).sum();
        assert!(memory <= 16 * G && given.iter().all(|share| share.memory.unwrap().0 >= 5 * G));
        assert!(given.iter().all(|share| !share.is_all()));
        // A fourth one waits until one is finished.
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| next(&shares, Some(5)).map(|share| share.index));
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!waits.is_finished());
            drop(given);
            assert_eq!(waits.join().unwrap(), Some(3));
        });
    }

    #[test]
    fn what_takes_more_than_there_is_or_nobody_knows_what_is_alone_with_all() {
        for needs in [Some(20), None] {
            let shares = of(4, 16, 2);
            let share = next(&shares, needs).unwrap();
            assert!(share.is_all() && share.memory == Some(ByteSize(16 * G)));
        }
        let unlimited = Resources::new((4, None), None, 2);
        assert_eq!(unlimited.at_once(), 1);
        let share = next(&unlimited, Some(1)).unwrap();
        assert!(share.is_all() && share.memory.is_none());
    }

    #[test]
    fn no_session_has_more_threads_than_it_may() {
        let shares = Resources::new((8, Some(2)), Some(ByteSize(16 * G)), 3);
        let given: Vec<_> = (0..3).map(|_| next(&shares, Some(1)).unwrap()).collect();
        assert!(given.iter().all(|share| share.threads == 2 && !share.is_all()));
        let alone = Resources::new((8, Some(2)), None, 1);
        assert_eq!(next(&alone, None).unwrap().threads, 2);
    }

    #[test]
    fn the_last_ones_have_the_threads_that_are_left() {
        let shares = of(4, 16, 2);
        let both = [(); 2].map(|()| next(&shares, Some(1)).unwrap());
        assert_eq!(both.each_ref().map(|share| share.threads), [2, 2]);
        assert!(next(&shares, Some(1)).is_none());
        let alone = of(4, 16, 1);
        assert!(next(&alone, Some(1)).unwrap().is_all());
        assert!(alone.next(|_| None, || true).is_none());
    }
}
