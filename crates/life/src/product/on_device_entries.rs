//! The entries of some blocks on a device, of all columns or of some.

use std::ops::Range;

use fimbria_compute::device::{Buffer, Device, DeviceError, KernelSource, Launch};

use super::{Blocks, Kept};

/// Entries as a device has them, still in host memory. A slot is a streamline in a block.
pub(super) struct HostEntries {
    /// Where each voxel's entries start, and where the last one's end.
    start: Vec<u32>,
    atom: Vec<u32>,
    streamline: Vec<u32>,
    value: Vec<f32>,
    slots: Slots,
    /// The entries of each slot, in their order.
    entry: Vec<u32>,
}

/// Slots by streamline, then by block.
struct Slots {
    /// Where each streamline's slots start, and where the last one's end.
    of_streamline: Vec<u32>,
    /// Where each slot's entries start, and where the last one's end.
    first: Vec<u32>,
}

impl HostEntries {
    /// Those of the blocks `part`, which have no more of them than 32 bits count.
    pub(super) fn new(blocks: &Blocks, part: Range<usize>) -> Self {
        let voxels = blocks.voxels_of(&part);
        let part_of = &blocks.blocks[part];
        let from = blocks.start[voxels.start];
        let entries = &blocks.entries[from as usize..blocks.start[voxels.end] as usize];
        let start = &blocks.start[voxels.start..=voxels.end];
        let slots = part_of.first().map_or(0, |block| block.slots.start)
            ..part_of.last().map_or(0, |block| block.slots.end);
        // The number of each slot of the part in its new order.
        let mut number = vec![0_u32; slots.len()];
        let mut of_streamline = Vec::with_capacity(blocks.streamlines + 1);
        of_streamline.push(0);
        let mut next = 0;
        for f in 0..blocks.streamlines {
            let of_f = &blocks.streamline_slots[blocks.slots_of(f)];
            for &slot in of_f.iter().filter(|slot| slots.contains(&(**slot as usize))) {
                number[slot as usize - slots.start] = next;
                next += 1;
            }
            of_streamline.push(next);
        }
        let mut slot = Vec::with_capacity(entries.len());
        let mut streamline = Vec::with_capacity(entries.len());
        for block in part_of {
            let range = blocks.start[block.voxels.start]..blocks.start[block.voxels.end];
            for entry in &blocks.entries[range.start as usize..range.end as usize] {
                let of_all = block.slots.start + entry.slot as usize;
                slot.push(number[of_all - slots.start]);
                streamline.push(blocks.slot_streamline[of_all]);
            }
        }
        let mut first = vec![0_u32; slots.len() + 1];
        slot.iter().for_each(|&slot| first[slot as usize + 1] += 1);
        for slot in 0..slots.len() {
            first[slot + 1] += first[slot];
        }
        let mut next = first.clone();
        let mut entry = vec![0_u32; entries.len()];
        for (k, &slot) in (0..).zip(&slot) {
            entry[next[slot as usize] as usize] = k;
            next[slot as usize] += 1;
        }
        Self {
            start: start.iter().map(|at| (at - from) as u32).collect(),
            atom: entries.iter().map(|entry| entry.atom).collect(),
            streamline,
            value: entries.iter().map(|entry| entry.value).collect(),
            slots: Slots { of_streamline, first },
            entry,
        }
    }
}

/// Entries on a device.
pub(super) struct DeviceEntries {
    pub(super) start: Buffer<u32>,
    pub(super) atom: Buffer<u32>,
    pub(super) streamline: Buffer<u32>,
    pub(super) value: Buffer<f32>,
    pub(super) slots_of: Buffer<u32>,
    pub(super) slot_first: Buffer<u32>,
    pub(super) entry: Buffer<u32>,
    slots: Slots,
}

impl DeviceEntries {
    pub(super) fn upload(device: &Device, entries: HostEntries) -> Result<Self, DeviceError> {
        let HostEntries { start, atom, streamline, value, slots, entry } = entries;
        Ok(Self {
            start: device.upload(&start)?,
            atom: device.upload(&atom)?,
            streamline: device.upload(&streamline)?,
            value: device.upload(&value)?,
            slots_of: device.upload(&slots.of_streamline)?,
            slot_first: device.upload(&slots.first)?,
            entry: device.upload(&entry)?,
            slots,
        })
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.atom.len()
    }

    /// Number of slots.
    pub(super) fn slots(&self) -> usize {
        self.slots.first.len() - 1
    }

    /// Number of columns.
    pub(super) fn streamlines(&self) -> usize {
        self.slots.of_streamline.len() - 1
    }

    /// The entries of some columns, which are numbered anew in their order. They are made on the device,
    /// from those that are there.
    ///
    /// # Errors
    /// Where the device has no memory for them, or fails.
    pub(super) fn restricted(&self, kept: &Kept) -> Result<Self, DeviceError> {
        let device = self.atom.device();
        let kernel = |name| device.kernel(&restriction_source(), name);
        let voxels = self.start.len() - 1;
        let number = device.upload(&kept.number)?;
        let counts = device.allocate::<u32>(voxels)?;
        let arguments = [
            (voxels as u32).into(),
            (&self.start).into(),
            (&self.streamline).into(),
            (&number).into(),
            (&counts).into(),
        ];
        // SAFETY: the kernel's five parameters; a number for each column, a count for each voxel.
        unsafe { kernel("life_count")?.launch(Launch::items(voxels), &arguments)? };
        let mut start = vec![0_u32];
        start.extend(counts.to_vec()?);
        for voxel in 0..voxels {
            start[voxel + 1] += start[voxel];
        }
        let len = start[voxels] as usize;
        let (mut of_streamline, mut first, mut from) = (vec![0], vec![0], Vec::new());
        for &f in &kept.columns {
            let slots = &self.slots.of_streamline[f as usize..];
            for slot in slots[0]..slots[1] {
                let old = &self.slots.first[slot as usize..];
                first.push(first[first.len() - 1] + (old[1] - old[0]));
                from.push(slot);
            }
            of_streamline.push(from.len() as u32);
        }
        let some = Self {
            start: device.upload(&start)?,
            atom: device.allocate(len)?,
            streamline: device.allocate(len)?,
            value: device.allocate(len)?,
            slots_of: device.upload(&of_streamline)?,
            slot_first: device.upload(&first)?,
            entry: device.allocate(len)?,
            slots: Slots { of_streamline, first },
        };
        let place = device.allocate::<u32>(self.len())?;
        let arguments = [
            (voxels as u32).into(),
            (&self.start).into(),
            (&self.atom).into(),
            (&self.streamline).into(),
            (&self.value).into(),
            (&number).into(),
            (&some.start).into(),
            (&some.atom).into(),
            (&some.streamline).into(),
            (&some.value).into(),
            (&place).into(),
        ];
        // SAFETY: the kernel's eleven parameters; as many entries stay of each voxel as were counted, and
        // there is a place for each of all.
        unsafe { kernel("life_keep")?.launch(Launch::items(voxels), &arguments)? };
        let from_there = device.upload(&from)?;
        let arguments = [
            (from.len() as u32).into(),
            (&from_there).into(),
            (&self.slot_first).into(),
            (&self.entry).into(),
            (&place).into(),
            (&some.slot_first).into(),
            (&some.entry).into(),
        ];
        // SAFETY: the kernel's seven parameters; the slots that stay are some of all, with as many entries
        // as they had.
        unsafe { kernel("life_regroup")?.launch(Launch::items(from.len()), &arguments)? };
        Ok(some)
    }
}

/// The text of the kernels that leave columns out.
pub(crate) fn restriction_source() -> KernelSource {
    KernelSource::new("life columns", include_str!("columns.cl"))
        .with("LEFT", format!("{}u", Kept::LEFT))
}
