//! Quartic forms in other axes.

use fimbria_compute::Real;

use crate::dki::form::{N_D, N_W, OF_PAIRS, PAIRS};

/// The products of the components of a and b as a symmetric matrix, off-diagonal elements added
/// to their mirror images.
#[inline(always)]
fn products<R: Real>(a: [R; 3], b: [R; 3]) -> [R; N_D] {
    let mut out = [a[0]; N_D];
    for (k, [i, j]) in PAIRS.into_iter().enumerate() {
        out[k] = if i == j { a[i] * b[i] } else { a[i].mul_add(b[j], a[j] * b[i]) };
    }
    out
}

#[inline(always)]
fn dot<R: Real>(a: [R; N_D], b: [R; N_D]) -> R {
    let mut sum = a[0] * b[0];
    for k in 1..N_D {
        sum = a[k].mul_add(b[k], sum);
    }
    sum
}

/// The matrix that is left of a form when two of its indices meet the matrix `m`, whose
/// off-diagonal elements count twice already.
#[inline(always)]
pub(super) fn contracted<R: Real>(w: &[R; N_W], m: [R; N_D]) -> [R; N_D] {
    let mut out = m;
    for p in 0..N_D {
        let mut sum = w[OF_PAIRS[p][0]] * m[0];
        for q in 1..N_D {
            sum = w[OF_PAIRS[p][q]].mul_add(m[q], sum);
        }
        out[p] = sum;
    }
    out
}

/// The form's second half-derivative W x x, a matrix.
#[inline(always)]
pub(super) fn hessian<R: Real>(w: &[R; N_W], x: [R; 3]) -> [R; N_D] {
    contracted(w, products(x, x))
}

/// The entries of the form `w` along the axes `frame`.
#[inline(always)]
pub(super) fn in_frame<R: Real>(w: &[R; N_W], frame: &[[R; 3]; 3]) -> [R; N_W] {
    let mut out = *w;
    for (ab, [a, b]) in PAIRS.into_iter().enumerate() {
        let m = contracted(w, products(frame[a], frame[b]));
        // Pairs before this one have met it already.
        for cd in ab..N_D {
            let [c, d] = PAIRS[cd];
            out[OF_PAIRS[ab][cd]] = dot(m, products(frame[c], frame[d]));
        }
    }
    out
}

/// The sum of the entries 11.. + 22.. + 33.. over both pairs: five times the mean over directions.
#[inline(always)]
pub(super) fn double_trace<R: Real>(w: &[R; N_W]) -> R {
    let diagonal = w[0] + w[10] + w[14];
    (w[3] + w[5] + w[12]).mul_add(diagonal.splat(2.0), diagonal)
}

/// The matrix as the product with a vector sees it.
#[inline(always)]
pub(super) fn times<R: Real>(m: [R; N_D], x: [R; 3]) -> [R; 3] {
    let [xx, xy, xz, yy, yz, zz] = m;
    [
        xz.mul_add(x[2], xy.mul_add(x[1], xx * x[0])),
        yz.mul_add(x[2], yy.mul_add(x[1], xy * x[0])),
        zz.mul_add(x[2], yz.mul_add(x[1], xz * x[0])),
    ]
}
