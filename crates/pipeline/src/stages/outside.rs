//! Where there is no mask: the voxels that have a field.

use fimbria_image::{Grid, Image, Mask};

use fimbria_image::morphology::neighbours;

/// All voxels but those whose field is 0 from there to the edge of the volume, as programs leave it
/// outside of what they work on. Zeros that the field encloses are numbers like others: a sphere's
/// field is 0 inside.
pub(in crate::stages) fn with_field(field: &Image) -> Mask {
    let grid = field.grid;
    let outside = reached_from_edge(&grid, |voxel| field.data[voxel] == 0.0);
    let inside = (0..grid.len()).filter(|&v| !outside[v]);
    Mask { grid, voxels: inside.map(|v| v as u32).collect() }
}

/// The voxels that are reached from the edge of the volume through voxels that are open.
pub(in crate::stages) fn reached_from_edge(
    grid: &Grid,
    is_open: impl Fn(usize) -> bool,
) -> Vec<bool> {
    let mut reached = vec![false; grid.len()];
    let is_at_edge = |voxel: usize| neighbours(grid, voxel).count() < 6;
    let mut found: Vec<usize> = (0..grid.len()).filter(|&v| is_open(v) && is_at_edge(v)).collect();
    found.iter().for_each(|&v| reached[v] = true);
    while let Some(voxel) = found.pop() {
        for next in neighbours(grid, voxel) {
            if is_open(next) && !std::mem::replace(&mut reached[next], true) {
                found.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use fimbria_image::Affine;

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
