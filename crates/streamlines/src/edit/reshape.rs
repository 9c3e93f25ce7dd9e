//! Points made anew, with their data.

use fimbria_compute::Workers;
use fimbria_image::Datatype;
use half::f16;
use rayon::prelude::*;

use super::places::{Place, along, compressed, evenly};
use crate::{Column, Streamlines, arc_length_mm};

/// How the points of streamlines are made anew. The ends stay where they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reshape {
    /// So many, evenly spaced along the streamline.
    Points(usize),
    /// Evenly spaced, as nearly as that goes so many mm apart.
    StepMm(f64),
    /// As few of those there are as keep the streamline within so many mm: [`compressed`].
    ToleranceMm(f64),
    /// Each Nth of those there are, from the first on, and the last.
    Every(usize),
}

/// A streamline that cannot be divided so.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "streamline {streamline} is {length_mm:.3e} mm long: steps of {step_mm} mm would make more than a million points \
     of it"
)]
pub struct ReshapeError {
    /// Which, from 0.
    pub streamline: usize,
    /// Its length.
    pub length_mm: f64,
    /// The steps asked for.
    pub step_mm: f64,
}

/// Most points that steps make of a streamline.
const MOST_POINTS: f64 = 1e6;

impl Reshape {
    fn places(self, points: &[[f32; 3]], streamline: usize) -> Result<Vec<Place>, ReshapeError> {
        let places = match self {
            Self::Points(n) => evenly(points, n),
            Self::StepMm(step_mm) => {
                let length_mm = arc_length_mm(points);
                let pieces = (length_mm / step_mm).round().max(1.0);
                if pieces >= MOST_POINTS {
                    return Err(ReshapeError { streamline, length_mm, step_mm });
                }
                evenly(points, if length_mm == 0.0 { 1 } else { pieces as usize + 1 })
            }
            Self::ToleranceMm(tolerance_mm) => return Ok(compressed(points, tolerance_mm)),
            Self::Every(n) => {
                let last = points.len().saturating_sub(1);
                let before = (0..last).step_by(n.max(1));
                return Ok(before.chain(last..points.len()).map(|point| (point, 0.0)).collect());
            }
        };
        // What has no length that could be divided stays as it is.
        Ok(match places.is_empty() {
            true => (0..points.len()).map(|point| (point, 0.0)).collect(),
            false => places,
        })
    }

    /// About how many points a streamline will have.
    pub fn expected_points(self, points: &[[f32; 3]]) -> f64 {
        match self {
            Self::Points(n) => n as f64,
            Self::StepMm(step_mm) => arc_length_mm(points) / step_mm + 1.0,
            Self::ToleranceMm(_) => points.len() as f64,
            Self::Every(n) => points.len().div_ceil(n.max(1)) as f64 + 1.0,
        }
    }

    /// The streamlines of a chunk with points made anew; `first` is the number of its first one. Data per point go
    /// along: numbers with a fraction are interpolated linearly, whole ones are those of the nearest point.
    ///
    /// # Errors
    /// [`ReshapeError`].
    pub fn apply(
        self,
        chunk: &Streamlines,
        first: usize,
        workers: &Workers,
    ) -> Result<Streamlines, ReshapeError> {
        let of = |index: usize| self.places(chunk.points(index), first + index);
        let places: Vec<Vec<Place>> = workers
            .install(|| (0..chunk.len()).into_par_iter().map(of).collect::<Result<_, _>>())?;
        let (mut offsets, mut positions) = (vec![0], Vec::new());
        for (index, places) in places.iter().enumerate() {
            let points = chunk.points(index);
            positions.extend(places.iter().map(|place| along(points, *place)));
            offsets.push(positions.len() as u64);
        }
        let mut made = Streamlines::from_parts(offsets, positions);
        for column in chunk.per_point() {
            let mut bytes = Vec::new();
            for (index, places) in places.iter().enumerate() {
                let start = chunk.offsets()[index] as usize;
                for &(at, part) in places {
                    add_row(column, start + at, part, &mut bytes);
                }
            }
            made.add_per_point(Column::from_bytes(column.kind.clone(), bytes));
        }
        for column in chunk.per_streamline() {
            made.add_per_streamline(column.clone());
        }
        Ok(made)
    }
}

/// The row between row `at` and the next.
fn add_row(column: &Column, at: usize, part: f64, bytes: &mut Vec<u8>) {
    let row = column.kind.row_bytes();
    let has_fraction =
        matches!(column.kind.datatype, Datatype::Float16 | Datatype::Float32 | Datatype::Float64);
    if part == 0.0 || !has_fraction {
        let nearest = at + usize::from(part > 0.5);
        bytes.extend_from_slice(&column.bytes()[nearest * row..(nearest + 1) * row]);
        return;
    }
    let width = column.kind.width;
    for number in 0..width {
        let (from, to) =
            (column.value(at * width + number), column.value((at + 1) * width + number));
        let value = from + part * (to - from);
        match column.kind.datatype {
            Datatype::Float16 => bytes.extend(f16::from_f64(value).to_le_bytes()),
            Datatype::Float32 => bytes.extend((value as f32).to_le_bytes()),
            _ => bytes.extend(value.to_le_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nth_point_is_kept_and_both_ends() {
        let workers = Workers::new(1).unwrap();
        let lengths = [0, 1, 2, 3, 7, 8];
        let mut lines = Streamlines::default();
        let line = |n: usize| (0..n).map(|i| [i as f32, n as f32, 0.0]).collect::<Vec<_>>();
        lengths.iter().for_each(|n| lines.push(&line(*n)));
        lines.add_per_streamline(Column::from_u8("n", &lengths.map(|n| n as u8)));
        let made = Reshape::Every(3).apply(&lines, 0, &workers).unwrap();
        let kept = |index: usize| made.points(index).iter().map(|p| p[0]).collect::<Vec<_>>();
        let expected: [&[f32]; 6] =
            [&[], &[0.0], &[0.0, 1.0], &[0.0, 2.0], &[0.0, 3.0, 6.0], &[0.0, 3.0, 6.0, 7.0]];
        for (index, expected) in expected.iter().enumerate() {
            assert_eq!(kept(index), *expected, "{} points", lengths[index]);
        }
        assert_eq!(made.per_streamline(), lines.per_streamline());
        assert_eq!(Reshape::Every(1).apply(&lines, 0, &workers).unwrap(), lines);
    }

    #[test]
    fn data_per_point_are_interpolated_and_whole_numbers_are_the_nearest() {
        let mut lines =
            Streamlines::from_parts(vec![0, 1, 3], vec![[9.0; 3], [0.0; 3], [4.0, 0.0, 0.0]]);
        lines.add_per_point(Column::from_f32("fa", 2, &[7.0, 8.0, 0.0, 1.0, 1.0, 3.0]));
        lines.add_per_point(Column::from_u8("label", &[5, 1, 2]));
        lines.add_per_streamline(Column::from_u32("seed", &[40, 41]));
        let workers = Workers::new(2).unwrap();
        let made = Reshape::Points(5).apply(&lines, 0, &workers).unwrap();
        assert_eq!(made.points(1).iter().map(|p| p[0]).collect::<Vec<_>>(), [0., 1., 2., 3., 4.]);
        let [fa, label] = made.per_point() else { panic!() };
        let values: Vec<f64> = fa.values().skip(10).collect();
        assert_eq!(values, [0.0, 1.0, 0.25, 1.5, 0.5, 2.0, 0.75, 2.5, 1.0, 3.0]);
        assert_eq!(label.values().collect::<Vec<_>>(), [5., 5., 5., 5., 5., 1., 1., 1., 2., 2.]);
        assert_eq!(made.per_streamline(), lines.per_streamline());
    }

    #[test]
    fn steps_are_as_near_as_equal_ones_come() {
        let mut lines = Streamlines::default();
        lines.push(&[[0.0; 3], [10.0, 0.0, 0.0]]);
        lines.push(&[[0.0; 3], [0.4, 0.0, 0.0]]);
        lines.push(&[[3.0; 3], [3.0; 3]]);
        lines.push(&[]);
        let workers = Workers::new(1).unwrap();
        let made = Reshape::StepMm(3.0).apply(&lines, 0, &workers).unwrap();
        assert_eq!(made.offsets(), [0, 4, 6, 7, 7]);
        lines.push(&[[0.0; 3], [1e30, 0.0, 0.0]]);
        let error = Reshape::StepMm(3.0).apply(&lines, 100, &workers).unwrap_err();
        assert_eq!(error.streamline, 104);
    }
}
