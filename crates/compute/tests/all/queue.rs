//! Several devices of one queue, on two PoCL devices, with work that diverges.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

use fimbria_compute::check::collatz;
use fimbria_compute::device::{Device, DeviceError, DeviceOptions};
use fimbria_compute::queue::{Shares, blocks_per_chunk, in_halves, run_chunks, run_pairs};
use fimbria_compute::{Interrupted, Progress, Silent};
use fimbria_testing::in_child;

const ITEMS: usize = 6000;
const CHUNK: usize = 250;

/// Starts, and where their steps go.
type Chunk<'a> = (&'a [u32], &'a mut [u32]);

fn starts() -> Vec<u32> {
    // A stride scatters long and short iterations over the chunks.
    (0..ITEMS as u32).map(|i| 1 + i * 7919 % 100_003).collect()
}

fn chunks<'a>(starts: &'a [u32], steps: &'a mut [u32]) -> Vec<Chunk<'a>> {
    starts.chunks(CHUNK).zip(steps.chunks_mut(CHUNK)).collect()
}

fn on_device(device: &Device, (starts, steps): &mut Chunk<'_>) -> Result<(), DeviceError> {
    steps.copy_from_slice(&collatz::steps_on(device, starts)?);
    Ok(())
}

fn on_cpu((starts, steps): &mut Chunk<'_>) -> Result<(), Interrupted> {
    for (start, steps) in starts.iter().zip(steps.iter_mut()) {
        *steps = collatz::steps(*start);
    }
    Ok(())
}

fn oracle() -> Vec<u32> {
    starts().into_iter().map(collatz::steps).collect()
}

/// Counts the calls for each of two devices and lets their threads wait for each other once, so
/// that no test depends on which thread is faster.
struct Meeting<'a> {
    devices: &'a [Device; 2],
    calls: [AtomicUsize; 2],
    barrier: Barrier,
}

impl<'a> Meeting<'a> {
    fn new(devices: &'a [Device; 2]) -> Self {
        Self { devices, calls: Default::default(), barrier: Barrier::new(2) }
    }
    fn index_of(&self, device: &Device) -> usize {
        usize::from(std::ptr::eq(device, &self.devices[1]))
    }
    fn calls_of(&self, device: &Device) -> usize {
        self.calls[self.index_of(device)].fetch_add(1, Ordering::Relaxed) + 1
    }
    fn wait(&self) {
        self.barrier.wait();
    }
}

fn refusal(device: &Device) -> DeviceError {
    let device = device.info().name.clone();
    DeviceError::Runtime { device, call: "test", detail: "refused".to_owned() }
}

const TWO_POCL_DEVICES: [(&str, &str); 1] = [("POCL_DEVICES", "pthread pthread")];

#[derive(Default)]
struct Warnings(Mutex<Vec<String>>);

impl Progress for Warnings {
    fn start(&self, _what: &str, _total: u64) {}
    fn advance(&self, _items: u64) {}
    fn warn(&self, message: &str) {
        self.0.lock().unwrap().push(message.to_owned());
    }
    fn is_cancelled(&self) -> bool {
        false
    }
}

#[test]
fn two_devices_share_one_queue_and_the_result_is_the_scalar_one() {
    if !in_child(&TWO_POCL_DEVICES) {
        return;
    }
    let Some(devices) = fimbria_testing::two_devices(Default::default()) else { return };
    // Nobody finishes a first chunk before both have one, however slowly a thread starts.
    let meeting = Meeting::new(&devices);
    let together = |device: &Device, chunk: &mut Chunk<'_>| {
        if meeting.calls_of(device) == 1 {
            meeting.wait();
        }
        on_device(device, chunk)
    };
    let (starts, mut steps) = (starts(), vec![0; ITEMS]);
    let shares =
        run_chunks(&devices, &mut chunks(&starts, &mut steps), together, on_cpu, &Silent).unwrap();
    assert_eq!(steps, oracle());
    assert_eq!(shares.cpu, 0);
    assert_eq!(shares.devices.iter().sum::<usize>(), ITEMS / CHUNK);
    assert!(shares.devices.iter().all(|&share| share > 0), "{shares:?}");
}

#[test]
fn a_device_lost_midway_is_given_up_and_the_other_finishes() {
    if !in_child(&TWO_POCL_DEVICES) {
        return;
    }
    let Some(devices) = fimbria_testing::two_devices(Default::default()) else { return };
    // The first device waits with its first chunk until the second is lost at its fourth.
    let meeting = Meeting::new(&devices);
    let lose_second = |device: &Device, chunk: &mut Chunk<'_>| {
        match (meeting.index_of(device), meeting.calls_of(device)) {
            (0, 1) => meeting.wait(),
            (1, 4) => {
                meeting.wait();
                chunk.1.fill(u32::MAX); // half-written work must not survive
                let device = device.info().name.clone();
                return Err(DeviceError::Lost { device, detail: "injected".to_owned() });
            }
            _ => {}
        }
        on_device(device, chunk)
    };
    let warnings = Warnings::default();
    let (starts, mut steps) = (starts(), vec![0; ITEMS]);
    let shares =
        run_chunks(&devices, &mut chunks(&starts, &mut steps), lose_second, on_cpu, &warnings)
            .unwrap();
    assert_eq!(steps, oracle());
    assert_eq!(shares, Shares { devices: vec![ITEMS / CHUNK - 3, 3], cpu: 0 });
    let warnings = warnings.0.into_inner().unwrap();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("injected") && warnings[0].contains("given up"), "{warnings:?}");
}

#[test]
fn a_device_without_memory_leaves_its_work_to_the_other() {
    if !in_child(&TWO_POCL_DEVICES) {
        return;
    }
    let starved = DeviceOptions { memory_limit: Some(CHUNK as u64), ..DeviceOptions::default() };
    let Some(devices) = fimbria_testing::two_devices([starved, DeviceOptions::default()]) else {
        return;
    };
    // The second waits until the first has been refused memory three times.
    let meeting = Meeting::new(&devices);
    let patient = |device: &Device, chunk: &mut Chunk<'_>| {
        if let (0, 3) | (1, 1) = (meeting.index_of(device), meeting.calls_of(device)) {
            meeting.wait();
        }
        on_device(device, chunk)
    };
    let warnings = Warnings::default();
    let (starts, mut steps) = (starts(), vec![0; ITEMS]);
    let shares =
        run_chunks(&devices, &mut chunks(&starts, &mut steps), patient, on_cpu, &warnings).unwrap();
    assert_eq!(steps, oracle());
    assert_eq!(shares, Shares { devices: vec![0, ITEMS / CHUNK], cpu: 0 });
    let warnings = warnings.0.into_inner().unwrap();
    assert!(warnings[0].contains("out of memory (1000 bytes requested, 250 available)"));
}

#[test]
fn the_cpu_finishes_what_no_device_can() {
    let starved = DeviceOptions { memory_limit: Some(CHUNK as u64), ..DeviceOptions::default() };
    let Some(device) = fimbria_testing::opencl_device_with(&starved) else { return };
    let warnings = Warnings::default();
    let (starts, mut steps) = (starts(), vec![0; ITEMS]);
    let shares =
        run_chunks(&[device], &mut chunks(&starts, &mut steps), on_device, on_cpu, &warnings)
            .unwrap();
    assert_eq!(steps, oracle());
    assert_eq!(shares, Shares { devices: vec![0], cpu: ITEMS / CHUNK });
    assert_eq!(warnings.0.into_inner().unwrap().len(), 3, "given up after three refusals");
}

#[test]
fn without_devices_the_cpu_does_everything() {
    let (starts, mut steps) = (starts(), vec![0; ITEMS]);
    let shares =
        run_chunks(&[], &mut chunks(&starts, &mut steps), on_device, on_cpu, &Silent).unwrap();
    assert_eq!(steps, oracle());
    assert_eq!(shares, Shares { devices: vec![], cpu: ITEMS / CHUNK });
}

#[test]
fn an_error_on_the_cpu_stops_the_queue_and_comes_back() {
    #[derive(Debug, PartialEq)]
    struct Broken;
    impl From<Interrupted> for Broken {
        fn from(_: Interrupted) -> Self {
            unreachable!("nobody interrupts")
        }
    }
    let mut begun = 0;
    let outcome = run_chunks(
        &[],
        &mut [1, 2, 3],
        |_, _| Ok(()),
        |chunk: &mut i32| {
            begun += 1;
            if *chunk == 2 { Err(Broken) } else { Ok(()) }
        },
        &Silent,
    );
    assert_eq!(outcome, Err(Broken));
    assert_eq!(begun, 2);
}

#[test]
fn a_device_that_recovers_between_refusals_is_kept() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    // Two of three chunks are refused, but never three in a row.
    let often = |device: &Device, chunk: &mut u32| match *chunk % 3 {
        2 => Ok(()),
        _ => Err(refusal(device)),
    };
    let mut chunks: Vec<u32> = (0..9).collect();
    let outcome = run_chunks(&[device], &mut chunks, often, |_| Ok::<_, Interrupted>(()), &Silent);
    assert_eq!(outcome, Ok(Shares { devices: vec![3], cpu: 6 }));
}

#[test]
fn a_panic_on_the_cpu_does_not_leave_devices_waiting() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    // The device refuses the first chunk and, serving, waits for the CPU to have done it.
    let refuse = |device: &Device, chunk: &mut u32| match *chunk {
        0 => Err(refusal(device)),
        _ => Ok(()),
    };
    let panics = |_: &mut u32| -> Result<(), Interrupted> { panic!("on the CPU") };
    let job = std::panic::AssertUnwindSafe(|| {
        run_chunks(&[device], &mut [0, 1], refuse, panics, &Silent)
    });
    let panic = std::panic::catch_unwind(job).expect_err("the panic comes back");
    assert_eq!(panic.downcast_ref(), Some(&"on the CPU"));
}

#[test]
fn a_cancelled_job_is_interrupted() {
    struct Cancelled;
    impl Progress for Cancelled {
        fn start(&self, _what: &str, _total: u64) {}
        fn advance(&self, _items: u64) {}
        fn warn(&self, _message: &str) {}
        fn is_cancelled(&self) -> bool {
            true
        }
    }
    let Some(device) = fimbria_testing::opencl_device() else { return };
    for devices in [&[][..], &[device]] {
        let (starts, mut steps) = (starts(), vec![0; ITEMS]);
        let outcome =
            run_chunks(devices, &mut chunks(&starts, &mut steps), on_device, on_cpu, &Cancelled);
        assert_eq!(outcome, Err(Interrupted));
    }
}

/// While one chunk is on the device, the host is at another of it.
#[test]
fn a_device_has_two_chunks_in_hand_each_with_a_queue_of_its_own() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let [in_hand, most, others] = [0, 0, 0].map(AtomicUsize::new);
    let both = Barrier::new(2);
    let of_device = device.upload(&[7_u32]).unwrap();
    let (starts, mut steps) = (starts(), vec![0; ITEMS]);
    let together = |queue: &Device, chunk: &mut Chunk<'_>| {
        most.fetch_max(in_hand.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        // Neither goes on before the other has come, and so each does every second chunk.
        both.wait();
        let outcome = on_device(queue, chunk);
        in_hand.fetch_sub(1, Ordering::Relaxed);
        // What is queued in one queue does not wait for what is queued in the other.
        if of_device.expect_on(queue).is_err() {
            others.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    };
    let devices = std::slice::from_ref(&device);
    let shares =
        run_pairs(devices, &mut chunks(&starts, &mut steps), together, on_cpu, &Silent).unwrap();
    assert_eq!(steps, oracle());
    assert_eq!(shares, Shares { devices: vec![ITEMS / CHUNK], cpu: 0 });
    assert_eq!(most.into_inner(), 2);
    assert_eq!(others.into_inner(), ITEMS / CHUNK / 2);
}

/// The thread that has the device's other chunk says nothing of what was said, and takes no more.
#[test]
fn a_device_lost_with_two_chunks_in_hand_is_told_once() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let both = Barrier::new(2);
    let tries = AtomicUsize::new(0);
    let lost = |device: &Device, chunk: &mut Chunk<'_>| {
        tries.fetch_add(1, Ordering::Relaxed);
        both.wait();
        chunk.1.fill(u32::MAX); // half-written work must not survive
        let device = device.info().name.clone();
        Err(DeviceError::Lost { device, detail: "injected".to_owned() })
    };
    let warnings = Warnings::default();
    let (starts, mut steps) = (starts(), vec![0; ITEMS]);
    let devices = std::slice::from_ref(&device);
    let shares =
        run_pairs(devices, &mut chunks(&starts, &mut steps), lost, on_cpu, &warnings).unwrap();
    assert_eq!(steps, oracle());
    assert_eq!(shares, Shares { devices: vec![0], cpu: ITEMS / CHUNK });
    assert_eq!(tries.into_inner(), 2);
    let warnings = warnings.0.into_inner().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("injected") && warnings[0].contains("given up"), "{warnings:?}");
}

/// A chunk that one thread of a device was refused is not for the other: the device is the same.
#[test]
fn a_chunk_that_a_device_refuses_is_the_processors() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let mut chunks: Vec<(usize, &str)> = (0..6).map(|number| (number, "nobody")).collect();
    let tries = AtomicUsize::new(0);
    let refuse_second = |device: &Device, (number, by): &mut (usize, &str)| {
        if *number == 1 {
            tries.fetch_add(1, Ordering::Relaxed);
            return Err(refusal(device));
        }
        *by = "device";
        Ok(())
    };
    let on_cpu = |(_, by): &mut (usize, &str)| {
        *by = "processor";
        Ok::<_, Interrupted>(())
    };
    let devices = std::slice::from_ref(&device);
    let shares = run_pairs(devices, &mut chunks, refuse_second, on_cpu, &Silent);
    assert_eq!(shares, Ok(Shares { devices: vec![5], cpu: 1 }));
    let by: Vec<_> = chunks.iter().map(|(_, by)| *by).collect();
    assert_eq!(by, ["device", "processor", "device", "device", "device", "device"]);
    assert_eq!(tries.into_inner(), 1);
}

#[test]
fn what_a_device_has_no_memory_for_is_done_in_halves() {
    let refused = || DeviceError::OutOfMemory { device: "card".into(), requested: 9, available: 3 };
    let mut done = Vec::new();
    let mut work = |items: &mut [u32]| -> Result<u32, DeviceError> {
        if items.len() > 3 {
            return Err(refused());
        }
        done.push(items.len());
        Ok(items.iter().sum())
    };
    let mut items: Vec<u32> = (1..=10).collect();
    assert_eq!(in_halves(&mut items, &mut work, &|a, b| a + b), Ok(55));
    assert_eq!(done, [2, 3, 2, 3]);
    // A single one that does not fit is refused, and so is what fails for another reason.
    let mut refuse = |_: &mut [u32]| Err::<u32, _>(refused());
    assert_eq!(in_halves(&mut [1], &mut refuse, &|a, b| a + b), Err(refused()));
    let mut calls = 0;
    let mut lost = |_: &mut [u32]| {
        calls += 1;
        Err::<u32, _>(DeviceError::Lost { device: "card".into(), detail: "gone".into() })
    };
    assert!(in_halves(&mut items, &mut lost, &|a, b| a + b).is_err());
    assert_eq!(calls, 1);
}

#[test]
fn several_devices_get_several_chunks_each() {
    if !in_child(&TWO_POCL_DEVICES) {
        return;
    }
    let Some(devices) = fimbria_testing::two_devices(Default::default()) else { return };
    let bytes = [4 * 70, 4 * 30];
    // 19 blocks of 4096 voxels of 70 volumes are little for one device, which has several where each fills it.
    assert_eq!(blocks_per_chunk(&devices[..1], &bytes, bytes[0], (19, 4096)), 16);
    assert_eq!(blocks_per_chunk(&devices[..1], &bytes, bytes[0], (96, 4096)), 24);
    assert_eq!(blocks_per_chunk(&devices, &bytes, bytes[0], (19, 4096)), 2);
    assert_eq!(blocks_per_chunk(&devices, &bytes, bytes[0], (3, 4096)), 1);
}
