//! Holes of a mask.

use fimbria_image::morphology::VoxelSet;
use fimbria_image::{Mask, counted};

use crate::{Logbook, Page};

/// Counts the voxels that `mask` encloses without having them.
pub(super) fn voxels_of_holes(mask: &Mask) -> usize {
    VoxelSet::from_mask(mask).enclosing().count() - mask.len()
}

/// Says what holes of `mask` there are, and what is lost of it where only `local` has a local field.
pub(super) fn report_holes(mask: &Mask, local: &Mask, log: &Logbook<'_>) {
    let holes = log.session().on.workers.install(|| voxels_of_holes(mask));
    log.count("voxels_of_holes", holes as u64);
    if holes == 0 {
        return;
    }
    let lost = mask.len() - local.len();
    let share = 100.0 * lost as f64 / mask.len().max(1) as f64;
    log.warn(
        Page::Susceptibility,
        &format!(
            "the mask encloses {} that it does not have: where the background's removal takes a border \
             off, it does around these, too; {share:.0} % of the mask is without a local field: fill \
             them where they are no pathology",
            counted(holes, "voxel")
        ),
    );
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, Grid};

    use super::*;

    #[test]
    fn enclosed_voxels_are_holes_and_bays_are_not() {
        let grid = Grid { dims: [7, 7, 7], ras_from_vox: Affine::IDENTITY };
        // Of a cube of five voxels one in the middle is missing, and one of a side.
        let index = |at: [usize; 3]| (at[0] + 7 * (at[1] + 7 * at[2])) as u32;
        let is_inside = |v: &u32| grid.voxel(*v as usize).iter().all(|i| (1..6).contains(i));
        let missing = [index([3, 3, 3]), index([1, 3, 3])];
        let voxels = (0..343).filter(is_inside).filter(|v| !missing.contains(v)).collect();
        assert_eq!(voxels_of_holes(&Mask { grid, voxels }), 1);
    }
}
