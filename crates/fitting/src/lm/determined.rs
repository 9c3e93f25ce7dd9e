//! What is kept of a fit whose samples do not determine all parameters.

use super::fit::{Arithmetic, InDouble};
use super::problems::{LmOptions, LmStatus, Problems, Rows};
use super::rules::Rules;
use super::{Likelihood, Model, Parameter, oracle};

/// Looks again at every problem that ended [`Singular`](LmStatus::Singular): where the samples
/// determine some of its parameters, those stay, the others become NaN, and the status
/// [`PartlyDetermined`](LmStatus::PartlyDetermined).
///
/// Two exponentials of which one has no amplitude determine everything but its rate. Singular
/// stays what determines no parameter inside its bounds.
///
/// A parameter is not determined where the signal does not change with it, or where the change can
/// be undone by others, which are then not determined either. The covariance, where there is one,
/// becomes that of the determined parameters. This is done in `f64` from the parameters that were
/// found, whoever found them: the same bits from lanes and devices. `parameters` may be fewer than
/// P; the model does not depend on the others.
pub fn keep_determined<const P: usize, M: Model<P>>(
    model: &M,
    parameters: &[Parameter],
    problems: &Problems<'_>,
    options: &LmOptions,
    arithmetic: Arithmetic,
    results: &mut [f32],
) {
    let rules = match arithmetic {
        Arithmetic::Single(_) => Rules::SINGLE,
        Arithmetic::Double => Rules::DOUBLE,
    };
    let (rows, stride) = (Rows::new(parameters.len(), options), problems.stride);
    let is_singular = |i: &usize| results[rows.status() * stride + i] == LmStatus::Singular.code();
    let singular: Vec<usize> = (0..problems.n).filter(is_singular).collect();
    if singular.is_empty() {
        return;
    }
    let shared = InDouble::new(problems);
    for i in singular {
        let column = shared.column(problems, options, i);
        let problem = column.problem();
        let point = |of: &dyn Fn(usize, &Parameter) -> f64| {
            let p = std::array::from_fn(|k| parameters.get(k).map_or(0.0, |p| of(k, p)));
            oracle::evaluate(model, &problem, options.likelihood, &p)
        };
        let found = |k: usize| f64::from(results[k * stride + i]);
        let here = point(&|k, _| found(k));
        let start = point(&|k, p| problems.start(k, p, i).clamp(p.lower, p.upper));
        let held: [bool; P] = std::array::from_fn(|k| {
            // In f32, as the fit saw them.
            let bounds = parameters.get(k).map(|p| (p.lower as f32, p.upper as f32, p.fixed));
            bounds.is_none_or(|(lower, upper, fixed)| {
                let value = results[k * stride + i];
                fixed || value <= lower || value >= upper
            })
        });
        let least: [f64; P] = std::array::from_fn(|k| {
            let at_start = start.matrix[k][k];
            let faded = if at_start.is_finite() { rules.faded * at_start } else { 0.0 };
            rules.no_influence.max(faded)
        });
        let free = Free::new(&here.matrix, &held, &least, rules.singular);
        if !free.determined.contains(&true) {
            continue;
        }
        let variance = match options.likelihood {
            Likelihood::Rician if problem.sigma > 0.0 => problem.sigma.powi(2),
            _ => here.squares / (problem.samples.len() - free.rank).max(1) as f64,
        };
        for k in 0..parameters.len() {
            if !held[k] && !free.determined[k] {
                results[k * stride + i] = f32::NAN;
            }
            for j in 0..=k {
                if let Some(row) = rows.covariance(j, k) {
                    let known = free.determined[j] && free.determined[k];
                    let value = if known { free.inverse(j, k) * variance } else { 0.0 };
                    results[row * stride + i] = value as f32;
                }
            }
        }
        results[rows.status() * stride + i] = LmStatus::PartlyDetermined.code();
    }
}

/// The parameters inside their bounds, taken into Cholesky's factor one by one.
struct Free<const P: usize> {
    /// Number of parameters in the factor.
    rank: usize,
    determined: [bool; P],
    /// The inverse of the factor of the matrix of unit diagonal; zero for what is not in it.
    inverse_factor: [[f64; P]; P],
    /// Of the diagonal of the matrix, its root.
    length: [f64; P],
}

impl<const P: usize> Free<P> {
    /// Of the matrix H = JᵀJ over what is not `held`: without influence is who has no more than
    /// `least` on the diagonal, undone by those before it who keeps no more than `singular` of it.
    fn new(matrix: &[[f64; P]; P], held: &[bool; P], least: &[f64; P], singular: f64) -> Self {
        let length: [f64; P] = std::array::from_fn(|k| matrix[k][k].sqrt());
        let counts: [bool; P] = std::array::from_fn(|k| !held[k] && matrix[k][k] > least[k]);
        let mut free = Self { rank: 0, determined: counts, inverse_factor: [[0.0; P]; P], length };
        for j in (0..P).filter(|&j| counts[j]) {
            let cosine = |i: usize| match counts[i] {
                true => matrix[i][j] / (length[i] * length[j]),
                false => 0.0,
            };
            // How much of the column of j each one before it has, and what is left.
            let inverse = &free.inverse_factor;
            let along: [f64; P] =
                std::array::from_fn(|r| (0..j).map(|i| inverse[r][i] * cosine(i)).sum::<f64>());
            let share: [f64; P] =
                std::array::from_fn(|i| (0..P).map(|r| inverse[r][i] * along[r]).sum::<f64>());
            let left = 1.0 - along.iter().map(|a| a * a).sum::<f64>();
            if left > singular {
                let scale = left.sqrt();
                for i in 0..j {
                    free.inverse_factor[j][i] = -share[i] / scale;
                }
                free.inverse_factor[j][j] = 1.0 / scale;
                free.rank += 1;
            } else {
                free.determined[j] = false;
                for i in (0..j).filter(|&i| share[i].abs() > singular.sqrt()) {
                    free.determined[i] = false;
                }
            }
        }
        free
    }

    /// An entry of the inverse of the matrix over what is in the factor.
    fn inverse(&self, j: usize, k: usize) -> f64 {
        let l = &self.inverse_factor;
        (0..P).map(|r| l[r][j] * l[r][k]).sum::<f64>() / (self.length[j] * self.length[k])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// JᵀJ of columns.
    fn matrix(columns: [[f64; 4]; 4]) -> [[f64; 4]; 4] {
        std::array::from_fn(|i| {
            std::array::from_fn(|j| (0..4).map(|k| columns[i][k] * columns[j][k]).sum())
        })
    }

    fn free(columns: [[f64; 4]; 4], held: [bool; 4]) -> Free<4> {
        Free::new(&matrix(columns), &held, &[1e-30; 4], 1e-12)
    }

    #[test]
    fn who_has_no_influence_is_not_determined_and_the_others_are() {
        let columns = [[1.0, 1.0, 1.0, 1.0], [0.0; 4], [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 4.0, 9.0]];
        let free = free(columns, [false, false, false, true]);
        assert_eq!((free.determined, free.rank), ([true, false, true, false], 2));
        // The variance of the slope of a line through 0, 1, 2, 3 is 1/5.
        assert!((free.inverse(2, 2) - 0.2).abs() < 1e-14);
    }

    #[test]
    fn who_can_be_undone_by_others_takes_them_along_and_nobody_else() {
        // Size 1e6 of a column is a unit, no more.
        let columns = [[1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0], [1e6; 4], [0.0, 1.0, 2.0, 3.0]];
        let free = free(columns, [false; 4]);
        assert_eq!((free.determined, free.rank), ([false, true, false, true], 3));
    }
}
