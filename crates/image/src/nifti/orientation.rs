//! From the orientation fields to `ras_from_vox` and back.

use super::fields::Fields;
use crate::error::HeaderError;
use crate::header::{Orientation, centred, is_usable};
use crate::{Affine, Grid};

/// The affine that a header gives, and which of its fields gave it.
pub(super) fn ras_from_vox(
    fields: &Fields,
    dims: [usize; 3],
) -> Result<(Affine, Orientation), HeaderError> {
    let (affine, orientation, which) = if fields.sform_code > 0 {
        (Affine(fields.sform), Orientation::Sform, "sform")
    } else if fields.qform_code > 0 {
        (from_qform(fields), Orientation::Qform, "qform")
    } else {
        let [x, y, z] = spacing_mm(fields);
        (centred(dims, [-x, y, z]), Orientation::Absent, "voxel size")
    };
    if is_usable(&affine) {
        Ok((affine, orientation))
    } else {
        Err(HeaderError::Orientation { which, rows: Box::new(affine.0) })
    }
}

/// Voxel sizes; sign and zero (both found in files) carry no meaning, zero is taken as 1 mm.
fn spacing_mm(fields: &Fields) -> [f64; 3] {
    std::array::from_fn(|axis| match fields.pixdim[axis + 1].abs() {
        0.0 => 1.0,
        size => size,
    })
}

/// The affine of the quaternion (method 2 of nifti1.h). Quaternions that are longer than 1 by
/// rounding are normalised, as the standard's own code does.
fn from_qform(fields: &Fields) -> Affine {
    let [mut b, mut c, mut d] = fields.quaternion_bcd;
    let rest = 1.0 - (b * b + c * c + d * d);
    let a = if rest > 1e-7 {
        rest.sqrt()
    } else {
        let length = (1.0 - rest).sqrt();
        (b, c, d) = (b / length, c / length, d / length);
        0.0
    };
    let rotation = [
        [a * a + b * b - c * c - d * d, 2.0 * (b * c - a * d), 2.0 * (b * d + a * c)],
        [2.0 * (b * c + a * d), a * a + c * c - b * b - d * d, 2.0 * (c * d - a * b)],
        [2.0 * (b * d - a * c), 2.0 * (c * d + a * b), a * a + d * d - b * b - c * c],
    ];
    let [x, y, z] = spacing_mm(fields);
    let z = if fields.pixdim[0] < 0.0 { -z } else { z };
    Affine(std::array::from_fn(|i| {
        let r = rotation[i];
        [r[0] * x, r[1] * y, r[2] * z, fields.q_offset_mm[i]]
    }))
}

/// Fills the orientation fields for a grid.
///
/// The sform holds the affine. The qform holds it too where a quaternion can (no shear), so that
/// programs that look there first find the same; else its code is 0.
pub(super) fn set(fields: &mut Fields, grid: &Grid) {
    let affine = &grid.ras_from_vox;
    fields.sform = affine.0;
    fields.sform_code = 1;
    let spacing = affine.spacing();
    fields.pixdim[0] = 1.0;
    fields.pixdim[1..4].copy_from_slice(&spacing);

    let rotation = affine.rotation();
    let sheared = (0..3).any(|i| {
        // f32 headers hold directions to 1e-7; a shear beyond 1e-5 would move a corner voxel.
        (0..3).any(|j| (affine.0[i][j] / spacing[j] - rotation[i][j]).abs() > 1e-5)
    });
    if sheared {
        return;
    }
    let sign = if affine.determinant() < 0.0 { -1.0 } else { 1.0 };
    fields.pixdim[0] = sign;
    fields.quaternion_bcd = quaternion_bcd(rotation.map(|[x, y, z]| [x, y, sign * z]));
    fields.q_offset_mm = affine.0.map(|row| row[3]);
    fields.qform_code = 1;
}

/// The quaternion of a proper rotation, with its real part made positive and left out.
///
/// Of the four numbers the largest is taken from the diagonal, the others by division through it,
/// so that none is the root of a difference near zero.
fn quaternion_bcd(r: [[f64; 3]; 3]) -> [f64; 3] {
    let squares = [
        1.0 + r[0][0] + r[1][1] + r[2][2],
        1.0 + r[0][0] - r[1][1] - r[2][2],
        1.0 - r[0][0] + r[1][1] - r[2][2],
        1.0 - r[0][0] - r[1][1] + r[2][2],
    ];
    let largest = (0..4).fold(0, |best, i| if squares[i] > squares[best] { i } else { best });
    let twice = squares[largest].sqrt();
    let q = match largest {
        0 => [twice * twice, r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]],
        1 => [r[2][1] - r[1][2], twice * twice, r[1][0] + r[0][1], r[0][2] + r[2][0]],
        2 => [r[0][2] - r[2][0], r[1][0] + r[0][1], twice * twice, r[2][1] + r[1][2]],
        _ => [r[1][0] - r[0][1], r[0][2] + r[2][0], r[2][1] + r[1][2], twice * twice],
    };
    let sign = if q[0] < 0.0 { -1.0 } else { 1.0 };
    [1, 2, 3].map(|i| sign * q[i] / (2.0 * twice))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A proper rotation by `angle` about `axis` (any length).
    fn rotation(axis: [f64; 3], angle: f64) -> [[f64; 3]; 3] {
        let length = axis.iter().map(|v| v * v).sum::<f64>().sqrt();
        let [x, y, z] = axis.map(|v| v / length);
        let (s, c) = angle.sin_cos();
        let t = 1.0 - c;
        [
            [t * x * x + c, t * x * y - s * z, t * x * z + s * y],
            [t * x * y + s * z, t * y * y + c, t * y * z - s * x],
            [t * x * z - s * y, t * y * z + s * x, t * z * z + c],
        ]
    }

    fn grid(rotation: [[f64; 3]; 3], spacing: [f64; 3]) -> Grid {
        Grid {
            dims: [5, 6, 7],
            ras_from_vox: Affine(std::array::from_fn(|i| {
                let r = rotation[i];
                [r[0] * spacing[0], r[1] * spacing[1], r[2] * spacing[2], -10.0 * i as f64]
            })),
        }
    }

    #[test]
    fn the_qform_says_the_same_as_the_sform_for_every_rotation_and_reflection() {
        use std::f64::consts::PI;
        let axes = [[1., 0., 0.], [0., 1., 0.], [0., 0., 1.], [1., -2., 0.5], [-1., -1., -1.]];
        for axis in axes {
            for angle in [0.0, 0.3, PI / 2.0, 2.5, PI - 1e-9, PI] {
                for flip in [1.0, -1.0] {
                    let r = rotation(axis, angle).map(|[x, y, z]| [flip * x, y, z]);
                    let grid = grid(r, [1.5, 2.0, 2.5]);
                    let mut fields = Fields::default();
                    set(&mut fields, &grid);
                    assert_eq!(fields.qform_code, 1);
                    let q = from_qform(&fields);
                    for (a, b) in q.0.iter().flatten().zip(grid.ras_from_vox.0.iter().flatten()) {
                        // A rotation by almost pi has a real part of 1e-9, which the root of
                        // 1 - b² - c² - d² knows to the root of the precision at best.
                        assert!((a - b).abs() < 1e-6, "{axis:?} {angle} {flip}: {q:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_shear_is_left_to_the_sform() {
        let mut grid = grid(rotation([0., 0., 1.], 0.2), [2.0; 3]);
        grid.ras_from_vox.0[0][1] += 0.1;
        let mut fields = Fields::default();
        set(&mut fields, &grid);
        assert_eq!((fields.sform_code, fields.qform_code), (1, 0));
        assert_eq!(ras_from_vox(&fields, grid.dims), Ok((grid.ras_from_vox, Orientation::Sform)));
    }

    #[test]
    fn sform_goes_before_qform_and_qform_before_nothing() {
        let mut fields = Fields { pixdim: [-1., 2., 3., 4., 0., 0., 0., 0.], ..Fields::default() };
        fields.sform = [[5., 0., 0., 1.], [0., 5., 0., 2.], [0., 0., 5., 3.]];
        fields.q_offset_mm = [7.0, 8.0, 9.0];
        (fields.sform_code, fields.qform_code) = (2, 1);
        let of = |f: &Fields| ras_from_vox(f, [3, 5, 7]).unwrap();
        assert_eq!(of(&fields), (Affine(fields.sform), Orientation::Sform));
        fields.sform_code = 0;
        let q = Affine([[2., 0., 0., 7.], [0., 3., 0., 8.], [0., 0., -4., 9.]]);
        assert_eq!(of(&fields), (q, Orientation::Qform));
        fields.qform_code = 0;
        let none = Affine([[-2., 0., 0., 2.], [0., 3., 0., -6.], [0., 0., 4., -12.]]);
        assert_eq!(of(&fields), (none, Orientation::Absent));
    }

    #[test]
    fn a_singular_sform_is_refused() {
        let mut fields = Fields { sform_code: 1, ..Fields::default() };
        fields.sform[0] = [1.0, 0.0, 0.0, 0.0];
        let error = ras_from_vox(&fields, [1; 3]).unwrap_err();
        assert!(matches!(error, HeaderError::Orientation { which: "sform", .. }));
    }
}
