//! What a voxel's source does at its own centre so that a body of many has the field that it should.
//!
//! Sources stand on a lattice. In cubic voxels the fields of all others cancel at each of its points, as
//! within a uniform sphere (Lorentz). Where spacings differ they do not: at the points of a lattice of 1 x 1
//! x 2 mm they sum to -0.77 χ along its long side and 0.39 χ across. What a body is said to have is had back
//! by a field of each source at its own centre, less that sum:
//!
//! F_a(0) = -b_a S_a, S_a = Σ f(|d|/R) (3 d_a²/|d|² - 1)/(4π |d|³) over all d of the lattice but 0,
//!
//! with a smooth f that is 1 up to a half and 0 from 1 on: any of them gives the same as R grows, since what
//! the fields sum to far away is their integral, 0 over every direction. ΣS = 0. Cylinders alike, whose
//! window is oblique to the lattice: F_c(n, 0) less Σ f F_c(n, d), so that a straight bundle has the field of
//! an infinite cylinder. In cubes F_c(n, 0) is that published, though there the sum is up to 0.04, too.

use std::f64::consts::PI;

use fimbria_compute::dense::vec3::dot;

use crate::{Cylinder, Geometry};

/// R in units of the largest spacing: S is good to 1e-6, the sum of cylinders to 0.01.
const REACH: f64 = 16.0;
const REACH_OF_CYLINDERS: f64 = 8.0;

/// Sides that differ by no more than this part are those of a cube, rounded.
const CUBE: f64 = 1e-6;
/// As [`CUBE`], of cylinders: beyond this they are summed.
const CUBE_OF_CYLINDERS: f64 = 0.02;

/// What sources of a lattice do at their own centres.
#[derive(Clone, Debug)]
pub struct Lattice {
    b0: [f64; 3],
    /// S.
    sum: [f64; 3],
    /// Points about one of them, and f there; none of cubes.
    near: Vec<([f64; 3], f64)>,
}

impl Lattice {
    /// Of the voxels of `geometry`.
    pub fn new(geometry: &Geometry) -> Self {
        let [least, most] = [f64::min, f64::max]
            .map(|of| geometry.spacing.iter().copied().reduce(of).unwrap_or(1.0));
        let mut lattice = Self { b0: geometry.b0, sum: [0.0; 3], near: Vec::new() };
        if most > least * (1.0 + CUBE) {
            each_point(geometry.spacing, REACH * most, |d, f| {
                let squared = dot(d, d);
                let scale = f / (4.0 * PI * squared * squared.sqrt());
                (0..3).for_each(|a| {
                    lattice.sum[a] += scale * (3.0 * d[a] * d[a] / squared - 1.0);
                });
            });
        }
        if most > least * (1.0 + CUBE_OF_CYLINDERS) {
            let mut near = Vec::new();
            each_point(geometry.spacing, REACH_OF_CYLINDERS * most, |d, f| near.push((d, f)));
            lattice.near = near;
        }
        lattice
    }

    /// F_a(0) of a magnetisation of 1 along each axis.
    pub fn magnetised(&self) -> [f64; 3] {
        // Not -0, which is no other number.
        [0, 1, 2].map(|a| 0.0 - self.b0[a] * self.sum[a])
    }

    /// The field of a sphere of susceptibility 1 at its own centre.
    pub fn sphere(&self) -> f64 {
        dot(self.magnetised(), self.b0)
    }

    /// The field of a cylinder of susceptibility 1 at its own centre.
    pub fn cylinder(&self, cylinder: &Cylinder) -> f64 {
        let others = self.near.iter().map(|(d, f)| f * cylinder.field_at(*d)).sum::<f64>();
        cylinder.inside() - others
    }
}

/// Every point but 0 of the lattice within `reach`, and f there.
fn each_point(spacing: [f64; 3], reach: f64, mut visit: impl FnMut([f64; 3], f64)) {
    let [nx, ny, nz] = spacing.map(|s| (reach / s) as i64);
    for z in -nz..=nz {
        for y in -ny..=ny {
            for x in -nx..=nx {
                let d = [x as f64 * spacing[0], y as f64 * spacing[1], z as f64 * spacing[2]];
                let part = dot(d, d).sqrt() / reach;
                if part > 0.0 && part < 1.0 {
                    visit(d, smooth(part));
                }
            }
        }
    }
}

/// 1 up to a half and 0 from 1 on, smooth to every order.
fn smooth(x: f64) -> f64 {
    if x <= 0.5 {
        return 1.0;
    }
    let bump = |t: f64| (-1.0 / t).exp();
    let (from_one, from_half) = (bump(2.0 - 2.0 * x), bump(2.0 * x - 1.0));
    from_one / (from_one + from_half)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lattice(sides: [f64; 3], b0: [f64; 3]) -> Lattice {
        let unit = sides.iter().product::<f64>().cbrt();
        Lattice::new(&Geometry {
            dims: [1; 3],
            spacing: sides.map(|s| s / unit),
            b0,
            reversed: [false; 3],
        })
    }

    #[test]
    fn fields_cancel_at_the_points_of_a_cubic_lattice() {
        let (reach, mut sum) = (12.0, [0.0; 3]);
        each_point([1.0; 3], reach, |d, f| {
            let squared = dot(d, d);
            (0..3).for_each(|a| {
                sum[a] += f * (3.0 * d[a] * d[a] / squared - 1.0) / squared.powf(1.5);
            });
        });
        assert!(sum.iter().all(|s| s.abs() < 1e-12), "{sum:?}");
        let cubes = lattice([2.0; 3], [0.0, 0.6, 0.8]);
        assert_eq!((cubes.sphere(), cubes.magnetised()), (0.0, [0.0; 3]));
        // Cylinders of cubes are as published.
        let geometry =
            Geometry { dims: [1; 3], spacing: [1.0; 3], b0: [0.0, 0.6, 0.8], reversed: [false; 3] };
        let cylinder = Cylinder::new(&geometry, [0.3, 0.4, 0.5]).unwrap();
        assert_eq!(cubes.cylinder(&cylinder), cylinder.inside());
    }

    /// Chains that are far from each other compared to the spacing c within them: each is an infinite line
    /// of dipoles to the others, which has no field. Of its own it has 2 Σ 2/(4π (c n)³) = ζ(3)/(π c³), in a
    /// needle; in a sphere 1/3 less.
    #[test]
    fn points_in_chains_have_the_field_of_their_own_chain() {
        const ZETA_3: f64 = 1.202_056_903_159_594;
        let (a, c): (f64, f64) = (4.0, 1.0);
        let unit = (a * a * c).cbrt();
        let expected = ZETA_3 / (PI * (c / unit).powi(3)) - 1.0 / 3.0;
        let found = lattice([a, a, c], [0.0, 0.0, 1.0]);
        // Chains 4 spacings away have waves of exp(-2π 4) of it.
        assert!((found.sphere() + expected).abs() < 1e-5 * expected, "{found:?} {expected}");
        let across = lattice([a, a, c], [1.0, 0.0, 0.0]);
        assert!((across.sphere() - expected / 2.0).abs() < 1e-5 * expected);
    }
}
