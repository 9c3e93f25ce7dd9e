use fimbria_image::{WriteOptions, write_image};

use super::mpirun;
use crate::qsm::{kill_at_checkpoint, with_sphere};
use crate::util::Folder;

const QSM: &str = "qsm field.nii --method dqsm --mask mask.nii --v1 v1.nii --fa fa.nii --iterations 8 \
                   --threads 1 --force";

/// The largest difference of two maps, as a part of the largest number of the second.
fn apart(folder: &Folder, found: &str, expected: &str) -> f64 {
    let (found, expected) = (folder.image(found).data, folder.image(expected).data);
    let largest = expected.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    let difference = found.iter().zip(&expected).fold(0.0_f32, |m, (a, b)| m.max((a - b).abs()));
    f64::from(difference) / f64::from(largest)
}

#[test]
fn qsm_finds_the_same_on_any_number_of_processes() {
    let folder = with_sphere();
    for how in ["--products fast", "--products dense", "tensor"] {
        let line = match how {
            "tensor" => QSM.replace("dqsm", "tensor"),
            products => format!("{QSM} {products}"),
        };
        folder.done(&format!("{line} -o single"));
        for processes in [1, 2, 4] {
            let Some(ran) = mpirun(&folder, &[(processes, format!("{line} -o several"))]) else {
                return;
            };
            assert_eq!(ran.code, Some(0), "{processes} processes: {}", ran.stderr);
            let error = apart(&folder, "several/chi.nii.gz", "single/chi.nii.gz");
            // f32 sums of other groups of sources, eight products of conditioning 10 or so. Alone
            // the sums are the same to the bit.
            let bound = if processes == 1 { 0.0 } else { 1e-5 };
            assert!(error <= bound, "{how}, {processes} processes: {error:e}");
            let files = folder.names("several");
            assert!(!files.contains(&".resume".to_owned()), "{files:?}");
        }
    }
}

#[test]
fn a_process_that_fails_ends_all_with_one_message() {
    let folder = with_sphere();
    let other =
        fimbria_image::Image { data: vec![0.01; 26 * 26 * 26], ..folder.image("field.nii") };
    write_image(folder.join("other.nii"), &other, &WriteOptions::default()).unwrap();
    let good = format!("{QSM} -o out");
    let missing = good.replace("field.nii", "missing.nii");
    let other = good.replace("field.nii", "other.nii");
    for (parts, words) in [
        (vec![(2, missing.clone())], "missing.nii"),
        (vec![(1, good.clone()), (1, missing)], "missing.nii"),
        // Files that are not the first process's.
        (vec![(2, good), (1, other)], "process 2 found other inputs"),
    ] {
        let Some(ran) = mpirun(&folder, &parts) else { return };
        assert_ne!(ran.code, Some(0));
        assert_eq!(
            ran.stderr.lines().filter(|line| line.starts_with("error: ")).count(),
            1,
            "not one error: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
        assert!(!folder.join("out/run.json").exists());
    }
}

#[test]
fn a_method_that_is_not_shared_is_refused_in_one_sentence() {
    let folder = with_sphere();
    for method in ["dtv", "tkd"] {
        let line = format!("qsm field.nii --mask mask.nii --method {method} -o out");
        let Some(ran) = mpirun(&folder, &[(2, line)]) else { return };
        assert_ne!(ran.code, Some(0));
        assert_eq!(
            ran.stderr.matches("only dqsm and tensor are shared").count(),
            1,
            "{}",
            ran.stderr
        );
        assert!(!folder.join("out").exists());
    }
}

#[test]
fn processes_go_on_from_what_one_that_was_killed_left() {
    let folder = with_sphere();
    let line =
        QSM.replace("--iterations 8", "--iterations 60 --tolerance 0 --gradient-tolerance 0");
    let line = line.replace(" --force", "");
    folder.done(&format!("{line} -o whole"));
    kill_at_checkpoint(&folder, &line, "killed");
    let Some(ran) = mpirun(&folder, &[(2, format!("{line} -o killed --resume"))]) else { return };
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("going on after iteration").count(), 1, "{}", ran.stderr);
    let error = apart(&folder, "killed/chi.nii.gz", "whole/chi.nii.gz");
    // Sixty iterations amplify rounding where the problem is conditioned worst.
    assert!(error < 1e-3, "{error:e}");
}
