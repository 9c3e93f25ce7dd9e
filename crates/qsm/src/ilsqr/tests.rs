//! The same steps as the paper has them, with sums over all k in f64; and laws.

use std::f64::consts::TAU;

use fimbria_compute::Silent;

use fimbria_compute::Backend;

use super::*;
use crate::variation::rms;
use crate::{Geometry, Shape};

const DIMS: [usize; 3] = [6, 5, 4];
const SPACING: [f64; 3] = [0.9, 1.0, 1.0 / 0.9];
const B0: [f64; 3] = [0.36, -0.48, 0.8];

fn model() -> FieldModel {
    let geometry = Geometry { dims: DIMS, spacing: SPACING, b0: B0, reversed: [false; 3] };
    let mask: Vec<u32> = (0..120).filter(|v| ![0, 5, 24, 29, 90, 119].contains(v)).collect();
    let shapes = vec![Shape::Sphere; mask.len()];
    FieldModel::new(&geometry, &mask, shapes, &mask).unwrap()
}

fn number(i: usize) -> f32 {
    ((i * 7919 + 31) % 211) as f32 / 105.0 - 1.0
}

fn narrow(x: &[f64]) -> Vec<f32> {
    x.iter().map(|x| *x as f32).collect()
}

/// ‖found - expected‖ / ‖expected‖
fn error(found: &[f32], expected: &[f64]) -> f64 {
    let pairs = found.iter().zip(expected);
    let (off, size) = pairs
        .fold((0.0, 0.0), |(off, size), (f, e)| (off + (f64::from(*f) - e).powi(2), size + e * e));
    assert_eq!(found.len(), expected.len());
    (off / size).sqrt()
}

/// The periodic volume, with matrices for transforms.
struct Plain {
    shape: [usize; 3],
    /// Places of the unknowns.
    places: Vec<usize>,
}

impl Plain {
    fn new(model: &FieldModel, shape: [usize; 3]) -> Self {
        let place = |&v: &u32| {
            let [x, y, z] = model.geometry.voxel(v as usize);
            x + shape[0] * (y + shape[1] * z)
        };
        Self { shape, places: model.unknowns.iter().map(place).collect() }
    }

    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    fn indices(&self, place: usize) -> [usize; 3] {
        let [nx, ny, _] = self.shape;
        [place % nx, place / nx % ny, place / (nx * ny)]
    }

    /// The next place along an axis, whose ends meet.
    fn next(&self, place: usize, a: usize) -> usize {
        let mut i = self.indices(place);
        i[a] = (i[a] + 1) % self.shape[a];
        i[0] + self.shape[0] * (i[1] + self.shape[1] * i[2])
    }

    /// D, of the highest frequency of an even axis the mean of those of both its signs.
    fn dipole(&self, place: usize) -> f64 {
        let i = self.indices(place);
        let k: [f64; 3] = std::array::from_fn(|a| {
            let n = self.shape[a] as f64;
            let i = i[a] as f64;
            (if 2.0 * i > n { i - n } else { i }) / (n * SPACING[a])
        });
        let squared: f64 = k.iter().map(|k| k * k).sum();
        if squared == 0.0 {
            return 0.0;
        }
        let signs = |a: usize| if 2 * i[a] == self.shape[a] { vec![1.0, -1.0] } else { vec![1.0] };
        let mut all = Vec::new();
        for x in signs(0) {
            for y in signs(1) {
                for z in signs(2) {
                    let along = x * k[0] * B0[0] + y * k[1] * B0[1] + z * k[2] * B0[2];
                    all.push(1.0 / 3.0 - along * along / squared);
                }
            }
        }
        all.iter().sum::<f64>() / all.len() as f64
    }

    /// The circulant matrix of a filter that is even in k: its first column.
    fn column(&self, filter: impl Fn(usize) -> f64) -> Vec<f64> {
        let n = self.len();
        let of = |place: usize| {
            let p = self.indices(place);
            let sum: f64 = (0..n)
                .map(|k| {
                    let i = self.indices(k);
                    let turn: f64 =
                        (0..3).map(|a| (i[a] * p[a]) as f64 / self.shape[a] as f64).sum();
                    filter(k) * (TAU * turn).cos()
                })
                .sum();
            sum / n as f64
        };
        (0..n).map(of).collect()
    }

    fn filtered(&self, column: &[f64], x: &[f64]) -> Vec<f64> {
        let n = self.len();
        let difference = |to: usize, from: usize| {
            let (to, from) = (self.indices(to), self.indices(from));
            let i: [usize; 3] =
                std::array::from_fn(|a| (to[a] + self.shape[a] - from[a]) % self.shape[a]);
            i[0] + self.shape[0] * (i[1] + self.shape[1] * i[2])
        };
        (0..n).map(|to| (0..n).map(|from| column[difference(to, from)] * x[from]).sum()).collect()
    }

    fn masked(&self, x: &[f64]) -> Vec<f64> {
        let mut inside = vec![0.0; x.len()];
        self.places.iter().for_each(|&place| inside[place] = x[place]);
        inside
    }

    fn scattered(&self, values: &[f64]) -> Vec<f64> {
        let mut volume = vec![0.0; self.len()];
        self.places.iter().zip(values).for_each(|(&place, x)| volume[place] = *x);
        volume
    }

    /// Frequencies that the half spectrum holds.
    fn half(&self) -> Vec<usize> {
        (0..self.len()).filter(|&k| self.indices(k)[0] <= self.shape[0] / 2).collect()
    }

    fn fast_map(&self, field: &[f64]) -> Vec<f64> {
        let sign = |k: usize| {
            let d = self.dipole(k);
            if d == 0.0 { 0.0 } else { d.signum() * d.abs().powf(0.001) }
        };
        let scattered = self.scattered(field);
        let map = self.filtered(&self.column(sign), &scattered);
        let mut ball: Vec<f64> = (0..self.len())
            .map(|place| {
                let i = self.indices(place);
                let square: f64 = (0..3)
                    .map(|a| (i[a].min(self.shape[a] - i[a]) as f64 * SPACING[a]).powi(2))
                    .sum();
                f64::from(u8::from(square <= 9.0 + 1e-6))
            })
            .collect();
        let count: f64 = ball.iter().sum();
        ball.iter_mut().for_each(|b| *b /= count);
        let smooth = self.filtered(&ball, &self.masked(&map));
        let sizes = self.half().iter().map(|&k| self.dipole(k).abs()).collect();
        let [low, high] = percentiles(sizes, [0.01, 0.30]);
        let part = |k: usize| fall(self.dipole(k).abs(), low, high);
        let of_map = self.filtered(&self.column(|k| (1.0 - part(k)) * sign(k)), &scattered);
        let of_smooth = self.filtered(&self.column(part), &smooth);
        let blend: Vec<f64> = of_map.iter().zip(&of_smooth).map(|(a, b)| a + b).collect();
        self.masked(&blend)
    }

    /// Pairs of neighbours along an axis, and the weight of each; pairs outside the mask have none.
    fn weights(&self, map: &[f64], a: usize) -> Vec<f64> {
        let is_inside = |place: usize| self.places.contains(&place);
        let counts = |place: usize| is_inside(place) && is_inside(self.next(place, a));
        let size = |place: usize| ((map[self.next(place, a)] - map[place]) / SPACING[a]).abs();
        let sizes = (0..self.len()).filter(|&p| counts(p)).map(size).collect();
        let [low, high] = percentiles(sizes, [0.50, 0.70]);
        let weight = |p: usize| if counts(p) { fall(size(p), low, high) } else { 0.0 };
        (0..self.len()).map(weight).collect()
    }
}

fn percentiles(mut values: Vec<f64>, parts: [f64; 2]) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    parts.map(|part| values[(part * (values.len() - 1) as f64).round() as usize])
}

fn fall(value: f64, low: f64, high: f64) -> f64 {
    ((high - value) / (high - low)).clamp(0.0, 1.0)
}

/// The normal equations by conjugate gradients, as a textbook has them.
fn normal_equations(
    apply: impl Fn(&[f64]) -> Vec<f64>,
    adjoint: impl Fn(&[f64]) -> Vec<f64>,
    data: &[f64],
    steps: usize,
) -> Vec<f64> {
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let mut rest = adjoint(data);
    let mut way = rest.clone();
    let mut x = vec![0.0; rest.len()];
    for _ in 0..steps {
        let image = adjoint(&apply(&way));
        let square = dot(&rest, &rest);
        let step = square / dot(&way, &image);
        for i in 0..x.len() {
            x[i] += step * way[i];
            rest[i] -= step * image[i];
        }
        let turn = dot(&rest, &rest) / square;
        (0..x.len()).for_each(|i| way[i] = rest[i] + turn * way[i]);
    }
    x
}

/// So few steps that f32 and f64 have not yet gone apart.
const HOW: Ilsqr = Ilsqr { limit: 0.1, iterations: 6, tolerance: 0.0 };

#[test]
fn a_map_is_that_of_the_plain_steps() {
    let (workers, model) = (Workers::new(2).unwrap(), model());
    let n = model.unknowns.len();
    let field: Vec<f32> = (0..n).map(|i| 0.05 * number(i)).collect();
    let given: Vec<f32> = (0..n).map(|i| 1.0 + 0.5 * number(i + 3)).collect();
    let found =
        invert_ilsqr(&model, &field, Some(&given), HOW, &Backend::cpu(&workers), &Silent).unwrap();

    let shape = KSpace::new(&model.geometry, &workers).unwrap().shape();
    let plain = Plain::new(&model, shape);
    let b: Vec<f64> = field.iter().map(|b| f64::from(*b)).collect();
    // W: faces count 10/96 and edges 3/96 of each neighbour in the mask.
    let at = |v: u32| model.geometry.voxel(v as usize).map(|i| i as i64);
    let bend = |i: usize| {
        let here = at(model.unknowns[i]);
        let each = model.unknowns.iter().enumerate().map(|(j, &other)| {
            let square: i64 = (0..3).map(|a| (at(other)[a] - here[a]).pow(2)).sum();
            [0.0, 10.0 / 96.0, 3.0 / 96.0].get(square as usize).unwrap_or(&0.0) * (b[j] - b[i])
        });
        each.sum::<f64>().abs()
    };
    let bends: Vec<f64> = (0..n).map(bend).collect();
    let [low, high] = percentiles(bends.clone(), [0.60, 0.999]);
    let w: Vec<f64> =
        bends.iter().zip(&given).map(|(x, g)| fall(*x, low, high) * f64::from(*g)).collect();

    let dipole = plain.column(|k| plain.dipole(k));
    let apply = |x: &[f64]| -> Vec<f64> {
        let of_map = plain.filtered(&dipole, x);
        plain.places.iter().zip(&w).map(|(&place, w)| w * of_map[place]).collect()
    };
    let adjoint = |y: &[f64]| {
        let pull: Vec<f64> = y.iter().zip(&w).map(|(y, w)| w * y).collect();
        plain.filtered(&dipole, &plain.scattered(&pull))
    };
    let data: Vec<f64> = b.iter().zip(&w).map(|(b, w)| b * w).collect();
    let first = normal_equations(apply, adjoint, &data, HOW.iterations);

    let fast = plain.fast_map(&b);
    let weights = [0, 1, 2].map(|a| plain.weights(&fast, a));
    let is_below = |k: usize| plain.dipole(k).abs() < HOW.limit;
    let cone = plain.column(|k| f64::from(u8::from(is_below(k))));
    let slopes = |x: &[f64]| -> Vec<f64> {
        let of = |(a, place): (usize, usize)| {
            weights[a][place] * (x[plain.next(place, a)] - x[place]) / SPACING[a]
        };
        (0..3).flat_map(|a| (0..plain.len()).map(move |place| (a, place))).map(of).collect()
    };
    let gathered = |y: &[f64]| {
        let mut sum = vec![0.0; plain.len()];
        for (i, y) in y.iter().enumerate() {
            let (a, place) = (i / plain.len(), i % plain.len());
            let part = weights[a][place] * y / SPACING[a];
            sum[plain.next(place, a)] += part;
            sum[place] -= part;
        }
        plain.filtered(&cone, &sum)
    };
    let streaks = normal_equations(slopes, gathered, &slopes(&first), HOW.iterations);
    let chi: Vec<f64> = plain.places.iter().map(|&p| first[p] - streaks[p]).collect();
    // Some 10 operations deep, each good to 1e-7, through 12 steps.
    assert!(error(&found.chi, &chi) < 1e-4, "{}", error(&found.chi, &chi));
    let all: Vec<f64> = first.iter().zip(&streaks).map(|(x, s)| x - s).collect();
    let of_map = plain.filtered(&dipole, &all);
    let of_map: Vec<f64> = plain.places.iter().map(|&p| of_map[p]).collect();
    assert!(error(&found.field, &of_map) < 1e-4);
    assert_eq!((found.of_map, found.log.len(), found.has_settled), (6, 12, false));
    // The streaks are no trifle here.
    let inside: Vec<f64> = plain.places.iter().map(|&p| first[p]).collect();
    assert!(error(&narrow(&inside), &chi) > 0.1, "{}", error(&narrow(&inside), &chi));
}

#[test]
fn the_operators_are_the_adjoints_of_theirs() {
    let (workers, model) = (Workers::new(2).unwrap(), model());
    let space = KSpace::new(&model.geometry, &workers).unwrap();
    let places = space.places(&model.geometry, &model.unknowns);
    let numbers =
        |seed: usize, n: usize| (0..n).map(|i| number(3 * i + seed)).collect::<Vec<f32>>();
    let field = numbers(1, places.len());
    let check = |name: &str,
                 x: &Vec<f32>,
                 y: &Vec<f32>,
                 a: &dyn Fn(&Vec<f32>, &mut Vec<f32>),
                 b: &dyn Fn(&Vec<f32>, &mut Vec<f32>)| {
        let (mut of_x, mut of_y) = (vec![0.0; y.len()], vec![0.0; x.len()]);
        a(x, &mut of_x);
        b(y, &mut of_y);
        let dot = |x: &[f32], y: &[f32]| -> f64 {
            x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
        };
        let (left, right) = (dot(&of_x, y), dot(x, &of_y));
        // Some thousand products of order 1, each good to 1e-7.
        assert!((left - right).abs() < 1e-4 && left.abs() > 0.1, "{name}: {left} {right}");
    };
    let dipole = WeightedDipole::new(&space, &places, numbers(2, places.len()));
    let (x, y) = (numbers(5, space.elements()), numbers(7, places.len()));
    check("dipole", &x, &y, &|x, y| dipole.apply(x, y).unwrap(), &|y, x| {
        dipole.adjoint(y, x).unwrap();
    });
    let of_cone = OfCone::new(&space, Boundaries::new(&space, &places, &field), 0.1);
    // Maps of the cone are those that it is for.
    let (x, y) = (of_cone.part(&x), numbers(11, 3 * space.elements()));
    check("cone", &x, &y, &|x, y| of_cone.apply(x, y).unwrap(), &|y, x| {
        of_cone.adjoint(y, x).unwrap();
    });
}

/// Blocks of a head, on which streaks are laid that only the cone has.
#[test]
fn streaks_of_the_cone_are_taken_off_and_blocks_are_left() {
    let workers = Workers::new(2).unwrap();
    let dims = [20, 18, 16];
    let geometry = Geometry { dims, spacing: [1.0; 3], b0: B0, reversed: [false; 3] };
    let mask: Vec<u32> = (0..geometry.len() as u32).collect();
    let shapes = vec![Shape::Sphere; mask.len()];
    let model = FieldModel::new(&geometry, &mask, shapes, &mask).unwrap();
    let space = KSpace::new(&model.geometry, &workers).unwrap();
    let places = space.places(&model.geometry, &model.unknowns);
    let mut blocks = vec![0.0; space.elements()];
    for (&place, &v) in places.iter().zip(&mask) {
        let [x, y, z] = geometry.voxel(v as usize);
        let is_block = (5..12).contains(&x) && (6..12).contains(&y) && (4..11).contains(&z);
        blocks[place as usize] = if is_block { 0.1 } else { 0.0 };
    }
    let mut inside = vec![false; space.elements()];
    places.iter().for_each(|&place| inside[place as usize] = true);
    // The blocks' own boundaries: of their differences along an axis fewer than 1 in 20.
    let boundaries = Boundaries::of_map(&space, &blocks, &inside, &workers);
    let of_cone = OfCone::new(&space, boundaries, 0.1);
    let noise: Vec<f32> = (0..space.elements()).map(|i| 0.1 * number(i * i % 9973)).collect();
    let laid = of_cone.part(&noise);
    let with: Vec<f32> = blocks.iter().zip(&laid).map(|(b, s)| b + s).collect();
    let how = Ilsqr { iterations: 40, tolerance: 1e-3, ..Ilsqr::default() };
    let slopes = of_cone.slopes(&with);
    let (unknowns, at_unknowns) = (AtUnknowns::new(&space, &places), at(&places, &with));
    let less = Some(&*at_unknowns);
    let problem = LeastSquares { data: &slopes, less, unknowns: &unknowns, how, progress: &Silent };
    let there = |device: &Device| DeviceCone::new(&of_cone, device);
    let found = problem.solve(&of_cone, None, there).unwrap();
    assert!(found.log.len() > 1, "{}", found.log.len());
    let told = found.log[found.log.len() - 1].rms;
    let found = found.x;
    // What the log tells is of the map without streaks, sums of f32 in other groups.
    let cleaned = rms(places.iter().map(|&p| with[p as usize] - found[p as usize]));
    assert!((told - cleaned).abs() < 1e-6 * cleaned, "{told} {cleaned}");
    // Less their means, which no difference tells.
    let rms_of = |map: &dyn Fn(usize) -> f32| {
        let values: Vec<f64> = places.iter().map(|&p| f64::from(map(p as usize))).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
    };
    let (before, after) = (rms_of(&|p| laid[p]), rms_of(&|p| laid[p] - found[p]));
    assert!(after < 0.1 * before, "{after} of {before}");
}

#[test]
fn no_field_has_no_map_and_a_limit_beyond_the_dipole_is_refused() {
    let (workers, model) = (Workers::new(1).unwrap(), model());
    let n = model.unknowns.len();
    let zero = vec![0.0; n];
    let found =
        invert_ilsqr(&model, &zero, None, Ilsqr::default(), &Backend::cpu(&workers), &Silent)
            .unwrap();
    assert_eq!((found.chi, found.has_settled), (zero.clone(), true));
    for limit in [0.0, 0.7, f64::NAN] {
        let how = Ilsqr { limit, ..Ilsqr::default() };
        let said =
            invert_ilsqr(&model, &zero, None, how, &Backend::cpu(&workers), &Silent).unwrap_err();
        assert!(said.to_string().contains("limit"), "{said}");
    }
}
