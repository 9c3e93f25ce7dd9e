//! Options: how they may be written, and that every one is used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::util::{FIT, Folder, Ran};

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
fn a_pipe_gives_the_image_of_mrtrix_and_nothing_else() {
    let folder = Folder::with_subject();
    let piped = |text: &str, line: &str| {
        fs::write(folder.join("pipe"), text).unwrap();
        let input = fs::File::open(folder.join("pipe")).unwrap();
        Ran::of(&folder.command(line).stdin(input).output().unwrap())
    };
    // As MRtrix3 does it: the name of a file, which goes when it has been read.
    fs::copy(folder.join("dwi.nii"), folder.join("mrtrix-tmp-ab12.nii")).unwrap();
    let fit =
        "fit dti - --bval dwi.bval --bvec dwi.bvec --bvec-frame scanner --mask mask.nii -o out";
    let ran = piped("mrtrix-tmp-ab12.nii\n", fit);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(folder.join("out/FA.nii.gz").exists() && !folder.join("mrtrix-tmp-ab12.nii").exists());
    assert_eq!(piped("dwi.nii", "info -").code, Some(0));
    assert!(folder.join("dwi.nii").exists(), "a file that is to stay");
    for (text, line, said) in [
        ("", "fit dti - -o out", "none came"),
        ("nowhere.nii", "fit dti - -o out", "none came"),
        ("dwi.nii", "convert dwi.nii -o -", "files with a name"),
        ("dwi.nii", "fit dti - --mask - -o out", "files with a name"),
    ] {
        let ran = piped(text, line);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
}

#[cfg(unix)]
#[test]
fn mrtrix_pipes_into_the_program() {
    if Command::new("mrconvert").arg("-version").output().is_err() {
        return fimbria_testing::missing("mrconvert (MRtrix3)");
    }
    let folder = Folder::with_subject();
    let program = assert_cmd::cargo::cargo_bin!("fimbria").display();
    let line = format!("mrconvert -quiet dwi.nii -fslgrad dwi.bvec dwi.bval - | {program} info -");
    let ran = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success() && said.contains("b=1000"), "{said}");
    let left = folder.names(".");
    assert!(!left.iter().any(|name| name.starts_with("mrtrix-tmp")), "{left:?}");
}

#[test]
fn usage_errors_begin_once_with_the_word_error() {
    let folder = Folder::with_subject();
    for line in [
        "probtrackx2 -s a -m b -x c --omatrix4",
        "probtrackx2 -s a -m b -x c --osampfib",
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
