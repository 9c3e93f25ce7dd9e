//! What was measured in one go: the volumes of a series, or of one of several that are corrected together.

use fimbria_compute::dense::vec3::{norm, sub};
use fimbria_image::frames::{Matrix3, product, transposed, turned};
use fimbria_image::{Grid, Image};

use crate::distortion::Distortion;
use crate::place::{Eddy, Place};

/// Volumes that were measured in one go: on one grid, with one phase encoding.
#[derive(Clone, Debug)]
pub struct Scan {
    /// How many.
    pub volumes: usize,
    /// Where their voxels lie: as many and as large as those of the first scan.
    pub grid: Grid,
    /// The voxel axis of the phase encoding.
    pub axis: usize,
    /// Whether phase was encoded against the axis: a field shifts the other way.
    pub is_reversed: bool,
    /// How far what the head shows is shifted in all these volumes alike.
    pub distortion: Option<Distortion>,
}

/// Headers whose grids are nearer than this, mm at [`FAR_MM`] from the middle, say the same.
const SAME_MM: f64 = 1e-3;
/// About as far as a head reaches.
const FAR_MM: f64 = 100.0;
/// Voxel sizes and right angles of two grids agree to this part.
const ALIKE: f64 = 1e-3;

impl Scan {
    /// All volumes of a series, along the second axis and without distortion.
    pub fn new(series: &Image) -> Self {
        Self {
            volumes: series.n_volumes,
            grid: series.grid,
            axis: 1,
            is_reversed: false,
            distortion: None,
        }
    }

    /// Where a head that lay still since the volumes on `first` were measured lies on the grid of this scan.
    pub(crate) fn still(&self, first: &Grid, eddy: Eddy) -> Place {
        let still = Place::still(self.axis, eddy);
        match moved(first, &self.grid) {
            Some((turn, shift_mm)) => Place { turn, shift_mm, ..still },
            None => still,
        }
    }

    /// What takes places on the grid of this scan to those on `first`; `None` where the two are the same.
    fn onto(&self, first: &Grid) -> Option<Place> {
        let (turn, shift_mm) = moved(first, &self.grid)?;
        Some(Place { turn, shift_mm, ..Place::still(self.axis, Eddy::None) }.undone())
    }

    /// Where the head of a volume lay along the axes of `first`, without a shift along the phase encoding that counts as
    /// eddy current.
    pub(crate) fn head(&self, first: &Grid, place: &Place, eddy_shift_mm: f64) -> Place {
        let mut head = place.clone();
        head.shift_mm[head.axis] -= eddy_shift_mm;
        if let Some(onto) = self.onto(first) {
            head.shift_mm = onto.in_scanner(head.shift_mm);
            head.turn = product(&onto.turn, &head.turn);
        }
        head
    }

    /// Scanner axes of the voxel axes.
    pub(crate) fn ras(&self) -> Matrix3 {
        self.grid.ras_from_vox.rotation()
    }
}

/// Whether two grids have as many voxels of the same size, and lie as a rigid body does before and after it is moved.
pub fn are_alike(a: &Grid, b: &Grid) -> bool {
    let [of_a, of_b] = [a, b].map(|grid| grid.ras_from_vox.linear());
    // Products of the columns: lengths and angles of the voxel axes.
    let of = |m: &Matrix3| product(&transposed(m), m);
    let (of_a, of_b) = (of(&of_a), of(&of_b));
    let differ = |i: usize, j: usize| {
        (of_a[i][j] - of_b[i][j]).abs() > 2.0 * ALIKE * (of_a[i][i] * of_a[j][j]).sqrt()
    };
    let is_same_shape = !(0..9).any(|at| differ(at / 3, at % 3));
    let hands = [a, b].map(|grid| grid.ras_from_vox.determinant() > 0.0);
    a.dims == b.dims && is_same_shape && hands[0] == hands[1]
}

/// The angle, degrees, by which the voxel axes of two grids are turned against each other.
pub fn turned_deg(a: &Grid, b: &Grid) -> f64 {
    let [a, b] = [a, b].map(|grid| grid.ras_from_vox.rotation());
    let turn = product(&transposed(&a), &b);
    let trace: f64 = (0..3).map(|i| turn[i][i]).sum();
    (0.5 * (trace - 1.0)).clamp(-1.0, 1.0).acos().to_degrees()
}

/// The turn and shift, mm along voxel axes from the middle, that take places on one grid to those on another of as many
/// voxels; `None` where the two lie where the other does.
fn moved(from: &Grid, to: &Grid) -> Option<(Matrix3, [f64; 3])> {
    let middle = |grid: &Grid| {
        let middle = grid.dims.map(|n| 0.5 * (n as f64 - 1.0));
        grid.ras_from_vox.apply(middle)
    };
    let [of_from, of_to] = [from, to].map(|grid| grid.ras_from_vox.rotation());
    let back = transposed(&of_to);
    let turn = product(&back, &of_from);
    let shift = turned(&back, sub(middle(from), middle(to)));
    let corner = [FAR_MM; 3];
    let is_same = norm(sub(turned(&turn, corner), corner)) < SAME_MM && norm(shift) < SAME_MM;
    (!is_same).then_some((turn, shift))
}

#[cfg(test)]
mod tests {
    use fimbria_image::Affine;

    use super::*;
    use crate::place::{Lattice, rotation};

    fn grid() -> Grid {
        let mut ras_from_vox = Affine::from_spacing([2.0, 2.5, 3.0]);
        ras_from_vox.0[0][0] = -2.0;
        (0..3).for_each(|a| ras_from_vox.0[a][3] = [12.0, -20.0, 7.0][a]);
        Grid { dims: [12, 14, 10], ras_from_vox }
    }

    /// The same, turned in the scanner and shifted.
    fn elsewhere() -> Grid {
        let turn = rotation([0.1, -0.05, 0.08]);
        let linear = product(&turn, &grid().ras_from_vox.linear());
        let ras_from_vox =
            Affine(std::array::from_fn(|i| [linear[i][0], linear[i][1], linear[i][2], 5.0]));
        Grid { ras_from_vox, ..grid() }
    }

    #[test]
    fn a_head_that_lay_still_is_where_both_headers_say() {
        let (first, second) = (grid(), elsewhere());
        let scan = Scan { grid: second, ..Scan::new(&Image::zeros(first, 1)) };
        let still = scan.still(&first, Eddy::None);
        let [a, b] = [&first, &second].map(Lattice::new);
        for voxel in [0, 77, 901] {
            let there = b.vox(still.in_scanner(a.place(voxel)));
            let [known, here] = [
                second.ras_from_vox.apply(there),
                first.ras_from_vox.apply(first.voxel(voxel).map(|i| i as f64)),
            ];
            // Coordinates of some tens of mm.
            (0..3).for_each(|i| assert!((known[i] - here[i]).abs() < 1e-9, "{known:?} {here:?}"));
        }
        // And did not move in the scanner.
        let head = scan.head(&first, &still, 0.0);
        assert!(norm(head.shift_mm) < 1e-9 && norm(head.turn_vector()) < 1e-9);
    }

    #[test]
    fn grids_are_alike_where_a_rigid_motion_takes_one_to_the_other() {
        assert!(are_alike(&grid(), &elsewhere()));
        // The length of the vector that it is turned about.
        let known = norm([0.1, -0.05, 0.08]).to_degrees();
        assert!((turned_deg(&grid(), &elsewhere()) - known).abs() < 1e-9);
        let changed = |change: fn(&mut Grid)| {
            let mut other = elsewhere();
            change(&mut other);
            are_alike(&grid(), &other)
        };
        assert!(!changed(|grid| grid.dims[2] = 11));
        assert!(!changed(|grid| grid.ras_from_vox.0[1][1] *= 1.01));
        assert!(!changed(|grid| (0..3).for_each(|i| grid.ras_from_vox.0[i][0] *= -1.0)));
    }

    #[test]
    fn rounded_headers_say_the_same() {
        let mut other = grid();
        other.ras_from_vox.0[0][3] += 1e-5;
        let scan = Scan { grid: other, ..Scan::new(&Image::zeros(grid(), 1)) };
        assert_eq!(scan.still(&grid(), Eddy::Linear), Place::still(1, Eddy::Linear));
    }
}
