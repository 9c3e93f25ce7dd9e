//! Every change that outputs make on disk: one place, so that tests can let each of them fail.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    faults::met()?;
    fs::create_dir(path)
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    faults::met()?;
    fs::write(path, bytes)
}

pub(super) fn write_in_parts(
    path: &Path,
    parts: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    faults::met()?;
    let mut file = BufWriter::new(File::create(path)?);
    parts(&mut file)?;
    file.flush()
}

/// Waits until the disk holds the file or folder: some file systems (NFS, quotas) report a full
/// disk only now.
pub(super) fn sync(path: &Path) -> io::Result<()> {
    faults::met()?;
    if cfg!(not(unix)) && path.is_dir() {
        return Ok(()); // folders cannot be opened there
    }
    File::open(path)?.sync_all()
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    faults::met()?;
    fs::rename(from, to)
}

/// A second name for a file.
pub(super) fn link(from: &Path, to: &Path) -> io::Result<()> {
    faults::met()?;
    fs::hard_link(from, to)
}

/// Two folders take each other's name in one step, where the system can do that.
#[cfg(target_os = "linux")]
pub(super) fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt as _;
    faults::met()?;
    let [a, b] = [a, b].map(|path| CString::new(path.as_os_str().as_bytes()));
    let (a, b) = (a?, b?);
    // SAFETY: both are strings with an end, which the system only reads.
    let done = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            a.as_ptr(),
            libc::AT_FDCWD,
            b.as_ptr(),
            libc::RENAME_EXCHANGE,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Two folders take each other's name in one step, where the system can do that.
#[cfg(not(target_os = "linux"))]
pub(super) fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Removes a file, or an empty folder.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    faults::met()?;
    let is_folder = path.symlink_metadata()?.is_dir();
    if is_folder { fs::remove_dir(path) } else { fs::remove_file(path) }
}

/// Removes a folder of ours with all that is in it.
pub(super) fn remove_all(path: &Path) -> io::Result<()> {
    faults::met()?;
    fs::remove_dir_all(path)
}

#[cfg(not(test))]
mod faults {
    pub(super) fn met() -> std::io::Result<()> {
        Ok(())
    }
}

/// What goes wrong in a test.
#[cfg(test)]
pub(super) mod faults {
    use std::cell::Cell;
    use std::io;

    /// What becomes of the operation whose turn it is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Fault {
        /// It fails; those after it do not.
        Fails,
        /// It fails with all after it: the process was killed.
        Kills,
    }

    thread_local! {
        static PLANNED: Cell<Option<(Fault, usize)>> = const { Cell::new(None) };
    }

    /// Runs `work`, in which the operation after `n` others meets `fault`; true where there was one.
    pub(crate) fn with(fault: Fault, n: usize, work: impl FnOnce()) -> bool {
        PLANNED.set(Some((fault, n)));
        work();
        let left = PLANNED.take();
        left.is_none() || left == Some((Fault::Kills, 0))
    }

    pub(super) fn met() -> io::Result<()> {
        let (left, is_met) = match PLANNED.get() {
            None => (None, false),
            Some((Fault::Fails, 0)) => (None, true),
            Some((Fault::Kills, 0)) => (Some((Fault::Kills, 0)), true),
            Some((fault, n)) => (Some((fault, n - 1)), false),
        };
        PLANNED.set(left);
        if is_met { Err(io::Error::other("a fault of the test")) } else { Ok(()) }
    }
}
