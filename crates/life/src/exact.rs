//! Sums that do not depend on who adds what: each number is rounded to a lattice so fine that nothing
//! of the sum is lost, and so coarse that every sum of them is a whole number of its steps that f64
//! holds. Such sums are exact, in any order, over any number of processes and devices; a device without
//! f64 adds whole numbers of steps.

use fimbria_compute::comm::Comm;

/// Numbers that f64 adds without rounding: multiples of one power of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lattice {
    /// 3/2 of 2^52 steps: beside it f64 has no finer numbers than a step.
    beside: f64,
    /// Half a step: what rounding changes at most.
    pub(crate) half: f64,
    /// A step is 2 to this power.
    pub(crate) exponent: i32,
}

impl Lattice {
    /// For sums of at most `count` numbers, the largest of this size.
    pub(crate) fn new(largest: f64, count: usize) -> Self {
        if largest == 0.0 {
            return Self { beside: 0.0, half: 0.0, exponent: 0 };
        }
        // The sum stays below 2^52 steps, and no number above 2^51 of them, where `beside` is no
        // longer what decides the step.
        let exponent = exponent(largest) + room(count) + 1 - 52;
        let step = 2.0_f64.powi(exponent);
        Self { beside: 1.5 * 2.0_f64.powi(52) * step, half: 0.5 * step, exponent }
    }

    /// The number of the lattice next to `x`.
    pub(crate) fn round(self, x: f64) -> f64 {
        (x + self.beside) - self.beside
    }

    /// The number of so many steps.
    pub(crate) fn of_steps(self, steps: i64) -> f64 {
        steps as f64 * (2.0 * self.half)
    }
}

/// Bits that the sum of so many numbers has beyond the largest.
pub(crate) fn room(count: usize) -> i32 {
    count.max(2).next_power_of_two().ilog2() as i32
}

/// The least e with |x| <= 2^e, within what leaves lattices normal numbers.
fn exponent(x: f64) -> i32 {
    let bits = x.abs().to_bits();
    let is_between_powers = bits & ((1 << 52) - 1) != 0;
    ((bits >> 52) as i32 - 1023 + i32::from(is_between_powers)).clamp(-900, 900)
}

/// The lattice of the squares of a block's voxels, of which this is the largest.
pub(crate) fn lattice_of_voxels(largest: f32, voxels: usize) -> Lattice {
    // As on devices, which do not look into subnormal numbers.
    Lattice::new(f64::from(largest.max(f32::MIN_POSITIVE)), voxels)
}

/// The sum of the squares of a block's voxels; no number where one of them is not finite.
pub(crate) fn sum_of_voxels(squares: &[f32]) -> f64 {
    let larger = |largest: f32, square: &f32| {
        if square.is_finite() { largest.max(*square) } else { f32::INFINITY }
    };
    let largest = squares.iter().fold(0.0, larger);
    if !largest.is_finite() {
        return f64::NAN;
    }
    let lattice = lattice_of_voxels(largest, squares.len());
    squares.iter().map(|square| lattice.round(f64::from(*square))).sum()
}

/// Two numbers whose sum is that of `values`, to 80 bits, of which there are at most `count` on all
/// processes together; each of the two adds up exactly. `agree` says how large the largest of all
/// processes is.
pub(crate) fn exact_parts(values: &[f64], count: usize, agree: &dyn Fn(f64) -> f64) -> [f64; 2] {
    let coarse = Lattice::new(agree(largest(values.iter().copied())), count);
    let fine = Lattice::new(coarse.half, count);
    let mut parts = [0.0; 2];
    for &value in values {
        let [high, low] = split(value, coarse, fine);
        parts[0] += high;
        parts[1] += low;
    }
    parts
}

/// What of `value` is on the coarse lattice, and what of the rest on the fine one.
pub(crate) fn split(value: f64, coarse: Lattice, fine: Lattice) -> [f64; 2] {
    let high = coarse.round(value);
    [high, fine.round(value - high)]
}

/// The sum of the values of all processes, `count` of them at most.
pub(crate) fn exact_sum(values: &[f64], count: usize, comm: &dyn Comm) -> f64 {
    let mut parts = exact_parts(values, count, &|mine| largest_of_all(comm, mine));
    comm.sum_f64(&mut parts);
    parts[0] + parts[1]
}

/// The size of the largest; NaN counts as nothing.
pub(crate) fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |largest, value| value.abs().max(largest))
}

/// The largest of what all processes bring.
pub(crate) fn largest_of_all(comm: &dyn Comm, mine: f64) -> f64 {
    if comm.size() == 1 {
        return mine;
    }
    largest(comm.of_each(mine.to_bits()).into_iter().map(f64::from_bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_compute::philox::{Philox, normals};
    use fimbria_testing::as_processes;

    /// Of very different sizes.
    fn numbers(n: usize) -> Vec<f64> {
        let philox = Philox::new(17);
        let number = |item| {
            let [a, b, ..] = normals::<f32>(philox.at(item, 0)).map(f64::from);
            a * (6.0 * b).exp()
        };
        (0..n as u64).map(number).collect()
    }

    #[test]
    fn sums_have_the_same_bits_in_any_order_and_on_any_processes() {
        let values = numbers(1000);
        let alone = exact_sum(&values, 1000, &fimbria_compute::comm::Solo);
        let mut turned = values.clone();
        turned.reverse();
        assert_eq!(exact_sum(&turned, 1000, &fimbria_compute::comm::Solo), alone);
        for size in [2, 3] {
            let found = as_processes(size, |comm| {
                let mine: Vec<f64> =
                    values.iter().skip(comm.rank()).step_by(size).copied().collect();
                exact_sum(&mine, 1000, comm)
            });
            assert!(found.iter().all(|sum| *sum == alone), "{found:?} {alone}");
        }
        // A plain sum is off by its rounding: what is claimed is that this one is not worse.
        let plain: f64 = values.iter().sum();
        assert!((plain / alone - 1.0).abs() < 1e-12, "{plain} {alone}");
    }

    #[test]
    fn rounding_to_a_lattice_loses_less_than_half_a_step() {
        let values = numbers(500);
        let lattice = Lattice::new(largest(values.iter().copied()), 500);
        for &value in &values {
            assert!((lattice.round(value) - value).abs() <= lattice.half);
        }
        // 52 bits, less nine of the count and one of the exponent's rounding.
        let finest = largest(values.iter().copied()) * 2.0_f64.powi(-41);
        assert!(lattice.half < finest, "{} {finest}", lattice.half);
    }

    #[test]
    fn exponents_are_those_of_the_next_power_of_two() {
        for (x, expected) in [(1.0, 0), (1.0 + f64::EPSILON, 1), (-3.0, 2), (0.25, -2), (0.3, -1)] {
            assert_eq!(exponent(x), expected, "{x}");
        }
        assert_eq!((exponent(f64::INFINITY), exponent(5e-324)), (900, -900));
    }

    #[test]
    fn steps_make_the_numbers_of_the_lattice() {
        let lattice = Lattice::new(3.0, 100);
        // 2^2 above the largest, 2^7 of them: 52 bits below 2^10.
        assert_eq!(lattice.exponent, 2 + 7 + 1 - 52);
        let x = lattice.round(1.234_567);
        let steps = x / 2.0_f64.powi(lattice.exponent);
        assert_eq!(lattice.of_steps(steps as i64), x);
    }

    #[test]
    fn squares_of_voxels_add_up_in_any_order() {
        let mut squares: Vec<f32> = numbers(700).iter().map(|x| (x * x) as f32).collect();
        let sum = sum_of_voxels(&squares);
        let plain: f64 = squares.iter().map(|x| f64::from(*x)).sum();
        assert!((sum / plain - 1.0).abs() < 1e-9, "{sum} {plain}");
        squares.reverse();
        assert_eq!(sum_of_voxels(&squares), sum);
        squares[3] = f32::NAN;
        assert!(sum_of_voxels(&squares).is_nan());
    }

    #[test]
    fn nothing_adds_up_to_nothing_and_infinity_to_no_number() {
        assert_eq!(exact_sum(&[], 5, &fimbria_compute::comm::Solo), 0.0);
        assert_eq!(exact_sum(&[0.0, -0.0], 5, &fimbria_compute::comm::Solo), 0.0);
        assert!(!exact_sum(&[f64::INFINITY, 1.0], 5, &fimbria_compute::comm::Solo).is_finite());
        assert!(exact_sum(&[f64::NAN, 1.0], 5, &fimbria_compute::comm::Solo).is_nan());
    }
}
