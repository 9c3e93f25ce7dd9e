//! Directions that somebody lists, and which of them is nearest.

use std::f64::consts::{FRAC_PI_2, PI, SQRT_2};

use fimbria_compute::dense::vec3::dot;

use crate::{LifeError, OrientationGrid};

/// A list of directions, looked up by cells of a grid.
#[derive(Clone, Debug)]
pub struct ListedDirections {
    dirs: Vec<[f64; 3]>,
    cells: OrientationGrid,
    /// Where each cell's candidates start, and where the last one's end.
    start: Vec<u32>,
    /// Positions in the list, ascending in each cell.
    near: Vec<u32>,
}

impl ListedDirections {
    /// Steps of the grid of cells: of a thousand directions a cell has three or four near it.
    const STEPS: usize = 90;

    /// Of directions of any length; a direction and its opposite are the same to streamlines.
    ///
    /// # Errors
    /// Where there is none, or one that is zero or not finite.
    pub fn new(dirs: &[[f64; 3]]) -> Result<Self, LifeError> {
        let unit = |dir: &[f64; 3]| {
            let norm = dot(*dir, *dir).sqrt();
            (norm > 0.0 && norm.is_finite()).then(|| dir.map(|c| c / norm))
        };
        let dirs: Option<Vec<[f64; 3]>> = dirs.iter().map(unit).collect();
        let dirs = dirs.filter(|dirs| !dirs.is_empty()).ok_or(LifeError::Directions)?;
        let cells = OrientationGrid::new(Self::STEPS)?;
        // No direction is further from the centre of its cell.
        let reach = PI / Self::STEPS as f64 / SQRT_2 + 1e-6;
        let (mut start, mut near) = (vec![0], Vec::new());
        for cell in 0..cells.len() {
            let centre = cells.direction(cell);
            let cosines: Vec<f64> = dirs.iter().map(|dir| dot(centre, *dir).abs()).collect();
            let most = cosines.iter().copied().fold(0.0, f64::max);
            let furthest = (most.min(1.0).acos() + 2.0 * reach).min(FRAC_PI_2).cos();
            let is_near = |(_, cosine): &(u32, f64)| *cosine >= furthest - 1e-12;
            near.extend((0..).zip(cosines).filter(is_near).map(|(which, _)| which));
            start.push(near.len() as u32);
        }
        Ok(Self { dirs, cells, start, near })
    }

    /// Number of directions.
    #[allow(clippy::len_without_is_empty, reason = "there is one at least")]
    pub fn len(&self) -> usize {
        self.dirs.len()
    }

    /// A unit direction of the list.
    pub fn direction(&self, which: usize) -> [f64; 3] {
        self.dirs[which]
    }

    /// The first of those at the least angle to a unit direction or its opposite.
    pub fn nearest(&self, dir: [f64; 3]) -> usize {
        let cell = self.cells.orientation(dir);
        let near = &self.near[self.start[cell] as usize..self.start[cell + 1] as usize];
        let cosine = |which: u32| dot(self.dirs[which as usize], dir).abs();
        let nearer =
            |best: u32, other: u32| if cosine(other) > cosine(best) { other } else { best };
        near.iter().copied().fold(near[0], nearer) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Points along a spiral over the half sphere.
    fn spiral(count: usize) -> Vec<[f64; 3]> {
        let point = |i: usize| {
            let z = (i as f64 + 0.5) / count as f64;
            let (sin, cos) = (2.4 * i as f64).sin_cos();
            let rho = (1.0 - z * z).sqrt();
            // Of some length, which does not matter.
            [3.0 * rho * cos, 3.0 * rho * sin, 3.0 * z]
        };
        (0..count).map(point).collect()
    }

    proptest! {
        #[test]
        fn the_nearest_of_all_is_found(
            z in -1.0..1.0_f64, phi in -PI..PI, count in prop::sample::select(vec![1_usize, 7, 724]),
        ) {
            let listed = ListedDirections::new(&spiral(count)).unwrap();
            let rho = (1.0 - z * z).sqrt();
            let dir = [rho * phi.cos(), rho * phi.sin(), z];
            let cosine = |which: usize| dot(listed.direction(which), dir).abs();
            let best = (0..count).map(cosine).fold(0.0, f64::max);
            prop_assert_eq!(cosine(listed.nearest(dir)), best);
        }
    }

    #[test]
    fn directions_that_are_none_are_refused() {
        for dirs in [&[][..], &[[1.0, 0.0, 0.0], [0.0; 3]], &[[f64::NAN, 0.0, 1.0]]] {
            assert!(matches!(ListedDirections::new(dirs), Err(LifeError::Directions)));
        }
    }
}
