//! What one streamline leaves in the voxels it passes.

use fimbria_compute::dense::vec3::{norm, sub, unit};
use fimbria_image::{Affine, Grid, voxels_between};

use crate::CountBy;

/// A part of a streamline: in which voxel, along which of its points' directions, how much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Linear index of the voxel.
    pub voxel: u32,
    /// The point whose direction it has: the start of the segment, or the node itself.
    pub point: u32,
    /// Its length in mm, or 1 for a node.
    pub amount: f64,
}

/// Where streamlines run and how their parts are counted.
#[derive(Clone, Debug)]
pub struct Tracer {
    grid: Grid,
    vox_from_ras: Affine,
    count_by: CountBy,
    /// ENCODE: directions in voxel axes, and nodes outside moved to the nearest voxel.
    in_voxel_axes: bool,
}

/// What a trace met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceNotes {
    /// A coordinate is NaN or infinite: nothing was traced.
    pub not_finite: bool,
    /// Points at the place of the one before.
    pub repeated: u32,
    /// Segments, or nodes, with a part outside the image.
    pub outside: u32,
    /// Parts inside the image, in its mask or not.
    pub inside: u32,
}

impl Tracer {
    /// Traces on `grid`; `None` where its affine cannot be inverted.
    pub fn new(grid: Grid, count_by: CountBy, in_voxel_axes: bool) -> Option<Self> {
        let vox_from_ras = grid.ras_from_vox.inverse()?;
        Some(Self { grid, vox_from_ras, count_by, in_voxel_axes })
    }

    /// The lattice.
    pub(crate) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Where a point of a streamline lies, in voxel coordinates.
    pub fn voxel_coordinates(&self, point_ras_mm: [f32; 3]) -> [f64; 3] {
        self.vox_from_ras.apply(point_ras_mm.map(f64::from))
    }

    /// The voxel around a point, where there is one.
    pub fn voxel_at(&self, point_ras_mm: [f32; 3]) -> Option<u32> {
        let nearest = self.voxel_coordinates(point_ras_mm).map(f64::round);
        let dims = self.grid.dims;
        let is_inside = (0..3).all(|i| (0.0..dims[i] as f64).contains(&nearest[i]));
        is_inside.then(|| self.grid.index(nearest.map(|c| c as usize)) as u32)
    }

    /// The parts of the streamline through `points_ras_mm`, in order, and the unit direction at
    /// each of its points (zero where it has none): of the segment that begins there, or by central
    /// differences where nodes are counted.
    pub fn trace(
        &self,
        points_ras_mm: &[[f32; 3]],
        pieces: &mut Vec<Piece>,
        dirs: &mut Vec<[f64; 3]>,
    ) -> TraceNotes {
        pieces.clear();
        dirs.clear();
        let mut notes = TraceNotes::default();
        if points_ras_mm.iter().flatten().any(|c| !c.is_finite()) {
            notes.not_finite = true;
            return notes;
        }
        let pairs = points_ras_mm.windows(2);
        notes.repeated = pairs.filter(|pair| pair[0] == pair[1]).count() as u32;
        match self.count_by {
            CountBy::Length => self.trace_segments(points_ras_mm, pieces, dirs, &mut notes),
            CountBy::Nodes => self.trace_nodes(points_ras_mm, pieces, dirs, &mut notes),
        }
        notes.inside = pieces.len() as u32;
        notes
    }

    fn trace_segments(
        &self,
        points: &[[f32; 3]],
        pieces: &mut Vec<Piece>,
        dirs: &mut Vec<[f64; 3]>,
        notes: &mut TraceNotes,
    ) {
        let mut to_vox = points.first().map_or([0.0; 3], |&p| self.voxel_coordinates(p));
        for (point, pair) in points.windows(2).enumerate() {
            let [from, to] = [pair[0].map(f64::from), pair[1].map(f64::from)];
            let step: [f64; 3] = std::array::from_fn(|i| to[i] - from[i]);
            let length_mm = norm(step);
            let from_vox = to_vox;
            to_vox = self.voxel_coordinates(pair[1]);
            let step_vox = std::array::from_fn(|i| to_vox[i] - from_vox[i]);
            dirs.push(unit(if self.in_voxel_axes { step_vox } else { step }).unwrap_or([0.0; 3]));
            if length_mm == 0.0 {
                continue;
            }
            let mut inside = 0.0;
            voxels_between(self.grid.dims, from_vox, to_vox, |voxel, share| {
                inside += share;
                if share > 0.0 {
                    let voxel = self.grid.index(voxel) as u32;
                    pieces.push(Piece { voxel, point: point as u32, amount: share * length_mm });
                }
            });
            notes.outside += u32::from(inside < 1.0 - 1e-9);
        }
        dirs.push([0.0; 3]);
    }

    fn trace_nodes(
        &self,
        points: &[[f32; 3]],
        pieces: &mut Vec<Piece>,
        dirs: &mut Vec<[f64; 3]>,
        notes: &mut TraceNotes,
    ) {
        let place = |point: usize| {
            let p = points[point];
            if self.in_voxel_axes { self.voxel_coordinates(p) } else { p.map(f64::from) }
        };
        let last = points.len().saturating_sub(1);
        for (point, &at) in points.iter().enumerate() {
            let (before, after) = (place(point.saturating_sub(1)), place((point + 1).min(last)));
            let dir = unit(sub(after, before)).unwrap_or([0.0; 3]);
            dirs.push(dir);
            if dir == [0.0; 3] {
                continue;
            }
            // Between two voxels ENCODE takes the further one (MATLAB's round), DIPY the even one
            // (numpy's).
            let nearest = self
                .voxel_coordinates(at)
                .map(|c| if self.in_voxel_axes { c.round() } else { c.round_ties_even() });
            let dims = self.grid.dims;
            let clipped: [usize; 3] =
                std::array::from_fn(|i| nearest[i].clamp(0.0, (dims[i] - 1) as f64) as usize);
            let is_inside = (0..3).all(|i| nearest[i] == clipped[i] as f64);
            notes.outside += u32::from(!is_inside);
            if is_inside || self.in_voxel_axes {
                let voxel = self.grid.index(clipped) as u32;
                pieces.push(Piece { voxel, point: point as u32, amount: 1.0 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GRID: Grid = Grid { dims: [5, 4, 3], ras_from_vox: Affine::IDENTITY };

    fn trace(count_by: CountBy, points: &[[f32; 3]]) -> (Vec<Piece>, Vec<[f64; 3]>, TraceNotes) {
        let (mut pieces, mut dirs) = (Vec::new(), Vec::new());
        let tracer = Tracer::new(GRID, count_by, false).unwrap();
        let notes = tracer.trace(points, &mut pieces, &mut dirs);
        (pieces, dirs, notes)
    }

    #[test]
    fn a_segment_is_cut_at_the_faces_of_voxels() {
        let (pieces, dirs, _) = trace(CountBy::Length, &[[0.0, 1.0, 1.0], [2.0, 1.0, 1.0]]);
        let lengths: Vec<(u32, f64)> = pieces.iter().map(|p| (p.voxel, p.amount)).collect();
        // Voxel (i, 1, 1) has index i + 5 (1 + 4).
        assert_eq!(lengths, [(25, 0.5), (26, 1.0), (27, 0.5)]);
        assert_eq!(dirs[0], [1.0, 0.0, 0.0]);
    }

    #[test]
    fn what_lies_outside_is_left_out_and_noted() {
        let (pieces, _, notes) = trace(CountBy::Length, &[[-3.0, 0.0, 0.0], [0.0, 0.0, 0.0]]);
        assert_eq!(pieces.len(), 1);
        assert!((pieces[0].amount - 0.5).abs() < 1e-12);
        assert_eq!(notes.outside, 1);
        assert!(trace(CountBy::Length, &[[-3.0, 9.0, 0.0], [9.0, 9.0, 0.0]]).0.is_empty());
    }

    #[test]
    fn repeated_points_leave_nothing() {
        let (pieces, dirs, notes) = trace(CountBy::Length, &[[1.0; 3], [1.0; 3], [1.0, 1.0, 1.2]]);
        assert_eq!((pieces.len(), notes.repeated), (1, 1));
        assert_eq!((dirs[0], dirs[1]), ([0.0; 3], [0.0, 0.0, 1.0]));
        assert!(trace(CountBy::Nodes, &[[1.0; 3], [1.0; 3]]).0.is_empty());
    }

    #[test]
    fn a_streamline_with_a_nan_is_not_traced() {
        let (pieces, _, notes) = trace(CountBy::Length, &[[1.0; 3], [f32::NAN, 1.0, 1.0]]);
        assert!(pieces.is_empty() && notes.not_finite);
    }

    #[test]
    fn nodes_count_once_each_with_the_direction_of_central_differences() {
        let points = [[0.0, 0.0, 0.0], [0.4, 0.0, 0.0], [0.8, 0.4, 0.0]];
        let (pieces, dirs, _) = trace(CountBy::Nodes, &points);
        let voxels: Vec<u32> = pieces.iter().map(|p| p.voxel).collect();
        assert_eq!(voxels, [0, 0, 1]);
        let half = std::f64::consts::FRAC_1_SQRT_2;
        assert!((dirs[1][0] - 2.0 / 5.0_f64.sqrt()).abs() < 1e-7, "{dirs:?}");
        assert!((dirs[2][1] - half).abs() < 1e-7, "{dirs:?}");
    }

    proptest! {
        #[test]
        fn lengths_inside_add_up_and_voxels_follow_each_other(
            from in prop::array::uniform3(-0.49..2.49_f32),
            to in prop::array::uniform3(-0.49..2.49_f32),
        ) {
            let (pieces, ..) = trace(CountBy::Length, &[from, to]);
            let total: f64 = pieces.iter().map(|p| p.amount).sum();
            let length = norm(std::array::from_fn(|i| f64::from(to[i]) - f64::from(from[i])));
            prop_assert!((total - length).abs() <= 1e-12, "{total} of {length}");
            for pair in pieces.windows(2) {
                let [a, b] = [pair[0], pair[1]].map(|p| GRID.voxel(p.voxel as usize));
                let apart: usize = (0..3).map(|i| a[i].abs_diff(b[i])).sum();
                // Through an edge or a corner the voxel between has no length and is left out.
                prop_assert!((1..=3).contains(&apart), "{a:?} {b:?}");
            }
        }
    }
}
