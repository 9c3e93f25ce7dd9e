//! Least squares with amounts of zero and more of many columns, of which few are above zero: minimise
//! ½ ‖Ax - y‖² + λ₁ Σ aⱼxⱼ + ½ λ₂ Σ (aⱼxⱼ)² over x ≥ 0, where aⱼ is the length of column j.
//!
//! Without penalty this is non-negative least squares; with both it is the elastic net (Zou & Hastie,
//! J R Stat Soc B 67, 301 (2005)) of columns of length 1. There may be more columns than samples, and columns
//! may be alike: unlike in [`active_set`](crate::active_set) nothing is inverted but the equations of the few
//! amounts above zero.
//!
//! Lawson & Hanson, Solving Least Squares Problems (1974), chapter 23: the amount along which the sum falls
//! most steeply becomes free; the free ones are set to their least squares, or as far that way as none falls
//! below zero, where those that reach it are bound again; and so on until the sum falls along none.

use fimbria_compute::dense::lu;
use fimbria_compute::dense::vector::{dot, norm};

/// A slope below this fraction of the length of the samples is rounding of samples in `f32`.
const LEVEL: f64 = 1e-8;
/// Amounts that become free, for each column, before the search is given up.
const MOST_ROUNDS: usize = 3;

/// The columns of A: `rows[sample * stride + column]`.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// The samples' rows, one after the other.
    pub rows: &'a [f64],
    /// Elements of a row.
    pub stride: usize,
    /// How many of them are columns, from the first.
    pub n: usize,
}

/// What is added to the sum of squares.
#[derive(Clone, Copy, Debug, Default)]
pub struct Penalty {
    /// λ₁, for each amount of a column of length 1.
    pub amount: f64,
    /// λ₂, for half its square.
    pub square: f64,
}

impl Columns<'_> {
    /// Aᵀ times a number for each sample.
    #[inline]
    fn products(&self, of_sample: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut products = vec![0.0; self.n];
        for (sample, row) in self.rows.chunks_exact(self.stride).enumerate() {
            let factor = of_sample(sample);
            products.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * x);
        }
        products
    }

    /// The length of each column; 1 of one without elements, along which nothing falls.
    fn lengths(&self) -> Vec<f64> {
        let mut squares = vec![0.0; self.n];
        for row in self.rows.chunks_exact(self.stride) {
            squares.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x);
        }
        squares.into_iter().map(|sum| if sum > 0.0 { sum.sqrt() } else { 1.0 }).collect()
    }
}

/// The amounts x for samples y; `None` where rounding keeps the search from its end.
///
/// # Panics
/// Where there are fewer samples than rows.
pub fn minimise(columns: &Columns<'_>, samples: &[f64], penalty: Penalty) -> Option<Vec<f64>> {
    let lengths = columns.lengths();
    let along = columns.products(|sample| samples[sample]);
    let pulls = along.iter().zip(&lengths).map(|(a, length)| a / length - penalty.amount);
    let mut search = Search {
        columns,
        square: penalty.square,
        pulls: pulls.collect(),
        lengths,
        free: Vec::new(),
        refused: vec![false; columns.n],
    };
    let level = LEVEL * norm(samples);
    for _ in 0..MOST_ROUNDS * columns.n {
        let Some(column) = search.steepest(level) else { return Some(search.amounts()) };
        search.admit(column);
    }
    None
}

/// A column whose amount is free.
struct Free {
    column: usize,
    /// Its amount, of a column of length 1.
    amount: f64,
    /// Its products with all columns, all of length 1.
    products: Vec<f64>,
}

struct Search<'a> {
    columns: &'a Columns<'a>,
    /// λ₂.
    square: f64,
    /// Aᵀy - λ₁, of columns of length 1.
    pulls: Vec<f64>,
    lengths: Vec<f64>,
    free: Vec<Free>,
    /// Columns that turned out to add nothing to those that are free.
    refused: Vec<bool>,
}

impl Search<'_> {
    /// The bound column along which the sum falls most steeply, and by more than `level`.
    fn steepest(&self, level: f64) -> Option<usize> {
        let mut slopes = self.pulls.clone();
        for Free { amount, products, .. } in &self.free {
            slopes.iter_mut().zip(products).for_each(|(slope, product)| *slope -= amount * product);
        }
        let is_bound = |column: &usize| self.free.iter().all(|free| free.column != *column);
        (0..slopes.len())
            .filter(|&column| slopes[column] > level && !self.refused[column])
            .filter(is_bound)
            .max_by(|&a, &b| slopes[a].total_cmp(&slopes[b]))
    }

    /// Frees a column and finds the amounts, as far as none falls below zero.
    fn admit(&mut self, column: usize) {
        let Columns { rows, stride, .. } = *self.columns;
        let length = self.lengths[column];
        let products = self.columns.products(|sample| rows[sample * stride + column] / length);
        let products = products.iter().zip(&self.lengths).map(|(p, length)| p / length).collect();
        self.free.push(Free { column, amount: 0.0, products });
        let mut wanted = match self.wanted() {
            // Rounding: it is a mixture of those that are free.
            Some(wanted) if wanted.last().is_some_and(|&amount| amount > 0.0) => wanted,
            _ => {
                self.free.pop();
                self.refused[column] = true;
                return;
            }
        };
        self.refused.fill(false);
        while let Some((first, share)) = self.first_bound(&wanted) {
            for (free, to) in self.free.iter_mut().zip(&wanted) {
                free.amount += share * (to - free.amount);
            }
            // Zero it is but for rounding.
            self.free.remove(first);
            self.free.retain(|free| free.amount > 0.0);
            match self.wanted() {
                Some(next) => wanted = next,
                None => return,
            }
        }
        self.free.iter_mut().zip(wanted).for_each(|(free, amount)| free.amount = amount);
    }

    /// The least squares of the free amounts; `None` where they are not determined.
    fn wanted(&self) -> Option<Vec<f64>> {
        let mut equations = Vec::with_capacity(self.free.len() * self.free.len());
        for (row, one) in self.free.iter().enumerate() {
            let products = self.free.iter().map(|other| one.products[other.column]);
            equations.extend(products);
            equations[row * self.free.len() + row] += self.square;
        }
        let mut amounts: Vec<f64> = self.free.iter().map(|free| self.pulls[free.column]).collect();
        lu::solve(&mut equations, &mut amounts).then_some(amounts)
    }

    /// Which amount is the first to reach zero on the way to the wanted ones, and how much of the way that is; `None`
    /// where none does.
    fn first_bound(&self, wanted: &[f64]) -> Option<(usize, f64)> {
        let ways = self.free.iter().zip(wanted).enumerate().filter(|(_, (_, to))| **to <= 0.0);
        ways.map(|(place, (free, to))| (place, free.amount / (free.amount - to)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// x, of the columns as they are.
    fn amounts(&self) -> Vec<f64> {
        let mut amounts = vec![0.0; self.columns.n];
        for free in &self.free {
            amounts[free.column] = free.amount / self.lengths[free.column];
        }
        amounts
    }
}

/// By how much amounts fail to be those of the minimum: the largest slope along an amount that could grow, or
/// size of one along an amount above zero, over the length of the samples. Zero to rounding at the minimum, of
/// columns of length 1, and nowhere else, since the sum is convex.
pub fn distance(columns: &Columns<'_>, samples: &[f64], penalty: Penalty, x: &[f64]) -> f64 {
    let rest = |sample: usize| {
        samples[sample] - dot(&columns.rows[sample * columns.stride..][..columns.n], x)
    };
    let slopes = columns.products(rest);
    let mut worst: f64 = 0.0;
    for ((slope, length), amount) in slopes.iter().zip(columns.lengths()).zip(x) {
        let slope = slope / length - penalty.amount - penalty.square * length * amount;
        worst = worst.max(if *amount > 0.0 { slope.abs() } else { slope });
        worst = worst.max(-amount);
    }
    worst / norm(samples)
}

#[cfg(test)]
mod tests {
    use fimbria_compute::philox::{Philox, normals};

    use super::*;
    use crate::active_set::{Constraints, Programme, Work};

    const SAMPLES: usize = 40;

    /// Decays of `n` rates, which are nearly alike, and a signal of some of them with noise.
    fn decays(n: usize, noise: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
        let b = |sample: usize| 0.1 * sample as f64;
        let rate = |column: usize| 0.1 + 3.0 * column as f64 / n as f64;
        let rows = (0..SAMPLES * n).map(|at| (-b(at / n) * rate(at % n)).exp()).collect();
        let philox = Philox::new(seed);
        let signal = |sample: usize| {
            let [normal, ..] = normals::<f32>(philox.at(sample as u64, 0));
            let b = b(sample);
            0.6 * (-0.4 * b).exp() + 0.4 * (-1.9 * b).exp() + noise * f64::from(normal)
        };
        (rows, (0..SAMPLES).map(signal).collect())
    }

    #[test]
    fn the_minimum_is_that_of_its_definition_where_columns_are_many_and_alike() {
        for (n, noise) in [(5, 0.0), (5, 0.05), (120, 0.0), (120, 0.05)] {
            for penalty in [
                Penalty::default(),
                Penalty { amount: 0.5, square: 1e-3 },
                Penalty { amount: 0.0, square: 0.1 },
            ] {
                for seed in 0..20 {
                    let (rows, samples) = decays(n, noise, seed);
                    let columns = Columns { rows: &rows, stride: n, n };
                    let x = minimise(&columns, &samples, penalty).unwrap();
                    let off = distance(&columns, &samples, penalty, &x);
                    // The level at which the search ends, and as much rounding.
                    assert!(off < 2.0 * LEVEL, "{n} columns, noise {noise}, {penalty:?}: {off:e}");
                }
            }
        }
    }

    #[test]
    fn another_method_ends_at_the_same_amounts() {
        let (n, penalty) = (12, Penalty { amount: 0.1, square: 0.01 });
        let identity: Vec<f64> = (0..n * n).map(|at| f64::from(at % (n + 1) == 0)).collect();
        let constraints = Constraints::non_negative(n, &identity).unwrap();
        for seed in 0..20 {
            let (rows, samples) = decays(n, 0.1, seed);
            let columns = Columns { rows: &rows, stride: n, n };
            let x = minimise(&columns, &samples, penalty).unwrap();
            let lengths = columns.lengths();
            let column =
                |j: usize| -> Vec<f64> { rows.iter().skip(j).step_by(n).copied().collect() };
            let (mut hessian, mut f) = (vec![0.0; n * n], vec![0.0; n]);
            for i in 0..n {
                f[i] = dot(&column(i), &samples) - penalty.amount * lengths[i];
                for j in 0..n {
                    hessian[i * n + j] = dot(&column(i), &column(j));
                }
                hessian[i * n + i] += penalty.square * lengths[i].powi(2);
            }
            Programme::new(&constraints).solve(&hessian, &mut f, &mut Work::default()).unwrap();
            for (one, other) in x.iter().zip(&f) {
                // λ₂ leaves a condition of 1e3; slopes end at 1e-8.
                assert!((one - other).abs() < 1e-4, "{x:?} {f:?}");
            }
        }
    }

    #[test]
    fn amounts_that_are_there_are_the_ones_that_come_out() {
        // Orthogonal columns, one of them empty, and an element of a row that is no column.
        let rows = [2.0, 0.0, 0.0, 9.0, 0.0, 1.0, 0.0, 9.0];
        let columns = Columns { rows: &rows, stride: 4, n: 3 };
        let x = minimise(&columns, &[3.0, -1.0], Penalty::default()).unwrap();
        assert_eq!(x, [1.5, 0.0, 0.0]);
        // ½ (2x - 3)² + λ₁ 2x + ½ λ₂ (2x)².
        let x = minimise(&columns, &[3.0, -1.0], Penalty { amount: 0.5, square: 0.25 }).unwrap();
        assert_eq!(x, [1.0, 0.0, 0.0]);
    }
}
