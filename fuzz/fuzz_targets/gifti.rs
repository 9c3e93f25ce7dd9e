//! Any bytes as a GIFTI file: an error, or a surface that is written and read back.
#![no_main]

use fimbria_image::gifti::Surface;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(surface) = Surface::from_bytes(bytes) else { return };
    let again = Surface::from_bytes(surface.to_xml().as_bytes()).expect("its own text");
    assert_eq!(again.vertices, surface.vertices);
    assert_eq!(again.triangles, surface.triangles);
});
