//! What lies inside the hemispheres: ventricles, nuclei, callosum, fornix. Positions in mm from the
//! anterior commissure, x from the midline outwards; depths in mm, positive inside.

use fimbria_compute::dense::vec3::Vec3;

use super::cerebrum::{arch, middle};
use super::labels::Part;
use super::shapes::{Ball, both, chain, either, ellipsoid, ramp, sheared, to_line};

const FRONTAL_HORN_AND_BODY: [Ball; 7] = [
    ([15.5, 33.5, 1.0], 1.6),
    ([12.5, 28.0, 3.0], 3.0),
    ([8.0, 19.0, 7.0], 4.4),
    ([5.8, 2.0, 14.5], 4.4),
    ([7.5, -14.0, 17.5], 4.4),
    ([13.0, -28.0, 15.0], 5.0),
    ([22.0, -39.0, 8.0], 6.6),
];
const TEMPORAL_HORN: [Ball; 4] = [
    ([22.0, -39.0, 8.0], 6.0),
    ([29.0, -34.0, -3.0], 3.0),
    ([32.5, -21.0, -11.0], 2.2),
    ([30.0, -8.0, -16.0], 1.8),
];
const OCCIPITAL_HORN: [Ball; 3] =
    [([23.0, -44.0, 8.0], 5.5), ([23.0, -56.0, 7.0], 3.6), ([20.0, -66.0, 6.0], 1.6)];

const CAUDATE: [Ball; 7] = [
    ([12.6, 19.0, 2.0], 5.7),
    ([12.8, 11.0, 9.0], 5.2),
    ([14.8, -3.0, 16.0], 3.8),
    ([18.5, -17.0, 18.0], 2.8),
    ([25.5, -31.0, 12.0], 1.9),
    ([30.5, -31.0, 1.0], 1.5),
    ([33.0, -18.0, -8.5], 1.3),
];
const HIPPOCAMPUS: [Ball; 4] = [
    ([24.5, -10.0, -18.0], 5.6),
    ([27.5, -20.0, -14.5], 5.3),
    ([27.5, -30.0, -8.5], 4.6),
    ([21.5, -38.0, -1.5], 2.6),
];
/// From the mammillary body up, back under the callosum, and down to the hippocampus as fimbria.
pub(super) const FORNIX: [Ball; 9] = [
    ([2.6, -7.0, -10.0], 1.5),
    ([2.4, 0.5, -2.0], 1.5),
    ([2.2, 1.0, 5.0], 1.6),
    ([2.4, -6.0, 13.0], 1.9),
    ([3.6, -20.0, 15.0], 2.0),
    ([10.0, -33.0, 11.0], 1.8),
    ([19.5, -38.0, 4.0], 1.7),
    ([24.0, -30.0, -5.0], 1.6),
    ([24.0, -19.0, -11.0], 1.4),
];

/// From the temporal pole under putamen and pallidum across the midline, in front of the fornix.
const ANTERIOR_COMMISSURE: [Ball; 4] = [
    ([0.0, 3.6, -3.6], 1.5),
    ([12.0, 3.4, -5.0], 1.5),
    ([21.0, 0.5, -9.5], 1.6),
    ([29.0, 1.0, -15.5], 2.0),
];
/// From the chiasm around the peduncle to the lateral geniculate body.
const OPTIC_TRACT: [Ball; 4] = [
    ([1.5, 2.0, -17.0], 2.2),
    ([9.5, -6.0, -15.0], 1.8),
    ([16.5, -14.5, -10.5], 1.7),
    ([20.5, -22.0, -4.0], 1.8),
];

/// The part of the deep brain a point lies in; `None` of what is simply white matter.
pub(super) fn part(p: Vec3, ventricle_mm: f64) -> Option<Part> {
    if p[0] > 42.0 || p[1] > 36.0 || p[1] < -70.0 || p[2] > 30.0 || p[2] < -32.0 {
        return None;
    }
    if chain(p, &FORNIX) > 0.0 {
        return Some(Part::Fornix);
    }
    if chain(p, &ANTERIOR_COMMISSURE) > 0.0 || chain(p, &OPTIC_TRACT) > 0.0 {
        return Some(Part::White);
    }
    for (depth, part) in [
        (chain(p, &CAUDATE), Part::Caudate),
        (thalamus(p), Part::Thalamus),
        (sheared(p, [27.6, 3.0, 1.5], [5.7, 17.5, 10.5], -0.16), Part::Putamen),
        (sheared(p, [20.6, -1.5, -0.5], [4.5, 10.0, 7.6], -0.35), Part::Pallidum),
        (ellipsoid(p, [10.0, 11.0, -6.5], [4.4, 5.2, 4.2]), Part::Accumbens),
        (ellipsoid(p, [21.5, -2.5, -18.5], [7.2, 6.6, 7.4]), Part::Amygdala),
        (chain(p, &HIPPOCAMPUS), Part::Hippocampus),
        (ellipsoid(p, [5.0, -21.0, -9.5], [3.8, 3.8, 4.6]), Part::RedNucleus),
        (nigra(p), Part::Nigra),
        (ellipsoid(p, [11.5, -13.0, -5.5], [5.0, 3.4, 2.2]), Part::Subthalamic),
    ] {
        if depth > 0.0 {
            return Some(part);
        }
    }
    if third_ventricle(p) > 0.0 {
        return Some(Part::ThirdVentricle);
    }
    if lateral_ventricle(p) + ventricle_mm > 0.0 {
        return Some(Part::LateralVentricle);
    }
    if callosum(p) > 0.0 {
        return Some(Part::Callosum);
    }
    (cistern(p) > 0.0).then_some(Part::Fluid)
}

/// With the lateral geniculate body.
fn thalamus(p: Vec3) -> f64 {
    let geniculate = ellipsoid(p, [20.0, -24.5, -1.5], [3.6, 3.6, 3.0]);
    either(sheared(p, [10.8, -18.0, 6.0], [8.4, 16.0, 9.8], -0.24), geniculate, 2.0)
}

/// A plate behind the peduncle, slanting outwards and up.
fn nigra(p: Vec3) -> f64 {
    let tilted = [p[0], p[1] + 0.5 * (p[0] - 9.5), p[2] - 0.35 * (p[0] - 9.5)];
    ellipsoid(tilted, [9.5, -17.5, -11.5], [6.4, 2.3, 5.4])
}

fn lateral_ventricle(p: Vec3) -> f64 {
    // Higher than wide: the horns are slits beside the caudate.
    let narrow = [p[0] * 1.12, p[1], p[2]];
    let horn = chain(narrow, &FRONTAL_HORN_AND_BODY.map(|([x, y, z], r)| ([x * 1.12, y, z], r)));
    let horns = either(horn, chain(p, &TEMPORAL_HORN), 2.0);
    let all = either(horns, chain(p, &OCCIPITAL_HORN), 2.0);
    // Below the callosum, whose knee the frontal horn passes on the outside, and beside the septum.
    let beside = 9.0 * ramp(p[0], 7.0, 12.0) * ramp(p[1], 18.0, 26.0);
    // In front the horns part, and between them the septum widens to the knee of the callosum.
    let septum = 0.8 + 0.42 * (p[1] - 8.0).max(0.0);
    both(all, arch(p) - 5.6 + beside, 1.5).min(p[0] - septum)
}

fn third_ventricle(p: Vec3) -> f64 {
    let slit = ellipsoid(p, [0.0, -11.0, -1.0], [2.0, 15.5, 11.0]);
    let aqueduct = chain(p, &[([0.0, -25.0, -2.0], 1.0), ([0.0, -34.0, -14.0], 0.9)]);
    either(slit, aqueduct, 1.0)
}

/// The depth in the callosum as far as it is one plate: thick in front and behind.
fn callosum(p: Vec3) -> f64 {
    let below = arch(p);
    let ends = ((p[1] + 6.0) / 38.0).powi(2);
    let thickness = 5.4 + 4.6 * ends * ends;
    let plate = (below + 0.5).min(thickness - below).min(13.0 - p[0]);
    let rostrum = if p[1] > 0.0 { -5.0 } else { 3.0 };
    plate.min(p[2] - rostrum)
}

/// From 0 to 1: white matter of the internal capsule, between caudate and thalamus on one side and
/// putamen and pallidum on the other, and of the corona above it.
pub(super) fn capsule(p: Vec3) -> f64 {
    const FROM_ABOVE: [Vec3; 5] = [
        [21.0, 25.0, 0.0],
        [19.5, 13.0, 0.0],
        [16.5, 2.0, 0.0],
        [19.5, -12.0, 0.0],
        [24.5, -25.0, 0.0],
    ];
    let beside = to_line([p[0], p[1], 0.0], &FROM_ABOVE);
    let high = ramp(p[2], -12.0, -6.0) * (1.0 - ramp(p[2], 20.0, 32.0));
    high * (1.0 - ramp(beside, 5.0, 8.5))
}

/// Fluid between the thalami, the splenium and the midbrain.
fn cistern(p: Vec3) -> f64 {
    let behind = ellipsoid(p, [0.0, -38.0, -2.0], [11.0, 6.5, 6.0]);
    let velum = ellipsoid(p, [0.0, -20.0, 12.0], [4.0, 16.0, 2.0]);
    let under_splenium = ellipsoid(p, [0.0, -30.0, 6.0], [5.4, 5.5, 6.0]);
    behind.max(velum).max(under_splenium).min(middle(p) + 12.0)
}
