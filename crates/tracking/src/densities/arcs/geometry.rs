//! Places of arcs, and directions across each other.

use super::MAX_PLACES;
use crate::densities::directions::RINGS;

/// Places of an arc, as many as there may be.
pub(in crate::densities) fn limited(places: usize) -> usize {
    places.clamp(1, MAX_PLACES)
}

/// The ring of the cap up to which one of some places of an arc can reach, and the one beyond it.
#[inline(always)]
pub(in crate::densities) fn reach(place: usize, places: usize) -> usize {
    let reach = place as f32 / places as f32 + 0.2;
    let mut ring = 0;
    while ring + 1 < RINGS.len() && RINGS[ring + 1].1 <= reach {
        ring += 1;
    }
    ring
}

/// Two directions across `t`, and across each other (Duff et al. 2017).
#[inline(always)]
pub(in crate::densities) fn across(t: [f32; 3]) -> [[f32; 3]; 2] {
    let sign = 1.0_f32.copysign(t[2]);
    let a = -1.0 / (sign + t[2]);
    let b = t[0] * t[1] * a;
    [[1.0 + sign * t[0] * t[0] * a, sign * b, -sign * t[0]], [b, sign + t[1] * t[1] * a, -t[1]]]
}

#[inline(always)]
pub(in crate::densities) fn unit(v: [f32; 3]) -> [f32; 3] {
    let scale = 1.0 / (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    [v[0] * scale, v[1] * scale, v[2] * scale]
}
