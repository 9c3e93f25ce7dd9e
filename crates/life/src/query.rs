//! Streamlines by where they run, answered from the encoding.

use fimbria_image::{Grid, Mask};

use crate::Encoding;

/// What a streamline must do, all of it in the same voxel.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Pass a voxel whose centre lies in one of these balls: centre (scanner RAS+ mm), radius (mm).
    pub balls: Vec<([f64; 3], f64)>,
    /// Pass a voxel of the mask.
    pub mask: Option<Mask>,
    /// Run within so many degrees of this direction (scanner axes), or of its opposite.
    pub direction: Option<([f64; 3], f64)>,
}

impl Query {
    /// The streamlines that do, ascending, and in how many voxels each.
    pub fn answer(&self, encoding: &Encoding) -> Vec<(u32, u32)> {
        let inside = self.inside(encoding);
        let is_along: Option<Vec<bool>> = self.direction.map(|(dir, within_deg)| {
            let norm = dir.iter().map(|c| c * c).sum::<f64>().sqrt();
            // Directions are f32: a thousandth of a degree is nothing. Within 90 are all.
            let within_deg = within_deg + 1e-3;
            let least = if within_deg < 90.0 { within_deg.to_radians().cos() } else { 0.0 };
            let cos = |atom: &[f32; 3]| {
                (0..3).map(|i| f64::from(atom[i]) * dir[i]).sum::<f64>().abs() / norm
            };
            encoding.atoms.iter().map(|atom| cos(atom) >= least).collect()
        });
        let mut found = Vec::new();
        for f in 0..encoding.streamlines() {
            let mut voxels = 0;
            let mut last = u32::MAX;
            for entry in encoding.entries_of(f) {
                let is_new = entry.voxel != last;
                let along = is_along.as_ref().is_none_or(|along| along[entry.atom as usize]);
                if is_new && along && inside[entry.voxel as usize] {
                    voxels += 1;
                    last = entry.voxel;
                }
            }
            if voxels > 0 {
                found.push((f as u32, voxels));
            }
        }
        found
    }

    /// Which of the encoding's voxels lie where the query asks for.
    fn inside(&self, encoding: &Encoding) -> Vec<bool> {
        let grid: &Grid = &encoding.grid;
        let of_voxel = |&voxel: &u32| {
            let centre = grid.ras_from_vox.apply(grid.voxel(voxel as usize).map(|c| c as f64));
            let is_near = |(ball, radius): &([f64; 3], f64)| {
                (0..3).map(|i| (centre[i] - ball[i]).powi(2)).sum::<f64>() <= radius * radius
            };
            let in_balls = self.balls.is_empty() || self.balls.iter().any(is_near);
            let in_mask =
                self.mask.as_ref().is_none_or(|mask| mask.voxels.binary_search(&voxel).is_ok());
            in_balls && in_mask
        };
        encoding.voxels.iter().map(of_voxel).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EncodeOptions, Encoder};
    use fimbria_compute::{Silent, Workers};
    use fimbria_image::Affine;

    /// One streamline along x, one along y, one that turns from x to y.
    fn encoding() -> Encoding {
        let grid = Grid { dims: [10, 10, 3], ras_from_vox: Affine::IDENTITY };
        let workers = Workers::new(1).unwrap();
        let options = EncodeOptions::default();
        let mut encoder = Encoder::new(grid, None, &options, &workers, &Silent).unwrap();
        let points = [
            [0.0, 2.0, 1.0],
            [9.0, 2.0, 1.0],
            [5.0, 0.0, 1.0],
            [5.0, 9.0, 1.0],
            [0.0, 7.0, 1.0],
            [8.0, 7.0, 1.0],
            [8.0, 0.0, 1.0],
        ];
        encoder.add(&[0, 2, 4, 7], &points).unwrap();
        encoder.finish().unwrap()
    }

    fn streamlines(query: &Query) -> Vec<u32> {
        query.answer(&encoding()).into_iter().map(|(f, _)| f).collect()
    }

    #[test]
    fn a_ball_holds_voxels_whose_centres_are_in_it() {
        let ball = |centre, radius| Query { balls: vec![(centre, radius)], ..Query::default() };
        assert_eq!(streamlines(&ball([5.0, 2.0, 1.0], 0.5)), [0, 1]);
        assert_eq!(streamlines(&ball([8.0, 4.0, 1.0], 0.5)), [2]);
        assert_eq!(ball([0.5, 2.0, 1.0], 0.6).answer(&encoding()), [(0, 2)]);
    }

    #[test]
    fn a_direction_is_asked_for_in_the_same_voxel() {
        let along_y = Query { direction: Some(([0.0, -2.0, 0.0], 5.0)), ..Query::default() };
        assert_eq!(streamlines(&along_y), [1, 2]);
        let at_start = Query { balls: vec![([1.0, 7.0, 1.0], 1.0)], ..along_y };
        assert!(streamlines(&at_start).is_empty());
    }

    #[test]
    fn a_mask_and_a_ball_must_both_hold() {
        let grid = encoding().grid;
        let mask = Mask { grid, voxels: vec![grid.index([3, 2, 1]) as u32] };
        let query = Query { mask: Some(mask), ..Query::default() };
        assert_eq!(streamlines(&query), [0]);
        let elsewhere = Query { balls: vec![([8.0, 2.0, 1.0], 1.0)], ..query };
        assert!(streamlines(&elsewhere).is_empty());
    }
}
