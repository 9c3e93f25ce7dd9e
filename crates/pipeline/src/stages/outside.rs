//! Where there is no mask: the voxels that have a field.

use fimbria_image::morphology::VoxelSet;
use fimbria_image::{Image, Mask};

/// All voxels but those whose field is 0 from there to the edge of the volume, as programs leave it
/// outside of what they work on. Zeros that the field encloses are numbers like others: a sphere's
/// field is 0 inside.
pub(in crate::stages) fn with_field(field: &Image) -> Mask {
    VoxelSet::where_value(field.grid, &field.data, |b| *b != 0.0).enclosing().to_mask()
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, Grid};

    use super::*;

    #[test]
    fn enclosed_zeros_are_inside_and_those_at_the_edge_are_not() {
        let grid = Grid { dims: [9, 9, 9], ras_from_vox: Affine::IDENTITY };
        let mut field = Image::zeros(grid, 1);
        let from_middle = |v: usize| {
            let at = grid.voxel(v).map(|i| (i as f64 - 4.0).powi(2));
            at.iter().sum::<f64>().sqrt()
        };
        for v in 0..grid.len() {
            field.data[v] = if (1.5..3.5).contains(&from_middle(v)) { 0.1 } else { 0.0 };
        }
        let mask = with_field(&field);
        let expected: Vec<u32> =
            (0..grid.len() as u32).filter(|&v| from_middle(v as usize) < 3.5).collect();
        assert_eq!(mask.voxels, expected);
    }
}
