//! What a card is asked for by chunks and buffers, by the log of one that does nothing.
#![cfg(target_os = "linux")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fimbria_compute::device::{Device, DeviceError, DeviceOptions, Kernel, KernelSource, Launch};
use fimbria_compute::queue::{Shares, run_pairs};
use fimbria_compute::{Interrupted, Silent};
use fimbria_testing::Call;

/// Seconds that each kernel takes.
const KERNEL_SECONDS: f64 = 0.2;

/// Bytes that buffers may take.
const BUDGET: u64 = 10_000;

/// Does `work` on a card that does nothing and has this fault, and returns what that was asked.
fn asked(name: &str, fault: &str, work: impl FnOnce(&Device)) -> Option<Vec<Call>> {
    let options = DeviceOptions { memory_limit: Some(BUDGET), ..DeviceOptions::default() };
    fimbria_testing::asked(name, fault, KERNEL_SECONDS, &options, work)
}

/// A kernel that the card does nothing for.
fn kernel(device: &Device) -> Result<Kernel, DeviceError> {
    let source = KernelSource::new("nothing", "KERNEL(nothing)(GLOBAL u32 *x) { x[0] += 1; }");
    device.kernel(&source, "nothing")
}

/// Sends a chunk, does nothing with it, and fetches it.
fn send_and_fetch(device: &Device, chunk: &mut [u32]) -> Result<(), DeviceError> {
    let kernel = kernel(device)?;
    let sent = device.upload(chunk)?;
    // SAFETY: the kernel's one parameter, of one element at least.
    unsafe { kernel.launch(Launch::groups_of(1, 1), &[(&sent).into()])? };
    sent.read(0, chunk)
}

#[test]
fn one_chunk_is_sent_while_a_kernel_is_at_the_other() {
    let four_chunks = |device: &Device| {
        let mut chunks = [[7_u32; 250]; 4];
        // Compiled beforehand; then the second chunk is gathered while a kernel is at the first.
        kernel(device).unwrap();
        let begun = AtomicUsize::new(0);
        let work = |device: &Device, chunk: &mut [u32; 250]| {
            if begun.fetch_add(1, Ordering::Relaxed) == 1 {
                std::thread::sleep(Duration::from_secs_f64(KERNEL_SECONDS / 4.0));
            }
            send_and_fetch(device, chunk)
        };
        let devices = std::slice::from_ref(device);
        let shares = run_pairs(devices, &mut chunks, work, |_| Ok::<_, Interrupted>(()), &Silent);
        assert_eq!(shares, Ok(Shares { devices: vec![4], cpu: 0 }));
        assert_eq!(chunks, [[7; 250]; 4]);
    };
    let Some(calls) = asked("in-hand", "none", four_chunks) else { return };
    let of = |what: &'static str| calls.iter().filter(move |call| call.what == what);
    assert_eq!(of("launch").count(), 4, "{calls:?}");
    let within = |launch: &Call, upload: &Call| {
        upload.stream != launch.stream
            && upload.began > launch.began
            && upload.ended < launch.began + KERNEL_SECONDS
    };
    let beside = of("launch").filter(|launch| of("upload").any(|upload| within(launch, upload)));
    assert!(beside.count() > 0, "no chunk was sent while a kernel ran: {calls:?}");
}

/// What the card was asked about memory, as "allocate 600".
fn of_memory(calls: &[Call]) -> Vec<String> {
    let of_memory = calls.iter().filter(|call| call.what == "allocate" || call.what == "free");
    of_memory.map(|call| format!("{} {}", call.what, call.of)).collect()
}

#[test]
fn chunks_use_the_memory_of_those_before_them() {
    let many_chunks = |device: &Device| {
        let mut chunks = vec![[7_u32; 250]; 6];
        let work = |device: &Device, chunk: &mut [u32; 250]| send_and_fetch(device, chunk);
        let devices = std::slice::from_ref(device);
        run_pairs(devices, &mut chunks, work, |_| Ok::<_, Interrupted>(()), &Silent).unwrap();
        assert_eq!(device.available_bytes(), BUDGET);
    };
    let Some(calls) = asked("pool", "none", many_chunks) else { return };
    let uploads = calls.iter().filter(|call| call.what == "upload").count();
    assert_eq!(uploads, 6, "{calls:?}");
    // One for each queue, given back with it.
    let [took, gave] = ["allocate 1000", "free 1000"].map(str::to_owned);
    assert_eq!(of_memory(&calls), [took.clone(), took, gave.clone(), gave], "{calls:?}");
}

#[test]
fn kept_memory_is_given_back_before_memory_is_short() {
    let grow = |device: &Device| {
        drop(device.upload(&[1_u8; 6000]).unwrap());
        // As large as what is left and what is kept together.
        let held = device.upload(&[2_u8; 9000]).unwrap();
        assert_eq!(device.available_bytes(), BUDGET - 9000);
        let refused = device.allocate::<u8>(1001).unwrap_err();
        assert!(matches!(
            refused,
            DeviceError::OutOfMemory { requested: 1001, available: 1000, .. }
        ));
        assert_eq!(held.to_vec().unwrap(), [2; 9000]);
    };
    let Some(calls) = asked("short", "none", grow) else { return };
    let expected = ["allocate 6000", "free 6000", "allocate 9000", "free 9000"];
    assert_eq!(of_memory(&calls), expected, "{calls:?}");
}

#[test]
fn a_card_that_refuses_is_asked_again_once_kept_memory_is_given_back() {
    let refused_once = |device: &Device| {
        drop(device.upload(&[1_u8; 1000]).unwrap());
        // Others use the card: by its budget there is room, and the driver says no.
        assert_eq!(device.upload(&[2_u8; 5000]).unwrap().to_vec().unwrap(), [2; 5000]);
    };
    let Some(calls) = asked("refused", "allocation:2", refused_once) else { return };
    let expected = ["allocate 1000", "free 1000", "allocate 5000", "free 5000"];
    assert_eq!(of_memory(&calls), expected, "{calls:?}");
}

/// Else memory would be short that is just enough.
#[test]
fn a_block_larger_than_needed_is_left() {
    let just_enough = |device: &Device| {
        drop(device.upload(&[1_u8; 5000]).unwrap());
        let small = device.upload(&[2_u8; 4500]).unwrap();
        let large = device.upload(&[3_u8; 5500]).unwrap();
        assert_eq!((small.to_vec().unwrap()[4499], large.to_vec().unwrap()[5499]), (2, 3));
    };
    let Some(calls) = asked("sizes", "none", just_enough) else { return };
    let asked: Vec<_> = of_memory(&calls).into_iter().take(4).collect();
    let expected = ["allocate 5000", "allocate 4500", "free 5000", "allocate 5500"];
    assert_eq!(asked, expected, "{calls:?}");
}
