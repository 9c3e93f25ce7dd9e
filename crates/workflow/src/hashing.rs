//! Hashes of inputs, computed beside the work, of the bytes that the work read.

use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::SystemTime;

use fimbria_image::bedpostx::sample_files;
use fimbria_image::{image_files, open_regular, sidecar_of};
use fimbria_streamlines::{Format, tractogram_files};
use serde::{Deserialize, Serialize, Serializer};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// A file that is read, with what it is read as ("dwi", "mask").
pub type Input = (String, PathBuf);

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputEntry {
    /// What it was read as ("dwi", "mask", "bvec").
    pub role: String,
    /// Where it is, absolute; of a name that is no text, as it can be shown.
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Its XXH3 hash of 128 bits, in hexadecimal.
    pub xxh3_128: String,
}

/// A path as text, which a record is.
fn shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// An input whose hash does not tell what was read.
#[derive(Debug, thiserror::Error)]
pub enum HashError {
    /// It cannot be read.
    #[error("could not read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Somebody wrote it meanwhile.
    #[error("{} changed while it was being read; run this again when it is whole", .0.display())]
    Changed(PathBuf),
}

impl HashError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        |source| Self::Io { path, source }
    }
}

/// Inputs being hashed in the background: XXH3 keeps up with memory, so one thread that reads
/// what the page cache holds anyway costs the work itself next to nothing.
#[derive(Debug)]
pub struct Hashing {
    entries: Entries,
    seen: Seen,
    /// What was not there.
    unseen: Vec<PathBuf>,
}

/// Hashes that are still to come, or already there.
#[derive(Debug)]
enum Entries {
    Coming(JoinHandle<Result<Vec<InputEntry>, HashError>>),
    There(Result<Vec<InputEntry>, HashError>),
}

/// Inputs with their hashes.
#[derive(Debug)]
pub struct Hashed {
    /// Every file, in the order of the inputs.
    pub entries: Vec<InputEntry>,
    seen: Seen,
}

/// What files were like before anything of them was read.
#[derive(Debug, Default)]
struct Seen(Vec<(PathBuf, Stamp)>);

/// What changes where a file is written or another takes its name.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: (u64, u64),
}

impl Stamp {
    fn from_metadata(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt as _;
        Self {
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            inode: (metadata.dev(), metadata.ino()),
        }
    }
}

impl Hashing {
    /// Begins to hash every file that reading `inputs` touches. To be called before the work reads
    /// anything, which the hashes then are of.
    pub fn start(inputs: Vec<Input>) -> Self {
        let files: Vec<_> = inputs.iter().flat_map(|(role, path)| touched(role, path)).collect();
        let stamp =
            |(_, path): &Input| Some((path.clone(), Stamp::from_metadata(&path.metadata().ok()?)));
        let seen = Seen(files.iter().filter_map(stamp).collect());
        let hash = |files: &[Input]| -> Result<Vec<_>, _> {
            files.iter().map(|(role, path)| hash_input(role.clone(), path)).collect()
        };
        let files = Arc::new(files);
        let behind = std::thread::Builder::new().spawn({
            let files = files.clone();
            move || hash(&files)
        });
        // Where the system gives no thread, the work waits for the hashes.
        let entries = behind.map_or_else(|_| Entries::There(hash(&files)), Entries::Coming);
        let is_unseen = |path: &&PathBuf| path.metadata().is_err();
        let unseen = files.iter().map(|(_, path)| path).filter(is_unseen).cloned().collect();
        Self { entries, seen, unseen }
    }

    /// Whether every file is there, as far as can be said before it is read.
    ///
    /// # Errors
    /// [`HashError::Io`] names the first that is not.
    pub fn check_there(&self) -> Result<(), HashError> {
        let check = |path: &PathBuf| path.metadata().map(drop).map_err(HashError::io(path));
        self.unseen.iter().try_for_each(check)
    }

    /// Waits for the hashes.
    ///
    /// # Errors
    /// [`HashError::Io`] where a file cannot be read.
    ///
    /// # Panics
    /// Only where the hashing thread did.
    pub fn wait(self) -> Result<Hashed, HashError> {
        let entries = match self.entries {
            Entries::Coming(thread) => {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
            Entries::There(entries) => entries,
        };
        Ok(Hashed { entries: entries?, seen: self.seen })
    }

    /// Waits for the hashes when all is read.
    ///
    /// # Errors
    /// [`HashError`] where a file cannot be read, or is not what it was at the start: the work may
    /// then have read something else.
    pub fn finish(self) -> Result<Vec<InputEntry>, HashError> {
        let hashed = self.wait()?;
        hashed.check()?;
        Ok(hashed.entries)
    }
}

impl Hashed {
    /// Whether all files are still what was hashed.
    ///
    /// # Errors
    /// [`HashError::Changed`] names the first that is not.
    pub fn check(&self) -> Result<(), HashError> {
        let is_same = |(path, stamp): &(PathBuf, Stamp)| {
            path.metadata().is_ok_and(|metadata| Stamp::from_metadata(&metadata) == *stamp)
        };
        match self.seen.0.iter().find(|seen| !is_same(seen)) {
            Some((path, _)) => Err(HashError::Changed(path.clone())),
            None => Ok(()),
        }
    }
}

/// An image that is read with what BIDS says beside it, where that is there.
pub fn with_sidecar(role: &str, image: &Path) -> impl Iterator<Item = Input> + use<> {
    let sidecar = sidecar_of(image).filter(|sidecar| sidecar.is_file());
    let sidecar = sidecar.map(|sidecar| (format!("{role} sidecar"), sidecar));
    std::iter::once((role.to_owned(), image.to_owned())).chain(sidecar)
}

/// Every file that reading an input touches, with its role: the two files of an image in two, the
/// samples of a bedpostX folder or base name, the files of a TRX folder.
fn touched(role: &str, path: &Path) -> Vec<Input> {
    let within = |files: Vec<PathBuf>, folder: &Path| {
        let named = |file: PathBuf| {
            let name = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
            (format!("{role} {name}"), file)
        };
        files.into_iter().map(named).collect::<Vec<_>>()
    };
    if path.is_dir() && Format::from_content(path).is_ok() {
        return within(tractogram_files(path), path);
    }
    if !path.is_file() {
        let folder = if path.is_dir() { Some(path) } else { path.parent() };
        let samples = within(sample_files(path), folder.unwrap_or(Path::new("")));
        if !samples.is_empty() {
            return samples;
        }
        // What is not there says so when it is read.
        return vec![(role.to_owned(), path.to_owned())];
    }
    let named =
        |(k, file)| if k == 0 { (role.to_owned(), file) } else { (format!("{role} data"), file) };
    image_files(path).into_iter().enumerate().map(named).collect()
}

fn hash_input(role: String, path: &Path) -> Result<InputEntry, HashError> {
    let (bytes, xxh3_128) = hash_file(path).map_err(HashError::io(path))?;
    let path = std::path::absolute(path).map_err(HashError::io(path))?;
    Ok(InputEntry { role, path, bytes, xxh3_128 })
}

/// Size of a file and its XXH3 hash of 128 bits, in hexadecimal.
///
/// # Errors
/// Where it cannot be read, or is no regular file.
pub fn hash_file(path: &Path) -> io::Result<(u64, String)> {
    let mut file = open_regular(path)?;
    let (mut hasher, mut bytes) = (Xxh3::new(), 0);
    // Small enough that a block is still in the cache when it is hashed.
    let mut block = vec![0; 128 << 10];
    loop {
        let n = file.read(&mut block)?;
        if n == 0 {
            break;
        }
        hasher.update(&block[..n]);
        bytes += n as u64;
    }
    Ok((bytes, format!("{:032x}", hasher.digest128())))
}

/// Hash of a text, for fingerprints.
pub(crate) fn hash_text(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::Duration;

    use super::*;

    fn hashing(path: &Path) -> Hashing {
        Hashing::start(vec![("dwi".to_owned(), path.to_owned())])
    }

    #[test]
    fn an_input_that_is_written_before_the_work_ends_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dwi.nii");
        fs::write(&path, [1; 100]).unwrap();
        assert_eq!(hashing(&path).finish().unwrap().len(), 1);
        let changes: [&dyn Fn(); 3] = [
            &|| fs::write(&path, [1; 50]).unwrap(),
            // Of the same size; the clock of a file system may be coarse.
            &|| {
                fs::write(&path, [2; 50]).unwrap();
                let file = File::options().write(true).open(&path).unwrap();
                file.set_modified(SystemTime::now() + Duration::from_secs(2)).unwrap();
            },
            &|| {
                fs::write(folder.path().join("other"), [2; 50]).unwrap();
                fs::rename(folder.path().join("other"), &path).unwrap();
            },
        ];
        for change in changes {
            let hashed = hashing(&path).wait().unwrap();
            hashed.check().unwrap();
            change();
            let error = hashed.check().unwrap_err();
            assert!(matches!(error, HashError::Changed(_)), "{error}");
        }
    }

    #[test]
    fn an_input_that_is_no_regular_file_is_an_error_and_not_read() {
        let error = hashing(Path::new("/dev/zero")).finish();
        assert!(error.is_err());
    }
}
