//! The cylinder's kernel as it is evaluated fast: along a column of receivers.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use super::number::{Element, Number};
use crate::{Cylinder, Geometry};

/// A cylinder in a frame (u, v, w): w along its axis in units of the window's half length 2a, u
/// and v across it at 45° to g. With h = 1 - |w| the published kernel is
///
/// strength · uv (3 - 2h) (h / (u² + v²))², strength = |g|² / (π L)
///
/// u, v, w are the frame's vectors for a step of one voxel along each of three axes, the last that
/// along which columns run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<E> {
    pub(crate) at: [E; 3],
    pub(crate) u: [E; 3],
    pub(crate) v: [E; 3],
    pub(crate) w: [E; 3],
    pub(crate) strength: E,
}

impl<E: Element> Source<E> {
    /// Of the cylinder in voxel `at`; `axes` says which voxel axis each of the three is.
    pub(crate) fn new(
        geometry: &Geometry,
        at: [usize; 3],
        cylinder: &Cylinder,
        axes: [usize; 3],
    ) -> Self {
        let [g, other] = cylinder.frame();
        let per_step = |d: [f64; 3]| axes.map(|a| E::from_f64(d[a] * geometry.spacing[a]));
        let turned = |sign: f64| [0, 1, 2].map(|a| FRAC_1_SQRT_2 * (g[a] + sign * other[a]));
        Self {
            at: axes.map(|a| E::from_f64(at[a] as f64)),
            u: per_step(turned(1.0)),
            v: per_step(turned(-1.0)),
            w: per_step(cylinder.axis.map(|n| n / (2.0 * cylinder.radius))),
            strength: E::from_f64(cylinder.sin_squared / (PI * cylinder.length)),
        }
    }
}

/// A [`Source`] seen from receivers at one place across the columns.
#[derive(Clone, Copy)]
pub(crate) struct Seen<N> {
    /// At the source's plane, and for a step along the column.
    u: [N; 2],
    v: [N; 2],
    w: [N; 2],
    /// Twice and three times the amount.
    two: N,
    three: N,
    tiny: N,
    one: N,
    zero: N,
}

impl<N: Number> Seen<N> {
    /// From `across` steps away, times `amount`.
    #[inline(always)]
    pub(crate) fn new(source: &Source<N::Element>, across: [N; 2], amount: N) -> Self {
        let of = |value: f64| amount.splat(N::Element::from_f64(value));
        Self {
            u: part(source.u, across),
            v: part(source.v, across),
            w: part(source.w, across),
            two: amount * of(2.0),
            three: amount * of(3.0),
            tiny: amount.splat(N::Element::TINY),
            one: of(1.0),
            zero: of(0.0),
        }
    }

    /// Two numbers whose product is the kernel, up to the strength, `along` steps from the
    /// source. It is 0 at the source itself, where u = v = 0 to the bit: what happens inside is
    /// added apart.
    #[inline(always)]
    pub(crate) fn factors(&self, along: N) -> [N; 2] {
        let u = self.u[1].mul_add(along, self.u[0]);
        let v = self.v[1].mul_add(along, self.v[0]);
        let w = self.w[1].mul_add(along, self.w[0]);
        let squared = v.mul_add(v, u.mul_add(u, self.tiny));
        let h = (self.one - w.abs()).max(self.zero);
        let steep = h / squared;
        [u * v * h.neg_mul_add(self.two, self.three), steep * steep]
    }
}

#[inline(always)]
fn part<N: Number>(v: [N::Element; 3], across: [N; 2]) -> [N; 2] {
    let like = across[0];
    let first = like.splat(v[0]) * across[0];
    [like.splat(v[1]).mul_add(across[1], first), like.splat(v[2])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_compute::dense::vec3::dot;

    fn geometry() -> Geometry {
        Geometry {
            dims: [32; 3],
            spacing: [0.8, 1.0, 1.25],
            b0: [0.48, -0.6, 0.64],
            reversed: [false; 3],
        }
    }

    /// Receivers within 6 voxels.
    fn steps() -> impl Iterator<Item = [i64; 3]> {
        (-6..=6).flat_map(|i| (-6..=6).flat_map(move |j| (-6..=6).map(move |k| [i, j, k])))
    }

    #[test]
    fn the_frame_gives_the_published_cylinder() {
        let geometry = geometry();
        for axis in [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.3, -0.5, 0.8], [0.48, -0.6, 0.64]] {
            let cylinder = Cylinder::new(&geometry, axis).unwrap();
            for axes in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
                let source = Source::<f64>::new(&geometry, [0; 3], &cylinder, axes);
                for steps in steps() {
                    let [p, q, r] = axes.map(|a| steps[a] as f64);
                    let [a, b] = Seen::new(&source, [p, q], 1.0).factors(r);
                    let got = a * b * source.strength;
                    let is_self = steps == [0; 3];
                    let expected = if is_self { 0.0 } else { cylinder.field(&geometry, steps) };
                    // Both are a few operations in f64; 1 is the scale of the field.
                    assert!((got - expected).abs() < 1e-14, "{axis:?} {steps:?} {got} {expected}");
                }
            }
        }
    }

    #[test]
    fn a_lattice_point_in_the_window_is_off_the_axis() {
        let geometry = Geometry { spacing: [0.5, 1.0, 2.0], ..geometry() };
        for target in steps().filter(|s| *s != [0; 3]) {
            let cylinder = Cylinder::new(&geometry, geometry.displacement(target)).unwrap();
            for steps in steps().filter(|s| *s != [0; 3]) {
                let d = geometry.displacement(steps);
                let along = dot(d, cylinder.axis);
                let perpendicular = dot(d, d) - along * along;
                // Of the shortest spacing's square; what TINY is small against.
                assert!(along.abs() >= 2.0 * cylinder.radius || perpendicular > 0.05 * 0.25);
            }
        }
    }
}
