//! Any bytes as the three images of a fibre's samples: an error, or samples that are written in half
//! precision and read back.
#![no_main]

use fimbria_image::OpenOptions;
use fimbria_image::bedpostx::{half_file, read_bedpostx, write_half};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|images: (&[u8], &[u8], &[u8])| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (theta, phi, fraction) = images;
    for (name, bytes) in [("th", theta), ("ph", phi), ("f", fraction)] {
        let path = folder.path().join(format!("merged_{name}1samples.nii"));
        std::fs::write(path, bytes).expect("a small file");
    }
    let base = folder.path().join("merged");
    let Ok(read) = read_bedpostx(&base, None, &OpenOptions::default()) else { return };
    let mut half = Vec::new();
    write_half(&read, &mut half).expect("memory takes everything");
    let base = folder.path().join("again");
    std::fs::write(half_file(&base), &half).expect("a small file");
    read_bedpostx(&base, None, &OpenOptions::default()).expect("its own file");
});
