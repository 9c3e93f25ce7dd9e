//! Ctrl-C: once, the work stops and cleans up; twice, the program is left at once, as it is by itself
//! where the work cannot be stopped half-way.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fimbria_pipeline::Unfinished;

use crate::commands::processes::rank_and_size;
use crate::console::Console;
use crate::exit_code::INTERRUPTED;
use crate::failure::Failure;
#[cfg(unix)]
use crate::printable::printable;

/// Listens for Ctrl-C (and a request to terminate).
///
/// # Errors
/// Where the system does not let us.
pub(crate) fn install(console: &Console) -> Result<(), ctrlc::Error> {
    outlive_full_files();
    tell_of_cut_files();
    room_for_a_thread()?;
    let (cancelled, unfinished) = (console.cancelled().clone(), console.unfinished().clone());
    // All processes of an `mpirun` are asked at once; one answers.
    let process = rank_and_size();
    ctrlc::set_handler(move || {
        if cancelled.swap(true, Ordering::SeqCst) {
            unfinished.remove_all();
            leave()
        }
        if process.is_none_or(|(rank, _)| rank == 0) {
            let message = "stopping; press Ctrl-C again to leave at once";
            let _ = writeln!(std::io::stderr(), "{message}");
        }
        // Of several processes one that leaves by itself would end the others.
        if process.is_none() {
            let unfinished = unfinished.clone();
            // Where no thread can be had, the second Ctrl-C is left.
            let _ = thread::Builder::new().spawn(move || leave_where_deaf(&unfinished));
        }
    })
}

/// Leaves the program where the work has not ended soon after it was asked to: a large file that is
/// inflated or written in one go does not look up.
fn leave_where_deaf(unfinished: &Unfinished) -> ! {
    const PATIENCE: Duration = Duration::from_millis(800);
    loop {
        thread::sleep(PATIENCE);
        if unfinished.may_be_left() {
            unfinished.remove_all_for_good();
            Failure::Interrupted { kept: None }.say();
            leave()
        }
    }
}

/// Makes sure that a thread can start: one that gets its stack but not the pages behind it panics.
fn room_for_a_thread() -> Result<(), ctrlc::Error> {
    /// Twice the stack of a thread.
    const ROOM: usize = 4 << 20;
    let refused = || std::io::Error::other("out of memory: no thread can be started");
    fimbria_memory::try_vec::<u8>(ROOM).map(drop).map_err(|_| ctrlc::Error::System(refused()))
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
/// is gone ends the program, which names the file and cleans up.
#[cfg(unix)]
fn tell_of_cut_files() {
    extern "C" fn tell(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // Several threads may meet the end at once: one says so and cleans up.
        static SAID: AtomicBool = AtomicBool::new(false);
        if SAID.swap(true, Ordering::SeqCst) {
            loop {
                thread::park();
            }
        }
        // SAFETY: the system gives a handler with SA_SIGINFO the place that could not be read.
        let place = unsafe { (*info).si_addr() } as usize;
        let file = mapped_file_at(place).unwrap_or_else(|| "an input file".to_owned());
        let file = printable(&file);
        let message =
            format!("\nerror: {file} was cut off, or its disk failed, while it was being read\n");
        crate::memory::say(message.as_bytes());
        crate::memory::clean_up_and_leave()
    }
    // SAFETY: the signal comes from a look at a map, in the midst of numbers, where the thread holds
    // no lock that the message and cleaning up would wait for. All fields but two may be zero.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = tell as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

/// The file that is mapped at this place, by what Linux says of the process.
#[cfg(unix)]
fn mapped_file_at(place: usize) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let holds = |line: &&str| {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let range = range.map(|ends| [ends.0, ends.1].map(|end| usize::from_str_radix(end, 16)));
        matches!(range, Some([Ok(from), Ok(to)]) if (from..to).contains(&place))
    };
    let line = maps.lines().find(holds)?;
    // Addresses, rights, offset, device, inode, and the path.
    line.find('/').map(|start| line[start..].to_owned())
}

#[cfg(not(unix))]
fn tell_of_cut_files() {}
