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
use super::super::table::{Table, digits, number};
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
    machines: usize,

    /// What a message between these machines takes: its latency in µs, and GB/s
    #[arg(long, value_names = ["US", "GB/S"], num_args = 2, requires = "plan")]
    #[arg(usually = "measured, under mpirun on several machines")]
    #[arg(number = above(0.0, ""))]
    network: Option<Vec<f64>>,

    /// Plan for cards: GB/s of a card's memory, and GB/s between it and the host, such as 3350 50
    #[arg(long, value_names = ["GB/S", "BUS"], num_args = 2, requires = "plan")]
    #[arg(usually = "measured, where there is a device")]
    #[arg(number = above(0.0, ""))]
    card: Option<Vec<f64>>,
}

impl Elsewhere {
    /// # Errors
    /// Where several machines are asked for, and what is between them is not known.
    pub(super) fn check(&self, machines_here: usize) -> Result<(), Failure> {
        if self.machines > 1 && self.network.is_none() && machines_here == 1 {
            return Err(usage(
                "what a message between machines takes is not known: give --network, as in \
                 --network 20 3, or start this on several by mpirun",
            ));
        }
        Ok(())
    }
}

/// Machines such as this.
pub(super) struct Fleet<'a> {
    pub(super) machine: Machine,
    pub(super) trial: &'a Trial,
    /// Machines that work on this now.
    pub(super) machines_here: usize,
    /// What a sum over all processes that work on this takes.
    pub(super) link: Link,
}

impl Fleet<'_> {
    /// Bytes of a machine's memory in a second.
    pub(super) fn memory(&self) -> f64 {
        self.machine.model.attained.memory()
    }

    /// What is between machines: given, or as measured.
    fn between(&self, elsewhere: &Elsewhere, machines: usize) -> Link {
        match elsewhere.network.as_deref() {
            Some(&[microseconds, gigabytes]) => {
                network(1e-6 * microseconds, 1e9 * gigabytes, machines)
            }
            _ if self.machines_here > 1 => {
                let Link { latency, per_byte, .. } = self.link;
                let [here, there] = [self.machines_here, machines].map(|n| n as f64);
                let messages = here.log2().ceil().max(1.0);
                let stays = |n: f64| 1.0 - 1.0 / n;
                Link {
                    latency: latency / messages * there.log2().ceil(),
                    per_byte: per_byte / stays(here) * stays(there),
                    processes: machines,
                }
            }
            _ => network(0.0, f64::INFINITY, machines),
        }
    }

    /// Seconds on so many machines, and those of sums between them.
    fn seconds(&self, elsewhere: &Elsewhere, machines: usize) -> [f64; 2] {
        let Machine { model, .. } = &self.machine;
        let Trial { work, unknowns, .. } = self.trial;
        let between = sums(*unknowns, &self.between(elsewhere, machines));
        let within = model.products(work, 1.0 / machines as f64)
            + model.rest(*unknowns, &self.machine.link());
        [within + between, between]
    }

    /// The time for every power of two of machines, and up to how many pay.
    pub(super) fn report(
        &self,
        elsewhere: &Elsewhere,
        console: &dyn Console,
    ) -> Result<(), Failure> {
        if elsewhere.machines == 1 {
            return Ok(());
        }
        let columns = [
            number("machines", 8),
            number("predicted s", 11),
            number("sums s", 8),
            number("ratio", 6),
        ];
        let table = Table::begin(console, columns)?;
        let [alone, _] = self.seconds(elsewhere, 1);
        let mut pay = 1;
        let mut before = alone;
        for machines in doubled(elsewhere.machines) {
            let [seconds, between] = self.seconds(elsewhere, machines);
            let cells = [digits(seconds), digits(between), digits(alone / seconds)];
            table.row([vec![machines.to_string()], cells.to_vec()].concat())?;
            // Twice the machines are to save a quarter of the time at least.
            if machines > 1 && seconds < 0.75 * before {
                pay = machines;
            }
            before = seconds;
        }
        let Machine { processes, threads, .. } = self.machine;
        let advice = if pay == 1 {
            "use one machine: twice as many save less than a quarter of the time\n".to_owned()
        } else {
            let all = pay * processes;
            format!(
                "up to {pay} machines each doubling saves a quarter of the time: mpirun --bind-to none \
                 -n {all} with --threads {threads}\n"
            )
        };
        console.print(&advice)
    }
}

/// A link over `machines` whose messages take this latency, and pass so many bytes in a second.
fn network(latency: f64, bytes_per_second: f64, machines: usize) -> Link {
    let n = machines as f64;
    Link {
        latency: 2.0 * n.log2().ceil() * latency,
        per_byte: 2.0 * (1.0 - 1.0 / n) / bytes_per_second,
        processes: machines,
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
}

impl Cards {
    /// The cards that are asked for, and those that are here, by a problem of this size.
    pub(super) fn found(
        elsewhere: &Elsewhere,
        size: Size,
        atoms: Atoms,
        on: &Backend<'_>,
        console: &dyn Console,
    ) -> Result<Vec<Self>, Failure> {
        let mut cards = Vec::new();
        if let Some(&[memory, bus]) = elsewhere.card.as_deref() {
            let name =
                format!("cards of {memory} GB/s, of which a product is taken to attain half");
            cards.push(Self { name, bytes_per_second: 1e9 * ATTAINED * memory, bus: 1e9 * bus });
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
        cards.push(Self {
            name: format!("such as {}, as measured with the transfers", device.info().name),
            bytes_per_second: 2.0 * Work::from_system(&system).bytes() / time.wall,
            bus: f64::INFINITY,
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
        let transfers = (up + down) / self.bus + (applies + gradients) * 2.0 * WAIT;
        let added = gradients * 8.0 * unknowns * n as f64 / host_bytes_per_second;
        [products, transfers, added + passes(*unknowns, host_bytes_per_second)]
    }

    /// The time for some numbers of them.
    pub(super) fn report(
        &self,
        trial: &Trial,
        host_bytes_per_second: f64,
        console: &dyn Console,
    ) -> Result<(), Failure> {
        console.print(&format!("\n{}\n", self.name))?;
        let columns = [
            number("cards", 5),
            number("predicted s", 11),
            number("products", 8),
            number("transfers", 9),
            number("host", 8),
        ];
        let table = Table::begin(console, columns)?;
        for n in CARDS {
            let parts = self.seconds(trial, host_bytes_per_second, n);
            let cells = [parts.iter().sum(), parts[0], parts[1], parts[2]].map(digits);
            table.row([vec![n.to_string()], cells.to_vec()].concat())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_passes_twice_a_vector_less_what_stays() {
        let link = network(10e-6, 1e9, 4);
        // Two times two messages after each other; 2 * 3/4 of a nanosecond a byte.
        assert!((link.latency - 40e-6).abs() < 1e-18, "{link:?}");
        assert!((link.per_byte - 1.5e-9).abs() < 1e-24, "{link:?}");
        let alone = network(10e-6, 1e9, 1);
        assert_eq!((alone.latency, alone.per_byte), (0.0, 0.0));
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
        let cards = Cards { name: String::new(), bytes_per_second: 1e11, bus: 1e10 };
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
