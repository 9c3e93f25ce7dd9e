//! Brain stem and cerebellum. Positions in mm from the anterior commissure, x from the midline
//! outwards; depths in mm, positive inside.

use std::f64::consts::TAU;

use fimbria_compute::dense::vec3::Vec3;

use super::labels::Part;
use super::shapes::{Ball, chain, either, ellipsoid};

/// The height of the great foramen: what is below it is the spinal cord in its canal, no part of the brain.
pub(super) const FORAMEN_MM: f64 = -62.0;

const PEDUNCLE: [Ball; 3] =
    [([17.0, -12.0, -3.0], 6.0), ([12.5, -16.0, -12.0], 6.4), ([7.5, -22.0, -23.0], 8.0)];
const MEDULLA: [Ball; 3] =
    [([0.0, -29.5, -40.0], 8.8), ([0.0, -32.0, -52.0], 7.6), ([0.0, -38.0, -90.0], 6.5)];
const TO_CEREBELLUM: [Ball; 4] = [
    ([12.0, -28.0, -31.0], 7.5),
    ([20.5, -42.0, -36.0], 6.5),
    ([25.0, -50.0, -37.0], 5.0),
    ([30.0, -60.0, -37.0], 4.0),
];

/// The depth in the brain stem.
pub(super) fn stem(p: Vec3) -> f64 {
    let midbrain = ellipsoid(p, [0.0, -26.0, -12.0], [13.5, 10.0, 13.0]);
    // Its belly bulges; behind it is its roof, which goes on as the medulla.
    let pons = ellipsoid(p, [0.0, -21.5, -28.0], [16.5, 14.5, 11.5]);
    let roof = ellipsoid(p, [0.0, -30.0, -30.0], [13.0, 8.0, 14.0]);
    let all = either(either(midbrain, chain(p, &PEDUNCLE), 3.0), roof, 4.0);
    let all = either(either(all, chain(p, &MEDULLA), 4.0), pons, 1.5);
    let between = ellipsoid(p, [0.0, -9.0, -17.0], [4.5, 6.0, 7.0]);
    all.min(-between)
}

/// The depth in the envelope of the cerebellum.
pub(super) fn cerebellum(p: Vec3) -> f64 {
    let lobe = ellipsoid(p, [24.0, -63.0, -35.5], [28.5, 27.0, 22.0]);
    let vermis = ellipsoid(p, [0.0, -62.0, -29.0], [14.0, 23.0, 23.0]);
    let all = either(lobe, vermis, 6.0);
    let notch = ellipsoid(p, [0.0, -88.0, -44.0], [5.0, 12.0, 18.0]);
    all.min(-notch).min(-stem(p) + 1.0)
}

/// The part of the hindbrain a point lies in.
pub(super) fn part(p: Vec3) -> Option<Part> {
    if p[2] > 4.0 || p[1] > 0.0 {
        return None;
    }
    let fourth = ellipsoid(p, [0.0, -42.0, -33.0], [6.5, 4.6, 12.0]);
    let recess = ellipsoid(p, [7.0, -40.0, -38.0], [6.0, 2.4, 2.4]);
    let aqueduct = chain(p, &[([0.0, -34.0, -14.0], 0.9), ([0.0, -39.0, -24.0], 1.2)]);
    if fourth.max(recess).max(aqueduct) > 0.0 {
        return Some(Part::FourthVentricle);
    }
    if stem(p) > 0.0 {
        return Some(if p[2] < FORAMEN_MM { Part::Cord } else { Part::BrainStem });
    }
    let depth = cerebellum(p);
    let peduncle = chain(p, &TO_CEREBELLUM);
    if peduncle > 0.0 {
        return Some(Part::CerebellarWhite);
    }
    (depth > 0.0).then(|| folia(p, depth))
}

/// The dentate nucleus is a crumpled plate in the white core; around the core lobes, their lobules
/// and folia branch.
fn folia(p: Vec3, depth: f64) -> Part {
    let dentate = ellipsoid(p, [14.0, -55.0, -35.0], [7.0, 8.5, 5.5]);
    let crumple = 0.6 * (1.6 * p[1]).sin() * (1.4 * p[0]).cos();
    if (dentate + crumple - 1.1).abs() < 1.1 {
        return Part::Dentate;
    }
    // Lobes leave the roof of the fourth ventricle like the sticks of a fan.
    let (y, z) = (p[1] + 44.0, p[2] + 33.0 - 0.12 * p[0]);
    let (radius, angle) = (y.hypot(z), z.atan2(-y) / TAU);
    let bend = 0.012 * (0.21 * p[0]).sin() + 0.008 * (0.45 * radius).sin();
    let stick = |count: f64| {
        let turn = (angle + bend) * count;
        // Distance to the middle of the nearest stick, and to the gap between two, mm.
        let off = (turn - turn.round()).abs() * TAU * radius / count;
        (off, 0.5 * TAU * radius / count - off)
    };
    let ((lobe, gap), (lobule, fissure)) = (stick(12.0), stick(36.0));
    let narrow = 1.8 - 0.06 * (17.0 - depth).max(0.0);
    if depth > 17.0
        || (lobe < narrow && depth > 2.5)
        || (lobule < 0.7 && (2.2..9.0).contains(&depth))
    {
        return Part::CerebellarWhite;
    }
    if (gap < 0.55 && depth < 13.0) || (fissure < 0.4 && depth < 5.0) {
        return Part::Fluid;
    }
    Part::CerebellarCortex
}
