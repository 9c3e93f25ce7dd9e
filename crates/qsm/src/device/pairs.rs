use std::f64::consts::PI;

use fimbria_compute::device::{Buffer, Device, DeviceError, Kernel, KernelSource, Launch};
use fimbria_compute::math;

use super::tiles::{TILE, Tiles};
use crate::operator::Sources;
use crate::pairs::Source;
use crate::{Cylinder, FieldModel, Geometry};

/// Candidates an item looks at between two evaluations.
const PER_ITEM: usize = 8;
/// Numbers of a source.
const FIELDS: usize = 16;

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
        .with("BATCH", TILE * PER_ITEM)
        .with("FIELDS", FIELDS)
}

/// Sources of one kind and the receivers that see them, on a device.
pub(super) struct DevicePairs {
    sources: usize,
    tiles: usize,
    volume: usize,
    source: Buffer<f32>,
    /// Which unknown each source is.
    unknown: Buffer<u32>,
    /// Place and first voxel of each tile with a receiver.
    tile: Buffer<u32>,
    /// Where each receiver lies in the tiled volume, and its index.
    place: Buffer<u32>,
    every: Buffer<u32>,
    ones: Buffer<f32>,
    field: Kernel,
    seen: Kernel,
    scatter: Kernel,
}

impl DevicePairs {
    pub(super) fn cylinders(
        model: &FieldModel,
        sources: &Sources,
        device: &Device,
        cull: bool,
    ) -> Result<Self, DeviceError> {
        let numbers = |(at, cylinder): &([usize; 3], Cylinder)| {
            let source = Source::<f32>::new(&model.geometry, *at, cylinder, [0, 1, 2]);
            let mut numbers = Vec::with_capacity(FIELDS);
            [source.at, source.u, source.v, source.w].iter().for_each(|v| numbers.extend(v));
            numbers.extend([source.strength, 0.0, 0.0, 0.0]);
            numbers
        };
        let numbers: Vec<f32> = sources.cylinders.iter().flat_map(numbers).collect();
        let source = pairs_source(false, cull, model.support);
        Self::new(model, device, &sources.cylinder_index, &numbers, &source)
    }

    pub(super) fn spheres(
        model: &FieldModel,
        spheres: &[u32],
        device: &Device,
    ) -> Result<Self, DeviceError> {
        let Geometry { spacing, b0, .. } = model.geometry;
        let b = [0, 1, 2].map(|a| b0[a] * spacing[a]);
        let numbers = |&unknown: &u32| {
            let at = model.geometry.voxel(model.unknowns[unknown as usize] as usize);
            let mut numbers = [0.0; FIELDS];
            for a in 0..3 {
                numbers[a] = at[a] as f32;
                numbers[3 + a] = spacing[a] as f32;
                numbers[6 + a] = b[a] as f32;
            }
            numbers[12] = (0.25 / PI) as f32;
            numbers
        };
        let numbers: Vec<f32> = spheres.iter().flat_map(numbers).collect();
        let source = pairs_source(true, false, model.support);
        Self::new(model, device, spheres, &numbers, &source)
    }

    fn new(
        model: &FieldModel,
        device: &Device,
        unknown: &[u32],
        numbers: &[f32],
        source: &KernelSource,
    ) -> Result<Self, DeviceError> {
        let tiles = Tiles::new(&model.geometry, &model.receivers);
        let every: Vec<u32> = (0..tiles.receivers.len() as u32).collect();
        let ones = vec![1.0_f32; tiles.receivers.len()];
        Ok(Self {
            sources: unknown.len(),
            tiles: tiles.list.len(),
            volume: tiles.elements,
            source: device.upload(numbers)?,
            unknown: device.upload(unknown)?,
            tile: device.upload(tiles.list.as_flattened())?,
            place: device.upload(&tiles.receivers)?,
            every: device.upload(&every)?,
            ones: device.upload(&ones)?,
            field: device.kernel(source, "pair_field")?,
            seen: device.kernel(source, "pair_seen")?,
            scatter: device.kernel(&super::vectors_source(), "scatter_plain")?,
        })
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
        let mut volume = self.source.device().allocate::<f32>(self.volume)?;
        let arguments = [
            (self.sources as u32).into(),
            (&self.source).into(),
            (&self.unknown).into(),
            x.into(),
            (&self.tile).into(),
            (&mut volume).into(),
        ];
        // SAFETY: the kernel's six parameters; unknowns lie in x, tiles in the volume; one group
        // of TILE items for each tile.
        unsafe { self.field.launch(Launch::groups_of(TILE, self.tiles), &arguments)? };
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
        let arguments = [
            (self.tiles as u32).into(),
            (&self.source).into(),
            (&self.unknown).into(),
            (&self.tile).into(),
            (&volume).into(),
            x.into(),
        ];
        // SAFETY: the kernel's six parameters; tiles lie in the volume, unknowns in x; one group
        // of TILE items for each source.
        unsafe { self.seen.launch(Launch::groups_of(TILE, self.sources), &arguments) }
    }
}
