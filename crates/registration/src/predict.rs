//! What each volume should be, by the others.

use fimbria_compute::dense::{cholesky, lu};
use fimbria_image::GradientTable;

/// Where volumes are in q-space, as the covariance sees it.
#[derive(Clone, Debug)]
pub(crate) struct QSpace {
    /// Unit directions; opposite ones are the same.
    pub dirs: Vec<[f64; 3]>,
    /// b, s/mm².
    pub b_s_per_mm2: Vec<f64>,
    /// The shell of each volume; shell 0 is that of unweighted ones, if there are any.
    pub shell: Vec<usize>,
    /// Whether a volume is unweighted.
    pub is_b0: Vec<bool>,
}

impl QSpace {
    /// Of a table.
    pub(crate) fn new(table: &GradientTable) -> Self {
        let mut shell = vec![0; table.len()];
        for (number, of) in table.shells().iter().enumerate() {
            of.volumes.iter().for_each(|&volume| shell[volume] = number);
        }
        Self {
            dirs: table.dirs_ras.clone(),
            b_s_per_mm2: table.b_s_per_mm2.clone(),
            shell,
            is_b0: (0..table.len()).map(|volume| table.is_b0(volume)).collect(),
        }
    }

    fn len(&self) -> usize {
        self.shell.len()
    }

    /// Whether other volumes of its shell say what a volume should be. Of two, which predict each other and would
    /// change places in every round, the first stays where it is.
    pub(crate) fn is_predictable(&self, volume: usize) -> bool {
        let mut of = (0..self.len()).filter(|&v| self.shell[v] == self.shell[volume]);
        let (first, others) = (of.next(), of.count());
        others > 1 || (others == 1 && first != Some(volume))
    }
}

/// A Gaussian process over q-space, after Andersson and Sotiropoulos, NeuroImage 122, 166 (2015): signals of a
/// shell have an unknown mean, and about it a covariance of the angle between directions that falls with the
/// difference of log b. Theirs has a kink at angle 0, and predicts the signal of whole bundles too low;
/// this one is smooth. Each volume is predicted without itself.
#[derive(Clone, Debug)]
pub(crate) struct Predictor {
    n: usize,
    /// Row i: what each volume counts in the prediction of volume i; 0 for itself.
    weights: Vec<f64>,
    /// The inverse of the covariance, row-major.
    precision: Vec<f64>,
    /// How the power of harmonics over directions falls with their degree.
    pub decay: f64,
    /// Part of noise in the variance within the shell that has the most of it.
    pub noise: f64,
}

const DECAYS: [f64; 8] = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.9];
const NOISES: [f64; 10] = [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0];
const WIDTHS: [f64; 4] = [0.1, 0.4, 0.8, 1.6];

impl Predictor {
    /// With the angle, noise and width that predict best, each volume left out, in data of this second moment:
    /// sums over voxels of products of volumes, row-major.
    pub(crate) fn new(q: &QSpace, moment: &[f64]) -> Self {
        let scale = scales(q, moment);
        // Indices into the lists; each is searched along in turn.
        let mut at = [3usize, 4, 1];
        let lengths = [DECAYS.len(), NOISES.len(), WIDTHS.len()];
        let made =
            |at: [usize; 3]| Self::with(q, &scale, [DECAYS[at[0]], NOISES[at[1]], WIDTHS[at[2]]]);
        let mut best = made(at);
        let mut least = best.error(&scale, moment);
        for _ in 0..2 {
            for parameter in 0..3 {
                for value in 0..lengths[parameter] {
                    let mut tried = at;
                    tried[parameter] = value;
                    if tried == at {
                        continue;
                    }
                    let predictor = made(tried);
                    let error = predictor.error(&scale, moment);
                    if error < least {
                        (best, least, at) = (predictor, error, tried);
                    }
                }
            }
        }
        best
    }

    fn with(q: &QSpace, scale: &[f64], [decay, noise, width]: [f64; 3]) -> Self {
        let n = q.len();
        let least = scale.iter().copied().fold(f64::INFINITY, f64::min);
        let mut k = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let mut value = 0.0;
                if !q.is_b0[i] && !q.is_b0[j] {
                    let log = (q.b_s_per_mm2[i] / q.b_s_per_mm2[j]).ln();
                    let near = (-0.5 * (log / width).powi(2)).exp();
                    value = smooth_covariance(q.dirs[i], q.dirs[j], decay) * near;
                }
                if i == j {
                    value += noise * (least / scale[i]).powi(2) + 1e-6;
                }
                k[i * n + j] = value;
            }
        }
        let [mut weights, mut precision] = [vec![0.0; n * n], vec![0.0; n * n]];
        if let Some(inverse) = cholesky::factor(&k, n, 0.0).map(|l| inverse(&l, n)) {
            precision = about_means(&inverse, &q.shell);
            for i in 0..n {
                // What is alone in its shell is not predicted.
                let own = precision[i * n + i];
                let is_alone = own < 1e-9 * inverse[i * n + i];
                for j in (0..n).filter(|j| *j != i && !is_alone) {
                    // The covariance is that of signals over their scales.
                    weights[i * n + j] = -precision[i * n + j] / own * scale[i] / scale[j];
                }
            }
            (0..n * n).for_each(|at| precision[at] /= scale[at / n] * scale[at % n]);
        }
        Self { n, weights, precision, decay, noise }
    }

    /// Sum of squares of what predictions leave, over scales.
    fn error(&self, scale: &[f64], moment: &[f64]) -> f64 {
        let n = self.n;
        let of = |i: usize| {
            let row: Vec<f64> =
                (0..n).map(|j| if i == j { 1.0 } else { -self.weights[i * n + j] }).collect();
            let product = |j: usize| -> f64 {
                moment[j * n..(j + 1) * n].iter().zip(&row).map(|(m, r)| m * r).sum()
            };
            let sum: f64 = (0..n).map(|j| row[j] * product(j)).sum();
            sum / (scale[i] * scale[i])
        };
        (0..n).map(of).sum()
    }

    /// What each volume counts in the prediction of this one.
    pub(crate) fn weights(&self, volume: usize) -> &[f64] {
        &self.weights[volume * self.n..(volume + 1) * self.n]
    }

    /// The inverse of the covariance of signals, row-major, in units of their noise.
    pub(crate) fn precision(self) -> Vec<f64> {
        self.precision
    }

    /// The prediction of a volume from rows of samples, one of each volume.
    pub(crate) fn predict(&self, volume: usize, rows: &[Vec<f32>]) -> Vec<f32> {
        let mut sum = vec![0.0f32; rows[volume].len()];
        for (row, &weight) in rows.iter().zip(self.weights(volume)) {
            // Weights below this change no voxel by a part of 10^5.
            if weight.abs() > 1e-7 {
                let weight = weight as f32;
                sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
            }
        }
        sum
    }
}

/// For each volume the standard deviation about the mean of its shell.
fn scales(q: &QSpace, moment: &[f64]) -> Vec<f64> {
    let n = q.len();
    let mut scale = vec![1.0; n];
    for shell in 0..=q.shell.iter().copied().max().unwrap_or(0) {
        let of: Vec<usize> = (0..n).filter(|&i| q.shell[i] == shell).collect();
        let size = of.len() as f64;
        let own: f64 = of.iter().map(|&i| moment[i * n + i]).sum::<f64>() / size;
        let all: f64 = of
            .iter()
            .flat_map(|&i| of.iter().map(move |&j| (i, j)))
            .map(|(i, j)| moment[i * n + j])
            .sum();
        let variance = own - all / (size * size);
        let variance = if of.len() > 1 { variance } else { own };
        let floor = 1e-12 * own.max(f64::MIN_POSITIVE);
        of.iter().for_each(|&i| scale[i] = variance.max(floor).sqrt());
    }
    scale
}

/// The covariance of signals along two directions, 1 where they are the same: harmonics of even degree l from 2 on,
/// whose power falls as exp(-decay l (l+1)), as that of smooth functions does.
fn smooth_covariance(a: [f64; 3], b: [f64; 3], decay: f64) -> f64 {
    const DEGREES: usize = 12;
    let cos: f64 = (0..3).map(|i| a[i] * b[i]).sum();
    let (mut before, mut here) = (1.0, cos);
    let (mut sum, mut norm) = (0.0, 0.0);
    for l in 2..=DEGREES {
        let degree = l as f64;
        let next = ((2.0 * degree - 1.0) * cos * here - (degree - 1.0) * before) / degree;
        (before, here) = (here, next);
        if l % 2 == 0 {
            let power = (2.0 * degree + 1.0) * (-decay * (degree * (degree + 1.0) - 6.0)).exp();
            sum += power * here;
            norm += power;
        }
    }
    sum / norm
}

/// The inverse of a covariance where means of shells are added that nothing is known of.
fn about_means(inverse: &[f64], shell: &[usize]) -> Vec<f64> {
    let n = shell.len();
    let shells = shell.iter().copied().max().unwrap_or(0) + 1;
    let mut sums = vec![0.0; n * shells];
    let mut all = vec![0.0; shells * shells];
    for i in 0..n {
        for j in 0..n {
            sums[i * shells + shell[j]] += inverse[i * n + j];
            all[shell[i] * shells + shell[j]] += inverse[i * n + j];
        }
    }
    let Some(all) = lu::inverse(&all, shells) else { return inverse.to_vec() };
    let mut out = inverse.to_vec();
    for i in 0..n {
        let left: Vec<f64> = (0..shells)
            .map(|t| (0..shells).map(|s| sums[i * shells + s] * all[s * shells + t]).sum())
            .collect();
        for j in 0..n {
            let both = left.iter().zip(&sums[j * shells..(j + 1) * shells]).map(|(a, b)| a * b);
            out[i * n + j] -= both.sum::<f64>();
        }
    }
    out
}

/// The inverse of L Lᵀ.
fn inverse(l: &[f64], n: usize) -> Vec<f64> {
    // Columns of the inverse of L, as rows.
    let mut m = vec![0.0; n * n];
    for column in 0..n {
        let row = &mut m[column * n..(column + 1) * n];
        row[column] = 1.0 / l[column * n + column];
        for i in column + 1..n {
            let sum: f64 = (column..i).map(|k| l[i * n + k] * row[k]).sum();
            row[i] = -sum / l[i * n + i];
        }
    }
    let mut out = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (i..n).map(|k| m[i * n + k] * m[j * n + k]).sum();
            out[i * n + j] = sum;
            out[j * n + i] = sum;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use fimbria_testing::{Noise, acquisition, signals};

    use super::*;

    /// Rows of noisy signals of many tensors.
    fn series(table: &GradientTable, sigma: f64) -> (Vec<Vec<f32>>, Vec<f64>) {
        let n = table.len();
        let mut random = Noise(3);
        let mut rows = vec![Vec::new(); n];
        for _ in 0..400 {
            let angles = [0, 1, 2].map(|_| 6.0 * random.uniform());
            let (d, _) = fimbria_testing::tensor([1.7e-3, 0.4e-3, 0.3e-3], angles);
            let s = signals(table, 100.0, d);
            (0..n).for_each(|v| rows[v].push((s[v] + sigma * random.normal()) as f32));
        }
        let mut moment = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let products = rows[i].iter().zip(&rows[j]).map(|(a, b)| f64::from(a * b));
                moment[i * n + j] = products.sum();
            }
        }
        (rows, moment)
    }

    #[test]
    fn no_volume_predicts_itself_and_weights_of_its_shell_sum_to_one() {
        let table = acquisition(3, &[(1000.0, 20), (2000.0, 30)]);
        let q = QSpace::new(&table);
        let (_, moment) = series(&table, 3.0);
        let predictor = Predictor::new(&q, &moment);
        for i in 0..table.len() {
            let weights = predictor.weights(i);
            assert_eq!(weights[i], 0.0);
            let own: f64 =
                (0..table.len()).filter(|&j| q.shell[j] == q.shell[i]).map(|j| weights[j]).sum();
            // As exact as the mean is vague.
            assert!((own - 1.0).abs() < 0.02, "{i}: {own}");
        }
    }

    #[test]
    fn predictions_leave_little_more_than_the_noise() {
        let table = acquisition(3, &[(1000.0, 60)]);
        let q = QSpace::new(&table);
        let (rows, moment) = series(&table, 2.0);
        let predictor = Predictor::new(&q, &moment);
        let left = |v: usize| {
            let predicted = predictor.predict(v, &rows);
            let squares = predicted.iter().zip(&rows[v]).map(|(p, s)| f64::from((p - s).powi(2)));
            (squares.sum::<f64>() / rows[v].len() as f64).sqrt()
        };
        let mean: f64 = (0..63).map(left).sum::<f64>() / 63.0;
        // Signals vary by 15 within the shell; noise of 2 and its part in predictors.
        assert!((1.9..3.0).contains(&mean), "{mean}");
    }

    #[test]
    fn a_volume_alone_in_its_shell_is_not_predictable() {
        let q = QSpace::new(&acquisition(1, &[(1000.0, 6)]));
        assert!(!q.is_predictable(0) && q.is_predictable(1));
    }

    #[test]
    fn two_volumes_of_a_shell_do_not_change_places() {
        let q = QSpace::new(&acquisition(2, &[(1000.0, 6)]));
        let b0s: Vec<usize> = (0..8).filter(|&v| q.is_b0[v]).collect();
        assert!(!q.is_predictable(b0s[0]) && q.is_predictable(b0s[1]));
    }
}
