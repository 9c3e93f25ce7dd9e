//! Which files are ours. What a record says is data, and may be anybody's: a file is ours where it has a plain
//! name below the folder of the record, no link leads there, and it is, to the hash, what was written.

use std::path::{Component, Path, PathBuf};

use crate::OutputEntry;
use crate::hashing::hash_file;

/// The place of `name` below `root`; `None` for a name that may lead elsewhere: it is absolute, goes up, or
/// passes a link.
pub fn place_below(root: &Path, name: &str) -> Option<PathBuf> {
    let is_plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    (is_plain && !name.is_empty() && link_on_the_way(root, name).is_none()).then(|| root.join(name))
}

/// The folder between `root` and the file `name` that is a link.
pub(super) fn link_on_the_way(root: &Path, name: &str) -> Option<PathBuf> {
    let parts = Path::new(name).parent()?.components();
    let mut folder = root.to_owned();
    let mut folders = parts.map(|part| {
        folder.push(part);
        folder.clone()
    });
    folders.find(|folder| folder.is_symlink())
}

/// True where the file that a record in `root` lists is ours to replace or remove.
pub fn is_own(root: &Path, entry: &OutputEntry) -> bool {
    let Some(path) = place_below(root, &entry.file) else { return false };
    path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() == entry.bytes)
        && hash_file(&path).is_ok_and(|(_, hash)| hash == entry.xxh3_128)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn entry(root: &Path, file: &str) -> OutputEntry {
        let (bytes, xxh3_128) = hash_file(&root.join(file)).unwrap();
        OutputEntry { file: file.to_owned(), bytes, xxh3_128 }
    }

    #[test]
    fn a_file_is_ours_as_it_was_written_and_where_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("out");
        fs::create_dir_all(root.join("sub")).unwrap();
        for name in ["map", "sub/map", "../precious"] {
            fs::write(root.join(name), "text").unwrap();
        }
        for name in ["map", "sub/map"] {
            assert!(is_own(&root, &entry(&root, name)), "{name}");
        }
        let precious = folder.path().join("precious");
        for name in ["../precious", "sub/../map", precious.to_str().unwrap()] {
            assert!(!is_own(&root, &entry(&root, name)), "{name}");
        }
        let before = entry(&root, "map");
        fs::write(root.join("map"), "mine").unwrap();
        assert!(!is_own(&root, &before), "of another hash");
    }

    #[cfg(unix)]
    #[test]
    fn what_a_link_leads_to_is_not_ours() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let [root, other] = ["out", "other"].map(|name| folder.path().join(name));
        for made in [&root, &other] {
            fs::create_dir(made).unwrap();
        }
        fs::write(other.join("map"), "text").unwrap();
        symlink(&other, root.join("sub")).unwrap();
        symlink(other.join("map"), root.join("map")).unwrap();
        for name in ["sub/map", "map"] {
            assert!(!is_own(&root, &entry(&root, name)), "{name}");
        }
    }
}
