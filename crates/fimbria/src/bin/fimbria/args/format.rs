//! In which format images are written.

use clap::Args;
use fimbria_pipeline::{MapFormat, Named};

use super::choice;

/// The format of images that are no maps.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct FormatArgs {
    /// Format of the images
    #[arg(long, value_name = "FORMAT", default_value = "nii.gz", help_heading = "Output")]
    #[arg(value_parser = choice::<MapFormat>())]
    format: Named<MapFormat>,
}

impl FormatArgs {
    /// The one they ask for.
    pub(crate) fn format(self) -> MapFormat {
        self.format.0
    }
}
