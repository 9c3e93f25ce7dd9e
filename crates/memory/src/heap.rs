//! The allocator of a program.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Blocks of at least this size are counted. What is smaller is left to the system alone: counting
/// it would cost more than it tells.
const COUNTED: usize = 64 << 10;

/// No limit.
const NONE: usize = usize::MAX;

thread_local! {
    /// True while this thread asks for a block and is ready to be refused.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
    /// True in the thread that keeps the rest of a heap for itself.
    static KEEPS: Cell<bool> = const { Cell::new(false) };
}

/// Runs `ask`, in which a refused block is answered by its absence.
pub(crate) fn expecting_refusal<R>(ask: impl FnOnce() -> R) -> R {
    let before = EXPECTED.replace(true);
    let answer = ask();
    EXPECTED.set(before);
    answer
}

/// A block that was refused where nobody expected it.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    /// Its size.
    pub bytes: usize,
    /// What was held in large blocks.
    pub held: usize,
    /// What may be held; `None` where the system refused.
    pub limit: Option<usize>,
}

/// The system's allocator with a count of what is held in large blocks, a limit to it, and an
/// answer to refusals.
///
/// ```
/// use fimbria_memory::Heap;
///
/// #[global_allocator]
/// static HEAP: Heap = Heap::new(|refusal| {
///     eprintln!("error: {} bytes were refused", refusal.bytes);
///     std::process::exit(1)
/// });
///
/// HEAP.limit_to(64 << 20);
/// assert!(fimbria_memory::try_zeros::<u8>(65 << 20).is_err());
/// assert!(fimbria_memory::try_zeros::<u8>(63 << 20).is_ok());
/// ```
///
/// A block that is asked for by [`try_zeros`](crate::try_zeros) and its like is an error there
/// when it is refused. Any other refusal ends in the function given here, since Rust would abort:
/// it must not return, and may find the caller holding any lock.
#[derive(Debug)]
pub struct Heap {
    held: AtomicUsize,
    most: AtomicUsize,
    limit: AtomicUsize,
    /// Whether the limit refused a block.
    exceeded: AtomicBool,
    /// Whether one thread keeps the rest for itself.
    kept: AtomicBool,
    /// Counts down to the block that is refused to see what happens; 0: none.
    #[cfg(debug_assertions)]
    fault: AtomicUsize,
    refused: fn(Refusal) -> !,
}

impl Heap {
    /// No limit. `refused` is called where a block is refused that nobody expected to be.
    pub const fn new(refused: fn(Refusal) -> !) -> Self {
        Self {
            held: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            limit: AtomicUsize::new(NONE),
            exceeded: AtomicBool::new(false),
            kept: AtomicBool::new(false),
            #[cfg(debug_assertions)]
            fault: AtomicUsize::new(0),
            refused,
        }
    }

    /// From now on, at most `bytes` are held in large blocks.
    pub fn limit_to(&self, bytes: usize) {
        self.limit.store(bytes, Relaxed);
    }

    /// From now on, only this thread gets blocks: any other that asks for one waits for the end of
    /// the program. So what little there is suffices to clean up with.
    pub fn keep_the_rest(&self) {
        KEEPS.set(true);
        self.kept.store(true, Relaxed);
    }

    /// Whether a block was refused by the limit.
    pub fn has_exceeded_its_limit(&self) -> bool {
        self.exceeded.load(Relaxed)
    }

    /// Bytes held in large blocks.
    pub fn held(&self) -> usize {
        self.held.load(Relaxed)
    }

    /// The most that were held at any time.
    pub fn most(&self) -> usize {
        self.most.load(Relaxed)
    }

    /// Refuses the `n`-th large block from now on, counted from 1, to see what happens: for tests.
    #[cfg(debug_assertions)]
    pub fn refuse_the(&self, n: usize) {
        self.fault.store(n, Relaxed);
    }

    /// Counts `bytes` more; false where they would exceed the limit.
    fn take(&self, bytes: usize) -> bool {
        if bytes < COUNTED {
            return true;
        }
        #[cfg(debug_assertions)]
        if self.fault.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) == Ok(1) {
            return false;
        }
        let held = self.held.fetch_add(bytes, Relaxed) + bytes;
        if held > self.limit.load(Relaxed) {
            self.held.fetch_sub(bytes, Relaxed);
            self.exceeded.store(true, Relaxed);
            return false;
        }
        self.most.fetch_max(held, Relaxed);
        true
    }

    fn give_back(&self, bytes: usize) {
        if bytes >= COUNTED {
            self.held.fetch_sub(bytes, Relaxed);
        }
    }

    /// Answers a request for `bytes` that `ask` passes on to the system.
    fn answer(&self, bytes: usize, ask: impl FnOnce() -> *mut u8) -> *mut u8 {
        while self.kept.load(Relaxed) && !KEEPS.try_with(Cell::get).unwrap_or(false) {
            std::thread::sleep(Duration::MAX);
        }
        let within = self.take(bytes);
        if within {
            let block = ask();
            if !block.is_null() {
                return block;
            }
            self.give_back(bytes);
        }
        if !EXPECTED.try_with(Cell::get).unwrap_or(false) {
            let limit = Some(self.limit.load(Relaxed)).filter(|&bytes| !within && bytes != NONE);
            (self.refused)(Refusal { bytes, held: self.held(), limit });
        }
        std::ptr::null_mut()
    }
}

// SAFETY: every block comes from and goes back to the system's allocator with its own layout; a
// null pointer says that there is none.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is that of `System`.
        self.answer(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is that of `System`.
        self.answer(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is that of `System`.
        unsafe { System.dealloc(block, layout) };
        self.give_back(layout.size());
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // The new size is counted before the old one is given back: the system may hold both for a
        // while.
        // SAFETY: the caller's contract is that of `System`.
        let moved = self.answer(new_size, || unsafe { System.realloc(block, layout, new_size) });
        if !moved.is_null() {
            self.give_back(layout.size());
        }
        moved
    }
}
