//! Any text as the record of an earlier run: an error, or one that is written as it is read.
#![no_main]

use fimbria_pipeline::RunRecord;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run.json");
    std::fs::write(&path, text).expect("a small file");
    let Ok(record) = RunRecord::read(&path) else { return };
    let _ = record.parameters_of("fit");
    let again = record.to_json();
    std::fs::write(&path, &again).expect("a small file");
    assert_eq!(RunRecord::read(&path).expect("its own text").to_json(), again);
});
