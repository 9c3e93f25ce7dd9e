//! Differences between neighbours in a periodic volume, and how they shrink.

use fimbria_compute::Workers;
use rayon::prelude::*;

/// A volume whose ends meet.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    pub(super) shape: [usize; 3],
    /// 1 / distance of neighbours along each axis.
    pub(super) per_length: [f32; 3],
}

impl Ring {
    /// The places of the next voxel along each axis, `place` lying in row `y` of plane `z`.
    fn next(&self, place: usize, x: usize, y: usize, z: usize) -> [usize; 3] {
        let [nx, ny, nz] = self.shape;
        let plane = nx * ny;
        [
            if x + 1 == nx { place + 1 - nx } else { place + 1 },
            if y + 1 == ny { place + nx - plane } else { place + nx },
            if z + 1 == nz { place + plane - plane * nz } else { place + plane },
        ]
    }

    /// The places of the voxel before along each axis.
    fn before(&self, place: usize, x: usize, y: usize, z: usize) -> [usize; 3] {
        let [nx, ny, nz] = self.shape;
        let plane = nx * ny;
        [
            if x == 0 { place + nx - 1 } else { place - 1 },
            if y == 0 { place + plane - nx } else { place - nx },
            if z == 0 { place + plane * nz - plane } else { place - plane },
        ]
    }

    /// ∇'h: the adjoint of differences.
    pub(super) fn gathered(&self, h: &[[f32; 3]], workers: &Workers) -> Vec<f32> {
        let [nx, ny, _] = self.shape;
        let mut sums = vec![0.0; h.len()];
        workers.install(|| {
            sums.par_chunks_mut(nx).enumerate().for_each(|(row, sums)| {
                let (y, z) = (row % ny, row / ny);
                for (x, sum) in sums.iter_mut().enumerate() {
                    let place = row * nx + x;
                    let before = self.before(place, x, y, z);
                    *sum =
                        (0..3).map(|a| (h[before[a]][a] - h[place][a]) * self.per_length[a]).sum();
                }
            });
        });
        sums
    }

    /// Σ |∇`map`|, where `counted` is given of differences of two of these; in rows, so that it does not
    /// depend on threads.
    pub(super) fn variation(
        &self,
        map: &[f32],
        counted: Option<&[bool]>,
        workers: &Workers,
    ) -> f64 {
        let [nx, ny, _] = self.shape;
        let of_row = |row: usize| {
            let (y, z) = (row % ny, row / ny);
            let length = |x: usize| {
                let place = row * nx + x;
                let next = self.next(place, x, y, z);
                let counts = |next: usize| counted.is_none_or(|c| c[place] && c[next]);
                let square = |a: usize| match counts(next[a]) {
                    true => ((map[next[a]] - map[place]) * self.per_length[a]).powi(2),
                    false => 0.0,
                };
                f64::from(square(0) + square(1) + square(2)).sqrt()
            };
            (0..nx).map(length).sum::<f64>()
        };
        let rows: Vec<f64> =
            workers.install(|| (0..map.len() / nx).into_par_iter().map(of_row).collect());
        rows.into_iter().sum()
    }

    /// The step of the edges: v = ∇`map` + u, shrunken by `threshold` in length to y. Leaves v - y in
    /// `u`, and y less that in `h`. Where `counted` is given, only differences of two of these count: the
    /// others are as they are.
    pub(super) fn shrink(
        &self,
        map: &[f32],
        u: &mut [[f32; 3]],
        h: &mut [[f32; 3]],
        threshold: f32,
        counted: Option<&[bool]>,
        workers: &Workers,
    ) {
        let [nx, ny, _] = self.shape;
        let rows = u.par_chunks_mut(nx).zip(h.par_chunks_mut(nx)).enumerate();
        workers.install(|| {
            rows.for_each(|(row, (u, h))| {
                let (y, z) = (row % ny, row / ny);
                for (x, (u, h)) in u.iter_mut().zip(h).enumerate() {
                    let place = row * nx + x;
                    let next = self.next(place, x, y, z);
                    let v: [f32; 3] = std::array::from_fn(|a| {
                        (map[next[a]] - map[place]) * self.per_length[a] + u[a]
                    });
                    let counts = next
                        .map(|next| counted.is_none_or(|counted| counted[place] && counted[next]));
                    let square = |a: usize| if counts[a] { v[a] * v[a] } else { 0.0 };
                    let length = (square(0) + square(1) + square(2)).sqrt();
                    let part = if length > threshold { 1.0 - threshold / length } else { 0.0 };
                    for a in 0..3 {
                        let y = if counts[a] { part * v[a] } else { v[a] };
                        u[a] = v[a] - y;
                        h[a] = y - u[a];
                    }
                }
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RING: Ring = Ring { shape: [5, 4, 3], per_length: [1.0, 0.5, 2.0] };

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
        RING.shrink(&map, &mut u, &mut gradient, 0.0, None, &workers);
        let dot = |a: f32, b: f32| f64::from(a) * f64::from(b);
        let left: f64 =
            gradient.iter().zip(&h).flat_map(|(g, h)| (0..3).map(|a| dot(g[a], h[a]))).sum();
        let gathered = RING.gathered(&h, &workers);
        let right: f64 = map.iter().zip(&gathered).map(|(a, b)| dot(*a, *b)).sum();
        // 180 products of f32 of order 1.
        assert!((left - right).abs() < 1e-5 && left.abs() > 0.1, "{left} {right}");
    }

    #[test]
    fn a_difference_shrinks_in_length_and_keeps_its_direction() {
        let workers = Workers::new(1).unwrap();
        let ring = Ring { shape: [4, 4, 4], per_length: [1.0; 3] };
        let mut map = vec![0.0; 64];
        map[0] = -1.0;
        let (mut u, mut h) = (vec![[0.0; 3]; 64], vec![[0.0; 3]; 64]);
        ring.shrink(&map, &mut u, &mut h, 0.5, None, &workers);
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
        assert_eq!(RING.variation(&map, None, &workers), 2.0 * 20.0);
        // Where the first plane does not count only the other side does.
        let counted: Vec<bool> = (0..60).map(|v| v >= 20).collect();
        assert_eq!(RING.variation(&map, Some(&counted), &workers), 20.0);
    }

    #[test]
    fn differences_that_do_not_count_are_as_they_are() {
        let workers = Workers::new(1).unwrap();
        let ring = Ring { shape: [4, 4, 4], per_length: [1.0; 3] };
        let mut map = vec![0.0; 64];
        map[0] = -1.0;
        let mut counted = vec![true; 64];
        // The neighbours along y and z.
        (counted[4], counted[16]) = (false, false);
        let (mut u, mut h) = (vec![[0.0; 3]; 64], vec![[0.0; 3]; 64]);
        ring.shrink(&map, &mut u, &mut h, 0.25, Some(&counted), &workers);
        assert_eq!((u[0], h[0]), ([0.25, 0.0, 0.0], [0.5, 1.0, 1.0]));
    }
}
