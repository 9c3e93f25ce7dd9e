//! Ctrl-C: once, the work stops and cleans up; twice, the program is left at once.

use std::io::Write as _;
use std::sync::atomic::Ordering;

use crate::commands::processes::rank_and_size;
use crate::console::Console;
use crate::failure::INTERRUPTED;

/// Listens for Ctrl-C (and a request to terminate).
///
/// # Errors
/// Where the system does not let us.
pub(crate) fn install(console: &Console) -> Result<(), ctrlc::Error> {
    outlive_full_files();
    tell_of_cut_files();
    let (cancelled, unfinished) = (console.cancelled().clone(), console.unfinished().clone());
    // All processes of an `mpirun` are asked at once; one answers.
    let answers = rank_and_size().is_none_or(|(rank, _)| rank == 0);
    ctrlc::set_handler(move || {
        if cancelled.swap(true, Ordering::Relaxed) {
            unfinished.remove_all();
            leave()
        } else if answers {
            let message = "stopping; press Ctrl-C again to leave at once";
            let _ = writeln!(std::io::stderr(), "{message}");
        }
    })
}

#[expect(clippy::exit, reason = "asked twice: no thread is waited for, outputs are cleaned up")]
fn leave() -> ! {
    std::process::exit(INTERRUPTED.into())
}

/// A file that exceeds a size limit becomes an error of the write instead of the end of the
/// program, which could not clean up then.
#[cfg(unix)]
fn outlive_full_files() {
    // SAFETY: ignoring a signal installs no code of ours.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

#[cfg(not(unix))]
fn outlive_full_files() {}

/// A file that is mapped, as those of gigabytes are, may be cut off by somebody else: touching what
/// is gone ends the program, which says why and cleans up.
#[cfg(unix)]
fn tell_of_cut_files() {
    extern "C" fn tell(_: libc::c_int) {
        const MESSAGE: &[u8] =
            b"\nerror: an input file was cut off, or its disk failed, while it was being read\n";
        // SAFETY: the message outlives the call.
        unsafe { libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len()) };
        crate::memory::clean_up_and_leave()
    }
    // SAFETY: the signal comes from a look at a map, in the midst of numbers, where the thread holds
    // no lock that cleaning up would wait for.
    unsafe { libc::signal(libc::SIGBUS, tell as extern "C" fn(libc::c_int) as libc::sighandler_t) };
}

#[cfg(not(unix))]
fn tell_of_cut_files() {}
