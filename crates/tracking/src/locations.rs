//! Numbered places: what rows and columns of matrices stand for.

use crate::region::{Region, steps_of};
use crate::{Seed, Space};

/// Voxels and vertices of several regions, numbered one region after the other: voxels z slowest, x
/// fastest, vertices as in their file. A voxel of two regions is two places.
#[derive(Clone, Debug)]
pub struct Locations {
    /// Region, and radiological index or number of the vertex, of each.
    places: Vec<(u32, u32)>,
    /// The last place of each voxel plus 1; 0 where there is none.
    last_plus_1: Vec<u32>,
    /// The place before each in the same voxel, likewise.
    before_plus_1: Vec<u32>,
    /// Surfaces, with the place of each vertex plus 1; 0 for those that are none.
    surfaces: Vec<(Region, Vec<u32>)>,
}

impl Locations {
    /// Every voxel of these regions, and every vertex of those that are surfaces.
    pub fn of_regions(space: &Space, regions: &[Region]) -> Self {
        let places = (0..).zip(regions).flat_map(|(number, region)| {
            let vertices = region.mesh().into_iter().flat_map(|mesh| mesh.active());
            region.voxels().chain(vertices).map(move |key| (number, key))
        });
        Self::new(space, places.collect(), regions)
    }

    /// Every seed of `regions`: a voxel, or a vertex of a surface, that is its key.
    pub fn of_seeds(space: &Space, seeds: &[Seed], regions: &[Region]) -> Self {
        Self::new(space, seeds.iter().map(|seed| (seed.region, seed.key)).collect(), regions)
    }

    fn new(space: &Space, places: Vec<(u32, u32)>, regions: &[Region]) -> Self {
        let mut last_plus_1 = vec![0; space.grid().len()];
        let mut before_plus_1 = vec![0; places.len()];
        let mut surfaces = Vec::new();
        let mut surface_of = vec![None; regions.len()];
        for (region, surface) in regions.iter().zip(&mut surface_of) {
            if let Some(mesh) = region.mesh() {
                *surface = Some(surfaces.len());
                surfaces.push((region.clone(), vec![0; mesh.n_vertices()]));
            }
        }
        for ((region, key), (number, before)) in places.iter().zip((1..).zip(&mut before_plus_1)) {
            match surface_of.get(*region as usize).copied().flatten() {
                Some(surface) => surfaces[surface].1[*key as usize] = number,
                None => *before = std::mem::replace(&mut last_plus_1[*key as usize], number),
            }
        }
        Self { places, last_plus_1, before_plus_1, surfaces }
    }

    /// The places in a voxel, given by its radiological index.
    pub fn at(&self, voxel: u32) -> impl Iterator<Item = u32> + '_ {
        let place = |plus_1: u32| plus_1.checked_sub(1);
        std::iter::successors(place(self.last_plus_1[voxel as usize]), move |at| {
            place(self.before_plus_1[*at as usize])
        })
    }

    /// Hands over the vertices whose surfaces the halves of a sample cross, with the steps from its seed,
    /// negative in the second half. One may come several times.
    pub(crate) fn crossed(&self, halves: [&[[f32; 3]]; 2], mut each: impl FnMut(u32, i64)) {
        for (region, place_plus_1) in &self.surfaces {
            for (half, sign) in halves.into_iter().zip([1, -1]) {
                for (steps, step) in (1..).zip(steps_of(half)) {
                    region.met_vertices(&step, |vertex| {
                        if let Some(place) = place_plus_1[vertex as usize].checked_sub(1) {
                            each(place, sign * steps);
                        }
                    });
                }
            }
        }
    }

    /// Region, and radiological index or number of the vertex, of every place.
    pub fn places(&self) -> &[(u32, u32)] {
        &self.places
    }

    /// Whether there is a place in a voxel, given by its radiological index.
    pub(crate) fn are_in(&self, voxel: usize) -> bool {
        self.last_plus_1[voxel] > 0
    }

    /// True where all are voxels.
    pub(crate) fn are_voxels(&self) -> bool {
        self.surfaces.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}
