//! Which sources and tiles meet, found once: products test no pair that has nothing to give.

use fimbria_compute::device::{Argument, Buffer, Device, DeviceError, Kernel, Launch};

use super::tiles::TILE;

/// A list takes at most this part of the memory that is left to spare: other shares of an operator may come to the
/// same device, with two lists each.
const SHARE_OF_MEMORY: u64 = 6;

/// Counts that the host adds up at a time.
const PIECE: usize = 1 << 18;

/// For each group of a kernel the candidates that meet it, by batch, in the order in which the kernel without
/// lists would find them. Two bytes for each that meets and four for each batch.
pub(super) struct List {
    /// Candidates are counted in as many batches for each group.
    pub(super) batches: usize,
    /// Where the hits of each batch of each group begin, and the end.
    pub(super) starts: Buffer<u32>,
    /// Numbers within the batch.
    pub(super) hits: Buffer<u16>,
}

impl List {
    /// For each of `groups` those of `candidates` that meet it, taken `batch` at a time; by `kernel`, whose
    /// parameters are `fill`, the numbers of batches and of candidates, `what`, and the list. `None` where the
    /// memory that is left would not do, of which `later` bytes are for what is made later.
    ///
    /// # Safety
    /// `what` are the kernel's parameters between those named, with at least `groups` groups and `candidates`.
    ///
    /// # Errors
    /// Where the device fails.
    pub(super) unsafe fn new(
        device: &Device,
        kernel: &Kernel,
        (groups, candidates, batch): (usize, usize, usize),
        what: &[Argument],
        later: u64,
    ) -> Result<Option<Self>, DeviceError> {
        let batches = candidates.div_ceil(batch);
        let most = device.available_bytes().saturating_sub(later) / SHARE_OF_MEMORY;
        // SAFETY: the caller's promise.
        match unsafe { Self::within(device, kernel, (groups, candidates, batches), what, most) } {
            // Others may have taken memory meanwhile, or the driver has less than it said.
            Err(DeviceError::OutOfMemory { .. } | DeviceError::BufferTooLarge { .. }) => Ok(None),
            result => result,
        }
    }

    /// The list, unless it takes more than `most` bytes.
    ///
    /// # Safety
    /// As for [`new`](Self::new).
    unsafe fn within(
        device: &Device,
        kernel: &Kernel,
        (groups, candidates, batches): (usize, usize, usize),
        what: &[Argument],
        most: u64,
    ) -> Result<Option<Self>, DeviceError> {
        let counts = groups * batches;
        if 4 * (counts as u64 + 1) > most {
            return Ok(None);
        }
        let launch = |fill: u32, starts: &mut Buffer<u32>, hits: &mut Buffer<u16>| {
            let mut arguments: Vec<Argument> =
                vec![fill.into(), (batches as u32).into(), (candidates as u32).into()];
            arguments.extend(what);
            arguments.extend::<[Argument; 2]>([starts.into(), hits.into()]);
            // SAFETY: the caller's promise; `starts` has an element for each batch of each group, and hits are
            // written only where as many were counted.
            unsafe { kernel.launch(Launch::groups_of(TILE, groups), &arguments) }
        };
        let mut starts = device.zeros::<u32>(counts + 1)?;
        launch(0, &mut starts, &mut device.allocate(0)?)?;
        let mut piece = vec![0; PIECE.min(counts + 1)];
        let mut total = 0_u64;
        for at in (0..=counts).step_by(PIECE) {
            let piece = &mut piece[..PIECE.min(counts + 1 - at)];
            starts.read(at, piece)?;
            for start in &mut *piece {
                let count = u64::from(*start);
                *start = total as u32;
                total += count;
            }
            // Kernels count hits in 32 bits.
            if total > u64::from(u32::MAX) || 2 * total + 4 * (counts as u64 + 1) > most {
                return Ok(None);
            }
            starts.write(at, piece)?;
        }
        let mut hits = device.allocate(total as usize)?;
        launch(1, &mut starts, &mut hits)?;
        Ok(Some(Self { batches, starts, hits }))
    }
}

#[cfg(test)]
mod tests {
    use fimbria_compute::device::DeviceOptions;

    use super::super::pairs::{BATCH, DevicePairs};
    use super::*;
    use crate::operator::Sources;
    use crate::pairs::Source;
    use crate::{FieldModel, Geometry, Shape};

    /// Cylinders of many directions, more of them, and more tiles, than a batch holds.
    fn model() -> FieldModel {
        let geometry = Geometry {
            dims: [34, 33, 31],
            spacing: [0.9, 1.0, 1.1],
            b0: [0.0, 0.6, 0.8],
            reversed: [false; 3],
        };
        let receivers: Vec<u32> = (0..geometry.len() as u32).filter(|v| v % 3 > 0).collect();
        let mask: Vec<u32> = receivers.iter().copied().filter(|v| v % 29 == 1).collect();
        let shape = |&voxel: &u32| {
            let t = f64::from(voxel);
            let axis = [t.sin(), (1.7 * t).cos(), 0.3 + (2.3 * t).sin()];
            let length = axis.iter().map(|x| x * x).sum::<f64>().sqrt();
            Shape::Cylinder(axis.map(|x| x / length))
        };
        let shapes = mask.iter().map(shape).collect();
        FieldModel::new(&geometry, &mask, shapes, &receivers).unwrap()
    }

    fn pairs(device: &Device, model: &FieldModel) -> DevicePairs {
        let sources = Sources::from_model(model);
        DevicePairs::cylinders(model, &sources, device, true, 0).unwrap()
    }

    /// (group, candidate) of a list, in its order.
    fn listed(list: &List) -> Vec<(usize, usize)> {
        let (starts, hits) = (list.starts.to_vec().unwrap(), list.hits.to_vec().unwrap());
        assert_eq!(*starts.last().unwrap() as usize, hits.len());
        let mut pairs = Vec::new();
        for (at, ends) in starts.windows(2).enumerate() {
            let (group, batch) = (at / list.batches, at % list.batches);
            for &hit in &hits[ends[0] as usize..ends[1] as usize] {
                pairs.push((group, batch * BATCH + usize::from(hit)));
            }
        }
        pairs
    }

    /// |w| at the tile's middle against what the slab and the tile extend to, in f32 as the kernel.
    fn meets(source: &Source<f32>, first: [u32; 3]) -> bool {
        let d = [0, 1, 2].map(|a| first[a] as f32 + 1.5 - source.at[a]);
        let [wx, wy, wz] = source.w;
        let w = wz.mul_add(d[2], wy.mul_add(d[1], wx * d[0]));
        w.abs() <= 1.5_f32.mul_add(wx.abs() + wy.abs() + wz.abs(), 1.01)
    }

    #[test]
    fn both_lists_are_the_pairs_that_meet() {
        let Some(device) = fimbria_testing::opencl_device() else { return };
        let model = model();
        let pairs = pairs(&device, &model);
        let tiles = super::super::tiles::Tiles::new(&model.geometry, &model.receivers).list;
        let sources = Sources::from_model(&model).cylinders;
        assert!(tiles.len() > BATCH && sources.len() > BATCH);
        let source = |i: usize| {
            let (at, cylinder) = &sources[i];
            Source::<f32>::new(&model.geometry, *at, cylinder, [0, 1, 2])
        };
        let mut expected: Vec<(usize, usize)> = Vec::new();
        for (t, &[_, x, y, z]) in tiles.iter().enumerate() {
            expected.extend(
                (0..sources.len()).filter(|&i| meets(&source(i), [x, y, z])).map(|i| (t, i)),
            );
        }
        // Neither all of them nor few.
        let all = tiles.len() * sources.len();
        assert!(expected.len() > all / 100 && expected.len() < all / 2);
        let [of_tiles, of_sources] = pairs.lists();
        let (of_tiles, of_sources) = (of_tiles.unwrap(), of_sources.unwrap());
        // The order in which sums are made without lists: an item of a group has each TILE-th of a batch's
        // candidates.
        let found = |&(group, candidate): &(usize, usize)| {
            (group, candidate / BATCH, candidate % TILE, candidate)
        };
        expected.sort_by_key(found);
        assert_eq!(listed(of_tiles), expected);
        let mut expected: Vec<_> = expected.into_iter().map(|(t, i)| (i, t)).collect();
        expected.sort_by_key(found);
        assert_eq!(listed(of_sources), expected);
    }

    fn bytes_of(list: &List) -> u64 {
        (size_of::<u32>() * list.starts.len() + size_of::<u16>() * list.hits.len()) as u64
    }

    /// What the sources see of a field, and the field of them.
    fn products(device: &Device, model: &FieldModel, pairs: &DevicePairs) -> [Vec<f32>; 2] {
        let number = |i: usize| (i % 17) as f32 - 8.0;
        let upload = |n: usize| device.upload(&(0..n).map(number).collect::<Vec<_>>()).unwrap();
        let mut x = device.zeros::<f32>(model.unknowns.len()).unwrap();
        pairs.gather(&upload(model.receivers.len()), &mut x).unwrap();
        let mut y = device.zeros::<f32>(model.receivers.len()).unwrap();
        let add = device.kernel(&crate::device::vectors_source(), "add_plain").unwrap();
        pairs.add_field(&upload(x.len()), &mut y, &add).unwrap();
        [x.to_vec().unwrap(), y.to_vec().unwrap()]
    }

    /// The first list is there, the second is not, products have the bits of none, and all memory comes back.
    fn assert_one_list(device: &Device, model: &FieldModel) {
        let before = device.available_bytes();
        let mut pairs = pairs(device, model);
        let [Some(list), None] = pairs.lists() else { panic!("one list") };
        let of_list = bytes_of(list);
        let with_it = device.available_bytes();
        let by_one = products(device, model, &pairs);
        assert!(by_one.iter().flatten().any(|x| *x != 0.0));
        pairs.forget_lists();
        assert_eq!(device.available_bytes() - with_it, of_list);
        assert_eq!(by_one, products(device, model, &pairs));
        drop(pairs);
        assert_eq!(device.available_bytes(), before);
    }

    #[test]
    fn memory_for_one_list_has_that_one_and_the_same_results() {
        let Some(device) = fimbria_testing::opencl_device() else { return };
        let model = model();
        let before = device.available_bytes();
        let pairs = pairs(&device, &model);
        let [first, second] = pairs.lists().map(|list| bytes_of(list.unwrap()));
        let beside = before - device.available_bytes() - first - second;
        // Just enough for the first: what it leaves is too little for one as large.
        let limit = beside + SHARE_OF_MEMORY * first;
        assert!((limit - beside - first) / SHARE_OF_MEMORY < second);
        let options = DeviceOptions { memory_limit: Some(limit), ..DeviceOptions::default() };
        let short = fimbria_testing::opencl_device_with(&options).expect("as before");
        assert_one_list(&short, &model);
    }

    /// By the driver, although the device should have it: hits are counted, but there is no room for them.
    #[cfg(target_os = "linux")]
    #[test]
    fn memory_that_is_refused_half_way_has_one_list_and_the_same_results() {
        let Some(device) = fimbria_testing::opencl_device() else { return };
        let model = model();
        if fimbria_testing::is_child() {
            return assert_one_list(&device, &model);
        }
        let hits = pairs(&device, &model).lists().map(|list| list.unwrap().hits.len());
        assert_eq!(hits[0], hits[1]);
        let Some((_driver, path)) = fimbria_testing::failing_opencl() else { return };
        let second = format!("{}:2", hits[1] * size_of::<u16>());
        fimbria_testing::in_child(&[("LD_LIBRARY_PATH", &path), ("FAILING_OPENCL_SHORT", &second)]);
    }

    #[test]
    fn memory_that_is_short_has_no_lists_and_the_same_results() {
        // Sources, places and volumes take 0.6 MB, a list some 0.15 MB.
        let options = DeviceOptions { memory_limit: Some(700_000), ..DeviceOptions::default() };
        let Some(short) = fimbria_testing::opencl_device_with(&options) else { return };
        let Some(ample) = fimbria_testing::opencl_device() else { return };
        let model = model();
        let field: Vec<f32> = (0..model.receivers.len()).map(|i| (i % 17) as f32 - 8.0).collect();
        let seen = |device: &Device, has_lists: bool| {
            let pairs = pairs(device, &model);
            assert!(pairs.lists().iter().all(|list| list.is_some() == has_lists));
            let mut x = device.zeros::<f32>(model.unknowns.len()).unwrap();
            pairs.gather(&device.upload(&field).unwrap(), &mut x).unwrap();
            x.to_vec().unwrap()
        };
        let short = seen(&short, false);
        assert!(short.iter().all(|x| *x != 0.0));
        assert_eq!(short, seen(&ample, true));
    }
}
