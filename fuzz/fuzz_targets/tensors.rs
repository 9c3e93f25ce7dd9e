//! Any bytes as a list of tensors for `eigen`: an error, or tensors each with its B.
#![no_main]

use fimbria_pipeline::stages::eigen::Tensors;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("tensors.json");
    std::fs::write(&path, bytes).expect("a small file");
    if let Ok(tensors) = Tensors::read(&path) {
        let _ = tensors.into_entries();
    }
});
