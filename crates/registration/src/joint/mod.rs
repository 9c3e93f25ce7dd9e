//! All volumes laid on each other at once.
//!
//! Signals r(x) of the volumes at a place of the head are a Gaussian process over q-space, of covariance C. Steps d
//! of all volumes together minimise
//!
//! Σ_x (r + G d)ᵀ C⁻¹ (r + G d) + (θ + d)ᵀ Λ (θ + d),
//!
//! G the slopes of the predictions along what each parameter moves, Λ what is known before (`prior`). To lay each
//! volume on its prediction in turn has the same end where nothing is known before, and hardly gets there along
//! displacements that vary slowly with the direction, since neighbours are displaced alike; here what the data do
//! not say of them is left to Λ.
//!
//! The equations are solved by factors, not by iteration: of n volumes with p parameters their matrix takes
//! n² p² / 2 products a voxel and n³ p³ / 6 for its factor, fewer than the hundreds of steps of conjugate gradients,
//! n² each, that displacements need which data and prior hardly tell; and the factor has what the prior learns from, how sure
//! each parameter is.

mod block;
mod even;
mod factor;
mod normal;
mod prior;

use fimbria_compute::{Interrupted, Progress};
use fimbria_image::frames::{transposed, turned};
use rayon::prelude::*;

use self::block::{Block, LANES, calibrate, gathered};
pub(crate) use self::factor::Contrast;
use self::factor::{factor, solve, variances};
pub(crate) use self::prior::{EDDY, Order, Prior, TURN_MM};
use crate::place::{Lattice, Place};
use crate::region::{Inner, Region};

/// The precision of what does not move.
const HELD: f64 = 1e12;
/// How often the prior learns in a round.
const LEARNT: usize = 3;

/// What the steps are made from.
pub(crate) struct Joint {
    /// Of each class: C⁻¹, row-major, over what voxels share of each other's noise.
    precisions: Vec<Vec<f32>>,
    /// Those of a class follow each other.
    blocks: Vec<Block>,
    /// The direction of the phase encoding in each volume's head.
    along: Vec<[f32; 3]>,
    /// Terms of the field; `None` for no field at all.
    n_terms: Option<usize>,
}

/// Signals as one round has them.
pub(crate) struct Signals<'a> {
    pub rows: &'a [Vec<f32>],
    pub predictions: &'a [Vec<f32>],
    /// For each voxel of the region its class.
    pub classes: &'a [u8],
    /// Of each class C⁻¹ as the predictor has it, row-major.
    pub precisions: Vec<Vec<f64>>,
    /// So many voxels share their noise.
    pub shared: f64,
}

impl Joint {
    /// `every`: one voxel of so many is compared.
    pub(crate) fn new(
        signals: &Signals<'_>,
        places: &[Place],
        lattice: &Lattice,
        region: &Region,
        every: usize,
        prior: &Prior,
    ) -> Self {
        let n_terms = prior.width().checked_sub(EDDY + 1);
        let classes = signals.precisions.len();
        let picked: Vec<&Inner> = region.inner.iter().step_by(every).collect();
        let mut groups = Vec::new();
        for class in 0..classes {
            let own = |voxel: &&Inner| usize::from(signals.classes[voxel.at as usize]) == class;
            let voxels: Vec<&Inner> = picked.iter().copied().filter(own).collect();
            groups.extend(voxels.chunks(LANES).map(|chunk| (class, chunk.to_vec())));
        }
        let single = |m: &Vec<f64>| m.iter().map(|v| *v as f32).collect::<Vec<f32>>();
        let mut precisions: Vec<Vec<f32>> = signals.precisions.iter().map(single).collect();
        let terms = n_terms.unwrap_or(0);
        let mut blocks: Vec<Block> = groups
            .par_iter()
            .map(|(class, voxels)| {
                gathered(signals, &precisions[*class], *class, voxels, lattice, region, terms)
            })
            .collect();
        let share = (every as f64 / signals.shared).min(1.0) as f32;
        for (class, precision) in precisions.iter_mut().enumerate() {
            calibrate(precision, class, &mut blocks, share);
        }
        let along = |place: &Place| {
            let mut unit = [0.0; 3];
            unit[place.axis] = 1.0;
            turned(&transposed(&place.turn), unit).map(|v: f64| v as f32)
        };
        Self { precisions, blocks, along: places.iter().map(along).collect(), n_terms }
    }

    /// Parameters of a volume.
    fn width(&self) -> usize {
        EDDY + self.n_terms.map_or(0, |terms| terms + 1)
    }

    /// The steps from parameters `theta`, n x p, that minimise, and what `prior` learns of them.
    ///
    /// # Errors
    /// Where the user stops it.
    pub(crate) fn solve(
        &self,
        theta: &[f64],
        prior: &mut Prior,
        is_robust: bool,
        progress: &dyn Progress,
    ) -> Result<Vec<f64>, Interrupted> {
        let size = theta.len();
        let p = self.width();
        let held: Vec<usize> = (0..size).filter(|at| !prior.is_free(at / p, at % p)).collect();
        let data = without_means(self.matrix(progress)?, prior, size);
        let mut pulls = vec![0.0; size];
        let parts: Vec<Vec<f32>> = self.blocks.par_iter().map(|block| self.pulled(block)).collect();
        for part in parts {
            pulls.iter_mut().zip(part).for_each(|(sum, value)| *sum += f64::from(value));
        }
        prior.without_means(&mut pulls);
        let mut steps = vec![0.0; size];
        for _ in 0..LEARNT {
            progress.check()?;
            let mut matrix = data.clone();
            matrix.par_chunks_mut(size).enumerate().for_each(|(at, row)| {
                row.iter_mut().zip(prior.row(at)).for_each(|(sum, value)| *sum += value);
            });
            let known = prior.apply(theta);
            let mut right: Vec<f64> = pulls.iter().zip(&known).map(|(a, b)| -a - b).collect();
            for &at in &held {
                right[at] = 0.0;
                (0..size).for_each(|other| {
                    matrix[at * size + other] = 0.0;
                    matrix[other * size + at] = 0.0;
                });
                matrix[at * size + at] = HELD;
            }
            if !factor(&mut matrix, size) {
                break;
            }
            steps = solve(&matrix, size, &right);
            let mut now: Vec<f64> = theta.iter().zip(&steps).map(|(a, b)| a + b).collect();
            prior.without_even(&mut now);
            steps = now.iter().zip(theta).map(|(now, before)| now - before).collect();
            progress.check()?;
            prior.learn(&now, &variances(&matrix, size, &prior.contrasts()), is_robust);
        }
        Ok(steps)
    }
}

/// Of a symmetric matrix what is left of it where means over shells do not count.
fn without_means(mut matrix: Vec<f64>, prior: &Prior, size: usize) -> Vec<f64> {
    matrix.par_chunks_mut(size).for_each(|row| prior.without_means(row));
    for i in 0..size {
        for j in 0..i {
            matrix.swap(i * size + j, j * size + i);
        }
    }
    matrix.par_chunks_mut(size).for_each(|row| prior.without_means(row));
    matrix
}

#[cfg(test)]
mod tests {
    use fimbria_compute::Silent;
    use fimbria_image::{Affine, Grid, Mask};

    use super::*;
    use crate::place::Eddy;

    /// Five volumes of a bump, of which each is the prediction of all and one lies elsewhere.
    fn with_joint<T>(moved: [f64; 3], run: impl FnOnce(&Joint, Prior) -> T) -> T {
        let grid = Grid { dims: [17, 15, 13], ras_from_vox: Affine::from_spacing([2.0; 3]) };
        let lattice = Lattice::new(&grid);
        let mask = Mask { grid, voxels: (0..grid.len() as u32).collect() };
        let region = Region::around(&mask);
        let bump = |v: u32, by: [f64; 3]| {
            let at = lattice.place(v as usize);
            let [x, y, z] = [0, 1, 2].map(|a| (at[a] + by[a]) / [9.0, 8.0, 7.0][a]);
            (100.0 * (-0.5 * (x * x + y * y + z * z + 0.3 * x * y)).exp()) as f32
        };
        let row = |by| region.voxels.iter().map(|&v| bump(v, by)).collect::<Vec<f32>>();
        let mut rows = vec![row([0.0; 3]); 5];
        rows[2] = row(moved);
        let predictions = vec![row([0.0; 3]); 5];
        let classes = vec![0; region.voxels.len()];
        // What is left of each volume by the mean of all.
        let precision = (0..25).map(|at| if at / 5 == at % 5 { 0.8 } else { -0.2 }).collect();
        let signals = Signals {
            rows: &rows,
            predictions: &predictions,
            classes: &classes,
            precisions: vec![precision],
            shared: 1.0,
        };
        let turned = |v: usize| (v > 0).then(|| [v as f64, 1.0, 0.5 * (v * v) as f64]);
        let shells = vec![vec![0], vec![1, 2, 3, 4]];
        let order = Order::of_one(5, 1);
        let prior = Prior::new(0, (0..5).map(turned).collect(), shells, order, 8);
        let places = vec![Place::still(1, Eddy::Quadratic); 5];
        let joint = Joint::new(&signals, &places, &lattice, &region, 1, &prior);
        run(&joint, prior)
    }

    #[test]
    fn the_matrix_is_that_of_the_columns() {
        with_joint([0.3, 0.0, 0.0], |joint, _| {
            let (p, size) = (joint.width(), 5 * joint.width());
            let matrix = joint.matrix(&Silent).unwrap();
            let column = |block: &Block, at: usize| {
                let mut out = [0.0; LANES];
                joint.column(block, at / p, at % p, &mut out);
                out
            };
            for (i, j) in [(0, 0), (4, 3), (17, 2), (70, 36), (33, 61)] {
                let known: f64 = joint
                    .blocks
                    .iter()
                    .map(|block| {
                        let (a, b) = (column(block, i), column(block, j));
                        let sum: f64 =
                            a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(b)).sum();
                        f64::from(joint.precisions[0][5 * (i / p) + j / p]) * sum
                    })
                    .sum();
                let size_of = (matrix[i * size + i] * matrix[j * size + j]).sqrt();
                // Sums of single numbers.
                assert!((matrix[i * size + j] - known).abs() < 1e-5 * size_of, "{i} {j}");
            }
        });
    }

    #[test]
    fn a_volume_that_lies_elsewhere_is_moved_back() {
        let steps = with_joint([0.4, -0.3, 0.2], |joint, mut prior| {
            joint.solve(&vec![0.0; 5 * 15], &mut prior, false, &Silent).unwrap()
        });
        let shift =
            |v: usize| -> Vec<f64> { (3..6).map(|k| steps[v * 15 + k] - steps[15 + k]).collect() };
        let [by, other] = [shift(2), shift(4)];
        for (a, known) in [-0.4, 0.3, -0.2].into_iter().enumerate() {
            // Its residuals are cut off at three of their deviations; the constant of the field may take a part.
            assert!(by[a] * known > 0.0 && by[a].abs() < 1.3 * known.abs(), "{by:?}");
            assert!(other[a].abs() < 0.5 * known.abs(), "{other:?}");
        }
    }
}
