//! Any bytes as a TRX archive: an error, or streamlines that are written and read back.
#![no_main]

use fimbria_streamlines::{Tractogram, WriteOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (first, second) = (folder.path().join("a.trx"), folder.path().join("b.trx"));
    std::fs::write(&first, bytes).expect("a small file");
    let Ok(read) = Tractogram::read(&first) else { return };
    if read.write(&second, &WriteOptions::default()).is_ok() {
        let again = Tractogram::read(&second).expect("its own file");
        assert_eq!(again.streamlines.offsets(), read.streamlines.offsets());
    }
});
