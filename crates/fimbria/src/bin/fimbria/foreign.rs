//! Words that are no commands of this program: commands of other programs, names of methods, pages of the manual.

use std::path::Path;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use fimbria_pipeline::Page;

/// What stands for a method or a command of FSL, MRtrix3, DIPY, ANTs or FreeSurfer, and the command that does
/// that here.
const COMMANDS: [(&str, &str); 54] = [
    ("dti", "fit dti"),
    ("dtifit", "fit dti"),
    ("tensor", "fit dti"),
    ("dwi2tensor", "fit dti"),
    ("tensor2metric", "fit dti"),
    ("dipy_fit_dti", "fit dti"),
    ("dki", "fit dki"),
    ("dkifit", "fit dki"),
    ("dipy_fit_dki", "fit dki"),
    ("msdki", "fit msdki"),
    ("csd", "fit fod"),
    ("fod", "fit fod"),
    ("dwi2fod", "fit fod"),
    ("dwi2response", "fit fod"),
    ("dipy_fit_csd", "fit fod"),
    ("dipy_fit_msmtcsd", "fit fod"),
    ("mapmri", "fit mapmri"),
    ("dipy_fit_mapmri", "fit mapmri"),
    ("gqi", "fit gqi"),
    ("dsi_studio_gqi", "fit gqi"),
    ("noddi", "fit noddi"),
    ("amico", "fit noddi"),
    ("bedpostx", "sticks"),
    ("bedpostx_gpu", "sticks"),
    ("xfibres", "sticks"),
    ("probtrackx", "probtrackx2"),
    ("probtrackx2_gpu", "probtrackx2"),
    ("tckgen", "track"),
    ("tractography", "track"),
    ("dipy_track", "track"),
    ("sh2peaks", "peaks"),
    ("mtnormalise", "normalise"),
    ("tcksift", "sift2"),
    ("tcksift2", "sift2"),
    ("commit", "life"),
    ("tck2connectome", "connectome"),
    ("tckedit", "tract edit"),
    ("tckconvert", "tract edit"),
    ("tcksample", "tract sample"),
    ("tckmap", "tract map"),
    ("dipy_bundle_profiles", "tract profile"),
    ("quickbundles", "tract cluster"),
    ("eddy", "correct"),
    ("eddy_correct", "correct"),
    ("dwifslpreproc", "correct"),
    ("mcflirt", "correct"),
    ("flirt", "align"),
    ("mrregister", "align"),
    ("bet", "mask"),
    ("dwi2mask", "mask"),
    ("mrconvert", "convert"),
    ("mrinfo", "info"),
    ("fslinfo", "info"),
    ("mrstats", "regions"),
];

/// The page of the manual of this name.
fn page(word: &str) -> Option<Page> {
    Page::ALL.into_iter().find(|page| page.name() == word)
}

/// What is said of an unknown word in place of the error of clap: where help is asked for on a page of the manual,
/// where it is.
pub(crate) fn answered(error: Error, asks_help: bool) -> Error {
    let page = unknown(&error).filter(|_| asks_help).and_then(|word| page(&word));
    let help = |page: Page| {
        Error::raw(ErrorKind::DisplayHelp, format!("{}: {}\n", page.name(), page.link()))
    };
    page.map_or_else(|| with_hint(error), help)
}

/// The same error with the command that does what an unknown one does elsewhere, in place of those that only sound
/// alike.
fn with_hint(mut error: Error) -> Error {
    let own = unknown(&error).and_then(|word| {
        let word = word.to_lowercase();
        COMMANDS.into_iter().find(|(theirs, _)| *theirs == word).map(|(_, own)| own)
    });
    let is_file = || unknown(&error).is_some_and(|word| Path::new(&word).is_file());
    let hint = match own {
        Some(own) => format!("did you mean `fimbria {own}`? --help says what it does"),
        None if is_file() => {
            "it is a file, and the command or the model comes first; the file of a \
                              model is named FILE.toml"
                .to_owned()
        }
        None => return error,
    };
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    error
}

/// The word that is no command.
fn unknown(error: &Error) -> Option<String> {
    match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) => Some(word.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn what_other_programs_call_a_method_leads_to_its_command() {
        let said =
            |word: &str| with_hint(Cli::try_parse_from(["fimbria", word]).unwrap_err()).to_string();
        assert!(said("dtifit").contains("did you mean `fimbria fit dti`?"), "{}", said("dtifit"));
        assert!(said("bedpostx").contains("fimbria sticks") && !said("bedpostx").contains("bids"));
        assert!(!said("nonsense").contains("did you mean"));
    }

    #[test]
    fn every_hint_is_of_a_command() {
        for (theirs, own) in COMMANDS {
            let mut command = Cli::command();
            assert!(command.find_subcommand(theirs).is_none(), "{theirs}");
            for word in own.split(' ') {
                let next = command.find_subcommand(word);
                command = next.unwrap_or_else(|| panic!("{own}")).clone();
            }
        }
    }

    #[test]
    fn pages_of_the_manual_are_found() {
        let error = Cli::try_parse_from(["fimbria", "help", "troubleshooting"]).unwrap_err();
        let link = answered(error, true).to_string();
        assert!(link.ends_with("/docs/troubleshooting.md\n"), "{link}");
        let error = Cli::try_parse_from(["fimbria", "troubleshooting"]).unwrap_err();
        assert_eq!(answered(error, false).kind(), ErrorKind::InvalidSubcommand);
    }
}
