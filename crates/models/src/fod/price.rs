//! What fibres of one shell cost.
//!
//! One shell and b = 0 are two mean signals for three amounts: a small price on the amount of fibres chooses among the
//! mixtures with the same signal. It is in units of what the voxel holds, so that a series of another brightness has
//! the same mixtures.

use std::f64::consts::PI;

use super::convolution::Convolution;

/// What an amount of fibres costs, relative to what its directions say of the amount of a single fibre, which loses
/// this much of 1. Fibres that cross or fan out say less and lose more.
const LEAST_FIBRES: f64 = 0.03;

/// For each volume that enters what one unit of its signal takes off the linear term of the density's first
/// coefficient. `power` is the mean over all directions of a fibre of ‖its signal without its mean over directions‖²;
/// `is_b0` of each volume that enters.
pub(super) fn prices(convolution: &Convolution, power: f64, is_b0: &[bool]) -> Vec<f64> {
    let price = LEAST_FIBRES * power * (4.0 * PI).sqrt();
    amount(convolution, is_b0).into_iter().map(|factor| price * factor).collect()
}

/// Factors of signals whose sum is the amount of tissue in a voxel, as nearly 1 for one of each tissue as two mean
/// signals can say for three; none is negative.
fn amount(convolution: &Convolution, is_b0: &[bool]) -> Vec<f64> {
    let n = convolution.n_unknowns;
    // The mean signals of one of each tissue, unweighted and on the shell.
    let mut tissues = [[0.0; 2]; 3];
    let mut counts = [0.0; 2];
    for (row, &is_b0) in convolution.matrix.chunks_exact(n).zip(is_b0) {
        let shell = usize::from(!is_b0);
        counts[shell] += 1.0;
        let signals = [row[0] / (4.0 * PI).sqrt(), row[n - 2], row[n - 1]];
        tissues.iter_mut().zip(signals).for_each(|(tissue, signal)| tissue[shell] += signal);
    }
    tissues
        .iter_mut()
        .for_each(|[b0, shell]| (*b0, *shell) = (*b0 / counts[0], *shell / counts[1]));
    let sum = |term: fn(&[f64; 2]) -> f64| tissues.iter().map(term).sum::<f64>();
    let [aa, ab, bb] = [sum(|[a, _]| a * a), sum(|[a, b]| a * b), sum(|[_, b]| b * b)];
    let [a, b] = [sum(|[a, _]| *a), sum(|[_, b]| *b)];
    let determinant = aa * bb - ab * ab;
    let both = [(a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant];
    let factors = match both {
        [of_b0, of_shell] if of_b0 >= 0.0 && of_shell >= 0.0 => both,
        [of_b0, _] if of_b0 < 0.0 => [0.0, b / bb],
        _ => [a / aa, 0.0],
    };
    is_b0.iter().map(|&is_b0| factors[usize::from(!is_b0)] / counts[usize::from(!is_b0)]).collect()
}
