//! A volume as a NIfTI-1 file in memory, which NiiVue reads.

use fimbria_image::Grid;

/// What a file of bytes holds.
pub(super) enum Samples {
    /// value = first + (sample - 1) * step; 0 is nothing.
    Scaled {
        /// Between two samples.
        step: f64,
        /// The value of sample 1.
        first: f64,
    },
    /// Red, green and blue of each voxel.
    Colours,
}

/// The file: a header of 352 bytes, then the samples, x fastest.
pub(super) fn file(grid: &Grid, bytes: &[u8], samples: Samples) -> Vec<u8> {
    const OFFSET: usize = 352;
    let mut file = vec![0_u8; OFFSET];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &348_i32.to_le_bytes());
    put(40, &3_i16.to_le_bytes());
    for axis in 0..3 {
        put(42 + 2 * axis, &(grid.dims[axis] as i16).to_le_bytes());
    }
    for dim in 4..8 {
        put(40 + 2 * dim, &1_i16.to_le_bytes());
    }
    let (datatype, bits, slope, inter) = match samples {
        Samples::Scaled { step, first } => (2_i16, 8_i16, step as f32, (first - step) as f32),
        Samples::Colours => (128, 24, 1.0, 0.0),
    };
    put(70, &datatype.to_le_bytes());
    put(72, &bits.to_le_bytes());
    put(76, &1_f32.to_le_bytes());
    for (axis, mm) in grid.ras_from_vox.spacing().into_iter().enumerate() {
        put(80 + 4 * axis, &(mm as f32).to_le_bytes());
    }
    put(108, &(OFFSET as f32).to_le_bytes());
    put(112, &slope.to_le_bytes());
    put(116, &inter.to_le_bytes());
    // Millimetres.
    put(123, &[2]);
    // In the scanner.
    put(254, &1_i16.to_le_bytes());
    for (row, values) in grid.ras_from_vox.0.iter().enumerate() {
        for (column, value) in values.iter().enumerate() {
            put(280 + 16 * row + 4 * column, &(*value as f32).to_le_bytes());
        }
    }
    put(344, b"n+1\0");
    file.extend_from_slice(bytes);
    file
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, read_image};

    use super::*;

    #[test]
    fn the_reader_of_this_project_reads_it_back() {
        let ras_from_vox = Affine([[-2., 0., 0., 9.], [0., 2.5, 0.5, -7.], [0., -0.5, 3., 1.]]);
        let grid = Grid { dims: [2, 3, 1], ras_from_vox };
        let bytes = [0, 1, 2, 3, 4, 255];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.nii");
        std::fs::write(&path, file(&grid, &bytes, Samples::Scaled { step: 0.5, first: 10.0 }))
            .unwrap();
        let image = read_image(&path).unwrap();
        assert_eq!(image.data, [9.5, 10.0, 10.5, 11.0, 11.5, 137.0]);
        grid.check_same(&image.grid, "map").unwrap();
    }
}
