//! Homogeneous forms: how a function on the sphere is stored and evaluated.
//!
//! An even function of degree d is `Σ c_ijk x^i y^j z^k` over i + j + k = d. Terms are in
//! lexicographic order (x first), as the unique entries of a symmetric tensor are; `c` has the
//! multiplicities `d! / (i! j! k!)` in it. On the unit sphere no term is larger than its entry, which
//! is no larger than the function, and the sum of all is at most 3^(d/2) times that: single
//! precision is right to 5e-6 of the largest value for degree 8, to 5e-5 for degree 12.

use fimbria_compute::{Lanes, Real};
use pulp::Simd;

/// Powers of a number up to the highest degree, from 0 on.
const POWERS: usize = 13;

/// Terms of a form of this degree.
pub(crate) const fn terms(order: usize) -> usize {
    (order + 1) * (order + 2) / 2
}

/// Exponents of x, y and z, term by term.
pub(crate) fn exponents(order: usize) -> impl Iterator<Item = [usize; 3]> {
    (0..=order).rev().flat_map(move |i| (0..=order - i).rev().map(move |j| [i, j, order - i - j]))
}

/// `d! / (i! j! k!)`, term by term.
pub(crate) fn multiplicities(order: usize) -> Vec<f32> {
    let over = |n: usize, k: usize| (0..k).fold(1.0, |c, t| c * (n - t) as f64 / (t + 1) as f64);
    exponents(order).map(|[i, j, _]| (over(order, i) * over(order - i, j)) as f32).collect()
}

/// The integrals of `x^i y^j z^k` over the unit sphere, term by term: zero unless all exponents are even,
/// else 4π (i-1)!! (j-1)!! (k-1)!! / (order + 1)!!.
pub(crate) fn integrals(order: usize) -> Vec<f64> {
    let odd = |n: usize| (1..n).step_by(2).map(|x| x as f64).product::<f64>();
    let sphere = 4.0 * std::f64::consts::PI / odd(order + 2);
    let integral = |e: [usize; 3]| {
        let is_even = e.iter().all(|n| n % 2 == 0);
        if is_even { sphere * e.map(odd).iter().product::<f64>() } else { 0.0 }
    };
    exponents(order).map(integral).collect()
}

/// `x^i y^j z^k`, term by term, for as many directions as `R` holds.
#[inline(always)]
pub(crate) fn monomials<R: Real, const ORDER: usize, const TERMS: usize>(
    dir: [R; 3],
) -> [R; TERMS] {
    let one = dir[0].splat(1.0);
    let mut powers = [[one; POWERS]; 3];
    for axis in 0..3 {
        for power in 1..=ORDER {
            powers[axis][power] = powers[axis][power - 1] * dir[axis];
        }
    }
    let mut all = [one; TERMS];
    // A row of known length each, which the compiler unrolls: none waits for memory.
    row::<R, ORDER, 0, 1>(&powers, &mut all);
    row::<R, ORDER, 1, 2>(&powers, &mut all);
    row::<R, ORDER, 2, 3>(&powers, &mut all);
    row::<R, ORDER, 3, 4>(&powers, &mut all);
    row::<R, ORDER, 4, 5>(&powers, &mut all);
    row::<R, ORDER, 5, 6>(&powers, &mut all);
    row::<R, ORDER, 6, 7>(&powers, &mut all);
    row::<R, ORDER, 7, 8>(&powers, &mut all);
    row::<R, ORDER, 8, 9>(&powers, &mut all);
    row::<R, ORDER, 9, 10>(&powers, &mut all);
    row::<R, ORDER, 10, 11>(&powers, &mut all);
    row::<R, ORDER, 11, 12>(&powers, &mut all);
    row::<R, ORDER, 12, 13>(&powers, &mut all);
    all
}

/// The terms with `x^(ORDER - ROW)`, of which there are LEN = ROW + 1; none beyond the last row.
#[inline(always)]
fn row<R: Real, const ORDER: usize, const ROW: usize, const LEN: usize>(
    [xs, ys, zs]: &[[R; POWERS]; 3],
    all: &mut [R],
) {
    if ROW <= ORDER {
        for z in 0..LEN {
            all[ROW * LEN / 2 + z] = xs[ORDER - ROW] * (ys[ROW - z] * zs[z]);
        }
    }
}

/// The values of N forms in as many directions as a register has lanes, given the monomials there; term
/// by term, so that none waits for another.
#[inline(always)]
pub(crate) fn values<S: Simd, const TERMS: usize, const N: usize>(
    monomials: &[Lanes<S>; TERMS],
    forms: [&[f32; TERMS]; N],
) -> [Lanes<S>; N] {
    let like = monomials[0];
    let mut sums = [like.splat(0.0); N];
    for term in 0..TERMS {
        for i in 0..N {
            sums[i] = monomials[term].mul_add(like.splat(forms[i][term]), sums[i]);
        }
    }
    sums
}

/// The value of one form in as many directions as a register has lanes: four sums side by side, whose
/// order depends on the form alone.
#[inline(always)]
pub(crate) fn value<S: Simd, const TERMS: usize>(
    monomials: &[Lanes<S>; TERMS],
    form: &[f32; TERMS],
) -> Lanes<S> {
    let like = monomials[0];
    let mut sums = [like.splat(0.0); 4];
    let whole = TERMS - TERMS % 4;
    for first in (0..whole).step_by(4) {
        for i in 0..4 {
            sums[i] = monomials[first + i].mul_add(like.splat(form[first + i]), sums[i]);
        }
    }
    for i in 0..TERMS % 4 {
        sums[i] = monomials[whole + i].mul_add(like.splat(form[whole + i]), sums[i]);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}
