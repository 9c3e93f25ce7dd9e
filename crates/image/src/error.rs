//! What can be wrong with an image file.

use std::io;
use std::path::PathBuf;

use crate::{Datatype, GridMismatch};

/// An image could not be read or written. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: "open", "map", "write" ...
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The header cannot be understood, or says something that cannot be.
    #[error("{}: {source}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with the header.
        source: HeaderError,
    },
    /// The file ends before its data do.
    #[error("{} is truncated: {needed} bytes are needed, {found} are there", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes up to the end of the data, after decompression.
        needed: u64,
        /// Bytes there are, after decompression.
        found: u64,
    },
    /// The compressed data are damaged.
    #[error("the gzip data of {} are corrupted: {reason}", path.display())]
    Gzip {
        /// The file.
        path: PathBuf,
        /// What the decoder found.
        reason: String,
    },
    /// The header asks for more than so small a file could ever hold.
    #[error(
        "the header of {} asks for {needed} bytes, which {found} compressed bytes cannot hold",
        path.display()
    )]
    Implausible {
        /// The file.
        path: PathBuf,
        /// Bytes that the header asks for.
        needed: u64,
        /// Compressed bytes there are.
        found: u64,
    },
    /// There is not enough memory.
    #[error("{} needs {bytes} bytes of memory, which cannot be had", path.display())]
    Memory {
        /// The file.
        path: PathBuf,
        /// Bytes asked for.
        bytes: u64,
    },
    /// A header of a pair has no data file beside it, or the other way round.
    #[error("{} has no {} beside it", path.display(), wanted.display())]
    NoPartner {
        /// The file that was given.
        path: PathBuf,
        /// The file that was looked for.
        wanted: PathBuf,
    },
    /// A header that names its data outside its own folder.
    #[error(
        "{} says that its samples are in {}, outside its own folder: such a header could show any \
         file as an image. Put the data, or a link to them, beside it and name them there",
        path.display(), named.display()
    )]
    DataElsewhere {
        /// The header.
        path: PathBuf,
        /// What it names.
        named: PathBuf,
    },
    /// The image does not lie on the grid it must lie on.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// A mask or a region with more than one volume.
    #[error("{} has {n_volumes} volumes; a mask or a region has one", path.display())]
    MaskVolumes {
        /// The file.
        path: PathBuf,
        /// Volumes it has.
        n_volumes: usize,
    },
    /// A name from which no format to write can be told.
    #[error(
        "{} has no image format in its name (.nii, .nii.gz, .hdr, .img, .hdr.gz, .img.gz, .mif \
         or .mif.gz)",
        path.display()
    )]
    Extension {
        /// The file.
        path: PathBuf,
    },
    /// What was asked for cannot be expressed in the format.
    #[error("{} cannot be written: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the format cannot hold.
        source: UnwritableError,
    },
}

/// What is wrong with a header. The path is in the [`ImageError`] around it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HeaderError {
    /// Neither of the formats.
    #[error("neither a NIfTI nor an MRtrix image (it begins with {start:02x?})")]
    UnknownFormat {
        /// The first bytes.
        start: Vec<u8>,
    },
    /// Too short to hold a header.
    #[error("ends within its header: {needed} bytes needed, {found} there")]
    Short {
        /// Bytes a header has.
        needed: usize,
        /// Bytes there are.
        found: usize,
    },
    /// The size of a NIfTI header without its magic letters.
    #[error(
        "has the size of a NIfTI header but not its magic letters (found {found:02x?}); \
             Analyze 7.5 files are not read, for they do not say which side is left"
    )]
    Magic {
        /// What stands in their place.
        found: Vec<u8>,
    },
    /// Dimensions that no image has.
    #[error("has impossible dimensions {dims:?}")]
    Dimensions {
        /// As the header gives them.
        dims: Vec<i64>,
    },
    /// More than five dimensions.
    #[error("has {} dimensions larger than 1 ({dims:?}); at most 5 are understood", dims.len())]
    TooManyDimensions {
        /// All dimensions.
        dims: Vec<usize>,
    },
    /// More voxels than a 32-bit index can name, or more samples than can be addressed.
    #[error("has {dims:?} voxels, more than can be indexed")]
    TooLarge {
        /// All dimensions.
        dims: Vec<usize>,
    },
    /// A NIfTI type that holds more than one real number, or is unknown.
    #[error(
        "stores samples of type {name} (code {code}), which is not supported: \
             only integers of 8 to 64 bits, float32 and float64 are"
    )]
    NiftiDatatype {
        /// NIfTI's code.
        code: i32,
        /// NIfTI's name for it.
        name: &'static str,
    },
    /// Data cannot begin there.
    #[error("says that its data begin at byte {offset}, which cannot be")]
    Offset {
        /// As the header gives it.
        offset: f64,
    },
    /// A slope with no usable intercept.
    #[error("scales its samples by {slope} and adds {intercept}, which is not a number")]
    Scaling {
        /// The slope.
        slope: f64,
        /// The intercept.
        intercept: f64,
    },
    /// The orientation cannot be inverted.
    #[error("has a {which} that maps no voxel grid into the scanner: {rows:?}")]
    Orientation {
        /// "sform", "qform" or "transform".
        which: &'static str,
        /// The rows of the affine.
        rows: Box<[[f64; 4]; 3]>,
    },
    /// A .mif header without its END line.
    #[error("has no END line in its header")]
    NoEnd,
    /// A .mif header without an entry it must have.
    #[error("has no `{key}:` in its header")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// A .mif entry that cannot be understood.
    #[error("has `{key}: {value}` in its header; expected {expected}")]
    Entry {
        /// The key.
        key: &'static str,
        /// The value given.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
}

/// What a format cannot hold.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UnwritableError {
    /// The format has no such sample type.
    #[error("NIfTI has no samples of type {0}")]
    Datatype(Datatype),
    /// A dimension is zero, or the data are not as long as the dimensions say.
    #[error("{samples} samples do not fill {dims:?} voxels in {n_volumes} volumes")]
    Shape {
        /// Spatial dimensions.
        dims: [usize; 3],
        /// Number of volumes.
        n_volumes: usize,
        /// Samples there are.
        samples: usize,
    },
    /// NIfTI-1 counts in 16 bits.
    #[error("NIfTI-1 cannot hold dimensions {dims:?}; NIfTI-2 can")]
    Nifti1Dimensions {
        /// All dimensions.
        dims: Vec<usize>,
    },
    /// NIfTI has seven dimensions.
    #[error("NIfTI cannot hold {} dimensions ({dims:?}), only 7", dims.len())]
    NiftiRank {
        /// All dimensions.
        dims: Vec<usize>,
    },
    /// The affine cannot be inverted.
    #[error("its affine maps no voxel grid into the scanner: {rows:?}")]
    Orientation {
        /// The rows of the affine.
        rows: Box<[[f64; 4]; 3]>,
    },
    /// An entry that would break the lines of a .mif header.
    #[error("`{key}` cannot be a key of a .mif header")]
    Key {
        /// The key.
        key: String,
    },
    /// A compression level that does not exist.
    #[error("gzip has levels 0 to 9, not {0}")]
    GzipLevel(u32),
}
