//! The products on a device.

use std::sync::{Mutex, PoisonError};

use fimbria_compute::device::{
    Buffer, Device, DeviceError, DeviceSpace, Kernel, KernelSource, Launch,
};
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace as _};

use super::{Agree, Blocks, PartialProduct};
use crate::exact::{Lattice, exact_parts, largest};
use crate::{Dictionary, LifeError};

/// Items of a group.
const GROUP: usize = 64;
/// Items that share an entry.
const TEAM: usize = 8;

/// M on one device, with [`ThreadedProduct`](super::ThreadedProduct)'s spaces.
///
/// The products of every entry are written down and then summed by streamline, in the order of
/// voxels: nothing is atomic, and results do not depend on the device. Eight bytes an entry beside
/// the twelve of indices and value.
#[derive(Debug)]
pub struct DeviceProduct {
    voxels: usize,
    streamlines: usize,
    /// Number of blocks of all processes together: none has more sums of a streamline.
    blocks: usize,
    start: Buffer<u64>,
    atom: Buffer<u32>,
    streamline: Buffer<u32>,
    value: Buffer<f32>,
    columns: Buffer<f32>,
    entries_start: Buffer<u64>,
    entry: Buffer<u32>,
    products: Buffer<f32>,
    residual: Mutex<Buffer<f32>>,
    make_residual: Kernel,
    make_products: Kernel,
    gather: Kernel,
    domain: DeviceSpace,
    range: DeviceSpace,
}

impl DeviceProduct {
    /// The product with copies of `blocks` and `dictionary` on `device`.
    ///
    /// # Errors
    /// Where the device has no memory for them, or fails.
    pub fn new(
        device: &Device,
        blocks: &Blocks,
        dictionary: &Dictionary,
    ) -> Result<Self, LifeError> {
        let count = blocks.entries.len() as u64;
        if count > u64::from(u32::MAX) {
            return Err(LifeError::TooMany { what: "entries on a device", count });
        }
        let mut streamline = Vec::with_capacity(blocks.entries.len());
        for block in &blocks.blocks {
            let members = &blocks.slot_streamline[block.slots.clone()];
            let range = blocks.start[block.voxels.start]..blocks.start[block.voxels.end];
            let entries = &blocks.entries[range.start as usize..range.end as usize];
            streamline.extend(entries.iter().map(|entry| members[entry.slot as usize]));
        }
        let mut entries_start = vec![0_u64; blocks.streamlines + 1];
        streamline.iter().for_each(|&f| entries_start[f as usize + 1] += 1);
        for f in 0..blocks.streamlines {
            entries_start[f + 1] += entries_start[f];
        }
        let mut next = entries_start.clone();
        let mut entry = vec![0_u32; streamline.len()];
        for (k, &f) in streamline.iter().enumerate() {
            entry[next[f as usize] as usize] = k as u32;
            next[f as usize] += 1;
        }
        let atom: Vec<u32> = blocks.entries.iter().map(|entry| entry.atom).collect();
        let value: Vec<f32> = blocks.entries.iter().map(|entry| entry.value).collect();
        let source = Self::kernel_source(dictionary.stride());
        let range = DeviceSpace::new(device, blocks.voxels() * dictionary.stride())?;
        Ok(Self {
            voxels: blocks.voxels(),
            streamlines: blocks.streamlines,
            blocks: blocks.of_all,
            start: device.upload(&blocks.start)?,
            atom: device.upload(&atom)?,
            streamline: device.upload(&streamline)?,
            value: device.upload(&value)?,
            columns: device.upload(dictionary.columns())?,
            entries_start: device.upload(&entries_start)?,
            entry: device.upload(&entry)?,
            products: device.allocate(entry.len())?,
            residual: Mutex::new(range.zeros()?),
            make_residual: device.kernel(&source, "life_residual")?,
            make_products: device.kernel(&source, "life_products")?,
            gather: device.kernel(&source, "life_gather")?,
            domain: DeviceSpace::new(device, blocks.streamlines)?,
            range,
        })
    }

    /// The text of its kernels for columns of `stride` numbers.
    pub(crate) fn kernel_source(stride: usize) -> KernelSource {
        KernelSource::new("life", include_str!("product.cl"))
            .with("STRIDE", stride)
            .with("GROUP", GROUP)
            .with("TEAM", TEAM)
    }

    /// `y = M w - b`, without b where there is none.
    fn residual(
        &self,
        w: &Buffer<f32>,
        b: Option<&Buffer<f32>>,
        y: &mut Buffer<f32>,
    ) -> Result<(), DeviceError> {
        self.domain.check(w)?;
        self.range.check(y)?;
        b.map_or(Ok(()), |b| self.range.check(b))?;
        let arguments = [
            (&self.start).into(),
            (&self.atom).into(),
            (&self.streamline).into(),
            (&self.value).into(),
            (&self.columns).into(),
            w.into(),
            // Not read without a b; any buffer does.
            b.unwrap_or(w).into(),
            u32::from(b.is_some()).into(),
            y.into(),
        ];
        let launch = Launch::groups_of(GROUP, self.voxels);
        // SAFETY: the kernel's nine parameters; a group for each voxel, whose entries refer to
        // streamlines of w and columns of the dictionary; y and b have STRIDE numbers a voxel.
        unsafe { self.make_residual.launch(launch, &arguments) }
    }
}

impl Operator for DeviceProduct {
    fimbria_compute::between!(DeviceSpace => DeviceSpace);

    fn apply(&self, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.residual(x, None, y)
    }
}

impl LinearOperator for DeviceProduct {
    fn adjoint(&self, y: &Buffer<f32>, x: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.range.check(y)?;
        self.domain.check(x)?;
        let arguments = [
            (&self.start).into(),
            (&self.atom).into(),
            (&self.value).into(),
            (&self.columns).into(),
            y.into(),
            (&self.products).into(),
        ];
        let launch = Launch::groups_of(GROUP, self.voxels);
        // SAFETY: the kernel's six parameters; a group for each voxel, and a product an entry.
        unsafe { self.make_products.launch(launch, &arguments)? };
        let arguments = [
            (self.streamlines as u64).into(),
            (&self.entries_start).into(),
            (&self.entry).into(),
            (&self.products).into(),
            x.into(),
        ];
        // SAFETY: the kernel's five parameters; every entry is listed once, x has a number a
        // streamline.
        unsafe { self.gather.launch(Launch::items(self.streamlines), &arguments) }
    }

    fn gradient(
        &self,
        x: &Buffer<f32>,
        b: &Buffer<f32>,
        g: &mut Buffer<f32>,
    ) -> Result<f64, DeviceError> {
        let mut residual = self.residual.lock().unwrap_or_else(PoisonError::into_inner);
        self.residual(x, Some(b), &mut residual)?;
        self.adjoint(&residual, g)?;
        self.range.dot(&residual, &residual)
    }
}

/// A device adds up the sums of a streamline in f32, all its voxels at once: those of several
/// processes depend, by its rounding, on how voxels are shared out.
impl PartialProduct for DeviceProduct {
    fn adjoint_sums(
        &self,
        y: &Buffer<f32>,
        sums: &mut [f64],
        agree: Agree<'_>,
    ) -> Result<(), DeviceError> {
        let mut x = self.domain.zeros()?;
        self.adjoint(y, &mut x)?;
        self.widen(&x.to_vec()?, sums, agree);
        Ok(())
    }

    fn gradient_sums(
        &self,
        x: &Buffer<f32>,
        b: &Buffer<f32>,
        sums: &mut [f64],
        agree: Agree<'_>,
    ) -> Result<[f64; 2], DeviceError> {
        let mut g = self.domain.zeros()?;
        let squares = self.gradient(x, b, &mut g)?;
        self.widen(&g.to_vec()?, sums, agree);
        Ok(exact_parts(&[squares], self.blocks, agree))
    }

    fn dot_sums(
        &self,
        x: &Buffer<f32>,
        y: &Buffer<f32>,
        agree: Agree<'_>,
    ) -> Result<[f64; 2], DeviceError> {
        Ok(exact_parts(&[self.range.dot(x, y)?], self.blocks, agree))
    }
}

impl DeviceProduct {
    /// Sums of streamlines on the lattice of all processes.
    fn widen(&self, from: &[f32], to: &mut [f64], agree: Agree<'_>) {
        let size = largest(from.iter().map(|x| f64::from(*x)));
        let lattice = Lattice::new(agree(size), self.blocks);
        to.iter_mut().zip(from).for_each(|(to, from)| *to = lattice.round(f64::from(*from)));
    }
}
