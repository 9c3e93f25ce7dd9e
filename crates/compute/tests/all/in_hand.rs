//! What a card is asked while two chunks are in hand, by the log of one that does nothing.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fimbria_compute::device::{
    Device, DeviceError, DeviceOptions, Kernel, KernelSource, Launch, Selection, list,
};
use fimbria_compute::queue::{Shares, run_pairs};
use fimbria_compute::{Interrupted, Silent};

/// Seconds that each kernel takes.
const KERNEL_SECONDS: f64 = 0.2;

/// A call that the card was asked.
#[derive(Debug)]
struct Call {
    began: f64,
    ended: f64,
    stream: String,
    what: String,
}

fn calls(log: &Path) -> Vec<Call> {
    let texts = std::fs::read_dir(log).unwrap();
    let texts = texts.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let call = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [began, stream, what, _, took] = words[..] else { panic!("{line}") };
        let began: f64 = began.parse().unwrap();
        let ended = began + took.parse::<f64>().unwrap();
        Call { began, ended, stream: stream.to_owned(), what: what.to_owned() }
    };
    texts.flat_map(|text| text.lines().map(call).collect::<Vec<_>>()).collect()
}

/// A folder that goes with this.
struct Log(PathBuf);

impl Drop for Log {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Does `work` on a card that does nothing, in a process of its own, and returns what that was asked;
/// `None` in that process, and, said aloud, where there is no compiler.
fn asked(name: &str, work: impl FnOnce(&Device)) -> Option<Vec<Call>> {
    if fimbria_testing::is_child() {
        let chosen = Selection::AllGpus.choose(&list()).expect("the card");
        work(&Device::open(&chosen[0], &DeviceOptions::default()).expect("the card opens"));
        return None;
    }
    let (_driver, path) = fimbria_testing::null_gpu()?;
    let log = Log(std::env::temp_dir().join(format!("fimbria-{name}-{}", std::process::id())));
    std::fs::create_dir_all(&log.0).unwrap();
    fimbria_testing::in_child(&[
        ("LD_LIBRARY_PATH", &path),
        ("NULL_GPU_LOG", log.0.to_str().unwrap()),
        ("NULL_GPU_KERNEL_MS", &format!("{}", 1e3 * KERNEL_SECONDS)),
    ]);
    Some(calls(&log.0))
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
    let Some(calls) = asked("in-hand", four_chunks) else { return };
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
