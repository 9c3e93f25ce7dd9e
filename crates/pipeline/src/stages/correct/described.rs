//! What the sidecar of a corrected series says.

use serde_json::{Map, Value, json};

use super::method::undistorted_by;
use super::{CorrectSeries, PhaseEncoding};
use crate::stages::sidecar::said_of;
use crate::{Choice as _, StageError};

/// What of a sidecar is as true of the corrected series: how it was measured, but for the times of slices, which were
/// moved, and for the readout.
const MEASURED: [&str; 13] = [
    "MagneticFieldStrength",
    "Manufacturer",
    "ManufacturersModelName",
    "SoftwareVersions",
    "ReceiveCoilName",
    "ScanningSequence",
    "PulseSequenceDetails",
    "EchoTime",
    "RepetitionTime",
    "FlipAngle",
    "MultibandAccelerationFactor",
    "ParallelReductionFactorInPlane",
    "PartialFourier",
];

/// What says how far a field shifts: of no use where the shift is undone.
const READOUT: [&str; 2] = ["TotalReadoutTime", "EffectiveEchoSpacing"];

impl CorrectSeries {
    /// The sidecar of the result: what all series say alike of how they were measured, their phase encoding, and what was
    /// corrected. Where distortion by susceptibility is left, also what another program needs to undo it.
    pub(super) fn sidecar(
        &self,
        encodings: &[PhaseEncoding],
        is_better: bool,
    ) -> Result<Value, StageError> {
        let settings = self.settings.without_paths();
        let undistorted = undistorted_by(&settings);
        let sidecars = self.series().map(|files| Ok(said_of(&files.dwi)?.unwrap_or_default()));
        let sidecars = sidecars.collect::<Result<Vec<Value>, StageError>>()?;
        let mut sidecar = Map::new();
        let mut carry = |key: &str, value: Value| {
            sidecar.insert(key.to_owned(), value);
        };
        let left = READOUT.into_iter().filter(|_| undistorted.is_none());
        for key in MEASURED.into_iter().chain(left) {
            let value = &sidecars[0][key];
            if !value.is_null() && sidecars.iter().all(|other| other[key] == *value) {
                carry(key, value.clone());
            }
        }
        if encodings.iter().all(|encoding| *encoding == encodings[0]) {
            let name = encodings[0].name();
            let knows = |sidecar: &Value| !sidecar["PhaseEncodingDirection"].is_null();
            match !self.settings.phase_encoding.is_empty() || sidecars.iter().all(knows) {
                true => carry("PhaseEncodingDirection", json!(name)),
                // Nobody knows which way.
                false => carry("PhaseEncodingAxis", json!(name.trim_end_matches('-'))),
            }
        }
        let eddy = settings["eddy"].as_str().filter(|eddy| is_better && *eddy != "none");
        let dropped = !self.settings.keep_dropped;
        let done = [
            (
                "MotionCorrection",
                is_better.then_some("rigid, of volumes, with the gradients turned"),
            ),
            ("EddyCurrentCorrection", eddy),
            ("DroppedSliceCorrection", dropped.then_some("replaced by predictions")),
            ("SusceptibilityDistortionCorrection", undistorted),
        ];
        for (key, how) in done {
            carry(key, json!(how.unwrap_or("none")));
        }
        carry("Description", json!("a diffusion series corrected as these keys say"));
        carry("SkullStripped", json!(false));
        Ok(Value::Object(sidecar))
    }
}
