//! What the file is that an option takes.

use clap::builder::ArgExt;

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// An image of numbers.
    Image,
    /// An image of which the voxels above zero count.
    Mask,
    /// An image of whole numbers, each of which is a region.
    Labels,
    /// b, directions or both of every volume of a series.
    GradientTable,
    /// Streamlines.
    Tractogram,
    /// A surface or values for one.
    Surface,
    /// Columns of text, or rows and columns of numbers.
    Table,
    /// An array of numpy, .npy.
    Array,
    /// JSON.
    Json,
    /// TOML.
    Configuration,
    /// What brings one space onto another.
    Transform,
    /// Samples of fibre directions, as bedpostX writes them.
    Samples,
    /// A folder.
    Folder,
}

impl FileType {
    /// Its name in descriptions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Mask => "mask",
            Self::Labels => "labels",
            Self::GradientTable => "gradient table",
            Self::Tractogram => "tractogram",
            Self::Surface => "surface",
            Self::Table => "table",
            Self::Array => "array",
            Self::Json => "json",
            Self::Configuration => "configuration",
            Self::Transform => "transform",
            Self::Samples => "samples",
            Self::Folder => "folder",
        }
    }
}

/// The files that an option takes: of which kind, and where it matters in which unit and frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    /// Any of these.
    pub types: &'static [FileType],
    /// The unit of the values ("s/mm²"); empty for pure numbers, and where the file says it.
    pub unit: &'static str,
    /// The axes of directions and positions; empty where there are none, or the file says it.
    pub frame: &'static str,
}

impl ArgExt for Takes {}

impl Takes {
    /// An image.
    pub const IMAGE: Self = Self::any_of(&[FileType::Image]);
    /// A mask.
    pub const MASK: Self = Self::any_of(&[FileType::Mask]);
    /// An image of labels.
    pub const LABELS: Self = Self::any_of(&[FileType::Labels]);
    /// A tractogram.
    pub const TRACTOGRAM: Self = Self::any_of(&[FileType::Tractogram]);
    /// Text in columns.
    pub const TABLE: Self = Self::any_of(&[FileType::Table]);
    /// A configuration.
    pub const CONFIGURATION: Self = Self::any_of(&[FileType::Configuration]);
    /// A transform.
    pub const TRANSFORM: Self = Self::any_of(&[FileType::Transform]);
    /// Samples of directions.
    pub const SAMPLES: Self = Self::any_of(&[FileType::Samples]);
    /// A folder.
    pub const FOLDER: Self = Self::any_of(&[FileType::Folder]);
    /// Where something is: voxels, vertices, or points and names that a list has.
    pub const REGION: Self = Self::any_of(&[FileType::Mask, FileType::Surface, FileType::Table]);

    /// Files of any of these kinds.
    pub const fn any_of(types: &'static [FileType]) -> Self {
        Self { types, unit: "", frame: "" }
    }

    /// b or directions of every volume, in this unit and these axes.
    pub const fn gradients(unit: &'static str, frame: &'static str) -> Self {
        Self { unit, frame, ..Self::any_of(&[FileType::GradientTable]) }
    }

    /// The same, with values in this unit.
    pub const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// The same, in these axes.
    pub const fn frame(self, frame: &'static str) -> Self {
        Self { frame, ..self }
    }
}
