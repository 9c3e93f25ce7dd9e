//! What a way of removing the background says of itself, once: a file each in [`ways`](super::ways).

use std::fmt::{self, Debug};

use fimbria_qsm::background::Background;
use serde::de::DeserializeOwned;

use super::options::{FieldParameters, StartPhase, Unwrapping};
use super::ways::{DEFAULT, WAYS};
use crate::Choice;
use crate::columns::wrapped;
use crate::options::{Place, Resolved, Values, Way, values_of};
use crate::stages::shown::Methods;

/// A way to tell the field of sources inside the mask from that of others. Options are those that are resolved
/// for it; [`read`](Resolved::read) has them with their types.
pub(in crate::stages) trait BackgroundRemoval: Sync {
    /// The options that it uses where none is given.
    fn defaults(&self) -> Values;

    /// What removes the background.
    fn background(&self, options: &Resolved<FieldParameters>) -> Background;

    /// What it is called in a paper, with its numbers: "by ...".
    fn words(&self, options: &Resolved<FieldParameters>) -> String;
}

/// What is said of a way whatever its options.
pub(in crate::stages) struct Facts {
    /// Its name on a command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub sentence: &'static str,
    /// What it rests on.
    pub reference: &'static str,
}

/// How the background is removed: one of `WAYS`.
#[derive(Clone, Copy)]
pub struct BackgroundMethod {
    facts: &'static Facts,
    removal: &'static dyn BackgroundRemoval,
}

impl BackgroundMethod {
    /// A line of the list of ways.
    pub(super) const fn listed(
        facts: &'static Facts,
        removal: &'static dyn BackgroundRemoval,
    ) -> (Self, &'static str, &'static str) {
        (Self { facts, removal }, facts.name, facts.sentence)
    }
}

impl Default for BackgroundMethod {
    fn default() -> Self {
        DEFAULT.0
    }
}

impl PartialEq for BackgroundMethod {
    fn eq(&self, other: &Self) -> bool {
        self.facts.name == other.facts.name
    }
}

impl Debug for BackgroundMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts.name)
    }
}

impl Choice for BackgroundMethod {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = WAYS;
}

impl Way for BackgroundMethod {
    type Options = FieldParameters;
    const OPTION: &'static str = "background";

    fn defaults(self, _: &FieldParameters, _: Place) -> Values {
        self.removal.defaults()
    }
}

const ROMEO: &str = "Dymerska B et al. Magn Reson Med 85, 2294 (2021)";
const ECKSTEIN: &str = "Eckstein K et al. Magn Reson Med 79, 2996 (2018)";
const CONSENSUS: &str =
    "QSM Consensus Organization Committee, Bilgic B et al. Magn Reson Med 91, 1834 (2024)";
const LAPLACIAN: &str = "Schofield M, Zhu Y. Opt Lett 28, 1194 (2003)";

impl Resolved<FieldParameters> {
    /// Those of a way, with their types.
    pub(super) fn read<T: DeserializeOwned>(&self) -> T {
        serde_json::from_value(values_of(self).into())
            .unwrap_or_else(|error| unreachable!("options of {:?}: {error}", self.background.0))
    }

    /// What removes the background.
    pub(super) fn removal(&self) -> Background {
        self.background.0.removal.background(self)
    }

    /// What was done, in words for a paper.
    pub(in crate::stages) fn methods(&self) -> Methods {
        let (by, unwrapping) = match self.unwrap.0 {
            Unwrapping::Region => ("along the most reliable paths first (as ROMEO)", ROMEO),
            Unwrapping::Laplacian => ("by the Laplacian", LAPLACIAN),
        };
        let offset = match self.offset.map(|given| given.0) {
            None => " Of several echoes a smooth phase at echo time 0 was taken off (MCPC-3D-S).",
            Some(StartPhase::Smooth) => " A smooth phase at echo time 0 was taken off (MCPC-3D-S).",
            Some(StartPhase::Fitted) => " The phase at echo time 0 was fitted.",
            Some(StartPhase::Zero) => " The phase at echo time 0 was taken as 0.",
        };
        let quality = match self.mask_quality {
            Some(least) if least > 0.0 => format!(
                " The mask was the largest piece of voxels whose phase had a quality of {least} or more, with \
                 its holes filled."
            ),
            _ => String::new(),
        };
        let BackgroundMethod { facts, removal } = self.background.0;
        let text = format!(
            "The phase was unwrapped {by}, and the field of sources outside the mask removed by \
             {}.{offset}{quality}",
            removal.words(self)
        );
        let mut references = vec![unwrapping, facts.reference];
        let is_smooth = self.offset.is_none_or(|given| given.0 == StartPhase::Smooth);
        references.extend(is_smooth.then_some(ECKSTEIN));
        references.extend((!quality.is_empty()).then_some(CONSENSUS));
        Methods { text, references }
    }
}

/// The references of the help, and for what.
pub fn references() -> String {
    let of_options = [
        (ECKSTEIN, "--coils, --offset smooth"),
        (CONSENSUS, "--mask-quality"),
        ("Lu W et al. Magn Reson Med 60, 198 (2008)", "--bipolar"),
    ];
    let unwrapping = [(ROMEO, "region"), (LAPLACIAN, "laplacian")];
    let ways = WAYS.iter().map(|(way, name, _)| (way.facts.reference, *name));
    let mut text = String::new();
    for (citation, of) in unwrapping.into_iter().chain(ways).chain(of_options) {
        wrapped(&mut text, &format!("{citation}: {of}"), 2, 4);
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command};
    use serde_json::{Value, json};

    use super::*;
    use crate::options::{Resolve as _, from_values};

    fn resolved(values: &Value) -> Resolved<FieldParameters> {
        let given: FieldParameters = from_values(values.as_object().unwrap()).unwrap();
        given.check().unwrap();
        given.resolve(&Place::Command)
    }

    #[test]
    fn every_way_has_its_own_defaults_and_uses_no_others() {
        let command = FieldParameters::augment_args(Command::new("x"));
        for (way, name, _) in WAYS {
            let values = values_of(&resolved(&json!({ "background": name })));
            for option in ["radius", "strength"] {
                assert_eq!(values[option].is_null(), !way.removal.defaults().contains_key(option));
            }
            let options = way.removal.defaults();
            let is_option = |key: &String| command.get_arguments().any(|arg| arg.get_id() == key);
            assert!(options.keys().all(is_option), "{name}");
        }
        let vsharp = resolved(&json!({ "background": "vsharp", "radius": 8.0 }));
        assert!(matches!(vsharp.removal(), Background::VSharp { radius_mm: 8.0, .. }));
    }

    #[test]
    fn words_for_a_paper_tell_what_was_chosen() {
        let mut texts: Vec<String> = WAYS
            .iter()
            .map(|(_, name, _)| resolved(&json!({ "background": name })).methods().text)
            .collect();
        texts.push(resolved(&json!({ "background": "vsharp", "radius": 8.0 })).methods().text);
        texts.push(resolved(&json!({ "background": "resharp", "strength": 0.5 })).methods().text);
        texts.push(resolved(&json!({ "unwrap": "laplacian" })).methods().text);
        for offset in ["smooth", "true", "false"] {
            texts.push(resolved(&json!({ "offset": offset })).methods().text);
        }
        texts.push(resolved(&json!({ "mask_quality": 0.0 })).methods().text);
        texts.push(resolved(&json!({ "mask_quality": 0.3 })).methods().text);
        let n = texts.len();
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), n, "{texts:?}");
    }
}
