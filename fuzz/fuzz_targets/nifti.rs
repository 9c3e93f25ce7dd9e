//! Any bytes as a NIfTI file: an error or an image, and both ways to its samples agree.
#![no_main]

use fimbria_image::{OpenOptions, SignalSource, StoredImage};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let opened = StoredImage::from_bytes(bytes.to_vec(), "fuzz.nii", &OpenOptions::default());
    let Ok(stored) = opened else { return };
    let image = stored.to_image().expect("what fits a small file fits memory");
    let last = stored.grid().len() - 1;
    let mut tile = vec![0.0; stored.n_volumes()];
    stored.gather(&[last as u32], 1, &mut tile);
    for (volume, sample) in tile.iter().enumerate() {
        assert_eq!(sample.to_bits(), image.volume(volume)[last].to_bits());
    }
});
