//! What `fimbria phantom crossing` may be told, and what it writes.

use clap::Args;
use fimbria_image::MapKind;
use fimbria_phantoms::{CrossingSpec, Placement};
use serde::Serialize;

use crate::stages::head::{SeriesOptions, Three};
use crate::{FileKind, Written};

/// The options of the phantom of crossing bundles.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct CrossingOptions {
    /// Its grid.
    #[command(flatten)]
    #[serde(flatten)]
    pub grid: BrainGrid,

    /// Its series.
    #[command(flatten)]
    #[serde(flatten)]
    pub series: SeriesOptions,
}

impl CrossingOptions {
    /// What they describe.
    pub fn spec(&self) -> CrossingSpec {
        CrossingSpec {
            placement: self.grid.placement(),
            acquisition: self.series.acquisition(),
            snr: self.series.snr.0,
            seed: self.series.rng_seed,
            ..CrossingSpec::default()
        }
    }
}

/// The grid of a brain that does not fill it: the scans of one with the same options lie voxel upon
/// voxel.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct BrainGrid {
    /// Number of voxels along x, y, z
    #[arg(long, value_name = "NX,NY,NZ", default_value = "60,72,56")]
    pub size: Three<usize>,

    /// Voxel size in mm
    #[arg(long, value_name = "MM", default_value = "2.5")]
    pub voxel: Three<f64>,

    /// Turns of the grid about scanner x, y, z in degrees
    #[arg(long, value_name = "DEG", default_value = "6,-4,10", allow_hyphen_values = true)]
    pub tilt: Three<f64>,

    /// Store x from left to right (det(affine) > 0) instead of right to left
    #[arg(long)]
    pub x_left_to_right: bool,
}

impl BrainGrid {
    /// Where its voxels are.
    pub fn placement(&self) -> Placement {
        Placement {
            dims: self.size.0,
            voxel_mm: self.voxel.0,
            tilt_deg: self.tilt.0,
            x_right_to_left: !self.x_left_to_right,
        }
    }
}

/// What `fimbria phantom crossing` writes.
pub const CROSSING_WRITES: &[Written] = &[
    Written::image("dwi", MapKind::Scalar, 0, "arbitrary", "the series"),
    Written::BVAL,
    Written::BVEC,
    Written::code("mask", "voxels at least half of which are brain"),
    Written::image(
        "truth/dirs",
        MapKind::Peaks,
        9,
        "",
        "x y z of up to three fibres, largest fraction first, 0 = none",
    ),
    Written::image(
        "truth/fractions",
        MapKind::Scalar,
        5,
        "",
        "signal fractions at b = 0 of three fibres, grey matter, fluid",
    ),
    Written::code("truth/count", "number of fibres"),
    Written::scalar("truth/S0", "arbitrary", "signal without weighting and noise"),
    Written::scalar(
        "truth/angle",
        "degree",
        "angle between the two largest fibres; NaN with fewer than two",
    ),
    Written::scalar("truth/FA", "", "of voxels of a single compartment; NaN elsewhere"),
    Written::scalar("truth/MD", "mm^2/s", "the same"),
    Written::image(
        "truth/V1",
        MapKind::Vector,
        3,
        "",
        "direction in voxels of a single fibre; NaN elsewhere",
    ),
    Written::scalar("truth/MK", "", "mean kurtosis of the mixture at b = 0; 0 outside the mask"),
    Written::file(
        "truth/tracts.trx",
        FileKind::Tractogram,
        "streamlines 3 mm apart, a group for each bundle, and as groups false01, \
         false02 and so on connections that are not there, for `fimbria life` to find",
    ),
    Written::file("run.json", FileKind::Json, "parameters, machine, times"),
];
