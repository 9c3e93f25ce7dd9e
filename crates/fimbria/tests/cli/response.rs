//! `fimbria response`.

use std::fs;
use std::process::{Command, Stdio};

use crate::util::Folder;

/// Three subjects whose shapes and brightness differ.
fn with_subjects() -> Folder {
    let folder = Folder::new();
    let texts = [
        "# Shells: 0,1000,3000\n900 0 0\n420 -180 35\n230 -150.5 60\n",
        "# Shells: 0,1000,3000\n1850 0 0\n800 -390 80\n410 -280 130\n",
        "# Shells: 0,995,3000\n610 0 0\n300 -110 20\n190 -95 31\n",
    ];
    for (name, text) in ["a.txt", "b.txt", "c.txt"].into_iter().zip(texts) {
        fs::write(folder.join(name), text).unwrap();
    }
    folder
}

fn numbers(folder: &Folder, name: &str) -> Vec<f64> {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).map(|word| word.parse().unwrap()).collect()
}

#[test]
fn the_mean_is_that_of_responsemean() {
    let folder = with_subjects();
    for (option, theirs) in [("", ""), ("--legacy", "-legacy")] {
        folder.done(&format!("response a.txt b.txt c.txt {option} -o mean.txt --force"));
        let mean = numbers(&folder, "mean.txt");
        if option == "--legacy" {
            assert_eq!(mean[0], (900.0 + 1850.0 + 610.0) / 3.0);
        }
        let mut program = Command::new("responsemean");
        let words = format!("a.txt b.txt c.txt theirs.txt -force -quiet {theirs}");
        program.args(words.split_whitespace()).current_dir(folder.path()).stderr(Stdio::null());
        let Ok(status) = program.status() else {
            fimbria_testing::missing("responsemean (MRtrix3)");
            continue;
        };
        assert!(status.success());
        let theirs = numbers(&folder, "theirs.txt");
        assert_eq!(mean.len(), theirs.len());
        for (ours, theirs) in mean.iter().zip(theirs) {
            // It writes few digits.
            assert!((ours - theirs).abs() <= 1e-4 * ours.abs(), "{option}: {ours} {theirs}");
        }
    }
    assert_eq!(folder.json("mean.txt.run.json")["inputs"].as_array().unwrap().len(), 3);
}

#[test]
fn a_response_of_other_shells_is_named() {
    let folder = with_subjects();
    fs::write(folder.join("d.txt"), "# Shells: 0,1000\n900 0 0\n420 -180 35\n").unwrap();
    let error = folder.failed("response a.txt b.txt d.txt -o mean.txt");
    assert!(error.contains("d.txt has other shells or degrees than a.txt"), "{error}");
    fs::write(folder.join("e.txt"), "900 nothing\n").unwrap();
    let error = folder.failed("response a.txt e.txt -o mean.txt");
    assert!(error.contains("e.txt: line 1"), "{error}");
}
