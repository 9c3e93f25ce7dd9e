//! Differences between neighbours in a periodic volume, and how they shrink.

use fimbria_compute::Workers;
use rayon::prelude::*;

use crate::fourier::KSpace;

/// A volume whose ends meet.
#[derive(Clone, Copy)]
pub(crate) struct Ring {
    pub(super) shape: [usize; 3],
    /// 1 / distance of neighbours along each axis.
    pub(super) per_length: [f32; 3],
}

impl Ring {
    /// The padded volume of a transform.
    pub(crate) fn new(space: &KSpace<'_>) -> Self {
        Self { shape: space.shape(), per_length: space.spacing().map(|s| s.recip() as f32) }
    }

    /// 1 / distance of neighbours along each axis.
    pub(crate) fn per_length(&self) -> [f32; 3] {
        self.per_length
    }

    /// The places of the next voxel along each axis, `place` lying in row `y` of plane `z`.
    pub(super) fn next(&self, place: usize, x: usize, y: usize, z: usize) -> [usize; 3] {
        let [nx, ny, nz] = self.shape;
        let plane = nx * ny;
        [
            if x + 1 == nx { place + 1 - nx } else { place + 1 },
            if y + 1 == ny { place + nx - plane } else { place + nx },
            if z + 1 == nz { place + plane - plane * nz } else { place + plane },
        ]
    }

    /// The places of the voxel before along each axis.
    pub(super) fn before(&self, place: usize, x: usize, y: usize, z: usize) -> [usize; 3] {
        let [nx, ny, nz] = self.shape;
        let plane = nx * ny;
        [
            if x == 0 { place + nx - 1 } else { place - 1 },
            if y == 0 { place + plane - nx } else { place - nx },
            if z == 0 { place + plane * nz - plane } else { place - plane },
        ]
    }

    /// ∇`map`, in every place.
    pub(crate) fn differences(&self, map: &[f32], workers: &Workers) -> Vec<[f32; 3]> {
        let [nx, ny, _] = self.shape;
        let mut all = vec![[0.0; 3]; map.len()];
        workers.install(|| {
            all.par_chunks_mut(nx).enumerate().for_each(|(row, all)| {
                for (x, rise) in all.iter_mut().enumerate() {
                    let place = row * nx + x;
                    let next = self.next(place, x, row % ny, row / ny);
                    *rise = [0, 1, 2].map(|a| (map[next[a]] - map[place]) * self.per_length[a]);
                }
            });
        });
        all
    }

    /// ∇'h, the adjoint of differences, in every place, as `with(place, ∇'h)` has it.
    pub(crate) fn gather(
        &self,
        h: &[[f32; 3]],
        to: &mut [f32],
        with: impl Fn(usize, f32) -> f32 + Sync,
        workers: &Workers,
    ) {
        let [nx, ny, _] = self.shape;
        workers.install(|| {
            to.par_chunks_mut(nx).enumerate().for_each(|(row, to)| {
                for (x, to) in to.iter_mut().enumerate() {
                    let place = row * nx + x;
                    *to = with(place, self.gathered(h, place, [x, row % ny, row / ny]));
                }
            });
        });
    }

    /// ∇'h in one place.
    fn gathered(&self, h: &[[f32; 3]], place: usize, [x, y, z]: [usize; 3]) -> f32 {
        let before = self.before(place, x, y, z);
        (0..3).map(|a| (h[before[a]][a] - h[place][a]) * self.per_length[a]).sum()
    }

    /// Σ of ∇'h times `values` of some places.
    pub(super) fn gathered_along(&self, h: &[[f32; 3]], places: &[u32], values: &[f32]) -> f64 {
        let product = |(&place, value): (&u32, &f32)| {
            let place = place as usize;
            f64::from(self.gathered(h, place, self.at(place))) * f64::from(*value)
        };
        places.iter().zip(values).map(product).sum()
    }

    /// Σ of the lengths of the differences of `map` that count, as `by` shrinks them.
    pub(crate) fn variation(&self, map: &[f32], by: Shrinking<'_>, workers: &Workers) -> f64 {
        self.sum(workers, |place, [x, y, z]| {
            let next = self.next(place, x, y, z);
            by.length(place, [0, 1, 2].map(|a| (map[next[a]] - map[place]) * self.per_length[a]))
        })
    }

    /// Σ of `value(place, [x, y, z])`, in rows, so that it does not depend on threads.
    pub(super) fn sum(
        &self,
        workers: &Workers,
        value: impl Fn(usize, [usize; 3]) -> f64 + Sync,
    ) -> f64 {
        let [nx, ny, nz] = self.shape;
        let of_row =
            |row: usize| (0..nx).map(|x| value(row * nx + x, [x, row % ny, row / ny])).sum::<f64>();
        let rows: Vec<f64> = workers.install(|| (0..ny * nz).into_par_iter().map(of_row).collect());
        rows.into_iter().sum()
    }

    /// Which differences are of two voxels that are `inside`: a bit for each axis.
    pub(crate) fn within(&self, inside: &[bool], workers: &Workers) -> Vec<u8> {
        self.bits(workers, |place, next| {
            let counts = |a: usize| u8::from(inside[place] && inside[next[a]]) << a;
            counts(0) | counts(1) | counts(2)
        })
    }

    /// `counted` (all, where it is `None`) without the `part` of those that are `inside` in which
    /// `image`, a volume, differs most: a bit for each axis.
    pub(super) fn but_for_edges_of(
        &self,
        image: &[f32],
        part: f64,
        inside: &[bool],
        counted: Option<&[u8]>,
        workers: &Workers,
    ) -> Vec<u8> {
        let rise = |place: usize, next: usize, a: usize| {
            ((image[next] - image[place]) * self.per_length[a]).abs()
        };
        let within = self.within(inside, workers);
        let mut rises = Vec::new();
        for (place, bits) in within.iter().enumerate().filter(|(_, bits)| **bits > 0) {
            let next = self.next_of(place);
            let found = (0..3).filter(|a| bits >> a & 1 == 1);
            rises.extend(found.map(|a| rise(place, next[a], a)));
        }
        if rises.is_empty() {
            return counted.map_or_else(|| vec![7; image.len()], <[u8]>::to_vec);
        }
        let last = rises.len() - 1;
        let rank = ((1.0 - part) * last as f64).round() as usize;
        let limit = *rises.select_nth_unstable_by(rank.min(last), f32::total_cmp).1;
        self.bits(workers, |place, next| {
            let mut bits = counted.map_or(7, |counted| counted[place]);
            for a in (0..3).filter(|a| within[place] >> a & 1 == 1) {
                if rise(place, next[a], a) > limit {
                    bits &= !(1 << a);
                }
            }
            bits
        })
    }

    fn at(&self, place: usize) -> [usize; 3] {
        let [nx, ny, _] = self.shape;
        [place % nx, place / nx % ny, place / (nx * ny)]
    }

    fn next_of(&self, place: usize) -> [usize; 3] {
        let [x, y, z] = self.at(place);
        self.next(place, x, y, z)
    }

    /// `bits(place, next)` of every place.
    fn bits(&self, workers: &Workers, bits: impl Fn(usize, [usize; 3]) -> u8 + Sync) -> Vec<u8> {
        let [nx, ny, nz] = self.shape;
        let mut all = vec![0; nx * ny * nz];
        workers.install(|| {
            all.par_iter_mut().enumerate().for_each(|(place, to)| {
                *to = bits(place, self.next_of(place));
            });
        });
        all
    }

    /// The step of the edges: v = ∇`map` + u, shrunken to y. Leaves v - y in `u`, and y less that in `h`; returns the
    /// [`variation`](Self::variation) of `map`.
    pub(crate) fn shrink(
        &self,
        map: &[f32],
        u: &mut [[f32; 3]],
        h: &mut [[f32; 3]],
        by: Shrinking<'_>,
        workers: &Workers,
    ) -> f64 {
        let [nx, ny, _] = self.shape;
        let rows = u.par_chunks_mut(nx).zip(h.par_chunks_mut(nx)).enumerate();
        let rows = rows.map(|(row, (u, h))| {
            let (y, z) = (row % ny, row / ny);
            let step = |(x, (u, h)): (usize, (&mut [f32; 3], &mut [f32; 3]))| {
                let place = row * nx + x;
                let next = self.next(place, x, y, z);
                let rise = [0, 1, 2].map(|a| (map[next[a]] - map[place]) * self.per_length[a]);
                (*u, *h) = by.split(place, std::array::from_fn(|a| rise[a] + u[a]));
                by.length(place, rise)
            };
            u.iter_mut().zip(h).enumerate().map(step).sum::<f64>()
        });
        let rows: Vec<f64> = workers.install(|| rows.collect());
        rows.into_iter().sum()
    }
}

/// How edges shrink.
#[derive(Clone, Copy)]
pub(crate) struct Shrinking<'a> {
    /// By how much.
    pub(crate) threshold: f32,
    /// The axes along which a difference counts, a bit for each; the others are as they are. `None`
    /// where all count.
    pub(crate) counted: Option<&'a [u8]>,
    /// Each axis by itself, not the length of all three.
    pub(crate) each: bool,
    /// Of every place a difference of which no part costs anything; 0 where there is none.
    pub(crate) free: Option<&'a [[f32; 3]]>,
}

impl Shrinking<'_> {
    /// The part, 0 to 1, of what costs nothing from `place` that is nearest to the differences `v`.
    fn nearest_free(&self, place: usize, v: [f32; 3]) -> [f32; 3] {
        let Some(free) = self.free else { return [0.0; 3] };
        let g = free[place];
        let dot = |a: [f32; 3], b: [f32; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let square = dot(g, g);
        let part = if square > 0.0 { (dot(v, g) / square).clamp(0.0, 1.0) } else { 0.0 };
        g.map(|g| part * g)
    }

    /// The length of the differences `v` from `place`, of those that count.
    pub(super) fn length(&self, place: usize, v: [f32; 3]) -> f64 {
        let bits = self.counted.map_or(7, |counted| counted[place]);
        let free = self.nearest_free(place, v);
        let v = [0, 1, 2].map(|a| if bits >> a & 1 == 1 { f64::from(v[a] - free[a]) } else { 0.0 });
        match self.each {
            true => v.iter().map(|v| v.abs()).sum(),
            false => v.iter().map(|v| v * v).sum::<f64>().sqrt(),
        }
    }

    /// v - y and 2 y - v of the differences `v` from `place`, which shrink to y.
    pub(super) fn split(&self, place: usize, v: [f32; 3]) -> ([f32; 3], [f32; 3]) {
        let bits = self.counted.map_or(7, |counted| counted[place]);
        let counts = [bits & 1 == 1, bits & 2 == 2, bits & 4 == 4];
        let free = self.nearest_free(place, v);
        let v: [f32; 3] = std::array::from_fn(|a| v[a] - free[a]);
        let square = |a: usize| if counts[a] { v[a] * v[a] } else { 0.0 };
        let part_of = |length: f32| {
            if length > self.threshold { 1.0 - self.threshold / length } else { 0.0 }
        };
        let whole = part_of((square(0) + square(1) + square(2)).sqrt());
        let y: [f32; 3] = std::array::from_fn(|a| match counts[a] {
            false => v[a],
            true if self.each => part_of(v[a].abs()) * v[a],
            true => whole * v[a],
        });
        let u: [f32; 3] = std::array::from_fn(|a| v[a] - y[a]);
        (u, std::array::from_fn(|a| free[a] + y[a] - u[a]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RING: Ring = Ring { shape: [5, 4, 3], per_length: [1.0, 0.5, 2.0] };

    fn shrinking(threshold: f32, counted: Option<&[u8]>) -> Shrinking<'_> {
        Shrinking { threshold, counted, each: false, free: None }
    }

    fn numbers(seed: usize) -> impl Iterator<Item = f32> {
        (0..).map(move |i: usize| ((i * 37 + seed * 11) % 101) as f32 / 50.0 - 1.0)
    }

    #[test]
    fn gathering_is_the_adjoint_of_differences() {
        let workers = Workers::new(1).unwrap();
        let map: Vec<f32> = numbers(1).take(60).collect();
        let h: Vec<[f32; 3]> = {
            let mut n = numbers(2);
            (0..60).map(|_| std::array::from_fn(|_| n.next().unwrap())).collect()
        };
        // Without a threshold y is v: `h` becomes ∇map.
        let (mut u, mut gradient) = (vec![[0.0; 3]; 60], vec![[0.0; 3]; 60]);
        RING.shrink(&map, &mut u, &mut gradient, shrinking(0.0, None), &workers);
        let dot = |a: f32, b: f32| f64::from(a) * f64::from(b);
        let left: f64 =
            gradient.iter().zip(&h).flat_map(|(g, h)| (0..3).map(|a| dot(g[a], h[a]))).sum();
        let mut gathered = vec![0.0; 60];
        RING.gather(&h, &mut gathered, |_, sum| sum, &workers);
        let right: f64 = map.iter().zip(&gathered).map(|(a, b)| dot(*a, *b)).sum();
        // 180 products of f32 of order 1.
        assert!((left - right).abs() < 1e-5 && left.abs() > 0.1, "{left} {right}");
        let places: Vec<u32> = (0..60).collect();
        assert_eq!(RING.gathered_along(&h, &places, &map), right);
    }

    #[test]
    fn a_difference_shrinks_in_length_and_keeps_its_direction() {
        let workers = Workers::new(1).unwrap();
        let ring = Ring { shape: [4, 4, 4], per_length: [1.0; 3] };
        let mut map = vec![0.0; 64];
        map[0] = -1.0;
        let (mut u, mut h) = (vec![[0.0; 3]; 64], vec![[0.0; 3]; 64]);
        ring.shrink(&map, &mut u, &mut h, shrinking(0.5, None), &workers);
        // Of (1, 1, 1) half a unit of length is taken off; the rest is left for the next step.
        let off = 0.5 / 3.0_f32.sqrt();
        assert!((0..3).all(|a| (u[0][a] - off).abs() < 1e-6), "{:?}", u[0]);
        assert!((0..3).all(|a| (h[0][a] - (1.0 - 2.0 * off)).abs() < 1e-6), "{:?}", h[0]);
    }

    #[test]
    fn the_variation_of_a_slab_is_the_area_of_its_two_sides() {
        let workers = Workers::new(2).unwrap();
        // Two planes of 3 across z, 0.5 high: differences of 0.5 · 2 per length, at both sides.
        let map: Vec<f32> = (0..60).map(|v| if v / 20 == 1 { 0.5 } else { 0.0 }).collect();
        assert_eq!(RING.variation(&map, shrinking(0.5, None), &workers), 2.0 * 20.0);
        // Where the first plane does not count only the other side does.
        let inside: Vec<bool> = (0..60).map(|v| v >= 20).collect();
        let counted = RING.within(&inside, &workers);
        assert_eq!(RING.variation(&map, shrinking(0.5, Some(&counted)), &workers), 20.0);
    }

    #[test]
    fn differences_that_do_not_count_are_as_they_are() {
        let workers = Workers::new(1).unwrap();
        let ring = Ring { shape: [4, 4, 4], per_length: [1.0; 3] };
        let mut map = vec![0.0; 64];
        map[0] = -1.0;
        let mut inside = vec![true; 64];
        // The neighbours along y and z.
        (inside[4], inside[16]) = (false, false);
        let counted = ring.within(&inside, &workers);
        let (mut u, mut h) = (vec![[0.0; 3]; 64], vec![[0.0; 3]; 64]);
        ring.shrink(&map, &mut u, &mut h, shrinking(0.25, Some(&counted)), &workers);
        assert_eq!((u[0], h[0]), ([0.25, 0.0, 0.0], [0.5, 1.0, 1.0]));
    }

    #[test]
    fn each_axis_shrinks_by_itself_where_it_is_said() {
        let by = Shrinking { threshold: 0.5, counted: None, each: true, free: None };
        let (u, h) = by.split(0, [2.0, -0.25, -1.0]);
        assert_eq!((u, h), ([0.5, -0.25, -0.5], [1.0, 0.25, 0.0]));
    }

    /// The distance to what is free is shrunken, as the prox of a distance to a convex set has it.
    #[test]
    fn a_part_of_what_is_free_costs_nothing_and_what_exceeds_it_its_excess() {
        let free = [[2.0, 0.0, 0.0]];
        let by = Shrinking { threshold: 0.5, counted: None, each: false, free: Some(&free) };
        for x in [0.0, 0.7, 2.0] {
            assert_eq!(by.length(0, [x, 0.0, 0.0]), 0.0, "{x}");
            assert_eq!(by.split(0, [x, 0.0, 0.0]), ([0.0; 3], [x, 0.0, 0.0]));
        }
        // Beyond it, the other way, and across.
        for (v, cost) in [([3.0, 0.0, 0.0], 1.0), ([-1.0, 0.0, 0.0], 1.0), ([1.0, 3.0, 4.0], 5.0)] {
            assert_eq!(by.length(0, v), cost, "{v:?}");
            let u = by.split(0, v).0;
            let square = u.iter().map(|u| u * u).sum::<f32>();
            assert!((square - 0.25).abs() < 1e-6, "{v:?} {square}");
        }
    }

    #[test]
    fn the_steepest_edges_of_an_image_do_not_count() {
        let workers = Workers::new(1).unwrap();
        let ring = Ring { shape: [10, 4, 4], per_length: [1.0; 3] };
        // Rises along x of 0.1 but for one of 5 in each row; no other.
        let image: Vec<f32> =
            (0..160).map(|i| (i % 10) as f32 * 0.1 + if i % 10 > 4 { 5.0 } else { 0.0 }).collect();
        let inside: Vec<bool> = (0..160).map(|i| i % 10 > 0).collect();
        let within = ring.within(&inside, &workers);
        // Of 8 rises along x a row and 18 along y and z.
        let part = 1.0 / 26.0 + 1e-3;
        let bits = ring.but_for_edges_of(&image, part, &inside, Some(&within), &workers);
        for (place, bits) in bits.iter().enumerate() {
            let is_edge = place % 10 == 4;
            assert_eq!(*bits, within[place] & if is_edge { 6 } else { 7 }, "{place}");
        }
    }
}
