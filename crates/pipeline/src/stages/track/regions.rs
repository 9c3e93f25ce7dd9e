//! Regions of files or in memory, and where they lie.

use std::path::{Path, PathBuf};

use fimbria_image::gifti::Surface;
use fimbria_image::{Grid, Image, read_image};
use fimbria_tracking::{
    Anatomy, Judgement, Lines, NetworkMatrix, Region, Rules, Space, Tally, Targets, Tissues,
    Waypoints,
};

use super::counted::Counted;
use super::seed_set::SeedSet;
use super::{AnatomyOptions, RegionFiles, TrackError, stem};
use crate::options::Resolved;
use crate::stages::contents::check_region;
use crate::surfaces::{MeshSpace, SurfaceError, crossed_region, is_surface};
use crate::{Logbook, Page};

/// Where a region, or seeds, come from.
#[derive(Clone, Debug)]
pub enum RegionFrom {
    /// An image, a surface, or of seeds a list of points.
    File(PathBuf),
    /// The voxels above zero of an image that messages call so.
    Voxels(PathBuf, Image),
    /// Points in scanner mm, to start from.
    Points(PathBuf, Vec<[f32; 3]>),
}

impl RegionFrom {
    /// The region, on the grid of `space`.
    fn read(&self, space: &Space) -> Result<Region, TrackError> {
        match self {
            Self::File(path) if is_surface(path) => {
                let surface = Surface::read(path).map_err(SurfaceError::from)?;
                Ok(crossed_region(path, &surface, MeshSpace::Caret, space, false)?)
            }
            Self::File(path) => voxels(space, &read_image(path)?, path),
            Self::Voxels(name, image) => voxels(space, image, name),
            Self::Points(name, _) => Err(TrackError::PointsAsRegion(name.clone())),
        }
    }
}

/// The voxels above zero of an image.
pub(super) fn voxels(space: &Space, image: &Image, path: &Path) -> Result<Region, TrackError> {
    check_region(path, image)?;
    let mut region = space.region(image, &path.display().to_string())?;
    region.name = stem(path);
    Ok(region)
}

/// From where, and by which ways: [`RegionFiles`] wherever they are.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    /// Where to start.
    pub seeds: Vec<RegionFrom>,
    /// Where streamlines must pass.
    pub include: Vec<RegionFrom>,
    /// One of those is enough.
    pub include_any: bool,
    /// In the order given.
    pub in_order: bool,
    /// Where they must not pass.
    pub exclude: Vec<RegionFrom>,
    /// Where they end.
    pub stop: Vec<RegionFrom>,
    /// Those that reach it are counted for each seed.
    pub target: Vec<RegionFrom>,
    /// Keep only what joins two regions of seeds, and count pairs.
    pub network: bool,
}

impl From<&RegionFiles> for Regions {
    fn from(files: &RegionFiles) -> Self {
        let of = |paths: &[PathBuf]| paths.iter().cloned().map(RegionFrom::File).collect();
        let RegionFiles { seeds, include, include_any, in_order, exclude, stop, target, network } =
            files;
        Self {
            seeds: of(seeds),
            include: of(include),
            include_any: *include_any,
            in_order: *in_order,
            exclude: of(exclude),
            stop: of(stop),
            target: of(target),
            network: *network,
        }
    }
}

/// Where streamlines start, the regions whose samples are counted, and the other regions.
pub(super) struct TrackedRegions {
    pub(super) seed_set: SeedSet,
    pub(super) targets: Vec<Region>,
    pub(super) rules: Rules,
    is_network: bool,
    anatomy: Option<Resolved<AnatomyOptions>>,
    tissues: Option<Tissues>,
}

impl TrackedRegions {
    /// What is counted, with nothing in it yet.
    pub(super) fn counts(&self, makes_lines: bool) -> Counted<'_> {
        let n_regions = self.seed_set.origins.len();
        let mut tally = Tally::new(&self.seed_set.space, n_regions, false);
        if !self.targets.is_empty() {
            tally.targets = Some(Targets::new(&self.targets, self.seed_set.seeds.len()));
        }
        tally.network = self.is_network.then(|| NetworkMatrix::new(n_regions));
        Counted { tally, lines: makes_lines.then(|| Lines::new(&self.seed_set.space)) }
    }

    /// Streamlines end where these tissues let them, if there are any, and start on their boundary where
    /// that is asked for.
    pub(super) fn constrain(
        &mut self,
        anatomy: Resolved<AnatomyOptions>,
        tissues: Option<Tissues>,
    ) -> Result<(), TrackError> {
        if let Some(tissues) = tissues.as_ref().filter(|_| anatomy.seed_boundary) {
            let seed_set = &mut self.seed_set;
            seed_set.seeds = tissues.boundary_seeds(&seed_set.seeds, &seed_set.space);
            if seed_set.seeds.is_empty() {
                return Err(TrackError::NoBoundary);
            }
        }
        (self.anatomy, self.tissues) = (Some(anatomy), tissues);
        Ok(())
    }

    /// Where streamlines may end.
    pub(super) fn constraint(&self) -> Option<Anatomy<'_>> {
        self.anatomy.as_ref()?.constraint(&self.tissues)
    }

    /// Warns of regions that nothing can reach.
    pub(super) fn tell_empty(&self, log: &Logbook<'_>) {
        for region in self.targets.iter().chain(&self.rules.waypoints.regions) {
            if region.is_empty() {
                log.warn(
                    Page::Tracking,
                    &format!("{} has no voxel: nothing can reach it", region.name),
                );
            }
        }
    }
}

impl Regions {
    /// Reads what is in files; `samples` is the grid of the directions.
    pub(super) fn places(
        &self,
        samples: &Grid,
        least_length_mm: f32,
    ) -> Result<TrackedRegions, TrackError> {
        let Self { seeds, include, include_any, in_order, exclude, stop, target, network } = self;
        let seed_set = SeedSet::read(seeds, samples)?;
        let read = |given: &[RegionFrom]| -> Result<Vec<Region>, TrackError> {
            given.iter().map(|region| region.read(&seed_set.space)).collect()
        };
        let targets = read(target)?;
        let rules = Rules {
            avoid: read(exclude)?,
            stop: read(stop)?,
            waypoints: Waypoints {
                regions: read(include)?,
                any: *include_any,
                in_order: *in_order,
                ..Waypoints::default()
            },
            network: if *network { seed_set.regions()? } else { Vec::new() },
            least_length_mm,
            judgement: Judgement::Whole,
            ..Rules::default()
        };
        let (anatomy, tissues) = (None, None);
        Ok(TrackedRegions { seed_set, targets, rules, is_network: *network, anatomy, tissues })
    }
}
