//! Voxels and atoms by their place among those in use.

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
/// and gives those.
pub(crate) fn renumber_atoms(atoms: usize, entries: &mut [Entry]) -> Vec<u32> {
    let mut uses = vec![0_u64; atoms];
    entries.iter().for_each(|entry| uses[entry.atom as usize] += 1);
    let mut used: Vec<u32> = (0..atoms as u32).filter(|&atom| uses[atom as usize] > 0).collect();
    used.sort_by_key(|&atom| std::cmp::Reverse(uses[atom as usize]));
    let mut place = vec![0_u32; atoms];
    for (new, &atom) in used.iter().enumerate() {
        place[atom as usize] = new as u32;
    }
    entries.iter_mut().for_each(|entry| entry.atom = place[entry.atom as usize]);
    used
}
