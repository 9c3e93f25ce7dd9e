//! Places that a sample has met, as a device hands them back.

/// Steps from the seed to a voxel, in the second half with this bit.
const SECOND_HALF: u32 = 1 << 31;

/// A voxel (radiological index), and the steps from the seed to it, with [`SECOND_HALF`] or without.
pub(crate) type Passage = [u32; 2];

/// What a sample that a device has counted has met of the [places](crate::Countable::places) that are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Met<'a> {
    /// Place of its seed in the list of seeds.
    pub(crate) seed_index: usize,
    /// Points of the halves that are kept.
    pub(crate) n_points: usize,
    /// Voxels of the seed space, each where it is first visited; where the voxel of the seed is among them it comes
    /// first, and once more with the first point after the seed itself that is in it.
    pub(crate) visits: &'a [Passage],
    /// Voxels of the other grid, each where it is first visited.
    pub(crate) elsewhere: &'a [Passage],
}

impl<'a> Met<'a> {
    /// Every voxel at its first visit, with the steps from the seed.
    pub(crate) fn first_visits(&self) -> impl Iterator<Item = (u32, u64)> + use<'a> {
        let start = self.visits.first().filter(|[_, steps]| *steps == 0).map(|[voxel, _]| *voxel);
        let is_return = move |[voxel, steps]: &Passage| *steps != 0 && Some(*voxel) == start;
        self.visits.iter().copied().filter(move |passage| !is_return(passage)).map(unsigned)
    }

    /// Every voxel with the first point in it that is not the seed: steps from the seed, negative in the second half.
    pub(crate) fn after_the_seed(&self) -> impl Iterator<Item = (u32, i64)> + use<'a> {
        self.visits.iter().filter(|[_, steps]| *steps != 0).map(|[voxel, steps]| {
            let far = i64::from(steps & !SECOND_HALF);
            (*voxel, if steps & SECOND_HALF == 0 { far } else { -far })
        })
    }

    /// Every voxel of the other grid at its first visit, with the steps from the seed.
    pub(crate) fn elsewhere(&self) -> impl Iterator<Item = (u32, u64)> + use<'a> {
        self.elsewhere.iter().copied().map(unsigned)
    }
}

fn unsigned([voxel, steps]: Passage) -> (u32, u64) {
    (voxel, u64::from(steps & !SECOND_HALF))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_voxel_of_the_seed_is_visited_at_the_seed_and_passed_after_it() {
        let visits = [[4, 0], [4, 1], [7, 3], [9, SECOND_HALF | 2]];
        let met = Met { seed_index: 0, n_points: 9, visits: &visits, elsewhere: &visits[2..] };
        assert_eq!(met.first_visits().collect::<Vec<_>>(), [(4, 0), (7, 3), (9, 2)]);
        assert_eq!(met.after_the_seed().collect::<Vec<_>>(), [(4, 1), (7, 3), (9, -2)]);
        assert_eq!(met.elsewhere().collect::<Vec<_>>(), [(7, 3), (9, 2)]);
        // Of a seed without places a voxel comes once.
        let met = Met { visits: &visits[2..], ..met };
        assert_eq!(met.first_visits().collect::<Vec<_>>(), [(7, 3), (9, 2)]);
    }
}
