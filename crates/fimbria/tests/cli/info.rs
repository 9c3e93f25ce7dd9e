//! `fimbria info`.

use crate::util::Folder;

#[test]
fn image_and_shells_are_shown() {
    let folder = Folder::with_subject();
    let text = folder.done("info dwi.nii --bvec-frame scanner").stdout;
    for part in ["7 x 6 x 5 x 22", "2.0000 x 2.0000 x 3.0000 mm", "b=1000 (20 volumes)"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::with_subject();
    let mut child = folder
        .command("info --table dwi.nii --bvec-frame scanner")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}
