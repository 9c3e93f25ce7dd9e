//! Kernels that were compiled before, kept on disk: NVRTC takes up to two seconds for one, longer than
//! many fits.
//!
//! A file is named by the hash of all that the kernel depends on: its text, the compiler's version and
//! its options. Whatever goes wrong with it, the kernel is compiled again and nothing is said.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use xxhash_rust::xxh3::xxh3_128;

use super::CompiledKernel;

/// What a file begins with, before the hash of the rest.
const MAGIC: &[u8; 16] = b"fimbria kernel 1";

/// Files that are kept; the oldest beyond them go. One is some 100 KB, and a protocol has a dozen.
const MOST_FILES: usize = 512;

/// A folder of compiled kernels.
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The user's, in the place that the system has for what can be made again; `None` where it has none.
    pub(super) fn of_user() -> Option<Self> {
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let caches =
            variable("XDG_CACHE_HOME").filter(|folder| folder.is_absolute()).or_else(|| {
                match std::env::consts::OS {
                    "windows" => variable("LOCALAPPDATA"),
                    "macos" => variable("HOME").map(|home| home.join("Library/Caches")),
                    _ => variable("HOME").map(|home| home.join(".cache")),
                }
            })?;
        Some(Self { folder: caches.join("fimbria/kernels") })
    }

    /// The kernel that was kept under `key`, if it is whole.
    pub(super) fn get(&self, key: &str) -> Option<CompiledKernel> {
        let file = fs::read(self.file(key)).ok()?;
        let rest = file.strip_prefix(MAGIC)?;
        let (hash, content) = rest.split_at_checked(16)?;
        let (&is_machine_code, image) = content.split_first()?;
        let is_whole = xxh3_128(content).to_le_bytes() == hash && !image.is_empty();
        is_whole.then(|| CompiledKernel {
            image: image.to_vec(),
            is_machine_code: is_machine_code == 1,
        })
    }

    /// Keeps a kernel, where the folder can be written.
    pub(super) fn put(&self, key: &str, kernel: &CompiledKernel) {
        let content = [&[u8::from(kernel.is_machine_code)], kernel.image.as_slice()].concat();
        let hash = xxh3_128(&content).to_le_bytes();
        // A name of its own, so that several processes may write one kernel at once.
        let new = self.folder.join(format!(".{key}.{}", std::process::id()));
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| fs::write(&new, [MAGIC.as_slice(), &hash, &content].concat()))
            .and_then(|()| fs::rename(&new, self.file(key)));
        match written {
            Ok(()) => self.forget_oldest(MOST_FILES),
            // Nothing depends on it.
            Err(_) => drop(fs::remove_file(&new)),
        }
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(key)
    }

    fn forget_oldest(&self, most: usize) {
        let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path())))
            .collect();
        files.sort_unstable();
        let excess = files.len().saturating_sub(most);
        for (_, file) in &files[..excess] {
            drop(fs::remove_file(file));
        }
    }
}

/// What a kernel is kept under: everything that it is made of.
pub(super) fn key(parts: &[&str]) -> String {
    // Each with its length, so that no two lists of parts are one text.
    let text: String = parts.iter().map(|part| format!("{} {part}", part.len())).collect();
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of one test's own, and the cache in it.
    fn cache(test: &str) -> (PathBuf, Cache) {
        let folder = std::env::temp_dir().join(format!("fimbria-{test}-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        (folder.clone(), Cache { folder: folder.join("kernels") })
    }

    fn kernel(image: &[u8]) -> CompiledKernel {
        CompiledKernel { image: image.to_vec(), is_machine_code: true }
    }

    #[test]
    fn a_kernel_that_was_kept_comes_back_and_no_other() {
        let (folder, cache) = cache("cache-keeps");
        let (ours, others) = (key(&["text", "sm_90"]), key(&["texts", "m_90"]));
        assert!(cache.get(&ours).is_none());
        cache.put(&ours, &kernel(b"machine code"));
        let kept = cache.get(&ours).unwrap();
        assert_eq!((kept.image.as_slice(), kept.is_machine_code), (&b"machine code"[..], true));
        assert!(cache.get(&others).is_none());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_damaged_file_is_no_kernel() {
        let (folder, cache) = cache("cache-damaged");
        let key = key(&["text"]);
        cache.put(&key, &kernel(b"machine code"));
        let whole = fs::read(cache.file(&key)).unwrap();
        for damaged in 0..whole.len() {
            let mut file = whole.clone();
            file[damaged] ^= 1;
            fs::write(cache.file(&key), &file).unwrap();
            assert!(cache.get(&key).is_none(), "byte {damaged}");
            fs::write(cache.file(&key), &whole[..damaged]).unwrap();
            assert!(cache.get(&key).is_none(), "cut at {damaged}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn where_nothing_can_be_written_nothing_is_kept() {
        let (folder, _) = cache("cache-refused");
        fs::create_dir_all(&folder).unwrap();
        // A file where the folder should be: refused to root, too.
        let file = folder.join("file");
        fs::write(&file, "").unwrap();
        let cache = Cache { folder: file };
        cache.put("key", &kernel(b"machine code"));
        assert!(cache.get("key").is_none());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_oldest_go_first() {
        let (folder, cache) = cache("cache-full");
        for (age, key) in [(2, "older"), (3, "oldest"), (1, "newest")] {
            cache.put(key, &kernel(b"machine code"));
            let then = SystemTime::now() - std::time::Duration::from_secs(100 * age);
            fs::File::options()
                .append(true)
                .open(cache.file(key))
                .unwrap()
                .set_modified(then)
                .unwrap();
        }
        cache.forget_oldest(2);
        assert!(cache.get("newest").is_some() && cache.get("older").is_some());
        assert!(cache.get("oldest").is_none());
        fs::remove_dir_all(folder).unwrap();
    }
}
