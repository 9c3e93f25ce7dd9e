//! What sidecars say of the numbers of a phase.

use fimbria_qsm::phase::{HZ_PER_TESLA, Maker};
use serde_json::Value;

/// What sidecars say of the numbers of a phase.
pub(super) struct Claim {
    /// In radians.
    pub(super) is_radians: bool,
    /// That they are a phase.
    pub(super) is_phase: bool,
    /// That they are something else, as `ImageType` has it.
    pub(super) no_phase: Option<String>,
    pub(super) maker: Option<Maker>,
    /// The voxel axis that slices follow each other along.
    pub(super) slice_axis: usize,
    /// The echo times in seconds of which one phase is the difference.
    pub(super) difference: Option<[f64; 2]>,
    /// The unit of a field that was made of the phase already, and what its numbers are multiplied by to
    /// be in hertz.
    pub(super) field: Option<(&'static str, f64)>,
}

/// How many hertz a unit of BIDS's `fieldmap` is; `None` where it is none.
pub(in crate::stages) fn hertz_of_unit(unit: &str) -> Option<f64> {
    FIELDS.into_iter().find(|(name, _)| *name == unit).map(|(_, hertz)| hertz)
}

/// Whether sidecars say that a phase is the difference of two echoes.
pub(in crate::stages) fn is_difference(said: &Value) -> bool {
    difference(said).is_some()
}

impl Claim {
    pub(super) fn from_sidecars(said: &[Value]) -> Self {
        let text = |key: &str| said.iter().find_map(|said| said[key].as_str());
        let types: Vec<String> = said
            .iter()
            .filter_map(|said| said["ImageType"].as_array())
            .flatten()
            .filter_map(|kind| Some(kind.as_str()?.to_uppercase()))
            .collect();
        let is = |names: &[&str]| types.iter().find(|kind| names.contains(&kind.as_str())).cloned();
        let is_phase = is(&["P", "PHASE", "PHASE MAP"]).is_some();
        let other = is(&["M", "MAGNITUDE", "REAL", "IMAGINARY", "I", "R"]).filter(|_| !is_phase);
        Self {
            is_radians: text("Units").is_some_and(|unit| unit == "rad"),
            is_phase,
            no_phase: other,
            maker: text("Manufacturer").and_then(Maker::of_name),
            slice_axis: match text("SliceEncodingDirection").map(|axis| axis.trim_end_matches('-'))
            {
                Some("i") => 0,
                Some("j") => 1,
                _ => 2,
            },
            difference: said.iter().find_map(difference),
            field: text("Units")
                .and_then(|unit| FIELDS.into_iter().find(|(name, _)| *name == unit)),
        }
    }
}

/// The units of BIDS's `fieldmap`, and how many hertz they are.
const FIELDS: [(&str, f64); 3] =
    [("Hz", 1.0), ("rad/s", 1.0 / std::f64::consts::TAU), ("T", HZ_PER_TESLA)];

/// The two echo times of BIDS's `phasediff`. Siemens' converters give them to the phases of both echoes,
/// too: that of the first one is no difference.
fn difference(said: &Value) -> Option<[f64; 2]> {
    let [first, second] = ["EchoTime1", "EchoTime2"].map(|key| said[key].as_f64());
    let (first, second) = (first?, second?);
    (first != second && said["EchoTime"].as_f64() != Some(first)).then_some([first, second])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn two_echo_times_are_those_of_a_difference_but_beside_the_first_echo() {
        let of = |said: Value| Claim::from_sidecars(&[said]).difference;
        let both = Some([0.00519, 0.00765]);
        assert_eq!(of(json!({ "EchoTime1": 0.00519, "EchoTime2": 0.00765 })), both);
        let second = json!({ "EchoTime1": 0.00519, "EchoTime2": 0.00765, "EchoTime": 0.00765 });
        assert_eq!(of(second), both);
        let first = json!({ "EchoTime1": 0.00519, "EchoTime2": 0.00765, "EchoTime": 0.00519 });
        assert_eq!(of(first), None);
        assert_eq!(of(json!({ "EchoTime": 0.00519 })), None);
    }
}
