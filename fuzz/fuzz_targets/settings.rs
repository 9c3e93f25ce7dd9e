//! Any text as settings of a run, in a file and by --set: an error, or the stages that they ask for.
#![no_main]

use fimbria_pipeline::RunConfig;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|texts: (&str, &str)| {
    let (file, setting) = texts;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run.toml");
    std::fs::write(&path, file).expect("a small file");
    let Ok(config) = RunConfig::read(&path) else { return };
    let Ok(config) = config.with_settings(&[setting.to_owned()]) else { return };
    if let Err(error) = config.stages(folder.path()) {
        assert!(!error.to_string().is_empty());
    }
});
