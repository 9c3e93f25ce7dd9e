//! Options whose values have names.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fimbria_compute::SimdLevel;
use fimbria_pipeline::{Choice, Named};

/// A parser of the names of a choice, which lists them in the help.
pub(crate) fn choice<T: Choice>() -> impl TypedValueParser<Value = Named<T>> {
    let values = T::CHOICES.iter().map(|(_, name, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(values).try_map(|name| {
        // Only listed names come through.
        T::from_name(&name).map(Named).ok_or("not one of the possible values")
    })
}

/// A parser of the levels that this processor has, by their names in lower case.
pub(crate) fn simd_level(text: &str) -> Result<SimdLevel, String> {
    let name = |level: &SimdLevel| format!("{level:?}").to_lowercase();
    let levels = SimdLevel::available();
    levels.iter().copied().find(|level| name(level) == text).ok_or_else(|| {
        let names: Vec<_> = levels.iter().map(name).collect();
        format!("this processor has {}", names.join(", "))
    })
}
