//! The largest and smallest kurtosis of any direction.
//!
//! K(n) = V(n) / (nᵀDn)² is stationary where V n³ = λ B n³ with B = sym(D ⊗ D), a generalised
//! eigenproblem of tensors (Kolda and Mayo, SIAM J. Matrix Anal. Appl. 35, 1563 (2014), example
//! 5.3). With y = D^½ n it is an ordinary one: K is the form of V's entries in D's eigenframe,
//! each divided by the roots of its four eigenvalues, on the unit sphere of y. The form is
//! evaluated on a grid; from the best point, and the best points away from where earlier climbs
//! ended, Newton's method in the tangent plane climbs to the top.

use fimbria_compute::math::rsqrt_finite;
use fimbria_compute::{Lanes, Real};
use fimbria_tensors::starts::half_sphere;
use pulp::Simd;

use crate::dki::form::{N_W, quartic_terms};
use crate::dti::lanes::arrays::{axpy, scale, select};
use crate::dti::lanes::eigen::{across, dot};

use super::frame::{hessian, times};

/// Points of the grid: 14 degrees apart, from where Newton's method finds the top of a quartic
/// form.
pub(crate) const N_GRID: usize = 96;
/// Climbs for each extreme.
pub(crate) const N_CLIMBS: usize = 6;
/// Steps of a climb.
pub(crate) const N_STEPS: usize = 6;
/// The longest step, as the tangent of its angle.
pub(crate) const LONGEST: f32 = 0.3;
/// Grid points nearer than this cosine to where a climb ended are not climbed from again.
pub(crate) const NEAR: f32 = 0.9;
/// Curvatures below this fraction of the form's value are taken as this.
pub(crate) const LEAST_CURVATURE: f32 = 1e-3;

/// The grid, and what its points multiply the entries of a form by.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub(crate) points: Vec<[f32; 3]>,
    pub(crate) terms: Vec<[f32; N_W]>,
}

impl Grid {
    pub(crate) fn new() -> Self {
        let points = half_sphere(N_GRID);
        Self {
            terms: points.iter().map(|&g| quartic_terms(g).map(|t| t as f32)).collect(),
            points: points.iter().map(|&g| g.map(|c| c as f32)).collect(),
        }
    }
}

/// The entries of V in the frame of D's eigenvectors, over the roots of its eigenvalues.
#[inline(always)]
pub(super) fn whitened<R: Real>(l: [R; 3], v: &[R; N_W]) -> [R; N_W] {
    let mut root = l;
    for i in 0..3 {
        root[i] = rsqrt_finite(l[i]);
    }
    let mut out = *v;
    for k in 0..N_W {
        for (i, &power) in crate::dki::form::QUARTIC[k].iter().enumerate() {
            for _ in 0..power {
                out[k] = out[k] * root[i];
            }
        }
    }
    out
}

/// Smallest and largest value of a quartic form on the unit sphere; `values` has room for
/// [`N_GRID`] registers.
#[inline(always)]
pub(super) fn extremes<S: Simd>(
    simd: S,
    w: &[Lanes<S>; N_W],
    grid: &Grid,
    values: &mut [f32],
) -> [Lanes<S>; 2] {
    let lanes = Lanes::<S>::LANES;
    for (terms, value) in grid.terms.iter().zip(values.chunks_exact_mut(lanes)) {
        // Two sums, which do not wait for each other.
        let mut even = w[0] * terms[0];
        let mut odd = w[1] * terms[1];
        for k in (2..N_W - 1).step_by(2) {
            even = w[k].mul_add(Lanes::new(simd, terms[k]), even);
            odd = w[k + 1].mul_add(Lanes::new(simd, terms[k + 1]), odd);
        }
        even = w[N_W - 1].mul_add(Lanes::new(simd, terms[N_W - 1]), even);
        (even + odd).store(value);
    }
    let largest = highest(simd, w, 1.0, grid, values);
    let smallest = -highest(simd, &scale(*w, Lanes::new(simd, -1.0)), -1.0, grid, values);
    [smallest, largest]
}

/// The largest value of the form; the grid's `values` times `sign` are its own.
#[inline(always)]
fn highest<S: Simd>(
    simd: S,
    w: &[Lanes<S>; N_W],
    sign: f32,
    grid: &Grid,
    values: &[f32],
) -> Lanes<S> {
    let lanes = Lanes::<S>::LANES;
    let lowest = Lanes::new(simd, f32::MIN);
    let mut highest = lowest;
    let mut ends = [[Lanes::new(simd, 0.0); 3]; N_CLIMBS];
    for climb in 0..N_CLIMBS {
        let mut best = lowest;
        let mut start = ends[0];
        for (point, value) in grid.points.iter().zip(values.chunks_exact(lanes)) {
            let g = [
                Lanes::new(simd, point[0]),
                Lanes::new(simd, point[1]),
                Lanes::new(simd, point[2]),
            ];
            let mut value = Lanes::load(simd, value) * sign;
            for end in ends.iter().take(climb) {
                let near = Lanes::new(simd, NEAR).less(dot(g, *end).abs());
                value = Lanes::select(near, lowest, value);
            }
            let better = best.less(value);
            best = Lanes::select(better, value, best);
            start = select(better, g, start);
        }
        let (value, end) = climb_from(w, start);
        highest = value.max(highest);
        ends[climb] = end;
    }
    highest
}

/// Climbs to the top near the unit vector `start`: Newton's steps, with the magnitudes of the
/// curvatures, so that they lead upwards everywhere. A step that does not is shortened.
#[inline(always)]
fn climb_from<R: Real>(w: &[R; N_W], start: [R; 3]) -> (R, [R; 3]) {
    let zero = start[0].splat(0.0);
    let mut top = start;
    let mut value = zero.splat(f32::MIN);
    let mut step = [zero; 3];
    for _ in 0..=N_STEPS {
        let x = axpy(zero.splat(1.0), step, top);
        let x = scale(x, rsqrt_finite(dot(x, x)));
        let matrix = hessian(w, x);
        let gradient = times(matrix, x);
        let here = dot(x, gradient);
        let better = value.less(here);
        top = select(better, x, top);
        value = R::select(better, here, value);
        let next = newton(x, matrix, gradient, here);
        step = select(better, next, scale(step, zero.splat(0.25)));
    }
    (value, top)
}

/// The step in the tangent plane of x that maximises the form to second order:
/// f(x + t) = f + 4 (g·t + ½ t·C t), C = 3 W x x - f.
#[inline(always)]
fn newton<R: Real>(x: [R; 3], matrix: [R; 6], gradient: [R; 3], value: R) -> [R; 3] {
    let one = value.splat(1.0);
    let (e1, e2) = across(x);
    let (m1, m2) = (times(matrix, e1), times(matrix, e2));
    let (c11, c12, c22) = (dot(e1, m1) * 3.0, dot(e1, m2) * 3.0, dot(e2, m2) * 3.0);
    let (g1, g2) = (dot(e1, gradient), dot(e2, gradient));
    // Eigenvalues middle ± radius; the magnitudes' inverse is mean + half difference · (C - middle) / radius.
    let h = (c11 - c22) * 0.5;
    let middle = (c11 + c22) * 0.5 - value;
    let radius = h.mul_add(h, c12 * c12).sqrt();
    let least = value.abs().mul_add(one.splat(LEAST_CURVATURE), one.splat(1e-20));
    let high = one / (middle + radius).abs().max(least);
    let low = one / (middle - radius).abs().max(least);
    let mean = (high + low) * 0.5;
    let skew = (high - low) * 0.5 / radius.max(one.splat(1e-20));
    let t1 = mean.mul_add(g1, skew * h.mul_add(g1, c12 * g2));
    let t2 = mean.mul_add(g2, skew * h.neg_mul_add(g2, c12 * g1));
    let length = t1.mul_add(t1, t2 * t2).sqrt();
    let shorten = (one.splat(LONGEST) / length.max(one.splat(1e-20))).min(one);
    axpy(t1 * shorten, e1, scale(e2, t2 * shorten))
}
