//! The time of connectome evaluation on cards that are not here, and on the one that is.
//!
//! Cards of one machine share the entries; of each product weights go up and sums come down, all cards at a time,
//! and the host adds the sums.

use fimbria_compute::Backend;
use fimbria_compute::comm::Solo;
use fimbria_compute::operator::{LinearOperator as _, Operator as _, VectorSpace as _};
use fimbria_life::{Atoms, Rank};

use super::super::clock::{Interruptible, best};
use super::super::table::{Table, digits, number, words};
use super::plan::{PRODUCTS, Trial, passes};
use super::products::Work;
use super::synthetic::Size;
use super::{RANKS, made, system};
use crate::{Console, Failure};

/// What part of its memory's bandwidth a product is taken to attain on a card that is not here.
const ATTAINED: f64 = 0.5;
/// Seconds that a host waits for a card at least, twice a product: for a launch to begin, and for its end.
const WAIT: f64 = 20e-6;
/// Numbers of cards that are planned for.
const CARDS: [usize; 4] = [1, 2, 4, 8];

/// Cards that share the entries.
pub(super) struct Cards {
    name: String,
    /// Bytes of a product's work that one gets done in a second.
    bytes_per_second: f64,
    /// Bytes between it and the host in a second; infinite where the rate has it.
    bus: f64,
    /// Seconds that the host waits at least, twice a product; none where the rate has it.
    wait: f64,
    /// How many there are.
    counts: &'static [usize],
}

impl Cards {
    /// The cards that are asked for, and the one that is here, by a problem of this size.
    pub(super) fn found(
        asked: Option<&[f64]>,
        size: Size,
        atoms: Atoms,
        on: &Backend<'_>,
        console: &dyn Console,
    ) -> Result<Vec<Self>, Failure> {
        let mut cards = Vec::new();
        if let Some(&[memory, bus]) = asked {
            cards.push(Self {
                name: format!("{memory} GB/s, {bus} GB/s"),
                bytes_per_second: 1e9 * ATTAINED * memory,
                bus: 1e9 * bus,
                wait: WAIT,
                counts: &CARDS,
            });
        }
        let Some(device) = on.devices.first() else { return Ok(cards) };
        let heard = Interruptible(console);
        let (problem, _) = made(size, atoms, on.workers, &Solo, console)?;
        let [_, short]: [Rank; 2] = RANKS;
        let system = system(&problem, short, on, &Solo)?;
        let one = Backend::new(on.workers, std::slice::from_ref(device));
        let product = system.product(&one, &heard);
        let x = vec![0.1; product.domain().len()];
        let mut g = product.domain().zeros()?;
        let time = best(console, || product.gradient(&x, &system.data, &mut g).map(drop))?;
        // Which part of it is transfers is not known, so that nothing can be said of several.
        cards.push(Self {
            name: device.info().name.clone(),
            bytes_per_second: 2.0 * Work::from_system(&system).bytes() / time.wall,
            bus: f64::INFINITY,
            wait: 0.0,
            counts: &CARDS[..1],
        });
        Ok(cards)
    }

    /// Seconds of all iterations on `n` of them: products, transfers and waits, and the host's.
    fn seconds(&self, trial: &Trial, host_bytes_per_second: f64, n: usize) -> [f64; 3] {
        let [applies, gradients] = PRODUCTS;
        let Trial { work, unknowns, .. } = trial;
        let products =
            (applies + 2.0 * gradients) * work.bytes() / (n as f64 * self.bytes_per_second);
        let up = (applies + gradients) * 4.0 * unknowns;
        let down = gradients * 8.0 * unknowns;
        let transfers = (up + down) / self.bus + (applies + gradients) * 2.0 * self.wait;
        let added = gradients * 8.0 * unknowns * n as f64 / host_bytes_per_second;
        [products, transfers, added + passes(*unknowns, host_bytes_per_second)]
    }

    /// The time for some numbers of each.
    pub(super) fn report(
        all: &[Self],
        trial: &Trial,
        host_bytes_per_second: f64,
        console: &dyn Console,
    ) -> Result<(), Failure> {
        if all.is_empty() {
            return Ok(());
        }
        let columns = [
            words("card", 24),
            number("cards", 5),
            number("predicted s", 11),
            number("products", 8),
            number("transfers", 9),
            number("host", 8),
        ];
        let table = Table::begin(console, columns)?;
        for cards in all {
            for &n in cards.counts {
                let parts = cards.seconds(trial, host_bytes_per_second, n);
                let cells = [parts.iter().sum(), parts[0], parts[1], parts[2]].map(digits);
                table.row([vec![cards.name.clone(), n.to_string()], cells.to_vec()].concat())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_share_products_and_the_host_adds_what_each_hands_down() {
        let work = Work::of(1e6, 8.0, 1e3, 1e4);
        let trial = Trial { work, unknowns: 1e5, seconds: 0.0, products: 0.0 };
        let cards = Cards {
            name: String::new(),
            bytes_per_second: 1e11,
            bus: 1e10,
            wait: WAIT,
            counts: &CARDS,
        };
        let [one, four] = [1, 4].map(|n| cards.seconds(&trial, 1e10, n));
        let [applies, gradients] = PRODUCTS;
        // 12 bytes an entry, 4 of each number of a voxel, 8 of a streamline in a block; gradients twice.
        let bytes = 12e6 + 32e3 + 80e3;
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12 * b;
        assert!(close(one[0], (applies + 2.0 * gradients) * bytes / 1e11), "{one:?}");
        assert!(close(4.0 * four[0], one[0]), "{one:?} {four:?}");
        let moved = (applies * 4.0 + gradients * 12.0) * 1e5;
        assert!(close(one[1], moved / 1e10 + (applies + gradients) * 40e-6), "{one:?}");
        assert!(close(four[1], one[1]), "{one:?} {four:?}");
        assert!(close(four[2] - one[2], gradients * 8.0 * 3e5 / 1e10), "{one:?} {four:?}");
    }
}
