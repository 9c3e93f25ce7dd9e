//! Further numbers of each voxel beside its samples.

use fimbria_image::{Grid, SignalSource};

/// Several sources on one grid as one: the samples of a series, then the maps that a model takes
/// as constants (noise levels, axes).
pub struct Stacked<'a>(pub Vec<&'a dyn SignalSource>);

impl SignalSource for Stacked<'_> {
    /// # Panics
    /// With no source.
    fn grid(&self) -> &Grid {
        self.0[0].grid()
    }

    fn n_volumes(&self) -> usize {
        self.0.iter().map(|source| source.n_volumes()).sum()
    }

    fn gather_rows(&self, voxels: &[u32], mut rows: &mut [&mut [f32]]) {
        for source in &self.0 {
            let (of_source, rest) = rows.split_at_mut(source.n_volumes());
            source.gather_rows(voxels, of_source);
            rows = rest;
        }
    }
}

/// Some volumes of a source, in the given order.
pub struct SelectedVolumes<'a> {
    /// The source.
    pub source: &'a dyn SignalSource,
    /// The volumes.
    pub volumes: Vec<usize>,
}

impl SignalSource for SelectedVolumes<'_> {
    fn grid(&self) -> &Grid {
        self.source.grid()
    }

    fn n_volumes(&self) -> usize {
        self.volumes.len()
    }

    fn gather_rows(&self, voxels: &[u32], rows: &mut [&mut [f32]]) {
        let n = voxels.len();
        let mut all = vec![0.0; self.source.n_volumes() * n];
        self.source.gather(voxels, n, &mut all);
        for (row, &volume) in rows.iter_mut().zip(&self.volumes) {
            row[..n].copy_from_slice(&all[volume * n..][..n]);
        }
    }
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, Image};

    use super::*;

    #[test]
    fn rows_of_the_second_source_follow_those_of_the_first() {
        let grid = Grid { dims: [3, 1, 1], ras_from_vox: Affine::IDENTITY };
        let image = |n: usize, first: f32| Image {
            data: (0..3 * n).map(|i| first + i as f32).collect(),
            ..Image::zeros(grid, n)
        };
        let (series, map) = (image(2, 0.0), image(1, 100.0));
        let stacked = Stacked(vec![&series, &map]);
        let mut rows = vec![-1.0; 3 * 4];
        stacked.gather(&[0, 2], 4, &mut rows);
        assert_eq!(stacked.n_volumes(), 3);
        assert_eq!(rows, [0.0, 2.0, -1.0, -1.0, 3.0, 5.0, -1.0, -1.0, 100.0, 102.0, -1.0, -1.0]);
    }
}
