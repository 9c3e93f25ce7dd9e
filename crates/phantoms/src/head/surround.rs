//! What surrounds the brain: fluid, veins, skull, scalp, eyes and air. Positions in mm from the
//! anterior commissure, x from the midline outwards; depths in mm, positive inside.

use fimbria_compute::dense::vec3::Vec3;

use super::cerebrum::{arch, dome, temporal, whole};
use super::hindbrain::{cerebellum, stem};
use super::labels::Part;
use super::shapes::{Ball, chain, either, ellipsoid, ramp};

/// Fluid between brain and skull, mm.
const FLUID_MM: f64 = 0.5;
/// How much more of it is around the stem: the cisterns, and the canal below them.
const CISTERN_MM: f64 = 3.0;
const SKULL_MM: f64 = 6.5;
const SCALP_MM: f64 = 6.0;

const NOSE: [Ball; 3] =
    [([0.0, 88.0, -22.0], 6.0), ([0.0, 99.0, -44.0], 7.0), ([0.0, 97.0, -52.0], 9.0)];
const STRAIGHT_SINUS: [Ball; 3] =
    [([0.0, -45.0, 9.0], 1.6), ([0.0, -70.0, 2.0], 2.0), ([0.0, -95.0, -9.0], 2.4)];
const TRANSVERSE_SINUS: [Ball; 4] = [
    ([0.0, -98.0, -9.0], 3.4),
    ([25.0, -92.0, -14.0], 3.2),
    ([46.0, -72.0, -19.0], 3.2),
    ([50.0, -50.0, -28.0], 3.4),
];
const INTERNAL_CEREBRAL: [Ball; 3] =
    [([1.3, -6.0, 9.2], 0.8), ([1.3, -28.0, 11.0], 1.0), ([0.0, -45.0, 9.0], 1.6)];

/// Depth in the cavity of the skull.
pub(super) fn cavity(p: Vec3) -> f64 {
    let fossa = ellipsoid(p, [0.0, -62.0, -32.0], [50.0, 34.0, 25.0]);
    let front = (p[2] + 22.0 - 0.17 * p[0]).max(-25.0 - p[1]);
    let above = either(whole(p), either(dome(p), temporal(p), 22.0).min(front), 3.0);
    let around = either(cerebellum(p), stem(p) + CISTERN_MM, 8.0);
    either(either(above, fossa, 14.0), around, 8.0) + FLUID_MM
}

/// Veins, of what lies in the cavity.
pub(super) fn vein(p: Vec3, cavity: f64) -> bool {
    let sagittal = p[0] < 3.6 - 0.55 * cavity && p[2] > -6.0 && (p[2] > 20.0 || p[1] < -50.0);
    sagittal
        || chain(p, &STRAIGHT_SINUS) > 0.0
        || chain(p, &TRANSVERSE_SINUS) > 0.0
        || chain(p, &INTERNAL_CEREBRAL) > 0.0
}

/// Whether a point in fluid is in the dura: the falx between the hemispheres, and the tentorium over the
/// cerebellum.
pub(super) fn dura(p: Vec3) -> bool {
    let falx = p[0] < 0.6 && p[2] > 0.0 && arch(p) < -9.0;
    let above = -cerebellum(p);
    let tentorium = (1.0..2.1).contains(&above) && p[2] > -20.0 && p[1] < -34.0;
    falx || tentorium
}

/// What is outside the cavity, whose depth at the point is given and is negative.
pub(super) fn part(p: Vec3, cavity: f64) -> Part {
    if p[2] > 15.0 && cavity < -(SKULL_MM + SCALP_MM + 6.0) {
        return Part::Air;
    }
    // The face and the neck, where the depth in the cavity is no guide.
    let face = ellipsoid(p, [0.0, 18.0, -50.0], [62.0, 76.0, 78.0]);
    let neck = chain(p, &[([0.0, -32.0, -60.0], 58.0), ([0.0, -32.0, -200.0], 56.0)]);
    let head = either(either(cavity + SKULL_MM + SCALP_MM, face, 25.0), neck, 20.0);
    let head = either(head, chain(p, &NOSE), 6.0);
    if head < 0.0 || air(p) {
        return Part::Air;
    }
    let eye = ellipsoid(p, [31.0, 60.0, -36.0], [11.8; 3]);
    if eye > 0.0 {
        return Part::Eye;
    }
    // Bone is around the cavity, thicker at the base, with marrow in its middle.
    let base = ramp(-p[2], 18.0, 40.0) * ramp(p[1], -70.0, -30.0);
    let thickness = SKULL_MM + 2.0 * base;
    let out = -cavity;
    if out < thickness && head > 2.5 {
        let marrow = (out - 0.5 * thickness).abs() < 0.24 * thickness && p[2] > -30.0;
        return if marrow { Part::Marrow } else { Part::Skull };
    }
    if head < 2.0 || p[2] > 0.0 && head > 4.8 { Part::Skin } else { fat_or_muscle(p, head) }
}

/// Under the skin fat, below that and at the temples muscle.
fn fat_or_muscle(p: Vec3, head: f64) -> Part {
    if p[2] < 5.0 && head > 6.0 { Part::Skin } else { Part::Fat }
}

/// Sinuses and ear canals.
fn air(p: Vec3) -> bool {
    let ear = chain(
        p,
        &[([46.0, -24.0, -42.0], 3.0), ([58.0, -24.0, -43.0], 2.6), ([95.0, -26.0, -44.0], 3.2)],
    );
    let mastoid = ellipsoid(p, [52.0, -40.0, -48.0], [7.0, 9.0, 11.0]);
    // Cells with walls between.
    let cells = (0.9 * p[0]).sin() * (0.8 * p[1]).sin() * (0.85 * p[2]).sin();
    ellipsoid(p, [7.0, 20.0, -37.0], [8.0, 9.0, 8.0]) > 0.0
        || ellipsoid(p, [8.0, 48.0, -36.0], [5.5, 16.0, 10.0]) > 0.0
        || ellipsoid(p, [9.0, 76.0, -6.0], [8.0, 3.0, 7.0]) > 0.0
        || ellipsoid(p, [30.0, 50.0, -64.0], [13.0, 15.0, 14.0]) > 0.0
        || ellipsoid(p, [6.0, 48.0, -66.0], [4.0, 26.0, 16.0]) > 0.0
        || ellipsoid(p, [0.0, 2.0, -74.0], [11.0, 9.0, 26.0]) > 0.0
        || ear > 0.0
        || (mastoid > 0.0 && cells.abs() > 0.12)
}
