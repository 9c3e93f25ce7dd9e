//! Random numbers over the range of 64-bit integers: the paper's Figure 4.11.

use std::path::Path;

use fimbria_compute::philox::Philox;
use fimbria_report::plot::{Axes, Axis, Guide, Marks, Series, xy};

use super::super::table::{Table, digits, number, words};
use crate::figures::save;
use crate::{Console, Failure};

/// States, and numbers drawn from each: the paper's.
const STATES: u64 = 100;
const DRAWS: u32 = 100_000;
/// Equal parts of the range. The paper does not say how many it has.
const BINS: usize = 100;

/// How often numbers fall into each of equal parts of the range of 64-bit integers, and how often
/// they should if they were independent, with equal chances everywhere.
struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    fn of(numbers: impl Iterator<Item = u64>, bins: usize) -> Self {
        let mut counts = vec![0; bins];
        for x in numbers {
            counts[((u128::from(x) * bins as u128) >> 64) as usize] += 1;
        }
        Self { counts }
    }

    fn draws(&self) -> f64 {
        self.counts.iter().sum::<u64>() as f64
    }

    /// Draws expected in each part.
    fn expected(&self) -> f64 {
        self.draws() / self.counts.len() as f64
    }

    /// Standard deviation of the draws in one part: a binomial one.
    fn spread(&self) -> f64 {
        (self.expected() * (1.0 - 1.0 / self.counts.len() as f64)).sqrt()
    }

    /// Of each part, draws beyond those expected, in standard deviations.
    fn off(&self) -> Vec<f64> {
        let (expected, spread) = (self.expected(), self.spread());
        self.counts.iter().map(|&count| (count as f64 - expected) / spread).collect()
    }

    /// Pearson's χ²: the sum of (found - expected)² / expected.
    fn chi_squared(&self) -> f64 {
        let expected = self.expected();
        let squares = self.counts.iter().map(|&count| (count as f64 - expected).powi(2));
        squares.sum::<f64>() / expected
    }

    /// Its mean and standard deviation.
    fn chi_squared_expected(&self) -> [f64; 2] {
        let free = self.counts.len() as f64 - 1.0;
        [free, (2.0 * free * (1.0 - 1.0 / self.draws())).sqrt()]
    }
}

/// Integers of fimbria's generator: two of each four words.
fn philox(state: u64, draws: u32) -> impl Iterator<Item = u64> {
    (0..draws.div_ceil(2)).flat_map(move |item| two(state, item)).take(draws as usize)
}

/// Those of an item.
fn two(state: u64, item: u32) -> [u64; 2] {
    let joined = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let [a, b, c, d] = Philox::new(state).at(u64::from(item), 0);
    [joined(a, b), joined(c, d)]
}

/// Of each register of the paper's generator its length k, its tap q, and s, by how many bits it
/// goes on for a number.
const REGISTERS: [[u32; 3]; 5] = [[63, 1, 10], [55, 24, 5], [52, 3, 29], [47, 5, 23], [41, 3, 8]];

/// The paper's generator, LFSR258: the sum modulo 2 of five linear registers, each of which holds 64
/// successive bits of a sequence b with b(n + k) = b(n + q) + b(n) (L'Ecuyer 1999).
struct Lfsr258([u64; 5]);

impl Lfsr258 {
    /// Registers with random bits.
    fn new(state: u64) -> Self {
        let [[a, b], [c, d], [e, _]] = [0, 1, 2].map(|item| two(state, item));
        let [v, w, x, y, z] = REGISTERS.map(|[k, ..]| k);
        Self([begun(a, v), begun(b, w), begun(c, x), begun(d, y), begun(e, z)])
    }
}

/// A register of length `k` that begins with `bits`. The first k, which decide, must not all be zero: then the last
/// of them is one.
fn begun(bits: u64, k: u32) -> u64 {
    bits.max(1 << (64 - k))
}

impl Iterator for Lfsr258 {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        for (z, [k, q, s]) in self.0.iter_mut().zip(REGISTERS) {
            let first_k = u64::MAX << (64 - k);
            *z = ((*z & first_k) << s) ^ (((*z << q) ^ *z) >> (k - s));
        }
        Some(self.0.iter().fold(0, |sum, z| sum ^ z))
    }
}

/// Prints how even numbers are, of the paper's generator and of fimbria's, and draws both.
pub(super) fn table(folder: &Path, console: &dyn Console) -> Result<(), Failure> {
    let table = Table::begin(
        console,
        [
            words("random numbers", 17),
            number("states", 6),
            number("draws each", 10),
            number("parts", 5),
            number("expected", 8),
            number("SD", 5),
            number("fewest", 7),
            number("most", 7),
            number("chi2", 5),
            number("chi2 expected", 13),
            number("chi2 SD", 7),
        ],
    )?;
    let row = |name: &str, found: [String; 8]| {
        let asked = [name.to_owned(), STATES.to_string(), DRAWS.to_string()];
        table.row(asked.into_iter().chain(found))
    };
    // It reports no count, but that its histogram was uniform.
    row("paper, LFSR258", std::array::from_fn(|_| "-".to_owned()))?;
    let generators = [
        (
            "LFSR258, here",
            Histogram::of(
                (0..STATES).flat_map(|state| Lfsr258::new(state).take(DRAWS as usize)),
                BINS,
            ),
        ),
        (
            "Philox, fimbria's",
            Histogram::of((0..STATES).flat_map(|state| philox(state, DRAWS)), BINS),
        ),
    ];
    for (name, histogram) in &generators {
        let [mean, spread] = histogram.chi_squared_expected();
        let end = |end: Option<&u64>| end.map_or("-".to_owned(), u64::to_string);
        row(
            name,
            [
                BINS.to_string(),
                format!("{:.0}", histogram.expected()),
                digits(histogram.spread()),
                end(histogram.counts.iter().min()),
                end(histogram.counts.iter().max()),
                digits(histogram.chi_squared()),
                digits(mean),
                digits(spread),
            ],
        )?;
    }
    draw(&generators, folder, console)
}

/// The histograms from zero, as in the paper; and how far each part is off, where zero is too far to
/// see that.
fn draw(
    generators: &[(&str, Histogram)],
    folder: &Path,
    console: &dyn Console,
) -> Result<(), Failure> {
    let Some((_, first)) = generators.first() else { return Ok(()) };
    let expected = first.expected();
    let (mut steps, mut off) = (Vec::new(), Vec::new());
    for (name, histogram) in generators {
        let part = |edge: usize| edge as f64 / histogram.counts.len() as f64;
        let counts = histogram.counts.iter().enumerate();
        let step = |(i, &count): (usize, &u64)| [i, i + 1].map(|edge| [part(edge), count as f64]);
        steps.push((*name, counts.flat_map(step).collect::<Vec<_>>()));
        let apart = histogram.off().into_iter().enumerate();
        off.push((*name, apart.map(|(i, off)| [part(i) + 0.5 * part(1), off]).collect::<Vec<_>>()));
    }
    let x = Axis::new("integer, in parts of 2⁶⁴", "").over(0.0, 1.0);
    let axes = Axes {
        heading: &format!("{STATES} states of {DRAWS} random integers"),
        x: x.clone(),
        y: Axis::new("draws", "").over(0.0, 1.2 * expected),
        guides: vec![Guide::Horizontal(expected, format!("{expected:.0} expected"))],
    };
    save(&xy(&lines(&steps, Marks::Line), &axes), "random-numbers.svg", folder, console)?;
    let axes = Axes {
        heading: "Draws beyond those expected, 1 in 22 outside ±2",
        x,
        y: Axis::new("standard deviations", "").over(-4.5, 4.5),
        guides: vec![Guide::Horizontal(2.0, String::new()), Guide::Horizontal(-2.0, String::new())],
    };
    save(&xy(&lines(&off, Marks::Dots), &axes), "random-numbers-off.svg", folder, console)
}

fn lines<'a>(all: &'a [(&str, Vec<[f64; 2]>)], marks: Marks) -> Vec<Series<'a>> {
    all.iter().map(|(name, points)| Series { name, points, marks }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every sequence of `draws` numbers, each from the middle of one of `bins` parts.
    fn all_sequences(draws: u32, bins: u64) -> impl Iterator<Item = Histogram> {
        let middle = move |part: u64| (2 * part + 1) * (u64::MAX / (2 * bins));
        (0..bins.pow(draws)).map(move |code| {
            let parts = (0..draws).map(|draw| code / bins.pow(draw) % bins);
            Histogram::of(parts.map(middle), bins as usize)
        })
    }

    fn mean_and_variance(values: &[f64]) -> [f64; 2] {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        [mean, values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n]
    }

    fn is_close(a: f64, b: f64) {
        // Sums of at most 4^6 numbers near 1.
        assert!((a - b).abs() < 1e-10, "{a} {b}");
    }

    #[test]
    fn all_sequences_have_the_expected_counts_and_spread() {
        for (draws, bins) in [(6, 2), (5, 3), (4, 4)] {
            let all: Vec<Histogram> = all_sequences(draws, bins).collect();
            let counts: Vec<f64> = all.iter().map(|found| found.counts[1] as f64).collect();
            let [mean, variance] = mean_and_variance(&counts);
            is_close(mean, all[0].expected());
            is_close(variance, all[0].spread().powi(2));
            let chi: Vec<f64> = all.iter().map(Histogram::chi_squared).collect();
            let [mean, variance] = mean_and_variance(&chi);
            let [expected, spread] = all[0].chi_squared_expected();
            is_close(mean, expected);
            is_close(variance, spread.powi(2));
        }
    }

    #[test]
    fn parts_are_equal_and_have_the_ends_of_the_range() {
        // Seven parts do not divide 2^64: the first number of each is the next whole one.
        let first = |part: u128| (part << 64).div_ceil(7) as u64;
        let firsts = (0..7).map(first);
        let lasts = (1..7).map(|part| first(part) - 1).chain([u64::MAX]);
        assert_eq!(Histogram::of(firsts.chain(lasts), 7).counts, [2; 7]);
    }

    #[test]
    fn what_lies_in_one_part_is_off_by_all_draws() {
        let found = Histogram::of([0; 12].into_iter(), 4);
        // (12 - 3)²/3 + 3 · 3²/3
        assert_eq!(found.chi_squared(), 36.0);
        assert_eq!(found.off()[0], 9.0 / 2.25_f64.sqrt());
    }

    /// A register as its definition says: bit by bit.
    #[test]
    fn registers_hold_the_bits_of_their_recurrences() {
        let mut generator = Lfsr258::new(3);
        let before = generator.0;
        let numbers: Vec<u64> = generator.by_ref().take(20).collect();
        let mut sums = vec![0; 20];
        for (z, [k, q, s]) in before.into_iter().zip(REGISTERS) {
            let (k, q, s) = (k as usize, q as usize, s as usize);
            let mut bits: Vec<u64> = (0..k).map(|n| z >> (63 - n) & 1).collect();
            for n in 0..64 + 20 * s {
                bits.push(bits[n + q] ^ bits[n]);
            }
            for (at, sum) in sums.iter_mut().enumerate() {
                let held = &bits[(at + 1) * s..][..64];
                *sum ^= held.iter().fold(0, |word, bit| word << 1 | bit);
            }
        }
        assert_eq!(numbers, sums);
    }

    #[test]
    fn no_register_begins_with_nothing_but_zeros() {
        for [k, ..] in REGISTERS {
            let last_of_k = 1 << (64 - k);
            for (bits, begins) in [
                (0, last_of_k),
                (last_of_k - 1, last_of_k),
                (last_of_k, last_of_k),
                (last_of_k + 1, last_of_k + 1),
                (u64::MAX, u64::MAX),
            ] {
                assert_eq!(begun(bits, k), begins, "{k}");
            }
        }
    }

    #[test]
    fn integers_are_even_to_within_five_standard_deviations() {
        let even = |numbers: &mut dyn Iterator<Item = u64>| {
            let found = Histogram::of(numbers, BINS);
            let [mean, spread] = found.chi_squared_expected();
            (found.chi_squared() - mean).abs() < 5.0 * spread
        };
        assert!(even(&mut (0..10).flat_map(|state| philox(state, 10_000))));
        assert!(even(&mut (0..10).flat_map(|state| Lfsr258::new(state).take(10_000))));
        // Every bit counts: not so where two of them never differ, nor where numbers come in order.
        assert!(!even(&mut philox(0, 100_000).map(|x| x & !(1 << 60) | (x >> 1 & 1 << 60))));
        assert!(!even(&mut (0..100_000).map(|x: u64| x * (u64::MAX / 100_000))));
    }
}
