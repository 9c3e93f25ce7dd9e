//! What a fit hands on: maps that know what they are.

use fimbria_compute::queue::Shares;
use fimbria_image::{Image, MapSpec, StatusCounts};

/// One map of a fit.
#[derive(Clone, Debug)]
pub struct FittedMap {
    /// What it is.
    pub spec: MapSpec,
    /// Its values, zero outside the mask.
    pub image: Image,
}

/// What a fit of a series makes.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// Its maps; the status always last.
    pub maps: Vec<FittedMap>,
    /// How many voxels met which fate.
    pub status: StatusCounts,
    /// Samples that had to be raised to have a logarithm, and in how many voxels.
    pub raised: RaisedSamples,
    /// Which part of the work each device and the CPU did, in chunks.
    pub shares: Shares,
    /// True where there were devices that nobody named, and threads are expected to be faster.
    pub left_to_threads: bool,
    /// Wall time of the fit.
    pub seconds: f64,
}

impl Fitted {
    /// The map of this name, `None` where there is none.
    pub fn map(&self, name: impl AsRef<str>) -> Option<&Image> {
        let name = name.as_ref();
        self.maps.iter().find(|map| map.spec.name == name).map(|map| &map.image)
    }
}

/// Samples that had to be raised to have a logarithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RaisedSamples {
    /// How many samples.
    pub samples: u64,
    /// In how many voxels.
    pub voxels: u64,
}
