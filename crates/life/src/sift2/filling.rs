//! How full fixels are while streamlines are made, and with which chances they are seeds of the next ones:
//! dynamic seeding (Smith et al. 2015, NeuroImage 119:338).
//!
//! So far streamlines fill a fixel to r = μ TD / FD of what it should hold, by the model of [`super`]: FD its
//! density, TD the length of streamlines in it, μ = Σ PM FD / Σ PM TD. It was a seed with the mean chance p.
//! If its length comes as its chance does, then with the chance p' for as many starts again it holds
//!
//! ```text
//! r (p + p') / 2p = 1,   so   p' = p (2 - r) / r,
//! ```
//!
//! nothing where it is filled twice already. It begins in proportion to PM FD. As lobes of noise and edges are filled
//! by no chance, one grows to [`GROWTH`] times its mean at most and to [`MOST`] times its first, and halves where
//! none has passed the fixel though it was to be a seed [`IN_VAIN`] times or more. These three numbers are chosen by the
//! starts that they cost (docs/tracking.md).

use std::sync::atomic::{AtomicI64, Ordering};

use fimbria_compute::comm::Comm;

/// Times its mean so far that a chance is at most.
const GROWTH: f64 = 4.0;
/// Times its first one that a chance is at most.
const MOST: f64 = 8.0;
/// Starts that are expected of a fixel after which a streamline ought to have passed it.
const IN_VAIN: f64 = 0.5;
/// Units of a millimetre: lengths are summed as whole numbers, so that their order is no matter.
const PER_MM: f64 = 65_536.0;

/// How full fixels are, and their chances.
#[derive(Debug)]
pub struct Filling {
    /// PM FD of each fixel, and PM.
    density: Vec<f64>,
    white: Vec<f64>,
    /// TD of what counts, of this process.
    lengths: Vec<i64>,
    /// What was passed since then, by any thread.
    passed: Vec<AtomicI64>,
    /// Starts so far, and of each fixel the sum of its chances over them.
    starts: f64,
    spent: Vec<f64>,
    chances: Vec<f64>,
    first: Vec<f64>,
}

impl Filling {
    /// Fixels that nothing passes yet, with FD and PM (0 to 1) of each; `None` where there is no density.
    ///
    /// # Panics
    /// Where lengths do not agree.
    pub fn new(density: &[f32], white: &[f32]) -> Option<Self> {
        assert_eq!(density.len(), white.len(), "fixels");
        let white: Vec<f64> = white.iter().map(|pm| f64::from(*pm)).collect();
        let density: Vec<f64> =
            density.iter().zip(&white).map(|(fd, pm)| f64::from(*fd) * pm).collect();
        let mut first = density.clone();
        scale_to_one(&mut first).then(|| Self {
            lengths: vec![0; first.len()],
            passed: first.iter().map(|_| AtomicI64::new(0)).collect(),
            starts: 0.0,
            spent: vec![0.0; first.len()],
            chances: first.clone(),
            density,
            white,
            first,
        })
    }

    /// The chance of each fixel to be the next seed; all together 1.
    pub fn chances(&self) -> &[f64] {
        &self.chances
    }

    /// A streamline passes a fixel with this length.
    pub fn pass(&self, fixel: u32, length_mm: f64) {
        let units = (length_mm * PER_MM).round() as i64;
        self.passed[fixel as usize].fetch_add(units, Ordering::Relaxed);
    }

    /// What was passed since the last call counts, or is forgotten.
    pub fn settle(&mut self, counts: bool) {
        for (length, passed) in self.lengths.iter_mut().zip(&mut self.passed) {
            let passed = std::mem::take(passed.get_mut());
            *length += if counts { passed } else { 0 };
        }
    }

    /// So many more were started with the chances so far: chances for the next ones, the same on every process.
    pub fn renew(&mut self, starts: u64, comm: &dyn Comm) {
        self.starts += starts as f64;
        for (spent, chance) in self.spent.iter_mut().zip(&self.chances) {
            *spent += starts as f64 * chance;
        }
        let mut lengths = self.lengths.clone();
        comm.sum_i64(&mut lengths);
        let held = |l: usize| self.white[l] * lengths[l] as f64;
        let mu = self.density.iter().sum::<f64>() / (0..lengths.len()).map(held).sum::<f64>();
        if !(mu.is_finite() && self.starts > 0.0) {
            return;
        }
        let chance = |l: usize| {
            let mean = self.spent[l] / self.starts;
            // 0 where both are.
            let filled = mu * held(l) / self.density[l].max(f64::MIN_POSITIVE);
            let is_in_vain = lengths[l] == 0 && self.spent[l] > IN_VAIN;
            let growth = if is_in_vain { 0.5 } else { (2.0 - filled) / filled };
            let growth = growth.clamp(0.0, GROWTH);
            (mean * growth).min(MOST * self.first[l])
        };
        let mut chances: Vec<f64> = (0..lengths.len()).map(chance).collect();
        // Twice filled are at most half of them.
        if scale_to_one(&mut chances) {
            self.chances = chances;
        }
    }
}

/// Divides by the sum; false where that is zero or no number.
fn scale_to_one(values: &mut [f64]) -> bool {
    let sum: f64 = values.iter().sum();
    values.iter_mut().for_each(|value| *value /= sum);
    sum > 0.0 && sum.is_finite()
}

#[cfg(test)]
mod tests {
    use fimbria_compute::comm::Solo;
    use fimbria_testing::as_processes;

    use super::*;

    /// Chances after so many starts that left these lengths.
    fn renewed(filling: &mut Filling, starts: u64, lengths: &[f64]) -> Vec<f64> {
        (0..).zip(lengths).for_each(|(l, length)| filling.pass(l, *length));
        filling.settle(true);
        filling.renew(starts, &Solo);
        filling.chances().to_vec()
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        for (found, expected) in found.iter().zip(expected) {
            // Lengths are rounded to 1/65536 mm.
            assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }
    }

    #[test]
    fn chances_begin_in_proportion_to_white_density() {
        let filling = Filling::new(&[1.0, 2.0, 4.0], &[1.0, 0.5, 0.0]).unwrap();
        assert_eq!(filling.chances(), [0.5, 0.5, 0.0]);
        assert!(Filling::new(&[1.0], &[0.0]).is_none());
    }

    #[test]
    fn a_fixel_filled_to_r_has_its_mean_chance_times_2_less_r_over_r() {
        let mut filling = Filling::new(&[1.0, 1.0], &[1.0; 2]).unwrap();
        // μ is 2 / 12 mm: one is filled to 4/3, which leaves half its chance; the other to 2/3, which doubles it.
        assert_near(&renewed(&mut filling, 100, &[8.0, 4.0]), &[0.2, 0.8]);
        // Means are 0.35 and 0.65 now, as many starts were made with each; all 24 mm alike.
        assert_near(&renewed(&mut filling, 100, &[4.0, 8.0]), &[0.35, 0.65]);
    }

    #[test]
    fn length_that_comes_as_chances_do_becomes_even() {
        // Of a long and a short bundle streamlines leave 9 and 3 mm for each start in it.
        let mut filling = Filling::new(&[1.0, 1.0], &[1.0; 2]).unwrap();
        let mut all = [0.0; 2];
        let mut ratios = Vec::new();
        for starts in [1000, 1000, 1000, 1000, 1000, 1000] {
            let chances = filling.chances().to_vec();
            let lengths: Vec<f64> =
                [9.0, 3.0].iter().zip(&chances).map(|(mm, p)| mm * p * starts as f64).collect();
            (0..2).for_each(|l| all[l] += lengths[l]);
            ratios.push(all[0] / all[1]);
            renewed(&mut filling, starts, &lengths);
        }
        // r is 3/2 and 1/2: a third and three times the chances, 0.1 and 0.9 of their sum.
        assert!((ratios[1] - 5400.0 / 4200.0).abs() < 1e-9, "{ratios:?}");
        // What is too much goes down with the starts, of which there are six times as many.
        assert!(ratios[0] == 3.0 && (ratios[5] - 1.0).abs() < 0.03, "{ratios:?}");
    }

    #[test]
    fn what_nobody_passes_and_what_is_full_have_bounds() {
        let mut filling = Filling::new(&[1.0, 1.0, 2.0], &[1.0; 3]).unwrap();
        // Filled to 4, 0 and 0, after a single start.
        let chances = renewed(&mut filling, 1, &[10.0, 0.0, 0.0]);
        assert_near(&chances, &[0.0, 1.0 / 3.0, 2.0 / 3.0]);
        let mut filling = Filling::new(&[1.0, 0.01, 1.0], &[1.0; 3]).unwrap();
        let mut chances = Vec::new();
        for _ in 0..20 {
            chances = renewed(&mut filling, 1000, &[1000.0, 1e-3, 1000.0]);
        }
        // The others are filled to 1.005: of their sum, 0.99 and 0.08 of it.
        let most = MOST * 0.01 / 2.01;
        assert!((chances[1] - most / (1.0 + most)).abs() < 0.01, "{chances:?}");
    }

    #[test]
    fn what_is_tried_in_vain_is_tried_less() {
        let mut filling = Filling::new(&[1.0, 1.0, 2.0], &[1.0; 3]).unwrap();
        // The second has half its quarter; μ is 4 / 30 mm, by which the others are filled to 4/3.
        let chances = renewed(&mut filling, 100, &[10.0, 0.0, 20.0]);
        let filled = [4.0 / 3.0, 0.0, 4.0 / 3.0];
        let growth = (2.0 - filled[0]) / filled[0];
        let parts = [0.25 * growth, 0.125, 0.5 * growth];
        let sum: f64 = parts.iter().sum();
        assert_near(&chances, &parts.map(|part| part / sum));
    }

    #[test]
    fn what_is_forgotten_never_was() {
        let mut filling = Filling::new(&[1.0, 1.0], &[1.0; 2]).unwrap();
        filling.pass(0, 1000.0);
        filling.settle(false);
        assert_near(&renewed(&mut filling, 100, &[8.0, 4.0]), &[0.2, 0.8]);
    }

    #[test]
    fn processes_that_share_the_streamlines_have_the_chances_of_one() {
        let passed: Vec<(u32, f64)> = (0..300).map(|k| (k % 7, 0.1 + f64::from(k % 11))).collect();
        let made = |comm: &dyn Comm| {
            let mut filling =
                Filling::new(&[1.0, 2.0, 3.0, 1.5, 0.5, 1.0, 2.5], &[1.0; 7]).unwrap();
            for part in passed.chunks(100) {
                let mine = part.iter().skip(comm.rank()).step_by(comm.size());
                mine.for_each(|(l, length)| filling.pass(*l, *length));
                filling.settle(true);
                filling.renew(100, comm);
            }
            filling.chances().to_vec()
        };
        let alone = made(&Solo);
        for chances in as_processes(3, made) {
            assert_eq!(chances, alone);
        }
    }
}
