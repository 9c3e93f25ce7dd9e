//! The two kernels as they are evaluated fast: a tile of receivers against one source.

use std::f64::consts::PI;

use super::number::{Element, Number};
use crate::{Cylinder, Geometry};

/// A kernel and the parameters that its sources have.
pub(crate) trait Kind: Send + Sync {
    /// A source's parameters.
    type Source<E: Element>: Copy + Send + Sync;
    /// A source as a tile sees it.
    type Seen<N: Number>: Copy;

    /// `source` seen from receivers counted from `origin` (voxel coordinates).
    fn seen<N: Number>(
        source: &Self::Source<N::Element>,
        origin: [N::Element; 3],
        like: N,
    ) -> Self::Seen<N>;

    /// The kernel, up to the source's strength, at receivers `at` from the origin.
    fn value<N: Number>(seen: &Self::Seen<N>, at: [N; 3]) -> N;

    /// What the value is to be multiplied by.
    fn strength<E: Element>(source: &Self::Source<E>) -> E;

    /// The source's position, voxel coordinates.
    fn position<E: Element>(source: &Self::Source<E>) -> [E; 3];

    /// Where it reaches: the slab |Σ normal (p - position)| <= half.
    fn slab(source: &Self::Source<f32>) -> Slab;
}

/// The part of space that a source acts on.
#[derive(Clone, Copy)]
pub(crate) struct Slab {
    pub(crate) normal: [f32; 3],
    pub(crate) half: f32,
}

/// Receivers nearer to a cylinder's axis than the root of this times the smallest spacing are
/// outside its window, or the source itself, whose field is added apart. (In units of its
/// voxel's edges a lattice point is 1 away at least, and 0.95 at most of it along the axis.)
const LEAST_PERPENDICULAR: f64 = 1e-3;

/// Cylinders in a frame (u, v, w) with w along the axis and u along g:
/// the angular part 2 r_g²/r⥊² - |g|² is |g|² (u² - v²)/(u² + v²).
pub(crate) struct Cylinders;

/// A cylinder; u, v, w are the frame's vectors for a step of one voxel along each axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CylinderSource<E> {
    pub(crate) at: [E; 3],
    pub(crate) u: [E; 3],
    pub(crate) v: [E; 3],
    pub(crate) w: [E; 3],
    /// 2a.
    pub(crate) half: E,
    /// 3a.
    pub(crate) cap: E,
    pub(crate) strength: E,
    pub(crate) least: E,
}

impl<E: Element> CylinderSource<E> {
    pub(crate) fn new(geometry: &Geometry, at: [usize; 3], cylinder: &Cylinder) -> Self {
        let [u, v] = cylinder.frame();
        let per_step = |d: [f64; 3]| std::array::from_fn(|a| E::of(d[a] * geometry.spacing[a]));
        let a = cylinder.radius;
        let smallest = geometry.spacing.into_iter().fold(f64::INFINITY, f64::min);
        let strength = cylinder.sin_squared / (2.0 * PI * cylinder.length) / (4.0 * a * a * a);
        Self {
            at: at.map(|i| E::of(i as f64)),
            u: per_step(u),
            v: per_step(v),
            w: per_step(cylinder.axis),
            half: E::of(2.0 * a),
            cap: E::of(3.0 * a),
            strength: E::of(strength),
            least: E::of(LEAST_PERPENDICULAR * smallest * smallest),
        }
    }
}

/// A [`CylinderSource`] as a tile sees it: the frame, and the tile's origin in it.
#[derive(Clone, Copy)]
pub(crate) struct CylinderSeen<N> {
    u: [N; 3],
    v: [N; 3],
    w: [N; 3],
    origin: [N; 3],
    half: N,
    cap: N,
    least: N,
    zero: N,
}

impl Kind for Cylinders {
    type Source<E: Element> = CylinderSource<E>;
    type Seen<N: Number> = CylinderSeen<N>;

    #[inline(always)]
    fn seen<N: Number>(
        source: &CylinderSource<N::Element>,
        origin: [N::Element; 3],
        like: N,
    ) -> CylinderSeen<N> {
        let d = [
            like.splat(origin[0].minus(source.at[0])),
            like.splat(origin[1].minus(source.at[1])),
            like.splat(origin[2].minus(source.at[2])),
        ];
        let u = splat3(source.u, like);
        let v = splat3(source.v, like);
        let w = splat3(source.w, like);
        CylinderSeen {
            u,
            v,
            w,
            origin: [inner(u, d), inner(v, d), inner(w, d)],
            half: like.splat(source.half),
            cap: like.splat(source.cap),
            least: like.splat(source.least),
            zero: like.splat(N::Element::default()),
        }
    }

    #[inline(always)]
    fn value<N: Number>(seen: &CylinderSeen<N>, at: [N; 3]) -> N {
        let u = inner_plus(seen.u, at, seen.origin[0]);
        let v = inner_plus(seen.v, at, seen.origin[1]);
        let w = inner_plus(seen.w, at, seen.origin[2]);
        let uu = u * u;
        let perpendicular = v.mul_add(v, uu).max(seen.least);
        let angular = v.neg_mul_add(v, uu);
        let h = (seen.half - w.abs()).max(seen.zero);
        let window = h * h * (seen.cap - h);
        angular * window / (perpendicular * perpendicular)
    }

    #[inline(always)]
    fn strength<E: Element>(source: &CylinderSource<E>) -> E {
        source.strength
    }

    #[inline(always)]
    fn position<E: Element>(source: &CylinderSource<E>) -> [E; 3] {
        source.at
    }

    fn slab(source: &CylinderSource<f32>) -> Slab {
        Slab { normal: source.w, half: source.half }
    }
}

/// Spheres: (3 (b·d)² - |d|²) / |d|⁵.
pub(crate) struct Spheres;

/// A sphere; `b` is B0 for a step of one voxel along each axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SphereSource<E> {
    pub(crate) at: [E; 3],
    pub(crate) spacing: [E; 3],
    pub(crate) b: [E; 3],
    pub(crate) strength: E,
    pub(crate) least: E,
}

impl<E: Element> SphereSource<E> {
    pub(crate) fn new(geometry: &Geometry, at: [usize; 3]) -> Self {
        let smallest = geometry.spacing.into_iter().fold(f64::INFINITY, f64::min);
        Self {
            at: at.map(|i| E::of(i as f64)),
            spacing: geometry.spacing.map(E::of),
            b: std::array::from_fn(|a| E::of(geometry.b0[a] * geometry.spacing[a])),
            strength: E::of(1.0 / (4.0 * PI)),
            least: E::of(0.5 * smallest * smallest),
        }
    }
}

/// A [`SphereSource`] as a tile sees it.
#[derive(Clone, Copy)]
pub(crate) struct SphereSeen<N> {
    origin: [N; 3],
    spacing: [N; 3],
    b: [N; 3],
    three: N,
    least: N,
}

impl Kind for Spheres {
    type Source<E: Element> = SphereSource<E>;
    type Seen<N: Number> = SphereSeen<N>;

    #[inline(always)]
    fn seen<N: Number>(
        source: &SphereSource<N::Element>,
        origin: [N::Element; 3],
        like: N,
    ) -> SphereSeen<N> {
        SphereSeen {
            origin: [
                like.splat(origin[0].minus(source.at[0])),
                like.splat(origin[1].minus(source.at[1])),
                like.splat(origin[2].minus(source.at[2])),
            ],
            spacing: splat3(source.spacing, like),
            b: splat3(source.b, like),
            three: like.splat(N::Element::of(3.0)),
            least: like.splat(source.least),
        }
    }

    #[inline(always)]
    fn value<N: Number>(seen: &SphereSeen<N>, at: [N; 3]) -> N {
        let steps = [at[0] + seen.origin[0], at[1] + seen.origin[1], at[2] + seen.origin[2]];
        let d =
            [steps[0] * seen.spacing[0], steps[1] * seen.spacing[1], steps[2] * seen.spacing[2]];
        let along = inner(seen.b, steps);
        let squared = inner(d, d);
        // At the source itself both terms vanish.
        let angular =
            squared.neg_mul_add(seen.b[0].splat(N::Element::of(1.0)), seen.three * along * along);
        let r = squared.max(seen.least).rsqrt();
        let rr = r * r;
        angular * (rr * rr * r)
    }

    #[inline(always)]
    fn strength<E: Element>(source: &SphereSource<E>) -> E {
        source.strength
    }

    #[inline(always)]
    fn position<E: Element>(source: &SphereSource<E>) -> [E; 3] {
        source.at
    }

    fn slab(_: &SphereSource<f32>) -> Slab {
        Slab { normal: [0.0; 3], half: 1.0 }
    }
}

#[inline(always)]
fn splat3<N: Number>(v: [N::Element; 3], like: N) -> [N; 3] {
    [like.splat(v[0]), like.splat(v[1]), like.splat(v[2])]
}

#[inline(always)]
fn inner<N: Number>(a: [N; 3], b: [N; 3]) -> N {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

/// a·b + c; the sum over x and y comes first, which tiles of one plane share.
#[inline(always)]
fn inner_plus<N: Number>(a: [N; 3], b: [N; 3], c: N) -> N {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0].mul_add(b[0], c)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::dot;
    use crate::kernel::sphere_field;

    fn geometry() -> Geometry {
        Geometry { dims: [32; 3], spacing: [0.8, 1.0, 1.25], b0: [0.48, -0.6, 0.64] }
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
            let source = CylinderSource::<f64>::new(&geometry, [0; 3], &cylinder);
            for steps in steps().filter(|s| *s != [0; 3]) {
                let seen = Cylinders::seen(&source, [0.0; 3], 0.0);
                let at = steps.map(|s| s as f64);
                let got = Cylinders::value(&seen, at) * source.strength;
                let expected = cylinder.field(&geometry, steps);
                // Both are a few operations in f64; 1 is the scale of the field.
                assert!((got - expected).abs() < 1e-14, "{axis:?} {steps:?} {got} {expected}");
            }
            let seen = Cylinders::seen(&source, [0.0; 3], 0.0);
            assert_eq!(Cylinders::value(&seen, [0.0; 3]), 0.0, "the source itself is added apart");
        }
    }

    #[test]
    fn the_sphere_is_the_published_one() {
        let geometry = geometry();
        let source = SphereSource::<f64>::new(&geometry, [0; 3]);
        for steps in steps() {
            let seen = Spheres::seen(&source, [0.0; 3], 0.0);
            let got = Spheres::value(&seen, steps.map(|s| s as f64)) * source.strength;
            let expected = sphere_field(&geometry, steps);
            assert!((got - expected).abs() < 1e-14, "{steps:?} {got} {expected}");
        }
    }

    #[test]
    fn a_lattice_point_in_the_window_is_off_the_axis() {
        let geometry = Geometry { spacing: [0.5, 1.0, 2.0], ..geometry() };
        let least = LEAST_PERPENDICULAR * 0.25;
        for target in steps().filter(|s| *s != [0; 3]) {
            let cylinder = Cylinder::new(&geometry, geometry.displacement(target)).unwrap();
            for steps in steps().filter(|s| *s != [0; 3]) {
                let d = geometry.displacement(steps);
                let along = dot(d, cylinder.axis);
                let perpendicular = dot(d, d) - along * along;
                assert!(along.abs() >= 2.0 * cylinder.radius || perpendicular > least);
            }
        }
    }
}
