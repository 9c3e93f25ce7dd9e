//! `fimbria describe`

mod boutiques;
mod markdown;
mod method;

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use fimbria_pipeline::options::Described as _;
use fimbria_pipeline::{Choice, Named, OutputError};

use self::method::Method;
use crate::args::choice;
use crate::cli::Cli;
use crate::console::Console;
use crate::failure::Failure;

/// Say what a command takes, gives and may be told, for people and programs
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Describe {
    /// The command ("fit dti")
    #[arg(value_name = "COMMAND", num_args = 0..)]
    #[arg(usually = "all")]
    command: Vec<String>,

    /// In which form
    #[arg(long, value_name = "FORMAT", default_value = "markdown")]
    #[arg(value_parser = choice::<Format>())]
    format: Named<Format>,

    /// Folder to write a file for each command to
    #[arg(short, long, value_name = "FOLDER", help_heading = "Output")]
    #[arg(usually = "standard output")]
    output: Option<PathBuf>,

    /// Overwrite existing files
    #[arg(short, long, requires = "output", help_heading = "Output")]
    force: bool,
}

/// The forms of a description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// All of it, for programs
    Json,
    /// A page of the manual
    Markdown,
    /// A page for `man`
    Man,
    /// A descriptor of Boutiques 0.5, for workflow engines
    Boutiques,
}

impl Choice for Format {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Json, "json", "all of it, for programs"),
        (Self::Markdown, "markdown", "a page of the manual"),
        (Self::Man, "man", "a page for `man`"),
        (Self::Boutiques, "boutiques", "a descriptor of Boutiques 0.5, for workflow engines"),
    ];
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Self::Json | Self::Boutiques => "json",
            Self::Markdown => "md",
            Self::Man => "1",
        }
    }
}

const HELP: &str = "\
Outputs:
  The description on standard output, or with -o a file for each command: fimbria-fit-dti.md, .1
  (man FOLDER/fimbria-fit-dti.1) or .json. What is described is what the program itself goes by.

  In JSON: name, sentence, options (name, long, short, type, choices, default, range, files, unit,
  frame, whether required or repeatable, conflicts), outputs (file, type, kind, unit, volumes,
  meaning, when it is written), notes, references, examples.

Units:
  Those that each command says of its own outputs.

Order and frame:
  Commands are in the order of the help, options in that of the command's.";

impl Describe {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { command, format: Named(format), output, force } = self;
        let name = command.join(" ");
        let texts = texts(&Cli::described(), &name, format)?;
        if texts.is_empty() {
            return Err(Failure::usage(format!(
                "there is no command `{name}`: see fimbria --help"
            )));
        }
        match output {
            None if format == Format::Json || format == Format::Boutiques => {
                console.print(&one_text(texts.into_iter().map(|(_, text)| text).collect()))?;
            }
            None => {
                for (_, text) in texts {
                    console.print(&text)?;
                }
            }
            Some(folder) => {
                refuse_existing(&folder, &texts, format, force)?;
                write(&folder, &texts, format)?;
            }
        }
        Ok(())
    }
}

/// The name of the file of a command.
fn file_name(path: &str, format: Format) -> String {
    format!("fimbria-{}.{}", path.replace(' ', "-"), format.extension())
}

/// Refuses files that are there already, where they are not to be overwritten.
fn refuse_existing(
    folder: &Path,
    texts: &[(String, String)],
    format: Format,
    force: bool,
) -> Result<(), OutputError> {
    let names = texts.iter().map(|(path, _)| file_name(path, format));
    let names: Vec<_> = names.filter(|name| !force && folder.join(name).exists()).collect();
    match names.is_empty() {
        true => Ok(()),
        false => Err(OutputError::Exists { folder: folder.to_owned(), names }),
    }
}

/// JSON of several commands is a list.
fn one_text(mut texts: Vec<String>) -> String {
    match texts.len() {
        1 => texts.remove(0),
        _ => format!("[\n{}]\n", texts.join(",\n")),
    }
}

/// The words and the text of each command of `program` that is `name` or below it.
fn texts(program: &Command, name: &str, format: Format) -> std::io::Result<Vec<(String, String)>> {
    let global: Vec<_> =
        program.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let mut chosen = leaves(program, "");
    chosen.retain(|(path, _)| name.is_empty() || is_within(path, name));
    chosen
        .into_iter()
        .map(|(path, command)| {
            let text = text(&path, command, &global, format)?;
            Ok((path, text))
        })
        .collect()
}

fn text(
    path: &str,
    command: &Command,
    global: &[clap::Arg],
    format: Format,
) -> std::io::Result<String> {
    let method = || Method::new(path, command, global);
    Ok(match format {
        Format::Json => format!("{:#}\n", serde_json::to_value(method())?),
        Format::Markdown => markdown::page(&method()),
        Format::Boutiques => format!("{:#}\n", boutiques::descriptor(&method())),
        Format::Man => {
            let mut page = Vec::new();
            let name = format!("fimbria-{}", path.replace(' ', "-"));
            let command = command.clone().display_name(&name);
            clap_mangen::Man::new(command).title(name).render(&mut page)?;
            String::from_utf8_lossy(&page).into_owned()
        }
    })
}

fn write(folder: &Path, texts: &[(String, String)], format: Format) -> Result<(), OutputError> {
    if folder.exists() && !folder.is_dir() {
        return Err(OutputError::NotAFolder(folder.to_owned()));
    }
    let failed = |action, path: &Path| {
        let path = path.to_owned();
        move |source| OutputError::Io { action, path, source }
    };
    let is_new = !folder.exists();
    std::fs::create_dir_all(folder).map_err(failed("make the folder", folder))?;
    // All are written before the first has its name, so that a full disk leaves what was there.
    let path = |command: &str| folder.join(file_name(command, format));
    let unfinished = |command: &str| path(command).with_extension("unfinished");
    let written = texts.iter().try_for_each(|(command, text)| {
        std::fs::write(unfinished(command), text).map_err(failed("write", &path(command)))
    });
    let placed = written.and_then(|()| {
        texts.iter().try_for_each(|(command, _)| {
            let path = path(command);
            std::fs::rename(unfinished(command), &path).map_err(failed("write", &path))
        })
    });
    placed.inspect_err(|_| {
        texts.iter().for_each(|(command, _)| drop(std::fs::remove_file(unfinished(command))));
        if is_new {
            // It stays where somebody has put a file there.
            drop(std::fs::remove_dir(folder));
        }
    })
}

/// True where `path` is that command or one below it.
fn is_within(path: &str, name: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Every command that does something, with its words.
fn leaves<'c>(command: &'c Command, path: &str) -> Vec<(String, &'c Command)> {
    let mut found = Vec::new();
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        let path = format!("{path} {}", below.get_name()).trim().to_owned();
        let under = leaves(below, &path);
        // `bench` does something by itself, too.
        if under.is_empty() || !below.is_subcommand_required_set() {
            found.push((path, below));
        }
        found.extend(under);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn methods() -> Vec<Method> {
        let program = Cli::described();
        leaves(&program, "").iter().map(|(path, command)| Method::new(path, command, &[])).collect()
    }

    #[test]
    fn every_option_of_every_command_is_described() {
        let methods = methods();
        assert!(methods.len() > 30, "{}", methods.len());
        for method in &methods {
            assert!(!method.sentence.is_empty(), "{} has no sentence", method.name);
            assert!((3..=5).contains(&method.examples.len()), "{}", method.name);
            for option in &method.options {
                assert!(!option.help.is_empty(), "{}: {} has no meaning", method.name, option.name);
            }
        }
    }

    #[test]
    fn maps_of_fits_have_their_units_and_kinds() {
        let methods = methods();
        let dti = methods.iter().find(|method| method.name == "fit dti").unwrap();
        let md = dti.outputs.iter().find(|output| output.file == "MD").unwrap();
        assert_eq!((&*md.unit, md.volumes), ("mm^2/s", Some(1)));
        assert_eq!((&*md.files["fsl"], &*md.files["mrtrix"]), ("dti_MD.nii.gz", "adc.mif"));
        let made = dti.outputs.iter().find(|output| output.file == "mask").unwrap();
        assert_eq!((&*made.kind_of_file, made.only), ("image", Some("where no mask is given")));
        let bmax = dti.options.iter().find(|option| option.name == "bmax").unwrap();
        assert_eq!((bmax.unit, bmax.range.as_deref()), (Some("s/mm²"), Some("above 0")));
        assert_eq!(bmax.kind, method::Kind::Number);
        let method = dti.options.iter().find(|option| option.name == "method").unwrap();
        assert_eq!(method.choices.len(), 5);
    }

    /// Longer lines are broken at the end of a terminal, in the middle of their paragraph.
    #[test]
    fn every_line_of_help_fits_its_width() {
        let program = Cli::described();
        let mut long = Vec::new();
        for (path, command) in leaves(&program, "") {
            let texts = [command.get_long_about(), command.get_after_long_help()];
            let texts: Vec<_> = texts.into_iter().flatten().map(ToString::to_string).collect();
            let lines = texts.iter().flat_map(|text| text.lines());
            // Examples are to be copied as they are.
            let lines = lines.filter(|line| !line.starts_with("  fimbria "));
            let is_long = |line: &&str| line.chars().count() > 100;
            long.extend(lines.filter(is_long).map(|line| format!("{path}: {line}")));
        }
        assert!(long.is_empty(), "{}", long.join("\n"));
    }

    /// The reference under docs/ is what the program says; `FIMBRIA_BLESS=1` writes it anew.
    #[test]
    fn the_reference_in_the_docs_is_not_stale() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
        let texts = texts(&Cli::described(), "", Format::Markdown).unwrap();
        let pages = texts.into_iter();
        let pages = pages.map(|(path, text)| (file_name(&path, Format::Markdown), text));
        fimbria_testing::hold_to(&folder, &pages.collect());
    }
}
