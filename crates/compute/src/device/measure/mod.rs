//! What a device attains: the floors that times on it are held against.

use std::time::Instant;

use super::{Device, DeviceError, KernelSource, Launch};

const GROUP: usize = 128;
/// Reads, or links of a chain, in each round of a kernel.
const READS: usize = 16;
const CHAINS: usize = 8;

/// Elements of each array of the triad: three of 256 MB, beyond any cache; fewer on a device with
/// less memory.
const TRIAD_ELEMENTS: usize = 64 << 20;
/// Elements that are read again and again: 1 MB, in the cache that all groups share.
const CACHED_ELEMENTS: usize = 256 << 10;
/// Bytes sent to the device and back.
const TRANSFER_BYTES: usize = 64 << 20;
/// Seconds a measured launch takes at least, so that starting it costs nothing.
const ENOUGH_SECONDS: f64 = 0.02;
const REPETITIONS: usize = 5;

/// An amount of work, and the best time of several repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attained {
    /// Bytes, or operations.
    pub amount: u64,
    /// Seconds.
    pub seconds: f64,
}

impl Attained {
    /// Bytes or operations in a second.
    pub fn per_second(&self) -> f64 {
        self.amount as f64 / self.seconds
    }
}

/// What a device attains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceMeasurement {
    /// `a = b + s c` beyond the caches, in bytes: two reads and one write.
    pub memory_triad: Attained,
    /// Reading 1 MB again and again, in bytes.
    pub cache_read: Attained,
    /// Reading a group's local memory, in bytes.
    pub local_read: Attained,
    /// f32 multiply-adds on registers, in operations, two for each.
    pub multiply_add: Attained,
    /// Host to device, in bytes.
    pub upload: Attained,
    /// Device to host, in bytes.
    pub download: Attained,
    /// An empty launch, waited for, in launches.
    pub launch: Attained,
}

/// Measures everything, in a few seconds.
///
/// # Errors
/// Where the device fails.
pub fn measure(device: &Device) -> Result<DeviceMeasurement, DeviceError> {
    let [upload, download] = transfers(device)?;
    Ok(DeviceMeasurement {
        memory_triad: triad(device)?,
        cache_read: cache_read(device)?,
        local_read: local_read(device)?,
        multiply_add: multiply_add(device)?,
        upload,
        download,
        launch: launch(device)?,
    })
}

/// The kernels.
pub(crate) fn kernel_source() -> KernelSource {
    KernelSource::new("rates", include_str!("rates.cl"))
        .with("GROUP", GROUP)
        .with("READS", READS)
        .with("CHAINS", format_args!("{CHAINS}u"))
}

/// Enough groups to fill the device several times over.
fn groups(device: &Device) -> usize {
    64 * device.info().compute_units as usize
}

fn triad(device: &Device) -> Result<Attained, DeviceError> {
    let kernel = device.kernel(&kernel_source(), "triad")?;
    let n = TRIAD_ELEMENTS.min(device.chunk_len(&[4, 4, 4]));
    let (b, c, a) = (device.zeros::<f32>(n)?, device.zeros::<f32>(n)?, device.zeros::<f32>(n)?);
    let arguments = [(n as u64).into(), 2.0_f32.into(), (&b).into(), (&c).into(), (&a).into()];
    let seconds = best_time(device, || {
        // SAFETY: the kernel's five parameters; each buffer holds n elements.
        unsafe { kernel.launch(Launch::items(n), &arguments) }
    })?;
    Ok(Attained { amount: 12 * n as u64, seconds })
}

fn cache_read(device: &Device) -> Result<Attained, DeviceError> {
    let kernel = device.kernel(&kernel_source(), "read_again")?;
    let groups = groups(device);
    let x = device.upload(&vec![1.0_f32; CACHED_ELEMENTS])?;
    let result = device.allocate::<f32>(groups * GROUP)?;
    in_rounds(device, 4 * READS * groups * GROUP, |rounds| {
        let n = CACHED_ELEMENTS as u32;
        let arguments = [n.into(), rounds.into(), (&x).into(), (&result).into()];
        // SAFETY: the kernel's four parameters; x holds n numbers, result one for each item.
        unsafe { kernel.launch(Launch::groups_of(GROUP, groups), &arguments) }
    })
}

fn local_read(device: &Device) -> Result<Attained, DeviceError> {
    let kernel = device.kernel(&kernel_source(), "read_local")?;
    let groups = groups(device);
    let result = device.allocate::<f32>(groups * GROUP)?;
    in_rounds(device, 4 * READS * groups * GROUP, |rounds| {
        // SAFETY: the kernel's two parameters; result holds one number for each item.
        unsafe {
            kernel.launch(Launch::groups_of(GROUP, groups), &[rounds.into(), (&result).into()])
        }
    })
}

fn multiply_add(device: &Device) -> Result<Attained, DeviceError> {
    let kernel = device.kernel(&kernel_source(), "multiply_add")?;
    let groups = groups(device);
    let result = device.allocate::<f32>(groups * GROUP)?;
    in_rounds(device, 2 * CHAINS * READS * groups * GROUP, |rounds| {
        let arguments = [rounds.into(), 0.5_f32.into(), 1.0_f32.into(), (&result).into()];
        // SAFETY: the kernel's four parameters; result holds one number for each item.
        unsafe { kernel.launch(Launch::groups_of(GROUP, groups), &arguments) }
    })
}

fn launch(device: &Device) -> Result<Attained, DeviceError> {
    let kernel = device.kernel(&kernel_source(), "multiply_add")?;
    let result = device.allocate::<f32>(GROUP)?;
    let arguments = [0_u32.into(), 0.5_f32.into(), 1.0_f32.into(), (&result).into()];
    let seconds = best_time(device, || {
        // SAFETY: the kernel's four parameters; result holds one number for each item.
        unsafe { kernel.launch(Launch::groups_of(GROUP, 1), &arguments) }
    })?;
    Ok(Attained { amount: 1, seconds })
}

fn transfers(device: &Device) -> Result<[Attained; 2], DeviceError> {
    let bytes = TRANSFER_BYTES.min(device.chunk_len(&[1]));
    let mut host = vec![1_u8; bytes];
    let mut buffer = device.allocate::<u8>(bytes)?;
    let up = best_time(device, || buffer.write(0, &host))?;
    let down = best_time(device, || buffer.read(0, &mut host))?;
    Ok([up, down].map(|seconds| Attained { amount: bytes as u64, seconds }))
}

/// Times `work` with as many rounds as take long enough.
fn in_rounds(
    device: &Device,
    amount_of_round: usize,
    mut work: impl FnMut(u32) -> Result<(), DeviceError>,
) -> Result<Attained, DeviceError> {
    let mut rounds = 4;
    time(device, || work(rounds))?; // some runtimes finish compiling now
    while time(device, || work(rounds))? < ENOUGH_SECONDS && rounds < 1 << 20 {
        rounds *= 2;
    }
    let seconds = best_time(device, || work(rounds))?;
    Ok(Attained { amount: u64::from(rounds) * amount_of_round as u64, seconds })
}

fn best_time(
    device: &Device,
    mut work: impl FnMut() -> Result<(), DeviceError>,
) -> Result<f64, DeviceError> {
    time(device, &mut work)?; // caches, clocks, pages
    let mut best = f64::INFINITY;
    for _ in 0..REPETITIONS {
        best = best.min(time(device, &mut work)?);
    }
    Ok(best)
}

/// Seconds from a quiet device until the work is done.
fn time(
    device: &Device,
    work: impl FnOnce() -> Result<(), DeviceError>,
) -> Result<f64, DeviceError> {
    device.synchronize()?;
    let start = Instant::now();
    work()?;
    device.synchronize()?;
    Ok(start.elapsed().as_secs_f64())
}
