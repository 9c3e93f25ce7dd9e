//! The one error that ends a command: what it says, how it may be helped, its exit code.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::styling::AnsiColor;
use fimbria_compute::WorkersError;
use fimbria_compute::device::SelectionError;
use fimbria_image::gradients::GradientError;
use fimbria_image::{GridMismatch, ImageError};
use fimbria_models::expr::ExprFitError;
use fimbria_pipeline::stages::contents::{Contents, ContentsError};
use fimbria_pipeline::stages::load::LoadError;
use fimbria_pipeline::stages::load_orientations::FieldError;
use fimbria_pipeline::stages::track::{SourceError, TrackError};
use fimbria_pipeline::{MapError, OutputError, PipelineError, final_names};
use fimbria_qsm::phase::PhaseError;
use fimbria_streamlines::Format;
use fimbria_tensors::sh::ShBasis;

use crate::console::{Console, PrintError};
use crate::exit_code::{FAILED, INTERRUPTED, USAGE};
use crate::memory;
use crate::printable::printable;

/// Why a command ends without its result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line cannot be understood (or asks for help).
    Usage(clap::Error),
    /// The work failed.
    Work(Box<dyn Error + Send + Sync>),
    /// The user stopped it.
    Interrupted {
        /// The file that --resume goes on from.
        kept: Option<PathBuf>,
    },
    /// It is said already, with this exit code: by this process, or by the first of several.
    Said(u8),
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Work(Box::new(error))
    }
}

impl Failure {
    /// A command line whose parts contradict each other.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::Usage(clap::Error::raw(
            clap::error::ErrorKind::ArgumentConflict,
            format!("{}\n", printable(&message.to_string())),
        ))
    }

    /// `done`, or where the user stopped it and left something at `kept`, that --resume goes on from
    /// there.
    pub(crate) fn unless_kept(
        done: Result<(), Self>,
        kept: &Path,
        console: &Console,
    ) -> Result<(), Self> {
        match done {
            Err(_) if console.was_interrupted() && kept.exists() => {
                Err(Self::Interrupted { kept: Some(kept.to_owned()) })
            }
            done => done,
        }
    }

    /// What the user of `console` is told: who stopped the work, not how the work noticed.
    pub(crate) fn said_to_user_of(self, console: &Console) -> Self {
        match self {
            Self::Usage(_) | Self::Work(_) if console.was_interrupted() => {
                Self::Interrupted { kept: None }
            }
            other => other,
        }
    }

    /// Says what happened, and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        use io::Write as _;
        // Help that cannot be written is a result that cannot.
        if let Self::Usage(help) = &self
            && !help.use_stderr()
        {
            let printed = help.print().and_then(|()| io::stdout().flush());
            return match PrintError::check(printed) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => Self::from(error).report(),
            };
        }
        match &self {
            Self::Work(_) => memory::report_last(|| self.say()),
            _ => self.say(),
        }
        ExitCode::from(self.code())
    }

    /// The exit code of a command that ends so.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(error) if !error.use_stderr() => 0,
            Self::Usage(_) => USAGE,
            Self::Work(_) => FAILED,
            Self::Interrupted { .. } => INTERRUPTED,
            Self::Said(code) => *code,
        }
    }

    /// Says what happened on standard error (help goes to standard output).
    pub(crate) fn say(&self) {
        match self {
            Self::Usage(error) => {
                // Nobody there to read it: nothing else to do.
                let _ = error.print();
            }
            Self::Work(error) => {
                memory::wait_where_ending();
                eprint_all(&error_text(&chain(&**error), help_for(&**error).as_deref()));
            }
            Self::Interrupted { kept } => {
                let left = match kept {
                    None => "nothing unfinished was left".to_owned(),
                    Some(path) => {
                        format!("--resume goes on from {}", printable(&path.display().to_string()))
                    }
                };
                eprint_all(&format!("interrupted: {left}\n"));
            }
            Self::Said(_) => {}
        }
    }
}

fn eprint_all(text: &str) {
    use io::Write as _;
    let _ = io::stderr().write_all(text.as_bytes());
}

/// An error as the user sees it: one line, and one with what helps. As clap writes those of usage.
fn error_text(message: &str, help: Option<&str>) -> String {
    use io::IsTerminal as _;
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || !io::stderr().is_terminal();
    let styled = |color: AnsiColor, word: &str| {
        let style = color.on_default().bold();
        if plain { word.to_owned() } else { format!("{style}{word}{style:#}") }
    };
    let message = final_names(message);
    let mut text = format!("{} {}\n", styled(AnsiColor::Red, "error:"), printable(&message));
    if let Some(help) = help {
        text += &format!("{} {}\n", styled(AnsiColor::Cyan, "help:"), printable(help));
    }
    text
}

/// The error and its causes, those included that stand transparently within another.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| within(error).or_else(|| error.source()))
}

/// The error that another one passes on as its own, which `source` jumps over.
fn within<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref() {
        Some(LoadError::Image(inner)) => return Some(inner),
        Some(LoadError::Gradients(inner)) => return Some(inner),
        _ => {}
    }
    match error.downcast_ref() {
        Some(FieldError::Image(inner)) => return Some(inner),
        Some(FieldError::Grid(inner)) => return Some(inner),
        Some(FieldError::Contents(inner)) => return Some(inner),
        _ => {}
    }
    match error.downcast_ref() {
        Some(SourceError::Function(inner)) => return Some(inner),
        Some(SourceError::Contents(inner)) => return Some(inner),
        _ => {}
    }
    if let Some(TrackError::Source(inner)) = error.downcast_ref() {
        return Some(inner);
    }
    match error.downcast_ref() {
        Some(MapError::Image(inner)) => return Some(inner),
        Some(MapError::Output(inner)) => return Some(inner),
        _ => {}
    }
    match error.downcast_ref() {
        Some(PipelineError::Output(inner)) => Some(inner),
        _ => None,
    }
}

/// The messages of an error and its causes, without those that an earlier one contains.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for message in causes(error).map(|cause| without_code(&cause.to_string())) {
        if !text.contains(&message) {
            if !text.is_empty() {
                text += ": ";
            }
            text += &message;
        }
    }
    text
}

/// A message of the system without the number that it has there: "(os error 2)" helps nobody.
fn without_code(message: &str) -> String {
    match message.split_once(" (os error ") {
        Some((before, code)) => {
            let after = code.split_once(')').map_or("", |(_, after)| after);
            format!("{before}{}", without_code(after))
        }
        None => message.to_owned(),
    }
}

/// What an error says with its causes, in the words of a user: files by their final names.
pub(crate) fn message_of(error: &(dyn Error + 'static)) -> String {
    final_names(&chain(error))
}

/// What the user can do about it, for the errors that are met often.
fn help_for(error: &(dyn Error + 'static)) -> Option<String> {
    // Many kinds of error tell of memory, some by the words of another.
    let limit = memory::exceeded().filter(|_| chain(error).contains("memory"));
    if let Some(allowed) = limit {
        return Some(format!("--memory {allowed} allows less: allow more"));
    }
    causes(error).find_map(|error| {
        if let Some(error) = error.downcast_ref() {
            help_for_output(error)
        } else if let Some(error) = error.downcast_ref() {
            help_for_gradients(error)
        } else if let Some(error) = error.downcast_ref::<io::Error>() {
            help_for_io(error)
        } else if let Some(error) = error.downcast_ref::<ImageError>() {
            match error {
                ImageError::Io { source, .. } => help_for_io(source),
                ImageError::Grid(_) => Some(OTHER_GRID.to_owned()),
                ImageError::Truncated { .. } | ImageError::Gzip { .. } => {
                    Some("the file was cut off or damaged; copy or make it again".to_owned())
                }
                ImageError::Memory { .. } => {
                    Some("--memory 4G lets what is larger be worked on from disk".to_owned())
                }
                _ => None,
            }
        } else if error.is::<ctrlc::Error>() {
            Some("the system gives no memory for a thread".to_owned())
        } else if error.is::<WorkersError>() {
            Some("each takes memory, and counts as a process: --threads 1 takes least".to_owned())
        } else if error.is::<GridMismatch>() {
            Some(OTHER_GRID.to_owned())
        } else if error.is::<SelectionError>() {
            Some(
                "`fimbria devices` lists what this machine has; --device cpu always works"
                    .to_owned(),
            )
        } else if let Some(error) = error.downcast_ref::<ContentsError>() {
            Some(help_for_contents(error))
        } else if let Some(FieldError::NoBasis { .. }) = error.downcast_ref() {
            Some(GIVE_BASIS.to_owned())
        } else if let Some(PhaseError::NoTurn { .. }) = error.downcast_ref() {
            Some("a phase: --phase-range LOW HIGH says which numbers are a turn apart".to_owned())
        } else if error.downcast_ref().is_some_and(ExprFitError::is_unknown_name) {
            Some(
                "--param, --per-volume NAME=FILE or --constant NAME=FILE say what a name stands for"
                    .to_owned(),
            )
        } else if let Some(LoadError::NoBrain(_)) = error.downcast_ref() {
            Some("give the voxels to work on with --mask".to_owned())
        } else {
            None
        }
    })
}

const OTHER_GRID: &str = "bring it onto the grid of the series first (mrgrid, flirt -applyxfm)";

fn help_for_output(error: &OutputError) -> Option<String> {
    match error {
        OutputError::Exists { .. } => Some(
            "--force overwrites; --resume of run and demo keeps what is finished, that of other \
             commands goes on with what is not; or write elsewhere with -o"
                .to_owned(),
        ),
        OutputError::Io { source, .. } => help_for_io(source),
        OutputError::NameOfFile { stem, extension, .. } => Some(match extension.as_str() {
            _ if Format::OF_FILES.iter().any(|(_, name, _)| name == extension) => format!(
                "-o {stem}; `fimbria track -o {stem} --tracks {extension}` writes {stem}/tracks.{extension}"
            ),
            _ => format!("-o {stem}"),
        }),
        OutputError::NotAFolder(_)
        | OutputError::Name(_)
        | OutputError::NotAFile(_)
        | OutputError::NotRegular(_)
        | OutputError::Link(_)
        | OutputError::NotOurs(_)
        | OutputError::Busy(_)
        | OutputError::Interrupted(_) => None,
    }
}

const GIVE_BASIS: &str = "give their basis: --sh-basis mrtrix, dipy or dipy-legacy";

fn help_for_contents(error: &ContentsError) -> String {
    let (asked, holds) = match error {
        ContentsError::Said { claim, asked, .. } => (*asked, claim.what),
        ContentsError::Looks { looks, asked, .. } => (*asked, *looks),
        ContentsError::LabelVolumes { .. } | ContentsError::NoLabels { .. } => {
            (Contents::Numbers, Contents::Numbers)
        }
    };
    let help = match (asked, holds) {
        (Contents::Numbers, _) => "is it another file that was meant?",
        (Contents::Directions, Contents::Entries) => {
            "`fimbria track --hot` follows the maxima of a form of order 4 to 12; --peaks takes the \
             volumes for directions all the same"
        }
        (Contents::Directions, Contents::Harmonics(_)) => {
            "`fimbria track --sh-basis mrtrix` (dipy, dipy-legacy) follows the maxima of harmonics of \
             order 4 to 12; --peaks takes the volumes for directions all the same"
        }
        (Contents::Directions, Contents::Tensor) => {
            "the direction of a tensor is its first eigenvector: the map V1"
        }
        (Contents::Directions, _) => {
            "`fimbria track --peaks` takes the volumes for directions all the same"
        }
        (_, Contents::Directions) => "`fimbria track` follows directions as they are",
        (_, Contents::Entries) => "leave --sh-basis away",
        (_, Contents::Harmonics(Some(ShBasis::Mrtrix))) => "give --sh-basis mrtrix",
        (_, Contents::Harmonics(Some(_))) => {
            "give --sh-basis dipy or, for legacy=True, --sh-basis dipy-legacy"
        }
        (_, Contents::Harmonics(None)) => GIVE_BASIS,
        (_, Contents::Kurtosis) => {
            "`fimbria convert --tensors mrtrix:fimbria` brings its entries into order"
        }
        (_, Contents::Across | Contents::Tensor | Contents::Numbers) => {
            "is it another file that was meant?"
        }
    };
    help.to_owned()
}

fn help_for_gradients(error: &GradientError) -> Option<String> {
    match error {
        GradientError::NotFound { .. } | GradientError::HalfPair { .. } => Some(
            "name them: --bval FILE --bvec FILE, or --grad FILE for an MRtrix3 table".to_owned(),
        ),
        GradientError::NotUnit { .. } => Some(
            "--bvalue-scaling yes multiplies b by the squared length, no only normalises"
                .to_owned(),
        ),
        GradientError::NoDirection { .. } => {
            Some("--b0-threshold says up to which b a volume counts as unweighted".to_owned())
        }
        _ => None,
    }
}

fn help_for_io(error: &io::Error) -> Option<String> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            Some(
                "the disk, a quota or a size limit is full; nothing is left but what --resume goes on from"
                    .to_owned(),
            )
        }
        io::ErrorKind::NotFound => Some(match std::env::current_dir() {
            Ok(folder) => format!(
                "is its name right? What does not begin with / is looked for in {}",
                folder.display()
            ),
            Err(_) => "is its name right?".to_owned(),
        }),
        io::ErrorKind::PermissionDenied => {
            Some("this user may not: `ls -l` says who may".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_has_no_number() {
        let missing = io::Error::from_raw_os_error(2).to_string();
        assert!(missing.contains("(os error 2)"));
        assert_eq!(format!("{} (os error 2)", without_code(&missing)), missing);
        assert_eq!(without_code("a (os error 2): b (os error 13)"), "a: b");
    }
}
