//! Processes that are threads of one.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Barrier, Mutex};

use fimbria_compute::comm::Comm;

/// Where bytes go in and come out.
type Line = (SyncSender<Vec<u8>>, Mutex<Receiver<Vec<u8>>>);

/// What they share.
struct World {
    barrier: Barrier,
    /// What each rank brings to a collective, as bits.
    board: Mutex<Vec<Vec<u64>>>,
    /// From each rank to the first.
    lines: Vec<Line>,
}

/// One of them.
struct Rank<'a> {
    rank: usize,
    world: &'a World,
}

impl Rank<'_> {
    /// What all ranks bring, by rank.
    fn meet(&self, mine: Vec<u64>) -> Vec<Vec<u64>> {
        self.world.board.lock().unwrap()[self.rank] = mine;
        self.world.barrier.wait();
        let all = self.world.board.lock().unwrap().clone();
        self.world.barrier.wait();
        assert!(all.iter().all(|row| row.len() == all[0].len()), "ranks bring the same lengths");
        all
    }
}

impl Comm for Rank<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.world.lines.len()
    }

    fn sum_i64(&self, values: &mut [i64]) {
        let all = self.meet(values.iter().map(|value| *value as u64).collect());
        for (i, value) in values.iter_mut().enumerate() {
            *value = all.iter().map(|row| row[i] as i64).sum();
        }
    }

    fn sum_f64(&self, values: &mut [f64]) {
        let all = self.meet(values.iter().map(|value| value.to_bits()).collect());
        for (i, value) in values.iter_mut().enumerate() {
            *value = all.iter().map(|row| f64::from_bits(row[i])).sum();
        }
    }

    fn broadcast(&self, bytes: &mut [u8], root: usize) {
        let all = self.meet(bytes.iter().map(|byte| u64::from(*byte)).collect());
        for (byte, sent) in bytes.iter_mut().zip(&all[root]) {
            *byte = *sent as u8;
        }
    }

    fn to_first(&self, bytes: Vec<u8>, from: usize) -> Vec<u8> {
        let (sender, receiver) = &self.world.lines[from];
        match (self.rank, from) {
            (0, 0) => bytes,
            (0, _) => receiver.lock().unwrap().recv().unwrap(),
            _ => {
                assert_eq!(self.rank, from, "who is not asked sends nothing");
                sender.send(bytes).unwrap();
                Vec::new()
            }
        }
    }

    fn barrier(&self) {
        self.world.barrier.wait();
    }
}

/// `work` as each of `size` processes; what they come to, by rank.
pub fn as_processes<T: Send>(size: usize, work: impl Fn(&dyn Comm) -> T + Sync) -> Vec<T> {
    let line = |_| {
        // No room: a sender waits until the first is there.
        let (sender, receiver) = sync_channel(0);
        (sender, Mutex::new(receiver))
    };
    let world = World {
        barrier: Barrier::new(size),
        board: Mutex::new(vec![Vec::new(); size]),
        lines: (0..size).map(line).collect(),
    };
    let (world, work) = (&world, &work);
    std::thread::scope(|scope| {
        let rank = |rank| scope.spawn(move || work(&Rank { rank, world }));
        let ranks: Vec<_> = (0..size).map(rank).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}
