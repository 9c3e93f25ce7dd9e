//! Amounts of memory as people write them: 8G, 500M.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A number of bytes, read from text such as `8G`, `1.5GiB`, `500M` or `4096`; the prefixes are
/// powers of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ByteSize(pub u64);

/// A text that is no amount of memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no amount of memory: write 8G, 500M or a number of bytes")]
pub struct ByteSizeError(String);

const UNITS: [(&str, u64); 5] =
    [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10), ("", 1)];

impl ByteSize {
    /// Of the memory that a program may take, what the samples of an image may: as much again goes
    /// to the file while it is inflated, and to what is made of them.
    #[must_use]
    pub fn for_samples(self) -> u64 {
        self.0 / 3
    }
}

impl FromStr for ByteSize {
    type Err = ByteSizeError;

    fn from_str(text: &str) -> Result<Self, ByteSizeError> {
        let error = || ByteSizeError(text.to_owned());
        let upper = text.trim().to_ascii_uppercase();
        let short = upper.strip_suffix("IB").or(upper.strip_suffix('B')).unwrap_or(&upper);
        let (number, unit) = UNITS
            .iter()
            .find_map(|(suffix, unit)| Some((short.strip_suffix(suffix)?, *unit)))
            .ok_or_else(error)?;
        let number: f64 = number.trim().parse().map_err(|_| error())?;
        let bytes = number * unit as f64;
        // Above 2^53 a sum of bytes is not exact any more, and no machine has so many.
        if bytes.is_finite() && (1.0..=9e15).contains(&bytes) {
            Ok(Self(bytes as u64))
        } else {
            Err(error())
        }
    }
}

impl TryFrom<String> for ByteSize {
    type Error = ByteSizeError;

    fn try_from(text: String) -> Result<Self, ByteSizeError> {
        text.parse()
    }
}

impl From<ByteSize> for String {
    fn from(size: ByteSize) -> Self {
        size.0.to_string()
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (suffix, unit) =
            UNITS.iter().find(|(_, unit)| self.0 >= *unit).copied().unwrap_or(("", 1));
        if unit == 1 {
            write!(f, "{} bytes", self.0)
        } else {
            write!(f, "{:.1} {suffix}iB", self.0 as f64 / unit as f64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("4096", 4096),
            ("8G", 8 << 30),
            ("8GiB", 8 << 30),
            ("8 gb", 8 << 30),
            ("1.5M", 3 << 19),
            ("2k", 2048),
        ] {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
        for text in ["", "G", "-1G", "0", "8X", "nan", "1e30G"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_shown_with_a_prefix() {
        assert_eq!(ByteSize(100).to_string(), "100 bytes");
        assert_eq!(ByteSize(3 << 29).to_string(), "1.5 GiB");
    }
}
