//! The axis of a model that fits turn: e₁ + t₁e₂ + t₂e₃ of length 1, about orthogonal axes e₁, e₂, e₃.

use fimbria_fitting::lm::Number;

/// Numbers of [`turned_axis`].
pub(crate) const TURNED: usize = 9;

/// Writes the axis, then its derivatives by t₁ and by t₂.
#[inline(always)]
pub(crate) fn turned_axis<N: Number<Constant = N>>(t: [N; 2], axes: &[N], to: &mut [N]) {
    let one = t[0].constant(1.0);
    let inverse = one / (one + t[0] * t[0] + t[1] * t[1]).sqrt();
    for i in 0..3 {
        let axis = (axes[i] + t[0] * axes[3 + i] + t[1] * axes[6 + i]) * inverse;
        to[i] = axis;
        to[3 + i] = (axes[3 + i] - axis * t[0] * inverse) * inverse;
        to[6 + i] = (axes[6 + i] - axis * t[1] * inverse) * inverse;
    }
}

/// The squared cosine between a gradient and a [`turned_axis`], and its derivatives by t₁ and t₂.
#[inline(always)]
pub(crate) fn squared_cosine<N: Number<Constant = N>>(g: &[N], axis: &[N]) -> (N, [N; 2]) {
    let cosine = along(g, axis);
    let twice = cosine + cosine;
    (cosine * cosine, [twice * along(g, &axis[3..]), twice * along(g, &axis[6..])])
}

/// The product of a gradient with a vector.
#[inline(always)]
pub(crate) fn along<N: Number<Constant = N>>(g: &[N], vector: &[N]) -> N {
    (g[0] * vector[0]).plus_product(g[1], vector[1]).plus_product(g[2], vector[2])
}
