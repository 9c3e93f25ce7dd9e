//! The original dQSM program's files.
//!
//! `u32 0x12345678` (which tells the byte order), `u32` version 1, a header of f64, then the data
//! in column-major order: ΔB (N, nx, ny, nz, B0 in tesla, B0's direction, voxel size; f64, tesla),
//! mask (N, nx, ny, nz; u8), models (3 N, nx, ny, nz, 3; f64, the volumes of mx, my and mz). The
//! map is written as bare f32 of every voxel, little-endian. Directions are those of the array's
//! axes; the voxel size is read, and was ignored by that program.

use std::path::{Path, PathBuf};

use fimbria_image::{Affine, Grid, Image, Mask};

/// Why a file is none of these.
#[derive(Debug, thiserror::Error)]
pub enum DqsmFileError {
    /// The system refused.
    #[error("could not read {}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It is something else.
    #[error("{}: {what}", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

const MAGIC: u32 = 0x1234_5678;

/// Voxels of a side at most: beyond it a header is damaged.
const LARGEST_SIDE: f64 = 4096.0;

/// A field map and the scanner it is from.
#[derive(Clone, Debug, PartialEq)]
pub struct DeltaB {
    /// ΔB in tesla, on a grid with the file's voxel size in mm.
    pub field: Image,
    /// B0 in tesla.
    pub b0_tesla: f64,
    /// Its direction in voxel axes.
    pub b0_vox: [f64; 3],
}

/// A file's numbers.
struct Contents {
    path: PathBuf,
    bytes: Vec<u8>,
    big_endian: bool,
    header: Vec<f64>,
}

impl Contents {
    /// Reads the file and a header of `fields` numbers, of which the first four are N, nx, ny, nz.
    fn read(path: &Path, fields: usize) -> Result<Self, DqsmFileError> {
        let path = path.to_owned();
        let bytes = fimbria_image::read_regular(&path)
            .map_err(|source| DqsmFileError::Io { path: path.clone(), source })?;
        let mut contents = Self { path, bytes, big_endian: false, header: Vec::new() };
        let start = 8 + 8 * fields;
        if contents.bytes.len() < start {
            let bytes = contents.bytes.len();
            return Err(contents.error(format!("{bytes} bytes are no dQSM file")));
        }
        let word = |at: usize| [0, 1, 2, 3].map(|i| contents.bytes[at + i]);
        contents.big_endian = match (u32::from_le_bytes(word(0)), u32::from_be_bytes(word(0))) {
            (MAGIC, _) => false,
            (_, MAGIC) => true,
            (found, _) => {
                return Err(contents.error(format!("starts with {found:#x}, not {MAGIC:#x}")));
            }
        };
        contents.header = (0..fields).map(|i| contents.number(8 + 8 * i)).collect();
        let version = if contents.big_endian {
            u32::from_be_bytes(word(4))
        } else {
            u32::from_le_bytes(word(4))
        };
        if version != 1 {
            return Err(contents.error(format!("version {version}; only 1 is known")));
        }
        Ok(contents)
    }

    fn error(&self, what: String) -> DqsmFileError {
        DqsmFileError::Format { path: self.path.clone(), what }
    }

    fn number(&self, at: usize) -> f64 {
        let bytes = std::array::from_fn(|i| self.bytes[at + i]);
        if self.big_endian { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) }
    }

    /// The dimensions, checked against the number of elements (of `volumes` volumes) and of bytes.
    fn dims(&self, volumes: usize, element: usize) -> Result<[usize; 3], DqsmFileError> {
        let sides = &self.header[1..4];
        let valid = |n: &f64| *n >= 1.0 && *n <= LARGEST_SIDE && n.fract() == 0.0;
        if !sides.iter().all(valid) {
            return Err(self.error(format!("a volume of {sides:?} voxels")));
        }
        let dims = [0, 1, 2].map(|a| sides[a] as usize);
        let elements = dims.iter().product::<usize>() * volumes;
        let expected = 8 + 8 * self.header.len() + elements * element;
        if self.header[0] != elements as f64 || self.bytes.len() != expected {
            let (n, bytes) = (self.header[0], self.bytes.len());
            return Err(self.error(format!(
                "{dims:?} voxels need {elements} values and {expected} bytes; the header says \
                 {n} values and the file has {bytes} bytes"
            )));
        }
        Ok(dims)
    }

    fn numbers(&self) -> Vec<f32> {
        let start = 8 + 8 * self.header.len();
        let count = (self.bytes.len() - start) / 8;
        (0..count).map(|i| self.number(start + 8 * i) as f32).collect()
    }
}

fn grid(dims: [usize; 3], spacing_mm: [f64; 3]) -> Grid {
    Grid { dims, ras_from_vox: Affine::from_spacing(spacing_mm) }
}

/// Reads a field map.
///
/// # Errors
/// [`DqsmFileError`].
pub fn read_delta_b(path: &Path) -> Result<DeltaB, DqsmFileError> {
    let contents = Contents::read(path, 11)?;
    let dims = contents.dims(1, 8)?;
    let header = &contents.header;
    let spacing = [8, 9, 10].map(|i| header[i]);
    if !spacing.iter().all(|s| s.is_finite() && *s > 0.0) {
        return Err(contents.error(format!("a voxel of {spacing:?} mm")));
    }
    let b0_tesla = header[4];
    if !(b0_tesla.is_finite() && b0_tesla > 0.0) {
        return Err(contents.error(format!("B0 of {b0_tesla} tesla")));
    }
    let b0_vox = [5, 6, 7].map(|i| header[i]);
    let field = Image { grid: grid(dims, spacing), n_volumes: 1, data: contents.numbers() };
    Ok(DeltaB { field, b0_tesla, b0_vox })
}

/// Reads a mask, of voxels above zero, onto `like`, the grid of the field map.
///
/// # Errors
/// [`DqsmFileError`], also where it has other dimensions.
pub fn read_mask(path: &Path, like: &Grid) -> Result<Mask, DqsmFileError> {
    let contents = Contents::read(path, 4)?;
    let dims = contents.dims(1, 1)?;
    expect_dims(&contents, dims, like)?;
    let inside = contents.bytes[8 + 8 * 4..].iter().enumerate().filter(|(_, v)| **v > 0);
    Ok(Mask { grid: *like, voxels: inside.map(|(i, _)| i as u32).collect() })
}

/// Reads a model map, a vector for each voxel in voxel axes, onto `like`.
///
/// # Errors
/// [`DqsmFileError`], also where it has other dimensions.
pub fn read_models(path: &Path, like: &Grid) -> Result<Image, DqsmFileError> {
    let contents = Contents::read(path, 5)?;
    let dims = contents.dims(3, 8)?;
    expect_dims(&contents, dims, like)?;
    Ok(Image { grid: *like, n_volumes: 3, data: contents.numbers() })
}

fn expect_dims(contents: &Contents, dims: [usize; 3], like: &Grid) -> Result<(), DqsmFileError> {
    if dims == like.dims {
        return Ok(());
    }
    Err(contents.error(format!("{dims:?} voxels where the field has {:?}", like.dims)))
}

/// The bytes of a map of susceptibilities (not ppm), every voxel of the volume.
pub fn chi_bytes(chi: &[f32]) -> Vec<u8> {
    chi.iter().flat_map(|x| x.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field map of 2 × 3 × 2 voxels.
    fn delta_b(big_endian: bool) -> Vec<u8> {
        let header = [12.0, 2.0, 3.0, 2.0, 4.7, 0.0, 0.6, 0.8, 1.0, 1.0, 2.0];
        let numbers = header.into_iter().chain((0..12).map(f64::from));
        let mut bytes = Vec::new();
        for word in [MAGIC, 1] {
            bytes.extend(if big_endian { word.to_be_bytes() } else { word.to_le_bytes() });
        }
        for number in numbers {
            bytes.extend(if big_endian { number.to_be_bytes() } else { number.to_le_bytes() });
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Result<DeltaB, DqsmFileError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deltab.bin");
        std::fs::write(&path, bytes).unwrap();
        read_delta_b(&path)
    }

    #[test]
    fn a_field_map_is_read_in_either_byte_order() {
        let little = read(&delta_b(false)).unwrap();
        assert_eq!(little, read(&delta_b(true)).unwrap());
        assert_eq!(little.field.grid.dims, [2, 3, 2]);
        assert_eq!(little.b0_vox, [0.0, 0.6, 0.8]);
        assert_eq!(little.b0_tesla, 4.7);
        assert_eq!(little.field.data[7], 7.0);
    }

    #[test]
    fn damaged_files_are_refused() {
        let good = delta_b(false);
        assert!(read(&good[..50]).unwrap_err().to_string().contains("50 bytes"));
        assert!(read(&good[..good.len() - 8]).unwrap_err().to_string().contains("12 values"));
        let mut bad = good.clone();
        bad[0] = 0;
        assert!(read(&bad).unwrap_err().to_string().contains("starts with"));
        // A side of 1e300 voxels must not be allocated.
        let mut bad = good;
        bad[16..24].copy_from_slice(&1e300_f64.to_le_bytes());
        assert!(read(&bad).unwrap_err().to_string().contains("voxels"));
    }
}
