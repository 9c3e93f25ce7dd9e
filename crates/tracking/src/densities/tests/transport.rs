//! Curves whose curvature is drawn.

use fimbria_compute::SimdLevel;
use fimbria_compute::philox::{self, Philox};
use pulp::Simd;

use super::{Draw, Ends, OPTIONS, Room, bending, bits, dot, drawn, even, numbers, unit};
use crate::densities::arcs::{Drawer, Key, Pose};
use crate::densities::oracle::{Frame, Probe, across, density};
use crate::densities::transport::Curves;
use crate::densities::{Densities, DensityPropagation, DensityRule};

/// Radius 1.5 mm and more, looked ahead by three steps.
const TRANSPORT: DensityPropagation = DensityPropagation {
    rule: DensityRule::Transport { power: 1.0, places: 3, probe_mm: 0.9 },
    step_mm: 0.3,
    max_angle: 0.2,
    ..OPTIONS
};

fn probe() -> Probe {
    let DensityRule::Transport { power, places, probe_mm } = TRANSPORT.rule else { unreachable!() };
    let (length_mm, power) = (f64::from(probe_mm), f64::from(power));
    Probe { length_mm, places, power, cutoff: f64::from(TRANSPORT.cutoff) }
}

/// The densities along probes from a place: of each, where its places are, its directions and the densities.
#[derive(Clone, Copy)]
struct Looks {
    from: Pose,
    n: u64,
}

impl Draw for Looks {
    #[inline(always)]
    fn draw<S: Simd, const O: usize, const T: usize>(
        self,
        drawer: &Drawer<'_, S, O, T>,
        _options: &DensityPropagation,
    ) -> Vec<[u32; 6]> {
        let mut curves = Curves::new(drawer);
        let mut looks = Vec::new();
        for item in 0..self.n {
            let key = Key { item, region: 0 };
            for ([k1, k2], place, value) in curves.looks(drawer, self.from, key) {
                looks.push([k1, k2, place, value, 0.0, 0.0].map(f32::to_bits));
            }
        }
        looks
    }
}

/// Of curvatures (1/mm), how far along, mm, and the density: the largest error, as a part of the largest density.
fn largest_error(field: &Densities, from: Pose) -> f64 {
    let t = unit(from.dir.map(f64::from));
    let [p, q] = across(t);
    let m = field.vox_from_dir().map(|row| row.map(f64::from));
    let looks = drawn(field, TRANSPORT, SimdLevel::best(), Looks { from, n: 100 });
    let looks: Vec<_> =
        looks.into_iter().map(|bits| bits.map(|b| f64::from(f32::from_bits(b)))).collect();
    let largest = looks.iter().map(|look| look[3]).fold(0.0, f64::max);
    let error = |&[k1, k2, mm, value, ..]: &[f64; 6]| {
        let (moved, frame) = Frame([t, p, q]).carried([k1, k2], mm);
        let at: [f64; 3] = std::array::from_fn(|a| f64::from(from.pos[a]) + dot(m[a], moved));
        (value - density(field, at, frame.0[0])).abs() / largest
    };
    assert!(looks.len() > 1000 && largest > 0.1);
    looks.iter().map(error).fold(0.0, f64::max)
}

#[test]
fn densities_along_probes_are_those_of_the_oracle() {
    let dir = |v| unit(v).map(|x| x as f32);
    // The same everywhere: to rounding, whatever the posts are.
    let field = even(&[(unit([1.0, 0.5, 0.2]), 1.0), (unit([0.2, -1.0, 0.4]), 0.6)]);
    let from = Pose { pos: [5.3, 4.6, 3.9], dir: dir([0.9, 0.6, 0.2]) };
    assert!(largest_error(&field, from) < 2e-6);
    // Lobes turn by 0.11 from voxel to voxel, on a slope of theirs a density by half: slopes of neighbours
    // differ by some hundredths, and a probe is up to 0.13 voxel beside the line on which they are those of another
    // voxel than at the posts.
    for (pos, v) in [
        ([5.3, 4.6, 3.9], [0.75, 0.5, 0.4]),
        ([4.9, 4.45, 3.2], [0.2, 0.7, 0.5]),
        ([6.05, 3.5, 4.5], [-0.5, 0.1, 0.8]),
    ] {
        let error = largest_error(&bending(8), Pose { pos, dir: dir(v) });
        assert!(error < 0.01, "{pos:?}: {error}");
    }
}

#[test]
fn a_carried_frame_obeys_the_equations_of_parallel_transport_and_comes_back() {
    let t = unit([0.3, -0.5, 0.8]);
    let [u, v] = across(t);
    let start = Frame([t, u, v]);
    let k = [0.4, -0.7];
    let (h, at) = (1e-5, 0.8);
    let of = |mm| start.carried(k, mm);
    let (_, Frame([t, u, v])) = of(at);
    let slope = |axis: usize| -> [f64; 3] {
        let (_, Frame(before)) = of(at - h);
        let (_, Frame(after)) = of(at + h);
        std::array::from_fn(|a| (after[axis][a] - before[axis][a]) / (2.0 * h))
    };
    for a in 0..3 {
        // Differences over 2e-5 of numbers right to 1e-16.
        let moved = (of(at + h).0[a] - of(at - h).0[a]) / (2.0 * h);
        assert!((moved - t[a]).abs() < 1e-9);
        assert!((slope(0)[a] - k[0] * u[a] - k[1] * v[a]).abs() < 1e-9);
        assert!((slope(1)[a] + k[0] * t[a]).abs() < 1e-9);
        assert!((slope(2)[a] + k[1] * t[a]).abs() < 1e-9);
    }
    // The same curve the other way has the same bend, so that it leads back.
    let (there, end) = of(at);
    let (back, Frame(home)) = end.reversed().carried([-k[0], k[1]], at);
    let Frame(expected) = start.reversed();
    for a in 0..3 {
        assert!((there[a] + back[a]).abs() < 1e-12);
        assert!((0..3).all(|axis| (home[axis][a] - expected[axis][a]).abs() < 1e-12));
    }
}

#[test]
fn curvatures_are_drawn_with_the_chances_of_the_oracle() {
    let from = |dir: [f64; 3]| Pose { pos: [5.3, 4.6, 3.9], dir: unit(dir).map(|x| x as f32) };
    let cases = [
        // Along a lobe, between the two of a crossing, and off a single one.
        (bending(8), from([0.75, 0.5, 0.4])),
        (bending(8), from([0.2, 0.7, 0.5])),
        (even(&[(unit([1.0, 0.5, 0.0]), 1.0)]), from([1.0, 0.0, 0.2])),
        (bending(4), from([0.6, 0.4, 0.6])),
        (bending(12), from([0.75, 0.5, 0.4])),
    ];
    let (rings, n, fine, around) = (5, 20_000, 16, 60);
    let largest = f64::from(TRANSPORT.max_curvature());
    let step = f64::from(TRANSPORT.step_mm);
    for (case, (field, from)) in cases.iter().enumerate() {
        let t = unit(from.dir.map(f64::from));
        let [p, q] = across(t);
        let mut expected = vec![0.0; 2 * rings];
        for i in 0..rings * fine {
            let k = largest * ((i as f64 + 0.5) / (rings * fine) as f64).sqrt();
            for j in 0..around {
                let turn = std::f64::consts::TAU * (f64::from(j) + 0.5) / f64::from(around);
                let k = [k * turn.cos(), k * turn.sin()];
                let chance = probe().chance(field, from.pos.map(f64::from), Frame([t, p, q]), k);
                expected[usize::from(k[0] > 0.0) * rings + i / fine] += chance;
            }
        }
        let total: f64 = expected.iter().sum();
        let mut counts = vec![0.0; 2 * rings];
        for end in drawn(field, TRANSPORT, SimdLevel::best(), Ends { from: *from, n }) {
            let (_, dir) = numbers(end);
            let k = dot(dir, t).min(1.0).acos() / step;
            let ring = ((k / largest).powi(2) * rings as f64) as usize;
            counts[usize::from(dot(dir, p) > 0.0) * rings + ring.min(rings - 1)] += 1.0;
        }
        for (bin, (count, part)) in counts.iter().zip(&expected).enumerate() {
            let part = part / total;
            let mean = part * n as f64;
            // Five deviations of a binomial number, and one count.
            let bound = 5.0 * (mean * (1.0 - part)).sqrt() + 1.0;
            assert!((count - mean).abs() < bound, "case {case}, bin {bin}: {count}, not {mean}");
        }
    }
}

#[test]
fn a_step_of_a_curve_lies_on_its_circle() {
    let field = bending(8);
    let from = Pose { pos: [5.3, 4.6, 3.9], dir: unit([0.75, 0.5, 0.4]).map(|x| x as f32) };
    let t = unit(from.dir.map(f64::from));
    let [p, q] = across(t);
    let m = field.vox_from_dir().map(|row| row.map(f64::from));
    let step = f64::from(TRANSPORT.step_mm);
    for end in drawn(&field, TRANSPORT, SimdLevel::best(), Ends { from, n: 200 }) {
        let (pos, dir) = numbers(end);
        let (along_p, along_q) = (dot(dir, p), dot(dir, q));
        // The sine of the turn is exact where its cosine is not.
        let sin = along_p.hypot(along_q);
        let k = sin.asin() / step;
        let k = [k * along_p / sin, k * along_q / sin];
        let (mm, _) = Frame([t, p, q]).carried(k, step);
        for a in 0..3 {
            let expected = f64::from(from.pos[a]) + dot(m[a], mm);
            // Single precision of positions.
            assert!((pos[a] - expected).abs() < 2e-6, "{pos:?} {expected}");
        }
    }
}

/// Where so many streamlines from a place are after some steps; zeros where one ended.
#[derive(Clone, Copy)]
struct Walks {
    from: Pose,
    steps: u32,
    n: u64,
}

impl Draw for Walks {
    #[inline(always)]
    fn draw<S: Simd, const O: usize, const T: usize>(
        self,
        drawer: &Drawer<'_, S, O, T>,
        options: &DensityPropagation,
    ) -> Vec<[u32; 6]> {
        let mut room = Room::new(drawer, options);
        let mut walk = |item| {
            let mut place = self.from;
            for step in 1..=self.steps {
                place = room.next(drawer, place, item, step).ok()?;
            }
            Some(place)
        };
        (0..self.n).map(|item| walk(item).map_or([0; 6], bits)).collect()
    }
}

#[test]
fn curves_spread_as_those_whose_frame_is_carried_along() {
    let field = bending(8);
    let from = Pose { pos: [5.3, 4.6, 3.9], dir: unit([0.6, 0.6, 0.4]).map(|x| x as f32) };
    let (steps, n) = (8, 1500);
    let t = unit(from.dir.map(f64::from));
    let [p, q] = across(t);
    let m = field.vox_from_dir().map(|row| row.map(f64::from));
    let largest = f64::from(TRANSPORT.max_curvature());
    let mut at = 0;
    let mut uniform = || {
        at += 1;
        f64::from(philox::uniform::<f32>(Philox::new(8).at(at, 0)[0]))
    };
    // No density is larger.
    let bound = 1.6;
    let mut carried = || {
        let (mut pos, mut frame) = (from.pos.map(f64::from), Frame([t, p, q]));
        for _ in 0..steps {
            let k = loop {
                let (k, turn) = (largest * uniform().sqrt(), std::f64::consts::TAU * uniform());
                let k = [k * turn.cos(), k * turn.sin()];
                let chance = probe().chance(&field, pos, frame, k);
                assert!(chance < bound);
                if uniform() * bound < chance {
                    break k;
                }
            };
            let (mm, next) = frame.carried(k, f64::from(TRANSPORT.step_mm));
            frame = next;
            pos = std::array::from_fn(|a| pos[a] + dot(m[a], mm));
        }
        frame.0[0]
    };
    let slowly: Vec<_> = (0..n).map(|_| carried()).collect();
    let fast = drawn(&field, TRANSPORT, SimdLevel::best(), Walks { from, steps, n });
    let fast: Vec<_> = fast.into_iter().map(|bits| numbers(bits).1).collect();
    for axis in [p, q] {
        for power in [1, 2] {
            let of = |dirs: &[[f64; 3]]| {
                let all: Vec<_> = dirs.iter().map(|dir| dot(*dir, axis).powi(power)).collect();
                let mean = all.iter().sum::<f64>() / n as f64;
                let square = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
                (mean, square / n as f64)
            };
            let ((a, of_a), (b, of_b)) = (of(&slowly), of(&fast));
            // Five deviations of the difference of two means.
            assert!((a - b).abs() < 5.0 * (of_a + of_b).sqrt(), "power {power}: {a}, {b}");
        }
    }
}
