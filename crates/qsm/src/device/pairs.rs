use std::f64::consts::PI;

use fimbria_compute::device::{
    Argument, Buffer, Device, DeviceError, Kernel, KernelSource, Launch,
};
use fimbria_compute::math;

use super::lists::List;
use super::tiles::{TILE, Tiles};
use crate::operator::Sources;
use crate::pairs::Source;
use crate::{Cylinder, FieldModel, Geometry};

/// Candidates an item looks at between two evaluations.
const PER_ITEM: usize = 8;
/// Candidates a group looks at.
pub(super) const BATCH: usize = TILE * PER_ITEM;
/// Numbers of a source, its strength apart: three pieces of four.
const FIELDS: usize = 12;

/// The text of the sums over pairs.
pub(crate) fn pairs_source(spheres: bool, cull: bool, support: Option<u32>) -> KernelSource {
    let name = if spheres { "spheres" } else { "cylinders" };
    KernelSource::new(format!("qsm {name}"), include_str!("pairs.cl"))
        .after(math::KERNEL_TEXT)
        .with("SPHERES", u8::from(spheres))
        .with("CULL", u8::from(cull))
        .with("LIMITED", u8::from(support.is_some()))
        .with_f32("SUPPORT", support.unwrap_or_default() as f32)
        .with("TILE", TILE)
        .with("PER_ITEM", PER_ITEM)
        .with("BATCH", BATCH)
}

/// Sources of one kind and the receivers that see them, on a device.
///
/// Where cylinders are culled, which of them each tile of receivers meets is listed once, and which tiles each
/// of them meets: some two bytes for each that do, twice. Where a list would take too much of the device's
/// memory, every product tests them all; results have the same bits.
pub(super) struct DevicePairs {
    sources: usize,
    tiles: usize,
    volume: usize,
    source: Buffer<f32>,
    strength: Buffer<f32>,
    /// Which unknown each source is.
    unknown: Buffer<u32>,
    /// Place, its bits, and first voxel of each tile with a receiver.
    tile: Buffer<f32>,
    /// Where each receiver lies in the tiled volume, and its index.
    place: Buffer<u32>,
    every: Buffer<u32>,
    ones: Buffer<f32>,
    amounts: Kernel,
    scatter: Kernel,
    field: Product,
    seen: Product,
}

/// Elements of a tiled volume at most: places of tiles are whole numbers in f32.
const MOST_ELEMENTS: usize = TILE << 24;

/// A product's kernel, and the same over a list where there is one.
struct Product {
    tested: Kernel,
    listed: Option<(List, Kernel)>,
}

impl DevicePairs {
    /// Cylinders, listed with the tiles that they meet if `cull`, where that leaves `later` bytes of memory.
    pub(super) fn cylinders(
        model: &FieldModel,
        sources: &Sources,
        device: &Device,
        cull: bool,
        later: u64,
    ) -> Result<Self, DeviceError> {
        let of = |(at, cylinder): &([usize; 3], Cylinder)| {
            let source = Source::<f32>::new(&model.geometry, *at, cylinder, [0, 1, 2]);
            let mut numbers = [0.0; FIELDS];
            for (to, from) in
                numbers.chunks_exact_mut(3).zip([source.at, source.u, source.v, source.w])
            {
                to.copy_from_slice(&from);
            }
            (numbers, source.strength)
        };
        let (numbers, strength): (Vec<_>, Vec<f32>) = sources.cylinders.iter().map(of).unzip();
        let text = pairs_source(false, cull, model.support);
        let mut pairs =
            Self::new(model, device, &sources.cylinder_index, (&numbers, &strength), &text)?;
        if cull {
            pairs.list(&text, later)?;
        }
        Ok(pairs)
    }

    pub(super) fn spheres(
        model: &FieldModel,
        spheres: &[u32],
        device: &Device,
    ) -> Result<Self, DeviceError> {
        let Geometry { spacing, b0, .. } = model.geometry;
        let b = [0, 1, 2].map(|a| b0[a] * spacing[a]);
        let of = |&unknown: &u32| {
            let at = model.geometry.voxel(model.unknowns[unknown as usize] as usize);
            let mut numbers = [0.0; FIELDS];
            for a in 0..3 {
                numbers[a] = at[a] as f32;
                numbers[3 + a] = spacing[a] as f32;
                numbers[6 + a] = b[a] as f32;
            }
            numbers
        };
        let numbers: Vec<_> = spheres.iter().map(of).collect();
        let strength = vec![(0.25 / PI) as f32; spheres.len()];
        let text = pairs_source(true, false, model.support);
        Self::new(model, device, spheres, (&numbers, &strength), &text)
    }

    fn new(
        model: &FieldModel,
        device: &Device,
        unknown: &[u32],
        (numbers, strength): (&[[f32; FIELDS]], &[f32]),
        text: &KernelSource,
    ) -> Result<Self, DeviceError> {
        let tiles = Tiles::new(&model.geometry, &model.receivers);
        if tiles.elements > MOST_ELEMENTS {
            let bytes = |elements: usize| (elements * size_of::<f32>()) as u64;
            return Err(DeviceError::BufferTooLarge {
                device: device.info().name.clone(),
                requested: bytes(tiles.elements),
                largest: bytes(MOST_ELEMENTS),
            });
        }
        let tile = |at: &[u32; 4]| at.map(|number| number as f32);
        let tile: Vec<[f32; 4]> = tiles.list.iter().map(tile).collect();
        let every: Vec<u32> = (0..tiles.receivers.len() as u32).collect();
        let ones = vec![1.0_f32; tiles.receivers.len()];
        let tested = |name| Ok(Product { tested: device.kernel(text, name)?, listed: None });
        Ok(Self {
            sources: unknown.len(),
            tiles: tiles.list.len(),
            volume: tiles.elements,
            source: device.upload(numbers.as_flattened())?,
            strength: device.upload(strength)?,
            unknown: device.upload(unknown)?,
            tile: device.upload(tile.as_flattened())?,
            place: device.upload(&tiles.receivers)?,
            every: device.upload(&every)?,
            ones: device.upload(&ones)?,
            amounts: device.kernel(text, "amounts")?,
            scatter: device.kernel(&super::vectors_source(), "scatter_plain")?,
            field: tested("pair_field")?,
            seen: tested("pair_seen")?,
        })
    }

    /// Lists what meets, where memory permits and leaves `later` bytes.
    fn list(&mut self, text: &KernelSource, later: u64) -> Result<(), DeviceError> {
        if self.sources == 0 {
            return Ok(());
        }
        let device = self.source.device().clone();
        let what = [(&self.source).into(), (&self.tile).into()];
        let list = |kernel: &str, groups, candidates| {
            let kernel = device.kernel(text, kernel)?;
            // SAFETY: the kernels' parameters between, with a group for each tile or source and a candidate
            // for each of the others.
            unsafe { List::new(&device, &kernel, (groups, candidates, BATCH), &what, later) }
        };
        let listed = |list: Option<List>, kernel: &str| match list {
            None => Ok(None),
            Some(list) => device.kernel(text, kernel).map(|kernel| Some((list, kernel))),
        };
        let of_tiles = list("list_sources", self.tiles, self.sources)?;
        self.field.listed = listed(of_tiles, "listed_field")?;
        let of_sources = list("list_tiles", self.sources, self.tiles)?;
        self.seen.listed = listed(of_sources, "listed_seen")?;
        Ok(())
    }

    /// Those of tiles and of sources.
    pub(super) fn lists(&self) -> [Option<&List>; 2] {
        [&self.field, &self.seen].map(|product| product.listed.as_ref().map(|(list, _)| list))
    }

    /// The same where memory had been too short for lists.
    pub(super) fn forget_lists(&mut self) {
        self.field.listed = None;
        self.seen.listed = None;
    }

    /// Adds to `y` (receivers) the field of the sources among the unknowns `x`.
    pub(super) fn add_field(
        &self,
        x: &Buffer<f32>,
        y: &mut Buffer<f32>,
        add: &Kernel,
    ) -> Result<(), DeviceError> {
        if self.sources == 0 {
            return Ok(());
        }
        let device = self.source.device();
        let mut amount = device.allocate::<f32>(self.sources)?;
        let arguments = [
            (self.sources as u64).into(),
            (&self.unknown).into(),
            (&self.strength).into(),
            x.into(),
            (&mut amount).into(),
        ];
        // SAFETY: the kernel's five parameters; unknowns lie in x.
        unsafe { self.amounts.launch(Launch::items(self.sources), &arguments)? };
        let mut volume = device.allocate::<f32>(self.volume)?;
        let what = [&self.source, &amount, &self.tile].map(Argument::from);
        let (number, list, kernel) = self.field.chosen(self.sources);
        let mut arguments = vec![(number as u32).into()];
        arguments.extend(what);
        arguments.extend(list);
        arguments.push((&mut volume).into());
        // SAFETY: the kernel's parameters, five and with a list seven; sources have an amount, tiles lie in
        // the volume; one group of TILE items for each tile.
        unsafe { kernel.launch(Launch::groups_of(TILE, self.tiles), &arguments)? };
        let n = self.place.len();
        let arguments = [(n as u64).into(), (&self.place).into(), (&volume).into(), y.into()];
        // SAFETY: the kernel's four parameters; places lie in the volume, n is the length of y.
        unsafe { add.launch(Launch::items(n), &arguments) }
    }

    /// Writes what the sources see of `y` to their elements of `x`.
    pub(super) fn gather(&self, y: &Buffer<f32>, x: &mut Buffer<f32>) -> Result<(), DeviceError> {
        if self.sources == 0 {
            return Ok(());
        }
        let mut volume = self.source.device().zeros::<f32>(self.volume)?;
        let n = self.place.len();
        let arguments = [
            (n as u64).into(),
            (&self.place).into(),
            (&self.every).into(),
            (&self.ones).into(),
            y.into(),
            (&mut volume).into(),
        ];
        // SAFETY: the kernel's six parameters; places lie in the volume, indices in y.
        unsafe { self.scatter.launch(Launch::items(n), &arguments)? };
        let (number, list, kernel) = self.seen.chosen(self.tiles);
        let mut arguments: Vec<Argument> = vec![
            (number as u32).into(),
            (&self.source).into(),
            (&self.unknown).into(),
            (&self.strength).into(),
            (&self.tile).into(),
        ];
        arguments.extend(list);
        arguments.extend::<[Argument; 2]>([(&volume).into(), x.into()]);
        // SAFETY: the kernel's parameters, seven and with a list nine; tiles lie in the volume, unknowns in x;
        // one group of TILE items for each source.
        unsafe { kernel.launch(Launch::groups_of(TILE, self.sources), &arguments) }
    }
}

impl Product {
    /// The kernel's first parameter, those of its list, and itself.
    fn chosen(&self, candidates: usize) -> (usize, Vec<Argument>, &Kernel) {
        match &self.listed {
            None => (candidates, Vec::new(), &self.tested),
            Some((list, kernel)) => {
                (list.batches, vec![(&list.starts).into(), (&list.hits).into()], kernel)
            }
        }
    }
}
