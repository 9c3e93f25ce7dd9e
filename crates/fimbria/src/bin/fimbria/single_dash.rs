//! Long options with a single dash, as users of MRtrix3 write them: `-force -nthreads 4`.

use std::ffi::OsString;

use clap::Command;

/// Gives a second dash to every word that is a dash and a long option of the command it stands
/// in. Everything else stays, clusters of short options and all that follows `--` included.
pub(crate) fn with_two_dashes(program: &Command, words: Vec<OsString>) -> Vec<OsString> {
    let mut command = program;
    let mut words = words.into_iter();
    let mut out: Vec<OsString> = words.next().into_iter().collect();
    while let Some(word) = words.next() {
        if word == "--" {
            out.push(word);
            out.extend(words.by_ref());
        } else if let Some(long) =
            word.to_str().and_then(|text| long_option(program, command, text))
        {
            out.push(long.into());
        } else {
            if let Some(subcommand) = word.to_str().and_then(|name| command.find_subcommand(name)) {
                command = subcommand;
            }
            out.push(word);
        }
    }
    out
}

/// `--name` or `--name=value` for `-name` or `-name=value` where the command has that option.
fn long_option(program: &Command, command: &Command, text: &str) -> Option<String> {
    let option = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    let name = option.split('=').next().filter(|name| name.len() > 1)?;
    // Options of the whole program are valid within every command.
    let global = program.get_arguments().filter(|argument| argument.is_global_set());
    let known = command.get_arguments().chain(global).any(|argument| {
        let aliases = argument.get_all_aliases().unwrap_or_default();
        argument.get_long() == Some(name) || aliases.contains(&name)
    });
    let built_in = matches!(name, "help" | "version");
    (known || built_in).then(|| format!("-{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    fn rewritten(line: &str) -> String {
        let words = line.split(' ').map(OsString::from).collect();
        let words = with_two_dashes(&Cli::described(), words);
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn known_long_options_get_their_second_dash() {
        assert_eq!(
            rewritten("fimbria convert -force in.nii -nthreads 4 -datatype=int16 -o out.mif"),
            "fimbria convert --force in.nii --nthreads 4 --datatype=int16 -o out.mif"
        );
    }

    #[test]
    fn short_options_values_and_what_follows_two_dashes_stay() {
        for line in [
            "fimbria convert -qv in.nii -o out",
            "fimbria convert -1.5 in.nii -unknown",
            "fimbria convert -- -force",
            "fimbria info -force dwi.nii",
        ] {
            assert_eq!(rewritten(line), line);
        }
    }

    #[test]
    fn options_of_the_whole_program_are_known_everywhere() {
        assert_eq!(rewritten("fimbria info -quiet a -help"), "fimbria info --quiet a --help");
    }
}
