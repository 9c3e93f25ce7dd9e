//! Motion that follows the gradients as no head's does.
//!
//! Predictions are smoother over directions than the signal. Few directions of a large b miss what is sharp of it, and
//! what they miss has the symmetry of the signal: volumes of a shell shift by an even function of their direction, up to
//! millimetres, to bring bundles closer to what is predicted of them. A head knows nothing of the gradient. Where
//! harmonics of degree 2 explain far more of the changes from volume to volume than chance would, they are taken off.

use std::ops::Range;

use fimbria_compute::dense::lu;
use fimbria_compute::dense::vec3::unit;
use fimbria_compute::dense::vector::dot;

use super::prior::{EDDY, Prior};

/// Harmonics of degree 2.
const HARMONICS: usize = 5;
/// Volumes of a shell, and changes beside what is fitted to them, at least: fewer are explained by chance.
const LEAST_VOLUMES: usize = 10;
/// How many times what is left they explain, each over its degrees of freedom. Of 12,000 simulated scans with real motion
/// (walks, drifts, steps, breathing, one volume that lies elsewhere) one came to 30; a shell whose predictions fail, to 600.
const LEAST_F: f64 = 30.0;

/// Parameters, and what they are fitted by: of each tested shell its harmonics and a constant, then other columns.
struct Fit {
    shells: usize,
    /// Of each parameter.
    sizes: Vec<Vec<f64>>,
    columns: Vec<Vec<f64>>,
}

/// What follows the gradients of a shell as no head does.
#[derive(Clone, Debug, Default)]
pub(super) struct Even {
    /// Groups of parameters in which it does, by their first. Once seen it is taken off in all rounds that follow: it comes
    /// back by a part too small to be told from chance.
    groups: Vec<usize>,
    /// The largest part that was taken off last, mm.
    pub(super) largest_mm: f64,
}

/// A shell with enough volumes to tell.
struct Tested<'a> {
    /// Its place among the shells.
    at: usize,
    volumes: &'a [usize],
    /// Of each of its volumes.
    harmonics: Vec<[f64; HARMONICS]>,
}

impl Prior {
    /// Takes off parameters, n x p, what follows the gradients of a shell, means over shells aside.
    pub(super) fn without_even(&mut self, theta: &mut [f64]) {
        let p = self.width();
        let mut even = std::mem::take(&mut self.even);
        even.iter_mut().for_each(|even| even.largest_mm = 0.0);
        let shells = self.shells().iter().enumerate();
        let shells: Vec<Tested> = shells
            .filter(|(_, shell)| shell.len() >= LEAST_VOLUMES && self.gradient(shell[0]).is_some())
            .map(|(at, volumes)| Tested { at, volumes, harmonics: self.harmonics(volumes) })
            .collect();
        let heads = [0..3, 3..EDDY];
        for own in heads.into_iter().chain((EDDY..p).map(|k| k..k + 1)) {
            let explained = self.fit(theta, own.clone(), &shells).even();
            for (shell, (f, by)) in shells.iter().zip(explained) {
                let even = &mut even[shell.at];
                if f > LEAST_F && !even.groups.contains(&own.start) {
                    even.groups.push(own.start);
                }
                if !even.groups.contains(&own.start) {
                    continue;
                }
                for (k, by) in own.clone().zip(&by) {
                    for (v, at) in shell.volumes.iter().zip(&shell.harmonics) {
                        let part = dot(at, by);
                        theta[v * p + k] -= part;
                        even.largest_mm = even.largest_mm.max(part.abs());
                    }
                }
            }
        }
        self.even = even;
    }

    /// Harmonics of degree 2 at the gradients of a shell, without their means.
    fn harmonics(&self, shell: &[usize]) -> Vec<[f64; HARMONICS]> {
        let at = |v: &usize| {
            let [x, y, z] = self.gradient(*v).and_then(unit).unwrap_or_default();
            [x * y, x * z, y * z, x * x - y * y, 3.0 * z * z - 1.0]
        };
        let mut all: Vec<_> = shell.iter().map(at).collect();
        for k in 0..HARMONICS {
            let mean = all.iter().map(|values| values[k]).sum::<f64>() / all.len() as f64;
            all.iter_mut().for_each(|values| values[k] -= mean);
        }
        all
    }

    /// Some parameters and what may explain them.
    fn fit(&self, theta: &[f64], own: Range<usize>, shells: &[Tested<'_>]) -> Fit {
        let (n, p) = (theta.len() / self.width(), self.width());
        let is_head = own.end <= EDDY;
        // Heads by their changes, which count as the prior has them; fields by themselves.
        let seen = |all: Vec<f64>| -> Vec<f64> {
            if is_head {
                let change =
                    |v: usize| self.step_known(v, own.start).sqrt() * (all[v] - all[v - 1]);
                (1..n).map(change).collect()
            } else {
                (0..n).filter(|v| self.gradient(*v).is_some()).map(|v| all[v]).collect()
            }
        };
        let column = |shell: &Tested<'_>, of: &dyn Fn(usize) -> f64| {
            let mut all = vec![0.0; n];
            shell.volumes.iter().enumerate().for_each(|(at, v)| all[*v] = of(at));
            seen(all)
        };
        let of_shells = shells.iter().flat_map(|shell| {
            let harmonics = (0..HARMONICS).map(|k| column(shell, &|at| shell.harmonics[at][k]));
            harmonics.chain([column(shell, &|_| 1.0)]).collect::<Vec<_>>()
        });
        let gradients = (0..if is_head { 0 } else { 3 })
            .map(|a| seen((0..n).map(|v| self.gradient(v).map_or(0.0, |g| g[a])).collect()));
        let parameter = |k: usize| seen((0..n).map(|v| theta[v * p + k]).collect());
        Fit {
            shells: shells.len(),
            columns: of_shells.chain(gradients).collect(),
            sizes: own.clone().map(parameter).collect(),
        }
    }
}

impl Fit {
    /// Of each shell how many times what is left its harmonics explain, each over its degrees of freedom, and what they
    /// count in each parameter; nothing where volumes are too few to say.
    fn even(&self) -> Vec<(f64, Vec<Vec<f64>>)> {
        let every: Vec<usize> = (0..self.columns.len()).collect();
        let free = self.sizes[0].len().saturating_sub(every.len());
        let nothing = vec![(0.0, Vec::new()); self.shells];
        if free < LEAST_VOLUMES {
            return nothing;
        }
        let Some((counts, left)) = self.solved(&every) else { return nothing };
        let even = |shell: usize| {
            let tested = shell * (HARMONICS + 1)..shell * (HARMONICS + 1) + HARMONICS;
            let others: Vec<usize> =
                every.iter().copied().filter(|column| !tested.contains(column)).collect();
            let without = self.solved(&others).map_or(left, |(_, left)| left);
            let explained = (without - left) / (HARMONICS * self.sizes.len()) as f64;
            let chance = left / (free * self.sizes.len()) as f64;
            let own = counts.iter().map(|counts| counts[tested.clone()].to_vec()).collect();
            (explained / chance.max(f64::MIN_POSITIVE), own)
        };
        (0..self.shells).map(even).collect()
    }

    /// Least squares by some columns: what each counts in each parameter, and the sum of squares that is left.
    fn solved(&self, columns: &[usize]) -> Option<(Vec<Vec<f64>>, f64)> {
        let q = columns.len();
        let columns: Vec<&Vec<f64>> = columns.iter().map(|at| &self.columns[*at]).collect();
        let mut normal: Vec<f64> =
            (0..q * q).map(|at| dot(columns[at / q], columns[at % q])).collect();
        // Directions in a plane leave some harmonics undetermined.
        let ridge = 1e-9 * (0..q).map(|at| normal[at * q + at]).fold(0.0, f64::max);
        (0..q).for_each(|at| normal[at * q + at] += ridge);
        let (mut all, mut left) = (Vec::new(), 0.0);
        for sizes in &self.sizes {
            let right: Vec<f64> = columns.iter().map(|column| dot(column, sizes)).collect();
            let mut by = right.clone();
            if !lu::solve(&mut normal.clone(), &mut by) {
                return None;
            }
            left += (dot(sizes, sizes) - dot(&by, &right)).max(0.0);
            all.push(by);
        }
        Some((all, left))
    }
}

#[cfg(test)]
mod tests {
    use fimbria_testing::{Noise, acquisition};

    use super::*;
    use crate::joint::Order;

    const SHELL: usize = 25;

    /// Two shells in turn; changes of 0.1 mm, and in the second what follows its gradients by `even` mm.
    fn walked(even: f64) -> (Prior, Vec<f64>, Vec<f64>) {
        let n = 2 * SHELL;
        let dirs = acquisition(0, &[(1000.0, SHELL)]).dirs_ras;
        let gradients: Vec<_> = (0..n).map(|v| Some(dirs[v / 2])).collect();
        let shells = [0, 1].map(|s| (0..n).filter(|v| v % 2 == s).collect()).to_vec();
        let prior = Prior::new(0, gradients.clone(), shells, Order::of_one(n, 1), 3);
        let p = prior.width();
        let mut random = Noise(7);
        let mut walk = vec![0.0; n * p];
        for at in p..n * p {
            walk[at] = 0.1 * random.normal() + if at % p < EDDY { walk[at - p] } else { 0.0 };
        }
        let mut theta = walk.clone();
        for v in (1..n).step_by(2) {
            let [x, y, _] = gradients[v].unwrap();
            // Their mean over the shell is 0 for the symmetry of the directions, but for their number.
            [3, EDDY].iter().for_each(|k| theta[v * p + k] += even * (x * x - y * y));
        }
        (prior, walk, theta)
    }

    #[test]
    fn motion_that_follows_the_gradients_is_taken_off_and_a_walk_is_not() {
        let (mut prior, walk, mut theta) = walked(3.0);
        let p = prior.width();
        prior.without_even(&mut theta);
        let largest: Vec<f64> = prior.even_mm().collect();
        let farthest = |k: usize| {
            (0..2 * SHELL).map(|v| (theta[v * p + k] - walk[v * p + k]).abs()).fold(0.0, f64::max)
        };
        // Harmonics are as sure as changes of 0.1 mm, and fields of 0.1 mm, of 25 volumes let them be.
        assert!(farthest(3) < 0.3 && farthest(EDDY) < 0.3, "{} {}", farthest(3), farthest(EDDY));
        assert!([0, EDDY + 1].iter().all(|k| farthest(*k) == 0.0));
        assert!(largest[0] == 0.0 && (2.5..3.3).contains(&largest[1]), "{largest:?}");
    }

    #[test]
    fn a_walk_stays_as_it_is() {
        let (mut prior, walk, mut theta) = walked(0.0);
        prior.without_even(&mut theta);
        assert_eq!(theta, walk);
    }
}
