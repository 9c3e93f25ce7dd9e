//! Numbered places: what rows and columns of matrices stand for.

use crate::space::Region;
use crate::{Seed, Space};

/// Voxels of several regions, numbered one region after the other, z slowest, x fastest. A voxel of
/// two regions is two places.
#[derive(Clone, Debug)]
pub struct Locations {
    /// Region and radiological index of each.
    places: Vec<(u32, u32)>,
    /// The last place of each voxel plus 1; 0 where there is none.
    last_plus_1: Vec<u32>,
    /// The place before each in the same voxel, likewise.
    before_plus_1: Vec<u32>,
}

impl Locations {
    /// Every voxel of these regions.
    pub fn of_regions(space: &Space, regions: &[Region]) -> Self {
        let places = (0..)
            .zip(regions)
            .flat_map(|(number, region)| region.voxels().map(move |voxel| (number, voxel)));
        Self::new(space, places.collect())
    }

    /// Every seed, in a voxel that is its key.
    pub fn of_seeds(space: &Space, seeds: &[Seed]) -> Self {
        Self::new(space, seeds.iter().map(|seed| (seed.region, seed.key)).collect())
    }

    fn new(space: &Space, places: Vec<(u32, u32)>) -> Self {
        let mut last_plus_1 = vec![0; space.grid().len()];
        let mut before_plus_1 = vec![0; places.len()];
        for ((_, voxel), (number, before)) in places.iter().zip((1..).zip(&mut before_plus_1)) {
            *before = std::mem::replace(&mut last_plus_1[*voxel as usize], number);
        }
        Self { places, last_plus_1, before_plus_1 }
    }

    /// The places in a voxel, given by its radiological index.
    pub fn at(&self, voxel: u32) -> impl Iterator<Item = u32> + '_ {
        let place = |plus_1: u32| plus_1.checked_sub(1);
        std::iter::successors(place(self.last_plus_1[voxel as usize]), move |at| {
            place(self.before_plus_1[*at as usize])
        })
    }

    /// Region and radiological index of every place.
    pub fn places(&self) -> &[(u32, u32)] {
        &self.places
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
