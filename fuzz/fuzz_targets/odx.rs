//! Any bytes as an ODX archive: an error, or densities and fixels that are written and read back.
#![no_main]

use fimbria_image::odx::Odx;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (first, second) = (folder.path().join("a.odx"), folder.path().join("b.odx"));
    std::fs::write(&first, bytes).expect("a small file");
    let Ok(read) = Odx::read(&first) else { return };
    let _ = read.fixels();
    if read.write(&second).is_ok() {
        let again = Odx::read(&second).expect("its own file");
        assert_eq!((again.voxels, again.first), (read.voxels, read.first));
    }
});
