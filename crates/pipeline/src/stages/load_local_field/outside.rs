//! Where there is no mask: the voxels that have a field.

use fimbria_image::{Image, Mask};

use fimbria_models::brain_mask::neighbours;

/// All voxels but those whose field is 0 from there to the edge of the volume, as programs leave it
/// outside of what they work on. Zeros that the field encloses are numbers like others: a sphere's
/// field is 0 inside.
pub(super) fn with_field(field: &Image) -> Mask {
    let grid = field.grid;
    let mut outside = vec![false; grid.len()];
    let is_zero = |voxel: usize| field.data[voxel] == 0.0;
    let is_at_edge = |voxel: usize| neighbours(&grid, voxel).count() < 6;
    let mut found: Vec<usize> = (0..grid.len()).filter(|&v| is_zero(v) && is_at_edge(v)).collect();
    found.iter().for_each(|&v| outside[v] = true);
    while let Some(voxel) = found.pop() {
        for next in neighbours(&grid, voxel) {
            if is_zero(next) && !std::mem::replace(&mut outside[next], true) {
                found.push(next);
            }
        }
    }
    let inside = (0..grid.len()).filter(|&v| !outside[v]);
    Mask { grid, voxels: inside.map(|v| v as u32).collect() }
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
