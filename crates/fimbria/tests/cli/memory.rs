//! Memory that is refused, block by block: one clear error, no output, nothing left.
#![cfg(debug_assertions)]

use crate::util::{Folder, Ran};

/// Runs `line` with its n-th large block refused, for n = 1, 2, 4 ... until it has no n-th block.
fn every_refusal_is_one_error(folder: &Folder, line: &str, output: &str) {
    let before = folder.names(".");
    let mut refusals = 0;
    for power in 0.. {
        let mut command = folder.command(line);
        let ran =
            Ran::of(&command.env("FIMBRIA_REFUSE", (1_u64 << power).to_string()).output().unwrap());
        if ran.code == Some(0) {
            break;
        }
        refusals += 1;
        let (code, said) = (ran.code, &ran.stderr);
        assert_eq!(code, Some(1), "`{line}` without block {}: {said}", 1_u64 << power);
        assert!(said.contains("memory") && !said.contains("panicked"), "`{line}`: {said}");
        assert_eq!(folder.names("."), before, "`{line}` without block {}", 1_u64 << power);
    }
    assert!(refusals > 0, "`{line}` asks for no large block: the test proves nothing");
    assert!(folder.join(output).exists(), "`{line}`");
}

/// A head of 24 x 24 x 12 voxels and 70 volumes.
fn head() -> Folder {
    let folder = Folder::new();
    folder.done("phantom crossing --size 24,24,12 --voxel 6 --format nii -o head");
    folder
}

#[test]
fn fits_end_with_one_error_where_memory_is_refused() {
    let folder = head();
    for model in ["dti", "dki", "mono", "hot"] {
        let line = format!("fit {model} head/dwi.nii --mask head/mask.nii -o {model}");
        every_refusal_is_one_error(&folder, &line, model);
    }
}

#[test]
fn conversion_ends_with_one_error_where_memory_is_refused() {
    every_refusal_is_one_error(&head(), "convert head/dwi.nii -o dwi.nii.gz", "dwi.nii.gz");
}

#[test]
fn a_phantom_ends_with_one_error_where_memory_is_refused() {
    let line = "phantom crossing --size 24,24,12 --voxel 6 -o head";
    every_refusal_is_one_error(&Folder::new(), line, "head");
}
