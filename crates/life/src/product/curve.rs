//! The order of voxels in which neighbours stay together.

use fimbria_image::Grid;

use crate::Encoding;

/// Positions in the encoding's voxels along a Morton curve.
pub(super) fn along_curve(encoding: &Encoding) -> Vec<u32> {
    let key = |position: &u32| key(&encoding.grid, encoding.voxels[*position as usize] as usize);
    let mut order: Vec<u32> = (0..encoding.voxels.len() as u32).collect();
    order.sort_by_cached_key(key);
    order
}

/// The place of a voxel, by its linear index, along the Morton curve.
pub(crate) fn key(grid: &Grid, voxel: usize) -> u64 {
    let [i, j, k] = grid.voxel(voxel);
    spread(i) | spread(j) << 1 | spread(k) << 2
}

/// The lowest 21 bits of a number, two zeros between each.
fn spread(n: usize) -> u64 {
    let n = n as u64 & 0x1f_ffff;
    (0..21).fold(0, |spread, bit| spread | (n >> bit & 1) << (3 * bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_spread_by_three() {
        assert_eq!(spread(0b1011), 0b001_000_001_001);
    }
}
