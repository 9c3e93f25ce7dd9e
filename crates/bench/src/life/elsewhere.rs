//! The time of connectome evaluation on machines that are not here; cards are in `cards`.
//!
//! Machines such as this share the entries; a sum goes over the processes of each, then over the machines by
//! halves (a reduce-scatter and an all-gather: twice the vector's bytes over each link, less the part that
//! stays, and two times log2 of their number messages after each other).

use clap::Args;
use fimbria_cluster::Link;
use fimbria_pipeline::options::{Described as _, above, within};

use super::super::table::{Table, digits, number};
use super::plan::{Machine, Trial, passes_of_link, sums};
use crate::{Console, Failure, usage};

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
    pub(super) card: Option<Vec<f64>>,
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

/// Messages of a sum after each other.
fn messages(machines: usize) -> f64 {
    2.0 * (machines as f64).log2().ceil()
}

impl Network {
    /// As a sum over `machines`, more than one, takes.
    fn measured(link: Link, machines: usize) -> Self {
        let (latency, per_byte) =
            (link.latency / messages(machines), link.per_byte / passes_of_link(machines));
        Self { latency, per_byte }
    }

    /// A sum over `machines`.
    fn over(self, machines: usize) -> Link {
        Link {
            latency: messages(machines) * self.latency,
            per_byte: passes_of_link(machines) * self.per_byte,
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
        let given = Network { latency: 1e-6 * 20.0, per_byte: 1e-9 / 3.0 };
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
}
