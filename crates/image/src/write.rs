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
use crate::{ByteOrder, Datatype, Grid, Image, Scaling};

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
    let Image { grid, n_volumes, data } = image;
    write_volumes(path.as_ref(), grid, *n_volumes, data.len(), Values::Held(data), options)
}

/// As [`write_image`] of an image that nobody holds: `value` gives each of its samples, by the number that it
/// would have in [`Image::data`]. It is asked on the threads of the current rayon pool.
///
/// # Errors
/// As [`write_image`].
pub fn write_samples(
    path: impl AsRef<Path>,
    grid: &Grid,
    n_volumes: usize,
    value: &(dyn Fn(usize) -> f32 + Sync),
    options: &WriteOptions,
) -> Result<(), ImageError> {
    let samples = grid.len() * n_volumes;
    write_volumes(path.as_ref(), grid, n_volumes, samples, Values::Made(value), options)
}

fn write_volumes(
    path: &Path,
    grid: &Grid,
    n_volumes: usize,
    samples: usize,
    values: Values<'_>,
    options: &WriteOptions,
) -> Result<(), ImageError> {
    let target =
        Target::from_name(path).ok_or_else(|| ImageError::Extension { path: path.to_owned() })?;
    let unwritable = |source| ImageError::Unwritable { path: path.to_owned(), source };
    check(grid, n_volumes, samples, options).map_err(unwritable)?;
    let writer = target.writer;
    let layout = if writer.any_layout { options.mif_layout } else { MifLayout::VOLUMES_LAST };
    let dims = (writer.dims)(grid, n_volumes, options);
    let shape = Shape { grid: *grid, dims, volume_steps: Vec::new(), scaling: Scaling::NONE };
    let [nx, ny, nz] = grid.dims;
    let walk = Layout::walked(&[nx, ny, nz, n_volumes], &layout.order).simplified();
    let samples = Samples::new(values, samples, walk, options);
    target.write_all(path, &shape, samples.n_bytes, &|from, to| samples.encode(from, to), options)
}

fn check(
    grid: &Grid,
    n_volumes: usize,
    samples: usize,
    options: &WriteOptions,
) -> Result<(), UnwritableError> {
    if samples == 0 || grid.len() * n_volumes != samples {
        return Err(UnwritableError::Shape { dims: grid.dims, n_volumes, samples });
    }
    if !is_usable(&grid.ras_from_vox) {
        return Err(UnwritableError::Orientation { rows: Box::new(grid.ras_from_vox.0) });
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

/// Where samples come from, in the order of an image.
#[derive(Clone, Copy)]
enum Values<'a> {
    Held(&'a [f32]),
    Made(&'a (dyn Fn(usize) -> f32 + Sync)),
}

/// The samples of an image as the bytes of a file.
struct Samples<'a> {
    values: Values<'a>,
    len: usize,
    /// The image as the file runs through it.
    walk: Layout,
    datatype: Datatype,
    byte_order: ByteOrder,
    n_bytes: usize,
}

impl<'a> Samples<'a> {
    fn new(values: Values<'a>, len: usize, walk: Layout, options: &WriteOptions) -> Self {
        let (datatype, byte_order) = (options.datatype, options.byte_order);
        let n_bytes = (len * datatype.bits()).div_ceil(8);
        Self { values, len, walk, datatype, byte_order, n_bytes }
    }

    /// Bytes `from .. to`; both hold whole samples, or are the end.
    fn encode(&self, from: usize, to: usize) -> Vec<u8> {
        let bits = self.datatype.bits();
        let start = from * 8 / bits;
        let end = (to * 8 / bits).min(self.len);
        let mut bytes = vec![0; to - from];
        let encode = encoder(self.datatype, self.byte_order);
        let mut made = Vec::new();
        self.walk.for_each_run(start, end - start, |done, sample, step, count| match self.values {
            Values::Held(data) => encode(data, sample, step, count, &mut bytes, done),
            Values::Made(value) => {
                let at = |i: usize| value(sample.wrapping_add_signed(i as isize * step));
                made.clear();
                made.extend((0..count).map(at));
                encode(&made, 0, 1, count, &mut bytes, done);
            }
        });
        bytes
    }
}

#[cfg(test)]
mod tests {
    use crate::Affine;

    use super::*;

    #[test]
    fn samples_that_nobody_holds_are_written_as_an_images() {
        let grid = Grid { dims: [7, 5, 3], ras_from_vox: Affine::IDENTITY };
        let value = |i: usize| (i as f32).sin() * 100.0;
        let image =
            Image { data: (0..4 * grid.len()).map(value).collect(), ..Image::zeros(grid, 4) };
        let folder = tempfile::tempdir().unwrap();
        let written = |name: &str, options: &WriteOptions, is_held: bool| {
            let path = folder.path().join(name);
            match is_held {
                true => write_image(&path, &image, options).unwrap(),
                false => write_samples(&path, &grid, 4, &value, options).unwrap(),
            }
            std::fs::read(path).unwrap()
        };
        for name in ["a.nii", "a.nii.gz", "a.mif"] {
            for datatype in [Datatype::Float32, Datatype::Int16, Datatype::Bit] {
                // Volumes come first, and y backwards.
                let mif_layout =
                    MifLayout { order: [(1, false), (2, true), (3, false), (0, false)] };
                let options = WriteOptions { datatype, mif_layout, ..WriteOptions::default() };
                if name != "a.mif" && datatype == Datatype::Bit {
                    continue;
                }
                let held = written(name, &options, true);
                assert!(held == written(name, &options, false), "{name} {datatype:?}");
            }
        }
        let options = WriteOptions::default();
        let none = write_samples(folder.path().join("b.nii"), &grid, 0, &value, &options);
        assert!(matches!(none, Err(ImageError::Unwritable { .. })), "{none:?}");
    }
}
