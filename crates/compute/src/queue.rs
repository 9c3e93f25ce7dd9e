//! One queue of work, several devices of any speed, and the CPU for what they cannot do.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::device::{Device, DeviceError};
use crate::{Interrupted, Progress};

/// Refusals in a row after which a device gets no more work.
const MAX_FAILURES: u32 = 3;

/// Bytes of inputs that a chunk has at most: enough to fill a large card, little enough to be held
/// twice in memory.
const CHUNK_BYTES: usize = 64 << 20;

/// Chunks that each device gets at least, where there are blocks for them: with fewer, one of several that
/// is slower or begins later keeps the others waiting for its last, and the host has the first and the
/// last of a single one to itself.
const CHUNKS_OF_DEVICE: usize = 4;

/// Chunks that a device of [`run_pairs`] has in hand: while its kernels are at one, the host prepares the
/// next and stores the one before.
pub const IN_HAND: usize = 2;

/// Items that fill a large card: where there is one device, no fewer make a chunk for the sake of having
/// several.
const FILLING: usize = 1 << 16;

/// How many of `n_blocks` blocks of `block` items make a chunk of [`run_pairs`]: no more than every device
/// has room for twice, nor than have inputs of a reasonable size, and few enough that each device gets
/// several, a single one none that leave it idle. At least one.
///
/// An item takes `bytes_of_item` on a device, by buffer, and `bytes_of_input` of what is gathered.
pub fn blocks_per_chunk(
    devices: &[Device],
    bytes_of_item: &[usize],
    bytes_of_input: usize,
    (n_blocks, block): (usize, usize),
) -> usize {
    // An eighth is left to tables.
    let room = |device: &Device| device.chunk_len(bytes_of_item) / (8 * IN_HAND) * 7;
    let room = devices.iter().map(room).min().unwrap_or(0);
    let reasonable = CHUNK_BYTES / bytes_of_input.max(1);
    let least = if devices.len() > 1 { 1 } else { FILLING.div_ceil(block) };
    let for_each = (n_blocks / (CHUNKS_OF_DEVICE * devices.len().max(1))).max(least);
    (room.min(reasonable) / block).min(for_each).max(1)
}

/// Does `work` on all `items`, and where the device has no memory for them on one half after the other,
/// down to single ones: what is free was asked when the device was opened, and others may use it since.
///
/// # Errors
/// That of `work`, for a single item where memory is short.
pub fn in_halves<T, R>(
    items: &mut [T],
    work: &mut impl FnMut(&mut [T]) -> Result<R, DeviceError>,
    merged: &impl Fn(R, R) -> R,
) -> Result<R, DeviceError> {
    match work(items) {
        Err(DeviceError::OutOfMemory { .. }) if items.len() > 1 => {
            let (first, second) = items.split_at_mut(items.len() / 2);
            let first = in_halves(first, work, merged)?;
            Ok(merged(first, in_halves(second, work, merged)?))
        }
        done => done,
    }
}

/// Who did how many chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// By each device, in the order they were given.
    pub devices: Vec<usize>,
    /// By the CPU.
    pub cpu: usize,
}

impl Shares {
    /// Nobody did any, with so many devices.
    pub fn none(devices: usize) -> Self {
        Self { devices: vec![0; devices], cpu: 0 }
    }

    /// Adds what the same devices, and the CPU, did beside it.
    pub fn add(&mut self, other: &Self) {
        self.cpu += other.cpu;
        self.devices.iter_mut().zip(&other.devices).for_each(|(sum, share)| *sum += share);
    }
}

/// Does every chunk once: each device takes the next chunk as soon as it has finished one, on a
/// host thread of its own; a chunk that fails on a device goes to another, or to `on_cpu`, which
/// runs on the calling thread.
///
/// A chunk carries its input and the place of its result, so that results do not depend on who
/// did it beyond the precision in which `on_device` and `on_cpu` agree. A chunk that failed may
/// have been written in part: whoever takes it next writes it whole. A device is given up once it
/// is lost, or has refused three chunks in a row; both are told to `progress`. With no device
/// left, or none given, the CPU does the rest in order.
///
/// # Errors
/// The first error of `on_cpu`, or [`Interrupted`] once `progress` says so; chunks in hand are
/// finished, no others are begun.
pub fn run_chunks<C, E>(
    devices: &[Device],
    chunks: &mut [C],
    on_device: impl Fn(&Device, &mut C) -> Result<(), DeviceError> + Sync,
    on_cpu: impl FnMut(&mut C) -> Result<(), E>,
    progress: &dyn Progress,
) -> Result<Shares, E>
where
    C: Send,
    E: From<Interrupted>,
{
    let queues: Vec<&[Device]> = devices.iter().map(std::slice::from_ref).collect();
    run_queues(&queues, chunks, on_device, on_cpu, progress)
}

/// As [`run_chunks`], each device with [`IN_HAND`] chunks at once, every one on a host thread and a queue of
/// its own: for work that the host prepares and stores. What `on_device` makes on the device it is given
/// must not be used on another's queue, and the device needs memory for as many chunks.
///
/// # Errors
/// As [`run_chunks`].
pub fn run_pairs<C, E>(
    devices: &[Device],
    chunks: &mut [C],
    on_device: impl Fn(&Device, &mut C) -> Result<(), DeviceError> + Sync,
    on_cpu: impl FnMut(&mut C) -> Result<(), E>,
    progress: &dyn Progress,
) -> Result<Shares, E>
where
    C: Send,
    E: From<Interrupted>,
{
    let queues: Vec<_> = devices.iter().map(|device| queues_of(device, IN_HAND)).collect();
    let done = run_queues(&queues, chunks, on_device, on_cpu, progress);
    // Other programs may want it while something else is done here.
    devices.iter().for_each(Device::give_back);
    done
}

/// So many queues of a device, itself the first; fewer where it has no more.
pub fn queues_of(device: &Device, n: usize) -> Vec<Device> {
    let others = (1..n).map_while(|_| device.another_queue().ok());
    std::iter::once(device.clone()).chain(others).collect()
}

/// As [`run_pairs`], with the queues of each device, one chunk in hand on each: for work that keeps what it made on
/// them from one call to the next. `on_device` is given one of these very queues.
///
/// # Errors
/// As [`run_chunks`].
pub fn run_queues<C, E>(
    queues: &[impl AsRef<[Device]>],
    chunks: &mut [C],
    on_device: impl Fn(&Device, &mut C) -> Result<(), DeviceError> + Sync,
    mut on_cpu: impl FnMut(&mut C) -> Result<(), E>,
    progress: &dyn Progress,
) -> Result<Shares, E>
where
    C: Send,
    E: From<Interrupted>,
{
    let queue = Queue::new(chunks, queues.len());
    std::thread::scope(|scope| {
        let mut serving = Vec::new();
        for (index, queues) in queues.iter().enumerate() {
            for device in queues.as_ref() {
                let (queue, on_device) = (&queue, &on_device);
                let thread = scope.spawn(move || serve(queue, index, device, on_device, progress));
                serving.push((index, thread));
            }
        }

        // A chunk that `on_cpu` panics on is never done: devices must not wait for it.
        let _stop = StopOnPanic(&queue);
        let mut cpu = 0;
        let mut outcome = Ok(());
        while let Some(chunk) = queue.next_for_cpu() {
            outcome = progress.check().map_err(E::from).and_then(|()| on_cpu(chunk.data));
            if outcome.is_err() {
                queue.stop();
                break;
            }
            cpu += 1;
            queue.done();
        }
        let mut devices = vec![0; queues.len()];
        for (index, thread) in serving {
            devices[index] +=
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        outcome?;
        // Devices stop taking chunks once the caller wants to stop; the CPU may not have noticed.
        if queue.was_stopped() {
            return Err(E::from(Interrupted));
        }
        Ok(Shares { devices, cpu })
    })
}

/// A thread that serves a device: takes chunks until none is left that it may take, or the device is given
/// up. Returns how many it did.
fn serve<C>(
    queue: &Queue<'_, C>,
    index: usize,
    device: &Device,
    on_device: &(impl Fn(&Device, &mut C) -> Result<(), DeviceError> + Sync),
    progress: &dyn Progress,
) -> usize {
    let _leave = LeaveOnDrop { queue, index };
    let _stop = StopOnPanic(queue);
    let mut done = 0;
    while let Some(chunk) = queue.next_for_device(index) {
        if progress.is_cancelled() {
            queue.stop();
            break;
        }
        match on_device(device, chunk.data) {
            Ok(()) => {
                done += 1;
                queue.done_by(index);
            }
            Err(error) => match queue.refused(chunk, index, error.is_lost()) {
                Fate::Serves => progress.warn(&format!("{error}; its work goes elsewhere")),
                Fate::GivenUp => progress.warn(&format!("{error}; the device is given up")),
                // Its other threads fail for the same reason, which was told.
                Fate::WasGivenUp => {}
            },
        }
    }
    done
}

/// What becomes of a device that refused a chunk.
enum Fate {
    Serves,
    GivenUp,
    WasGivenUp,
}

/// A device that leaves, by choice or by panic, must not be waited for.
struct LeaveOnDrop<'q, 'c, C> {
    queue: &'q Queue<'c, C>,
    index: usize,
}

impl<C> Drop for LeaveOnDrop<'_, '_, C> {
    fn drop(&mut self) {
        self.queue.leave(self.index);
    }
}

/// A thread that panics takes the others with it.
struct StopOnPanic<'q, 'c, C>(&'q Queue<'c, C>);

impl<C> Drop for StopOnPanic<'_, '_, C> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// A chunk, and the devices that failed at it.
struct Chunk<'c, C> {
    data: &'c mut C,
    refused_by: Vec<usize>,
}

struct State<'c, C> {
    waiting: VecDeque<Chunk<'c, C>>,
    /// Chunks in nobody's finished work yet: waiting or in hand.
    unfinished: usize,
    /// Which devices take chunks.
    in_service: Vec<bool>,
    /// Refusals of each device since it last did a chunk.
    refusals: Vec<u32>,
    stopped: bool,
}

struct Queue<'c, C> {
    state: Mutex<State<'c, C>>,
    changed: Condvar,
}

impl<'c, C> Queue<'c, C> {
    fn new(chunks: &'c mut [C], devices: usize) -> Self {
        let unfinished = chunks.len();
        let waiting =
            chunks.iter_mut().map(|data| Chunk { data, refused_by: Vec::new() }).collect();
        let (in_service, refusals) = (vec![true; devices], vec![0; devices]);
        let state = State { waiting, unfinished, in_service, refusals, stopped: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<'c, C>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits for the first chunk that `wanted` accepts; `None` once there will be none, or `over` says so.
    fn next(
        &self,
        over: impl Fn(&State<'c, C>) -> bool,
        wanted: impl Fn(&State<'c, C>, &Chunk<'c, C>) -> bool,
    ) -> Option<Chunk<'c, C>> {
        let mut state = self.lock();
        loop {
            if state.stopped || state.unfinished == 0 || over(&state) {
                return None;
            }
            let found = state.waiting.iter().position(|chunk| wanted(&state, chunk));
            if let Some(found) = found {
                return state.waiting.remove(found);
            }
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    fn next_for_device(&self, index: usize) -> Option<Chunk<'c, C>> {
        let given_up = |state: &State<'c, C>| !state.in_service[index];
        self.next(given_up, |_, chunk| !chunk.refused_by.contains(&index))
    }

    /// The CPU takes what no device in service is left to try.
    fn next_for_cpu(&self) -> Option<Chunk<'c, C>> {
        let never = |_: &State<'c, C>| false;
        self.next(never, |state, chunk| {
            let mut devices = state.in_service.iter().enumerate();
            devices.all(|(index, serving)| !serving || chunk.refused_by.contains(&index))
        })
    }

    fn change(&self, change: impl FnOnce(&mut State<'c, C>)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn done(&self) {
        self.change(|state| state.unfinished -= 1);
    }

    fn done_by(&self, index: usize) {
        self.change(|state| {
            state.unfinished -= 1;
            state.refusals[index] = 0;
        });
    }

    /// Puts a chunk back for others, and gives up a device that is lost or refuses too often.
    fn refused(&self, mut chunk: Chunk<'c, C>, index: usize, is_lost: bool) -> Fate {
        chunk.refused_by.push(index);
        let mut fate = Fate::WasGivenUp;
        self.change(|state| {
            state.waiting.push_front(chunk);
            state.refusals[index] += 1;
            if state.in_service[index] {
                state.in_service[index] = !is_lost && state.refusals[index] < MAX_FAILURES;
                fate = if state.in_service[index] { Fate::Serves } else { Fate::GivenUp };
            }
        });
        fate
    }

    fn leave(&self, index: usize) {
        self.change(|state| state.in_service[index] = false);
    }

    fn stop(&self) {
        self.change(|state| state.stopped = true);
    }

    fn was_stopped(&self) -> bool {
        self.lock().stopped
    }
}
