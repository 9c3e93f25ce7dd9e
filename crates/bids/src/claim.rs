//! Which process has which session: several may work on one folder.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use fimbria_pipeline::is_same;

use crate::BidsError;
use crate::own::own_folder;

/// A session, or the root, that this process has to itself. The system lets go of it however the process ends.
#[derive(Debug)]
pub(crate) struct Claim {
    path: PathBuf,
    _lock: File,
}

/// What comes of a claim.
#[derive(Debug)]
pub(crate) enum Claimed {
    /// It is ours.
    Ours(Claim),
    /// Another process is at work on it.
    Theirs,
    /// The file system knows no locks, so that nobody can tell.
    Unknown,
}

impl Claim {
    /// Claims `name` among those of the derivatives in `out`.
    pub(crate) fn take(out: &Path, name: &str) -> Result<Claimed, BidsError> {
        Self::by(out, name, &File::try_lock)
    }

    /// Waits until nobody else writes what belongs to the derivatives as a whole; `None` where the file
    /// system knows no locks.
    pub(crate) fn take_root(out: &Path) -> Result<Option<Self>, BidsError> {
        let wait = |file: &File| file.lock().map_err(TryLockError::Error);
        match Self::by(out, "root", &wait)? {
            Claimed::Ours(claim) => Ok(Some(claim)),
            Claimed::Theirs | Claimed::Unknown => Ok(None),
        }
    }

    fn by(
        out: &Path,
        name: &str,
        lock: &dyn Fn(&File) -> Result<(), TryLockError>,
    ) -> Result<Claimed, BidsError> {
        let path = own_folder(out, "claims")?.join(name);
        // Who is finished removes the file, and with it the lock that another may just have opened.
        loop {
            own_folder(out, "claims")?;
            let file = match File::options().create(true).append(true).open(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                file => file.map_err(BidsError::io("claim", &path))?,
            };
            match lock(&file) {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Claimed::Theirs),
                Err(TryLockError::Error(_)) => return Ok(Claimed::Unknown),
            }
            if is_same(&file, &path) {
                return Ok(Claimed::Ours(Self { path, _lock: file }));
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Before the lock goes, so that nobody who has it sees another file under the name. A claim is empty.
        if self.path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() == 0) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::OWN;

    #[test]
    fn what_one_has_no_other_gets_until_it_is_let_go() {
        let folder = tempfile::tempdir().unwrap();
        let take = || Claim::take(folder.path(), "sub-01").unwrap();
        let Claimed::Ours(first) = take() else { panic!("not ours") };
        assert!(matches!(take(), Claimed::Theirs));
        assert!(matches!(Claim::take(folder.path(), "sub-02").unwrap(), Claimed::Ours(_)));
        drop(first);
        assert!(matches!(take(), Claimed::Ours(_)));
        let claims = folder.path().join(OWN).join("claims");
        assert_eq!(fs::read_dir(claims).unwrap().count(), 0, "claims leave no files");
    }

    #[test]
    fn the_file_of_a_killed_process_is_no_claim() {
        let folder = tempfile::tempdir().unwrap();
        let claims = folder.path().join(OWN).join("claims");
        fs::create_dir_all(&claims).unwrap();
        fs::write(claims.join("sub-01"), "").unwrap();
        assert!(matches!(Claim::take(folder.path(), "sub-01").unwrap(), Claimed::Ours(_)));
    }
}
