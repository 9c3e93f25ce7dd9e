//! Texts that are kept in the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Holds the files of `folder` to `texts`, by their names: what users see stays as it was until
/// somebody says otherwise, by `FIMBRIA_BLESS=1`, which writes the files anew.
pub fn hold_to(folder: &Path, texts: &BTreeMap<String, String>) {
    if std::env::var_os("FIMBRIA_BLESS").is_some() {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).unwrap();
        for (name, text) in texts {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }
    let there = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    let there: BTreeSet<String> = there.map(|name| name.into_string().unwrap()).collect();
    assert_eq!(there, texts.keys().cloned().collect(), "FIMBRIA_BLESS=1 writes them anew");
    for (name, text) in texts {
        let expected = std::fs::read_to_string(folder.join(name)).unwrap();
        for (line, (now, then)) in text.lines().zip(expected.lines()).enumerate() {
            assert_eq!(now, then, "{name}, line {}; FIMBRIA_BLESS=1 writes it anew", line + 1);
        }
        assert!(*text == expected, "{name} is stale: FIMBRIA_BLESS=1 writes it anew");
    }
}
