//! Opening what a user names: regular files only.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Opens a file to read from. Whatever is no regular file is an error at once: a pipe that nobody
/// writes to would block for ever, a device may never end.
///
/// # Errors
/// Where the system refuses, or the path is a folder, a pipe, a socket or a device.
pub fn open_regular(path: impl AsRef<Path>) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Opening does not wait for a writer; reading a regular file is not changed by it.
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    }
    let file = options.open(path)?;
    // Asked of what was opened, not of the name, which may stand for something else by now.
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// All bytes of a regular file.
///
/// # Errors
/// As [`open_regular`], and where it cannot be read.
pub fn read_regular(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// All text of a regular file.
///
/// # Errors
/// As [`read_regular`], and where it is not UTF-8.
pub fn read_regular_text(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read_regular(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn pipes_folders_and_devices_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        for path in [pipe.as_path(), folder.path(), Path::new("/dev/zero")] {
            assert!(open_regular(path).is_err(), "{path:?}");
            assert!(read_regular(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn text_that_is_none_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"caf\xe9").unwrap();
        assert_eq!(read_regular(&path).unwrap(), b"caf\xe9");
        assert!(read_regular_text(&path).is_err());
    }
}
