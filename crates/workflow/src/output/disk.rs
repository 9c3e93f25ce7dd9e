//! Every change that outputs make on disk: one place, so that tests can let each of them fail, also after it
//! was done, as a server of files does whose answer is lost.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    faults::met(|| fs::create_dir(path))
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    faults::met(|| fs::write(path, bytes))
}

pub(super) fn write_in_parts(
    path: &Path,
    parts: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    faults::met(|| {
        let mut file = BufWriter::new(File::create(path)?);
        parts(&mut file)?;
        file.flush()
    })
}

/// Waits until the disk holds the file or folder: some file systems (NFS, quotas) report a full
/// disk only now.
pub(super) fn sync(path: &Path) -> io::Result<()> {
    faults::met(|| {
        if cfg!(not(unix)) && path.is_dir() {
            return Ok(()); // folders cannot be opened there
        }
        File::open(path)?.sync_all()
    })
}

/// Gives a file or folder another name. Where the system reports a failure, what is there decides: a server
/// may have done it, and its answer been lost.
///
/// # Errors
/// Where it was not done.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let before = identity(from);
    let renamed = faults::met(|| fs::rename(from, to));
    let is_done = || before.is_some() && identity(to) == before && identity(from).is_none();
    if renamed.is_err() && is_done() { Ok(()) } else { renamed }
}

/// What stays the same of a file or folder that is renamed.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// What stays the same of a file or folder that is renamed; there is nothing to tell it by.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<()> {
    path.symlink_metadata().ok().map(drop)
}

/// A second name for a file.
pub(super) fn link(from: &Path, to: &Path) -> io::Result<()> {
    faults::met(|| fs::hard_link(from, to))
}

/// Two folders take each other's name in one step, where the system can do that.
#[cfg(target_os = "linux")]
pub(super) fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt as _;
    let names = [a, b].map(|path| CString::new(path.as_os_str().as_bytes()));
    let [name_a, name_b] = names;
    let (name_a, name_b) = (name_a?, name_b?);
    let before = [identity(a), identity(b)];
    let exchanged = faults::met(|| {
        // SAFETY: both are strings with an end, which the system only reads.
        let done = unsafe {
            libc::syscall(
                libc::SYS_renameat2,
                libc::AT_FDCWD,
                name_a.as_ptr(),
                libc::AT_FDCWD,
                name_b.as_ptr(),
                libc::RENAME_EXCHANGE,
            )
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    });
    let is_done = || before[0].is_some() && [identity(b), identity(a)] == before;
    if exchanged.is_err() && is_done() { Ok(()) } else { exchanged }
}

/// Two folders take each other's name in one step, where the system can do that.
#[cfg(not(target_os = "linux"))]
pub(super) fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Removes a file, or an empty folder.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    if faults::removes_as_nfs(path)? {
        return Ok(());
    }
    let is_folder = path.symlink_metadata()?.is_dir();
    let removed =
        faults::met(|| if is_folder { fs::remove_dir(path) } else { fs::remove_file(path) });
    if path.symlink_metadata().is_err() { Ok(()) } else { removed }
}

/// Removes a folder of ours with all that is in it.
pub(super) fn remove_all(path: &Path) -> io::Result<()> {
    faults::removes_as_nfs(path)?;
    let removed = faults::met(|| fs::remove_dir_all(path));
    if path.symlink_metadata().is_err() { Ok(()) } else { removed }
}

/// Lets the folder `new` belong to whom `root` belongs and have its rights, with the folders in both; false
/// where that cannot be.
#[cfg(unix)]
pub(super) fn take_after(new: &Path, root: &Path) -> io::Result<bool> {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let (made, there) = (new.metadata()?, root.metadata()?);
    if made.uid() != there.uid()
        || made.gid() != there.gid() && chown(new, None, Some(there.gid())).is_err()
    {
        return Ok(false);
    }
    fs::set_permissions(new, there.permissions())?;
    // A system may take a right away rather than refuse it.
    if new.metadata()?.permissions() != there.permissions() {
        return Ok(false);
    }
    for entry in fs::read_dir(new)? {
        let (made, there) = {
            let entry = entry?;
            (entry.path(), root.join(entry.file_name()))
        };
        if made.is_dir() && there.is_dir() && !take_after(&made, &there)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The same; there is no owner to take after.
#[cfg(not(unix))]
pub(super) fn take_after(new: &Path, root: &Path) -> io::Result<bool> {
    fs::set_permissions(new, root.metadata()?.permissions()).map(|()| true)
}

#[cfg(not(test))]
mod faults {
    pub(super) fn removes_as_nfs(_: &std::path::Path) -> std::io::Result<bool> {
        Ok(false)
    }

    pub(super) fn met<T>(work: impl FnOnce() -> std::io::Result<T>) -> std::io::Result<T> {
        work()
    }
}

/// What goes wrong in a test.
#[cfg(test)]
pub(super) mod faults {
    use std::cell::Cell;
    use std::fs;
    use std::io;
    use std::path::{Path, PathBuf};

    /// What becomes of the operation whose turn it is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Fault {
        /// It fails; those after it do not.
        Fails,
        /// It is done and reported as failed; those after it are not.
        Lies,
        /// It fails with all after it: the process was killed.
        Kills,
    }

    thread_local! {
        static PLANNED: Cell<Option<(Fault, usize)>> = const { Cell::new(None) };
        static IS_NFS: Cell<bool> = const { Cell::new(false) };
    }

    /// Runs `work` on disks that remove as NFS does.
    pub(crate) fn on_nfs(work: impl FnOnce()) {
        IS_NFS.set(true);
        work();
        IS_NFS.set(false);
    }

    /// On NFS a file that is removed while it is open has another name until it is closed, and its folder
    /// cannot be removed; true where that was done.
    pub(super) fn removes_as_nfs(path: &Path) -> io::Result<bool> {
        if !IS_NFS.get() {
            return Ok(false);
        }
        let path = path.canonicalize()?;
        let open: Vec<PathBuf> = fs::read_dir("/proc/self/fd")?
            .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
            .collect();
        let hidden = path.join(".nfs0001");
        if !path.is_dir() {
            let is_open = open.contains(&path);
            return match is_open {
                true => fs::rename(&path, path.with_file_name(".nfs0001")).map(|()| true),
                false => Ok(false),
            };
        }
        if hidden.exists() && !open.contains(&hidden) {
            fs::remove_file(hidden)?; // it was closed
        }
        match open.iter().any(|file| file.starts_with(&path)) {
            true => Err(io::ErrorKind::DirectoryNotEmpty.into()),
            false => Ok(false),
        }
    }

    /// Runs `work`, in which the operation after `n` others meets `fault`; true where there was one.
    pub(crate) fn with(fault: Fault, n: usize, work: impl FnOnce()) -> bool {
        PLANNED.set(Some((fault, n)));
        work();
        let left = PLANNED.take();
        left.is_none() || left == Some((Fault::Kills, 0))
    }

    pub(super) fn met<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let failed = || Err(io::Error::other("a fault of the test"));
        let planned = PLANNED.get();
        PLANNED.set(match planned {
            None | Some((Fault::Fails | Fault::Lies, 0)) => None,
            Some((Fault::Kills, 0)) => planned,
            Some((fault, n)) => Some((fault, n - 1)),
        });
        match planned {
            Some((Fault::Lies, 0)) => work().and_then(|_| failed()),
            Some((_, 0)) => failed(),
            _ => work(),
        }
    }
}
