//! Against the oracle, closed forms and quadrature.

mod transport;

use fimbria_compute::{SimdLevel, Workers};
use fimbria_image::{Affine, BvecFrame, Grid, Mask};
use pulp::{Simd, WithSimd};

use super::arcs::{Arcs, Drawer, Key, Pose};
use super::form::{exponents, multiplicities};
use super::maximum::{Ascents, SIDE_BY_SIDE};
use super::oracle::{Arc, across, along_arc, density};
use super::transport::{Ahead, Curves};
use super::{Densities, DensityPropagation, DensityRule};
use crate::EndReason;

/// A direction and a size.
type Lobe = ([f64; 3], f64);

/// `Σ w (v·u)^8` of some directions.
fn lobes(all: &[Lobe], order: usize, entries: &mut [f32]) {
    for (entry, e) in entries.iter_mut().zip(exponents(order)) {
        let power = |v: &[f64; 3]| (0..3).map(|a| v[a].powi(e[a] as i32)).product::<f64>();
        *entry = all.iter().map(|(v, w)| w * power(v)).sum::<f64>() as f32;
    }
}

fn grid() -> Grid {
    let ras_from_vox = Affine([[1.5, 0.1, 0., -9.], [-0.1, 1.8, 0.2, 4.], [0., -0.2, 2.2, 7.]]);
    Grid { dims: [12, 10, 9], ras_from_vox }
}

fn workers() -> Workers {
    Workers::new(1).unwrap().with_simd(SimdLevel::Scalar)
}

/// Two lobes that bend and change in size from voxel to voxel.
fn bending(order: usize) -> Densities {
    let grid = grid();
    let fill = |voxel: u32, entries: &mut [f32]| {
        let [i, j, k] = grid.voxel(voxel as usize).map(|x| x as f64);
        let t = 0.11 * i + 0.05 * j - 0.07 * k;
        let v = [t.cos(), t.sin() * 0.8, t.sin() * 0.6];
        let w = [-t.sin(), 0.8 * t.cos(), 0.6 * t.cos()];
        lobes(&[(v, 1.0 + 0.05 * j), (w, 0.4 + 0.06 * k)], order, entries);
    };
    Densities::new(&Mask::full(grid), order, BvecFrame::Scanner, &workers(), fill).unwrap()
}

/// The same lobes everywhere.
fn even(all: &[Lobe]) -> Densities {
    let fill = |_, entries: &mut [f32]| lobes(all, 8, entries);
    Densities::new(&Mask::full(grid()), 8, BvecFrame::Scanner, &workers(), fill).unwrap()
}

const OPTIONS: DensityPropagation = DensityPropagation {
    rule: DensityRule::Arcs { power: 1.0, places: 3 },
    step_mm: 0.9,
    max_angle: 0.8,
    cutoff: 0.05,
    max_length_mm: 100.0,
};

fn fusing() -> Vec<SimdLevel> {
    SimdLevel::available().into_iter().filter(|level| level.fuses()).collect()
}

fn unit(v: [f64; 3]) -> [f64; 3] {
    let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
    v.map(|x| x / norm)
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

/// Calls a closure with a drawer at one SIMD level.
struct With<'a, F> {
    field: &'a Densities,
    options: DensityPropagation,
    draw: F,
}

/// What is drawn from a place: where to, of many keys.
trait Draw {
    fn draw<S: Simd, const O: usize, const T: usize>(
        self,
        drawer: &Drawer<'_, S, O, T>,
        options: &DensityPropagation,
    ) -> Vec<[u32; 6]>;
}

impl<F: Draw> WithSimd for With<'_, F> {
    type Output = Vec<[u32; 6]>;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let Self { field, options, draw } = self;
        match field.order() {
            4 => draw.draw(&Drawer::<S, 4, 15>::new(simd, field, &options, None, 3), &options),
            6 => draw.draw(&Drawer::<S, 6, 28>::new(simd, field, &options, None, 3), &options),
            8 => draw.draw(&Drawer::<S, 8, 45>::new(simd, field, &options, None, 3), &options),
            10 => draw.draw(&Drawer::<S, 10, 66>::new(simd, field, &options, None, 3), &options),
            _ => draw.draw(&Drawer::<S, 12, 91>::new(simd, field, &options, None, 3), &options),
        }
    }
}

fn bits(place: Pose) -> [u32; 6] {
    let [x, y, z] = place.pos.map(f32::to_bits);
    let [u, v, w] = place.dir.map(f32::to_bits);
    [x, y, z, u, v, w]
}

fn numbers(bits: [u32; 6]) -> ([f64; 3], [f64; 3]) {
    let x = bits.map(|b| f64::from(f32::from_bits(b)));
    ([x[0], x[1], x[2]], [x[3], x[4], x[5]])
}

/// Ends of arcs from a place, of so many streamlines; zeros where there was none.
#[derive(Clone, Copy)]
struct Ends {
    from: Pose,
    n: u64,
}

/// What steps are drawn with, by the rule.
enum Room {
    Arcs(Box<Arcs>),
    Curves(Box<Curves>, Box<Ahead>),
}

impl Room {
    fn new<S: Simd, const O: usize, const T: usize>(
        drawer: &Drawer<'_, S, O, T>,
        options: &DensityPropagation,
    ) -> Self {
        match options.rule {
            DensityRule::Transport { .. } => {
                Self::Curves(Box::new(Curves::new(drawer)), Box::default())
            }
            _ => Self::Arcs(Box::default()),
        }
    }

    #[inline(always)]
    fn next<S: Simd, const O: usize, const T: usize>(
        &mut self,
        drawer: &Drawer<'_, S, O, T>,
        from: Pose,
        item: u64,
        step: u32,
    ) -> Result<Pose, EndReason> {
        let key = Key { item, region: 0 };
        match self {
            Self::Arcs(arcs) => drawer.next_along_arc(from, key, (0, step), arcs),
            Self::Curves(curves, ahead) => {
                drawer.next_transported(from, key, (0, step), curves, ahead)
            }
        }
    }
}

impl Draw for Ends {
    #[inline(always)]
    fn draw<S: Simd, const O: usize, const T: usize>(
        self,
        drawer: &Drawer<'_, S, O, T>,
        options: &DensityPropagation,
    ) -> Vec<[u32; 6]> {
        let mut room = Room::new(drawer, options);
        let mut end = |item| room.next(drawer, self.from, item, 1);
        (0..self.n).map(|item| end(item).map_or([0; 6], bits)).collect()
    }
}

#[derive(Clone, Copy)]
struct FirstDirections {
    pos: [f32; 3],
    n: u64,
}

impl Draw for FirstDirections {
    #[inline(always)]
    fn draw<S: Simd, const O: usize, const T: usize>(
        self,
        drawer: &Drawer<'_, S, O, T>,
        _options: &DensityPropagation,
    ) -> Vec<[u32; 6]> {
        let first = |item| drawer.first_direction(self.pos, None, Key { item, region: 0 });
        let of = |item| first(item).map_or([0; 6], |dir| bits(Pose { pos: self.pos, dir }));
        (0..self.n).map(of).collect()
    }
}

fn drawn(
    field: &Densities,
    options: DensityPropagation,
    level: SimdLevel,
    draw: impl Draw,
) -> Vec<[u32; 6]> {
    level.run(With { field, options, draw })
}

#[test]
fn an_arc_has_its_length_and_touches_its_start() {
    let t = unit([0.3, -0.5, 0.8]);
    for (angle, turn) in [(0.7, 0.3), (1e-3, 4.0), (1.5, 2.2)] {
        let n = 20_000;
        let at = |i: u32| along_arc(t, angle, turn, 2.0, f64::from(i) / f64::from(n));
        let step = |i| (0..3).map(|a| (at(i + 1).0[a] - at(i).0[a]).powi(2)).sum::<f64>().sqrt();
        let length: f64 = (0..n).map(step).sum();
        // Chords are shorter by the square of their part of the angle over 24.
        assert!((length - 2.0).abs() < 1e-8, "{length}");
        let (end, dir) = at(n);
        assert!((dot(dir, t) - angle.cos()).abs() < 1e-12);
        // The chord of a circle halves the angle between its ends.
        assert!((dot(unit(end), t) - (0.5 * angle).cos()).abs() < 1e-12);
        assert!(
            (at(1).0.map(|x| x * f64::from(n) / 2.0).iter().zip(t))
                .all(|(a, b)| (a - b).abs() < 1e-3)
        );
    }
    let [p, q] = across([0.0, 0.0, -1.0]);
    assert!(dot(p, q).abs() < 1e-15 && (dot(p, p) - 1.0).abs() < 1e-15);
}

#[test]
fn the_oracles_density_is_the_form_between_voxels_the_mean_and_outside_nothing() {
    let v = unit([0.5, 0.1, -0.4]);
    let field = even(&[(v, 2.0)]);
    for dir in [v, unit([1.0, 0.2, 0.0]), [0.0, 0.0, 1.0]] {
        let expected = 2.0 * dot(v, dir).powi(8);
        assert!((density(&field, [4.3, 5.5, 3.1], dir) - expected).abs() < 1e-6);
    }
    // A quarter of a voxel outside the grid three quarters are left.
    assert!((density(&field, [-0.25, 5.0, 3.0], v) - 1.5).abs() < 1e-6);
}

/// The chance of ends by the oracle, in rings of equal solid angle, as parts of the whole.
fn rings_by_quadrature(field: &Densities, from: Pose, rings: usize, halves: bool) -> Vec<f64> {
    let DensityRule::Arcs { power, places } = OPTIONS.rule else { unreachable!() };
    let t = unit(from.dir.map(f64::from));
    let [p, _] = across(t);
    let height = 1.0 - f64::from(OPTIONS.max_angle).cos();
    let (fine, around) = (16, 60);
    let mut sums = vec![0.0; rings * if halves { 2 } else { 1 }];
    for i in 0..rings * fine {
        let angle = (1.0 - (i as f64 + 0.5) / (rings * fine) as f64 * height).acos();
        for j in 0..around {
            let turn = std::f64::consts::TAU * (f64::from(j) + 0.5) / f64::from(around);
            let arc = Arc {
                angle,
                turn,
                length_mm: f64::from(OPTIONS.step_mm),
                places,
                power: f64::from(power),
                cutoff: f64::from(OPTIONS.cutoff),
            };
            let chance = arc.log_chance(field, from.pos.map(f64::from), t).exp();
            let (_, end) = along_arc(t, angle, turn, 1.0, 1.0);
            let half = usize::from(halves && dot(end, p) > 0.0);
            sums[half * rings + i / fine] += chance;
        }
    }
    let total: f64 = sums.iter().sum();
    sums.iter().map(|sum| sum / total).collect()
}

#[test]
fn arcs_are_drawn_with_the_chances_of_the_oracle() {
    let from = |dir: [f64; 3]| Pose { pos: [5.3, 4.6, 3.9], dir: unit(dir).map(|x| x as f32) };
    let cases = [
        // Along a lobe, between the two of a crossing, and off a single one.
        (bending(8), from([0.75, 0.5, 0.4])),
        (bending(8), from([0.2, 0.7, 0.5])),
        (even(&[(unit([1.0, 0.5, 0.0]), 1.0)]), from([1.0, 0.0, 0.2])),
        (bending(4), from([0.6, 0.4, 0.6])),
        (bending(12), from([0.75, 0.5, 0.4])),
    ];
    let (rings, n) = (5, 20_000);
    for (case, (field, from)) in cases.iter().enumerate() {
        let t = unit(from.dir.map(f64::from));
        let [p, _] = across(t);
        let height = 1.0 - f64::from(OPTIONS.max_angle).cos();
        let mut counts = vec![0.0; 2 * rings];
        for end in drawn(field, OPTIONS, SimdLevel::best(), Ends { from: *from, n }) {
            let (_, dir) = numbers(end);
            let ring = ((1.0 - dot(dir, t)) / height * rings as f64) as usize;
            let half = usize::from(dot(dir, p) > 0.0);
            counts[half * rings + ring.min(rings - 1)] += 1.0;
        }
        let expected = rings_by_quadrature(field, *from, rings, true);
        for (bin, (count, part)) in counts.iter().zip(&expected).enumerate() {
            let mean = part * n as f64;
            // Five deviations of a binomial number, and one count.
            let bound = 5.0 * (mean * (1.0 - part)).sqrt() + 1.0;
            assert!((count - mean).abs() < bound, "case {case}, bin {bin}: {count}, not {mean}");
        }
    }
}

#[test]
fn an_arc_ends_where_its_direction_says() {
    let field = bending(8);
    let from = Pose { pos: [5.3, 4.6, 3.9], dir: unit([0.75, 0.5, 0.4]).map(|x| x as f32) };
    let t = unit(from.dir.map(f64::from));
    let m = field.vox_from_dir().map(|row| row.map(f64::from));
    for end in drawn(&field, OPTIONS, SimdLevel::best(), Ends { from, n: 200 }) {
        let (pos, dir) = numbers(end);
        let angle = dot(dir, t).min(1.0).acos();
        let [p, q] = across(t);
        let (mm, _) =
            along_arc(t, angle, dot(dir, q).atan2(dot(dir, p)), f64::from(OPTIONS.step_mm), 1.0);
        for a in 0..3 {
            let expected = f64::from(from.pos[a]) + dot(m[a], mm);
            // Single precision, and the angle from its cosine.
            assert!((pos[a] - expected).abs() < 2e-5, "{pos:?} {expected}");
        }
    }
}

#[test]
fn what_is_drawn_has_the_same_bits_in_registers_of_any_width() {
    let dir = unit([0.2, 0.7, 0.5]).map(|x| x as f32);
    for order in [4, 6, 8, 10, 12] {
        let field = bending(order);
        let arcs = |places| (DensityRule::Arcs { power: 0.75, places }, 1.7);
        let probes = |places| (DensityRule::Transport { power: 2.0, places, probe_mm: 1.7 }, 0.5);
        // Of more voxels than are summed at a time.
        let long = (DensityRule::Transport { power: 1.0, places: 3, probe_mm: 6.0 }, 0.5);
        let rules = [1, 2, 3, 5].into_iter().flat_map(|n| [arcs(n), probes(n)]);
        for (rule, step_mm) in rules.chain([long]) {
            let options = DensityPropagation { rule, step_mm, ..OPTIONS };
            let ends = Ends { from: Pose { pos: [5.49, 0.6, 7.9], dir }, n: 300 };
            let firsts = FirstDirections { pos: [5.3, 4.6, 3.9], n: 50 };
            let at = |level| {
                (drawn(&field, options, level, ends), drawn(&field, options, level, firsts))
            };
            let all: Vec<_> = fusing().into_iter().map(at).collect();
            assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "order {order}, {rule:?}");
        }
    }
}

#[test]
fn first_directions_are_those_of_lobes_by_their_integrals() {
    let (v, w) = (unit([1.0, 0.2, 0.0]), unit([0.0, -0.3, 1.0]));
    let field = even(&[(v, 1.0), (w, 0.5)]);
    let n = 6000;
    let dirs =
        drawn(&field, OPTIONS, SimdLevel::best(), FirstDirections { pos: [5.0, 5.0, 4.0], n });
    let near =
        dirs.iter().map(|bits| numbers(*bits).1).filter(|d| dot(*d, v).abs() > dot(*d, w).abs());
    let part = near.count() as f64 / n as f64;
    // Two to one, less what lies below the cut-off: that of the smaller lobe is a little more.
    assert!((part - 2.0 / 3.0).abs() < 0.03, "{part}");
    // Either sense.
    let up = dirs.iter().filter(|bits| dot(numbers(**bits).1, v) > 0.0).count() as f64 / n as f64;
    assert!((up - 0.5).abs() < 0.04, "{up}");
}

/// Climbs with forms of sixteen particles.
struct Climb<'a>(&'a mut Ascents);

impl WithSimd for Climb<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for _ in 0..16 {
            self.0.climb::<S, 8, 45>(simd);
            if self.0.step.iter().all(|step| *step < 1e-3) {
                break;
            }
        }
    }
}

/// Forms of two lobes each, looked at from near the first one.
fn hills() -> (Ascents, Vec<[Lobe; 2]>) {
    let mut ascents = Ascents::default();
    let mut all = Vec::new();
    for lane in 0..SIDE_BY_SIDE {
        let t = lane as f64;
        let v = unit([(0.9 * t).cos(), (0.9 * t).sin(), 0.3 * t - 2.0]);
        let [p, q] = across(v);
        let lobes_here = [(v, 1.0 + 0.1 * t), (unit([0, 1, 2].map(|a| 0.1 * v[a] + p[a])), 0.7)];
        let mut entries = [0.0; 45];
        lobes(&lobes_here, 8, &mut entries);
        for (term, entry) in entries.iter().enumerate() {
            ascents.entries[term][lane] = *entry;
        }
        let off = unit([0, 1, 2].map(|a| v[a] + 0.25 * t.sin() * p[a] + 0.25 * t.cos() * q[a]));
        (0..3).for_each(|a| ascents.dir[a][lane] = off[a] as f32);
        all.push(lobes_here);
    }
    (ascents, all)
}

#[test]
fn newtons_method_ends_on_the_maximum_it_is_near() {
    let (mut ascents, all) = hills();
    SimdLevel::best().run(Climb(&mut ascents));
    for (lane, lobes) in all.iter().enumerate() {
        let value = |u: [f64; 3]| lobes.iter().map(|(v, w)| w * dot(*v, u).powi(8)).sum::<f64>();
        let found = unit(ascents.dir.map(|axis| f64::from(axis[lane])));
        let at = value(found);
        assert!((f64::from(ascents.value[lane]) - at).abs() < 1e-5 * at);
        // Half a thousandth of a radian off in any direction it is no larger, to rounding.
        let [p, q] = across(found);
        for i in 0..12 {
            let (sin, cos) = (0.5 * f64::from(i)).sin_cos();
            let near = unit([0, 1, 2].map(|a| found[a] + 5e-4 * (cos * p[a] + sin * q[a])));
            assert!(value(near) <= at * (1.0 + 1e-7), "lane {lane}");
        }
        // It is the hill of the first lobe.
        assert!(dot(found, lobes[0].0).abs() > 0.98, "lane {lane}");
    }
}

#[test]
fn maxima_have_the_same_bits_in_registers_of_any_width() {
    let climbed = |level: SimdLevel| {
        let (mut ascents, _) = hills();
        level.run(Climb(&mut ascents));
        (ascents.dir.map(|axis| axis.map(f32::to_bits)), ascents.value.map(f32::to_bits))
    };
    let all: Vec<_> = fusing().into_iter().map(climbed).collect();
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn multiplicities_are_those_of_the_multinomial() {
    let total: f32 = multiplicities(8).iter().sum();
    // (1 + 1 + 1)^8.
    assert_eq!(total, 6561.0);
}

#[test]
fn a_voxel_of_zeros_has_no_density_though_it_is_in_the_mask() {
    let mask = Mask::full(grid());
    let fill = |voxel: u32, entries: &mut [f32]| {
        if voxel > 0 {
            lobes(&[([0.0, 0.0, 1.0], 1.0)], 8, entries);
        }
    };
    let densities = Densities::new(&mask, 8, BvecFrame::Scanner, &workers(), fill).unwrap();
    let has = |pos| (densities.is_inside(pos), densities.has_density(pos));
    // Positions count from the other end of x here.
    assert_eq!(has([11.0, 0.0, 0.0]), (true, false));
    assert_eq!(has([10.0, 0.0, 0.0]), (true, true));
    assert_eq!(has([12.0, 0.0, 0.0]), (false, false));
}
