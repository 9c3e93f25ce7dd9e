//! Sums that do not depend on their order.

/// Real numbers as multiples of a power of two, in an `i64`.
///
/// Integer sums are exact, so that partial sums of any grouping (threads, chunks, ranks) combine
/// to the same bits. Make terms per fixed block, encode each block's sum, add the integers with
/// [`Comm::sum_i64`](crate::comm::Comm::sum_i64) or atomics, decode once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedPoint {
    /// The unit is 2 to the minus this.
    fraction_bits: i32,
    /// Largest encoded magnitude.
    limit: i64,
}

/// A number that the fixed-point sum was not made for.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{value} is not a finite number of magnitude at most {largest}")]
pub struct FixedPointError {
    /// The number.
    pub value: f64,
    /// The largest magnitude that can be encoded.
    pub largest: f64,
}

impl FixedPoint {
    /// The finest unit with which `terms` numbers of magnitude at most `largest` can be added
    /// without overflow: about 2^-62 · `largest` · `terms`.
    ///
    /// # Errors
    /// Where `largest` is not a positive normal number.
    pub fn for_sum(largest: f64, terms: u64) -> Result<Self, FixedPointError> {
        if !(largest.is_normal() && largest > 0.0) {
            return Err(FixedPointError { value: largest, largest: f64::MAX });
        }
        // largest < 2^(exponent + 1), each term one more for rounding, terms <= 2^bits.
        let exponent = exponent(largest);
        let bits = u64::BITS - terms.max(1).saturating_sub(1).leading_zeros();
        let limit_bits = 62_u32.saturating_sub(bits);
        Ok(Self { fraction_bits: limit_bits as i32 - 1 - exponent, limit: 1 << limit_bits })
    }

    /// `value` to the nearest unit.
    ///
    /// # Errors
    /// Where `value` is NaN, infinite or larger than was stated.
    pub fn encode(self, value: f64) -> Result<i64, FixedPointError> {
        let scaled = scale(value, self.fraction_bits).round_ties_even();
        if scaled.abs() <= self.limit as f64 {
            Ok(scaled as i64)
        } else {
            Err(FixedPointError { value, largest: self.decode(self.limit) })
        }
    }

    /// The number that `sum` units make, rounded to f64.
    pub fn decode(self, sum: i64) -> f64 {
        scale(sum as f64, -self.fraction_bits)
    }
}

/// The power of two at or below a positive normal number.
fn exponent(x: f64) -> i32 {
    (x.to_bits() >> 52) as i32 - 1023
}

/// x · 2^k, in two steps so that each factor is a normal number.
fn scale(x: f64, k: i32) -> f64 {
    let half = k / 2;
    x * 2.0_f64.powi(half) * 2.0_f64.powi(k - half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_do_not_depend_on_order(mut terms in prop::collection::vec(-1e3..1e3_f64, 1..200)) {
            let fixed = FixedPoint::for_sum(1e3, 200).unwrap();
            let sum = |terms: &[f64]| terms.iter().map(|&x| fixed.encode(x).unwrap()).sum::<i64>();
            let forward = sum(&terms);
            terms.reverse();
            prop_assert_eq!(forward, sum(&terms));
        }

        #[test]
        fn a_sum_is_right_to_half_a_unit_a_term(
            terms in prop::collection::vec(-1e3..1e3_f64, 1..200),
        ) {
            let fixed = FixedPoint::for_sum(1e3, 200).unwrap();
            let sum: i64 = terms.iter().map(|&x| fixed.encode(x).unwrap()).sum();
            // 200 <= 2^8 and 1000 < 2^10: the unit is 2^(10 - 54); f64 sums err by less than 1e-10.
            let bound = 200.0 * 0.5 * 2.0_f64.powi(-44) + 1e-10;
            prop_assert!((fixed.decode(sum) - terms.iter().sum::<f64>()).abs() <= bound);
        }
    }

    #[test]
    fn numbers_become_the_nearest_multiple_of_the_unit() {
        let fixed = FixedPoint::for_sum(1.0, 1000).unwrap();
        let unit = fixed.decode(1);
        let units = [-1.75, -0.75, -0.25, 0.25, 0.75, 1.25];
        let encoded = units.map(|x| fixed.encode(x * unit).unwrap());
        assert_eq!(encoded, [-2, -1, 0, 0, 1, 1]);
    }

    #[test]
    fn the_largest_sum_does_not_overflow() {
        for (largest, terms) in [(1.0, 1), (1.999, 1000), (1e300, 1 << 40), (1e-300, 7)] {
            let fixed = FixedPoint::for_sum(largest, terms).unwrap();
            let one = fixed.encode(largest).unwrap();
            assert!(i128::from(one) * i128::from(terms) <= i128::from(i64::MAX));
        }
    }

    #[test]
    fn numbers_beyond_the_stated_magnitude_are_refused() {
        let fixed = FixedPoint::for_sum(1.0, 10).unwrap();
        for value in [f64::NAN, f64::INFINITY, -5.0] {
            assert!(fixed.encode(value).is_err(), "{value}");
        }
        assert!(FixedPoint::for_sum(0.0, 10).is_err());
    }
}
