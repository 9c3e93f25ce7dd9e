//! Maps that are looked up along streamlines.

use fimbria_image::{Affine, Image};

use crate::distance_mm;

/// A map of a number per voxel, in scanner space.
#[derive(Clone, Debug)]
pub struct MapAlong {
    image: Image,
    vox_from_ras: Affine,
}

impl MapAlong {
    /// The first volume of an image; `None` where its affine has no inverse.
    pub fn new(image: Image) -> Option<Self> {
        let vox_from_ras = image.grid.ras_from_vox.inverse()?;
        Some(Self { image, vox_from_ras })
    }

    /// The value at a point in scanner RAS+ mm: trilinear between the centres of voxels, and in the
    /// outer half of the outermost ones theirs. `None` outside the image, and where a voxel that takes
    /// part is no finite number.
    pub fn at(&self, pos_ras: [f32; 3]) -> Option<f64> {
        let dims = self.image.grid.dims;
        let pos_vox = self.vox_from_ras.apply(pos_ras.map(f64::from));
        let is_inside = |a: usize| pos_vox[a] >= -0.5 && pos_vox[a] <= dims[a] as f64 - 0.5;
        if !(0..3).all(is_inside) {
            return None;
        }
        let within: [f64; 3] = std::array::from_fn(|a| pos_vox[a].clamp(0.0, (dims[a] - 1) as f64));
        let below = within.map(|x| x as usize);
        let mut sum = 0.0;
        for corner in 0..8 {
            let mut share = 1.0;
            let voxel: [usize; 3] = std::array::from_fn(|a| {
                let above = corner >> a & 1;
                let part = within[a] - below[a] as f64;
                share *= if above == 1 { part } else { 1.0 - part };
                (below[a] + above).min(dims[a] - 1)
            });
            if share > 0.0 {
                let value = f64::from(self.image.data[self.image.grid.index(voxel)]);
                sum += share * Some(value).filter(|value| value.is_finite())?;
            }
        }
        Some(sum)
    }

    /// The values at the points of a streamline that have one, in order.
    pub fn values(&self, points: &[[f32; 3]]) -> impl Iterator<Item = f64> {
        points.iter().filter_map(|point| self.at(*point))
    }

    /// The mean along a streamline: of each point's value, which counts for half of the pieces on both
    /// its sides (the trapezoidal rule). Points without a value do not count; `None` where none has one.
    pub fn mean(&self, points: &[[f32; 3]]) -> Option<f64> {
        let (mut sum, mut length, mut plain, mut number) = (0.0, 0.0, 0.0, 0_u32);
        let mut before = 0.0;
        for (i, point) in points.iter().enumerate() {
            let after = points.get(i + 1).map_or(0.0, |next| distance_mm(point, next));
            if let Some(value) = self.at(*point) {
                sum += 0.5 * (before + after) * value;
                length += 0.5 * (before + after);
                (plain, number) = (plain + value, number + 1);
            }
            before = after;
        }
        match number {
            0 => None,
            // All in one place.
            n if length == 0.0 => Some(plain / f64::from(n)),
            _ => Some(sum / length),
        }
    }
}

#[cfg(test)]
mod tests {
    use fimbria_image::Grid;

    use super::*;

    /// 1 + x + 10 y + 100 z of voxel coordinates, on an oblique grid.
    fn linear() -> MapAlong {
        let ras_from_vox =
            Affine([[1.7, 0.4, 0.1, -8.], [-0.3, 2.2, 0.2, 3.], [0.1, -0.5, 2.9, 5.]]);
        let grid = Grid { dims: [5, 6, 7], ras_from_vox };
        let mut image = Image::zeros(grid, 1);
        for at in 0..grid.len() {
            let [x, y, z] = grid.voxel(at).map(|x| x as f32);
            image.data[at] = 1.0 + x + 10.0 * y + 100.0 * z;
        }
        MapAlong::new(image).unwrap()
    }

    fn ras(map: &MapAlong, vox: [f64; 3]) -> [f32; 3] {
        map.image.grid.ras_from_vox.apply(vox).map(|x| x as f32)
    }

    #[test]
    fn a_linear_map_is_met_between_voxels() {
        let map = linear();
        for vox in [[0.0; 3], [1.3, 2.7, 3.1], [3.999, 4.2, 0.5], [4.0, 5.0, 6.0]] {
            let expected = 1.0 + vox[0] + 10.0 * vox[1] + 100.0 * vox[2];
            let value = map.at(ras(&map, vox)).unwrap();
            // Points are single precision, 1e-6 mm; the map has some 100 per mm.
            assert!((value - expected).abs() < 1e-3, "{vox:?}: {value}");
        }
        assert!((map.at(ras(&map, [-0.4, 2.0, 3.0])).unwrap() - 321.0).abs() < 1e-3);
        assert_eq!(map.at(ras(&map, [-0.6, 2.0, 3.0])), None);
        assert_eq!(map.at(ras(&map, [0.0, 5.6, 3.0])), None);
        assert_eq!(map.at([f32::NAN; 3]), None);
    }

    #[test]
    fn a_mean_counts_length_not_points() {
        let map = linear();
        // Along x from 0 to 4, points crowded at the start: the mean of 1 + x is 3.
        let line: Vec<_> =
            [0.0, 0.1, 0.2, 0.3, 0.4, 4.0].map(|x| ras(&map, [x, 0.0, 0.0])).to_vec();
        assert!((map.mean(&line).unwrap() - 3.0).abs() < 1e-5);
        let inside = [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [9.0, 0.0, 0.0]].map(|vox| ras(&map, vox));
        // The last point is outside: 2 for half a voxel, 3 for half of 1 + 7.
        let expected = (2.0 * 0.5 + 3.0 * 4.0) / 4.5;
        assert!((map.mean(&inside).unwrap() - expected).abs() < 1e-5);
        assert_eq!(map.mean(&inside[2..]), None);
        assert!((map.mean(&[inside[0], inside[0]]).unwrap() - 2.0).abs() < 1e-5);
    }

    #[test]
    fn a_point_beside_a_voxel_without_a_number_does_not_count() {
        let grid = Grid { dims: [3, 1, 1], ras_from_vox: Affine::IDENTITY };
        let image = Image { grid, n_volumes: 1, data: vec![1.0, f32::NAN, 3.0] };
        let map = MapAlong::new(image).unwrap();
        assert_eq!(map.at([0.0; 3]), Some(1.0));
        assert_eq!(map.at([0.5, 0.0, 0.0]), None);
        assert_eq!(map.mean(&[[0.0; 3], [0.5, 0.0, 0.0], [2.0, 0.0, 0.0]]), Some(2.5));
    }
}
