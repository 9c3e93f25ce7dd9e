//! The same paths by two trackers: in place of the paper's Figure 4.7.

use std::path::Path;

use fimbria_compute::Interrupted;
use fimbria_report::plot::{Axes, Axis, Marks, Series, xy};
use fimbria_tracking::{Collect, Deal, Sample, Seed, track_slowly};

use super::super::clock::Interruptible;
use super::super::table::{Table, number, words};
use super::subject::{Subject, collected, methods};
use super::{NAME, Processor};
use crate::figures::save;
use crate::{Console, Failure};

/// Particles, the paper's, or more: every seed has as many.
const PARTICLES: u32 = 2000;
/// Seeds at most.
const SEEDS: usize = 1000;
/// Paths that are drawn; more would hide one another.
const DRAWN: usize = 16;
/// Of the points of the second tracker every so manieth is a dot: lines show between them.
const DOTTED: usize = 24;
/// Width of a plot over its height, nearly: millimetres are as long in both.
const ASPECT: f64 = 2.0;

/// The kept halves of a sample, each outwards from the seed, in radiological voxel coordinates.
struct Halves {
    order: (usize, u32),
    points: [Vec<[f32; 3]>; 2],
}

impl Halves {
    /// From the far end of the first half to that of the second; both start at the seed.
    fn joined(&self) -> impl Iterator<Item = [f32; 3]> + '_ {
        let [first, second] = &self.points;
        let skip = usize::from(!first.is_empty());
        first.iter().rev().chain(second.iter().skip(skip)).copied()
    }
}

/// Keeps every path.
#[derive(Default)]
struct Paths(Vec<Halves>);

impl Collect for Paths {
    type Block = ();

    fn sample(&mut self, sample: &Sample<'_>) {
        let points = sample.halves().map(<[_]>::to_vec);
        self.0.push(Halves { order: sample.order, points });
    }

    fn end_block(&mut self) {}
}

impl Paths {
    /// The paths of several collectors, in the order of seeds and samples.
    fn of(collectors: Vec<Self>) -> Self {
        let mut all: Vec<Halves> = collectors.into_iter().flat_map(|paths| paths.0).collect();
        all.sort_unstable_by_key(|halves| halves.order);
        Self(all)
    }
}

/// How far the same paths of two trackers are apart.
#[derive(Debug, Default, PartialEq)]
struct Apart {
    /// Points that both have.
    points: u64,
    /// Paths that have not as many points in both, or that one of them has not.
    other_lengths: u64,
    /// Sum over these points of squared distances, in voxels.
    squares: f64,
}

impl Apart {
    fn between(one: &Paths, other: &Paths) -> Self {
        let missing = one.0.len().abs_diff(other.0.len()) as u64;
        let mut apart = Self { other_lengths: missing, ..Self::default() };
        for (one, other) in one.0.iter().zip(&other.0) {
            let lengths = |halves: &Halves| halves.points.each_ref().map(Vec::len);
            apart.other_lengths += u64::from(lengths(one) != lengths(other));
            for (one, other) in one.points.iter().zip(&other.points) {
                for (a, b) in one.iter().zip(other) {
                    apart.points += 1;
                    let squares =
                        a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
                    apart.squares += squares.sum::<f64>();
                }
            }
        }
        apart
    }

    fn mean_square(&self) -> f64 {
        self.squares / (self.points as f64).max(1.0)
    }
}

/// "0", or a number with the power of ten that the paper reports.
fn power(x: f64) -> String {
    if x == 0.0 { "0".to_owned() } else { format!("{x:.1e}") }
}

/// Prints how far paths are apart by the plain tracker and by each processor, and draws them, one
/// over the other.
pub(super) fn table(
    subject: &Subject,
    places: &[Processor],
    folder: &Path,
    console: &dyn Console,
) -> Result<(), Failure> {
    let table = Table::begin(
        console,
        [
            words("method", 20),
            words("plain tracker and", NAME),
            number("particles", 9),
            number("points", 8),
            number("other lengths", 13),
            number("sum of squares", 14),
            number("mean square", 11),
        ],
    )?;
    // Its 4 million points are 2000 for each particle, the most that there can be.
    let paper = ["paper, probtrackx2", "-", "2000", "4000000", "-", "1e-11", "1e-13"];
    table.row(paper)?;
    let every = subject.seeds.len().div_ceil(SEEDS).max(1);
    let seeds: Vec<Seed> = subject.seeds.iter().step_by(every).copied().collect();
    let n_samples = PARTICLES.div_ceil(seeds.len() as u32);
    let quiet = Interruptible(console);
    for (method, propagation) in methods() {
        let tracking = subject.tracking(&propagation, &seeds, n_samples);
        let mut plain = Paths::default();
        track_slowly(&tracking, None, &quiet, &mut plain)?;
        let plain = Paths::of(vec![plain]);
        let mut last = None;
        for place in places {
            let deal = Deal::default();
            let each = |()| Ok::<(), Interrupted>(());
            let new = Paths::default;
            let made = Paths::of(collected(&tracking, place, deal, &quiet, new, each)?);
            let apart = Apart::between(&plain, &made);
            table.row([
                method.to_owned(),
                place.name(),
                plain.0.len().to_string(),
                apart.points.to_string(),
                apart.other_lengths.to_string(),
                power(apart.squares),
                power(apart.mean_square()),
            ])?;
            last = Some((place.name(), made));
        }
        // The paper's figure is of one method.
        if let (Some((name, made)), "basic") = (&last, method) {
            draw(subject, [&plain, made], name, folder, console)?;
        }
    }
    Ok(())
}

/// Paths from the right: lines of the first tracker, dots of the second.
fn draw(
    subject: &Subject,
    [plain, made]: [&Paths; 2],
    name: &str,
    folder: &Path,
    console: &dyn Console,
) -> Result<(), Failure> {
    let ras_from_vox = subject.space.ras_from_radiological();
    let every = plain.0.len().div_ceil(DRAWN).max(1);
    let seen = |point: [f32; 3]| {
        let [_, y, z] = ras_from_vox.apply(point.map(f64::from));
        [y, z]
    };
    // Lines end at what is no number.
    let line = |halves: &Halves| -> Vec<[f64; 2]> {
        halves.joined().map(seen).chain([[f64::NAN; 2]]).collect()
    };
    let lines: Vec<[f64; 2]> = plain.0.iter().step_by(every).flat_map(line).collect();
    let dots =
        |halves: &Halves| -> Vec<[f64; 2]> { halves.joined().step_by(DOTTED).map(seen).collect() };
    let dots: Vec<[f64; 2]> = made.0.iter().step_by(every).flat_map(dots).collect();
    let [y, z] = even_ranges(lines.iter().chain(&dots));
    let drawn = plain.0.len().div_ceil(every);
    let axes = Axes {
        heading: &format!("{drawn} of {} paths by two trackers", plain.0.len()),
        x: Axis::new("y, back to front", "mm").over(y[0], y[1]),
        y: Axis::new("z, feet to head", "mm").over(z[0], z[1]),
        guides: Vec::new(),
    };
    let series = [
        Series { name: "plain, lines", points: &lines, marks: Marks::Line },
        Series { name: &format!("{name}, dots"), points: &dots, marks: Marks::Dots },
    ];
    save(&xy(&series, &axes), "paths-by-two-trackers.svg", folder, console)
}

/// Ranges that have all points, with the same scale in both.
fn even_ranges<'a>(points: impl Iterator<Item = &'a [f64; 2]>) -> [[f64; 2]; 2] {
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for point in points.filter(|point| point[0].is_finite()) {
        for (axis, x) in point.iter().enumerate() {
            low[axis] = low[axis].min(*x);
            high[axis] = high[axis].max(*x);
        }
    }
    let size = |axis: usize| high[axis] - low[axis];
    // A little beyond the last points.
    let half = 0.52 * size(1).max(size(0) / ASPECT);
    let middle = |axis: usize| 0.5 * (low[axis] + high[axis]);
    let around = |axis: usize, half: f64| [middle(axis) - half, middle(axis) + half];
    [around(0, ASPECT * half), around(1, half)]
}

#[cfg(test)]
mod tests {
    use fimbria_compute::{SimdLevel, Workers};

    use super::super::fan::{Kept, fan};
    use super::*;

    fn path(first: &[[f32; 3]], second: &[[f32; 3]]) -> Halves {
        Halves { order: (0, 0), points: [first, second].map(<[_]>::to_vec) }
    }

    #[test]
    fn distances_add_up_over_the_points_that_both_have() {
        let one = path(&[[0.0; 3], [1.0, 0.0, 0.0]], &[[0.0; 3], [-1.0, 0.0, 0.0]]);
        let other = path(&[[0.0; 3], [1.0, 0.5, 0.0]], &[[0.0, 0.0, 2.0]]);
        let same = path(&[[3.0; 3]], &[]);
        let apart =
            Apart::between(&Paths(vec![one, path(&[[3.0; 3]], &[])]), &Paths(vec![other, same]));
        // 0.5² + 2²; the last point of one path has none beside it.
        assert_eq!(apart, Apart { points: 4, other_lengths: 1, squares: 4.25 });
        assert_eq!(apart.mean_square(), 4.25 / 4.0);
        // A path that one tracker has lost is no path in common.
        let [all, lost] = [2, 1].map(|n| Paths((0..n).map(|_| path(&[[3.0; 3]], &[])).collect()));
        for [one, other] in [[&all, &lost], [&lost, &all]] {
            let apart = Apart::between(one, other);
            assert_eq!(apart, Apart { points: 1, other_lengths: 1, squares: 0.0 });
        }
        assert_eq!([0.0, 1.04e-11].map(power), ["0", "1.0e-11"]);
    }

    #[test]
    fn paths_go_from_end_to_end_with_the_seed_once() {
        let [a, b, c] = [0.0, 1.0, 2.0].map(|x| [x, 0.0, 0.0]);
        let joined = |halves: Halves| halves.joined().collect::<Vec<_>>();
        assert_eq!(joined(path(&[b, a], &[b, c])), [a, b, c]);
        assert_eq!(joined(path(&[], &[b, c])), [b, c]);
        assert_eq!(joined(path(&[b, a], &[])), [a, b]);
    }

    #[test]
    fn ranges_have_all_points_and_one_scale() {
        for points in [[[0.0, 0.0], [10.0, 1.0]], [[0.0, -3.0], [1.0, 4.0]]] {
            let [x, y] = even_ranges(points.iter().chain(&[[f64::NAN; 2]]));
            for point in points {
                assert!(x[0] < point[0] && point[0] < x[1] && y[0] < point[1] && point[1] < y[1]);
            }
            assert!(((x[1] - x[0]) / (y[1] - y[0]) - ASPECT).abs() < 1e-12);
        }
    }

    #[test]
    fn threads_make_the_paths_of_the_plain_tracker() {
        let (folder, console) = (tempfile::tempdir().unwrap(), Kept::default());
        let subject = fan(&Workers::new(2).unwrap());
        let places = Processor::all(&[2], 2, Vec::new()).unwrap();
        table(&subject, &places, folder.path(), &console).unwrap();
        for method in ["basic ", "Euler ", "Euler, loops "] {
            let row = console.row(&format!("{method:<20}  2 threads"));
            assert_eq!(row[0], "2000");
            assert!(row[1].parse::<u64>().unwrap() > 2000 * 10, "{row:?}");
            // Without fused multiply-add numbers are rounded differently.
            if SimdLevel::available().iter().any(|level| level.fuses()) {
                assert_eq!(row[2..], ["0", "0", "0"], "{method}");
            }
        }
        let svg = std::fs::read_to_string(folder.path().join("paths-by-two-trackers.svg")).unwrap();
        assert!(svg.contains("16 of 2000 paths by two trackers"));
    }

    #[test]
    fn other_paths_are_apart() {
        let subject = fan(&Workers::new(1).unwrap());
        let [basic, euler, _] = methods().map(|(_, propagation)| {
            let mut paths = Paths::default();
            let quiet = fimbria_compute::Silent;
            let tracking = subject.tracking(&propagation, &subject.seeds, 20);
            track_slowly(&tracking, None, &quiet, &mut paths).unwrap();
            paths
        });
        let apart = Apart::between(&basic, &euler);
        assert!(apart.mean_square() > 1e-3, "{apart:?}");
        assert_eq!(Apart::between(&basic, &basic).squares, 0.0);
    }
}
