//! Any bytes as a file of dQSM: a field map, a mask or a model map, or an error.
#![no_main]

use fimbria_image::{Affine, Grid};
use fimbria_qsm::dqsm_files::{read_delta_b, read_mask, read_models};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("in.bin");
    std::fs::write(&path, bytes).expect("a small file");
    if let Ok(read) = read_delta_b(&path) {
        assert_eq!(read.field.data.len(), read.field.grid.len());
        assert!(read.b0_tesla > 0.0);
    }
    let like = Grid { dims: [2, 3, 2], ras_from_vox: Affine::IDENTITY };
    if let Ok(mask) = read_mask(&path, &like) {
        assert!(mask.voxels.iter().all(|voxel| (*voxel as usize) < like.len()));
    }
    if let Ok(models) = read_models(&path, &like) {
        assert_eq!(models.data.len(), 3 * like.len());
    }
});
