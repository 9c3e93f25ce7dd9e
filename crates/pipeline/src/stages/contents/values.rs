//! What values can be where an image says nothing of itself.
//!
//! Nothing here is proof that numbers are directions: it finds those that cannot be. Functions on
//! the sphere that are nowhere much below zero have coefficients that are bounded by their mean;
//! forms of tensors are not below zero in any of some directions; directions have any sign, and lie one behind the other.

use fimbria_image::SignalSource;
use fimbria_tensors::general::form;
use fimbria_tensors::layout::Layout;
use fimbria_tensors::sh::lmax_of_count;

use super::Contents;

/// What the values of an image can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Looks {
    /// Three to each: of unit length, missing in places, or the longer first.
    pub(crate) like_directions: bool,
    /// Entries of a symmetric tensor of order 4 or above, lexicographic.
    pub(crate) like_entries: bool,
    /// Spherical harmonics, of order 2 or above, of a function that is not negative.
    pub(crate) like_harmonics: bool,
    /// A diffusion tensor, in one of the orders of programs.
    pub(crate) like_a_tensor: bool,
    /// None is below zero, and they are not all alike.
    pub(crate) like_numbers: bool,
    /// As many as a whole set of coefficients of order 4 or above.
    is_whole_set: bool,
}

/// About so many voxels are looked at.
const LOOKED_AT: usize = 4096;
/// What holds of this share of the voxels holds of the image: fits to noise fail in some.
const MOST: f64 = 0.95;
/// The same of coefficients: those that fits to real data make break their bounds in many voxels.
const MOST_COEFFICIENTS: f64 = 0.6;
/// The same of directions that fall in length: MRtrix3's do in three quarters of the voxels, those of
/// five chance lengths in one of 120.
const MOST_FALL: f64 = 0.5;
/// Fewer voxels than this tell nothing of signs.
const FEWEST: usize = 8;

impl Looks {
    /// Looks at voxels that hold something, spread over the grid.
    pub(crate) fn of_source(image: &dyn SignalSource) -> Self {
        let (n, voxels) = (image.n_volumes(), image.grid().len());
        // Of most images some nine tenths are empty.
        let step = (voxels / (10 * LOOKED_AT)).max(1) | 1;
        let mut rows = Vec::new();
        let mut row = vec![0.0_f32; n];
        for voxel in (0..voxels).step_by(step) {
            image.gather(&[voxel as u32], 1, &mut row);
            if row.iter().any(|value| value.is_finite() && *value != 0.0) {
                rows.push(row.iter().map(|value| f64::from(*value)).collect());
            }
        }
        // Of an image that is full they are ten times as many.
        let every = rows.len().div_ceil(LOOKED_AT).max(1);
        let rows: Vec<_> = rows.into_iter().step_by(every).collect();
        Self::of_rows(&rows)
    }

    /// The same of the values of some voxels.
    fn of_rows(rows: &[Vec<f64>]) -> Self {
        let n = rows.first().map_or(0, Vec::len);
        let order = lmax_of_count(n).filter(|order| *order >= 4);
        let share = |holds: &dyn Fn(&[f64]) -> bool| {
            rows.iter().filter(|row| holds(row)).count() as f64 / rows.len().max(1) as f64
        };
        let in_most = |holds: &dyn Fn(&[f64]) -> bool| share(holds) >= MOST;
        let in_some = |holds: &dyn Fn(&[f64]) -> bool| share(holds) > 0.2;
        let like_directions = n > 0
            && n.is_multiple_of(3)
            && (in_most(&|row| (length(&row[..3]) - 1.0).abs() < 1e-3)
                || in_some(&|row| is_cut_short(row))
                || (n >= 15 && share(&falls_in_length) >= MOST_FALL));
        let differ = rows.len() >= FEWEST && rows.iter().any(|row| *row != rows[0]);
        let mut positive_definite = ORDERS.iter().map(|order| {
            in_most(&|row| n == 6 && is_positive_definite(order.map(|entry| row[entry])))
        });
        Self {
            like_directions,
            like_entries: order.and_then(|order| Layout::new(order, 3).ok()).is_some_and(
                |layout| share(&|row| is_hardly_negative(&layout, row)) >= MOST_COEFFICIENTS,
            ),
            like_harmonics: lmax_of_count(n).filter(|l| *l >= 2).is_some_and(|l| {
                // Six numbers are bounded by the first one more easily by chance.
                let most = if l == 2 { MOST } else { MOST_COEFFICIENTS };
                share(&|row| is_density(row, l)) >= most
            }),
            like_a_tensor: differ
                && (positive_definite.any(|is| is) || (n == 9 && in_most(&is_symmetric))),
            like_numbers: differ && in_most(&|row| row.iter().all(|value| *value >= 0.0)),
            is_whole_set: order.is_some(),
        }
    }

    /// What an image must be that cannot hold directions; `None` where it can.
    pub(crate) fn unlike_directions(self) -> Option<Contents> {
        if self.like_directions {
            None
        } else if self.like_a_tensor {
            Some(Contents::Tensor)
        } else if self.like_numbers {
            Some(Contents::Numbers)
        } else if self.like_entries {
            Some(Contents::Entries)
        } else if self.like_harmonics {
            Some(Contents::Harmonics(None))
        } else if self.is_whole_set {
            // So many directions are shorter one after the other, or missing in places.
            Some(Contents::Entries)
        } else {
            None
        }
    }
}

/// Where xx xy xz yy yz zz stand: fimbria and FSL, MRtrix3, DIPY.
const ORDERS: [[usize; 6]; 3] = [[0, 1, 2, 3, 4, 5], [0, 3, 4, 1, 5, 2], [0, 1, 3, 2, 4, 5]];

fn length(v: &[f64]) -> f64 {
    v.iter().map(|c| c * c).sum::<f64>().sqrt()
}

/// True where the first direction is there and the last is not: zero or NaN.
fn is_cut_short(row: &[f64]) -> bool {
    let is_there = |triple: &[f64]| length(triple) > 0.0;
    row.len() >= 6 && is_there(&row[..3]) && !is_there(&row[row.len() - 3..])
}

/// True where no direction is longer than the one before.
fn falls_in_length(row: &[f64]) -> bool {
    let lengths: Vec<f64> = row.chunks_exact(3).map(length).collect();
    // The rounding of f32 and of angles.
    lengths.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-4))
}

/// True where the form is hardly anywhere below zero: along the axes and the diagonals of faces and of
/// the cube. Fits to noise leave a little of it there.
fn is_hardly_negative(layout: &Layout, row: &[f64]) -> bool {
    /// Share of the largest value. Fits to real data stay above a tenth of it in all voxels; real
    /// harmonics read as entries stay above a quarter in at most three voxels of ten.
    const SLACK: f64 = 0.25;
    let values = HALF_CUBE.map(|direction| {
        // A form of even order is larger by this power of the length.
        form(layout, row, &direction) / length(&direction).powi(layout.order() as i32)
    });
    let largest = values.iter().copied().fold(0.0, f64::max);
    values.iter().all(|value| *value >= -SLACK * largest)
}

/// Axes and diagonals of a cube, one of each pair.
const HALF_CUBE: [[f64; 3]; 13] = [
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
    [1.0, 1.0, 0.0],
    [1.0, -1.0, 0.0],
    [1.0, 0.0, 1.0],
    [1.0, 0.0, -1.0],
    [0.0, 1.0, 1.0],
    [0.0, 1.0, -1.0],
    [1.0, 1.0, 1.0],
    [1.0, 1.0, -1.0],
    [1.0, -1.0, 1.0],
    [1.0, -1.0, -1.0],
];

/// xx xy xz yy yz zz, the other entries not all zero.
fn is_positive_definite([xx, xy, xz, yy, yz, zz]: [f64; 6]) -> bool {
    let determinant =
        xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    let off = [xy, xz, yz].iter().any(|entry| *entry != 0.0);
    off && xx > 0.0 && yy > 0.0 && zz > 0.0 && xx * yy > xy * xy && determinant > 0.0
}

/// True of the nine entries of a symmetric matrix that is not diagonal.
fn is_symmetric(row: &[f64]) -> bool {
    let pairs = [(1, 3), (2, 6), (5, 7)].map(|(i, j)| [row[i], row[j]]);
    pairs.iter().all(|[a, b]| a == b) && pairs.iter().any(|[a, _]| *a != 0.0)
}

/// True where harmonics up to degree `order` can be those of a function that is not negative: by
/// the addition theorem the length of its coefficients of degree l is at most √(2l + 1) times the
/// first one. Deconvolution leaves some of it below zero.
fn is_density(row: &[f64], order: usize) -> bool {
    const SLACK: f64 = 1.5;
    row[0] > 0.0
        && (2..=order).step_by(2).all(|l| {
            let degree = &row[l * (l - 1) / 2..(l + 1) * (l + 2) / 2];
            length(degree) <= SLACK * ((2 * l + 1) as f64).sqrt() * row[0]
        })
}

#[cfg(test)]
mod tests {
    use fimbria_tensors::sh::{ShBasis, ShToForm};
    use fimbria_tensors::starts::half_sphere;

    use super::*;

    #[test]
    fn harmonics_and_unique_entries_are_told_apart() {
        for order in [4, 6, 8, 10, 12] {
            let exponents = Layout::new(order, 3).unwrap().exponents_3d();
            // A fibre each: (v·x)^order.
            let power = |fibre: &[f64; 3]| -> Vec<f64> {
                let entry = |e: &[usize; 3]| (0..3).map(|i| fibre[i].powi(e[i] as i32)).product();
                exponents.iter().map(entry).collect()
            };
            let entries: Vec<_> = half_sphere(200).iter().map(power).collect();
            let looks = Looks::of_rows(&entries);
            assert!(looks.like_entries && !looks.like_directions, "{order}");
            for basis in ShBasis::ALL {
                let between = ShToForm::new(basis, order).unwrap();
                let harmonics: Vec<_> = entries.iter().map(|row| between.to_sh(row)).collect();
                let looks = Looks::of_rows(&harmonics);
                assert!(looks.like_harmonics && !looks.like_entries, "{basis:?} {order}");
            }
        }
    }
}
