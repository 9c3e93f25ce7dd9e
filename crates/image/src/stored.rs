//! An image as its file stores it.

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::{Component, Path, PathBuf};

use crate::decode::{Decode, decoder};
use crate::error::{HeaderError, ImageError};
use crate::header::{DataFile, Header};
use crate::image_header::ImageHeader;
use crate::storage::{Bytes, Content, OpenOptions, Source};
use crate::{format, nifti};

/// A NIfTI or MRtrix image whose samples stay in the type and order of the file.
///
/// Uncompressed files are mapped; .gz files are inflated in one shot, or, where they exceed
/// [`OpenOptions::memory_limit`], streamed once into a scratch file. Samples become `f32` when they
/// are asked for: some voxels at a time by [`SignalSource::gather`](crate::SignalSource::gather),
/// all by [`to_image`](Self::to_image).
pub struct StoredImage {
    image_header: ImageHeader,
    pub(crate) decode: Decode,
    bytes: Bytes,
}

impl Deref for StoredImage {
    type Target = ImageHeader;

    fn deref(&self) -> &ImageHeader {
        &self.image_header
    }
}

impl StoredImage {
    /// Opens .nii, .hdr/.img, .mif and .mih/.dat files, each with or without .gz (of a .mih, the
    /// data are never compressed). What a file is, its first bytes say, not its name; either file
    /// of a .hdr/.img pair may be named.
    ///
    /// # Errors
    /// [`ImageError`] where the file cannot be read, understood or held, or is damaged. The
    /// checksum of compressed files is compared.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, ImageError> {
        Unloaded::open(path.as_ref())?.load(options)
    }

    /// Takes the bytes of a whole .nii or .mif file, compressed or not. `name` stands for the path
    /// in messages.
    ///
    /// # Errors
    /// As [`open`](Self::open); a header whose data lie in another file is refused.
    pub fn from_bytes(
        bytes: Vec<u8>,
        name: &str,
        options: &OpenOptions,
    ) -> Result<Self, ImageError> {
        let source = Source { path: name.into(), content: Content::Given(bytes) };
        let header = read_header(&source)?;
        match header.data_file {
            DataFile::Same => Unloaded { path: name.into(), header, source }.load(options),
            DataFile::Partner => Err(ImageError::NoPartner {
                path: name.into(),
                wanted: Path::new(name).with_extension("img"),
            }),
            DataFile::Named(wanted) => Err(ImageError::NoPartner { path: name.into(), wanted }),
        }
    }

    /// The volumes that are whole in a file that still grows, of which these are the `bytes` so
    /// far; `None` before the first. Its header may already count volumes to come.
    ///
    /// Files that are compressed, or whose volumes do not lie one after the other, are taken whole
    /// or not at all.
    ///
    /// # Errors
    /// As [`from_bytes`](Self::from_bytes).
    pub fn so_far(
        bytes: Vec<u8>,
        name: &str,
        options: &OpenOptions,
    ) -> Result<Option<Self>, ImageError> {
        let source = Source { path: name.into(), content: Content::Given(bytes) };
        let mut header = read_header(&source)?;
        let there = source.len().saturating_sub(header.data_offset);
        let total = header.volume_dims.iter().product::<usize>().max(1);
        let of_volume = header.data_bytes / total as u64;
        let n = (there / of_volume.max(1)).min(total as u64) as usize;
        if source.is_gzip()? || n == total || !header.first_volumes(n) {
            let Content::Given(bytes) = source.content else { return Ok(None) };
            return Self::from_bytes(bytes, name, options).map(Some);
        }
        match n {
            0 => Ok(None),
            _ => Unloaded { path: name.into(), header, source }.load(options).map(Some),
        }
    }

    /// Bytes of memory that it takes: those of an inflated file; what is mapped takes none.
    pub(crate) fn owned_bytes(&self) -> u64 {
        match &self.bytes {
            Bytes::Owned(_) => self.bytes.len() as u64,
            Bytes::Mapped(_) => 0,
        }
    }

    /// Nothing more is read for a while.
    pub(crate) fn give_back(&self) {
        self.bytes.give_back();
    }

    /// All volumes of so many voxels have been read.
    pub(crate) fn note_read(&self, voxels: usize) {
        let Header { data_bytes, grid, .. } = &self.header;
        self.bytes.note_read(data_bytes / grid.len().max(1) as u64 * voxels as u64);
    }

    /// The samples as the file stores them, in its order, type and byte order.
    pub fn stored_bytes(&self) -> &[u8] {
        let Header { data_offset, data_bytes, .. } = self.header;
        let start = data_offset as usize;
        &self.bytes[start..start + data_bytes as usize]
    }
}

/// A checked header and the file that holds the samples, before any sample is touched.
pub(crate) struct Unloaded {
    pub(crate) path: PathBuf,
    pub(crate) header: Header,
    pub(crate) source: Source,
}

impl Unloaded {
    pub(crate) fn open(given: &Path) -> Result<Self, ImageError> {
        let path = match partner(given, "img", "hdr") {
            Some(headers) => existing(given, headers)?,
            None => given.to_owned(),
        };
        let source = Source::open(&path)?;
        let header = read_header(&source)?;
        let source = match &header.data_file {
            DataFile::Same => source,
            DataFile::Partner => {
                let wanted = partner(&path, "hdr", "img").unwrap_or_else(|| {
                    vec![path.with_extension("img")] // a pair's header by another name
                });
                Source::open(&existing(&path, wanted)?)?
            }
            DataFile::Named(name) => {
                // A name, or a path further down: nothing that leads out.
                if !name
                    .components()
                    .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
                {
                    return Err(ImageError::DataElsewhere { path, named: name.clone() });
                }
                let wanted = path.parent().unwrap_or(Path::new("")).join(name);
                Source::open(&existing(&path, vec![wanted])?)?
            }
        };
        Ok(Self { path, header, source })
    }

    /// Bytes of the data file, after decompression, up to the end of the samples.
    pub(crate) fn needed_bytes(&self) -> u64 {
        self.header.data_offset.saturating_add(self.header.data_bytes)
    }

    /// The header alone. That the samples may be there is checked as far as the size of the file
    /// tells.
    pub(crate) fn into_header(self) -> Result<ImageHeader, ImageError> {
        self.source.check_plausible(self.needed_bytes())?;
        Ok(ImageHeader { path: self.path, header: self.header })
    }

    pub(crate) fn load(self, options: &OpenOptions) -> Result<StoredImage, ImageError> {
        let needed = self.needed_bytes();
        let Self { path, header, source } = self;
        let bytes = source.load(needed, options)?;
        let decode = decoder(header.datatype, header.byte_order);
        Ok(StoredImage { image_header: ImageHeader { path, header }, decode, bytes })
    }
}

impl ImageHeader {
    /// Reads the header of a file that [`StoredImage::open`](crate::StoredImage::open) could open.
    ///
    /// # Errors
    /// [`ImageError`] where the file or its header cannot be read or understood, or where the file
    /// is too short to hold the samples it announces (of a compressed one, far too short).
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ImageError> {
        Unloaded::open(path.as_ref())?.into_header()
    }
}

/// Every file that reading the image at `path` touches, that of the header first: both files of a
/// .hdr/.img pair, whichever is named, and the data that a .mih names. What cannot be read as an
/// image is returned by itself.
pub fn image_files(path: &Path) -> Vec<PathBuf> {
    match Unloaded::open(path) {
        Ok(image) if image.source.path != image.path => vec![image.path, image.source.path],
        Ok(image) => vec![image.path],
        Err(_) => vec![path.to_owned()],
    }
}

/// Longest header that is looked through for its end.
const LONGEST_HEADER: usize = 64 << 20;

fn read_header(source: &Source) -> Result<Header, ImageError> {
    let parsed = |result: Result<Header, HeaderError>| {
        result.map_err(|e| ImageError::Header { path: source.path.clone(), source: e })
    };
    let mut limit = nifti::PREFIX_BYTES;
    let mut start = source.prefix(limit)?;
    let reader = format::reader(&start);
    loop {
        if let Some(header) = (reader.parse)(&start, start.len() < limit) {
            return parsed(header);
        }
        if limit > LONGEST_HEADER {
            return parsed(Err(HeaderError::NoEnd));
        }
        limit *= 8;
        start = source.prefix(limit)?;
    }
}

/// The names that the other file of a `.hdr`/`.img` pair may have, likeliest first; `None` where
/// the path does not end in `.{from}` or `.{from}.gz`.
fn partner(path: &Path, from: &str, to: &str) -> Option<Vec<PathBuf>> {
    let compressed = path.extension() == Some(OsStr::new("gz"));
    let stem = if compressed { path.with_extension("") } else { path.to_owned() };
    if stem.extension() != Some(OsStr::new(from)) {
        return None;
    }
    let plain = stem.with_extension(to);
    let gzip = stem.with_extension(format!("{to}.gz"));
    Some(if compressed { vec![gzip, plain] } else { vec![plain, gzip] })
}

/// The first of the names that exists.
fn existing(beside: &Path, names: Vec<PathBuf>) -> Result<PathBuf, ImageError> {
    let wanted = names[0].clone();
    names
        .into_iter()
        .find(|name| name.exists())
        .ok_or_else(|| ImageError::NoPartner { path: beside.to_owned(), wanted })
}
