//! Any text as the sidecar of an image: nothing, or what the image says that it holds.
#![no_main]

use fimbria_image::{Affine, Grid, Image, ImageHeader, WriteOptions, write_image};
use fimbria_pipeline::stages::contents::Claim;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("image.nii");
    let grid = Grid { dims: [1, 1, 1], ras_from_vox: Affine::IDENTITY };
    write_image(&path, &Image::zeros(grid, 15), &WriteOptions::default()).expect("a small file");
    std::fs::write(folder.path().join("image.json"), text).expect("a small file");
    let header = ImageHeader::read(&path).expect("a whole image");
    if let Some(claim) = Claim::from_header(&header) {
        assert!(!claim.description().is_empty());
    }
});
