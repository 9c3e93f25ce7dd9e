//! Any bytes as a text file of numbers (weights, points, directions, matrices): an error, or finite numbers.
#![no_main]

use fimbria_image::NumberRows;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("numbers.txt");
    std::fs::write(&path, bytes).expect("a small file");
    let Ok(read) = NumberRows::read(&path) else { return };
    assert!(read.numbers().all(|(_, number)| number.is_finite()));
    assert!(read.rows().all(|(_, row)| !row.is_empty()));
    assert_eq!(read.rows().map(|(_, row)| row.len()).sum::<usize>(), read.numbers().count());
    let lines: Vec<usize> = read.rows().map(|(line, _)| line).collect();
    assert!(lines.is_sorted_by(|a, b| a < b));
});
