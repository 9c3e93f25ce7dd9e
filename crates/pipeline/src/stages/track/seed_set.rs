//! Where `fimbria track` starts: voxels of images, vertices of surfaces, points of lists.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fimbria_image::gifti::Surface;
use fimbria_image::{
    Grid, Image, ImageHeader, NumberRows, SpaceCodes, WriteOptions, read_image, write_image,
};
use fimbria_tracking::{Region, Seed, Space, Targets, seeds_of_region};
use fimbria_workflow::OutputFolder;

use super::regions::{RegionFrom, voxels};
use super::{TrackError, stem};
use crate::surfaces::{MeshSpace, SurfaceError, crossed_region, is_surface};

/// Seeds of several files, each of which is a region by its number.
pub(super) struct SeedSet {
    /// On the grid of the first image among them, or of the samples; where regions and maps lie.
    pub(super) space: Space,
    /// The codes of that image.
    pub(super) codes: Option<SpaceCodes>,
    pub(super) seeds: Vec<Seed>,
    pub(super) origins: Vec<Origin>,
}

/// What the seeds of a file are.
pub(super) enum Origin {
    Voxels(Region),
    Vertices(PathBuf, Surface),
    Points(PathBuf),
}

/// True for lists of points.
fn is_list(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "txt")
}

impl SeedSet {
    /// Reads them; coordinates of surfaces and lists are scanner millimetres.
    pub(super) fn read(given: &[RegionFrom], samples: &Grid) -> Result<Self, TrackError> {
        let on = |from: &RegionFrom| match from {
            RegionFrom::File(path) if is_surface(path) || is_list(path) => None,
            RegionFrom::File(path) => {
                Some(ImageHeader::read(path).map(|header| (*header.grid(), header.space_codes())))
            }
            RegionFrom::Voxels(_, image) => Some(Ok((image.grid, None))),
            RegionFrom::Points(..) => None,
        };
        let (grid, codes) = given.iter().find_map(on).unwrap_or(Ok((*samples, None)))?;
        let space = Space::scanner(grid, samples)?;
        let mut seed_set = Self { space, codes, seeds: Vec::new(), origins: Vec::new() };
        for (number, from) in (0..).zip(given) {
            let before = seed_set.seeds.len();
            seed_set.add(number, from)?;
            if seed_set.seeds.len() == before {
                let (RegionFrom::File(path)
                | RegionFrom::Voxels(path, _)
                | RegionFrom::Points(path, _)) = from;
                return Err(TrackError::NoSeeds(path.clone()));
            }
        }
        Ok(seed_set)
    }

    fn add(&mut self, region: u32, from: &RegionFrom) -> Result<(), TrackError> {
        let space = &self.space;
        let place = |point: [f32; 3]| MeshSpace::Caret.voxel(space, point);
        let seed = |(key, point)| Some(Seed { key, region, pos: place(point)? });
        let of_image = |image: &Image, path: &Path| -> Result<_, TrackError> {
            let voxels = voxels(space, image, path)?;
            Ok((seeds_of_region(space, &voxels, region), Origin::Voxels(voxels)))
        };
        let (seeds, origin) = match from {
            RegionFrom::File(path) if is_surface(path) => {
                let surface = Surface::read(path).map_err(SurfaceError::from)?;
                let seeds = surface.counted_vertices().filter_map(seed).collect();
                (seeds, Origin::Vertices(path.clone(), surface))
            }
            RegionFrom::File(path) if is_list(path) => {
                let seeds = (0..).zip(points(path)?).filter_map(seed).collect();
                (seeds, Origin::Points(path.clone()))
            }
            RegionFrom::Points(name, points) => {
                let seeds = (0..).zip(points.iter().copied()).filter_map(seed).collect();
                (seeds, Origin::Points(name.clone()))
            }
            RegionFrom::File(path) => of_image(&read_image(path)?, path)?,
            RegionFrom::Voxels(name, image) => of_image(image, name)?,
        };
        self.seeds.extend(seeds);
        self.origins.push(origin);
        Ok(())
    }

    /// True where some seeds are no voxels.
    pub(super) fn are_points(&self) -> bool {
        self.origins.iter().any(|origin| !matches!(origin, Origin::Voxels(_)))
    }

    /// The regions of a network.
    pub(super) fn regions(&self) -> Result<Vec<Region>, TrackError> {
        if self.origins.len() < 2 {
            return Err(TrackError::NoNetwork);
        }
        let region = |origin: &Origin| match origin {
            Origin::Voxels(region) => Ok(region.clone()),
            Origin::Vertices(path, surface) => {
                Ok(crossed_region(path, surface, MeshSpace::Caret, &self.space, false)?)
            }
            Origin::Points(_) => Err(TrackError::NoNetwork),
        };
        self.origins.iter().map(region).collect()
    }

    /// The files that say how many samples of each seed reach a target.
    pub(super) fn target_names(paths: &[PathBuf], target: &str) -> Vec<String> {
        let is_image = |path: &PathBuf| !is_surface(path) && !is_list(path);
        let map = paths.iter().any(is_image).then(|| format!("seeds_to_{target}.nii.gz"));
        let others = paths.iter().filter(|path| !is_image(path));
        map.into_iter().chain(others.map(|path| target_name(path, target))).collect()
    }

    /// What was counted of the seeds that are voxels; `None` where none are.
    pub(super) fn map_of(&self, counts: &[u32]) -> Option<Image> {
        let is_voxel = |origin: &Origin| matches!(origin, Origin::Voxels(_));
        self.origins.iter().any(is_voxel).then(|| {
            let mut map = vec![0.0; self.space.grid().len()];
            let counted = self.seeds.iter().zip(counts);
            counted
                .filter(|(seed, _)| is_voxel(&self.origins[seed.region as usize]))
                .for_each(|(seed, n)| map[seed.key as usize] += *n as f32);
            self.space.image(|voxel| map[voxel])
        })
    }

    /// What was counted of the seeds that are vertices or points, as they were given.
    pub(super) fn rows_of<'c>(&'c self, counts: &'c [u32]) -> impl Iterator<Item = Vec<u32>> + 'c {
        let origins = self.origins.iter().enumerate();
        let rows = origins.filter(|(_, origin)| !matches!(origin, Origin::Voxels(_)));
        rows.map(move |(number, _)| {
            let counted = self.seeds.iter().zip(counts);
            counted.filter(|(seed, _)| seed.region as usize == number).map(|(_, n)| *n).collect()
        })
    }

    /// Writes them.
    pub(super) fn write_targets(
        &self,
        targets: &Targets<'_>,
        options: &WriteOptions,
        out: &mut OutputFolder,
    ) -> Result<(), TrackError> {
        for (target, region) in targets.regions().iter().enumerate() {
            let of = |number: usize| {
                let counted = self.seeds.iter().zip(targets.counts(target));
                counted.filter(move |(seed, _)| seed.region as usize == number)
            };
            for (number, origin) in self.origins.iter().enumerate() {
                match origin {
                    // All in one map.
                    Origin::Voxels(_) => {}
                    Origin::Vertices(path, surface) => {
                        let mut values = vec![0.0; surface.vertices.len()];
                        of(number).for_each(|(seed, n)| values[seed.key as usize] = *n as f32);
                        let counted = Surface { values: Some(values), ..surface.clone() };
                        let path = out.stage(&target_name(path, &region.name))?;
                        counted.write(path).map_err(SurfaceError::from)?;
                    }
                    Origin::Points(path) => {
                        let mut text = String::new();
                        of(number).for_each(|(_, n)| {
                            let _ = writeln!(text, "{n}");
                        });
                        out.write(&target_name(path, &region.name), text.as_bytes())?;
                    }
                }
            }
            if let Some(map) = self.map_of(targets.counts(target)) {
                let path = out.stage(&format!("seeds_to_{}.nii.gz", region.name))?;
                write_image(&path, &map, options)?;
            }
        }
        Ok(())
    }
}

/// Of seeds that are no voxels.
fn target_name(seeds: &Path, target: &str) -> String {
    let extension = if is_surface(seeds) { "gii" } else { "txt" };
    format!("seeds_{}_to_{target}.{extension}", stem(seeds))
}

/// Rows of three numbers.
fn points(path: &Path) -> Result<Vec<[f32; 3]>, TrackError> {
    let point = |(line, row): (usize, &[f64])| {
        let [x, y, z] = <[f64; 3]>::try_from(row)
            .map_err(|_| TrackError::NoPoint { path: path.to_owned(), line })?;
        Ok([x as f32, y as f32, z as f32])
    };
    NumberRows::read(path)?.rows().map(point).collect()
}
