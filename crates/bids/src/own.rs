//! What belongs to the data set as a whole is replaced where we wrote it, and nowhere else: of each file that
//! was written there is a note of its hash in `.fimbria/written`.

use std::fs;
use std::path::{Path, PathBuf};

use fimbria_pipeline::{OutputError, hash_file, place_below, rename};
use xxhash_rust::xxh3::xxh3_128;

use crate::BidsError;
use crate::files::make_folder;

/// The folder of the derivatives that holds what is the program's own.
pub(crate) const OWN: &str = ".fimbria";

/// The folder `name` of those that are the program's own, made where it is missing; links lead to none.
pub(crate) fn own_folder(out: &Path, name: &str) -> Result<PathBuf, BidsError> {
    let (own, folder) = (out.join(OWN), out.join(OWN).join(name));
    if let Some(link) = [own, folder.clone()].into_iter().find(|folder| folder.is_symlink()) {
        return Err(OutputError::NotOurs(link).into());
    }
    make_folder(&folder)?;
    Ok(folder)
}

/// Of each file by its name below `out`, `/` as `,`: hashes of what was written, the last one last.
fn note(out: &Path, name: &str) -> Result<PathBuf, BidsError> {
    Ok(own_folder(out, "written")?.join(name.replace('/', ",")))
}

fn hashes(note: &Path) -> Vec<String> {
    let text = fimbria_image::read_regular_text(note).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The hash of the file; `None` where there is none, or what is there is no file.
fn hash_at(path: &Path) -> Option<String> {
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    is_file.then(|| hash_file(path).ok().map(|(_, hash)| hash))?
}

/// The place of `name` in `out`, which no link may lead to.
fn place(out: &Path, name: &str) -> Result<PathBuf, BidsError> {
    place_below(out, name).ok_or_else(|| OutputError::NotOurs(out.join(name)).into())
}

/// Whether `name` is as it was last written, with this hash.
pub(crate) fn is_as_written(out: &Path, name: &str, hash: &str) -> bool {
    place_below(out, name).and_then(|path| hash_at(&path)).as_deref() == Some(hash)
}

/// Whether nobody else's file is in the way of `name`.
pub(crate) fn is_free(out: &Path, name: &str) -> Result<bool, BidsError> {
    let path = place(out, name)?;
    if path.symlink_metadata().is_err() {
        return Ok(true);
    }
    let (note, there) = (note(out, name)?, hash_at(&path));
    Ok(there.is_some_and(|there| hashes(&note).contains(&there)))
}

/// Puts `text` in the place of what `name` holds, in one step, for whoever has claimed the root. False where
/// somebody else's file is there, which stays unless `force` is true.
pub(crate) fn put(out: &Path, name: &str, text: &[u8], force: bool) -> Result<bool, BidsError> {
    let (path, note) = (place(out, name)?, note(out, name)?);
    let (hash, there) = (format!("{:032x}", xxh3_128(text)), hash_at(&path));
    if there.as_ref() != Some(&hash) {
        if !force && !is_free(out, name)? {
            return Ok(false);
        }
        if let Some(folder) = path.parent() {
            make_folder(folder)?;
        }
        // Both may be there when the process is killed.
        write(&note, there.iter().map(|there| format!("{there}\n")).collect::<String>() + &hash)?;
        replace(&path, &note.with_extension("new"), text)?;
    }
    write(&note, hash)?;
    Ok(true)
}

/// A note that a kill cut short would make our file somebody else's.
fn write(note: &Path, text: String) -> Result<(), BidsError> {
    replace(note, &PathBuf::from(format!("{}.note", note.display())), text.as_bytes())
}

/// Writes `text` to `path` in one step, by way of the file `new` on the same disk.
fn replace(path: &Path, new: &Path, text: &[u8]) -> Result<(), BidsError> {
    fs::write(new, text).and_then(|()| rename(new, path)).map_err(|error| {
        let _ = fs::remove_file(new);
        BidsError::io("write", path)(error)
    })
}

/// Removes `name` where it is as we wrote it.
pub(crate) fn remove(out: &Path, name: &str) -> Result<(), BidsError> {
    let (path, note) = (place(out, name)?, note(out, name)?);
    if hash_at(&path).is_some_and(|there| hashes(&note).contains(&there)) {
        let _ = fs::remove_file(path);
        let _ = fs::remove_file(note);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_somebody_else_stays_and_ours_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path();
        let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
        for name in ["README", "logs/CITATION.md"] {
            assert!(put(out, name, b"first", false).unwrap());
            assert!(put(out, name, b"second", false).unwrap());
            assert_eq!(read(name), "second");
            // Edited, it is the user's.
            fs::write(out.join(name), "mine").unwrap();
            assert!(!put(out, name, b"third", false).unwrap() && !is_free(out, name).unwrap());
            remove(out, name).unwrap();
            assert_eq!(read(name), "mine");
            assert!(put(out, name, b"third", true).unwrap());
            remove(out, name).unwrap();
            assert!(!out.join(name).exists());
        }
    }

    #[test]
    fn what_a_kill_left_of_either_is_ours() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path();
        put(out, "page.html", b"first", false).unwrap();
        let hash = |text: &[u8]| format!("{:032x}", xxh3_128(text));
        let both = format!("{}\n{}", hash(b"first"), hash(b"second"));
        for text in ["first", "second"] {
            write(&note(out, "page.html").unwrap(), both.clone()).unwrap();
            fs::write(out.join("page.html"), text).unwrap();
            assert!(put(out, "page.html", b"third", false).unwrap(), "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let [out, mine] = ["out", "mine"].map(|name| folder.path().join(name));
        fs::create_dir_all(&mine).unwrap();
        fs::create_dir_all(&out).unwrap();
        fs::write(mine.join("CITATION.md"), "mine").unwrap();
        symlink(&mine, out.join("logs")).unwrap();
        assert!(put(&out, "logs/CITATION.md", b"ours", true).is_err());
        assert_eq!(fs::read(mine.join("CITATION.md")).unwrap(), b"mine");
        fs::create_dir_all(out.join(OWN)).unwrap();
        symlink(&mine, out.join(OWN).join("work")).unwrap();
        assert!(own_folder(&out, "work").is_err());
    }
}
