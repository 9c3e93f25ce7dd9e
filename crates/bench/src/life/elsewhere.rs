//! The time of connectome evaluation on machines and cards that are not here.
//!
//! Machines such as this share the entries; a sum goes over the processes of each, then over the machines by
//! halves (a reduce-scatter and an all-gather: twice the vector's bytes over each link, less the part that
//! stays, and two times log2 of their number messages after each other). Cards of one machine share the entries
//! too; of each product weights go up and sums come down, all cards at a time, and the host adds the sums.

use clap::Args;
use fimbria_cluster::Link;
use fimbria_compute::Backend;
use fimbria_compute::comm::Solo;
use fimbria_compute::operator::{LinearOperator as _, Operator as _, VectorSpace as _};
use fimbria_life::{Atoms, Rank};
use fimbria_pipeline::options::{Described as _, above, within};

use super::super::clock::{Interruptible, best};
use super::super::table::{Table, digits, number, words};
use super::plan::{Machine, PRODUCTS, Trial, passes, sums};
use super::products::Work;
use super::synthetic::Size;
use super::{RANKS, made, system};
use crate::{Console, Failure, usage};

/// What part of its memory's bandwidth a product is taken to attain on a card that is not here.
const ATTAINED: f64 = 0.5;
/// Seconds that a host waits for a card at least, twice a product: for a launch to begin, and for its end.
const WAIT: f64 = 20e-6;
/// Numbers of cards that are planned for.
const CARDS: [usize; 4] = [1, 2, 4, 8];

/// Machines and cards that are planned for.
#[derive(Clone, Debug, Args)]
pub(super) struct Elsewhere {
    /// Plan for up to so many machines such as this
    #[arg(long, value_name = "N", default_value_t = 1, requires = "plan")]
    #[arg(number = within(1_usize, 4096, ""))]
    pub(super) machines: usize,

    /// What a message between these machines takes: its latency in µs, and GB/s
    #[arg(long, value_names = ["US", "GB/S"], num_args = 2, requires = "machines")]
    #[arg(usually = "measured, under mpirun on several machines")]
    #[arg(number = above(0.0, ""))]
    network: Option<Vec<f64>>,

    /// Plan for cards: GB/s of a card's memory, and GB/s between it and the host, such as 3350 50
    #[arg(long, value_names = ["GB/S", "BUS"], num_args = 2, requires = "plan")]
    #[arg(usually = "only such as the first device here")]
    #[arg(number = above(0.0, ""))]
    card: Option<Vec<f64>>,
}

impl Elsewhere {
    /// What is between machines, given or as `link` was measured on `machines_here`; `None` where one is planned
    /// for.
    ///
    /// # Errors
    /// Where several are planned for and this is not known.
    pub(super) fn network(
        &self,
        machines_here: usize,
        link: Link,
    ) -> Result<Option<Network>, Failure> {
        match self.network.as_deref() {
            _ if self.machines == 1 => Ok(None),
            Some(&[microseconds, gigabytes]) => {
                let (latency, per_byte) = (1e-6 * microseconds, 1e-9 / gigabytes);
                Ok(Some(Network { latency, per_byte }))
            }
            _ if machines_here > 1 => Ok(Some(Network::measured(link, machines_here))),
            _ => Err(usage(
                "what a message between machines takes is not known: give --network, as in \
                 --network 20 3, or start this on several by mpirun",
            )),
        }
    }
}

/// What a message from machine to machine takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Network {
    /// Seconds.
    latency: f64,
    /// Seconds.
    per_byte: f64,
}

/// Messages of a sum after each other, and how often its bytes pass each link.
fn messages_and_passes(machines: usize) -> [f64; 2] {
    let n = machines as f64;
    [2.0 * n.log2().ceil(), 2.0 * (1.0 - 1.0 / n)]
}

impl Network {
    /// As a sum over `machines`, more than one, takes.
    fn measured(link: Link, machines: usize) -> Self {
        let [messages, passes] = messages_and_passes(machines);
        Self { latency: link.latency / messages, per_byte: link.per_byte / passes }
    }

    /// A sum over `machines`.
    fn over(self, machines: usize) -> Link {
        let [messages, passes] = messages_and_passes(machines);
        Link {
            latency: messages * self.latency,
            per_byte: passes * self.per_byte,
            processes: machines,
        }
    }
}

/// Machines such as this.
pub(super) struct Fleet<'a> {
    pub(super) machine: &'a Machine,
    pub(super) trial: &'a Trial,
    pub(super) network: Network,
}

impl Fleet<'_> {
    /// Seconds on so many machines, and those of sums between them.
    fn seconds(&self, machines: usize) -> [f64; 2] {
        let Machine { model, .. } = self.machine;
        let Trial { work, unknowns, .. } = self.trial;
        let between = sums(*unknowns, &self.network.over(machines));
        let within = model.products(work, 1.0 / machines as f64)
            + model.rest(*unknowns, &self.machine.link());
        [within + between, between]
    }

    /// The time for every power of two of machines up to `most`, and up to how many pay.
    pub(super) fn report(&self, most: usize, console: &dyn Console) -> Result<(), Failure> {
        let columns = [
            number("machines", 8),
            number("predicted s", 11),
            number("sums s", 8),
            number("ratio", 6),
        ];
        let table = Table::begin(console, columns)?;
        let [alone, _] = self.seconds(1);
        let (mut pay, mut fewer, mut before) = (1, 1, alone);
        for machines in doubled(most) {
            let [seconds, between] = self.seconds(machines);
            let cells = [digits(seconds), digits(between), digits(alone / seconds)];
            table.row([vec![machines.to_string()], cells.to_vec()].concat())?;
            // What would be saved if nothing but products took time, and the least of it that pays.
            let at_best = 1.0 - fewer as f64 / machines as f64;
            if machines > 1 && seconds <= before * (1.0 - 0.5 * at_best) {
                pay = machines;
            }
            (fewer, before) = (machines, seconds);
        }
        let Machine { processes, threads, .. } = self.machine;
        console.print(&match pay {
            1 => "use one machine: a second saves less than half of what it could\n".to_owned(),
            _ => format!(
                "up to {pay} machines each step saves half of what it could: mpirun --bind-to none -n {} with \
                 --threads {threads}\n",
                pay * processes
            ),
        })
    }
}

/// 1, 2, 4, … and `most` itself.
fn doubled(most: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> =
        std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|n| *n < most).collect();
    numbers.push(most);
    numbers
}

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
        elsewhere: &Elsewhere,
        size: Size,
        atoms: Atoms,
        on: &Backend<'_>,
        console: &dyn Console,
    ) -> Result<Vec<Self>, Failure> {
        let mut cards = Vec::new();
        if let Some(&[memory, bus]) = elsewhere.card.as_deref() {
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
    fn a_network_passes_twice_a_vector_less_what_stays() {
        let network = Network { latency: 10e-6, per_byte: 1e-9 };
        let link = network.over(4);
        // Two times two messages after each other; 2 * 3/4 of a nanosecond a byte.
        assert!((link.latency - 40e-6).abs() < 1e-18, "{link:?}");
        assert!((link.per_byte - 1.5e-9).abs() < 1e-24, "{link:?}");
        let alone = network.over(1);
        assert_eq!((alone.latency, alone.per_byte), (0.0, 0.0));
        let measured = Network::measured(link, 4);
        assert!((measured.latency / network.latency - 1.0).abs() < 1e-15, "{measured:?}");
        assert!((measured.per_byte / network.per_byte - 1.0).abs() < 1e-15, "{measured:?}");
    }

    #[test]
    fn what_is_between_several_machines_is_given_or_measured() {
        let measured = Link { latency: 80e-6, per_byte: 1.5e-9, processes: 8 };
        let of = |machines, network: Option<Vec<f64>>, here| {
            Elsewhere { machines, network, card: None }.network(here, measured)
        };
        assert_eq!(of(1, None, 1).unwrap(), None);
        let given = Network { latency: 20e-6, per_byte: 1e-9 / 3.0 };
        assert_eq!(of(8, Some(vec![20.0, 3.0]), 4).unwrap(), Some(given));
        assert_eq!(of(8, None, 4).unwrap(), Some(Network::measured(measured, 4)));
        assert!(of(8, None, 1).unwrap_err().to_string().contains("--network"));
    }

    #[test]
    fn machines_double_up_to_those_that_are_asked_for() {
        assert_eq!(doubled(1), [1]);
        assert_eq!(doubled(8), [1, 2, 4, 8]);
        assert_eq!(doubled(12), [1, 2, 4, 8, 12]);
    }

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
