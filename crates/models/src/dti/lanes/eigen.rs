//! Eigenpairs of a symmetric 3x3 matrix, one per lane, without iteration or branch.
//!
//! The eigenvalue that lies apart from the other two is a root of the characteristic polynomial
//! where that is steep, so a closed form finds it to rounding, and its eigenvector is a column of
//! the adjugate. The other two come from the 2x2 problem in the plane across it, which is stable
//! however close they are (Eberly, "A robust eigensolver for 3x3 symmetric matrices", 2014).

use fimbria_compute::Real;
use fimbria_compute::math::rsqrt_finite;

use super::arrays::{axpy, scale, select};

/// Squared anisotropy below this fraction of the squared tensor is rounding: the eigenvectors are
/// then the axes and the mode is 0.
const ROUNDING: f32 = 1e-14;

/// The part of a tensor that has a direction.
#[derive(Clone, Copy)]
pub(crate) struct Deviator<R: Real> {
    /// A third of the trace.
    pub(crate) mean: R,
    /// p: the root of a sixth of the squared norm of the deviatoric part.
    pub(crate) size: R,
    /// The deviatoric part over p, xx xy xz yy yz zz; zero where it is rounding.
    unit: [R; 6],
    /// Half its determinant, -1 to 1: the mode of the tensor.
    pub(crate) mode: R,
}

impl<R: Real> Deviator<R> {
    #[inline(always)]
    pub(crate) fn new([xx, xy, xz, yy, yz, zz]: [R; 6]) -> Self {
        let mean = (xx + yy + zz) * (1.0 / 3.0);
        let a = [xx - mean, xy, xz, yy - mean, yz, zz - mean];
        let diagonal = a[5].mul_add(a[5], a[3].mul_add(a[3], a[0] * a[0]));
        let off = a[4].mul_add(a[4], a[2].mul_add(a[2], a[1] * a[1]));
        let size2 = off.mul_add(off.splat(2.0), diagonal) * (1.0 / 6.0);
        let zero = mean.splat(0.0);
        let least = (mean * mean).mul_add(mean.splat(0.5 * ROUNDING), mean.splat(1e-30));
        let rounding = size2.at_most(least);
        let inverse = rsqrt_finite(R::select(rounding, mean.splat(1.0), size2));
        let size = R::select(rounding, zero, size2 * inverse);
        let inverse = R::select(rounding, zero, inverse);
        let unit = scale(a, inverse);
        let [xx, xy, xz, yy, yz, zz] = unit;
        let minor = |a: R, b: R, c: R, d: R| b.neg_mul_add(c, a * d);
        let determinant = xz.mul_add(
            minor(xy, yy, xz, yz),
            xy.neg_mul_add(minor(xy, yz, xz, zz), xx * minor(yy, yz, yz, zz)),
        );
        let mode = (determinant * 0.5).max(mean.splat(-1.0)).min(mean.splat(1.0));
        Self { mean, size, unit, mode }
    }

    /// FA: √(3/2) times the norm of the deviatoric part over that of the tensor.
    #[inline(always)]
    pub(crate) fn fractional_anisotropy(&self) -> R {
        let zero = self.mean.splat(0.0);
        let (p2, m2) = (self.size * self.size, self.mean * self.mean);
        let ratio = p2 * 3.0 / (p2 * 2.0 + m2).max(zero.splat(1e-30));
        ratio.sqrt()
    }

    /// Whether an eigenvalue is negative: one of the sums of products of them is. FA exceeds 1 nowhere
    /// else, whatever rounding does.
    #[inline(always)]
    pub(crate) fn is_negative(&self) -> R::Flags {
        let zero = self.mean.splat(0.0);
        let (p2, m2) = (self.size * self.size, self.mean * self.mean);
        let determinant = self.mean * (m2 - p2 * 3.0) + p2 * self.size * self.mode * 2.0;
        self.mean.less(zero) | m2.less(p2) | determinant.less(zero)
    }

    /// Eigenvalues, largest first, and their unit eigenvectors.
    #[inline(always)]
    pub(crate) fn eigen(&self) -> ([R; 3], [[R; 3]; 3]) {
        let zero = self.mean.splat(0.0);
        let one = self.mean.splat(1.0);
        let prolate = zero.at_most(self.mode);
        let root = separate_root(self.mode.abs());
        let apart = R::select(prolate, root, -root);
        let axis = self.axis(apart);
        let (u, w) = across(axis);
        // The matrix in that plane: [[h + m, k], [k, m - h]].
        let (bu, bw) = (self.times(u), self.times(w));
        let (uu, ww, k) = (dot(u, bu), dot(w, bw), dot(u, bw));
        let h = (uu - ww) * 0.5;
        let m = (uu + ww) * 0.5;
        let radius = h.mul_add(h, k * k).sqrt();
        // Half the angle between (h, k) and the first axis, from the sum that does not cancel.
        let long = h.abs() + radius;
        let norm2 = long.mul_add(long, k * k);
        let turned = one.splat(1e-30).less(norm2);
        let inverse = rsqrt_finite(R::select(turned, norm2, one));
        let major = R::select(turned, long * inverse, one);
        let minor = R::select(turned, k * inverse, zero);
        let upright = zero.at_most(h);
        let (c, s) = (R::select(upright, major, minor), R::select(upright, minor, major));
        let large = axpy(c, u, scale(w, s));
        let small = axpy(-s, u, scale(w, c));
        let (large_value, small_value) = (m + radius, m - radius);
        let values =
            select(prolate, [apart, large_value, small_value], [large_value, small_value, apart]);
        let vectors = [
            select(prolate, axis, large),
            select(prolate, large, small),
            select(prolate, small, axis),
        ];
        (axpy(self.size, values, [self.mean; 3]), vectors)
    }

    /// The eigenvector of an eigenvalue of the unit deviator that lies apart from the others: the
    /// longest column of the adjugate of B - x I. The z axis where B is zero.
    #[inline(always)]
    fn axis(&self, x: R) -> [R; 3] {
        let [b_xx, xy, xz, b_yy, yz, b_zz] = self.unit;
        let (xx, yy, zz) = (b_xx - x, b_yy - x, b_zz - x);
        let minor = |a: R, b: R, c: R, d: R| b.neg_mul_add(c, a * d);
        let adj_xx = minor(yy, yz, yz, zz);
        let adj_xy = minor(xz, xy, zz, yz);
        let adj_xz = minor(xy, xz, yy, yz);
        let adj_yy = minor(xx, xz, xz, zz);
        let adj_yz = minor(xz, xx, yz, xy);
        let adj_zz = minor(xx, xy, xy, yy);
        let (x_column, y_column) = ([adj_xx, adj_xy, adj_xz], [adj_xy, adj_yy, adj_yz]);
        let column = select(adj_xx.less(adj_yy), y_column, x_column);
        let z_longest = adj_xx.max(adj_yy).at_most(adj_zz);
        let column = select(z_longest, [adj_xz, adj_yz, adj_zz], column);
        let inverse = rsqrt_finite(dot(column, column));
        scale(column, inverse)
    }

    /// The unit deviator times a vector.
    #[inline(always)]
    fn times(&self, v: [R; 3]) -> [R; 3] {
        let [xx, xy, xz, yy, yz, zz] = self.unit;
        [dot([xx, xy, xz], v), dot([xy, yy, yz], v), dot([xz, yz, zz], v)]
    }
}

#[inline(always)]
pub(crate) fn dot<R: Real>(a: [R; 3], b: [R; 3]) -> R {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

/// Two unit vectors that make a right-handed frame with the unit vector `v` (Duff et al. 2017,
/// "Building an orthonormal basis, revisited").
#[inline(always)]
pub(crate) fn across<R: Real>(v: [R; 3]) -> ([R; 3], [R; 3]) {
    let [x, y, z] = v;
    let sign = R::select(z.less(z.splat(0.0)), z.splat(-1.0), z.splat(1.0));
    let a = -(sign / (z * sign + 1.0));
    let b = x * y * a;
    (
        [(sign * x * x).mul_add(a, x.splat(1.0)), sign * b, -(sign * x)],
        [b, (y * y).mul_add(a, sign), -y],
    )
}

/// The root of x³ - 3x - 2r in [√3, 2], for r in [0, 1]: 2 cos(acos(r) / 3), which is smooth there
/// (its branch point is r = -1). A cubic through Chebyshev's points is within 7e-5; one Newton
/// step leaves 5e-9.
#[inline(always)]
fn separate_root<R: Real>(r: R) -> R {
    let x = r.polynomial([0.018_887_11, -0.081_762_01, 0.330_808_33, 1.732_123_8]);
    let x2 = x * x;
    let f = (x2 - 3.0).mul_add(x, r * -2.0);
    x - f / ((x2 - 1.0) * 3.0)
}

#[cfg(test)]
mod tests {
    use fimbria_compute::dense::jacobi::eigen3;

    use super::*;
    use fimbria_testing::{Noise, tensor};

    /// The angle between two axes in degrees.
    fn angle(a: [f32; 3], b: [f64; 3]) -> f64 {
        let a = a.map(f64::from);
        let cross: [f64; 3] = std::array::from_fn(|i| {
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            a[j] * b[k] - a[k] * b[j]
        });
        let sine = cross.iter().map(|c| c * c).sum::<f64>().sqrt();
        sine.min(1.0).asin().to_degrees()
    }

    /// Tensors of every shape, in µm²/ms, many with close eigenvalues.
    fn shapes() -> impl Iterator<Item = [f64; 6]> {
        let mut noise = Noise(21);
        (0..20_000).map(move |i| {
            let spread = 10f64.powf(-7.0 * noise.uniform());
            let base = 0.2 + 3.0 * noise.uniform();
            let eigenvalues = match i % 4 {
                0 => [base, base * noise.uniform(), -0.2 * noise.uniform()],
                1 => [base, base - spread, base * 0.3],
                2 => [base, base * 0.2 + spread, base * 0.2],
                _ => [base, base + spread * noise.uniform(), base - spread * noise.uniform()],
            };
            tensor(eigenvalues, std::array::from_fn(|_| 7.0 * noise.uniform())).0
        })
    }

    #[test]
    fn eigenvalues_are_those_of_jacobi() {
        for d in shapes() {
            let narrow = d.map(|d| d as f32);
            let (truth, _) = eigen3(narrow.map(f64::from));
            let (found, _) = Deviator::new(narrow).eigen();
            for k in 0..3 {
                // A few roundings of the largest element.
                let error = (f64::from(found[k]) - truth[k]).abs();
                assert!(error < 5e-7 * truth[0], "{found:?} {truth:?}");
            }
        }
    }

    #[test]
    fn eigenvectors_are_unit_orthogonal_and_right_where_gaps_allow() {
        for d in shapes() {
            let narrow = d.map(|d| d as f32);
            let (l, truth) = eigen3(narrow.map(f64::from));
            let (_, v) = Deviator::new(narrow).eigen();
            for k in 0..3 {
                assert!((dot(v[k], v[k]) - 1.0).abs() < 1e-6);
                assert!(dot(v[k], v[(k + 1) % 3]).abs() < 1e-6);
                let gap = (0..3).filter(|&j| j != k).map(|j| (l[j] - l[k]).abs());
                let gap = gap.fold(f64::INFINITY, f64::min);
                // Rounding of the tensor turns an eigenvector by rounding over gap.
                let limit = (6e-7 * l[0].abs() / gap).to_degrees() + 1e-4;
                assert!(limit > 90.0 || angle(v[k], truth[k]) < limit, "{l:?} {k}");
            }
        }
    }

    #[test]
    fn anisotropy_and_mode_are_those_of_the_eigenvalues() {
        for d in shapes() {
            let narrow = d.map(|d| d as f32);
            let found = Deviator::new(narrow);
            let (l, _) = eigen3(narrow.map(f64::from));
            let md = (l[0] + l[1] + l[2]) / 3.0;
            let a2: f64 = l.iter().map(|l| (l - md).powi(2)).sum();
            let l2: f64 = l.iter().map(|l| l * l).sum();
            let fa = (1.5 * a2 / l2).sqrt();
            // FA grows from zero with the deviator, whose elements carry rounding of the tensor.
            assert!((f64::from(found.fractional_anisotropy()) - fa).abs() < 6e-7, "{l:?}");
            let mo = 3.0 * 6f64.sqrt() * l.iter().map(|l| l - md).product::<f64>() / a2.powf(1.5);
            // The mode's change is that of the deviator over its size.
            let limit = 1e-6 + 3e-6 * md.abs() / a2.sqrt();
            assert!(limit > 1.0 || (f64::from(found.mode) - mo).abs() < limit, "{l:?} {mo}");
        }
    }

    #[test]
    fn multiples_of_the_identity_have_axes_and_no_mode() {
        for x in [0.0f32, 1e-20, 0.7, 3.0] {
            let deviator = Deviator::new([x, 0.0, 0.0, x, 0.0, x]);
            let (l, v) = deviator.eigen();
            assert!(l.iter().all(|l| (l - x).abs() <= 1e-7 * x), "{l:?}");
            assert_eq!(v, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
            assert_eq!((deviator.fractional_anisotropy(), deviator.mode), (0.0, 0.0));
        }
    }
}
