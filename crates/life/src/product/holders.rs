//! Who makes the products of which blocks: devices, each with its share, and the threads for what no device
//! has room for.

use std::ops::Range;
use std::sync::Arc;

use fimbria_compute::Progress;
use fimbria_compute::device::{Buffer, Device, DeviceError};
use fimbria_compute::queue::Shares;

use super::on_device::DevicePart;
use super::on_threads::Told;
use super::{Blocks, Kept};
use crate::Dictionary;

/// What parts are made of.
#[derive(Clone, Copy)]
pub(super) struct Whole<'a> {
    pub(super) blocks: &'a Blocks,
    pub(super) dictionary: &'a Dictionary,
    /// In the order of blocks.
    pub(super) signal: &'a [f32],
}

/// Some blocks on a device.
pub(super) struct Part {
    pub(super) blocks: Range<usize>,
    device: usize,
    pub(super) on_device: DevicePart,
    /// What it told of the product that is being made.
    pub(super) told: Option<Told>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It takes more blocks.
    Open,
    /// It has no room for more, and makes the products of those that it has.
    Full,
    /// It failed.
    GivenUp,
}

/// Blocks that somebody is to take, and the refusals that led to it.
struct Piece {
    blocks: Range<usize>,
    refused: Vec<usize>,
}

/// A refusal, and what became of it.
struct Refusal {
    error: DeviceError,
    /// True where the device took a part of its share.
    took_some: bool,
    /// Who has the rest.
    takers: Vec<String>,
}

/// Every block has one holder.
pub(super) struct Holders<'a> {
    whole: Whole<'a>,
    devices: &'a [Device],
    standing: Vec<Standing>,
    /// The dictionary on each device that has a part.
    columns: Vec<Option<Arc<Buffer<f32>>>>,
    parts: Vec<Part>,
    threads: Vec<Range<usize>>,
    progress: &'a dyn Progress,
    /// Devices that tests lose, and after how many calls.
    #[cfg(test)]
    pub(super) to_lose: std::sync::Mutex<Vec<(usize, usize)>>,
}

impl<'a> Holders<'a> {
    /// All blocks, with even shares of the entries for each of `devices`; `progress` hears of those that
    /// cannot have theirs.
    pub(super) fn new(whole: Whole<'a>, devices: &'a [Device], progress: &'a dyn Progress) -> Self {
        let mut holders = Self {
            whole,
            devices,
            standing: vec![Standing::Open; devices.len()],
            columns: vec![None; devices.len()],
            parts: Vec::new(),
            threads: Vec::new(),
            progress,
            #[cfg(test)]
            to_lose: std::sync::Mutex::default(),
        };
        let all = Piece { blocks: 0..whole.blocks.blocks.len(), refused: Vec::new() };
        holders.place(vec![all], Vec::new(), None);
        holders
    }

    /// The threads' blocks.
    pub(super) fn threads(&self) -> &[Range<usize>] {
        &self.threads
    }

    /// The devices' blocks.
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Entries that each device has, and the threads.
    pub(super) fn shares(&self) -> Shares {
        let entries = |blocks: &Range<usize>| self.whole.blocks.entries_of(blocks) as usize;
        let mut devices = vec![0; self.devices.len()];
        self.parts.iter().for_each(|part| devices[part.device] += entries(&part.blocks));
        Shares { devices, cpu: self.threads.iter().map(entries).sum() }
    }

    /// A new product begins: nobody has told anything of it.
    pub(super) fn begin(&mut self) {
        self.parts.iter_mut().for_each(|part| part.told = None);
    }

    /// Does `work` on every part, each device's on a host thread of its own, and `beside` on this one
    /// meanwhile. Gives the devices that failed; their other parts may be without it too.
    pub(super) fn on_all(
        &mut self,
        work: impl Fn(&mut Part) -> Result<(), DeviceError> + Sync,
        beside: impl FnOnce(),
    ) -> Vec<(usize, DeviceError)> {
        let mut by_device: Vec<Vec<&mut Part>> = self.devices.iter().map(|_| Vec::new()).collect();
        for part in &mut self.parts {
            by_device[part.device].push(part);
        }
        by_device.retain(|parts| !parts.is_empty());
        #[cfg(test)]
        let to_lose = &self.to_lose;
        let serve = |parts: Vec<&mut Part>| {
            for part in parts {
                #[cfg(test)]
                tests::lose(to_lose, part.device).map_err(|error| (part.device, error))?;
                work(part).map_err(|error| (part.device, error))?;
            }
            Ok(())
        };
        if by_device.len() <= 1 && self.threads.is_empty() {
            return by_device.into_iter().filter_map(|parts| serve(parts).err()).collect();
        }
        std::thread::scope(|scope| {
            let serve = &serve;
            let serving: Vec<_> =
                by_device.into_iter().map(|parts| scope.spawn(move || serve(parts))).collect();
            beside();
            let served = serving.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            served.filter_map(Result::err).collect()
        })
    }

    /// Hands what the devices that failed have to others, whose products are made with the columns `kept`.
    pub(super) fn hand_over(&mut self, failed: Vec<(usize, DeviceError)>, kept: Option<&Kept>) {
        let (mut pieces, mut refusals) = (Vec::new(), Vec::new());
        for (device, error) in failed {
            self.give_up(device, refusals.len(), &mut pieces);
            refusals.push(Refusal { error, took_some: false, takers: Vec::new() });
        }
        self.place(pieces, refusals, kept);
    }

    /// Takes all blocks from a device.
    fn give_up(&mut self, device: usize, refusal: usize, pieces: &mut Vec<Piece>) {
        self.standing[device] = Standing::GivenUp;
        self.columns[device] = None;
        for part in self.parts.extract_if(.., |part| part.device == device) {
            pieces.push(Piece { blocks: part.blocks, refused: vec![refusal] });
        }
    }

    /// Finds a holder for every piece, and warns of each refusal.
    fn place(&mut self, mut pieces: Vec<Piece>, mut refusals: Vec<Refusal>, kept: Option<&Kept>) {
        while let Some(piece) = pieces.pop() {
            let is_open = |device: &usize| self.standing[*device] == Standing::Open;
            let open: Vec<usize> = (0..self.devices.len()).filter(is_open).collect();
            if open.is_empty() {
                note_taker(&mut refusals, &piece, "the threads");
                self.threads.push(piece.blocks);
                continue;
            }
            let mut rest = piece.blocks.clone();
            for (at, &device) in open.iter().enumerate() {
                let share = rest.start..self.end_of_share(&rest, open.len() - at);
                rest.start = share.end;
                let refused = self.take(device, &share, kept, |blocks| {
                    let taken = Piece { blocks, refused: piece.refused.clone() };
                    note_taker(&mut refusals, &taken, &self.devices[device].info().name);
                });
                let Some((error, taken_up_to)) = refused else { continue };
                let took_some = taken_up_to > share.start;
                let refusal = refusals.len();
                refusals.push(Refusal { error, took_some, takers: Vec::new() });
                if self.standing[device] == Standing::GivenUp {
                    self.give_up(device, refusal, &mut pieces);
                }
                let refused = [&piece.refused[..], &[refusal]].concat();
                pieces.push(Piece { blocks: taken_up_to..share.end, refused });
            }
        }
        for Refusal { error, took_some, takers } in refusals {
            let takers = takers.join(" and ");
            self.progress.warn(&match took_some {
                true => format!("{error}; the rest of its part goes to {takers}"),
                false => format!("{error}; its part goes to {takers}"),
            });
        }
    }

    /// Where the first of `n` even shares of the entries ends, at the nearest end of a block.
    fn end_of_share(&self, blocks: &Range<usize>, n: usize) -> usize {
        if n == 1 {
            return blocks.end;
        }
        let entries = |end: usize| self.whole.blocks.entries_of(&(blocks.start..end));
        let share = entries(blocks.end).div_ceil(n as u64);
        let ends: Vec<usize> = blocks.clone().collect();
        let after = blocks.start + ends.partition_point(|end| entries(*end) < share);
        let before = after.saturating_sub(1).max(blocks.start);
        if share - entries(before).min(share) < entries(after) - share { before } else { after }
    }

    /// Puts as many of these blocks as it has room for on a device, of which `taken` hears. Gives why it did
    /// not take all of them, and up to where it did.
    fn take(
        &mut self,
        device: usize,
        share: &Range<usize>,
        kept: Option<&Kept>,
        taken: impl FnOnce(Range<usize>),
    ) -> Option<(DeviceError, usize)> {
        if share.is_empty() {
            return None;
        }
        let fits = share.start..self.end_of_room(device, share);
        if !fits.is_empty() {
            match self.build(device, fits.clone(), kept) {
                Ok(on_device) => {
                    self.parts.push(Part { blocks: fits.clone(), device, on_device, told: None });
                    taken(fits.clone());
                }
                Err(error) => {
                    let is_full = matches!(
                        error,
                        DeviceError::OutOfMemory { .. } | DeviceError::BufferTooLarge { .. }
                    );
                    self.standing[device] =
                        if is_full { Standing::Full } else { Standing::GivenUp };
                    return Some((error, share.start));
                }
            }
        }
        if fits.end == share.end {
            return None;
        }
        self.standing[device] = Standing::Full;
        let missing = fits.end..share.end;
        let error = DeviceError::OutOfMemory {
            device: self.devices[device].info().name.clone(),
            requested: self.bytes(device, &missing),
            available: self.devices[device].available_bytes(),
        };
        Some((error, fits.end))
    }

    /// Up to where a device has room for these blocks.
    fn end_of_room(&self, device: usize, share: &Range<usize>) -> usize {
        let Whole { blocks, dictionary, .. } = self.whole;
        let on = &self.devices[device];
        let (available, largest) = (on.available_bytes(), on.info().largest_buffer_bytes);
        let stride = dictionary.stride() as u64;
        let fits = |end: &usize| {
            let part = share.start..*end + 1;
            let entries = blocks.entries_of(&part);
            self.bytes(device, &part) <= available
                && entries <= u64::from(u32::MAX)
                && 4 * entries.max(stride * blocks.voxels_of(&part).len() as u64) <= largest
        };
        let ends: Vec<usize> = share.clone().collect();
        share.start + ends.partition_point(fits)
    }

    /// What these blocks take of a device.
    fn bytes(&self, device: usize, part: &Range<usize>) -> u64 {
        let Whole { blocks, dictionary, .. } = self.whole;
        let columns = match self.columns[device] {
            Some(_) => 0,
            None => size_of_val(dictionary.columns()) as u64,
        };
        columns + DevicePart::bytes(blocks, part, dictionary.stride())
    }

    fn build(
        &mut self,
        device: usize,
        part: Range<usize>,
        kept: Option<&Kept>,
    ) -> Result<DevicePart, DeviceError> {
        let Whole { blocks, dictionary, signal } = self.whole;
        let on = &self.devices[device];
        let columns = match &self.columns[device] {
            Some(columns) => Arc::clone(columns),
            None => Arc::new(on.upload(dictionary.columns())?),
        };
        let (stride, voxels) = (dictionary.stride(), blocks.voxels_of(&part));
        let signal = &signal[voxels.start * stride..voxels.end * stride];
        let there = Arc::clone(&columns);
        let mut made = DevicePart::new(on, there, stride, blocks, part, signal)?;
        made.restrict(kept)?;
        self.columns[device] = Some(columns);
        Ok(made)
    }
}

/// Notes who takes a piece that others refused.
fn note_taker(refusals: &mut [Refusal], piece: &Piece, name: &str) {
    for &refusal in &piece.refused {
        let takers = &mut refusals[refusal].takers;
        if !takers.iter().any(|taker| taker == name) {
            takers.push(name.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;

    /// Loses a device whose calls are used up.
    pub(super) fn lose(
        to_lose: &Mutex<Vec<(usize, usize)>>,
        device: usize,
    ) -> Result<(), DeviceError> {
        let mut to_lose = to_lose.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, left)) = to_lose.iter_mut().find(|(lost, _)| *lost == device) else {
            return Ok(());
        };
        if *left == 0 {
            let detail = "in a test".to_owned();
            return Err(DeviceError::Lost { device: format!("device {device}"), detail });
        }
        *left -= 1;
        Ok(())
    }
}
