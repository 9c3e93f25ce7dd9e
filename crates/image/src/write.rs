//! Writing an image in any format.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::blocks::in_order;
use crate::encode::encoder;
use crate::error::{ImageError, UnwritableError};
use crate::format::{Writer, files_of_image, format_of};
use crate::gzip::{BLOCK_BYTES, write_member};
use crate::header::{Intent, Shape, SpaceCodes, is_usable};
use crate::layout::Layout;
use crate::mif::MifLayout;
use crate::nifti::NiftiVersion;
use crate::{ByteOrder, Datatype, Image, Scaling};

/// How to write an image.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteOptions {
    /// Type of the samples. Integers are rounded to nearest and saturate; NaN becomes 0.
    pub datatype: Datatype,
    /// Byte order of header and samples.
    pub byte_order: ByteOrder,
    /// Compression of .gz files, 0 (none) to 9.
    pub gzip_level: u32,
    /// Which NIfTI header.
    pub nifti_version: NiftiVersion,
    /// NIfTI's intent. Codes 1003 to 1007 put the volumes along dimension 5, as the standard asks.
    pub intent: Intent,
    /// The spaces that NIfTI's affines lead to; code 0 leaves an affine out [default: scanner].
    pub space_codes: Option<SpaceCodes>,
    /// Least and largest value that viewers of NIfTI show at first [default: their own choice].
    pub shown: Option<[f32; 2]>,
    /// NIfTI's `descrip` (79 bytes at most are kept); comments of a .mif file, one per line.
    pub description: String,
    /// Order of the samples in a .mif file.
    pub mif_layout: MifLayout,
    /// Gradient table of a .mif file: rows `x, y, z, b` in scanner axes and s/mm².
    pub dw_scheme: Option<Vec<Vec<f64>>>,
    /// Further entries of a .mif header; a value of several lines becomes several entries.
    pub keyvals: Vec<(String, String)>,
}

impl WriteOptions {
    /// The compression level used unless the caller says otherwise: of DWI and of maps it leaves
    /// less than 1 % more than level 6 does, in two thirds of the time.
    pub const DEFAULT_GZIP_LEVEL: u32 = 2;
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            datatype: Datatype::Float32,
            byte_order: ByteOrder::NATIVE,
            gzip_level: Self::DEFAULT_GZIP_LEVEL,
            nifti_version: NiftiVersion::Auto,
            intent: Intent::default(),
            space_codes: None,
            shown: None,
            description: String::new(),
            mif_layout: MifLayout::default(),
            dw_scheme: None,
            keyvals: Vec::new(),
        }
    }
}

/// Writes an image in the format that the name of the file asks for: .nii, .hdr or .img (the
/// other file of the pair goes beside it), .mif, each also with .gz.
///
/// An existing file is overwritten; a failed write leaves a partial one. Callers that must not show
/// such a thing, or may be reading the file that they replace (it is mapped), write to a temporary
/// name and rename.
///
/// Memory beyond the image is a few megabytes per thread of the current rayon pool; the bytes do
/// not depend on how many threads there are.
///
/// # Errors
/// [`ImageError::Extension`] for other names, [`ImageError::Unwritable`] where the format cannot
/// hold the image (checked before a file is touched), [`ImageError::Io`] where the disk refuses.
pub fn write_image(
    path: impl AsRef<Path>,
    image: &Image,
    options: &WriteOptions,
) -> Result<(), ImageError> {
    let path = path.as_ref();
    let target =
        Target::from_name(path).ok_or_else(|| ImageError::Extension { path: path.to_owned() })?;
    let unwritable = |source| ImageError::Unwritable { path: path.to_owned(), source };
    check(image, options).map_err(unwritable)?;
    let writer = target.writer;
    let layout = if writer.any_layout { options.mif_layout } else { MifLayout::VOLUMES_LAST };
    let dims = (writer.dims)(&image.grid, image.n_volumes, options);
    let grid = image.grid;
    let shape = Shape { grid, dims, volume_steps: Vec::new(), scaling: Scaling::NONE };
    let samples = Samples::new(image, layout, options);
    target.write_all(path, &shape, samples.n_bytes, &|from, to| samples.encode(from, to), options)
}

fn check(image: &Image, options: &WriteOptions) -> Result<(), UnwritableError> {
    let (dims, n_volumes, samples) = (image.grid.dims, image.n_volumes, image.data.len());
    if samples == 0 || image.grid.len() * n_volumes != samples {
        return Err(UnwritableError::Shape { dims, n_volumes, samples });
    }
    if !is_usable(&image.grid.ras_from_vox) {
        return Err(UnwritableError::Orientation { rows: Box::new(image.grid.ras_from_vox.0) });
    }
    if options.gzip_level > 9 {
        return Err(UnwritableError::GzipLevel(options.gzip_level));
    }
    Ok(())
}

/// Bytes `from .. to` of the samples of a file.
type EncodeBytes<'a> = dyn Fn(usize, usize) -> Vec<u8> + Sync + 'a;

/// What the name of a file asks for.
pub(crate) struct Target {
    pub(crate) writer: &'static Writer,
    /// Where the header goes.
    header: PathBuf,
    /// Where the samples go, if not behind the header.
    samples: Option<PathBuf>,
    gzip: bool,
}

impl Target {
    /// `None` of a name that asks for no format that is written.
    pub(crate) fn from_name(path: &Path) -> Option<Self> {
        let name = path.to_string_lossy();
        let (format, _, extension) = format_of(&name)?;
        let mut files = files_of_image(path).into_iter();
        Some(Self {
            writer: format.writer?,
            header: files.next()?,
            samples: files.next(),
            gzip: extension.ends_with(".gz"),
        })
    }

    /// Writes header and samples, in one file or two.
    pub(crate) fn write_all(
        &self,
        path: &Path,
        shape: &Shape,
        n_bytes: usize,
        encode: &EncodeBytes<'_>,
        options: &WriteOptions,
    ) -> Result<(), ImageError> {
        let unwritable = |source| ImageError::Unwritable { path: path.to_owned(), source };
        let header = (self.writer.header)(shape, options).map_err(unwritable)?;
        match &self.samples {
            None => self.write(&self.header, &header, n_bytes, encode, options),
            Some(samples) => {
                self.write(&self.header, &header, 0, &|_, _| Vec::new(), options)?;
                self.write(samples, &[], n_bytes, encode, options)
            }
        }
    }

    fn write(
        &self,
        path: &Path,
        header: &[u8],
        n_bytes: usize,
        encode: &EncodeBytes<'_>,
        options: &WriteOptions,
    ) -> Result<(), ImageError> {
        let write = || {
            let mut file = File::create(path)?;
            if self.gzip {
                write_member(&mut file, options.gzip_level, header, n_bytes, encode)?;
            } else {
                file.write_all(header)?;
                let block =
                    |i: usize| encode(i * BLOCK_BYTES, ((i + 1) * BLOCK_BYTES).min(n_bytes));
                in_order(n_bytes.div_ceil(BLOCK_BYTES), block, |b| file.write_all(&b))?;
            }
            Ok(())
        };
        write().map_err(|source: io::Error| ImageError::Io {
            action: "write",
            path: path.to_owned(),
            source,
        })
    }
}

/// The samples of an image as the bytes of a file.
struct Samples<'a> {
    data: &'a [f32],
    /// The image as the file runs through it.
    walk: Layout,
    datatype: Datatype,
    byte_order: ByteOrder,
    n_bytes: usize,
}

impl<'a> Samples<'a> {
    fn new(image: &'a Image, layout: MifLayout, options: &WriteOptions) -> Self {
        let [nx, ny, nz] = image.grid.dims;
        let dims = [nx, ny, nz, image.n_volumes];
        Self {
            data: &image.data,
            walk: Layout::walked(&dims, &layout.order).simplified(),
            datatype: options.datatype,
            byte_order: options.byte_order,
            n_bytes: (image.data.len() * options.datatype.bits()).div_ceil(8),
        }
    }

    /// Bytes `from .. to`; both hold whole samples, or are the end.
    fn encode(&self, from: usize, to: usize) -> Vec<u8> {
        let bits = self.datatype.bits();
        let start = from * 8 / bits;
        let end = (to * 8 / bits).min(self.data.len());
        let mut bytes = vec![0; to - from];
        let encode = encoder(self.datatype, self.byte_order);
        self.walk.for_each_run(start, end - start, |done, sample, step, count| {
            encode(self.data, sample, step, count, &mut bytes, done);
        });
        bytes
    }
}
