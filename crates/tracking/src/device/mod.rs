//! Streamlines on a device: one sample per item, the oracle's operations and so its bits.
//!
//! Samples, seeds and regions are on the device once, for launches on any of its queues. A launch makes
//! streamlines, which regions and the loop check end on the way, and judges them; a second kernel counts those
//! that are kept. What comes back is how they ended, the counts, and of each that is kept the voxels with places
//! that it meets where a matrix is made of them; points only of those that somebody asks for. Points stand
//! beside those of neighbouring items, so that items that move together write together; before they are handed
//! back they are moved together, so that the host sees no unused room. Counts are of one launch: one that fails
//! leaves nothing behind.
//!
//! Where a surface is among the regions, or a warp leads to the seed space, all points come back, and the threads
//! judge and count as they do for lanes.

mod gather;
mod given;
mod labels;
mod made;
mod places;
mod plan;
mod source;
mod work;

use std::ops::Range;
use std::sync::Arc;

use fimbria_compute::device::{Argument, Buffer, Device, DeviceError, Kernel, Launch};

pub(crate) use gather::Gather;
use gather::grown;
pub(crate) use given::Given;
use given::by_axis;
pub(crate) use made::Made;
use made::{IS_KEPT, add_up};
pub(crate) use plan::MemoryPlan;
pub(crate) use source::source;
pub(crate) use work::{Work, can_judge};

use crate::counts::Joined;
use crate::met::Passage;
use crate::needs::Points;

/// Device memory of launches, kept from one to the next.
#[derive(Default)]
struct Room {
    starts: Option<Buffer<f32>>,
    points: Option<Buffer<f32>>,
    runs: Option<Buffer<u32>>,
    runs_elsewhere: Option<Buffer<u32>>,
    blocks: Option<Buffer<u32>>,
    ends: Option<Buffer<u32>>,
    kept: Option<Buffer<u32>>,
    network: Option<Buffer<u32>>,
    visits: Option<Buffer<u32>>,
    tables: Option<Buffer<u32>>,
    joined: Option<Buffer<u32>>,
    reached: Option<Buffer<u32>>,
    products: Option<Buffer<u32>>,
    met: Option<Buffer<u32>>,
    returns: Option<Buffer<u32>>,
}

/// The tracker of one job on one queue of a device.
pub(crate) struct DeviceTracker {
    device: Device,
    track: Kernel,
    count: Kernel,
    gather: Gather<[f32; 3]>,
    pack: Gather<Passage>,
    counted_at_once: usize,
    given: Arc<Given>,
    room: Room,
    made: Made,
}

impl DeviceTracker {
    /// For a queue of the device that a job was given to.
    ///
    /// # Errors
    /// Where the device refuses the kernel.
    pub(crate) fn new(
        device: &Device,
        given: Arc<Given>,
        work: &Work<'_>,
        plan: &MemoryPlan,
    ) -> Result<Self, DeviceError> {
        let source = source(work, plan);
        Ok(Self {
            device: device.clone(),
            track: device.kernel(&source, "track")?,
            count: device.kernel(&source, "count")?,
            gather: Gather::new(device.kernel(&source, "gather")?, plan.points_per_read),
            pack: Gather::new(device.kernel(&source, "pack")?, plan.met_per_read),
            counted_at_once: plan.counted_at_once,
            given,
            room: Room::default(),
            made: Made::default(),
        })
    }

    /// Makes the samples of a range, counted through all seeds. `starts`: where each starts, in voxels of the
    /// samples, for work to which they [are given](Work::starts_are_given).
    pub(crate) fn make(
        &mut self,
        work: &Work<'_>,
        samples: Range<u64>,
        starts: &[[f32; 3]],
    ) -> Result<&Made, DeviceError> {
        let n = (samples.end - samples.start) as usize;
        self.made.n = n;
        self.track(work, samples.clone(), n, starts)?;
        if work.counts.is_some() {
            self.count(work, samples.clone(), n)?;
        }
        let made = &mut self.made;
        if let Some(ends) = &self.room.ends {
            read(ends, 4 * n, &mut made.ends)?;
        }
        // Who counts on the device counts the network there.
        let n_network = if work.counts.is_some() { 0 } else { work.n_network() };
        if let Some(network) = &self.room.network {
            read(network, n_network * n, &mut made.network)?;
        }
        if work.counts.is_some() {
            add_up(made, work, samples);
        }
        if work.places.is_some() {
            self.hand_back_met(n)?;
        }
        self.hand_back(work, n)?;
        Ok(&self.made)
    }

    /// Makes streamlines and judges them.
    fn track(
        &mut self,
        work: &Work<'_>,
        samples: Range<u64>,
        n: usize,
        starts: &[[f32; 3]],
    ) -> Result<(), DeviceError> {
        let half = work.tracking.propagation.half_points() as usize;
        let (room, device) = (&mut self.room, &self.device);
        let starts_at = match work.starts_are_given() {
            true => {
                let buffer = grown(&mut room.starts, device, 3 * n)?;
                buffer.write(0, &by_axis(starts.iter().copied()))?;
                &*buffer
            }
            false => &self.given.places,
        };
        let of_points = if work.points == Points::None { 0 } else { 6 * half * n };
        let of_blocks = if work.tracking.propagation.loop_check { 4 * half * n } else { 0 };
        let points = grown(&mut room.points, device, of_points)?;
        let runs = grown(&mut room.runs, device, 2 * half * work.run_words() * n)?;
        let of_elsewhere = 2 * half * work.run_words_elsewhere() * n;
        let runs_elsewhere = grown(&mut room.runs_elsewhere, device, of_elsewhere)?;
        let blocks = grown(&mut room.blocks, device, of_blocks)?;
        let ends = grown(&mut room.ends, device, 8 * n)?;
        let kept = grown(&mut room.kept, device, 1 + n)?;
        let network = grown(&mut room.network, device, work.n_network() * n)?;
        ends.fill_zero()?;
        kept.fill_zero()?;
        let mut arguments: Vec<Argument> = vec![
            (n as u64).into(),
            samples.start.into(),
            work.tracking.rng_seed.into(),
            (&self.given.slot_plus_1).into(),
            (&self.given.seeds).into(),
            starts_at.into(),
            (&self.given.labels).into(),
            points.into(),
            runs.into(),
            runs_elsewhere.into(),
            blocks.into(),
            ends.into(),
            kept.into(),
            network.into(),
        ];
        arguments.extend(self.given.sticks.iter().map(Argument::from));
        // SAFETY: the kernel's parameters. Seeds, their places and the bits of regions are those of the work, the
        // slots and the parts of the sticks those of its field and of the plan, that the kernel was
        // specialised for; starts, where they are given, have three numbers for every item. What is
        // written has room for two halves of the longest of every item: points and runs for each
        // point, blocks for each point of one half, eight ends, those that are kept and their number, and
        // each region of the network.
        unsafe { self.track.launch(Launch::items(n), &arguments) }
    }

    /// Counts those that are kept.
    fn count(&mut self, work: &Work<'_>, samples: Range<u64>, n: usize) -> Result<(), DeviceError> {
        let (room, device) = (&mut self.room, &self.device);
        let (seeds, n_voxels) = (work.seeds_of(samples.clone()), work.tracking.space.grid().len());
        let n_reached = work.n_targets() * seeds.len();
        let n_items = n.min(self.counted_at_once);
        let tables = grown(&mut room.tables, device, work.table_slots() * n_items)?;
        let visits = grown(&mut room.visits, device, work.visit_words())?;
        let joined = grown(&mut room.joined, device, work.network_words())?;
        let reached = grown(&mut room.reached, device, 3 * n_reached)?;
        let products = grown(&mut room.products, device, work.product_words())?;
        let of_places = if work.places.is_some() { n } else { 0 };
        let met = grown(&mut room.met, device, 2 * of_places)?;
        let returns = grown(&mut room.returns, device, of_places)?;
        for sums in
            [&mut *visits, &mut *joined, &mut *reached, &mut *products, &mut *met, &mut *returns]
        {
            sums.fill_zero()?;
        }
        let (Some(runs), Some(runs_elsewhere), Some(ends), Some(kept), Some(network)) =
            (&room.runs, &room.runs_elsewhere, &room.ends, &room.kept, &room.network)
        else {
            return Ok(());
        };
        let [places, places_elsewhere] = &self.given.places_at;
        let arguments: [Argument; 20] = [
            (n as u64).into(),
            (n_items as u64).into(),
            samples.start.into(),
            (seeds.len() as u64).into(),
            (&self.given.seeds).into(),
            (&self.given.labels).into(),
            places.into(),
            places_elsewhere.into(),
            runs.into(),
            runs_elsewhere.into(),
            ends.into(),
            kept.into(),
            network.into(),
            tables.into(),
            (&mut *visits).into(),
            (&mut *products).into(),
            (&mut *joined).into(),
            (&mut *reached).into(),
            met.into(),
            returns.into(),
        ];
        // SAFETY: the kernel's parameters. Runs, ends, kept items and the network are what `track` has written for
        // `n` items; tables have the slots of the most runs for each of `n_items`; visits and products have the words of every voxel, pairs those of all regions of the
        // network, and targets those of all seeds of these samples; bits of places are those of the work; met ones
        // have two numbers of every item, returns one.
        unsafe { self.count.launch(Launch::items(n_items), &arguments)? };
        let counts = &mut self.made.counts;
        counts.seeds = seeds;
        read_joined(visits, n_voxels, work.visit_words(), &mut counts.visits)?;
        let n_pairs = work.network_words() / 3;
        read_joined(joined, n_pairs, 3 * n_pairs, &mut counts.network)?;
        read(products, work.product_words(), &mut counts.products)?;
        read_joined(reached, n_reached, 3 * n_reached, &mut counts.targets)
    }

    /// Reads which places were met.
    fn hand_back_met(&mut self, n: usize) -> Result<(), DeviceError> {
        let Made { met, met_firsts, .. } = &mut self.made;
        let Room { runs, runs_elsewhere, ends, met: counts, returns, .. } = &self.room;
        let (Some(runs), Some(elsewhere), Some(ends)) = (runs, runs_elsewhere, ends) else {
            return Ok(());
        };
        let (Some(counts), Some(returns)) = (counts, returns) else { return Ok(()) };
        let mut n_met = Vec::new();
        read(counts, 2 * n, &mut n_met)?;
        met_firsts.clear();
        met_firsts.push(0);
        met_firsts.extend(n_met.iter().scan(0, |sum, count| {
            *sum += u64::from(*count);
            Some(*sum)
        }));
        let from = [runs.into(), elsewhere.into(), ends.into(), returns.into()];
        // SAFETY: `pack` is the kernel of that name, and how many each item has met on either grid is what `count`
        // has written.
        unsafe { self.pack.read(&self.device, &from, n, met_firsts, met) }
    }

    /// Reads the points that are asked for.
    fn hand_back(&mut self, work: &Work<'_>, n: usize) -> Result<(), DeviceError> {
        let Made { ends, points, firsts, .. } = &mut self.made;
        firsts.clear();
        let Some(from) = self.room.points.as_ref().filter(|_| work.points != Points::None) else {
            return Ok(());
        };
        firsts.push(0);
        let (counts, reasons) = ends.split_at(2 * n);
        let all = work.points == Points::All;
        firsts.extend(counts.iter().zip(reasons).scan(0, |sum, (count, reason)| {
            *sum += if all || reason & IS_KEPT != 0 { u64::from(*count) } else { 0 };
            Some(*sum)
        }));
        // SAFETY: `gather` is the kernel of that name, and the places of halves are those that `track` has written.
        unsafe { self.gather.read(&self.device, &[from.into()], n, firsts, points) }
    }
}

/// The first `len` numbers of a buffer; the memory of earlier ones is used again.
fn read(from: &Buffer<u32>, len: usize, to: &mut Vec<u32>) -> Result<(), DeviceError> {
    to.resize(len, 0);
    from.read(0, to)
}

fn read_joined(
    from: &Buffer<u32>,
    n: usize,
    words: usize,
    to: &mut Joined,
) -> Result<(), DeviceError> {
    to.n = n;
    read(from, words, &mut to.words)
}
