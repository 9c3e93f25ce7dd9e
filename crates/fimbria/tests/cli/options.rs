//! Options: how they may be written, and that every one is used.

use std::fs;
use std::path::{Path, PathBuf};

use crate::util::{FIT, Folder};

#[test]
fn wrong_usage_exits_with_2() {
    let folder = Folder::with_subject();
    for line in [
        "",
        "fit",
        "fit dti",
        "fit dti dwi.nii",
        "fit dti dwi.nii -o out --method magic",
        "fit dti dwi.nii -o out --sigma 3",
        "fit dti dwi.nii -o out --bval dwi.bval",
        "fit dti dwi.nii -o out --grad a --bmatrix b",
        "fit dti dwi.nii -o out --device-memory 2",
        "fit dti dwi.nii -o out --no-such-option",
        "nonsense",
    ] {
        let ran = folder.run(line);
        assert_eq!(ran.code, Some(2), "`{line}`: {}", ran.stderr);
        assert!(!folder.join("out").exists(), "`{line}` left an output");
    }
}

#[test]
fn long_options_may_have_one_dash() {
    let folder = Folder::with_subject();
    folder.done(
        "fit dti dwi.nii -mask mask.nii -bvec-frame=scanner -nthreads 1 -output out -maps FA -quiet",
    );
    folder.done(&format!("{FIT} -o out -maps FA -force"));
}

#[test]
fn names_of_maps_are_taken_in_either_case() {
    let folder = Folder::with_subject();
    folder.done(&format!("{FIT} -o out --maps fa,Md"));
    assert_eq!(folder.names("out"), ["FA.nii.gz", "MD.nii.gz", "run.json", "status.nii.gz"]);
    let ran = folder.run(&format!("{FIT} -o other --maps fa,speed"));
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("FA, MD, AD"), "{}", ran.stderr);
}

#[test]
fn the_options_of_dtifit_and_mrtrix_name_the_same_files() {
    let folder = Folder::with_subject();
    fs::rename(folder.join("dwi.bval"), folder.join("b")).unwrap();
    fs::rename(folder.join("dwi.bvec"), folder.join("g")).unwrap();
    let rest = "-m mask.nii --bvec-frame scanner --maps FA --format nii";
    folder.done(&format!("fit dti -k dwi.nii -r g -b b {rest} -o dtifit"));
    folder.done(&format!("fit dti dwi.nii -fslgrad g b {rest} -o mrtrix"));
    let maps =
        ["dtifit", "mrtrix"].map(|name| fs::read(folder.join(&format!("{name}/FA.nii"))).unwrap());
    assert_eq!(maps[0], maps[1]);
}

#[test]
fn a_pipe_is_refused_with_what_to_do() {
    let folder = Folder::with_subject();
    for line in ["fit dti - -o out", "convert dwi.nii -o -"] {
        let ran = folder.run(line);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("write a file and name it"), "{}", ran.stderr);
    }
}

#[test]
fn usage_errors_begin_once_with_the_word_error() {
    let folder = Folder::with_subject();
    for line in [
        "probtrackx2 -s a -m b -x c --omatrix4",
        "probtrackx2 -s a -m b -x c --skipmask d",
        "fit dti dwi.nii -o out --sigma 3",
        "fit dti dwi.nii -o out --method magic",
        "report . -o page",
    ] {
        let ran = folder.run(line);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert_eq!(ran.stderr.matches("error:").count(), 1, "{}", ran.stderr);
    }
}

/// Every struct of options is taken apart somewhere without `..`, so that the compiler's warning
/// of unused variables, an error in the checks, meets every option that nobody uses.
#[test]
fn every_option_is_consumed() {
    let sources: Vec<String> = ["src", "../bench/src"]
        .iter()
        .flat_map(|folder| rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let mut structs = 0;
    for source in &sources {
        for (start, _) in source.match_indices("#[derive(Debug, Args)]") {
            let declared = &source[start..];
            let name = declared.split("struct ").nth(1).unwrap().split([' ', '<']).next().unwrap();
            let body = &declared[declared.find('{').unwrap()..declared.find("\n}").unwrap()];
            let fields: Vec<&str> = body
                .lines()
                .map(str::trim)
                .filter(|line| !line.starts_with("//") && !line.starts_with('#'))
                .filter_map(|line| line.split_once(": "))
                .map(|(field, _)| field.rsplit(' ').next().unwrap())
                .collect();
            let elsewhere =
                sources.iter().flat_map(|other| patterns(other, &format!("let {name} {{")));
            let taken_apart = patterns(source, "let Self {").chain(elsewhere).any(|pattern| {
                let ignores = pattern.contains(&"..") || pattern.contains(&"_");
                !ignores && fields.iter().all(|field| pattern.contains(field))
            });
            let delegates =
                fields.len() == 1 && source.contains(&format!("match self.{}", fields[0]));
            assert!(
                taken_apart || delegates,
                "the options of {name} ({fields:?}) are not all used"
            );
            structs += 1;
        }
    }
    assert!(structs >= 10, "only {structs} structs of options were found");
}

/// The words of every `let NAME { ... } =` of a source, given how it begins.
fn patterns<'s>(source: &'s str, beginning: &str) -> impl Iterator<Item = Vec<&'s str>> + use<'s> {
    let starts: Vec<usize> =
        source.match_indices(beginning).map(|(i, begin)| i + begin.len()).collect();
    starts.into_iter().map(|start| {
        let pattern = &source[start..start + source[start..].find('}').unwrap()];
        pattern.split([',', ':', ' ', '\n']).filter(|word| !word.is_empty()).collect()
    })
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files
}
