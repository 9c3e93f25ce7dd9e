//! How processes add up.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fimbria_cluster::Exchange;

/// A parser of the names of exchanges, which lists them in the help.
pub(crate) fn exchange() -> impl TypedValueParser<Value = Exchange> {
    let values = Exchange::ALL.map(|(_, name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).try_map(|name| {
        let found = Exchange::ALL.iter().find(|(_, other, _)| *other == name);
        // Only listed names come through.
        found.map(|(exchange, ..)| *exchange).ok_or("not one of the possible values")
    })
}
