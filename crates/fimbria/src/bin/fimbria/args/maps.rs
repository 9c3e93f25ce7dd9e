//! How maps are written.

use clap::Args;
use fimbria_pipeline::options::Described as _;
use fimbria_pipeline::{MapFormat, MapLayout, MapStyle, Named};

use super::choice;

/// How maps are written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct MapArgs {
    /// Format of the maps
    #[arg(long, value_name = "FORMAT", value_parser = choice::<MapFormat>())]
    #[arg(usually = "nii.gz, or mif with --layout mrtrix")]
    format: Option<Named<MapFormat>>,

    /// Whose names, orders and frames to write
    #[arg(long, value_name = "LAYOUT", default_value = "fimbria")]
    #[arg(value_parser = choice::<MapLayout>())]
    layout: Named<MapLayout>,
}

impl MapArgs {
    /// The style they ask for.
    pub(crate) fn style(&self) -> MapStyle {
        let Self { format, layout } = self;
        MapStyle { format: *format, layout: *layout }
    }
}
