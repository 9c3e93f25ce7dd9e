//! The voxels that lines pass, met exactly: those between two points as well.

/// Visits the voxels between two points in voxel coordinates, in order, each with its share of the way (Amanatides and
/// Woo 1987); parts outside the lattice are left out. Through an edge or a corner of voxels the share is 0.
pub fn voxels_between(
    dims: [usize; 3],
    from: [f64; 3],
    to: [f64; 3],
    mut visit: impl FnMut([usize; 3], f64),
) {
    let step: [f64; 3] = std::array::from_fn(|i| to[i] - from[i]);
    // The part of the way inside the box from -1/2 to n - 1/2.
    let (mut begin, mut end) = (0.0_f64, 1.0_f64);
    for i in 0..3 {
        let (low, high) = (-0.5 - from[i], dims[i] as f64 - 0.5 - from[i]);
        if step[i] == 0.0 {
            if low > 0.0 || high <= 0.0 {
                return;
            }
            continue;
        }
        let (a, b) = (low / step[i], high / step[i]);
        begin = begin.max(a.min(b));
        end = end.min(a.max(b));
    }
    if begin >= end {
        return;
    }
    let mut voxel = [0_usize; 3];
    // Where the way next crosses a face of each axis, and how far apart crossings are.
    let (mut crossing, mut between) = ([f64::INFINITY; 3], [f64::INFINITY; 3]);
    for i in 0..3 {
        let position = from[i] + begin * step[i] + 0.5;
        voxel[i] = position.floor().clamp(0.0, (dims[i] - 1) as f64) as usize;
        if step[i] != 0.0 {
            let face = voxel[i] as f64 + if step[i] > 0.0 { 0.5 } else { -0.5 };
            crossing[i] = (face - from[i]) / step[i];
            between[i] = 1.0 / step[i].abs();
        }
    }
    let mut at = begin;
    loop {
        let axis = (0..3).min_by(|&i, &j| crossing[i].total_cmp(&crossing[j])).unwrap_or(0);
        let next = crossing[axis].clamp(at, end);
        visit(voxel, next - at);
        at = next;
        let is_at_edge =
            if step[axis] > 0.0 { voxel[axis] + 1 == dims[axis] } else { voxel[axis] == 0 };
        if crossing[axis] >= end || is_at_edge {
            return;
        }
        voxel[axis] = if step[axis] > 0.0 { voxel[axis] + 1 } else { voxel[axis] - 1 };
        crossing[axis] += between[axis];
    }
}

/// Visits every voxel that a polyline passes, in order, some of them several times: those of its points, in voxel
/// coordinates, and those that the straight pieces between them cross. A point that is not finite is nowhere, and no
/// piece leads to it or from it.
pub fn voxels_on_line(
    dims: [usize; 3],
    points_vox: impl IntoIterator<Item = [f64; 3]>,
    mut visit: impl FnMut([usize; 3]),
) {
    let size = dims.map(|n| n as f64);
    let mut before: Option<Point> = None;
    for place in points_vox {
        if !(place[0] + place[1] + place[2]).is_finite() {
            before = None;
            continue;
        }
        let voxel = place.map(nearest);
        let is_inside = (0..3).all(|a| voxel[a] >= 0.0 && voxel[a] < size[a]);
        let to = Point { place, voxel, is_inside };
        match before {
            Some(from) if from.voxel == voxel => {
                before = Some(to);
                continue;
            }
            Some(from) if from.is_inside && is_inside => cross(&from, &to, &mut visit),
            Some(from) => {
                let cross = |voxel, share| {
                    if share > 0.0 {
                        visit(voxel)
                    }
                };
                voxels_between(dims, from.place, place, cross);
            }
            None => {}
        }
        before = Some(to);
        if is_inside {
            visit(as_indices(voxel));
        }
    }
}

/// A point, and the voxel around it.
#[derive(Clone, Copy)]
struct Point {
    place: [f64; 3],
    voxel: [f64; 3],
    is_inside: bool,
}

/// The whole number nearest to a coordinate, of two the greater: as `floor` of a half more, which is a call on processors
/// without an instruction for it.
#[inline]
fn nearest(x: f64) -> f64 {
    // Sums with it have no digits behind the point, below 2^51.
    const WHOLE: f64 = 6_755_399_441_055_744.0; // 1.5 × 2^52
    let up = x + 0.5;
    let rounded = (up + WHOLE) - WHOLE;
    rounded - f64::from(u8::from(rounded > up))
}

/// Of a voxel of a grid, whose voxels a u32 counts.
#[inline]
fn as_indices(voxel: [f64; 3]) -> [usize; 3] {
    voxel.map(|x| x as u32 as usize)
}

/// Visits the voxels between those of two points of a lattice, as [`voxels_between`] walks: so many steps lead from the
/// one to the other. What the way touches in a corner alone is passed over.
#[inline]
fn cross(from: &Point, to: &Point, visit: &mut impl FnMut([usize; 3])) {
    let apart: [f64; 3] = std::array::from_fn(|a| to.voxel[a] - from.voxel[a]);
    let mut left = apart.map(f64::abs);
    let steps = left[0] + left[1] + left[2];
    // Nothing lies between voxels that share a face.
    if steps <= 1.0 {
        return;
    }
    // Where the way next crosses a face of each axis, and how far apart crossings are.
    let (mut crossing, mut between) = ([f64::INFINITY; 3], [0.0; 3]);
    for a in 0..3 {
        if apart[a] != 0.0 {
            let per_voxel = 1.0 / (to.place[a] - from.place[a]);
            let face = from.voxel[a] + 0.5_f64.copysign(apart[a]);
            crossing[a] = (face - from.place[a]) * per_voxel;
            between[a] = per_voxel.abs();
        }
    }
    let mut voxel = as_indices(from.voxel);
    let mut axis = first(crossing);
    for _ in 1..steps as u32 {
        let at = crossing[axis];
        voxel[axis] = if apart[axis] > 0.0 { voxel[axis] + 1 } else { voxel[axis] - 1 };
        left[axis] -= 1.0;
        crossing[axis] = if left[axis] > 0.0 { at + between[axis] } else { f64::INFINITY };
        axis = first(crossing);
        if crossing[axis] > at {
            visit(voxel);
        }
    }
}

/// The axis of the smallest.
#[inline]
fn first([x, y, z]: [f64; 3]) -> usize {
    if x <= y && x <= z {
        0
    } else if y <= z {
        1
    } else {
        2
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const DIMS: [usize; 3] = [6, 5, 4];

    fn passed(points: &[[f64; 3]]) -> BTreeSet<[usize; 3]> {
        let mut voxels = BTreeSet::new();
        voxels_on_line(DIMS, points.iter().copied(), |voxel| {
            voxels.insert(voxel);
        });
        voxels
    }

    /// How much of the way from one point to another lies in a voxel: negative where it passes by.
    fn share_in(voxel: [usize; 3], from: [f64; 3], to: [f64; 3]) -> f64 {
        let (mut begin, mut end) = (0.0_f64, 1.0_f64);
        for a in 0..3 {
            let step = to[a] - from[a];
            let ends = [-0.5, 0.5].map(|half| (voxel[a] as f64 + half - from[a]) / step);
            begin = begin.max(ends[0].min(ends[1]));
            end = end.min(ends[0].max(ends[1]));
        }
        end - begin
    }

    proptest! {
        #[test]
        fn every_voxel_that_a_piece_crosses_is_met_and_no_other(
            from in prop::array::uniform3(-2.0..7.0_f64),
            to in prop::array::uniform3(-2.0..7.0_f64),
            back in prop::array::uniform3(-2.0..7.0_f64),
        ) {
            let met = passed(&[from, to, back]);
            for x in 0..DIMS[0] {
                for y in 0..DIMS[1] {
                    for z in 0..DIMS[2] {
                        let share = share_in([x, y, z], from, to).max(share_in([x, y, z], to, back));
                        // Within rounding of an edge either is right.
                        if share.abs() > 1e-12 {
                            prop_assert_eq!(met.contains(&[x, y, z]), share > 0.0, "{:?}", [x, y, z]);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn points_alone_and_points_on_faces_are_met() {
        assert_eq!(passed(&[[2.2, 1.0, 3.4]]), BTreeSet::from([[2, 1, 3]]));
        assert_eq!(passed(&[[-0.6, 1.0, 3.0]]), BTreeSet::new());
        // The second point lies on the face of voxel 2, in which the third one goes on.
        let met = passed(&[[0.0, 0.0, 0.0], [1.5, 0.0, 1.5], [1.6, 0.0, 1.6]]);
        assert!(met.contains(&[2, 0, 2]), "{met:?}");
    }

    #[test]
    fn nothing_leads_through_a_point_that_is_not_finite() {
        let met = passed(&[[0.0; 3], [f64::NAN, 0.0, 0.0], [4.0, 0.0, 0.0]]);
        assert_eq!(met, BTreeSet::from([[0, 0, 0], [4, 0, 0]]));
        assert_eq!(passed(&[[0.0; 3], [f64::INFINITY, 0.0, 0.0]]).len(), 1);
        // A leap across the world costs no more than the lattice.
        assert_eq!(passed(&[[-1e9, 1.0, 1.0], [1e9, 1.0, 1.0]]).len(), DIMS[0]);
    }

    #[test]
    fn a_voxel_is_looked_at_once_while_a_line_stays_in_it() {
        let mut visits = 0;
        let points = (0..100).map(|i| [0.05 * f64::from(i), 0.0, 0.0]);
        voxels_on_line(DIMS, points, |_| visits += 1);
        assert_eq!(visits, 6, "of 100 points");
    }
}
