//! The program's memory: what happens where there is not enough of it.

use std::cell::Cell;
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use fimbria_memory::{Heap, Refusal};
use fimbria_pipeline::{ByteSize, Unfinished};

use crate::failure::FAILED;

/// Every block of memory that the program asks for comes from here.
#[global_allocator]
pub(crate) static HEAP: Heap = Heap::new(refused);

/// What to take away before the program ends for want of memory.
static UNFINISHED: OnceLock<Unfinished> = OnceLock::new();

/// From here on, a block that is refused where no error can be made of it ends the program with
/// one message, and what is unfinished is taken away.
pub(crate) fn clean_up_where_refused(unfinished: &Unfinished) {
    let _ = UNFINISHED.set(unfinished.clone());
    #[cfg(debug_assertions)]
    if let Some(n) = std::env::var("FIMBRIA_REFUSE").ok().and_then(|n| n.parse().ok()) {
        // For tests: the n-th large block is refused.
        HEAP.refuse_the(n);
    }
}

/// Says what was refused, cleans up, and leaves: any lock may be held here, so that nothing else
/// is waited for.
fn refused(refusal: Refusal) -> ! {
    thread_local! {
        static CLEANS_UP: Cell<bool> = const { Cell::new(false) };
    }
    static SAID: AtomicBool = AtomicBool::new(false);
    if CLEANS_UP.replace(true) {
        leave() // not even memory to clean up
    }
    while SAID.swap(true, Ordering::Relaxed) {
        std::thread::park(); // another thread cleans up and ends the program
    }
    let size = |bytes: usize| ByteSize(bytes as u64);
    let Refusal { bytes, held, limit } = refusal;
    let reason = match limit {
        Some(limit) => format!("{} of {} are held already", size(held), size(limit)),
        None => format!("the system has no more, and {} are held already", size(held)),
    };
    let mut err = std::io::stderr();
    let _ = writeln!(err, "error: out of memory: {} more were needed; {reason}", size(bytes));
    clean_up_and_leave()
}

/// Takes away what is unfinished, and leaves without waiting for anything.
pub(crate) fn clean_up_and_leave() -> ! {
    if let Some(unfinished) = UNFINISHED.get() {
        unfinished.remove_all_for_good();
    }
    leave()
}

/// Leaves without a look at what other threads do.
fn leave() -> ! {
    // SAFETY: ends the process; nothing of it is used again.
    unsafe { libc::_exit(FAILED.into()) }
}
