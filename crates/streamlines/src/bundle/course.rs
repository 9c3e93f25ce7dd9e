//! The one direction that the streamlines of a bundle are counted in.

use crate::edit::evenly;

/// Points of a streamline, as many for each, scanner RAS+ mm.
pub type Nodes = Vec<[f64; 3]>;

/// `n` nodes, evenly spaced along a streamline; `None` of one without points, or not finite.
pub fn nodes(points: &[[f32; 3]], n: usize) -> Option<Nodes> {
    let places = evenly(points, n);
    let node = |(at, part): (usize, f64)| -> [f64; 3] {
        let here = points[at].map(f64::from);
        match points.get(at + 1).filter(|_| part > 0.0) {
            Some(next) => std::array::from_fn(|a| here[a] + part * (f64::from(next[a]) - here[a])),
            None => here,
        }
    };
    let is_finite = points.iter().flatten().all(|x| x.is_finite());
    (is_finite && !places.is_empty()).then(|| places.into_iter().map(node).collect())
}

fn square(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum()
}

/// True where `nodes` lie nearer to `course` when counted from the other end: by the sum of distances of nodes.
fn runs_back(course: &[[f64; 3]], nodes: &[[f64; 3]]) -> bool {
    let pairs = || course.iter().zip(nodes);
    let back = course.iter().zip(nodes.iter().rev());
    let forth: f64 = pairs().map(|(a, b)| square(*a, *b).sqrt()).sum();
    back.map(|(a, b)| square(*a, *b).sqrt()).sum::<f64>() < forth
}

/// The mean of streamlines, each turned to run as those before it.
#[derive(Clone, Debug, Default)]
pub struct CourseSums {
    mean: Nodes,
    weight: f64,
}

impl CourseSums {
    /// Adds a streamline. The order matters in rare cases, so that all are added in that of the file.
    pub fn add(&mut self, mut nodes: Nodes, weight: f64) {
        if weight <= 0.0 {
            return;
        }
        if self.mean.is_empty() {
            (self.mean, self.weight) = (nodes, weight);
            return;
        }
        if runs_back(&self.mean, &nodes) {
            nodes.reverse();
        }
        self.weight += weight;
        for (mean, node) in self.mean.iter_mut().zip(nodes) {
            for axis in 0..3 {
                mean[axis] += (node[axis] - mean[axis]) * weight / self.weight;
            }
        }
    }

    /// The way of the bundle, from the end that lies nearer to `start`. Without it, along the axis on which the ends
    /// are farthest apart, from left to right, from back to front or from below upwards. `None` of no streamlines.
    pub fn course(self, start: Option<[f64; 3]>) -> Option<Course> {
        let mut mean = self.mean;
        let (first, last) = (*mean.first()?, *mean.last()?);
        let is_backwards = match start {
            Some(start) => square(last, start) < square(first, start),
            None => {
                let along: [f64; 3] = std::array::from_fn(|a| last[a] - first[a]);
                along.into_iter().max_by(|a, b| a.abs().total_cmp(&b.abs())) < Some(0.0)
            }
        };
        if is_backwards {
            mean.reverse();
        }
        Some(Course { mean })
    }
}

/// The way of a bundle, which says how each streamline is counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    mean: Nodes,
}

impl Course {
    /// Its nodes.
    pub fn mean(&self) -> &[[f64; 3]] {
        &self.mean
    }

    /// The nodes of a streamline in this direction; `None` of one without points, or not finite.
    pub fn nodes(&self, points: &[[f32; 3]]) -> Option<Nodes> {
        let mut nodes = nodes(points, self.mean.len())?;
        if runs_back(&self.mean, &nodes) {
            nodes.reverse();
        }
        Some(nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(y: f32, backwards: bool) -> Vec<[f32; 3]> {
        let mut line: Vec<[f32; 3]> = (0..=40).map(|x| [x as f32, y, 0.0]).collect();
        if backwards {
            line.reverse();
        }
        line
    }

    #[test]
    fn streamlines_of_either_direction_are_counted_in_one() {
        for first in [false, true] {
            let mut sums = CourseSums::default();
            for (i, y) in [0.0, 1.0, 2.0, 3.0].into_iter().enumerate() {
                sums.add(nodes(&line(y, (i % 2 == 1) != first), 5).unwrap(), 1.0);
            }
            let course = sums.course(None).unwrap();
            assert_eq!(course.mean()[0], [0.0, 1.5, 0.0]);
            assert_eq!(course.mean()[4], [40.0, 1.5, 0.0]);
            assert_eq!(course.nodes(&line(9.0, true)).unwrap()[1], [10.0, 9.0, 0.0]);
        }
    }

    #[test]
    fn a_start_turns_the_whole_and_weights_are_numbers_of_streamlines() {
        let mut sums = CourseSums::default();
        sums.add(nodes(&line(0.0, false), 3).unwrap(), 3.0);
        sums.add(nodes(&line(8.0, true), 3).unwrap(), 1.0);
        sums.add(nodes(&line(900.0, true), 3).unwrap(), 0.0);
        let course = sums.course(Some([60.0, 0.0, 0.0])).unwrap();
        assert_eq!(course.mean(), [[40.0, 2.0, 0.0], [20.0, 2.0, 0.0], [0.0, 2.0, 0.0]]);
        assert_eq!(CourseSums::default().course(None), None);
    }
}
