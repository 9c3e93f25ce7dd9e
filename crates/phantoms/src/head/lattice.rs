//! A function held at the nodes of a lattice, and the distance to where it is zero.

use fimbria_compute::dense::vec3::Vec3;
use fimbria_compute::{Interrupted, Progress, Workers};
use rayon::prelude::*;

use crate::PhantomError;
use fimbria_memory::try_zeros;

/// Values at the nodes of a lattice along the axes of the head.
#[derive(Clone, Debug)]
pub(super) struct Lattice {
    /// The first node, mm.
    pub(super) origin: Vec3,
    /// From node to node, mm.
    pub(super) spacing: f64,
    /// Nodes along x, y, z.
    pub(super) dims: [usize; 3],
    /// x fastest.
    pub(super) values: Vec<f32>,
}

impl Lattice {
    /// Zero everywhere, from `low` to at least `high`.
    ///
    /// # Errors
    /// Where memory is short.
    pub(super) fn spanning(low: Vec3, high: Vec3, spacing: f64) -> Result<Self, PhantomError> {
        let dims = [0, 1, 2].map(|a| ((high[a] - low[a]) / spacing).ceil() as usize + 1);
        let nodes = dims.iter().product();
        let memory = |_| PhantomError::Memory {
            n_volumes: 1,
            voxels: nodes,
            bytes: nodes as u128 * size_of::<f32>() as u128,
        };
        Ok(Self { origin: low, spacing, dims, values: try_zeros(nodes).map_err(memory)? })
    }

    /// Every node is given what `function` is there.
    ///
    /// # Errors
    /// Where the user stops it.
    pub(super) fn fill(
        &mut self,
        workers: &Workers,
        progress: &dyn Progress,
        function: impl Fn(Vec3) -> f64 + Sync,
    ) -> Result<(), Interrupted> {
        let ([nx, ny, _], origin, spacing) = (self.dims, self.origin, self.spacing);
        workers.install(|| {
            self.values.par_chunks_mut(nx).enumerate().try_for_each(|(row, values)| {
                progress.check()?;
                for (x, value) in values.iter_mut().enumerate() {
                    let node = [x, row % ny, row / ny];
                    let p = [0, 1, 2].map(|a| origin[a] + spacing * node[a] as f64);
                    *value = function(p) as f32;
                }
                Ok(())
            })
        })
    }

    /// Between the nodes by trilinear interpolation; beyond them as at the nearest.
    pub(super) fn at(&self, p: Vec3) -> f64 {
        let (mut low, mut part) = ([0; 3], [0.0; 3]);
        for a in 0..3 {
            let last = (self.dims[a] - 1) as f64;
            let x = ((p[a] - self.origin[a]) / self.spacing).clamp(0.0, last);
            low[a] = (x as usize).min(self.dims[a].saturating_sub(2));
            part[a] = x - low[a] as f64;
        }
        let step = [1, self.dims[0], self.dims[0] * self.dims[1]];
        let first = low[0] + step[1] * low[1] + step[2] * low[2];
        let value = |i: usize| f64::from(self.values[i.min(self.values.len() - 1)]);
        let along_x = |i: usize| value(i) + part[0] * (value(i + 1) - value(i));
        let along_y = |i: usize| {
            let low = along_x(i);
            low + part[1] * (along_x(i + step[1]) - low)
        };
        let low = along_y(first);
        low + part[2] * (along_y(first + step[2]) - low)
    }

    /// The gradient, per mm.
    pub(super) fn gradient(&self, p: Vec3) -> Vec3 {
        [0, 1, 2].map(|a| {
            let (mut low, mut high) = (p, p);
            low[a] -= 0.5 * self.spacing;
            high[a] += 0.5 * self.spacing;
            (self.at(high) - self.at(low)) / self.spacing
        })
    }

    /// Replaces the values by the distance to where they are zero, mm, with their sign, by the
    /// fast sweeping method (Zhao, Math Comput 74, 603 (2005)). Distances end at `farthest`.
    ///
    /// # Errors
    /// Where the user stops it; the values are then as they were.
    pub(super) fn make_distance(
        &mut self,
        farthest: f64,
        progress: &dyn Progress,
    ) -> Result<(), Interrupted> {
        let step = [1, self.dims[0], self.dims[0] * self.dims[1]];
        let signs: Vec<bool> = self.values.iter().map(|v| *v >= 0.0).collect();
        let fixed: Vec<f32> = (0..self.values.len()).map(|i| self.beside_zero(i, step)).collect();
        let mut distance: Vec<f32> =
            fixed.iter().map(|d| if d.is_finite() { *d } else { farthest as f32 }).collect();
        let [nx, ny, nz] = self.dims;
        let order = |n: usize, back: bool, i: usize| if back { n - 1 - i } else { i };
        for sweep in 0..16 {
            let back = [sweep & 1 == 1, sweep & 2 == 2, sweep & 4 == 4];
            for z in (0..nz).map(|i| order(nz, back[2], i)) {
                progress.check()?;
                for y in (0..ny).map(|i| order(ny, back[1], i)) {
                    for x in (0..nx).map(|i| order(nx, back[0], i)) {
                        let i = x + step[1] * y + step[2] * z;
                        if fixed[i].is_finite() {
                            continue;
                        }
                        let nearest = [(x, nx), (y, ny), (z, nz)];
                        let nearest = [0, 1, 2].map(|a| {
                            let (at, n) = nearest[a];
                            let low = if at > 0 { distance[i - step[a]] } else { f32::INFINITY };
                            let high =
                                if at + 1 < n { distance[i + step[a]] } else { f32::INFINITY };
                            low.min(high)
                        });
                        distance[i] = distance[i].min(upwind(nearest, self.spacing as f32));
                    }
                }
            }
        }
        for ((value, distance), positive) in self.values.iter_mut().zip(distance).zip(signs) {
            *value = if positive { distance } else { -distance };
        }
        Ok(())
    }

    /// The distance to zero of a node with a neighbour of the other sign; infinite of others.
    fn beside_zero(&self, i: usize, step: [usize; 3]) -> f32 {
        let here = self.values[i];
        let at = [i % self.dims[0], i / step[1] % self.dims[1], i / step[2]];
        let mut sum = 0.0;
        for a in 0..3 {
            let mut nearest = f32::INFINITY;
            let mut look = |there: f32| {
                if (here >= 0.0) != (there >= 0.0) {
                    nearest = nearest.min(here.abs() / (here - there).abs());
                }
            };
            if at[a] > 0 {
                look(self.values[i - step[a]]);
            }
            if at[a] + 1 < self.dims[a] {
                look(self.values[i + step[a]]);
            }
            sum += nearest.max(1e-3).powi(-2);
        }
        if sum > 0.0 { self.spacing as f32 / sum.sqrt() } else { f32::INFINITY }
    }
}

/// The distance of a node from those of its nearest neighbours along three axes.
fn upwind(mut nearest: [f32; 3], h: f32) -> f32 {
    nearest.sort_by(f32::total_cmp);
    let [a, b, c] = nearest;
    let one = a + h;
    if one <= b {
        return one;
    }
    let two = 0.5 * (a + b + (2.0 * h * h - (a - b).powi(2)).max(0.0).sqrt());
    if two <= c {
        return two;
    }
    let sum = a + b + c;
    let root = sum * sum - 3.0 * (a * a + b * b + c * c - h * h);
    (sum + root.max(0.0).sqrt()) / 3.0
}

#[cfg(test)]
mod tests {
    use fimbria_compute::Silent;
    use fimbria_compute::dense::vec3::norm;

    use super::*;

    #[test]
    fn the_distance_to_a_sphere_is_found_from_a_function_that_is_none() {
        let mut lattice = Lattice::spanning([-12.0; 3], [12.0; 3], 1.0).unwrap();
        let workers = Workers::new(1).unwrap();
        let solid = |p: Vec3| 3.0 * (1.0 - norm(p) / 8.0) * (2.0 + 0.1 * p[0]);
        lattice.fill(&workers, &Silent, solid).unwrap();
        lattice.make_distance(20.0, &Silent).unwrap();
        for p in [[8.0, 0.0, 0.0], [3.0, 4.0, 5.0], [0.0, 10.5, 0.0], [-6.0, -6.0, 6.0]] {
            let expected = 8.0 - norm(p);
            // First order in the spacing over the radius.
            assert!((lattice.at(p) - expected).abs() < 0.3, "{p:?}: {} {expected}", lattice.at(p));
        }
        let gradient = lattice.gradient([0.0, 6.5, 0.0]);
        assert!((gradient[1] + 1.0).abs() < 0.15, "{gradient:?}");
    }

    #[test]
    fn a_linear_function_is_kept_between_nodes() {
        let mut lattice = Lattice::spanning([0.0; 3], [4.0, 5.0, 6.0], 1.0).unwrap();
        let workers = Workers::new(1).unwrap();
        lattice.fill(&workers, &Silent, |p| p[0] - 2.0 * p[1] + 3.0 * p[2]).unwrap();
        assert!((lattice.at([1.25, 2.5, 4.75]) - 10.5).abs() < 1e-5);
        assert_eq!(lattice.at([-9.0, 0.0, 0.0]), 0.0);
    }
}
