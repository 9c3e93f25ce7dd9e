//! A valid .nii.gz in several members, then damaged: an error or the right samples, never others.
#![no_main]

use std::io::Write;

use fimbria_image::{OpenOptions, StoredImage};
use libfuzzer_sys::fuzz_target;

fn member(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// A NIfTI-1 file of bytes along x.
fn nifti(data: &[u8]) -> Vec<u8> {
    let mut header = vec![0u8; 352];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &348i32.to_le_bytes());
    put(40, &1i16.to_le_bytes());
    put(42, &(data.len() as i16).to_le_bytes());
    put(70, &2i16.to_le_bytes());
    put(80, &1.0f32.to_le_bytes());
    put(108, &352.0f32.to_le_bytes());
    put(344, b"n+1\0");
    header.extend(data);
    header
}

fuzz_target!(|input: (u16, u16, u16, u8, Vec<u8>, Vec<u8>)| {
    let (cut, keep, at, flip, data, garbage) = input;
    if data.is_empty() || data.len() > 30_000 {
        return;
    }
    let file = nifti(&data);
    let (first, second) = file.split_at(usize::from(cut) % file.len());
    let mut gzip = [member(first), member(second), garbage].concat();
    if let Some(byte) = gzip.get_mut(usize::from(at)) {
        *byte ^= flip;
    }
    if keep != 0 {
        gzip.truncate(usize::from(keep));
    }
    for memory_limit in [None, Some(0)] {
        let options = OpenOptions { memory_limit, scratch_dir: None };
        if let Ok(stored) = StoredImage::from_bytes(gzip.clone(), "fuzz.nii.gz", &options) {
            assert_eq!(stored.stored_bytes(), data);
        }
    }
});
