//! The verdicts on a series, as columns of a table.

use std::path::Path;

use fimbria_models::quality::{Level, Verdict};
use fimbria_pipeline::stages::quality::Quality;
use serde_json::{Value, json};

use crate::BidsError;

/// Where the record of a session keeps those of each series.
pub(crate) const VERDICTS: &str = "verdicts";

/// The words for levels, and what they mean.
pub(crate) const LEVELS: [(Level, &str, &str); 4] = [
    (Level::Good, "good", "as it should be"),
    (Level::Unknown, "unknown", "the data do not tell"),
    (Level::Doubtful, "doubtful", "to be looked at"),
    (Level::Bad, "bad", "not to be worked with as it is"),
];

/// What a run found of its series; `None` where it judged nothing.
///
/// # Errors
/// Where they cannot be read.
pub(crate) fn from_run(run: &Path) -> Result<Option<Quality>, BidsError> {
    let path = run.join("quality").join("quality.json");
    let text = match fimbria_image::read_regular_text(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(BidsError::io("read", &path))?,
    };
    let quality: Quality =
        serde_json::from_str(&text).map_err(|error| BidsError::io("read", &path)(error.into()))?;
    Ok(Some(quality))
}

/// Those that the record of a session has of a series.
pub(crate) fn from_series(series: &Value) -> Vec<Verdict> {
    serde_json::from_value(series[VERDICTS].clone()).unwrap_or_default()
}

/// The name of the column of its number; that of its level has `_verdict` after it.
pub(crate) fn column(verdict: &Verdict) -> String {
    verdict.name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

/// The word for a level.
pub(crate) fn word(level: Level) -> &'static str {
    LEVELS.iter().find(|(known, ..)| *known == level).map_or("unknown", |(_, word, _)| word)
}

/// The number of a verdict and its unit as BIDS writes it; `None` where it has none.
pub(crate) fn number(verdict: &Verdict) -> Option<(f64, String)> {
    let (number, unit) = verdict.value.split_once(' ').unwrap_or((&verdict.value, ""));
    let unit = match unit.trim() {
        "%" => "percent".to_owned(),
        "×" => String::new(),
        unit => unit.replace('²', "^2"),
    };
    Some((number.parse().ok()?, unit))
}

/// What a sidecar says of the words in a column of levels.
pub(crate) fn levels() -> Value {
    LEVELS.iter().map(|(_, word, meaning)| ((*word).to_owned(), json!(meaning))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_a_verdict_is_taken_apart_from_its_unit() {
        let of = |value: &str| {
            number(&Verdict {
                name: "Signal over noise".to_owned(),
                level: Level::Good,
                value: value.to_owned(),
                threshold: String::new(),
                source: String::new(),
                says: String::new(),
            })
        };
        assert_eq!(of("0.85e-3 mm²/s"), Some((0.85e-3, "mm^2/s".to_owned())));
        assert_eq!(of("1.25 ×"), Some((1.25, String::new())));
        assert_eq!(of("0.50 %"), Some((0.5, "percent".to_owned())));
        assert_eq!(of("3"), Some((3.0, String::new())));
        assert_eq!(of(""), None);
    }

    #[test]
    fn every_level_has_its_word() {
        for (level, word, _) in LEVELS {
            assert_eq!(json!(level), word);
        }
    }
}
