//! How processes add up.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fimbria_cluster::{Exchange, World};
use fimbria_compute::Progress as _;

use crate::console::Console;

/// The exchange that is asked for: this one, or `None` for the fastest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExchangeName(Option<Exchange>);

impl ExchangeName {
    /// Numbers of the vectors that exchanges are measured with: as many as streamlines, about.
    const NUMBERS: usize = 1 << 17;

    /// Lets `world` add up this way; one of the processes says which is the fastest.
    pub(crate) fn set(self, world: &mut World, console: &Console) {
        match self.0 {
            Some(exchange) => world.set_exchange(exchange),
            None => {
                let [(fastest, _), ..] = world.set_fastest_exchange(Self::NUMBERS);
                if world.comm().rank() == 0 {
                    console.note(&format!("sums by --exchange {}", fastest.name()));
                }
            }
        }
    }
}

/// A parser of the names of exchanges, which lists them in the help.
pub(crate) fn exchange() -> impl TypedValueParser<Value = ExchangeName> {
    const AUTO: (&str, &str) =
        ("auto", "the fastest of these as measured now, in a second or less");
    let named = Exchange::ALL.map(|(_, name, help)| PossibleValue::new(name).help(help));
    let values = named.into_iter().chain([PossibleValue::new(AUTO.0).help(AUTO.1)]);
    PossibleValuesParser::new(values).map(|name| {
        let found = Exchange::ALL.iter().find(|(_, other, _)| *other == name);
        ExchangeName(found.map(|(exchange, ..)| *exchange))
    })
}
