use super::mpirun;
use crate::util::{FIT, Folder};

const OTHERS: [&str; 2] = ["hot", "mono"];

/// The maps of a folder, by the bits of their samples.
fn maps(folder: &Folder, name: &str) -> Vec<(String, Vec<u32>)> {
    let images = folder.names(name).into_iter().filter(|file| file.ends_with(".nii"));
    let bits = |file: String| {
        let samples = folder.image(&format!("{name}/{file}")).data;
        (file, samples.iter().map(|sample| sample.to_bits()).collect())
    };
    images.map(bits).collect()
}

#[test]
fn processes_share_the_voxels_of_a_fit_and_make_the_same_maps_to_the_bit() {
    let folder = Folder::with_subject();
    let fits = OTHERS.map(|model| FIT.replace("dti", model));
    for line in fits.iter().map(String::as_str).chain([FIT]) {
        let line = format!("{line} --format nii --threads 1 --force");
        folder.done(&format!("{line} -o single"));
        let expected = maps(&folder, "single");
        assert!(expected.len() > 2, "{line}");
        let counts =
            |name: &str| folder.json(&format!("{name}/run.json"))["stages"][1]["counts"].clone();
        for processes in [1, 2, 4] {
            let Some(ran) = mpirun(&folder, &[(processes, format!("{line} -o several"))]) else {
                return;
            };
            assert_eq!(ran.code, Some(0), "`{line}`, {processes} processes: {}", ran.stderr);
            assert!(maps(&folder, "several") == expected, "`{line}`, {processes} processes");
            assert_eq!(counts("several"), counts("single"), "`{line}`, {processes} processes");
        }
    }
}

#[test]
fn processes_that_read_other_files_are_refused() {
    let folder = Folder::with_subject();
    let mut other = folder.image("dwi.nii");
    other.data[1000] += 1.0;
    let options = fimbria_image::WriteOptions::default();
    fimbria_image::write_image(folder.join("other.nii"), &other, &options).unwrap();
    let good = format!("{FIT} -o out");
    let bad = format!("{good} --bval dwi.bval --bvec dwi.bvec").replace("dwi.nii", "other.nii");
    let Some(ran) = mpirun(&folder, &[(1, good), (1, bad)]) else { return };
    assert_ne!(ran.code, Some(0));
    assert_eq!(
        ran.stderr.lines().filter(|line| line.starts_with("error: ")).count(),
        1,
        "not one error: {}",
        ran.stderr
    );
    assert!(ran.stderr.contains("process 1 found other inputs"), "{}", ran.stderr);
    assert!(!folder.join("out/run.json").exists());
}
