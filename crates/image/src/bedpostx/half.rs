//! Samples in half precision and in one file: half the size of FSL's three images per fibre, read
//! many times as fast, and by fimbria alone.
//!
//! `BASE_samples.f16`, little endian:
//!
//! | at byte | type | holds |
//! |---|---|---|
//! | 0 | 8 characters | `fimstick` |
//! | 8 | u32 | 1, the version of this layout |
//! | 12 | u32 | fibres of a sample |
//! | 16 | u32 | samples of a voxel |
//! | 20 | u32 | 0 |
//! | 24 | u64 | voxels |
//! | 32 | 3 u64 | size of the grid |
//! | 56 | 12 f64 | scanner RAS mm from voxel index: rows x y z of four numbers |
//! | 152 | u32 each | linear index of each voxel in the grid (x fastest), ascending |
//! | then | 3 f16 each | u v f of each stick: `[voxel][sample][fibre]` |
//!
//! f is the fraction. u and v are the direction, in scanner RAS axes, on the octahedron
//! |x| + |y| + |z| = 1 unfolded to a square: u = x and v = y where z >= 0, else
//! u = (1 - |y|) sign x and v = (1 - |x|) sign y. Both are NaN for a stick without direction. Rounding
//! to f16 turns a direction by 0.05 degrees at most, and a fraction by 0.0003.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use half::f16;
use rayon::prelude::*;

use super::BedpostxError;
use crate::sticks::{PackedStick, StickSamples};
use crate::{Affine, Grid, Mask, read_mask};

const MAGIC: &[u8; 8] = b"fimstick";
const VERSION: u32 = 1;
const HEADER: usize = 152;
const STICK: usize = 6;
/// Voxels that are encoded or decoded at a time.
const TASK: usize = 1024;

/// The file of the samples called `base` ("FOLDER/merged").
pub fn half_file(base: &Path) -> PathBuf {
    let mut name = base.file_name().unwrap_or_default().to_os_string();
    name.push("_samples.f16");
    base.with_file_name(name)
}

/// Writes samples in the layout of this file's [`half_file`]. Runs on the threads of the current
/// rayon pool.
///
/// # Errors
/// Those of `to`.
pub fn write_half(field: &StickSamples, to: &mut dyn Write) -> io::Result<()> {
    let StickSamples { mask, n_fibres, n_samples, .. } = field;
    to.write_all(MAGIC)?;
    for number in [VERSION, *n_fibres as u32, *n_samples as u32, 0] {
        to.write_all(&number.to_le_bytes())?;
    }
    to.write_all(&(mask.len() as u64).to_le_bytes())?;
    for n in mask.grid.dims {
        to.write_all(&(n as u64).to_le_bytes())?;
    }
    for x in mask.grid.ras_from_vox.0.as_flattened() {
        to.write_all(&x.to_le_bytes())?;
    }
    for voxel in &mask.voxels {
        to.write_all(&voxel.to_le_bytes())?;
    }
    let task = TASK * field.voxel_len();
    let mut bytes = vec![0; task * STICK];
    for sticks in field.sticks.chunks(task) {
        let bytes = &mut bytes[..sticks.len() * STICK];
        bytes.par_chunks_exact_mut(STICK).zip(sticks).for_each(|(to, stick)| {
            for (to, number) in to.chunks_exact_mut(2).zip(encode(*stick)) {
                to.copy_from_slice(&number.to_le_bytes());
            }
        });
        to.write_all(bytes)?;
    }
    Ok(())
}

fn encode(stick: PackedStick) -> [f16; 3] {
    // As much as f16 holds below 1.
    const MOST: f32 = 0.9995;
    let fraction = f16::from_f32(stick.fraction().min(MOST));
    if !stick.has_direction() {
        return [f16::NAN, f16::NAN, fraction];
    }
    let [x, y, z] = stick.dir_ras();
    let sum = x.abs() + y.abs() + z.abs();
    let (x, y) = (x / sum, y / sum);
    let [u, v] =
        if z < 0.0 { [(1.0 - y.abs()).copysign(x), (1.0 - x.abs()).copysign(y)] } else { [x, y] };
    [f16::from_f32(u), f16::from_f32(v), fraction]
}

fn decode([u, v, f]: [f16; 3]) -> PackedStick {
    let [u, v, f] = [u, v, f].map(|x| f64::from(x.to_f32()));
    let z = 1.0 - u.abs() - v.abs();
    let dir = if z < 0.0 {
        [(1.0 - v.abs()).copysign(u), (1.0 - u.abs()).copysign(v), z]
    } else {
        [u, v, z]
    };
    // NaN is no direction.
    PackedStick::new(dir, f)
}

/// Reads what [`write_half`] wrote, in the voxels of `mask` where it is given; where these have no
/// samples they have no direction.
///
/// # Errors
/// [`BedpostxError`] for another kind of file, one that is cut off, or another grid.
pub(super) fn read_half(path: &Path, mask: Option<&Path>) -> Result<StickSamples, BedpostxError> {
    let unusable = |why: String| BedpostxError::Half { path: path.to_owned(), why };
    let bytes = crate::read_regular(path).map_err(|source| unusable(source.to_string()))?;
    let header = Header::parse(&bytes).map_err(unusable)?;
    let Header { grid, n_fibres, n_samples, n_voxels } = header;
    let (of_voxels, of_sticks) = bytes[HEADER..].split_at(4 * n_voxels);
    let voxels: Vec<u32> =
        of_voxels.chunks_exact(4).map(|b| u32::from_le_bytes(array(b))).collect();
    let last = voxels.last().map_or(0, |&voxel| voxel as usize);
    if !voxels.is_sorted_by(|a, b| a < b) || last >= grid.len() {
        return Err(unusable("its voxels are not in ascending order within its grid".to_owned()));
    }
    let wanted = match mask {
        Some(path) => read_mask(path, &grid)?,
        None => Mask { grid, voxels: voxels.clone() },
    };
    if wanted.is_empty() {
        return Err(BedpostxError::EmptyMask(mask.unwrap_or(path).to_owned()));
    }
    let memory = BedpostxError::Memory { n_fibres, n_samples, voxels: wanted.len() };
    let mut field = StickSamples::empty(wanted, n_fibres, n_samples).ok_or(memory)?;
    let per_voxel = field.voxel_len();
    let StickSamples { mask, sticks, .. } = &mut field;
    sticks.par_chunks_exact_mut(per_voxel).zip(&mask.voxels).for_each(|(sticks, voxel)| {
        let Ok(slot) = voxels.binary_search(voxel) else { return };
        let bytes = &of_sticks[slot * per_voxel * STICK..][..per_voxel * STICK];
        for (stick, bytes) in sticks.iter_mut().zip(bytes.chunks_exact(STICK)) {
            *stick = decode([0, 2, 4].map(|at| f16::from_le_bytes([bytes[at], bytes[at + 1]])));
        }
    });
    Ok(field)
}

struct Header {
    grid: Grid,
    n_fibres: usize,
    n_samples: usize,
    n_voxels: usize,
}

impl Header {
    /// Checked against the length of the file, so that nothing is allocated for what is not there.
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() < HEADER || &bytes[..8] != MAGIC {
            return Err("it is no file of samples".to_owned());
        }
        let small = |at: usize| u32::from_le_bytes(array(&bytes[at..at + 4])) as usize;
        let large = |at: usize| u64::from_le_bytes(array(&bytes[at..at + 8]));
        let real = |at: usize| f64::from_le_bytes(array(&bytes[at..at + 8]));
        if small(8) != VERSION as usize {
            return Err(format!("its layout has version {}, not {VERSION}", small(8)));
        }
        let (n_fibres, n_samples, n_voxels) = (small(12), small(16), large(24));
        // A damaged count may exceed what any number here holds.
        let expected = (n_fibres as u64)
            .checked_mul(n_samples as u64)
            .and_then(|sticks| {
                sticks.checked_mul(STICK as u64)?.checked_add(4)?.checked_mul(n_voxels)
            })
            .and_then(|bytes| bytes.checked_add(HEADER as u64));
        if expected != Some(bytes.len() as u64) || n_fibres == 0 || n_samples == 0 || n_voxels == 0
        {
            return Err(format!(
                "{n_voxels} voxels of {n_samples} samples of {n_fibres} fibres do not fill its {} \
                 bytes",
                bytes.len()
            ));
        }
        let dims = [32, 40, 48].map(large);
        let size = dims.iter().try_fold(1u64, |size, &n| size.checked_mul(n));
        if size.is_none_or(|size| size == 0 || size > u64::from(u32::MAX)) {
            return Err(format!("a grid of {dims:?} voxels"));
        }
        let rows = std::array::from_fn(|row| std::array::from_fn(|k| real(56 + 8 * (4 * row + k))));
        let rows: [[f64; 4]; 3] = rows;
        if rows.as_flattened().iter().any(|x| !x.is_finite()) {
            return Err("its affine is not finite".to_owned());
        }
        let grid = Grid { dims: dims.map(|n| n as usize), ras_from_vox: Affine(rows) };
        Ok(Self { grid, n_fibres, n_samples, n_voxels: n_voxels as usize })
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|k| bytes[k])
}
