//! Axes that directions and tensors are given in, and the turn from one to another.
//!
//! Inside fimbria everything is in scanner RAS+ axes. Files of other programs use the axes of the
//! image array: FSL with its x reversed where det(affine) > 0 (so that the frame is always
//! radiological, left-handed in the scanner), DIPY as they are. Directions turn with the rotation
//! of the affine, never with its voxel sizes.

pub use crate::matrix::{Matrix3, determinant, inverse};
use rayon::prelude::*;

use crate::{Affine, Image};

/// The axes in which a file gives directions or tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BvecFrame {
    /// Voxel axes, x reversed where det(affine) > 0: FSL's bvecs, dtifit's vectors and tensors,
    /// bedpostX angles, BIDS bvecs.
    #[default]
    Fsl,
    /// Voxel axes as they are: DIPY.
    Voxel,
    /// Scanner RAS+ axes: MRtrix3 and fimbria.
    Scanner,
}

impl BvecFrame {
    /// The orthogonal matrix that takes components in this frame to scanner RAS+ components, for
    /// an image with the given affine. Its inverse is its transpose.
    pub fn ras_from_frame(self, ras_from_vox: &Affine) -> Matrix3 {
        let mut turn = match self {
            Self::Scanner => return Affine::IDENTITY.linear(),
            Self::Fsl | Self::Voxel => ras_from_vox.rotation(),
        };
        if self == Self::Fsl && ras_from_vox.determinant() > 0.0 {
            for row in &mut turn {
                row[0] = -row[0];
            }
        }
        turn
    }

    /// The inverse of [`ras_from_frame`](Self::ras_from_frame).
    pub fn frame_from_ras(self, ras_from_vox: &Affine) -> Matrix3 {
        transposed(&self.ras_from_frame(ras_from_vox))
    }
}

impl std::str::FromStr for BvecFrame {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "fsl" => Ok(Self::Fsl),
            "voxel" => Ok(Self::Voxel),
            "scanner" => Ok(Self::Scanner),
            _ => Err(format!("`{name}` is not a frame: fsl, voxel or scanner")),
        }
    }
}

/// `m v`.
pub fn turned(m: &Matrix3, v: [f64; 3]) -> [f64; 3] {
    m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}

/// `m'`.
pub fn transposed(m: &Matrix3) -> Matrix3 {
    std::array::from_fn(|i| std::array::from_fn(|j| m[j][i]))
}

/// `a b`.
pub fn product(a: &Matrix3, b: &Matrix3) -> Matrix3 {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| a[i][k] * b[k][j]).sum::<f64>()))
}

/// `m T m'` of a symmetric tensor given as xx xy xz yy yz zz.
pub fn turned_tensor(m: &Matrix3, [xx, xy, xz, yy, yz, zz]: [f64; 6]) -> [f64; 6] {
    let t = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
    let r = product(&product(m, &t), &transposed(m));
    [r[0][0], r[0][1], r[0][2], r[1][1], r[1][2], r[2][2]]
}

/// Turns a map of vectors (x, y, z in three volumes, or several such triples) in place: every
/// vector v becomes `m v`.
///
/// # Panics
/// Where the number of volumes is not a multiple of 3.
pub fn turn_vectors(map: &mut Image, m: &Matrix3) {
    assert!(map.n_volumes.is_multiple_of(3), "{} volumes are not triples", map.n_volumes);
    let n = map.grid.len();
    if n == 0 {
        return;
    }
    for triple in map.data.chunks_exact_mut(3 * n) {
        let (x, yz) = triple.split_at_mut(n);
        let (y, z) = yz.split_at_mut(n);
        (x, y, z).into_par_iter().for_each(|(x, y, z)| {
            let v = turned(m, [*x, *y, *z].map(f64::from));
            [*x, *y, *z] = v.map(|c| c as f32);
        });
    }
}

/// Turns a map of tensors (xx xy xz yy yz zz in six volumes) in place: every tensor T becomes
/// `m T m'`.
///
/// # Panics
/// Where the map has not six volumes.
pub fn turn_tensors(map: &mut Image, m: &Matrix3) {
    assert_eq!(map.n_volumes, 6, "a tensor map has 6 volumes");
    let n = map.grid.len();
    let mut rest = &mut map.data[..];
    let entries: [&mut [f32]; 6] = std::array::from_fn(|_| rest.split_off_mut(..n).unwrap());
    let [xx, xy, xz, yy, yz, zz] = entries;
    (xx, xy, xz, yy, yz, zz).into_par_iter().for_each(|(xx, xy, xz, yy, yz, zz)| {
        let t = turned_tensor(m, [*xx, *xy, *xz, *yy, *yz, *zz].map(f64::from));
        [*xx, *xy, *xz, *yy, *yz, *zz] = t.map(|c| c as f32);
    });
}

/// The components of a symmetric tensor of order 4, given by its unique entries 1111 1112 ... 3333,
/// after every index was turned by `m`.
pub fn turned_quartic(m: &Matrix3, entries: [f64; 15]) -> [f64; 15] {
    // The digits of `at` in base 3 are the indices; an entry depends on how often each occurs only.
    let digits = |at: usize| [at / 27, at / 9 % 3, at / 3 % 3, at % 3];
    let place = |at: usize| {
        let count = |axis: usize| digits(at).iter().filter(|&&d| d == axis).count();
        let rest = 4 - count(0);
        rest * (rest + 1) / 2 + count(2)
    };
    let mut full: [f64; 81] = std::array::from_fn(|at| entries[place(at)]);
    for step in [27, 9, 3, 1] {
        full = std::array::from_fn(|at| {
            let index = at / step % 3;
            (0..3).map(|k| m[index][k] * full[at - index * step + k * step]).sum()
        });
    }
    let mut out = entries;
    for at in 0..81 {
        out[place(at)] = full[at];
    }
    out
}

/// Turns a map of symmetric tensors of order 4 (1111 1112 ... 3333 in fifteen volumes) in place,
/// all four indices by `m`.
///
/// # Panics
/// Where the map has not fifteen volumes.
pub fn turn_quartics(map: &mut Image, m: &Matrix3) {
    assert_eq!(map.n_volumes, 15, "a map of quartic forms has 15 volumes");
    let n = map.grid.len();
    for voxel in 0..n {
        let turned = turned_quartic(m, std::array::from_fn(|k| f64::from(map.data[k * n + voxel])));
        for (k, entry) in turned.into_iter().enumerate() {
            map.data[k * n + voxel] = entry as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grid;

    const OBLIQUE: Affine =
        Affine([[1.9, 0.3, -0.1, 10.0], [-0.35, 1.8, 0.6, -20.0], [0.05, -0.4, 2.4, 5.0]]);

    fn x_reversed(a: &Affine) -> Affine {
        Affine(a.0.map(|[x, y, z, t]| [-x, y, z, t]))
    }

    #[test]
    fn fsl_axes_are_the_same_in_the_scanner_whichever_way_x_is_stored() {
        let (stored, mirrored) = (OBLIQUE, x_reversed(&OBLIQUE));
        let g = [0.6, -0.48, 0.64];
        let a = turned(&BvecFrame::Fsl.ras_from_frame(&stored), g);
        let b = turned(&BvecFrame::Fsl.ras_from_frame(&mirrored), g);
        for i in 0..3 {
            assert!((a[i] - b[i]).abs() < 1e-12, "{a:?} {b:?}");
        }
    }

    #[test]
    fn a_turned_quartic_form_has_the_same_value_along_the_turned_direction() {
        let entries: [f64; 15] = std::array::from_fn(|k| ((k * 7) % 11) as f64 - 4.0);
        let value = |w: &[f64; 15], [x, y, z]: [f64; 3]| {
            let mut sum = 0.0;
            let mut place = 0;
            for i in (0..=4i32).rev() {
                for j in (0..=4 - i).rev() {
                    let k = 4 - i - j;
                    let factorial = |n: i32| f64::from((1..=n).product::<i32>());
                    let times = 24.0 / (factorial(i) * factorial(j) * factorial(k));
                    sum += times * w[place] * x.powi(i) * y.powi(j) * z.powi(k);
                    place += 1;
                }
            }
            sum
        };
        let m = OBLIQUE.rotation();
        let g = [0.6, -0.48, 0.64];
        let turned_form = turned_quartic(&m, entries);
        // A sum of 81 terms of order 10.
        assert!((value(&turned_form, turned(&m, g)) - value(&entries, g)).abs() < 1e-12);
    }

    #[test]
    fn fsl_reverses_x_only_for_positive_determinants() {
        let ras = Affine::from_spacing([2.0, 2.0, 3.0]);
        assert_eq!(turned(&BvecFrame::Fsl.ras_from_frame(&ras), [1.0, 0.0, 0.0])[0], -1.0);
        assert_eq!(turned(&BvecFrame::Voxel.ras_from_frame(&ras), [1.0, 0.0, 0.0])[0], 1.0);
        let las = x_reversed(&ras);
        for frame in [BvecFrame::Fsl, BvecFrame::Voxel] {
            assert_eq!(turned(&frame.ras_from_frame(&las), [1.0, 0.0, 0.0])[0], -1.0);
        }
    }

    #[test]
    fn voxel_sizes_do_not_bend_directions() {
        let flat = Affine::from_spacing([1.0, 1.0, 10.0]);
        let g = [0.0, 0.6, 0.8];
        assert_eq!(turned(&BvecFrame::Voxel.ras_from_frame(&flat), g), g);
    }

    /// Three vectors or one tensor per voxel on a small grid, with no two numbers equal.
    fn map(n_volumes: usize) -> Image {
        let mut map = Image::zeros(Grid { dims: [3, 2, 2], ras_from_vox: OBLIQUE }, n_volumes);
        for (i, v) in map.data.iter_mut().enumerate() {
            *v = (i as f32 * 0.37).sin();
        }
        map
    }

    #[test]
    fn turning_a_map_there_and_back_changes_nothing() {
        for frame in [BvecFrame::Fsl, BvecFrame::Voxel, BvecFrame::Scanner] {
            let (there, back) = (frame.frame_from_ras(&OBLIQUE), frame.ras_from_frame(&OBLIQUE));
            let (vectors, tensors) = (map(9), map(6));
            let (mut v, mut t) = (vectors.clone(), tensors.clone());
            turn_vectors(&mut v, &there);
            turn_vectors(&mut v, &back);
            turn_tensors(&mut t, &there);
            turn_tensors(&mut t, &back);
            // Two roundings to f32 of sums of at most nine terms below 1.
            for (a, b) in v.data.iter().zip(&vectors.data).chain(t.data.iter().zip(&tensors.data)) {
                assert!((a - b).abs() < 1e-6, "{a} {b}");
            }
        }
    }

    #[test]
    fn a_tensor_turns_with_its_vector() {
        let v = [0.6, -0.48, 0.64];
        let rank_one = |v: [f64; 3]| {
            [v[0] * v[0], v[0] * v[1], v[0] * v[2], v[1] * v[1], v[1] * v[2], v[2] * v[2]]
        };
        let m = BvecFrame::Fsl.ras_from_frame(&OBLIQUE);
        let expected = rank_one(turned(&m, v));
        for (a, b) in turned_tensor(&m, rank_one(v)).iter().zip(expected) {
            assert!((a - b).abs() < 1e-14);
        }
    }
}
