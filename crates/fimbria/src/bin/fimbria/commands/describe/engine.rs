//! What wrappers for other engines share: the commands that write something, with the files that each leaves.

use super::method::{Kind, Method, OptionAbout, Output};

/// Paths of folders that need not exist.
const MADE: [&str; 3] = ["scratch", "work_dir", "samples"];

/// A command that writes something.
pub(super) struct Wrapped<'m> {
    pub(super) method: &'m Method,
    /// The option that names the folder or file that is written.
    pub(super) written: &'m OptionAbout,
    pub(super) files: Vec<File>,
    /// True of a command that writes one file, which the user names, and not a folder.
    pub(super) is_file: bool,
}

/// A file of a command's folder, or files of one kind.
pub(super) struct File {
    /// An identifier: `run_json` of run.json, `truth_dirs` of truth/dirs.
    pub(super) name: String,
    pub(super) doc: String,
    /// Its names in every layout; `{image}` stands for an image's extension, `*` for what data decide.
    pub(super) patterns: Vec<String>,
    pub(super) is_many: bool,
}

/// The commands that write something.
pub(super) fn wrapped(methods: &[Method]) -> Vec<Wrapped<'_>> {
    methods.iter().filter_map(Wrapped::new).collect()
}

impl<'m> Wrapped<'m> {
    fn new(method: &'m Method) -> Option<Self> {
        let written = method.options.iter().find(|option| option.is_written())?;
        let is_file = method.outputs.iter().any(|output| output.file == "OUT");
        let files = files(&method.outputs);
        (!method.outputs.is_empty()).then_some(Self { method, written, files, is_file })
    }

    /// `FitDti` of `fit dti`.
    pub(super) fn class(&self) -> String {
        let capital = |word: &str| {
            let (first, rest) = word.split_at(1);
            first.to_uppercase() + rest
        };
        self.method.name.split(' ').map(capital).collect()
    }

    /// The folder that is written where none is named: that of the command's last word. A file has no default.
    pub(super) fn folder(&self) -> Option<&str> {
        (!self.is_file).then(|| self.method.name.rsplit(' ').next().unwrap_or_default())
    }

    /// The place of an argument without a name, from 0 on.
    pub(super) fn position(&self, option: &OptionAbout) -> Option<usize> {
        let mut unnamed = self.method.options.iter().filter(|option| option.long.is_none());
        unnamed.position(|other| other.name == option.name).filter(|_| option.long.is_none())
    }

    /// The sentence of the command, and what it writes.
    pub(super) fn docstring(&self) -> String {
        let kind = if self.is_file { "the file" } else { "a folder," };
        format!("{}; writes {kind} {}.", self.method.sentence, self.written.name)
    }
}

impl OptionAbout {
    /// True where it takes several values.
    pub(super) fn is_list(&self) -> bool {
        self.repeatable || self.delimiter.is_some() || !matches!(self.values.1, Some(0 | 1))
    }

    /// True where its value may be left out: --verbose, --verbose=2.
    pub(super) fn has_optional_value(&self) -> bool {
        self.values == (0, Some(1))
    }

    /// True where each value has the option before it.
    pub(super) fn repeats_its_name(&self) -> bool {
        let takes_one = self.values == (1, Some(1));
        self.repeatable && self.delimiter.is_none() && takes_one && self.long.is_some()
    }

    /// True of the folder or file that is written.
    pub(super) fn is_written(&self) -> bool {
        /// The last is FSL's.
        const WRITTEN: [&str; 3] = ["output", "out", "dir"];
        self.kind == Kind::Path && WRITTEN.contains(&self.name.as_str())
    }

    /// True of a file or folder that must exist.
    pub(super) fn is_read(&self) -> bool {
        let name = self.name.as_str();
        self.kind == Kind::Path && !self.is_written() && !MADE.contains(&name)
    }

    /// `--name`; empty of an argument without one.
    pub(super) fn flag(&self) -> String {
        self.long.as_ref().map(|long| format!("--{long}")).unwrap_or_default()
    }

    /// Its help with range, unit and default.
    pub(super) fn full_help(&self) -> String {
        let mut text = self.help.trim_end_matches('.').to_owned();
        let limits: Vec<_> = self.range.as_deref().into_iter().chain(self.unit).collect();
        if !limits.is_empty() {
            text += &format!(" [{}]", limits.join(", "));
        }
        if let Some(default) = self.default.as_ref().filter(|default| !default.is_empty()) {
            text += &format!(" [default: {default}]");
        }
        text
    }
}

/// What a Python module begins with: `head` with the names of its classes, the search for files, and the version.
pub(super) fn module(head: &str, commands: &[Wrapped<'_>]) -> String {
    let classes = commands.iter().map(|command| format!("    \"{}\",\n", command.class()));
    head.replace("CLASSES", &classes.collect::<String>())
        .replace("FOUND\n", include_str!("heads/found.py"))
        .replace("VERSION", env!("CARGO_PKG_VERSION"))
}

/// The patterns of a file, and whether there are many, as Python's values.
pub(super) fn python_patterns(file: &File) -> String {
    let patterns: Vec<_> = file.patterns.iter().map(|pattern| quoted(pattern)).collect();
    let comma = if patterns.len() == 1 { "," } else { "" };
    format!("({}{comma}), {}", patterns.join(", "), python_bool(file.is_many))
}

/// `True` or `False`.
pub(super) fn python_bool(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// A literal of Python.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The files of a command; those of one identifier are one.
fn files(outputs: &[Output]) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    // Names that users choose are known to them.
    for output in outputs.iter().filter(|output| !output.file.starts_with("NAME")) {
        let (name, doc) = (identifier(&output.file), output.doc());
        let is_many = output.file.trim_end_matches(".*").contains('*');
        let place = files.iter().position(|file| file.name == name);
        let file = match place {
            Some(place) => {
                files[place].doc += &format!("; or {doc}");
                &mut files[place]
            }
            None => {
                files.push(File { name, doc, patterns: Vec::new(), is_many });
                files.last_mut().expect("one was pushed")
            }
        };
        let plain = ("fimbria", output.files.get("fimbria").unwrap_or(&output.file));
        let others = output.files.iter().map(|(layout, name)| (*layout, name));
        let others = others.filter(|(layout, _)| *layout != "fimbria");
        for (layout, name) in std::iter::once(plain).chain(others) {
            let pattern = pattern(layout, name, output);
            if !file.patterns.contains(&pattern) {
                file.patterns.push(pattern);
            }
        }
    }
    files
}

/// What finds a file in the folder that is written.
fn pattern(layout: &str, name: &str, output: &Output) -> String {
    let name = name.strip_prefix("OUT").unwrap_or(name);
    let name = name.strip_suffix('/').unwrap_or(name);
    let is_image = output.is_image() && output.file != "OUT";
    let name = match is_image {
        true => format!("{}.{{image}}", name.trim_end_matches(".nii.gz").trim_end_matches(".mif")),
        false => name.to_owned(),
    };
    // BIDS puts the subject's entities before.
    if layout == "bids" { format!("*{name}") } else { name }
}

/// A name in programs: `run_json` of run.json, `image_4d` of 4d, `folders` of */.
fn identifier(file: &str) -> String {
    let file = match file.strip_prefix("OUT") {
        Some(rest) if !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_') => {
            format!("file.{rest}")
        }
        _ => file.to_owned(),
    };
    let file = file.trim_end_matches(".*").replace('*', "");
    let words = file.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("_");
    match name.chars().next() {
        None => "folders".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("image_{name}"),
        Some(_) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_identifiers() {
        for (file, name) in [
            ("run.json", "run_json"),
            ("truth/dirs", "truth_dirs"),
            ("OUT", "file"),
            ("OUT.run.json", "file_run_json"),
            ("tracks.*", "tracks"),
            ("matrix_*.csv", "matrix_csv"),
            ("4d.nii", "image_4d_nii"),
            ("*/", "folders"),
        ] {
            assert_eq!(identifier(file), name);
        }
    }
}
