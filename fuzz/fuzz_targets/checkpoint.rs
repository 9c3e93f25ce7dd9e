//! Any bytes as a checkpoint of `qsm`: none, or one that is written as it was read.
#![no_main]

use fimbria_qsm::solver::Checkpoint;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(checkpoint) = Checkpoint::from_bytes(bytes) {
        assert_eq!(checkpoint.to_bytes(), bytes);
    }
});
