//! The program's memory: what happens where there is not enough of it.

use std::cell::Cell;
use std::io::{Cursor, Write as _};
#[cfg(unix)]
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use fimbria_memory::{Heap, Refusal};
use fimbria_pipeline::{ByteSize, Unfinished};
use memmap2::MmapMut;

use crate::exit_code::FAILED;

/// Every block of memory that the program asks for comes from here.
#[global_allocator]
pub(crate) static HEAP: Heap = Heap::new(refused);

/// What the user allows the program to take.
static ALLOWED: OnceLock<ByteSize> = OnceLock::new();

/// Set apart for what the heap does not count: the program's own data, stacks of threads, blocks of
/// less than 64 KiB. A tensor fit on two threads has less than 5 MiB of them.
const BESIDE: u64 = 32 << 20;

/// Less leaves no room for any work.
const LEAST: u64 = BESIDE + (16 << 20);

/// What is allowed is not enough to begin with.
#[derive(Debug, thiserror::Error)]
#[error("--memory {allowed} is too little: the program needs {} at least", ByteSize(LEAST))]
pub(crate) struct TooLittle {
    allowed: ByteSize,
}

/// Keeps the program to `allowed`, of which files that are mapped take nothing: the system drops
/// their pages where it needs them. Devices and their libraries have their own.
pub(crate) fn limit_to(allowed: ByteSize) -> Result<(), TooLittle> {
    let for_blocks = allowed.0.checked_sub(BESIDE).filter(|_| allowed.0 >= LEAST);
    let for_blocks = for_blocks.ok_or(TooLittle { allowed })?;
    HEAP.limit_to(usize::try_from(for_blocks).unwrap_or(usize::MAX));
    let _ = ALLOWED.set(allowed);
    return_what_is_freed();
    Ok(())
}

/// What the user allows; `None` without limit.
pub(crate) fn allowed() -> Option<ByteSize> {
    ALLOWED.get().copied()
}

/// What the user allows, where more was asked for.
pub(crate) fn exceeded() -> Option<ByteSize> {
    allowed().filter(|_| HEAP.has_exceeded_its_limit())
}

/// Has large blocks go back to the system at once: it would keep those of up to 32 MiB for later, in
/// addition to what is held.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn return_what_is_freed() {
    const LARGE: libc::c_int = 256 << 10;
    // SAFETY: both only set numbers of the allocator.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn return_what_is_freed() {}

/// What to take away before the program ends for want of memory.
static UNFINISHED: OnceLock<Unfinished> = OnceLock::new();

/// From here on, a block that is refused where no error can be made of it ends the program with
/// one message, and what is unfinished is taken away.
pub(crate) fn clean_up_where_refused(unfinished: &Unfinished) {
    let _ = UNFINISHED.set(unfinished.clone());
    let Ok(to_clean_up) = MmapMut::map_anon(TO_CLEAN_UP) else {
        // Nothing is begun that could not be taken away.
        refused(Refusal { bytes: TO_CLEAN_UP, held: 0, limit: None })
    };
    if let Ok(mut spare) = SPARE.lock() {
        *spare = Some(to_clean_up);
    }
    end_panics_for_want_of_memory();
    clean_up_where_aborted();
    #[cfg(debug_assertions)]
    if let Some(n) = std::env::var("FIMBRIA_REFUSE").ok().and_then(|n| n.parse().ok()) {
        // For tests: the n-th large block is refused.
        HEAP.refuse_the(n);
    }
}

/// Four times the most that the C library asks the system for at once, to list a folder with.
const TO_CLEAN_UP: usize = 4 << 20;

/// Given back where memory is refused, so that there is some to clean up with. Not of the heap,
/// which keeps what is freed from threads that have no part of it yet.
static SPARE: Mutex<Option<MmapMut>> = Mutex::new(None);

/// Libraries panic where the system gives them no thread or no small block: that is the same error.
fn end_panics_for_want_of_memory() {
    /// What such panics say: of rayon and the standard library, and of libdeflate.
    const SAID: [&str; 4] = [
        "Resource temporarily unavailable",
        "Cannot allocate memory",
        "out of memory",
        "failed to spawn thread",
    ];
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let payload = panic.payload();
        let said = payload.downcast_ref::<&str>().copied();
        let said = said.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let said = said.unwrap_or_default();
        if SAID.iter().any(|words| said.contains(words)) {
            end_by_this_thread();
            let message = b"error: out of memory: the system has no more for a thread or a block\n";
            say_once(message);
            clean_up_and_leave()
        }
        usual(panic);
    }));
}

/// Whether a thread has said that memory was refused, and is about to end the program.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Whether the error that the command ends with is on standard error: there is only one.
static REPORTED: AtomicBool = AtomicBool::new(false);

/// How far a thread is that ends the program.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    Not,
    /// It reports the error of the command.
    Reports,
    /// Memory was refused to it: it takes away what is unfinished.
    CleansUp,
}

thread_local! {
    static ENDS: Cell<Ends> = const { Cell::new(Ends::Not) };
}

/// Waits for the end where another thread is about to make it, and has said why.
pub(crate) fn wait_where_ending() {
    while ENDS.get() == Ends::Not && ENDING.load(Ordering::Relaxed) {
        std::thread::park();
    }
}

/// Prints the error that the command ends with by `print`. Threads to which memory is refused
/// meanwhile, or afterwards, report nothing more.
pub(crate) fn report_last(print: impl FnOnce()) {
    ENDS.set(Ends::Reports);
    while ENDING.swap(true, Ordering::Relaxed) {
        std::thread::park();
    }
    print();
    REPORTED.store(true, Ordering::Relaxed);
}

/// The C library aborts where it has no memory to start a thread with, and says so.
#[cfg(unix)]
fn clean_up_where_aborted() {
    extern "C" fn tell(_: libc::c_int) {
        const MESSAGE: &[u8] = b"error: a library ended the program, most likely out of memory\n";
        end_by_this_thread();
        say_once(MESSAGE);
        clean_up_and_leave()
    }
    // SAFETY: nothing returns to what called abort, and neither saying so nor cleaning up waits for
    // a lock.
    unsafe {
        libc::signal(libc::SIGABRT, tell as extern "C" fn(libc::c_int) as libc::sighandler_t)
    };
}

#[cfg(not(unix))]
fn clean_up_where_aborted() {}

/// Lets one thread say what happened, clean up and end the program.
fn end_by_this_thread() {
    match ENDS.replace(Ends::CleansUp) {
        Ends::CleansUp => leave(), // not even memory to clean up
        Ends::Reports => {}
        Ends::Not => {
            while ENDING.swap(true, Ordering::Relaxed) {
                std::thread::park(); // another thread cleans up and ends the program
            }
        }
    }
    HEAP.keep_the_rest();
    if let Ok(mut spare) = SPARE.try_lock() {
        *spare = None;
    }
}

/// [`say`], unless the command's error is reported already.
fn say_once(message: &[u8]) {
    if !REPORTED.load(Ordering::Relaxed) {
        say(message);
    }
}

/// Writes `message` to standard error, whoever holds the lock of it.
pub(crate) fn say(message: &[u8]) {
    #[cfg(unix)]
    {
        use std::os::fd::FromRawFd as _;
        // SAFETY: nothing closes standard error, this file neither.
        let mut stderr = ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(2) });
        let _ = stderr.write_all(message);
    }
    #[cfg(not(unix))]
    let _ = std::io::stderr().write_all(message);
}

/// Says what was refused, cleans up, and leaves: any lock may be held here, so that nothing else
/// is waited for.
fn refused(refusal: Refusal) -> ! {
    end_by_this_thread();
    let size = |bytes: usize| ByteSize(bytes as u64);
    let Refusal { bytes, held, limit } = refusal;
    // In place: there may be no memory for a text.
    let mut text = Cursor::new([0; 256]);
    let _ = write!(text, "error: out of memory: {} more were needed; ", size(bytes));
    let _ = match (limit, allowed()) {
        (Some(_), Some(allowed)) => writeln!(
            text,
            "{} are held already, and --memory allows {allowed}, of which {} are set apart",
            size(held),
            ByteSize(BESIDE)
        ),
        _ => writeln!(text, "the system has no more, and {} are held already", size(held)),
    };
    let end = text.position() as usize;
    say_once(&text.get_ref()[..end]);
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
