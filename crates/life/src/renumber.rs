//! Voxels and atoms by their place among those in use.

use fimbria_compute::comm::Comm;
use fimbria_image::Grid;

use crate::Entry;

/// Replaces voxels' linear indices by their place among those in use, which it gives.
pub(crate) fn renumber_voxels(grid: Grid, entries: &mut [Entry]) -> Vec<u32> {
    let mut place = vec![u32::MAX; grid.len()];
    entries.iter().for_each(|entry| place[entry.voxel as usize] = 0);
    let mut voxels = Vec::new();
    for (voxel, place) in place.iter_mut().enumerate() {
        if *place == 0 {
            *place = voxels.len() as u32;
            voxels.push(voxel as u32);
        }
    }
    entries.iter_mut().for_each(|entry| entry.voxel = place[entry.voxel as usize]);
    voxels
}

/// Replaces atoms by their place among those in use, most used first so that they stay in caches,
/// and gives those, and how many all processes use.
pub(crate) fn renumber_atoms(
    atoms: usize,
    entries: &mut [Entry],
    comm: &dyn Comm,
) -> (Vec<u32>, u64) {
    let mut uses = vec![0_u64; atoms];
    entries.iter().for_each(|entry| uses[entry.atom as usize] += 1);
    let mut used: Vec<u32> = (0..atoms as u32).filter(|&atom| uses[atom as usize] > 0).collect();
    used.sort_by_key(|&atom| std::cmp::Reverse(uses[atom as usize]));
    let mut place = vec![0_u32; atoms];
    for (new, &atom) in used.iter().enumerate() {
        place[atom as usize] = new as u32;
    }
    entries.iter_mut().for_each(|entry| entry.atom = place[entry.atom as usize]);
    let mut of_all: Vec<i64> = uses.into_iter().map(|uses| uses as i64).collect();
    comm.sum_i64(&mut of_all);
    (used, of_all.into_iter().filter(|uses| *uses > 0).count() as u64)
}

/// The voxels of all processes by linear index, ascending, and of each of `mine` the place there. No
/// voxel is of two processes.
pub(crate) fn all_voxels(grid: Grid, mine: &[u32], comm: &dyn Comm) -> (Vec<u32>, Vec<u32>) {
    // Bits that no other process sets: their sum is all of them together.
    let mut words = vec![0_i64; grid.len().div_ceil(64)];
    mine.iter().for_each(|&voxel| words[voxel as usize / 64] |= 1 << (voxel % 64));
    comm.sum_i64(&mut words);
    let is_passed = |voxel: &u32| words[*voxel as usize / 64] >> (voxel % 64) & 1 == 1;
    let passed: Vec<u32> = (0..grid.len() as u32).filter(is_passed).collect();
    let mut places = (0..).zip(&passed);
    let place = mine.iter().filter_map(|voxel| places.find(|(_, passed)| *passed == voxel));
    let place = place.map(|(place, _)| place).collect();
    (passed, place)
}
