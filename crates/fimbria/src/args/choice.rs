//! clap's view of a [`Choice`].

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fimbria_pipeline::{Choice, Named};

/// A parser of the names of a choice, which lists them in the help.
pub(crate) fn choice<T: Choice>() -> impl TypedValueParser<Value = Named<T>> {
    let values = T::CHOICES.iter().map(|(_, name, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(values).try_map(|name| {
        // Only listed names come through.
        T::from_name(&name).map(Named).ok_or("not one of the possible values")
    })
}
