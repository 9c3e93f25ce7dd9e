//! What buffers take of a device's memory, and freed memory that is kept for the next of them.
//!
//! Drivers take their time: a block is only given back when all work that was queued before is done. What
//! a queue freed may be used again by what is queued there later without waiting for anything. Only blocks of
//! the very size are: what a larger one has to spare would be missing where memory is just enough.

use std::sync::{Arc, Mutex, MutexGuard};

use super::error::Fault;
use super::runtime::{Handle, Runtime};

/// The memory that buffers on a device may take.
pub(super) struct Memory {
    budget: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Bytes of buffers.
    in_use: u64,
    /// Freed blocks, the oldest first.
    kept: Vec<Kept>,
}

struct Kept {
    block: Block,
    /// The queue that freed it.
    queue: Arc<dyn Runtime>,
}

/// A piece of a device's memory.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) handle: Handle,
    pub(super) bytes: u64,
}

/// Why there is no block, and how many bytes buffers could still take.
pub(super) struct Refusal {
    pub(super) fault: Fault,
    pub(super) available: u64,
}

impl Memory {
    /// `budget` bytes for all buffers.
    pub(super) fn new(budget: u64) -> Self {
        Self { budget, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Bytes that buffers could still take: what is kept is theirs.
    pub(super) fn available(&self) -> u64 {
        self.budget.saturating_sub(self.lock().in_use)
    }

    /// A block of `bytes` (not 0) for a queue: one that it freed, else a new one. What is kept is given back
    /// before memory is found to be short.
    pub(super) fn take(&self, bytes: u64, queue: &Arc<dyn Runtime>) -> Result<Block, Refusal> {
        let mut state = self.lock();
        let available = self.budget.saturating_sub(state.in_use);
        if bytes > available {
            return Err(Refusal { fault: Fault::OutOfMemory, available });
        }
        if let Some(block) = state.kept_for(bytes, queue) {
            state.in_use += block.bytes;
            return Ok(block);
        }
        while state.kept_bytes() > available - bytes {
            state.kept.remove(0).give_back();
        }
        let made = match queue.allocate(bytes as usize) {
            Err(Fault::OutOfMemory) if !state.kept.is_empty() => {
                state.kept.drain(..).for_each(Kept::give_back);
                queue.allocate(bytes as usize)
            }
            made => made,
        };
        let handle = made.map_err(|fault| Refusal { fault, available })?;
        state.in_use += bytes;
        Ok(Block { handle, bytes })
    }

    /// Takes back a block that `queue` uses no more but for what is queued already.
    pub(super) fn free(&self, block: Block, queue: &Arc<dyn Runtime>) {
        let mut state = self.lock();
        state.in_use -= block.bytes;
        state.kept.push(Kept { block, queue: Arc::clone(queue) });
    }

    /// Gives back all that is kept.
    pub(super) fn give_back(&self) {
        self.lock().kept.drain(..).for_each(Kept::give_back);
    }

    /// Gives back what a queue freed, which is no more.
    pub(super) fn forget(&self, queue: &Arc<dyn Runtime>) {
        let of_queue = |kept: &mut Kept| Arc::ptr_eq(&kept.queue, queue);
        self.lock().kept.extract_if(.., of_queue).for_each(Kept::give_back);
    }
}

impl State {
    fn kept_bytes(&self) -> u64 {
        self.kept.iter().map(|kept| kept.block.bytes).sum()
    }

    /// The block of this size that this queue freed last.
    fn kept_for(&mut self, bytes: u64, queue: &Arc<dyn Runtime>) -> Option<Block> {
        let fits = |kept: &Kept| kept.block.bytes == bytes && Arc::ptr_eq(&kept.queue, queue);
        let at = self.kept.iter().rposition(fits)?;
        Some(self.kept.remove(at).block)
    }
}

impl Kept {
    fn give_back(self) {
        self.queue.free(self.block.handle);
    }
}
