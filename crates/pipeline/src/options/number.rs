//! Numbers with a unit and a range.

use std::fmt::Display;
use std::ops::Bound;
use std::str::FromStr;

use clap::builder::ArgExt;

/// A number that an option takes: what it may be, and its unit.
#[derive(Clone, Copy, Debug)]
pub struct Number<T: 'static> {
    low: Bound<T>,
    high: Bound<T>,
    /// Only these, where there are any.
    among: &'static [T],
    unit: &'static str,
}

/// Any number but those that are not finite.
pub fn any<T: 'static>(unit: &'static str) -> Number<T> {
    Number { low: Bound::Unbounded, high: Bound::Unbounded, among: &[], unit }
}

/// One of a few numbers.
pub fn one_of<T: 'static>(among: &'static [T]) -> Number<T> {
    Number { among, ..any("") }
}

/// A number greater than `low`; `unit` is empty for a pure number.
pub fn above<T: 'static>(low: T, unit: &'static str) -> Number<T> {
    Number { low: Bound::Excluded(low), ..any(unit) }
}

/// A number from `low` on.
pub fn at_least<T: 'static>(low: T, unit: &'static str) -> Number<T> {
    Number { low: Bound::Included(low), ..any(unit) }
}

/// A number from `low` to `high`, both included.
pub fn within<T: 'static>(low: T, high: T, unit: &'static str) -> Number<T> {
    Number { low: Bound::Included(low), high: Bound::Included(high), ..any(unit) }
}

impl<T: Display + 'static> Number<T> {
    /// The range in words, as in "above 0".
    pub(super) fn range(&self) -> String {
        if let [others @ .., last] = self.among {
            let others: Vec<_> = others.iter().map(T::to_string).collect();
            return format!("{} or {last}", others.join(", "));
        }
        match (&self.low, &self.high) {
            (Bound::Excluded(low), Bound::Unbounded) => format!("above {low}"),
            (Bound::Included(low), Bound::Unbounded) => format!("from {low} on"),
            (Bound::Included(low), Bound::Included(high)) => format!("{low} to {high}"),
            (Bound::Excluded(low), Bound::Included(high)) => format!("above {low}, up to {high}"),
            (Bound::Included(low), Bound::Excluded(high)) => format!("{low} to below {high}"),
            (Bound::Excluded(low), Bound::Excluded(high)) => format!("between {low} and {high}"),
            (Bound::Unbounded, Bound::Included(high)) => format!("up to {high}"),
            (Bound::Unbounded, Bound::Excluded(high)) => format!("below {high}"),
            (Bound::Unbounded, Bound::Unbounded) => "any".to_owned(),
        }
    }
}

impl<T: 'static> Number<T> {
    pub(super) fn unit(&self) -> &'static str {
        self.unit
    }

    /// The same with values up to `high` only.
    pub fn up_to(self, high: T) -> Self {
        Self { high: Bound::Included(high), ..self }
    }

    /// The same with values below `high` only.
    pub fn below(self, high: T) -> Self {
        Self { high: Bound::Excluded(high), ..self }
    }
}

impl<T: FromStr + PartialOrd + Display + Copy + 'static> Number<T> {
    pub(super) fn parse(&self, text: &str) -> Result<T, String> {
        let is_in = |value: &T| {
            (match &self.low {
                Bound::Included(low) => value >= low,
                Bound::Excluded(low) => value > low,
                // Not NaN either.
                Bound::Unbounded => value.partial_cmp(value).is_some(),
            }) && (match &self.high {
                Bound::Included(high) => value <= high,
                Bound::Excluded(high) => value < high,
                Bound::Unbounded => true,
            }) && (self.among.is_empty() || self.among.contains(value))
        };
        // Infinity is a number that no option means.
        let is_finite = |value: &T| !matches!(value.to_string().as_str(), "inf" | "-inf");
        match text.trim().parse::<T>() {
            Ok(value) if is_in(&value) && is_finite(&value) => Ok(value),
            _ => Err([self.must(), self.unit.to_owned()]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(", in ")),
        }
    }

    fn must(&self) -> String {
        match (self.among, &self.low, &self.high) {
            ([], Bound::Unbounded, Bound::Unbounded) => "it must be a finite number".to_owned(),
            ([], ..) => format!("it must be a number {}", self.range()),
            _ => format!("it must be {}", self.range()),
        }
    }
}

/// The unit and range of an option, as its description has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Its unit ("s/mm²"); empty for a pure number.
    pub unit: &'static str,
    /// Its range in words ("above 0").
    pub range: String,
}

impl ArgExt for Quantity {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_refused_with_the_range() {
        let b = above(0.0, "s/mm²");
        assert_eq!(b.parse("1000"), Ok(1000.0));
        for text in ["0", "-1", "NaN", "inf", "many"] {
            let error = b.parse(text).unwrap_err();
            assert_eq!(error, "it must be a number above 0, in s/mm²", "{text}");
        }
        assert_eq!(within(0.0, 1.0, "").parse("1"), Ok(1.0));
        assert_eq!(at_least(1_usize, "").parse("0").unwrap_err(), "it must be a number from 1 on");
        assert_eq!(above(0.0, "").up_to(1.0).range(), "above 0, up to 1");
        assert_eq!(one_of(&[1, -1]).parse("0").unwrap_err(), "it must be 1 or -1");
        assert_eq!(one_of(&[4, 6, 8]).range(), "4, 6 or 8");
        let field = any("ppm");
        assert_eq!((field.range().as_str(), field.parse("-0.03")), ("any", Ok(-0.03)));
        assert_eq!(field.parse("NaN").unwrap_err(), "it must be a finite number, in ppm");
    }
}
