//! The kinds of numbers that image files hold.

use std::fmt;
use std::str::FromStr;

/// The type of a stored sample.
///
/// Complex, RGB and 128-bit types exist in both formats and are refused: nothing here could use
/// them without a choice that only the user can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Datatype {
    /// One bit, most significant first (.mif only).
    Bit,
    /// Signed 8-bit integer.
    Int8,
    /// Unsigned 8-bit integer.
    UInt8,
    /// Signed 16-bit integer.
    Int16,
    /// Unsigned 16-bit integer.
    UInt16,
    /// Signed 32-bit integer.
    Int32,
    /// Unsigned 32-bit integer.
    UInt32,
    /// Signed 64-bit integer.
    Int64,
    /// Unsigned 64-bit integer.
    UInt64,
    /// IEEE half precision (.mif only).
    Float16,
    /// IEEE single precision.
    #[default]
    Float32,
    /// IEEE double precision.
    Float64,
}

impl Datatype {
    /// Every type, smallest first within its kind.
    pub const ALL: [Self; 12] = [
        Self::Bit,
        Self::Int8,
        Self::UInt8,
        Self::Int16,
        Self::UInt16,
        Self::Int32,
        Self::UInt32,
        Self::Int64,
        Self::UInt64,
        Self::Float16,
        Self::Float32,
        Self::Float64,
    ];

    /// Bits per sample.
    pub const fn bits(self) -> usize {
        match self {
            Self::Bit => 1,
            Self::Int8 | Self::UInt8 => 8,
            Self::Int16 | Self::UInt16 | Self::Float16 => 16,
            Self::Int32 | Self::UInt32 | Self::Float32 => 32,
            Self::Int64 | Self::UInt64 | Self::Float64 => 64,
        }
    }

    /// True for the IEEE types, which can hold NaN and infinity.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Float16 | Self::Float32 | Self::Float64)
    }

    /// The name, as MRtrix writes it (without byte order).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bit => "Bit",
            Self::Int8 => "Int8",
            Self::UInt8 => "UInt8",
            Self::Int16 => "Int16",
            Self::UInt16 => "UInt16",
            Self::Int32 => "Int32",
            Self::UInt32 => "UInt32",
            Self::Int64 => "Int64",
            Self::UInt64 => "UInt64",
            Self::Float16 => "Float16",
            Self::Float32 => "Float32",
            Self::Float64 => "Float64",
        }
    }

    /// Bytes that `samples` of this type fill, or `None` where that overflows.
    pub(crate) fn bytes_for(self, samples: usize) -> Option<u64> {
        Some((samples as u64).checked_mul(self.bits() as u64)?.div_ceil(8))
    }
}

impl fmt::Display for Datatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no [`Datatype`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a sample type (Bit, Int8 .. UInt64, Float16, Float32 or Float64)")]
pub struct UnknownDatatype(pub String);

impl FromStr for Datatype {
    type Err = UnknownDatatype;

    /// Takes the names of MRtrix and NumPy in any case: `Int16`, `int16`, `uint8`, `float32`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|d| d.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownDatatype(text.into()))
    }
}

/// Which byte of a number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };
}

impl Default for ByteOrder {
    fn default() -> Self {
        Self::NATIVE
    }
}

impl fmt::Display for ByteOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Little => "little endian",
            Self::Big => "big endian",
        })
    }
}

/// How stored numbers become values: `slope * stored + intercept`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// Factor.
    pub slope: f64,
    /// Added after the factor.
    pub intercept: f64,
}

impl Scaling {
    /// Values are the stored numbers.
    pub const NONE: Self = Self { slope: 1.0, intercept: 0.0 };

    /// The scaling that a header's pair of numbers asks for: a slope of zero or NaN means none,
    /// as NIfTI defines it.
    pub(crate) fn from_header(slope: f64, intercept: f64) -> Self {
        if slope == 0.0 || !slope.is_finite() { Self::NONE } else { Self { slope, intercept } }
    }

    /// True where values are the stored numbers.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_back_in_any_case() {
        for d in Datatype::ALL {
            assert_eq!(d.name().parse(), Ok(d));
            assert_eq!(d.name().to_lowercase().parse(), Ok(d));
        }
        assert_eq!("cfloat32".parse::<Datatype>(), Err(UnknownDatatype("cfloat32".into())));
    }

    #[test]
    fn bits_fill_whole_bytes() {
        assert_eq!(Datatype::Bit.bytes_for(9), Some(2));
        assert_eq!(Datatype::Float64.bytes_for(3), Some(24));
        assert_eq!(Datatype::Float64.bytes_for(usize::MAX), None);
    }
}
