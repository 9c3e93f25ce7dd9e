//! Ways to swap and flip the axes of a gradient table.

use std::fmt;

use fimbria_image::frames::{Matrix3, product, transposed, turned};
use fimbria_image::{Affine, BvecFrame};

/// Axes swapped, then flipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisChange {
    /// Which axis of the table becomes the first, the second, the third.
    pub from: [usize; 3],
    /// Which of these is then flipped; `None` for none. To flip two is to flip the third: a direction
    /// and its opposite are the same.
    pub flipped: Option<usize>,
}

/// A change of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableChange {
    /// What is done.
    pub change: AxisChange,
    /// In which axes.
    pub axes: BvecFrame,
}

impl TableChange {
    /// Directions of a table, scanner axes, with the change done to it.
    pub fn applied(self, dirs_ras: &[[f64; 3]], ras_from_vox: &Affine) -> Vec<[f64; 3]> {
        let axes_from_ras = self.axes.frame_from_ras(ras_from_vox);
        let ras_from_axes = self.axes.ras_from_frame(ras_from_vox);
        let turn = product(&ras_from_axes, &product(&self.change.matrix(), &axes_from_ras));
        dirs_ras.iter().map(|dir| turned(&turn, *dir)).collect()
    }
}

impl fmt::Display for TableChange {
    /// As what is done, and in which axes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.axes {
            BvecFrame::Scanner => write!(f, "{} (scanner axes)", self.change),
            BvecFrame::Fsl | BvecFrame::Voxel => self.change.fmt(f),
        }
    }
}

/// Two changes are one where no entry of their matrices differs by more: a turn of some 15 degrees.
const ALIKE: f64 = 0.27;

impl AxisChange {
    /// All 24, none first.
    pub fn all() -> Vec<Self> {
        const ORDERS: [[usize; 3]; 6] =
            [[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2, 1], [1, 2, 0], [2, 0, 1]];
        let flips = [None, Some(0), Some(1), Some(2)];
        let all = ORDERS.iter().flat_map(|from| flips.map(|flipped| Self { from: *from, flipped }));
        all.collect()
    }

    /// The matrix that does it.
    pub(super) fn matrix(self) -> Matrix3 {
        let mut matrix = self.from.map(|axis| [0, 1, 2].map(|i| f64::from(u8::from(i == axis))));
        if let Some(axis) = self.flipped {
            matrix[axis] = matrix[axis].map(|x| -x);
        }
        matrix
    }
}

impl fmt::Display for AxisChange {
    /// As what is done to the table: "x and y swapped, z flipped".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let swapped = match self.from {
            [0, 1, 2] => "",
            [1, 0, 2] => "x and y swapped",
            [2, 1, 0] => "x and z swapped",
            [0, 2, 1] => "y and z swapped",
            [1, 2, 0] => "x y z replaced by y z x",
            _ => "x y z replaced by z x y",
        };
        f.write_str(swapped)?;
        let between = if swapped.is_empty() { "" } else { ", " };
        match self.flipped {
            Some(axis) => write!(f, "{between}{} flipped", ["x", "y", "z"][axis]),
            None if swapped.is_empty() => f.write_str("as it is"),
            None => Ok(()),
        }
    }
}

/// The changes of a table in these axes, with what each does to directions along the axes of voxels.
pub(super) fn changes(axes: BvecFrame, ras_from_vox: &Affine) -> Vec<(TableChange, Matrix3)> {
    let voxel_axes = (axes == BvecFrame::Scanner).then_some(BvecFrame::Voxel);
    let mut all: Vec<(TableChange, Matrix3)> = Vec::new();
    for axes in std::iter::once(axes).chain(voxel_axes) {
        let axes_from_vox = product(&axes.frame_from_ras(ras_from_vox), &ras_from_vox.rotation());
        for change in AxisChange::all() {
            // In the axes and back.
            let turn =
                product(&transposed(&axes_from_vox), &product(&change.matrix(), &axes_from_vox));
            if all.iter().all(|(_, other)| !are_alike(&turn, other)) {
                all.push((TableChange { change, axes }, turn));
            }
        }
    }
    all
}

/// True for turns that are nearly one; a direction and its opposite are the same.
pub(super) fn are_alike(a: &Matrix3, b: &Matrix3) -> bool {
    let is_near = |sign: f64| {
        let pairs = a.as_flattened().iter().zip(b.as_flattened());
        pairs.map(|(x, y)| (x - sign * y).abs()).fold(0.0, f64::max) < ALIKE
    };
    is_near(1.0) || is_near(-1.0)
}
