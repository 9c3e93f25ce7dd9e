//! What the help of `fimbria qsm` says of its methods, from what each says of itself.

use super::convergence::VARIATION;
use super::inversion::{Devices, Facts};
use super::ways::{OF_PHASE, WAYS, words_of_strength};
use crate::columns::{row, wrapped};
use crate::options::list;

/// The column that texts begin at.
const INDENT: usize = 12;

/// Of `--two-pass`.
const TWO_PASSES: &str = "Stewart AW et al. Magn Reson Med 87, 1289 (2022)";

fn all() -> impl Iterator<Item = &'static Facts> {
    WAYS.iter().map(|(method, ..)| method.facts())
}

fn names(is: impl Fn(&Facts) -> bool) -> String {
    let names: Vec<_> = all().filter(|facts| is(facts)).map(|facts| facts.name).collect();
    list(&names)
}

/// The names of the methods that several processes share.
pub fn of_processes() -> String {
    names(|facts| facts.can.processes.is_some())
}

/// What each method minimises or does.
pub fn methods() -> String {
    let mut text = String::new();
    for facts in all().filter(|facts| !facts.details.is_empty()) {
        row(&mut text, facts.name, facts.details, INDENT);
    }
    let names = names(|facts| facts.columns == VARIATION && facts.can.weights);
    wrapped(&mut text, &format!("By default {} of {names}.", words_of_strength()), 2, 2);
    text.trim_end().to_owned()
}

/// Which devices a method runs on.
pub fn devices() -> String {
    let mut text = String::new();
    for facts in all() {
        if let Devices::Shared(what) = facts.can.devices {
            row(&mut text, facts.name, &format!("shares {what}"), INDENT);
        }
    }
    let (first, none) = (
        names(|facts| facts.can.devices == Devices::First),
        names(|facts| facts.can.devices == Devices::None),
    );
    let others = format!(
        "{first} run on the first device. {none} run on threads, and refuse a device that is named. \
         `--device auto` leaves volumes of less than 2 million voxels, padding included, to the threads."
    );
    wrapped(&mut text, &others, 2, 2);
    text.trim_end().to_owned()
}

/// What several processes share.
pub fn processes() -> String {
    let mut text = String::new();
    for facts in all() {
        if let Some(what) = facts.can.processes {
            row(&mut text, facts.name, what, INDENT);
        }
    }
    text.trim_end().to_owned()
}

/// What the methods rest on, and for which.
pub fn references() -> String {
    let mut cited: Vec<(&str, Vec<&str>)> = Vec::new();
    let of_methods =
        all().flat_map(|facts| facts.references.iter().map(|cited| (*cited, facts.name)));
    let of_options = [(OF_PHASE, "--data phase"), (TWO_PASSES, "--two-pass")];
    for (citation, of) in of_methods.chain(of_options) {
        match cited.iter_mut().find(|(other, _)| *other == citation) {
            Some((_, users)) => users.push(of),
            None => cited.push((citation, vec![of])),
        }
    }
    let mut text = String::new();
    for (citation, users) in cited {
        wrapped(&mut text, &format!("{citation}: {}", users.join(", ")), 2, 4);
    }
    text.trim_end().to_owned()
}
