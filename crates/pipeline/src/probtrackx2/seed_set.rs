//! Where probtrackx2 starts: voxels, vertices, points.

use std::path::{Path, PathBuf};

use fimbria_image::NumberRows;
use fimbria_image::gifti::Surface;
use fimbria_tracking::{Region, Seed, Space, is_reversed, seeds_of_region};

use super::inputs::SeedSpace;
use super::{Probtrackx2Error, inputs};
use crate::surfaces::is_surface;

/// Seeds and the regions they are of: first those of voxels, then those of surfaces.
pub(super) struct SeedSet {
    pub(super) seeds: Vec<Seed>,
    pub(super) regions: Vec<Region>,
    /// With the file of each.
    pub(super) surfaces: Vec<(PathBuf, Surface)>,
    /// Points as they were typed, with `--simple`.
    pub(super) typed: Vec<[f32; 3]>,
}

impl SeedSet {
    /// Seeds in voxels and vertices: an image, a surface, or a list of both.
    pub(super) fn read(path: &Path, here: &SeedSpace<'_>) -> Result<Self, Probtrackx2Error> {
        let SeedSpace { space, mesh_space, .. } = *here;
        let (meshes, images): (Vec<_>, Vec<_>) =
            inputs::files(path)?.into_iter().partition(|file| is_surface(file));
        let regions =
            images.iter().map(|file| inputs::region(file, here)).collect::<Result<Vec<_>, _>>()?;
        let surface =
            |file: &PathBuf| Ok::<_, Probtrackx2Error>((file.clone(), Surface::read(file)?));
        let surfaces = meshes.iter().map(surface).collect::<Result<Vec<_>, _>>()?;
        let voxels = |(number, region)| seeds_of_region(space, region, number);
        let mut seeds: Vec<_> = (0..).zip(&regions).flat_map(voxels).collect();
        for (number, (_, surface)) in (regions.len() as u32..).zip(&surfaces) {
            for (key, vertex) in surface.counted_vertices() {
                // A grid whose voxels cannot be told apart has no place for it.
                if let Some(pos) = mesh_space.voxel(space, vertex) {
                    seeds.push(Seed { key, region: number, pos });
                }
            }
        }
        if seeds.is_empty() {
            return Err(Probtrackx2Error::NoSeeds(path.to_owned()));
        }
        Ok(Self { seeds, regions, surfaces, typed: Vec::new() })
    }

    /// Seeds as points: N rows of three voxel coordinates, or three rows of N.
    pub(super) fn points(path: &Path, space: &Space) -> Result<Self, Probtrackx2Error> {
        let read = NumberRows::read(path)?;
        let rows: Vec<&[f64]> = read.rows().map(|(_, row)| row).collect();
        let typed: Vec<[f32; 3]> = if rows.iter().all(|row| row.len() == 3) && !rows.is_empty() {
            rows.iter().map(|row| std::array::from_fn(|a| row[a] as f32)).collect()
        } else if rows.len() == 3 && rows.iter().all(|row| row.len() == rows[0].len()) {
            (0..rows[0].len()).map(|i| std::array::from_fn(|a| rows[a][i] as f32)).collect()
        } else {
            return Err(Probtrackx2Error::Text {
                path: path.to_owned(),
                reason: "points are N rows of three numbers, or three rows of N".into(),
            });
        };
        let last = space.grid().dims[0] as f32 - 1.0;
        let reversed = is_reversed(space.grid());
        let seed = |(key, &[x, y, z]): (u32, &[f32; 3])| {
            let x = if reversed { last - x } else { x };
            Seed { key, region: 0, pos: [x, y, z] }
        };
        let seeds = (0..).zip(&typed).map(seed).collect();
        Ok(Self { seeds, regions: Vec::new(), surfaces: Vec::new(), typed })
    }

    /// Every region, in the order of their numbers.
    pub(super) fn all_regions(
        &self,
        here: &SeedSpace<'_>,
    ) -> Result<Vec<Region>, Probtrackx2Error> {
        let surfaces = self.surfaces.iter().map(|(file, surface)| here.crossed(file, surface));
        self.regions.iter().cloned().map(Ok).chain(surfaces).collect()
    }

    /// Regions of voxels and of surfaces together.
    pub(super) fn n_regions(&self) -> usize {
        self.regions.len() + self.surfaces.len()
    }
}
