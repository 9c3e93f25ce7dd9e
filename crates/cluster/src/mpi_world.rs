use std::sync::Mutex;
use std::time::{Duration, Instant};

use fimbria_compute::comm::Comm;
use mpi::collective::{CommunicatorCollectives as _, SystemOperation};
use mpi::datatype::Equivalence;
use mpi::environment::{Threading, Universe};
use mpi::point_to_point::{Destination, Source};
use mpi::topology::{Communicator as _, SimpleCommunicator};

use crate::Exchange;

/// Numbers of a part of a sum in [`Exchange::Pipelined`].
const CHUNK: usize = 1 << 14;

/// Bytes of a message at most. MPI counts them in 31 bits.
const MESSAGE: usize = 1 << 30;

/// MPI_COMM_WORLD.
pub(crate) struct MpiWorld {
    rank: usize,
    size: usize,
    /// Among the processes that share this one's memory.
    local_rank: usize,
    pub(crate) exchange: Exchange,
    /// One call at a time.
    world: Mutex<Handle>,
    /// For [`all_fail_within`](Self::all_fail_within) alone: what others still exchange is not taken
    /// for it.
    end: Handle,
    // Finalises MPI, last.
    _universe: Alive,
}

struct Handle(SimpleCommunicator);
struct Alive(#[allow(dead_code, reason = "it is held until MPI may end")] Universe);

// SAFETY: MPI is started at the level "serialized", at which any thread may call as long as no two
// do at once; the mutex around the handle sees to that.
unsafe impl Send for Handle {}
// SAFETY: nothing is called on it until it is dropped, by the thread that owns the world.
unsafe impl Send for Alive {}
// SAFETY: as above.
unsafe impl Sync for Alive {}
// SAFETY: the second handle is used under the first one's mutex.
unsafe impl Sync for Handle {}

impl MpiWorld {
    /// `None` where MPI cannot be started, runs already, or does not allow threads.
    pub(crate) fn start() -> Option<Self> {
        let (universe, threading) = mpi::initialize_with_threading(Threading::Serialized)?;
        if threading < Threading::Serialized {
            return None;
        }
        let world = universe.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        let local_rank = world.split_shared(world.rank()).rank() as usize;
        let end = Handle(world.duplicate());
        let (exchange, world) = (Exchange::default(), Mutex::new(Handle(world)));
        Some(Self { rank, size, local_rank, exchange, world, end, _universe: Alive(universe) })
    }

    pub(crate) fn all_fail_within(&self, patience: Duration) -> bool {
        let begun = Instant::now();
        let mut others = self.with(|_| self.end.0.immediate_barrier());
        loop {
            match self.with(|_| others.test()) {
                Ok(_) => return true,
                Err(waiting) if begun.elapsed() > patience => {
                    // Ends with the process, which is about to be aborted.
                    std::mem::forget(waiting);
                    return false;
                }
                Err(waiting) => others = waiting,
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn wait_asleep(&self) {
        let mut others = self.with(|world| world.immediate_barrier());
        while let Err(waiting) = self.with(|_| others.test()) {
            others = waiting;
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn abort(&self, code: i32) {
        self.with(|world| world.abort(code));
    }

    fn with<T>(&self, call: impl FnOnce(&SimpleCommunicator) -> T) -> T {
        let world = self.world.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        call(&world.0)
    }

    fn sum<T: Equivalence + Copy + Default>(&self, values: &mut [T], add: impl Fn(T, T) -> T) {
        match self.exchange {
            _ if self.size == 1 => {}
            Exchange::Scatter => self.scatter(values, add),
            Exchange::Blocking => {
                let sent = values.to_vec();
                let sum = SystemOperation::sum();
                self.with(|world| world.all_reduce_into(&sent[..], values, sum));
            }
            Exchange::Pipelined => self.pipelined(values),
        }
    }

    /// Sums of chunks, all under way at once.
    fn pipelined<T: Equivalence + Copy>(&self, values: &mut [T]) {
        let sent = values.to_vec();
        self.with(|world| {
            mpi::request::scope(|scope| {
                let chunks = sent.chunks(CHUNK).zip(values.chunks_mut(CHUNK));
                let begin = |(from, to)| {
                    let sum = SystemOperation::sum();
                    world.immediate_all_reduce_into(scope, from, to, sum)
                };
                let requests: Vec<_> = chunks.map(begin).collect();
                requests.into_iter().for_each(mpi::request::Request::wait_without_status);
            });
        });
    }

    /// Sums over ranks in their order: rank k adds part k and hands it to all.
    fn scatter<T: Equivalence + Copy + Default>(&self, values: &mut [T], add: impl Fn(T, T) -> T) {
        let part = values.len().div_ceil(self.size);
        let mut sent = values.to_vec();
        sent.resize(part * self.size, T::default());
        let mut received = vec![T::default(); part * self.size];
        self.with(|world| world.all_to_all_into(&sent[..], &mut received[..]));
        let (mine, others) = received.split_at_mut(part);
        for other in others.chunks(part.max(1)) {
            for (sum, value) in mine.iter_mut().zip(other) {
                *sum = add(*sum, *value);
            }
        }
        self.with(|world| world.all_gather_into(&*mine, &mut sent[..]));
        values.copy_from_slice(&sent[..values.len()]);
    }
}

/// How many bytes there are, then the bytes, in messages whose lengths MPI can count.
fn send(to: &impl Destination, bytes: &[u8]) {
    to.send(&(bytes.len() as u64));
    bytes.chunks(MESSAGE).for_each(|part| to.send(part));
}

fn receive(from: &impl Source) -> Vec<u8> {
    let (len, _) = from.receive::<u64>();
    let mut bytes = vec![0; len as usize];
    bytes.chunks_mut(MESSAGE).for_each(|part| {
        from.receive_into(part);
    });
    bytes
}

impl Comm for MpiWorld {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn local_rank(&self) -> usize {
        self.local_rank
    }

    fn sum_i64(&self, values: &mut [i64]) {
        self.sum(values, i64::wrapping_add);
    }

    fn sum_f64(&self, values: &mut [f64]) {
        self.sum(values, |a, b| a + b);
    }

    fn broadcast(&self, bytes: &mut [u8], root: usize) {
        use mpi::collective::Root as _;
        self.with(|world| world.process_at_rank(root as i32).broadcast_into(bytes));
    }

    fn to_first(&self, bytes: Vec<u8>, from: usize) -> Vec<u8> {
        match (self.rank, from) {
            (0, 0) => bytes,
            (0, _) => self.with(|world| receive(&world.process_at_rank(from as i32))),
            _ => {
                self.with(|world| send(&world.process_at_rank(0), &bytes));
                Vec::new()
            }
        }
    }

    fn barrier(&self) {
        self.with(|world| world.barrier());
    }
}
