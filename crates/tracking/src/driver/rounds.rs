//! Samples dealt to processes round by round; what they leave behind comes to the first process in
//! the order of seeds.

use std::ops::Range;

use fimbria_compute::comm::Comm;
use fimbria_compute::{Interrupted, Progress};

use super::Collected;
use crate::sample::{Collect, Parcel};

/// Who makes the samples of a process.
pub(super) trait Team<C: Collect> {
    /// The samples of all processes, counted through all seeds.
    fn all(&self) -> Range<u64>;

    /// Who hears how many of them are made.
    fn progress(&self) -> &dyn Progress;

    /// How many samples it takes at a time.
    fn unit(&self) -> u64;

    /// How many keep it busy. Finished ones wait for those before them, so that it takes no more.
    fn at_once(&self) -> u64;

    /// Makes every sample of `units`; the blocks of each, in order.
    fn make(&self, units: Vec<Range<u64>>) -> Result<Vec<Vec<C::Block>>, Interrupted>;

    /// Where everything was collected, and who made it.
    fn collected(self) -> Collected<C>;
}

/// Lets a team make all samples.
pub(super) fn in_one_process<C: Collect, E: From<Interrupted>>(
    team: impl Team<C>,
    mut each: impl FnMut(C::Block) -> Result<(), E>,
) -> Result<Collected<C>, E> {
    let unit = team.unit();
    for round in pieces(team.all(), team.at_once()) {
        let made = team.make(pieces(round, unit).collect())?;
        made.into_iter().flatten().try_for_each(&mut each)?;
    }
    Ok(team.collected())
}

/// Deals all samples to the teams of all processes. The first hands all blocks to `each`, and holds
/// no more than its own of a round and one of another's.
pub(super) fn among_processes<C: Parcel, E: From<Interrupted>>(
    team: impl Team<C>,
    comm: &dyn Comm,
    mut each: impl FnMut(C::Block) -> Result<(), E>,
) -> Result<Collected<C>, E> {
    let unit = largest(comm, team.unit());
    let each_at_once = largest(comm, team.at_once()).div_ceil(unit).saturating_mul(unit);
    let at_once = each_at_once.saturating_mul(comm.size() as u64);
    // Processes take turns, unit by unit, for streamlines of neighbours are of like lengths.
    for round in pieces(team.all(), at_once) {
        let units: Vec<_> = pieces(round, unit).collect();
        let mine = units.iter().skip(comm.rank()).step_by(comm.size());
        let mut mine = team.make(mine.cloned().collect())?.into_iter();
        for (unit, from) in units.into_iter().zip((0..comm.size()).cycle()) {
            if from == comm.rank() {
                let blocks = mine.next().unwrap_or_default();
                if from == 0 {
                    blocks.into_iter().try_for_each(&mut each)?;
                } else {
                    send(blocks.into_iter().map(C::pack), comm);
                }
            } else if comm.rank() == 0 {
                for _ in 0..number(&comm.to_first(Vec::new(), from)) {
                    each(C::unpack(&comm.to_first(Vec::new(), from)))?;
                }
                team.progress().advance(unit.end - unit.start);
            }
        }
    }
    Ok(team.collected())
}

/// `samples`, so many at a time.
pub(super) fn pieces(samples: Range<u64>, at_a_time: u64) -> impl Iterator<Item = Range<u64>> {
    let firsts = samples.clone().step_by(at_a_time as usize);
    firsts.map(move |first| first..first.saturating_add(at_a_time).min(samples.end))
}

/// To the first process: how many there are, then one after the other.
fn send(blocks: impl ExactSizeIterator<Item = Vec<u8>>, comm: &dyn Comm) {
    comm.to_first((blocks.len() as u64).to_le_bytes().to_vec(), comm.rank());
    for block in blocks {
        comm.to_first(block, comm.rank());
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// The largest of what the processes say.
fn largest(comm: &dyn Comm, mine: u64) -> u64 {
    comm.of_each(mine).into_iter().fold(0, u64::max)
}
