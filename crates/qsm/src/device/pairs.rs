use fimbria_compute::device::{Buffer, Device, DeviceError, Kernel, KernelSource, Launch};
use fimbria_compute::math;

use crate::FieldModel;
use crate::pairs::{CylinderSource, SphereSource, TILE, Tiles};

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
        device: &Device,
        cull: bool,
    ) -> Result<Self, DeviceError> {
        let (unknown, sources) = crate::pairs::cylinders::<f32>(model);
        let numbers = |s: &CylinderSource<f32>| {
            let mut numbers = Vec::with_capacity(FIELDS);
            [s.at, s.u, s.v, s.w].iter().for_each(|part| numbers.extend(part));
            numbers.extend([s.half, s.cap, s.strength, s.least]);
            numbers
        };
        let numbers: Vec<f32> = sources.iter().flat_map(numbers).collect();
        let source = pairs_source(false, cull, model.support);
        Self::new(model, device, &unknown, &numbers, &source)
    }

    pub(super) fn spheres(model: &FieldModel, device: &Device) -> Result<Self, DeviceError> {
        let (unknown, sources) = crate::pairs::spheres::<f32>(model);
        let numbers = |s: &SphereSource<f32>| {
            let mut numbers = Vec::with_capacity(FIELDS);
            [s.at, s.spacing, s.b].iter().for_each(|part| numbers.extend(part));
            numbers.extend([0.0; 5]);
            numbers.extend([s.strength, s.least]);
            numbers
        };
        let numbers: Vec<f32> = sources.iter().flat_map(numbers).collect();
        let source = pairs_source(true, false, model.support);
        Self::new(model, device, &unknown, &numbers, &source)
    }

    fn new(
        model: &FieldModel,
        device: &Device,
        unknown: &[u32],
        numbers: &[f32],
        source: &KernelSource,
    ) -> Result<Self, DeviceError> {
        let tiles = Tiles::new(&model.geometry, &model.receivers);
        let tile = tiles.list();
        let every: Vec<u32> = (0..tiles.receivers.len() as u32).collect();
        let ones = vec![1.0_f32; tiles.receivers.len()];
        Ok(Self {
            sources: unknown.len(),
            tiles: tile.len(),
            volume: tiles.len(),
            source: device.upload(numbers)?,
            unknown: device.upload(unknown)?,
            tile: device.upload(tile.as_flattened())?,
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
