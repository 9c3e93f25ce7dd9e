//! The products of some blocks on a device.

use std::ops::Range;
use std::sync::Arc;

use fimbria_compute::device::{
    Buffer, Device, DeviceError, HostBuffer, Kernel, KernelSource, Launch,
};

use super::kernel::SUMS;
use super::on_device_entries::{DeviceEntries, HostEntries};
use super::on_threads::{Asked, Told};
use super::{Blocks, Kept};
use crate::exact::{Lattice, lattice_of_voxels, room};

/// Items of a group.
pub(super) const GROUP: usize = 64;
/// Groups that look through slots at most: so many sizes come back of a product.
const MOST_GROUPS: usize = 512;
/// Numbers that come back of a block.
const TOLD: usize = 3;
/// Products that are made with a part at least: solvers make hundreds.
const PRODUCTS: usize = 10;

/// Some blocks of M on a device, with their part of the signal.
///
/// The products of every entry are written down and then summed by slot, in the order of voxels; the sums
/// of slots are added up exactly. So nothing is atomic, and results have the bits of the threads. Of a
/// product one read comes back: the size of the largest sum, from which the lattice of exact sums follows, and
/// the sums on the lattice of this part. Where others' is coarser the sums are made once more.
pub(super) struct DevicePart {
    voxels: usize,
    /// Voxels of each block.
    block_voxels: Vec<usize>,
    all: DeviceEntries,
    some: Option<SomeColumns>,
    columns: Arc<Buffer<f32>>,
    block_start: Buffer<u32>,
    w: Buffer<f32>,
    b: Buffer<f32>,
    y: Buffer<f32>,
    products: Buffer<f32>,
    slot_sums: Buffer<f32>,
    squares: Buffer<f32>,
    /// Sizes that groups met, the exponent of the part's lattice, squares of blocks, sums of streamlines.
    told: Buffer<u32>,
    /// What was told last, how much, and from where on it is sums, on which lattice.
    heard: HostBuffer,
    n_heard: usize,
    steps_at: usize,
    lattice: Lattice,
    /// Number of blocks of all parts and processes.
    of_all: usize,
    kernels: Kernels,
}

/// The columns that products are made with, where these are not all.
struct SomeColumns {
    /// Which.
    columns: Vec<u32>,
    /// Their entries; `None` where the device has no room for them, and makes the products of all.
    entries: Option<DeviceEntries>,
}

struct Kernels {
    residual: Kernel,
    products: Kernel,
    slots: Kernel,
    squares: Kernel,
    exponent: Kernel,
    sums: Kernel,
}

/// Which vector over voxels is subtracted.
pub(super) enum Subtracted<'b> {
    /// None.
    Nothing,
    /// The signal that the part was made with.
    Signal,
    /// Another one, of the part's voxels.
    Other(&'b [f32]),
}

impl DevicePart {
    /// A copy of these blocks on `device`, which has `columns`, and of their part of the signal.
    ///
    /// # Errors
    /// Where the device has no memory for them, or fails.
    pub(super) fn new(
        device: &Device,
        columns: Arc<Buffer<f32>>,
        stride: usize,
        blocks: &Blocks,
        part: Range<usize>,
        signal: &[f32],
    ) -> Result<Self, DeviceError> {
        let voxels = blocks.voxels_of(&part);
        let entries = HostEntries::new(blocks, part.clone());
        let block_voxels: Vec<usize> =
            blocks.blocks[part].iter().map(|block| block.voxels.len()).collect();
        let mut block_start = vec![0_u32];
        for len in &block_voxels {
            block_start.push(block_start[block_start.len() - 1] + *len as u32);
        }
        let source = kernel_source(stride);
        let kernel = |name| device.kernel(&source, name);
        let kernels = Kernels {
            residual: kernel("life_residual")?,
            products: kernel("life_products")?,
            slots: kernel("life_slots")?,
            squares: kernel("life_squares")?,
            exponent: kernel("life_exponent")?,
            sums: kernel("life_sums")?,
        };
        let all = DeviceEntries::upload(device, entries)?;
        Ok(Self {
            voxels: voxels.len(),
            columns,
            block_start: device.upload(&block_start)?,
            w: device.allocate(blocks.streamlines)?,
            b: device.upload(signal)?,
            y: device.allocate(voxels.len() * stride)?,
            products: device.allocate(all.len())?,
            slot_sums: device.allocate(all.slots())?,
            squares: device.allocate(voxels.len())?,
            told: device
                .allocate(MOST_GROUPS + 1 + TOLD * block_voxels.len() + 2 * blocks.streamlines)?,
            heard: HostBuffer::for_uses(device, PRODUCTS),
            n_heard: 0,
            steps_at: 0,
            lattice: Lattice::new(0.0, 0),
            of_all: blocks.of_all,
            block_voxels,
            all,
            some: None,
            kernels,
        })
    }

    /// Bytes that such a part takes of a device, without the columns.
    pub(super) fn bytes(blocks: &Blocks, part: &Range<usize>, stride: usize) -> u64 {
        let part_of = &blocks.blocks[part.clone()];
        let slots: usize = part_of.iter().map(|block| block.slots.len()).sum();
        let voxels = blocks.voxels_of(part).len();
        let of_blocks = 4 * (MOST_GROUPS + 1 + (TOLD + 1) * (part_of.len() + 1));
        let of_voxels = voxels * (8 * stride + 8) + 4;
        let of_columns = blocks.streamlines * (4 + 8 + 4) + 4;
        20 * blocks.entries_of(part) + (8 * slots + of_blocks + of_voxels + of_columns) as u64
    }

    /// From now on products are made with these columns only, all where there is none.
    ///
    /// # Errors
    /// Where the device fails; having no room for them is no failure.
    pub(super) fn restrict(&mut self, kept: Option<&Kept>) -> Result<(), DeviceError> {
        // What was there makes room.
        self.some = None;
        let Some(kept) = kept else { return Ok(()) };
        let entries = match self.all.restricted(kept) {
            Ok(entries) => Some(entries),
            Err(DeviceError::OutOfMemory { .. } | DeviceError::BufferTooLarge { .. }) => None,
            Err(error) => return Err(error),
        };
        self.some = Some(SomeColumns { columns: kept.columns.clone(), entries });
        Ok(())
    }

    fn entries(&self) -> &DeviceEntries {
        self.some.as_ref().and_then(|some| some.entries.as_ref()).unwrap_or(&self.all)
    }

    /// The columns among all, where some are asked for and all are worked on.
    fn among_all(&self) -> Option<&[u32]> {
        self.some.as_ref().filter(|some| some.entries.is_none()).map(|some| &*some.columns)
    }

    /// The first half of a product.
    ///
    /// # Errors
    /// Where the device fails.
    pub(super) fn slot_sums(
        &mut self,
        asked: Asked<'_>,
        b: &Subtracted<'_>,
    ) -> Result<Told, DeviceError> {
        match asked {
            Asked::Gradient { x, .. } => self.residual(x, b)?,
            // Of the part's voxels.
            Asked::Adjoint { y } => self.y.write(0, y)?,
            Asked::Squares { x } => {
                self.residual(x, &Subtracted::Nothing)?;
                self.launch_squares(0)?;
                let mut told = vec![0; TOLD * self.block_voxels.len()];
                self.told.read(0, &mut told)?;
                return Ok(Told { largest: 0.0, squares: self.squares_told(&told) });
            }
        }
        self.launch_products()?;
        let groups = self.launch_slots()?;
        let has_squares = matches!(asked, Asked::Gradient { .. });
        if has_squares {
            self.launch_squares(groups + 1)?;
        }
        let blocks = if has_squares { self.block_voxels.len() } else { 0 };
        let steps_at = groups + 1 + TOLD * blocks;
        self.read_steps(None, groups, steps_at)?;
        let heard = self.heard.first(self.n_heard);
        let sizes = heard[..groups].iter().map(|bits| f32::from_bits(*bits));
        let largest = sizes.fold(0.0, f32::max);
        let squares = match has_squares {
            true => self.squares_told(&heard[groups + 1..steps_at]),
            false => vec![0.0; self.block_voxels.len()],
        };
        self.lattice = own_lattice(largest, self.of_all);
        Ok(Told { largest: f64::from(largest), squares })
    }

    /// The second half: sees to it that the sums are on this lattice.
    ///
    /// # Errors
    /// Where the device fails.
    pub(super) fn bring_onto(&mut self, lattice: Lattice) -> Result<(), DeviceError> {
        if lattice.exponent != self.lattice.exponent {
            self.read_steps(Some(lattice), 0, self.steps_at)?;
            self.lattice = lattice;
        }
        Ok(())
    }

    /// Makes the sums of the streamlines, which begin at `steps_at` of what is told: on a lattice, or on that
    /// of the exponent at `groups`, which is told with all that stands before the sums.
    fn read_steps(
        &mut self,
        lattice: Option<Lattice>,
        groups: usize,
        steps_at: usize,
    ) -> Result<(), DeviceError> {
        if lattice.is_none() {
            let rounds = groups.div_ceil(GROUP) as u32;
            let room = room(self.of_all);
            let arguments =
                [(groups as u32).into(), rounds.into(), room.into(), (&self.told).into()];
            // SAFETY: the kernel's four parameters; told has a number for each group and one more.
            unsafe { self.kernels.exponent.launch(Launch::groups_of(GROUP, 1), &arguments)? };
        }
        let entries = self.entries();
        let arguments = [
            (entries.streamlines() as u32).into(),
            (&entries.slots_of).into(),
            (&self.slot_sums).into(),
            lattice.map_or(0, |lattice| lattice.exponent).into(),
            u32::from(lattice.is_none()).into(),
            (groups as u32).into(),
            (steps_at as u32).into(),
            (&self.told).into(),
        ];
        let streamlines = entries.streamlines();
        // SAFETY: the kernel's eight parameters; a sum for each slot, and room in told for two numbers of
        // each streamline behind the others.
        unsafe { self.kernels.sums.launch(Launch::items(streamlines), &arguments)? };
        self.n_heard = steps_at + 2 * streamlines;
        self.steps_at = steps_at;
        let from = if lattice.is_some() { steps_at } else { 0 };
        // As long as it ever is, so that it stays where it is.
        let heard = self.heard.with_len(self.told.len());
        self.told.read(from, &mut heard[from..self.n_heard])
    }

    /// Adds the exact sum of every streamline's slots to `sums` of the columns that products are made with.
    pub(super) fn add(&self, sums: &mut [f64]) {
        let (steps, _) = self.heard.first(self.n_heard)[self.steps_at..].as_chunks();
        let sum_of = |halves: &[u32; 2]| self.lattice.of_steps(whole(*halves));
        match self.among_all() {
            None => sums.iter_mut().zip(steps).for_each(|(sum, halves)| *sum += sum_of(halves)),
            Some(columns) => sums
                .iter_mut()
                .zip(columns)
                .for_each(|(sum, f)| *sum += sum_of(&steps[*f as usize])),
        }
    }

    /// M x of the part's voxels into `y`.
    ///
    /// # Errors
    /// Where the device fails.
    pub(super) fn apply(&mut self, x: &[f32], y: &mut [f32]) -> Result<(), DeviceError> {
        self.residual(x, &Subtracted::Nothing)?;
        self.y.read(0, y)
    }

    /// `y = M w - b`.
    fn residual(&mut self, w: &[f32], b: &Subtracted<'_>) -> Result<(), DeviceError> {
        match self.among_all() {
            None => self.w.write(0, w)?,
            Some(columns) => {
                let mut all = vec![0.0; self.all.streamlines()];
                columns.iter().zip(w).for_each(|(f, w)| all[*f as usize] = *w);
                self.w.write(0, &all)?;
            }
        }
        let other = match b {
            Subtracted::Other(b) => Some(self.w.device().upload(b)?),
            Subtracted::Nothing | Subtracted::Signal => None,
        };
        let entries = self.entries();
        let arguments = [
            (&entries.start).into(),
            (&entries.atom).into(),
            (&entries.streamline).into(),
            (&entries.value).into(),
            (&*self.columns).into(),
            (&self.w).into(),
            other.as_ref().unwrap_or(&self.b).into(),
            u32::from(!matches!(b, Subtracted::Nothing)).into(),
            (&self.y).into(),
        ];
        let launch = Launch::groups_of(GROUP, self.voxels);
        // SAFETY: the kernel's nine parameters; a group for each voxel, whose entries refer to
        // streamlines of w and columns of the dictionary; y and b have STRIDE numbers a voxel.
        unsafe { self.kernels.residual.launch(launch, &arguments) }
    }

    fn launch_products(&self) -> Result<(), DeviceError> {
        let entries = self.entries();
        let arguments = [
            (&entries.start).into(),
            (&entries.atom).into(),
            (&entries.value).into(),
            (&*self.columns).into(),
            (&self.y).into(),
            (&self.products).into(),
        ];
        let launch = Launch::groups_of(GROUP, self.voxels);
        // SAFETY: the kernel's six parameters; a group for each voxel, and a product an entry.
        unsafe { self.kernels.products.launch(launch, &arguments) }
    }

    /// Gives how many groups tell of the largest.
    fn launch_slots(&self) -> Result<usize, DeviceError> {
        let entries = self.entries();
        let groups = entries.slots().div_ceil(GROUP).min(MOST_GROUPS);
        let rounds = entries.slots().div_ceil((groups * GROUP).max(1));
        let arguments = [
            (entries.slots() as u32).into(),
            (rounds as u32).into(),
            (&entries.slot_first).into(),
            (&entries.entry).into(),
            (&self.products).into(),
            (&self.slot_sums).into(),
            (&self.told).into(),
        ];
        // SAFETY: the kernel's seven parameters; every entry is listed once, there is a sum for each slot,
        // and told has a number for each group.
        unsafe { self.kernels.slots.launch(Launch::groups_of(GROUP, groups), &arguments)? };
        Ok(groups)
    }

    fn launch_squares(&self, told_from: usize) -> Result<(), DeviceError> {
        let arguments = [
            (&self.block_start).into(),
            (&self.y).into(),
            (&self.squares).into(),
            (told_from as u32).into(),
            (&self.told).into(),
        ];
        let launch = Launch::groups_of(GROUP, self.block_voxels.len());
        // SAFETY: the kernel's five parameters; a group for each block, whose voxels have STRIDE numbers
        // in y and one in squares; told has three for each block behind those of the groups of slots.
        unsafe { self.kernels.squares.launch(launch, &arguments) }
    }

    fn squares_told(&self, told: &[u32]) -> Vec<f64> {
        let of_block = |(told, voxels): (&[u32; TOLD], &usize)| {
            let largest = f32::from_bits(told[0]);
            if !largest.is_finite() {
                return f64::NAN;
            }
            lattice_of_voxels(largest, *voxels).of_steps(whole([told[1], told[2]]))
        };
        told.as_chunks().0.iter().zip(&self.block_voxels).map(of_block).collect()
    }
}

/// The lattice that a device takes for sums of which this is the largest.
fn own_lattice(largest: f32, of_all: usize) -> Lattice {
    // As on the device, which does not look into subnormal numbers.
    Lattice::new(f64::from(largest.max(f32::MIN_POSITIVE)), of_all)
}

/// A whole number of two halves, the low one first.
fn whole([low, high]: [u32; 2]) -> i64 {
    (u64::from(high) << 32 | u64::from(low)) as i64
}

/// The text of the kernels for columns of `stride` numbers.
pub(crate) fn kernel_source(stride: usize) -> KernelSource {
    KernelSource::new("life", include_str!("product.cl"))
        .with("STRIDE", stride)
        .with("GROUP", GROUP)
        .with("SUMS", SUMS)
        .with("TEAM", SUMS / 2)
}
