//! Writing one array after the other.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Arrays start at multiples of this many bytes, so that they can be mapped.
const ALIGNMENT: u16 = 64;
/// Bytes that are gathered before they go to the file.
const BLOCK: usize = 1 << 18;

/// An archive or a folder being written.
pub struct ArrayWriter(Place);

/// An archive that is closed by name alone: one that is dropped where its disk is full would try to close
/// itself and complain on standard error. Its file stays open until the program ends.
type Archive = ManuallyDrop<Box<ZipWriter<BufWriter<File>>>>;

enum Place {
    Zip(Archive),
    /// And the file that is being written.
    Folder(PathBuf, Option<BufWriter<File>>),
}

impl ArrayWriter {
    /// Starts an archive, whose arrays are not compressed.
    ///
    /// # Errors
    /// Where it cannot be created.
    pub fn create_zip(path: &Path) -> io::Result<Self> {
        let file = BufWriter::with_capacity(BLOCK, File::create(path)?);
        Ok(Self(Place::Zip(ManuallyDrop::new(Box::new(ZipWriter::new(file))))))
    }

    /// Starts a folder.
    ///
    /// # Errors
    /// Where it cannot be created.
    pub fn create_folder(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        Ok(Self(Place::Folder(path.to_owned(), None)))
    }

    /// Ends the array before and starts one of this path, to which all is written that follows.
    ///
    /// # Errors
    /// Where it cannot be.
    pub fn start(&mut self, name: &str) -> io::Result<()> {
        match &mut self.0 {
            Place::Zip(zip) => {
                let options = SimpleFileOptions::default()
                    .compression_method(CompressionMethod::Stored)
                    .with_alignment(ALIGNMENT)
                    .large_file(true);
                zip.start_file(name, options)?;
            }
            Place::Folder(root, file) => {
                if let Some(mut file) = file.take() {
                    file.flush()?;
                }
                let path = root.join(name);
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                *file = Some(BufWriter::with_capacity(BLOCK, File::create(path)?));
            }
        }
        Ok(())
    }

    /// Writes a whole array.
    ///
    /// # Errors
    /// Where it cannot be.
    pub fn add(&mut self, name: &str, bytes: &mut dyn io::Read) -> io::Result<()> {
        self.start(name)?;
        io::copy(bytes, self)?;
        Ok(())
    }

    /// Ends all of it.
    ///
    /// # Errors
    /// Where what is left cannot be written.
    pub fn close(self) -> io::Result<()> {
        match self.0 {
            Place::Zip(zip) => ManuallyDrop::into_inner(zip).finish()?.flush(),
            Place::Folder(_, file) => file.map_or(Ok(()), |mut file| file.flush()),
        }
    }
}

impl Write for ArrayWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Place::Zip(zip) => zip.write(bytes),
            Place::Folder(_, Some(file)) => file.write(bytes),
            Place::Folder(_, None) => Err(io::Error::other("no array is started")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Place::Zip(zip) => zip.flush(),
            Place::Folder(_, Some(file)) => file.flush(),
            Place::Folder(_, None) => Ok(()),
        }
    }
}
