//! What a command writes, a line for each file: from there come its help and its description.

use std::borrow::Cow;

use clap::Command;
use clap::builder::CommandExt;
use fimbria_image::{MapKind, MapSpec, Window};

use crate::columns::row;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// An image, in the format that is asked for.
    Image(MapKind),
    /// Values for a surface, GIFTI.
    Surface,
    /// A tractogram.
    Tractogram,
    /// Columns of text, or rows and columns of numbers.
    Table,
    /// Other text.
    Text,
    /// JSON.
    Json,
    /// HTML.
    Page,
    /// Bytes of a layout that its line describes.
    Binary,
    /// A folder with files of its own.
    Folder,
}

/// A file that a command writes.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Its name in the folder, of an image without extension; `*` stands for what the data decide,
    /// `OUT` for the name that the user gives.
    pub file: &'static str,
    /// What it is.
    pub kind: FileKind,
    /// Of an image its number of volumes; 0 where the data or options decide.
    pub volumes: usize,
    /// The unit of its values as BIDS writes it; empty for pure numbers and where each column has
    /// its own.
    pub unit: &'static str,
    /// What it holds.
    pub holds: &'static str,
    /// Of an image the values that the colours of its pictures span.
    pub window: Window,
    /// What makes it be written, where it is not always.
    pub only: Option<&'static str>,
}

impl Written {
    /// The record that every command leaves.
    pub const RECORD: Self = Self::file(
        "run.json",
        FileKind::Json,
        "inputs with hashes, parameters, machine, times, counts, warnings",
    );

    /// The record beside a single file.
    pub const RECORD_BESIDE: Self = Self::file("OUT.run.json", FileKind::Json, "what was done");

    /// The table of a series, of FSL: b.
    pub const BVAL: Self = Self::file("dwi.bval", FileKind::Table, "b of every volume, s/mm²")
        .only("in all formats but .mif, whose header has it");

    /// The same: directions.
    pub const BVEC: Self =
        Self::file("dwi.bvec", FileKind::Table, "direction of every volume").only("likewise");

    /// A file that is no image.
    pub const fn file(file: &'static str, kind: FileKind, holds: &'static str) -> Self {
        Self { file, kind, volumes: 0, unit: "", holds, window: Window::Robust, only: None }
    }

    /// A folder with files of its own.
    pub const fn folder(folder: &'static str, holds: &'static str) -> Self {
        Self::file(folder, FileKind::Folder, holds)
    }

    /// An image.
    pub const fn image(
        file: &'static str,
        kind: MapKind,
        volumes: usize,
        unit: &'static str,
        holds: &'static str,
    ) -> Self {
        Self { volumes, unit, ..Self::file(file, FileKind::Image(kind), holds) }
    }

    /// An image of a number per voxel.
    pub const fn scalar(file: &'static str, unit: &'static str, holds: &'static str) -> Self {
        Self::image(file, MapKind::Scalar, 1, unit, holds)
    }

    /// An image of a code per voxel.
    pub const fn code(file: &'static str, holds: &'static str) -> Self {
        Self::image(file, MapKind::Code, 1, "", holds)
    }

    /// A map whose words are known beforehand.
    pub const fn map(map: &'static MapSpec) -> Self {
        let (file, holds) = map.words();
        let unit = match &map.unit {
            Cow::Borrowed(unit) => unit,
            Cow::Owned(_) => "",
        };
        Self::image(file, map.kind, map.n_volumes, unit, holds).within(map.window)
    }

    /// The same, with pictures that span these values.
    pub const fn within(self, window: Window) -> Self {
        Self { window, ..self }
    }

    /// The same, written only with this.
    pub const fn only(self, with: &'static str) -> Self {
        Self { only: Some(with), ..self }
    }

    /// When it is written, and what it holds.
    pub(crate) fn meaning(&self) -> Cow<'static, str> {
        match self.only {
            Some(only) => format!("{only}: {}", self.holds).into(),
            None => self.holds.into(),
        }
    }
}

/// What a command writes, as clap's attributes have it: `#[command(add = Writes(FILES))]`. Its help
/// has the lines where its text says [`Writes::HERE`].
#[derive(Clone, Copy, Debug)]
pub struct Writes(pub &'static [Written]);

impl CommandExt for Writes {}

impl Writes {
    /// Where the lines go.
    pub const HERE: &'static str = "{outputs}";

    /// The longest name that what it holds stands beside.
    const BESIDE: usize = 20;

    /// `command` with the lines in its help.
    pub(crate) fn complete(self, command: Command) -> Command {
        let Some(help) = command.get_after_long_help().map(ToString::to_string) else {
            return command;
        };
        command.after_long_help(help.replace(Self::HERE, self.lines().trim_end()))
    }

    fn lines(self) -> String {
        let beside = self.0.iter().map(|written| written.file.chars().count());
        let widest = beside.filter(|&width| width <= Self::BESIDE).max().unwrap_or(Self::BESIDE);
        let mut lines = String::new();
        for written in self.0 {
            let stored = match (written.kind, written.volumes) {
                (FileKind::Image(MapKind::Code), _) => " (uint8)".to_owned(),
                (_, volumes @ 2..) => format!(" ({volumes} volumes)"),
                _ => String::new(),
            };
            let meaning = format!("{}{stored}", written.meaning());
            row(&mut lines, written.file, &meaning, widest + 4);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_has_the_lines_where_its_text_wants_them() {
        const FILES: &[Written] = &[
            Written::scalar("chi", "ppm", "magnetic susceptibility"),
            Written::file("metrics.json", FileKind::Json, "how close it is").only("with --truth"),
        ];
        let command = Command::new("x").after_long_help("Outputs:\n{outputs}\n\nUnits:\n  ppm.");
        let command = Writes(FILES).complete(command);
        assert_eq!(
            command.get_after_long_help().unwrap().to_string(),
            "Outputs:\n  chi           magnetic susceptibility\n  metrics.json  with --truth: how close \
             it is\n\nUnits:\n  ppm."
        );
    }
}
