//! The predicted series, held for the voxels that have one.

use fimbria_image::{GradientTable, Grid, Image, MapKind, MapSpec};

/// The series that weights give, in the voxels that streamlines pass; elsewhere it is 0.
pub struct Prediction {
    /// The lattice of the series.
    pub(super) grid: Grid,
    /// Linear indices of the voxels, ascending.
    voxels: Vec<u32>,
    /// Their unweighted signal, which is that of every unweighted volume.
    s0: Vec<f32>,
    /// Voxel by voxel the weighted volumes.
    rows: Vec<f32>,
    /// Of each volume its place in a row; `None` where it is unweighted.
    row_of: Vec<Option<usize>>,
    n_rows: usize,
}

/// Of a voxel that has no prediction.
const NONE: u32 = u32::MAX;
/// Voxels whose prediction is placed at once.
const PLACED_AT_ONCE: usize = 4096;

/// The map of a prediction of so many volumes.
pub(super) fn prediction_map(volumes: usize) -> MapSpec {
    MapSpec::of_kind(
        "prediction",
        MapKind::Scalar,
        volumes,
        "arbitrary",
        "predicted signal of every volume, units of the series, 0 where no streamline is",
    )
}

impl Prediction {
    /// Of a series with this table: `rows` are the weighted volumes, voxel by voxel of `voxels`.
    pub(super) fn new(
        grid: Grid,
        voxels: &[u32],
        s0: &[f32],
        rows: Vec<f32>,
        table: &GradientTable,
    ) -> Self {
        let mut n_rows = 0;
        let mut row_of = |volume: usize| {
            (!table.is_b0(volume)).then(|| {
                n_rows += 1;
                n_rows - 1
            })
        };
        let row_of = (0..table.len()).map(&mut row_of).collect();
        Self { grid, voxels: voxels.to_vec(), s0: s0.to_vec(), rows, row_of, n_rows }
    }

    /// What it is.
    pub fn map(&self) -> MapSpec {
        prediction_map(self.row_of.len())
    }

    /// Of each voxel of the grid its place among those that have a prediction.
    pub(super) fn places(&self) -> Vec<u32> {
        let mut places = vec![NONE; self.grid.len()];
        (0..).zip(&self.voxels).for_each(|(place, &voxel)| places[voxel as usize] = place);
        places
    }

    /// A sample of its image, by its number in it, given the [`places`](Self::places).
    pub(super) fn value(&self, places: &[u32], sample: usize) -> f32 {
        let (volume, voxel) = (sample / places.len(), sample % places.len());
        match places[voxel] {
            NONE => 0.0,
            place => self.of_voxel(place as usize, self.row_of[volume]),
        }
    }

    /// Of the voxel at `place` what `row` of its rows says, or its unweighted signal.
    fn of_voxel(&self, place: usize, row: Option<usize>) -> f32 {
        match row {
            None => self.s0[place],
            Some(row) => self.rows[place * self.n_rows + row],
        }
    }

    /// Its image. Rows are let go as they are placed, so that never both are there whole.
    pub fn into_image(mut self) -> Image {
        let mut image = Image::zeros(self.grid, self.row_of.len());
        let mut left = self.voxels.len();
        while left > 0 {
            let first = (left - 1) / PLACED_AT_ONCE * PLACED_AT_ONCE;
            for (volume, row) in self.row_of.iter().enumerate() {
                let samples = image.volume_mut(volume);
                for place in first..left {
                    samples[self.voxels[place] as usize] = self.of_voxel(place, *row);
                }
            }
            left = first;
            self.rows.truncate(left * self.n_rows);
            self.rows.shrink_to_fit();
        }
        image
    }
}

#[cfg(test)]
mod tests {
    use fimbria_image::Affine;
    use fimbria_testing::acquisition;

    use super::*;

    #[test]
    fn samples_are_those_of_the_image() {
        let grid = Grid { dims: [30, 20, 16], ras_from_vox: Affine::IDENTITY };
        let table = acquisition(2, &[(1000.0, 7)]);
        // More than are placed at once.
        let voxels: Vec<u32> = (0..grid.len() as u32).filter(|v| v % 3 != 1).collect();
        assert!(voxels.len() > PLACED_AT_ONCE);
        let s0: Vec<f32> = voxels.iter().map(|v| 1000.0 + *v as f32).collect();
        let rows: Vec<f32> = (0..7 * voxels.len()).map(|i| -(i as f32)).collect();
        let prediction = Prediction::new(grid, &voxels, &s0, rows, &table);
        let places = prediction.places();
        let value = |i: usize| prediction.value(&places, i);
        let expected: Vec<f32> = (0..table.len() * grid.len()).map(value).collect();
        // The second voxel that has one, unweighted and in the first and the last weighted volume.
        let weighted: Vec<_> = (0..table.len()).filter(|v| !table.is_b0(*v)).collect();
        let b0 = (0..table.len()).find(|v| table.is_b0(*v)).unwrap();
        let at = |volume: usize| expected[volume * grid.len() + voxels[1] as usize];
        assert_eq!([at(b0), at(weighted[0]), at(weighted[6])], [1002.0, -7.0, -13.0]);
        assert_eq!(expected[1], 0.0);
        assert!(prediction.into_image().data == expected);
    }
}
