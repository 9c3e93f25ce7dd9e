//! Intensities of several tissues made comparable: over one head, and between heads.
//!
//! Amounts of all tissues, each in units of its response, add up to 1 wherever tissue fills the voxel. What
//! they add up to instead is how bright the scanner was there. Its logarithm is fitted by a polynomial of
//! position; each tissue has a factor of its own, since responses do not agree on what fills a voxel; and
//! voxels that are not filled, or brighter than others, are left out by the quartiles of what remains
//! (Raffelt et al., ISMRM 2017, 3541; Dhollander et al., ISMRM 2021, 2472).

use fimbria_compute::dense::lu;
use fimbria_compute::{Interrupted, Progress, Workers};
use fimbria_image::{Grid, Image, Mask};
use rayon::prelude::*;

/// Highest order of the polynomial.
pub const MOST_ORDER: usize = 3;
/// Terms of the highest order.
const TERMS: usize = 20;
/// Fits of the field at most. Each follows up to [`BALANCINGS`] of the tissues; a head takes about ten.
const ROUNDS: usize = 50;
const BALANCINGS: usize = 7;
/// Rounds end where the logarithm of the field changes by less than this anywhere.
const SETTLED: f64 = 1e-6;
/// Voxels farther beyond the quartiles than so many of their distances are outliers (Tukey's fences).
const FENCES: f64 = 1.5;
/// Voxels whose sums are made together, in the same order on any number of threads.
const BLOCK: usize = 4096;

/// How bright the scanner was.
#[derive(Clone, Debug)]
pub struct Normalised {
    /// What amounts are to be divided by, everywhere on the grid: 1 where they are right.
    pub field: Image,
    /// What each tissue was multiplied by to find it; their geometric mean is 1.
    pub balance: Vec<f64>,
    /// The voxels that counted.
    pub kept: Mask,
    /// Geometric mean of the field over them.
    pub scale: f64,
    /// Fits of the field.
    pub rounds: usize,
    /// Whether it had settled by then.
    pub converged: bool,
}

/// Why intensities cannot be normalised.
#[derive(Debug, thiserror::Error)]
pub enum NormaliseError {
    /// One tissue would be made the same everywhere.
    #[error(
        "normalising makes the sum of tissues the same everywhere: it takes 2 or more, and there is {0}"
    )]
    Tissues(usize),
    /// The polynomial is of no order that is offered.
    #[error("order {0} is not within 0 and {MOST_ORDER}")]
    Order(usize),
    /// Too few voxels to fit a field.
    #[error("{0} voxels of the mask have tissue, and a field takes {1} or more")]
    Voxels(usize, usize),
    /// The tissues cannot be told apart.
    #[error("the voxels do not tell how bright tissue {0} is: it is nowhere, or lies as others do")]
    Balance(usize),
    /// The user stopped it.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Finds the field of the tissues with these `amounts`, each over all voxels of the grid and in units of its
/// response, by the voxels of `mask`; `order` is that of the polynomial.
///
/// # Errors
/// [`NormaliseError`].
///
/// # Panics
/// Where amounts are of another grid.
pub fn normalise(
    amounts: &[&[f32]],
    mask: &Mask,
    order: usize,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Normalised, NormaliseError> {
    assert!(amounts.iter().all(|amount| amount.len() == mask.grid.len()), "the grid of the mask");
    if amounts.len() < 2 {
        return Err(NormaliseError::Tissues(amounts.len()));
    }
    if order > MOST_ORDER {
        return Err(NormaliseError::Order(order));
    }
    let work = Work::new(amounts, mask, order);
    let fewest = 10 * work.terms.len();
    if work.voxels.len() < fewest {
        return Err(NormaliseError::Voxels(work.voxels.len(), fewest));
    }
    workers.install(|| work.settle(progress))
}

/// The voxels with tissue.
struct Work<'a> {
    mask: &'a Mask,
    voxels: Vec<u32>,
    tissues: usize,
    /// Amounts of the tissues of each voxel.
    rows: Vec<f64>,
    /// Powers of x, y and z of each term.
    terms: Vec<[usize; 3]>,
}

impl<'a> Work<'a> {
    fn new(amounts: &[&[f32]], mask: &'a Mask, order: usize) -> Self {
        let (mut voxels, mut rows) = (Vec::new(), Vec::new());
        for &voxel in &mask.voxels {
            // Harmonics may be a little below zero.
            let row = amounts.iter().map(|amount| f64::from(amount[voxel as usize].max(0.0)));
            let sum: f64 = row.clone().sum();
            if sum > 0.0 && sum.is_finite() {
                voxels.push(voxel);
                rows.extend(row);
            }
        }
        let powers = (0..64).map(|i| [i / 16, i / 4 % 4, i % 4]);
        let terms = powers.filter(|powers| powers.iter().sum::<usize>() <= order).collect();
        Self { mask, voxels, tissues: amounts.len(), rows, terms }
    }

    /// Balances tissues and fits the field in turns until neither changes.
    fn settle(&self, progress: &dyn Progress) -> Result<Normalised, NormaliseError> {
        let mut balance = vec![1.0; self.tissues];
        let mut log_field = vec![0.0; self.voxels.len()];
        let mut coefficients = vec![0.0; self.terms.len()];
        let mut kept = self.kept(&self.log_sums(&balance), &log_field);
        let (mut rounds, mut converged) = (0, false);
        while rounds < ROUNDS && !converged {
            progress.check()?;
            for _ in 0..BALANCINGS {
                balance = self.balance(&kept, &log_field)?;
                let before = kept;
                kept = self.kept(&self.log_sums(&balance), &log_field);
                if kept == before {
                    break;
                }
            }
            coefficients = self.fit(&kept, &self.log_sums(&balance))?;
            let evaluated = self.voxels.par_iter();
            let evaluated = evaluated.map(|&voxel| self.log_field(&coefficients, voxel as usize));
            let evaluated: Vec<f64> = evaluated.collect();
            let changes = evaluated.iter().zip(&log_field).map(|(new, old)| (new - old).abs());
            converged = changes.fold(0.0, f64::max) < SETTLED;
            log_field = evaluated;
            rounds += 1;
        }
        let of_kept = || kept.iter().zip(&log_field).filter(|(kept, _)| **kept);
        let scale = (of_kept().map(|(_, log)| log).sum::<f64>() / of_kept().count() as f64).exp();
        let grid = self.mask.grid;
        let everywhere = (0..grid.len()).into_par_iter();
        let data =
            everywhere.map(|voxel| self.log_field(&coefficients, voxel).exp() as f32).collect();
        let counted = self.voxels.iter().zip(&kept).filter(|(_, kept)| **kept);
        let kept = Mask { grid, voxels: counted.map(|(voxel, _)| *voxel).collect() };
        let field = Image { grid, n_volumes: 1, data };
        Ok(Normalised { field, balance, kept, scale, rounds, converged })
    }

    /// Logarithm of the sum over the tissues of each voxel.
    fn log_sums(&self, balance: &[f64]) -> Vec<f64> {
        let sum = |row: &[f64]| row.iter().zip(balance).map(|(a, b)| a * b).sum::<f64>().ln();
        self.rows.par_chunks(self.tissues).map(sum).collect()
    }

    /// Which voxels are no outliers.
    fn kept(&self, log_sums: &[f64], log_field: &[f64]) -> Vec<bool> {
        let left: Vec<f64> = log_sums.iter().zip(log_field).map(|(sum, f)| sum - f).collect();
        let mut sorted = left.clone();
        let mut quartile = |part: usize| {
            let at = (sorted.len() - 1) * part / 4;
            *sorted.select_nth_unstable_by(at, f64::total_cmp).1
        };
        let [low, high] = [quartile(1), quartile(3)];
        let beyond = FENCES * (high - low);
        left.iter().map(|left| (low - beyond..=high + beyond).contains(left)).collect()
    }

    /// Factors by which the tissues of each voxel kept add up to the same share of the field, as nearly as can be.
    fn balance(&self, kept: &[bool], log_field: &[f64]) -> Result<Vec<f64>, NormaliseError> {
        let row = |k: usize, row: &mut [f64]| {
            let field = log_field[k].exp();
            let own = &self.rows[k * self.tissues..][..self.tissues];
            row.iter_mut().zip(own).for_each(|(share, amount)| *share = amount / field);
            1.0
        };
        let solved = self.least_squares(self.tissues, kept, row);
        let balance = solved.ok_or(NormaliseError::Balance(self.faintest(kept)))?;
        if let Some(tissue) = balance.iter().position(|factor| factor.is_nan() || *factor <= 0.0) {
            return Err(NormaliseError::Balance(tissue + 1));
        }
        let logs: f64 = balance.iter().map(|factor| factor.ln()).sum();
        let mean = (logs / self.tissues as f64).exp();
        Ok(balance.iter().map(|factor| factor / mean).collect())
    }

    /// The tissue of which there is least, from 1.
    fn faintest(&self, kept: &[bool]) -> usize {
        let rows = || self.rows.chunks(self.tissues).zip(kept).filter(|(_, kept)| **kept);
        let amount = |tissue: usize| rows().map(|(row, _)| row[tissue]).sum::<f64>();
        let least = (0..self.tissues).min_by(|&a, &b| amount(a).total_cmp(&amount(b)));
        1 + least.unwrap_or(0)
    }

    /// Coefficients of the logarithm of the field.
    fn fit(&self, kept: &[bool], log_sums: &[f64]) -> Result<Vec<f64>, NormaliseError> {
        let row = |k: usize, row: &mut [f64]| {
            self.fill_terms(self.voxels[k] as usize, row);
            log_sums[k]
        };
        let few = NormaliseError::Voxels(kept.iter().filter(|kept| **kept).count(), TERMS);
        self.least_squares(self.terms.len(), kept, row).ok_or(few)
    }

    fn log_field(&self, coefficients: &[f64], voxel: usize) -> f64 {
        let mut terms = [0.0; TERMS];
        let terms = &mut terms[..coefficients.len()];
        self.fill_terms(voxel, terms);
        terms.iter().zip(coefficients).map(|(term, c)| term * c).sum()
    }

    /// The terms of the polynomial in a voxel; positions run from -1 to 1 over the grid, so that the equations
    /// are well conditioned. Polynomials of an order are the same ones along any axes.
    fn fill_terms(&self, voxel: usize, to: &mut [f64]) {
        let Grid { dims, .. } = self.mask.grid;
        let at = self.mask.grid.voxel(voxel);
        let powers = [0, 1, 2].map(|axis| {
            let half = (dims[axis] as f64 - 1.0).max(1.0) / 2.0;
            let x = (at[axis] as f64 - half) / half;
            [1.0, x, x * x, x * x * x]
        });
        for (to, [i, j, k]) in to.iter_mut().zip(&self.terms) {
            *to = powers[0][*i] * powers[1][*j] * powers[2][*k];
        }
    }

    /// The x nearest to Ax = b in the sum of squares: `row` writes row k of A, of `n` columns, and says b. A
    /// voxel that is not kept has no row.
    fn least_squares(
        &self,
        n: usize,
        kept: &[bool],
        row: impl Fn(usize, &mut [f64]) -> f64 + Sync,
    ) -> Option<Vec<f64>> {
        let block = |block: usize| {
            let mut sums = vec![0.0; n * (n + 1)];
            let mut own = [0.0; TERMS];
            let own = &mut own[..n];
            let voxels = block * BLOCK..self.voxels.len().min((block + 1) * BLOCK);
            for k in voxels.filter(|&k| kept[k]) {
                let right = row(k, own);
                for (i, sums) in sums.chunks_exact_mut(n + 1).enumerate() {
                    sums[..n].iter_mut().zip(&*own).for_each(|(sum, x)| *sum += own[i] * x);
                    sums[n] += own[i] * right;
                }
            }
            sums
        };
        let blocks: Vec<_> =
            (0..self.voxels.len().div_ceil(BLOCK)).into_par_iter().map(block).collect();
        let mut sums = vec![0.0; n * (n + 1)];
        for block in blocks {
            sums.iter_mut().zip(block).for_each(|(sum, x)| *sum += x);
        }
        let (mut matrix, mut rhs) = (Vec::new(), Vec::new());
        for row in sums.chunks_exact(n + 1) {
            matrix.extend_from_slice(&row[..n]);
            rhs.push(row[n]);
        }
        lu::solve(&mut matrix, &mut rhs).then_some(rhs)
    }
}

#[cfg(test)]
mod tests {
    use fimbria_compute::Silent;
    use fimbria_image::Affine;

    use super::*;

    const DIMS: [usize; 3] = [14, 12, 13];

    fn whole() -> Mask {
        Mask::full(Grid { dims: DIMS, ras_from_vox: Affine::from_spacing([2.0, 2.0, 2.5]) })
    }

    /// Fractions of two tissues that vary from voxel to voxel, times the gain of each voxel.
    fn tissues(gain: impl Fn([f64; 3]) -> f64) -> [Vec<f32>; 2] {
        let grid = whole().grid;
        let fraction = |voxel: usize| (voxel as f64 * 0.618).fract();
        let amount = |second: bool| {
            let one = |voxel: usize| {
                let place = [0, 1, 2].map(|axis| grid.voxel(voxel)[axis] as f64 / 10.0);
                let part = if second { 1.0 - fraction(voxel) } else { fraction(voxel) };
                (part * gain(place)) as f32
            };
            (0..grid.len()).map(one).collect()
        };
        [amount(false), amount(true)]
    }

    fn normalised(tissues: &[Vec<f32>; 2], order: usize, threads: usize) -> Normalised {
        let workers = Workers::new(threads).unwrap();
        normalise(&[&tissues[0], &tissues[1]], &whole(), order, &workers, &Silent).unwrap()
    }

    #[test]
    fn a_constant_gain_is_found_exactly() {
        for order in 0..=MOST_ORDER {
            let found = normalised(&tissues(|_| 1.7), order, 1);
            // Amounts are single precision.
            let worst = found.field.data.iter().map(|f| (f - 1.7).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-6 && (found.scale - 1.7).abs() < 1e-6, "{order} {worst}");
            assert!(found.balance.iter().all(|factor| (factor - 1.0).abs() < 1e-6));
            assert!(found.converged);
        }
    }

    #[test]
    fn an_exponential_of_a_cubic_polynomial_is_found_exactly() {
        let gain = |[x, y, z]: [f64; 3]| {
            (0.3 - 0.2 * x + 0.1 * x * y - 0.3 * z * z + 0.05 * x * y * z + 0.1 * y * y * y).exp()
        };
        let found = normalised(&tissues(gain), 3, 2);
        let grid = found.field.grid;
        for (voxel, field) in found.field.data.iter().enumerate() {
            let truth = gain([0, 1, 2].map(|axis| grid.voxel(voxel)[axis] as f64 / 10.0));
            assert!((f64::from(*field) / truth - 1.0).abs() < 1e-5, "{voxel}: {field} {truth}");
        }
    }

    #[test]
    fn tissues_that_fill_a_voxel_to_different_amounts_are_balanced() {
        // Whole voxels of the second tissue hold 0.64 of its response.
        let [first, mut second] = tissues(|_| 1.0);
        second.iter_mut().for_each(|amount| *amount *= 0.64);
        let found = normalised(&[first, second], 0, 1);
        // Factors 0.8 and 0.8 / 0.64, whose product is 1: with them everything adds up to 0.8.
        assert!((found.balance[0] - 0.8).abs() < 1e-6, "{:?}", found.balance);
        assert!((found.balance[1] - 1.25).abs() < 1e-6, "{:?}", found.balance);
        assert!((found.scale - 0.8).abs() < 1e-6, "{}", found.scale);
    }

    #[test]
    fn voxels_that_are_not_filled_or_too_bright_do_not_count() {
        // Scatter of 1 %, so that there are quartiles.
        let noise = |[x, y, z]: [f64; 3]| 1.0 + 0.01 * (37.0 * x + 91.0 * y + 53.0 * z).sin();
        let mut given = tissues(noise);
        for (voxel, scale) in (0..whole().len()).step_by(10).zip([0.0, 0.3, 6.0].iter().cycle()) {
            given.iter_mut().for_each(|amounts| amounts[voxel] *= scale);
        }
        let found = normalised(&given, 3, 1);
        let voxels = found.kept.voxels.iter();
        assert!(voxels.clone().all(|voxel| voxel % 10 != 0));
        assert!(voxels.len() as f64 > 0.85 * whole().len() as f64);
        let worst = found.field.data.iter().map(|f| (f - 1.0).abs()).fold(0.0, f32::max);
        assert!(worst < 0.01, "{worst}");
    }

    #[test]
    fn the_field_has_the_same_bits_on_any_number_of_threads() {
        let given = tissues(|[x, y, _]| 1.0 + 0.2 * x * y + 0.1 * (9.0 * x).sin());
        let [one, three] = [1, 3].map(|threads| normalised(&given, 3, threads));
        assert_eq!((one.field.data, one.balance), (three.field.data, three.balance));
    }

    #[test]
    fn what_cannot_be_normalised_is_refused() {
        let [first, second] = tissues(|_| 1.0);
        let workers = Workers::new(1).unwrap();
        let mask = whole();
        let refused = |amounts: &[&[f32]], mask: &Mask, order: usize| {
            normalise(amounts, mask, order, &workers, &Silent).unwrap_err().to_string()
        };
        assert!(refused(&[&first], &mask, 3).contains("there is 1"));
        assert!(refused(&[&first, &second], &mask, 4).contains("order 4"));
        let empty = vec![0.0; first.len()];
        assert!(refused(&[&first, &second, &empty], &mask, 3).contains("tissue 3"));
        let few = Mask { grid: mask.grid, voxels: (0..199).collect() };
        assert!(refused(&[&first, &second], &few, 3).contains("199 voxels"));
    }
}
