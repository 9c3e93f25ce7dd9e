//! What may stand after `fit` in place of a model: a list of models, or a file with one.

use std::ffi::OsString;
use std::path::Path;

use clap::{ArgAction, Command};
use fimbria_pipeline::RunConfig;
use fimbria_pipeline::options::words_of_values;
use fimbria_pipeline::stages::fits::FITS;

use crate::failure::Failure;

/// `fit A,B …` in the words of `maps`, and `fit FILE.toml …` in those of the model that the file has a table of;
/// all other words as they are.
///
/// # Errors
/// Where the file cannot be read, or has no one model.
pub(crate) fn in_full(mut words: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let is_option = |word: &&OsString| word.to_string_lossy().starts_with('-');
    let fit = 1 + words.iter().skip(1).take_while(is_option).count();
    let text = |index: usize| words.get(index).and_then(|word| word.to_str());
    let is_list = |names: &str| {
        names.contains(',')
            && names.split(',').any(|name| FITS.iter().any(|fit| fit.name() == name))
    };
    match (text(fit), text(fit + 1)) {
        (Some("fit"), Some(names)) if is_list(names) => {
            let models = ["maps".into(), format!("--models={names}").into()];
            words.splice(fit..fit + 2, models);
        }
        (Some("fit"), Some(file)) if file.ends_with(".toml") => {
            let model = words_of_file(Path::new(file), &words[fit + 2..])?;
            words.splice(fit + 1..fit + 2, model);
        }
        _ => {}
    }
    Ok(words)
}

/// The model of a file and its options, without those that `given` has once and for all.
fn words_of_file(path: &Path, given: &[OsString]) -> Result<Vec<OsString>, Failure> {
    let (fit, mut values) = RunConfig::read_fit(path)?;
    let command = fit.options(Command::new("fit"));
    for arg in command.get_arguments().filter(|arg| !matches!(arg.get_action(), ArgAction::Append))
    {
        let is_it = |word: &OsString| {
            let word = word.to_string_lossy();
            let word = word.split('=').next().unwrap_or_default().trim_start_matches('-');
            arg.get_long() == Some(word)
        };
        if given.iter().filter(|word| word.to_string_lossy().starts_with('-')).any(is_it) {
            values.remove(arg.get_id().as_str());
        }
    }
    let words = words_of_values(&command, &values).map_err(Failure::usage)?;
    Ok(std::iter::once(fit.name().to_owned()).chain(words).map(OsString::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(line: &str) -> Result<String, Failure> {
        let words = in_full(line.split(' ').map(OsString::from).collect())?;
        Ok(words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_list_after_fit_is_that_of_maps() {
        let of = |line| full(line).unwrap();
        assert_eq!(of("fimbria fit dti,dki x -o y"), "fimbria maps --models=dti,dki x -o y");
        assert_eq!(of("fimbria -v fit dti,x y"), "fimbria -v maps --models=dti,x y");
        for line in ["fimbria fit dti a,b", "fimbria convert a,b fit", "fimbria", "fimbria fit"] {
            assert_eq!(of(line), line);
        }
    }

    #[test]
    fn a_file_after_fit_gives_what_the_line_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("adc.toml");
        let of = |text: &str, rest: &str| {
            std::fs::write(&path, text).unwrap();
            full(&format!("fimbria fit {} {rest}", path.display()))
        };
        let model = "[expr]\nmodel = \"S0*exp(-b*D)\"\nparam = [\"S0=1\", \"D=1\"]\nbmax = 900\n";
        assert_eq!(
            of(model, "x -o y --bmax=500").unwrap(),
            "fimbria fit expr --model=S0*exp(-b*D) --param=S0=1 --param=D=1 x -o y --bmax=500"
        );
        assert_eq!(of("[smt]\nbmax = 900\n", "x").unwrap(), "fimbria fit smt --bmax=900 x");
        for wrong in ["", "[peaks]\n", "[smt]\n[dti]\n"] {
            assert!(of(wrong, "x").is_err(), "{wrong}");
        }
    }
}
