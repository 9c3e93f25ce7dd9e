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
    let mut before: Option<([f64; 3], [f64; 3])> = None;
    for to in points_vox {
        if !to.iter().all(|x| x.is_finite()) {
            before = None;
            continue;
        }
        let nearest = to.map(|x| (x + 0.5).floor());
        let last = before.replace((to, nearest));
        if let Some((from, its_nearest)) = last {
            let apart: f64 = (0..3).map(|a| (nearest[a] - its_nearest[a]).abs()).sum();
            // Nothing lies between points of one voxel, or of two that share a face.
            if apart == 0.0 {
                continue;
            }
            if apart > 1.0 {
                let cross = |voxel, share| {
                    if share > 0.0 {
                        visit(voxel)
                    }
                };
                voxels_between(dims, from, to, cross);
            }
        }
        if (0..3).all(|a| nearest[a] >= 0.0 && nearest[a] < dims[a] as f64) {
            visit(nearest.map(|x| x as usize));
        }
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
