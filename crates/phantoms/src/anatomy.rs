//! Where everything is: a head of unit size, in scanner RAS+ axes around the origin.

use std::f64::consts::PI;

use crate::bundle::{Bundle, Path, unit};
use fimbria_compute::dense::vec3::{Vec3, add, scale, sub};

/// An axis-aligned ellipsoid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ellipsoid {
    pub(crate) centre: Vec3,
    pub(crate) semi_axes: Vec3,
}

impl Ellipsoid {
    /// Distance from the centre in units of the surface's: below 1 inside.
    pub(crate) fn level(&self, p: Vec3) -> f64 {
        let r = sub(p, self.centre);
        (0..3).map(|i| (r[i] / self.semi_axes[i]).powi(2)).sum::<f64>().sqrt()
    }

    /// A lower bound of the distance to the surface on which [`level`](Self::level) is `surface`.
    pub(crate) fn clearance(&self, p: Vec3, surface: f64) -> f64 {
        let shortest = self.semi_axes.into_iter().fold(f64::INFINITY, f64::min);
        (self.level(p) - surface).abs() * shortest
    }
}

/// Fibres that spread from one point, below the brain, to everywhere above it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fan {
    root: Vec3,
    /// Level of the brain below which they are.
    pub(crate) level: f64,
}

impl Fan {
    /// The point they spread from.
    pub(crate) fn root(&self) -> Vec3 {
        self.root
    }

    /// The unit direction of its fibres at a point.
    pub(crate) fn direction(&self, p: Vec3) -> Vec3 {
        unit(sub(p, self.root))
    }
}

/// A head: fluid, under it a cortex of grey matter, under it white matter of bundles, and fibres
/// that fan out in between. Where several would be, bundles go before ventricles and these before
/// the fan.
#[derive(Clone, Debug)]
pub(crate) struct Anatomy {
    pub(crate) brain: Ellipsoid,
    /// Level of [`brain`](Self::brain) above which there is fluid; 1 for none.
    pub(crate) rim: f64,
    pub(crate) ventricles: Vec<Ellipsoid>,
    pub(crate) bundles: Vec<Bundle>,
    pub(crate) fan: Option<Fan>,
}

/// A place on the long bundle where another crosses it.
struct Station {
    /// Angle between the two, in degrees.
    angle_deg: f64,
    /// Where along the long bundle (scanner y).
    y: f64,
    /// Which way the other leaves it: from scanner x (0) towards z (90), in degrees.
    roll_deg: f64,
}

/// The crossings of the long bundle, back to front.
const STATIONS: [Station; 5] = [
    Station { angle_deg: 60.0, y: -0.52, roll_deg: 90.0 },
    Station { angle_deg: 45.0, y: -0.24, roll_deg: 150.0 },
    Station { angle_deg: 30.0, y: 0.04, roll_deg: 0.0 },
    Station { angle_deg: 75.0, y: 0.30, roll_deg: 60.0 },
    Station { angle_deg: 90.0, y: 0.52, roll_deg: 90.0 },
];

/// Scanner x and z of the long bundle, which runs along y.
const LONG_BUNDLE_XZ: [f64; 2] = [-0.40, -0.05];

impl Anatomy {
    /// A living head: fluid around the brain and in its ventricles.
    pub(crate) fn living() -> Self {
        let ventricle = |x| Ellipsoid { centre: [x, -0.10, 0.02], semi_axes: [0.06, 0.22, 0.09] };
        Self { rim: 0.94, ventricles: vec![ventricle(-0.10), ventricle(0.10)], ..Self::fixed() }
    }

    /// A fixed brain without fluid.
    pub(crate) fn fixed() -> Self {
        let brain = Ellipsoid { centre: [0.0; 3], semi_axes: [0.75, 0.95, 0.70] };
        let mut bundles = long_bundle_and_its_crossings();
        bundles.extend(bending());
        bundles.extend(threefold_crossing());
        let fan = Some(Fan { root: [0.0, -0.10, -0.80], level: 0.80 });
        Self { brain, rim: 1.0, ventricles: Vec::new(), bundles, fan }
    }
}

fn straight(centre: Vec3, half: Vec3, radius: f64) -> Bundle {
    Bundle { path: Path::Segment { from: sub(centre, half), to: add(centre, half) }, radius }
}

/// A bundle from back to front on the left, crossed at every [`STATIONS`] by a shorter one.
fn long_bundle_and_its_crossings() -> Vec<Bundle> {
    let [x, z] = LONG_BUNDLE_XZ;
    let mut bundles = vec![straight([x, 0.0, z], [0.0, 0.70, 0.0], 0.11)];
    bundles.extend(STATIONS.iter().map(|station| {
        let (sin, cos) = station.angle_deg.to_radians().sin_cos();
        let (sin_roll, cos_roll) = station.roll_deg.to_radians().sin_cos();
        let direction = [sin * cos_roll, cos, sin * sin_roll];
        straight([x, station.y, z], scale(direction, 0.24), 0.085)
    }));
    bundles
}

/// An arch over the midline, a long arc on the right, a tight U below the surface, and a straight
/// bundle along scanner z that passes through the arch.
fn bending() -> Vec<Bundle> {
    let arc = |centre, [start, towards]: [Vec3; 2], radius, sweep_deg: f64, tube| Bundle {
        path: Path::Arc { centre, start, towards, radius, sweep: sweep_deg * PI / 180.0 },
        radius: tube,
    };
    let (sin10, cos10) = 10.0_f64.to_radians().sin_cos();
    vec![
        arc([0.0, 0.15, -0.12], [[cos10, 0.0, sin10], [-sin10, 0.0, cos10]], 0.26, 160.0, 0.10),
        arc([0.30, 0.0, 0.10], [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]], 0.28, 180.0, 0.09),
        arc([0.36, 0.44, -0.05], [[0.0, -1.0, 0.0], [0.0, 0.0, 1.0]], 0.13, 180.0, 0.06),
        straight([0.18, 0.15, 0.0], [0.0, 0.0, 0.48], 0.09),
    ]
}

/// Three bundles along the scanner axes through one point.
fn threefold_crossing() -> Vec<Bundle> {
    let axis = |i: usize| std::array::from_fn(|j| if i == j { 0.18 } else { 0.0 });
    (0..3).map(|i| straight([0.36, -0.45, -0.05], axis(i), 0.07)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_compute::dense::vec3::dot;

    #[test]
    fn every_station_has_two_bundles_at_its_angle() {
        let anatomy = Anatomy::living();
        let [x, z] = LONG_BUNDLE_XZ;
        for station in STATIONS {
            let p = [x, station.y, z];
            let inside: Vec<_> =
                anatomy.bundles.iter().map(|b| b.probe(p)).filter(|(d, _)| *d < 0.0).collect();
            assert_eq!(inside.len(), 2, "at {} degrees", station.angle_deg);
            let angle = dot(inside[0].1, inside[1].1).abs().acos().to_degrees();
            assert!((angle - station.angle_deg).abs() < 1e-9, "{angle}");
        }
    }

    #[test]
    fn bundles_lie_within_the_brain() {
        let anatomy = Anatomy::living();
        for (i, bundle) in anatomy.bundles.iter().enumerate() {
            let samples: Vec<Vec3> = match &bundle.path {
                Path::Segment { from, to } => vec![*from, *to],
                Path::Arc { centre, start, towards, radius, sweep } => (0..=20)
                    .map(|k| {
                        let (sin, cos) = (sweep * f64::from(k) / 20.0).sin_cos();
                        let out = add(scale(*start, cos), scale(*towards, sin));
                        add(*centre, scale(out, *radius))
                    })
                    .collect(),
            };
            for p in samples {
                let level = anatomy.brain.level(p);
                assert!(level < anatomy.rim, "bundle {i} reaches level {level} at {p:?}");
            }
        }
    }

    #[test]
    fn clearance_never_exceeds_the_distance_to_the_surface() {
        let e = Ellipsoid { centre: [0.0; 3], semi_axes: [1.0, 2.0, 3.0] };
        assert!((e.clearance([0.0; 3], 1.0) - 1.0).abs() < 1e-12);
        assert!(e.clearance([0.0, 0.0, 4.0], 1.0) <= 1.0);
        assert!(e.clearance([1.5, 0.0, 0.0], 1.0) <= 0.5 + 1e-12);
    }
}
