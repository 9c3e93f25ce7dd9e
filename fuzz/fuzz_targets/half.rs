//! Any bytes as a file of samples in half precision: an error, or samples that are written as read.
#![no_main]

use fimbria_image::OpenOptions;
use fimbria_image::bedpostx::{half_file, read_bedpostx, write_half};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let base = folder.path().join("merged");
    std::fs::write(half_file(&base), bytes).expect("a small file");
    let Ok(read) = read_bedpostx(&base, None, &OpenOptions::default()) else { return };
    let mut again = Vec::new();
    write_half(&read, &mut again).expect("memory takes everything");
    std::fs::write(half_file(&base), &again).expect("a small file");
    read_bedpostx(&base, None, &OpenOptions::default()).expect("its own file");
});
