//! Maps that are looked up along streamlines.

use fimbria_image::{Affine, Image, voxels_between};

use crate::distance_mm;

/// A map that has no value anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapAlongError {
    /// A place has one number.
    #[error("it has {0} volumes, and along streamlines goes one")]
    Volumes(usize),
    /// No place can be found in a matrix that has no inverse.
    #[error("its affine cannot be inverted")]
    Singular,
}

/// Where a map is looked up along a streamline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookUp {
    /// At its points, between the centres of voxels.
    #[default]
    Linear,
    /// At its points, in the voxel around each.
    Nearest,
    /// In each voxel that it crosses, by the length there.
    Voxels,
}

/// A number made of the values of a map along a streamline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Statistic {
    /// By length: the value at a point stands for half of the pieces on both its sides (the trapezoidal
    /// rule).
    #[default]
    Mean,
    /// Of the values at points; of voxels by length.
    Median,
    /// The least.
    Least,
    /// The largest.
    Largest,
}

/// A map of a number per voxel, in scanner space.
#[derive(Clone, Debug)]
pub struct MapAlong {
    image: Image,
    vox_from_ras: Affine,
}

impl MapAlong {
    /// Of an image of one volume.
    ///
    /// # Errors
    /// [`MapAlongError`].
    pub fn new(image: Image) -> Result<Self, MapAlongError> {
        if image.n_volumes != 1 {
            return Err(MapAlongError::Volumes(image.n_volumes));
        }
        let vox_from_ras = image.grid.ras_from_vox.inverse().ok_or(MapAlongError::Singular)?;
        Ok(Self { image, vox_from_ras })
    }

    /// The value at a place in scanner RAS+ mm: trilinear between the centres of voxels, and in the
    /// outer half of the outermost ones theirs. `None` outside the image, and where a voxel that takes
    /// part is no finite number.
    pub fn at(&self, pos_ras: [f64; 3]) -> Option<f64> {
        let within = self.within(pos_ras)?;
        let dims = self.image.grid.dims;
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
                sum += share * self.value_at(voxel)?;
            }
        }
        Some(sum)
    }

    /// Voxel coordinates between the outermost centres; `None` outside the image.
    fn within(&self, pos_ras: [f64; 3]) -> Option<[f64; 3]> {
        let dims = self.image.grid.dims;
        let pos_vox = self.vox_from_ras.apply(pos_ras);
        let is_inside = |a: usize| pos_vox[a] >= -0.5 && pos_vox[a] <= dims[a] as f64 - 0.5;
        let clamped = |a: usize| pos_vox[a].clamp(0.0, (dims[a] - 1) as f64);
        (0..3).all(is_inside).then(|| [0, 1, 2].map(clamped))
    }

    fn value_at(&self, voxel: [usize; 3]) -> Option<f64> {
        let value = self.image.data[self.image.grid.index(voxel)];
        value.is_finite().then(|| f64::from(value))
    }

    /// The value at a point of a streamline; for [`LookUp::Voxels`] that of its voxel.
    pub fn at_point(&self, point: &[f32; 3], look_up: LookUp) -> Option<f64> {
        let pos_ras = point.map(f64::from);
        match look_up {
            LookUp::Linear => self.at(pos_ras),
            _ => self.value_at(self.within(pos_ras)?.map(|x| x.round() as usize)),
        }
    }

    /// Hands on each value with the length, mm, that it stands for.
    fn each_value(&self, points: &[[f32; 3]], look_up: LookUp, mut take: impl FnMut(f64, f64)) {
        let is_crossed = look_up == LookUp::Voxels && points.len() > 1;
        if is_crossed {
            for pair in points.windows(2) {
                let mm = distance_mm(&pair[0], &pair[1]);
                let ends = [0, 1].map(|k| self.vox_from_ras.apply(pair[k].map(f64::from)));
                if ends.as_flattened().iter().all(|x| x.is_finite()) {
                    voxels_between(self.image.grid.dims, ends[0], ends[1], |voxel, share| {
                        if let Some(value) = self.value_at(voxel) {
                            take(value, mm * share);
                        }
                    });
                }
            }
            return;
        }
        let mut before = 0.0;
        for (i, point) in points.iter().enumerate() {
            let after = points.get(i + 1).map_or(0.0, |next| distance_mm(point, next));
            if let Some(value) = self.at_point(point, look_up) {
                take(value, 0.5 * (before + after));
            }
            before = after;
        }
    }

    /// A number of the values along a streamline. Where there is none it does not count; `None` where there is
    /// none at all.
    pub fn statistic(
        &self,
        points: &[[f32; 3]],
        look_up: LookUp,
        statistic: Statistic,
    ) -> Option<f64> {
        match statistic {
            Statistic::Mean => {
                let (mut sum, mut length, mut plain, mut number) = (0.0, 0.0, 0.0, 0_u32);
                self.each_value(points, look_up, |value, mm| {
                    (sum, length) = (sum + mm * value, length + mm);
                    (plain, number) = (plain + value, number + 1);
                });
                match number {
                    0 => None,
                    // All in one place.
                    n if length == 0.0 => Some(plain / f64::from(n)),
                    _ => Some(sum / length),
                }
            }
            Statistic::Median => {
                let mut values = Vec::new();
                let shares = |mm| if look_up == LookUp::Voxels { mm } else { 1.0 };
                self.each_value(points, look_up, |value, mm| values.push((value, shares(mm))));
                median(&mut values)
            }
            Statistic::Least | Statistic::Largest => {
                let of = if statistic == Statistic::Least { f64::min } else { f64::max };
                let mut extreme: Option<f64> = None;
                self.each_value(points, look_up, |value, _| {
                    extreme = Some(extreme.map_or(value, |before| of(before, value)));
                });
                extreme
            }
        }
    }
}

/// The value with half of the shares on both sides, between two where the half is reached exactly.
fn median(values: &mut [(f64, f64)]) -> Option<f64> {
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|(_, share)| share).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    for (i, (value, share)) in values.iter().enumerate() {
        sum += share;
        if sum >= half {
            let next = values.get(i + 1).filter(|_| sum == half).map_or(*value, |next| next.0);
            return Some((value + next) / 2.0);
        }
    }
    None
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
            let value = map.at(ras(&map, vox).map(f64::from)).unwrap();
            // Points are single precision, 1e-6 mm; the map has some 100 per mm.
            assert!((value - expected).abs() < 1e-3, "{vox:?}: {value}");
        }
        assert!(
            (map.at_point(&ras(&map, [-0.4, 2.0, 3.0]), LookUp::Linear).unwrap() - 321.0).abs()
                < 1e-3
        );
        assert_eq!(map.at_point(&ras(&map, [-0.6, 2.0, 3.0]), LookUp::Linear), None);
        assert_eq!(map.at_point(&ras(&map, [0.0, 5.6, 3.0]), LookUp::Nearest), None);
        assert_eq!(map.at([f64::NAN; 3]), None);
    }

    fn mean(map: &MapAlong, points: &[[f32; 3]]) -> Option<f64> {
        map.statistic(points, LookUp::Linear, Statistic::Mean)
    }

    #[test]
    fn a_mean_counts_length_not_points() {
        let map = linear();
        // Along x from 0 to 4, points crowded at the start: the mean of 1 + x is 3.
        let line: Vec<_> =
            [0.0, 0.1, 0.2, 0.3, 0.4, 4.0].map(|x| ras(&map, [x, 0.0, 0.0])).to_vec();
        assert!((mean(&map, &line).unwrap() - 3.0).abs() < 1e-5);
        let inside = [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [9.0, 0.0, 0.0]].map(|vox| ras(&map, vox));
        // The last point is outside: 2 for half a voxel, 3 for half of 1 + 7.
        let expected = (2.0 * 0.5 + 3.0 * 4.0) / 4.5;
        assert!((mean(&map, &inside).unwrap() - expected).abs() < 1e-5);
        assert_eq!(mean(&map, &inside[2..]), None);
        assert!((mean(&map, &[inside[0], inside[0]]).unwrap() - 2.0).abs() < 1e-5);
    }

    #[test]
    fn a_point_beside_a_voxel_without_a_number_does_not_count() {
        let grid = Grid { dims: [3, 1, 1], ras_from_vox: Affine::IDENTITY };
        let image = Image { grid, n_volumes: 1, data: vec![1.0, f32::NAN, 3.0] };
        let map = MapAlong::new(image).unwrap();
        assert_eq!(map.at([0.0; 3]), Some(1.0));
        assert_eq!(map.at([0.5, 0.0, 0.0]), None);
        assert_eq!(mean(&map, &[[0.0; 3], [0.5, 0.0, 0.0], [2.0, 0.0, 0.0]]), Some(2.5));
    }

    #[test]
    fn statistics_of_points_and_of_voxels() {
        let grid = Grid { dims: [4, 1, 1], ras_from_vox: Affine::IDENTITY };
        let image = Image { grid, n_volumes: 1, data: vec![1.0, 2.0, 4.0, 8.0] };
        let map = MapAlong::new(image).unwrap();
        // Half a voxel of 1, one of 2, one of 4, a quarter of 8; points in the first and the last two.
        let line = [[0.0; 3], [2.25, 0.0, 0.0], [2.75, 0.0, 0.0]];
        let all = |look_up| {
            use Statistic::{Largest, Least, Mean, Median};
            [Mean, Median, Least, Largest].map(|of| map.statistic(&line, look_up, of).unwrap())
        };
        // The points stand for 1.125, 1.375 and 0.25 mm.
        let linear = (1.125 + 1.375 * 5.0 + 0.25 * 7.0) / 2.75;
        assert_eq!(all(LookUp::Linear), [linear, 5.0, 1.0, 7.0]);
        let nearest = (1.125 + 1.375 * 4.0 + 0.25 * 8.0) / 2.75;
        assert_eq!(all(LookUp::Nearest), [nearest, 4.0, 1.0, 8.0]);
        let [mean, middle, least, largest] = all(LookUp::Voxels);
        assert!((mean - (0.5 + 2.0 + 4.0 + 2.0) / 2.75).abs() < 1e-9);
        assert_eq!([middle, least, largest], [2.0, 1.0, 8.0]);
        assert_eq!(map.statistic(&line[..1], LookUp::Voxels, Statistic::Mean), Some(1.0));
        assert_eq!(median(&mut [(3.0, 1.0), (1.0, 1.0)]), Some(2.0));
    }
}
