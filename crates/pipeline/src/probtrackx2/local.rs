//! FSL's options for what differs from place to place.

use std::path::PathBuf;

use fimbria_image::gifti::Surface;
use fimbria_image::{Image, read_image};
use fimbria_tracking::{Field, LocalRules, Seed, VoxelMap};

use super::inputs::SeedSpace;
use super::seed_set::SeedSet;
use super::{Probtrackx2Error, inputs};

/// What differs from place to place; files are on the grid of the samples but for `skip`.
#[derive(Clone, Debug, Default)]
pub struct LocalFiles {
    /// Of three volumes, directions that take the place of the current one where a fibre is chosen; of
    /// fewer, how it is chosen at all steps but the first.
    pub prefdir: Option<PathBuf>,
    /// How a fibre is chosen at the voxel looked up.
    pub locfibchoice: Option<PathBuf>,
    /// Least cosine between steps.
    pub loccurvthresh: Option<PathBuf>,
    /// Where nothing is drawn, on the grid of the seeds.
    pub skip: Option<PathBuf>,
    /// The nearest voxel is looked up.
    pub noprobinterpol: bool,
    /// Streamlines of surfaces go into the brain only.
    pub onewayonly: bool,
}

impl LocalFiles {
    /// Reads them. Matrix 3 takes both ways of all.
    pub(super) fn rules(
        &self,
        here: &SeedSpace<'_>,
        field: &Field,
        seed_set: &SeedSet,
        both_ways: bool,
    ) -> Result<LocalRules, Probtrackx2Error> {
        let Self { prefdir, locfibchoice, loccurvthresh, skip, noprobinterpol, onewayonly } = self;
        let image = |path: &Option<PathBuf>| match path {
            Some(path) => {
                let path = inputs::image(path)?;
                let image = here.workers.install(|| read_image(&path))?;
                Ok::<_, Probtrackx2Error>(Some((image, path.display().to_string())))
            }
            None => Ok(None),
        };
        let map = |found: Option<(Image, String)>| -> Result<_, Probtrackx2Error> {
            let found = found.as_ref();
            Ok(found.map(|(image, name)| VoxelMap::new(image, field.grid(), name)).transpose()?)
        };
        let (mut preferred, mut choice_here) = (None, None);
        match image(prefdir)? {
            Some((image, name)) if image.n_volumes == 3 => {
                preferred = Some(VoxelMap::new(&image, field.grid(), &name)?);
            }
            found => choice_here = map(found)?,
        }
        let only_towards = if *onewayonly && !both_ways {
            inwards(here, field.grid().ras_from_vox.spacing(), seed_set)
        } else {
            Vec::new()
        };
        Ok(LocalRules {
            preferred,
            choice_here,
            choice_at_corner: map(image(locfibchoice)?)?,
            min_cos: map(image(loccurvthresh)?)?,
            skip: match skip {
                Some(path) => Some(inputs::region(&inputs::image(path)?, here)?),
                None => None,
            },
            nearest_voxel: *noprobinterpol,
            only_towards,
        })
    }
}

/// Of each seed that is a vertex the direction into the brain, axes of the samples' voxels: against the mean
/// normal of its triangles, whose vertices run counter-clockwise seen from outside.
fn inwards(
    here: &SeedSpace<'_>,
    samples_mm: [f64; 3],
    seed_set: &SeedSet,
) -> Vec<Option<[f32; 3]>> {
    let n_voxel_regions = seed_set.regions.len() as u32;
    let normals: Vec<_> = seed_set.surfaces.iter().map(|(_, surface)| normals(surface)).collect();
    let of = |seed: &Seed| {
        let number = seed.region.checked_sub(n_voxel_regions)? as usize;
        let vertex = seed_set.surfaces[number].1.vertices[seed.key as usize];
        let normal = normals[number][seed.key as usize];
        let inside: [f32; 3] = std::array::from_fn(|a| vertex[a] - normal[a]);
        let to = here.space.to_samples(here.mesh_space.voxel(here.space, inside)?);
        let from = here.space.to_samples(seed.pos);
        Some(std::array::from_fn(|a| (to[a] - from[a]) * samples_mm[a] as f32))
    };
    seed_set.seeds.iter().map(of).collect()
}

/// The outward unit normal at each vertex, zero where it has no triangle: the sum of those of its triangles,
/// weighed by their areas.
fn normals(surface: &Surface) -> Vec<[f32; 3]> {
    let mut normals = vec![[0.0_f64; 3]; surface.vertices.len()];
    for triangle in &surface.triangles {
        let [a, b, c] = triangle.map(|at| surface.vertices[at as usize].map(f64::from));
        let edge = |to: [f64; 3]| -> [f64; 3] { std::array::from_fn(|k| to[k] - a[k]) };
        let (u, v) = (edge(b), edge(c));
        let area: [f64; 3] = std::array::from_fn(|k| {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            u[i] * v[j] - u[j] * v[i]
        });
        for at in triangle {
            (0..3).for_each(|k| normals[*at as usize][k] += area[k]);
        }
    }
    let unit = |v: [f64; 3]| {
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        v.map(|x| (x / norm) as f32)
    };
    normals.into_iter().map(unit).collect()
}
