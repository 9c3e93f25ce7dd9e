//! The direction of the phase encoding: as it is given, or as sidecars say it.

use std::path::Path;

use crate::Choice;
use crate::stages::sidecar::{SidecarError, said_of};

/// An axis of the array along which phase was encoded, with its polarity, as BIDS writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseEncoding {
    /// Along the first axis.
    I,
    /// Against it.
    IMinus,
    /// Along the second axis.
    J,
    /// Against it.
    JMinus,
    /// Along the third axis.
    K,
    /// Against it.
    KMinus,
}

impl Choice for PhaseEncoding {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::I, "i", "along the first axis of the array"),
        (Self::IMinus, "i-", "the same, other polarity"),
        (Self::J, "j", "along the second axis"),
        (Self::JMinus, "j-", "the same, other polarity"),
        (Self::K, "k", "along the third axis"),
        (Self::KMinus, "k-", "the same, other polarity"),
    ];
}

/// Why the direction is not known.
#[derive(Debug, thiserror::Error)]
pub enum EncodingError {
    /// A sidecar cannot be read.
    #[error(transparent)]
    Sidecar(#[from] SidecarError),
    /// Nobody says it.
    #[error(
        "nothing says along which axis the phase of {dwi} was encoded: its sidecar would as \
         PhaseEncodingDirection or PhaseEncodingAxis; give --phase-encoding, such as j"
    )]
    Unknown {
        /// The series.
        dwi: String,
    },
    /// The axis is known alone.
    #[error(
        "the sidecar of {dwi} says along which axis phase was encoded ({axis}) and not which way, by which fields shift and \
         several series differ: give --phase-encoding {axis} or {axis}-"
    )]
    Polarity {
        /// The series.
        dwi: String,
        /// As written.
        axis: String,
    },
    /// A sidecar has something else there.
    #[error(
        "the sidecar of {dwi} has a phase encoding of `{value}`, which is none of i, i-, j, j-, k, k-"
    )]
    Value {
        /// The series.
        dwi: String,
        /// As written.
        value: String,
    },
}

impl PhaseEncoding {
    /// The voxel axis.
    pub(super) fn axis(self) -> usize {
        match self {
            Self::I | Self::IMinus => 0,
            Self::J | Self::JMinus => 1,
            Self::K | Self::KMinus => 2,
        }
    }

    /// Which way along the axis a higher frequency appears: BIDS's `j` is FSL's 0 1 0.
    pub(super) fn sign(self) -> f64 {
        match self {
            Self::I | Self::J | Self::K => 1.0,
            Self::IMinus | Self::JMinus | Self::KMinus => -1.0,
        }
    }

    /// What the sidecars of a series say. Some converters know the axis and not its polarity, which motion and eddy
    /// currents do not need.
    ///
    /// # Errors
    /// [`EncodingError`].
    pub(super) fn from_sidecars(dwi: &Path, needs_polarity: bool) -> Result<Self, EncodingError> {
        let shown = || dwi.display().to_string();
        let entries = said_of(dwi)?.unwrap_or_default();
        let direction = entries.get("PhaseEncodingDirection");
        let axis = entries.get("PhaseEncodingAxis");
        if let (None, Some(axis), true) = (direction, axis, needs_polarity) {
            let axis = axis.as_str().unwrap_or_default().to_owned();
            return Err(EncodingError::Polarity { dwi: shown(), axis });
        }
        let value = direction.or(axis).ok_or_else(|| EncodingError::Unknown { dwi: shown() })?;
        let named = value.as_str().and_then(Self::from_name);
        named.ok_or_else(|| EncodingError::Value { dwi: shown(), value: value.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoding_of(sidecar: &str) -> Result<PhaseEncoding, String> {
        encoding_for(sidecar, false)
    }

    fn encoding_for(sidecar: &str, needs_polarity: bool) -> Result<PhaseEncoding, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("dwi.json"), sidecar).unwrap();
        let dwi = folder.path().join("dwi.nii.gz");
        PhaseEncoding::from_sidecars(&dwi, needs_polarity).map_err(|error| error.to_string())
    }

    #[test]
    fn a_direction_with_polarity_comes_before_an_axis() {
        let both = encoding_of(r#"{"PhaseEncodingAxis": "i", "PhaseEncodingDirection": "j-"}"#);
        assert_eq!(both, Ok(PhaseEncoding::JMinus));
        assert_eq!(encoding_of(r#"{"PhaseEncodingAxis": "i"}"#), Ok(PhaseEncoding::I));
    }

    #[test]
    fn a_field_needs_the_polarity() {
        let error = encoding_for(r#"{"PhaseEncodingAxis": "j"}"#, true).unwrap_err();
        assert!(error.contains("--phase-encoding j or j-"), "{error}");
        let known = encoding_for(r#"{"PhaseEncodingDirection": "j-"}"#, true);
        assert_eq!(known.map(PhaseEncoding::sign), Ok(-1.0));
    }

    #[test]
    fn what_is_no_direction_is_one_error_with_its_value() {
        let error = encoding_of(r#"{"PhaseEncodingDirection": "AP"}"#).unwrap_err();
        assert!(error.contains(r#""AP""#), "{error}");
        assert!(encoding_of("{}").unwrap_err().contains("--phase-encoding"));
    }
}
