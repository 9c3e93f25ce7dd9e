//! One volume laid on its prediction.

use fimbria_compute::dense::lu;
use fimbria_compute::dense::vec3::cross;
use fimbria_image::frames::turned;

use crate::place::{Lattice, MOST_TERMS, Place, terms};
use crate::region::{Inner, Region};
use crate::spline::Spline;

/// What became of a volume.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    /// Where it lies.
    pub place: Place,
    /// The volume over its prediction.
    pub scale: f64,
    /// Variances of the field's coefficients that follow from the noise.
    pub variances: Vec<f64>,
}

/// Six of rigid motion, those of the field, and the scale.
const MOST: usize = 7 + MOST_TERMS;
/// Residuals beyond this many standard deviations count nothing (Tukey's biweight, 95 % efficient).
const TUKEY: f64 = 4.685;
/// Gauss-Newton steps at most.
const STEPS: usize = 10;
/// A step that moves the head by less, in voxels, is the last.
const SMALL_VOX: f64 = 0.003;

/// Lays a volume on its prediction: minimises the sum over voxels of Tukey's function of
/// J V(apply(p)) - s P(p), with s and the place unknown.
///
/// Slopes are those of the prediction, which has less noise than the volume, and none that the
/// residuals share. `dropped` says which slices of the volume count nothing. `every` takes one
/// voxel of so many.
pub(crate) fn lay_on(
    volume: &Spline,
    prediction: &[f32],
    lattice: &Lattice,
    region: &Region,
    start: &Place,
    dropped: &[bool],
    every: usize,
) -> Fit {
    let problem = Problem { volume, prediction, lattice, region, dropped, every };
    let mut best = Fit { place: start.clone(), scale: 1.0, variances: Vec::new() };
    let sigma = problem.spread(&best);
    let mut here = problem.equations(&best, sigma);
    best.variances = vec![0.0; best.place.eddy.len()];
    if sigma.is_nan() || sigma <= 0.0 {
        return best;
    }
    let mut damping = 1.0;
    for _ in 0..STEPS {
        let Some(step) = here.solve(damping) else { break };
        let tried = taken(&best, &step);
        let moved = problem.largest_move(&best.place, &tried.place);
        let there = problem.equations(&tried, sigma);
        if there.mean_loss() <= here.mean_loss() {
            best = Fit { variances: std::mem::take(&mut best.variances), ..tried };
            here = there;
            damping = 1.0;
        } else {
            damping *= 0.3;
        }
        if moved < SMALL_VOX {
            break;
        }
    }
    best.variances = here.variances(sigma);
    best
}

struct Problem<'a> {
    volume: &'a Spline,
    prediction: &'a [f32],
    lattice: &'a Lattice,
    region: &'a Region,
    dropped: &'a [bool],
    every: usize,
}

/// A fit after a step: rotation, shift, field, scale.
fn taken(from: &Fit, step: &[f64]) -> Fit {
    let mut to = from.clone();
    to.place.step([step[0], step[1], step[2]], [step[3], step[4], step[5]]);
    to.place.eddy.iter_mut().zip(&step[6..]).for_each(|(a, d)| *a += d);
    to.scale += step[step.len() - 1];
    to
}

/// Normal equations, and the sum of losses over so many voxels.
struct Equations {
    n: usize,
    matrix: [[f64; MOST]; MOST],
    rhs: [f64; MOST],
    loss: f64,
    voxels: usize,
}

impl Equations {
    fn mean_loss(&self) -> f64 {
        if self.voxels == 0 { f64::INFINITY } else { self.loss / self.voxels as f64 }
    }

    fn dense(&self) -> Vec<f64> {
        let mut matrix: Vec<f64> =
            (0..self.n * self.n).map(|i| self.matrix[i / self.n][i % self.n]).collect();
        for i in 0..self.n {
            for j in 0..i {
                matrix[j * self.n + i] = matrix[i * self.n + j];
            }
            // Terms that the data do not bear stay where they are.
            matrix[i * self.n + i] *= 1.0 + 1e-9;
        }
        matrix
    }

    fn solve(&self, factor: f64) -> Option<Vec<f64>> {
        let mut step = self.rhs[..self.n].to_vec();
        lu::solve(&mut self.dense(), &mut step)
            .then(|| step.into_iter().map(|s| s * factor).collect())
    }

    fn variances(&self, sigma: f64) -> Vec<f64> {
        let fields = 6..self.n - 1;
        match lu::inverse(&self.dense(), self.n) {
            Some(inverse) => fields.map(|i| sigma * sigma * inverse[i * self.n + i]).collect(),
            None => vec![f64::INFINITY; fields.len()],
        }
    }
}

impl Problem<'_> {
    fn voxels(&self) -> impl Iterator<Item = &Inner> {
        self.region.inner.iter().step_by(self.every)
    }

    /// The value of the volume and its factor where the head at a voxel appears; none outside or in a dropped slice.
    #[inline]
    fn value(&self, place: &Place, voxel: &Inner) -> Option<([f64; 3], f64, f64)> {
        let at = self.lattice.place(self.region.voxels[voxel.at as usize] as usize);
        let (appears, jacobian) = place.apply(at);
        let vox = self.lattice.vox(appears);
        let value = f64::from(self.volume.at(vox)?);
        (!touches(self.dropped, vox[2])).then_some((at, value, jacobian))
    }

    fn residuals(&self, fit: &Fit) -> Vec<f64> {
        let residual = |voxel: &Inner| {
            let (_, value, jacobian) = self.value(&fit.place, voxel)?;
            Some(value * jacobian - fit.scale * f64::from(self.prediction[voxel.at as usize]))
        };
        self.voxels().filter_map(residual).collect()
    }

    /// The standard deviation of residuals by the median of their magnitudes.
    fn spread(&self, fit: &Fit) -> f64 {
        let mut all: Vec<f64> = self.residuals(fit).into_iter().map(f64::abs).collect();
        if all.is_empty() {
            return 0.0;
        }
        let middle = all.len() / 2;
        1.4826 * *all.select_nth_unstable_by(middle, f64::total_cmp).1
    }

    fn equations(&self, fit: &Fit, sigma: f64) -> Equations {
        let place = &fit.place;
        let (axis, n_eddy) = (place.axis, place.eddy.len());
        let n = 7 + n_eddy;
        let mut made =
            Equations { n, matrix: [[0.0; MOST]; MOST], rhs: [0.0; MOST], loss: 0.0, voxels: 0 };
        let spacing = self.lattice.spacing_mm;
        for voxel in self.voxels() {
            let Some((at, value, jacobian)) = self.value(place, voxel) else { continue };
            let p = |place: u32| f64::from(self.prediction[place as usize]);
            let expected = fit.scale * p(voxel.at);
            let residual = value * jacobian - expected;
            let u = residual / (TUKEY * sigma);
            let rest = (1.0 - u * u).max(0.0);
            made.loss += 1.0 - rest * rest * rest;
            made.voxels += 1;
            if rest == 0.0 {
                continue;
            }
            let slope = std::array::from_fn(|a| {
                fit.scale * (p(voxel.high[a]) - p(voxel.low[a])) / (2.0 * spacing[a])
            });
            let slope = turned(&place.turn, slope);
            let q = place.in_scanner(at);
            let mut column = [0.0; MOST];
            column[..3].copy_from_slice(&cross(q, slope));
            column[3..6].copy_from_slice(&slope);
            if n_eddy > 0 {
                // That a field also stretches the signal is left out: where predictions are too bright or
                // too dark over a large part of the head, it would be taken for a field.
                let (term, _) = terms(q, axis, n_eddy);
                for k in 0..n_eddy {
                    column[6 + k] = slope[axis] * term[k] / jacobian;
                }
            }
            column[n - 1] = -p(voxel.at);
            let weight = rest * rest;
            for i in 0..n {
                let w = weight * column[i];
                made.rhs[i] -= w * residual;
                (0..=i).for_each(|j| made.matrix[i][j] += w * column[j]);
            }
        }
        made
    }

    /// How far the head moves at most from one place to another, voxels: at the corners of its region.
    fn largest_move(&self, from: &Place, to: &Place) -> f64 {
        let smallest = self.lattice.spacing_mm.into_iter().fold(f64::INFINITY, f64::min);
        let step = (self.region.inner.len() / 64).max(1);
        let moved = |voxel: &Inner| {
            let at = self.lattice.place(self.region.voxels[voxel.at as usize] as usize);
            let [a, b] = [from.apply(at).0, to.apply(at).0];
            (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt() / smallest
        };
        self.region.inner.iter().step_by(step).map(moved).fold(0.0, f64::max)
    }
}

/// Whether a point at `z`, voxels, is made of a dropped slice.
pub(crate) fn touches(dropped: &[bool], z: f64) -> bool {
    let [low, high] = [z.floor(), z.ceil()].map(|k| k.max(0.0) as usize);
    let is = |k: usize| dropped.get(k).copied().unwrap_or(false);
    is(low) || is(high)
}
