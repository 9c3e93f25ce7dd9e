//! Reading in one call.

use std::path::Path;

use fimbria_memory::try_zeros;
use rayon::prelude::*;

use crate::decode::{Decode, decoder};
use crate::error::ImageError;
use crate::layout::Layout;
use crate::storage::OpenOptions;
use crate::stored::{StoredImage, Unloaded};
use crate::{Grid, Image, Mask, Scaling};

/// Reads a whole image as `f32`, on the threads of the current rayon pool.
///
/// # Errors
/// As [`StoredImage::open`] and [`StoredImage::to_image`].
pub fn read_image(path: impl AsRef<Path>) -> Result<Image, ImageError> {
    let file = Unloaded::open(path.as_ref())?;
    match inflate_in_place(&file)? {
        Some(image) => Ok(image),
        None => file.load(&OpenOptions::default())?.to_image(),
    }
}

/// Reads a mask: inside is what is above zero. Its axes may be counted in another order or the other
/// way than those of `grid`.
///
/// # Errors
/// As [`read_image`]; [`ImageError::Grid`] where the voxels of the mask are not those of `grid`, and
/// [`ImageError::MaskVolumes`] where it has more than one volume.
pub fn read_mask(path: impl AsRef<Path>, grid: &Grid) -> Result<Mask, ImageError> {
    let stored = StoredImage::open(&path, &OpenOptions::default())?;
    match stored.n_volumes() {
        1 => {
            let what = format!("mask {}", path.as_ref().display());
            Ok(Mask::from_image(&stored.to_image()?).onto(grid, &what)?)
        }
        n_volumes => Err(ImageError::MaskVolumes { path: path.as_ref().to_owned(), n_volumes }),
    }
}

/// Reads a compressed image of 8- or 16-bit samples in image order through no other buffer than
/// the one it ends in: inflates into its end, then widens from its start. Memory that is touched
/// for the first time is what costs most here, so it pays to touch less. `None` for other images.
fn inflate_in_place(file: &Unloaded) -> Result<Option<Image>, ImageError> {
    let header = &file.header;
    let samples = header.layout.len();
    let ordered = header.layout.simplified() == Layout::contiguous(&[samples]).simplified();
    let needed = file.needed_bytes();
    if !(file.source.is_gzip()? && ordered && matches!(header.datatype.bits(), 8 | 16))
        || needed > 4 * samples as u64
    {
        return Ok(None);
    }
    file.source.check_plausible(needed)?;
    let memory = || ImageError::Memory { path: file.path.clone(), bytes: 4 * samples as u64 };
    let mut data = try_zeros(samples).map_err(|_| memory())?;
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut data);
    let start = bytes.len() - needed as usize;
    file.source.inflate_into(&mut bytes[start..])?;

    let decode = decoder(header.datatype, header.byte_order);
    widen_in_place(&mut data, header.datatype.bits() / 8, decode, header.scaling);
    let n_volumes = header.volume_dims.iter().product();
    Ok(Some(Image { grid: header.grid, n_volumes, data }))
}

/// Decodes the `data.len()` samples of `size` < 4 bytes each that lie at the end of `data` into
/// all of it.
///
/// In rounds: room before the first sample not yet decoded takes as many values as it can hold,
/// in parallel, which at least halves (16 bits) or quarters what is left. The last few samples,
/// which lie in the way of their own values, are set aside first.
fn widen_in_place(data: &mut [f32], size: usize, decode: Decode, scaling: Scaling) {
    const TASK: usize = 1 << 16;
    const SET_ASIDE: usize = 4096;
    let n = data.len();
    let stored_at = |sample: usize| 4 * n - size * (n - sample);
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(data);
    let aside_from = n.saturating_sub(SET_ASIDE);
    let aside = bytes[stored_at(aside_from)..].to_vec();

    let mut done = 0;
    while done < aside_from {
        let until = (stored_at(done) / 4).min(aside_from);
        let (values, stored) = bytes.split_at_mut(4 * until);
        let values: &mut [f32] = bytemuck::cast_slice_mut(&mut values[4 * done..]);
        let stored = &stored[stored_at(done) - 4 * until..];
        values.par_chunks_mut(TASK).enumerate().for_each(|(task, out)| {
            decode(stored, task * TASK, 1, scaling, out);
        });
        done = until;
    }
    decode(&aside, 0, 1, scaling, &mut data[aside_from..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ByteOrder, Datatype};

    #[test]
    fn widening_in_place_equals_decoding_elsewhere() {
        for (datatype, size) in [(Datatype::UInt8, 1), (Datatype::Int16, 2)] {
            for n in [1, 2, 5, 4096, 4097, 8192, 300_001] {
                let stored: Vec<u8> = (0..n * size).map(|i| (i * 31 % 251) as u8).collect();
                let decode = decoder(datatype, ByteOrder::Big);
                let mut expected = vec![0.0; n];
                decode(&stored, 0, 1, Scaling::NONE, &mut expected);

                let mut data = vec![0.0f32; n];
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut data);
                bytes[4 * n - n * size..].copy_from_slice(&stored);
                widen_in_place(&mut data, size, decode, Scaling::NONE);
                assert_eq!(data, expected, "{datatype} x {n}");
            }
        }
    }
}
