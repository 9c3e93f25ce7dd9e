//! `fimbria describe`

mod boutiques;
mod engine;
mod markdown;
mod matlab;
mod method;
mod model_file;
mod nipype;
mod pydra;
mod qsirecon;

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use fimbria_pipeline::options::Described as _;
use fimbria_pipeline::{Choice, Named, OutputError};

use self::method::Method;
use self::model_file::ModelFile;
use crate::args::choice;
use crate::cli::Cli;
use crate::console::Console;
use crate::failure::Failure;

/// Say what a command takes, gives and may be told, for people and programs
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Describe {
    /// The command ("fit dti"), or a file with a model ("fit model.toml")
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
    /// A module of interfaces
    Nipype,
    /// A module of tasks
    Pydra,
    /// A package of functions
    Matlab,
    /// A list of scalar maps
    Qsirecon,
}

impl Choice for Format {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Json, "json", "all of it, for programs"),
        (Self::Markdown, "markdown", "a page of the manual"),
        (Self::Man, "man", "a page for `man`"),
        (Self::Boutiques, "boutiques", "a descriptor of Boutiques 0.5, for workflow engines"),
        (Self::Nipype, "nipype", "a Python module, an interface of nipype for each command"),
        (Self::Pydra, "pydra", "a Python module, a task of pydra 1 for each command"),
        (Self::Matlab, "matlab", "functions for MATLAB and Octave, a package +fimbria"),
        (Self::Qsirecon, "qsirecon", "the scalar maps of all fits under QSIRecon's labels"),
    ];
}

const HELP: &str = "\
Outputs:
  The description on standard output, or with -o a file for each command: fimbria-fit-dti.md, .1
  (man FOLDER/fimbria-fit-dti.1) or .json. What is described is what the program itself goes by.

  Wrappers are files that other engines load: fimbria_nipype.py and fimbria_pydra.py (put FOLDER on
  PYTHONPATH), +fimbria/*.m (addpath FOLDER), fimbria.yaml of qsirecon. They are of this version.

  A file with a model, `fimbria describe fit model.toml`, is described as the command that fits it:
  with its maps, their units, and the options that it sets.

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
        let model = ModelFile::read(&name)?;
        let fit = model.as_ref().map(|model| format!("fit {}", model.fit.name()));
        let files = files(&Cli::described(), fit.as_ref().unwrap_or(&name), format, model)?;
        if files.is_empty() {
            return Err(Failure::usage(format!(
                "there is no command `{name}`: see fimbria --help"
            )));
        }
        match output {
            None if format == Format::Json || format == Format::Boutiques => {
                console.print(&one_text(files.into_iter().map(|(_, text)| text).collect()))?;
            }
            None => {
                for (_, text) in files {
                    console.print(&text)?;
                }
            }
            Some(folder) => {
                refuse_existing(&folder, &files, force)?;
                write(&folder, &files)?;
            }
        }
        Ok(())
    }
}

/// Refuses files that are there already, where they are not to be overwritten.
fn refuse_existing(
    folder: &Path,
    files: &[(String, String)],
    force: bool,
) -> Result<(), OutputError> {
    let names = files.iter().map(|(name, _)| name.clone());
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

/// Name and text of each file that describes the commands of `program` that are `name` or below it;
/// with `model` the one of its fit, as that file has it.
fn files(
    program: &Command,
    name: &str,
    format: Format,
    model: Option<ModelFile>,
) -> std::io::Result<Vec<(String, String)>> {
    let global: Vec<_> =
        program.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let mut chosen = leaves(program, "");
    chosen.retain(|(path, _)| name.is_empty() || is_within(path, name));
    if chosen.is_empty() {
        return Ok(Vec::new());
    }
    let mut methods: Vec<_> =
        chosen.iter().map(|(path, command)| Method::new(path, command, &global)).collect();
    if let (Some(model), [method]) = (&model, &mut methods[..]) {
        model.put_into(method);
    }
    let wrapped = || engine::wrapped(&methods);
    let each = |extension: &str, text: &dyn Fn(&Method) -> String| {
        let file = |method: &Method| {
            (format!("fimbria-{}.{extension}", method.name.replace(' ', "-")), text(method))
        };
        methods.iter().map(file).collect()
    };
    Ok(match format {
        Format::Json => each("json", &|method| format!("{:#}\n", serde_json::json!(method))),
        Format::Markdown => each("md", &markdown::page),
        Format::Boutiques => {
            each("json", &|method| format!("{:#}\n", boutiques::descriptor(method)))
        }
        Format::Man => {
            chosen.iter().map(|(path, command)| man(path, command)).collect::<Result<_, _>>()?
        }
        Format::Nipype => vec![("fimbria_nipype.py".to_owned(), nipype::text(&wrapped()))],
        Format::Pydra => vec![("fimbria_pydra.py".to_owned(), pydra::text(&wrapped()))],
        Format::Matlab => matlab::files(&wrapped()),
        Format::Qsirecon => vec![("fimbria.yaml".to_owned(), qsirecon::text(&methods))],
    })
}

/// Name and text of the page of a command for `man`.
fn man(path: &str, command: &Command) -> std::io::Result<(String, String)> {
    let mut page = Vec::new();
    let name = format!("fimbria-{}", path.replace(' ', "-"));
    let command = command.clone().display_name(&name);
    clap_mangen::Man::new(command).title(&name).render(&mut page)?;
    Ok((format!("{name}.1"), String::from_utf8_lossy(&page).into_owned()))
}

fn write(folder: &Path, files: &[(String, String)]) -> Result<(), OutputError> {
    if folder.exists() && !folder.is_dir() {
        return Err(OutputError::NotAFolder(folder.to_owned()));
    }
    let failed = |action, path: &Path| {
        let path = path.to_owned();
        move |source| OutputError::Io { action, path, source }
    };
    let is_new = !folder.exists();
    let unfinished = |path: &Path| path.with_extension("unfinished");
    // All are written before the first has its name, so that a full disk leaves what was there.
    let written = files.iter().try_for_each(|(name, text)| {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(failed("make the folder", parent))?;
        std::fs::write(unfinished(&path), text).map_err(failed("write", &path))
    });
    let placed = written.and_then(|()| {
        files.iter().try_for_each(|(name, _)| {
            let path = folder.join(name);
            std::fs::rename(unfinished(&path), &path).map_err(failed("write", &path))
        })
    });
    placed.inspect_err(|_| {
        let paths = files.iter().map(|(name, _)| folder.join(name));
        paths.for_each(|path| drop(std::fs::remove_file(unfinished(&path))));
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
        let pages = files(&Cli::described(), "", Format::Markdown, None).unwrap();
        fimbria_testing::hold_to(&folder, &pages.into_iter().collect());
    }
}
