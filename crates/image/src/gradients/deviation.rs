//! Gradient non-linearity: in every voxel another direction and b than was asked for.

use crate::frames::{Matrix3, determinant, product, transposed, turned};

/// Coils deviate by tens of percent at the edge of the field of view.
const MOST_DEVIATION: f64 = 1.0;
/// A smaller determinant of I + L is no property of a gradient coil.
const LEAST_DETERMINANT: f64 = 1e-3;

/// How the gradient coil bends gradients in one voxel: a nominal gradient g becomes (I + L) g.
///
/// L comes from FSL's `grad_dev` image of nine volumes: volumes 0 to 2 are the first column of L,
/// 3 to 5 the second, 6 to 8 the third, as fractions (not percent). Rows and columns of L refer
/// to the axes of FSL's bvecs ([`BvecFrame::Fsl`](crate::BvecFrame::Fsl)) of the `grad_dev` image,
/// because FSL's programs multiply L with the bvecs as they stand in the file. This holds whatever
/// frame the bvecs at hand are in, so L is turned into scanner axes once per voxel and everything
/// after that is in scanner axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientDeviation {
    /// I + L in scanner RAS+ axes.
    ras: Matrix3,
}

impl GradientDeviation {
    /// From the nine samples of one voxel; `ras_from_fsl` is
    /// [`BvecFrame::Fsl.ras_from_frame`](crate::BvecFrame::ras_from_frame) of the `grad_dev`
    /// image. `None` for what no gradient coil does: a sample that is no number or larger than 1 in
    /// magnitude, or a determinant of I + L below 0.001.
    pub fn from_fsl(columns: [f64; 9], ras_from_fsl: &Matrix3) -> Option<Self> {
        // Not true of NaN.
        if !columns.iter().all(|l| l.abs() <= MOST_DEVIATION) {
            return None;
        }
        let i_plus_l: Matrix3 = std::array::from_fn(|row| {
            std::array::from_fn(|column| {
                columns[3 * column + row] + f64::from(u8::from(row == column))
            })
        });
        let ras = product(&product(ras_from_fsl, &i_plus_l), &transposed(ras_from_fsl));
        (determinant(&ras) >= LEAST_DETERMINANT).then_some(Self { ras })
    }

    /// I + L in scanner RAS+ axes.
    pub fn matrix_ras(&self) -> &Matrix3 {
        &self.ras
    }

    /// The unit direction and b that a volume of nominal unit direction `dir_ras` and b really
    /// has here: g' = (I + L) g, direction g'/|g'|, b |g'|². A volume without a direction stays
    /// as it is.
    pub fn deviated(&self, dir_ras: [f64; 3], b: f64) -> ([f64; 3], f64) {
        let bent = turned(&self.ras, dir_ras);
        let norm = bent[0].hypot(bent[1]).hypot(bent[2]);
        if norm > 0.0 { (bent.map(|c| c / norm), b * norm * norm) } else { (dir_ras, b) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Affine, BvecFrame};

    #[test]
    fn columns_come_first_and_b_grows_with_the_square() {
        // Only L[y][x] = 0.5, which is volume 1: a gradient along FSL x leans towards y.
        let mut l = [0.0; 9];
        l[1] = 0.5;
        let las = Affine::from_spacing([-2.0, 2.0, 2.0]);
        let deviation =
            GradientDeviation::from_fsl(l, &BvecFrame::Fsl.ras_from_frame(&las)).unwrap();
        // FSL x is scanner -x here, FSL y is scanner y.
        let (dir, b) = deviation.deviated([-1.0, 0.0, 0.0], 1000.0);
        let norm = 1.25f64.sqrt();
        assert!((b - 1250.0).abs() < 1e-9, "{b}");
        assert!((dir[0] + 1.0 / norm).abs() < 1e-12 && (dir[1] - 0.5 / norm).abs() < 1e-12);
        assert_eq!(deviation.deviated([0.0; 3], 0.0), ([0.0; 3], 0.0));
    }

    #[test]
    fn the_same_anatomy_stored_the_other_way_round_bends_the_same() {
        let l = [0.01, -0.02, 0.03, 0.04, -0.05, 0.06, 0.07, 0.08, -0.09];
        let dir = [0.6, 0.0, 0.8];
        let [a, b] = [2.0, -2.0].map(|x| {
            let affine = Affine::from_spacing([x, 2.0, 2.0]);
            let turn = BvecFrame::Fsl.ras_from_frame(&affine);
            GradientDeviation::from_fsl(l, &turn).unwrap().deviated(dir, 700.0)
        });
        assert!((a.1 - b.1).abs() < 1e-9, "{a:?} {b:?}");
        assert!((0..3).all(|i| (a.0[i] - b.0[i]).abs() < 1e-12), "{a:?} {b:?}");
    }

    #[test]
    fn what_no_coil_does_is_no_deviation() {
        let turn = BvecFrame::Fsl.ras_from_frame(&Affine::IDENTITY);
        for (at, value) in
            [(0, f64::NAN), (4, f64::INFINITY), (8, 1e30), (3, -1e30), (0, -1.0), (4, 30.0)]
        {
            let mut l = [0.01; 9];
            l[at] = value;
            assert_eq!(GradientDeviation::from_fsl(l, &turn), None, "{at} {value}");
        }
        assert!(GradientDeviation::from_fsl([0.3; 9], &turn).is_some());
    }
}
