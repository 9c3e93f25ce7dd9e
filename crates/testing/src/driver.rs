//! Drivers for CUDA without a card, and an OpenCL whose devices fail.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use fimbria_compute::device::{Device, DeviceOptions, Selection, list};

use crate::{in_child, is_child, missing, nvrtc_folder};

/// A driver that was compiled into a folder of its own, which goes with this.
pub struct Driver(PathBuf);

impl Driver {
    /// Compiles a file of `crates/compute/tests/stand_in`; `None`, said aloud, without a compiler.
    pub fn compile(source: &str) -> Option<Self> {
        Self::compile_as(source, "libcuda.so.1")
    }

    /// The same under the name of another library.
    fn compile_as(source: &str, library: &str) -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = format!("fimbria-{source}-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let driver = Self(folder);
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../compute/tests/stand_in");
        let built = Command::new("cc")
            .args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
            .args([&driver.0.join(library), &sources.join(source)])
            .arg("-ldl")
            .status();
        match built {
            Ok(status) => assert!(status.success(), "{source} does not compile"),
            Err(_) => {
                missing("a C compiler");
                return None;
            }
        }
        Some(driver)
    }

    /// Where it lies.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// `LD_LIBRARY_PATH` of a process that is to find it, and NVRTC in `nvrtc`.
    pub fn library_path(&self, nvrtc: &Path) -> String {
        let inherited = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
        format!("{}:{}:{inherited}", self.0.display(), nvrtc.display())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// `LD_LIBRARY_PATH` of a process whose OpenCL devices fail on request (`failing_opencl.c`), beside the driver
/// that must live as long; `None`, said aloud, without a compiler or a device.
pub fn failing_opencl() -> Option<(Driver, String)> {
    crate::opencl_device()?;
    let driver = Driver::compile_as("failing_opencl.c", "libOpenCL.so.1")?;
    let inherited = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let path = format!("{}:{inherited}", driver.0.display());
    Some((driver, path))
}

/// `LD_LIBRARY_PATH` of a process that is to find cards that do nothing (`null_gpu.c`), beside the driver
/// that must live as long; `None`, said aloud, without a compiler or NVRTC.
pub fn null_gpu() -> Option<(Driver, String)> {
    let Some(nvrtc) = nvrtc_folder() else {
        missing("NVRTC");
        return None;
    };
    let driver = Driver::compile("null_gpu.c")?;
    let path = driver.library_path(&nvrtc);
    Some((driver, path))
}

/// A call that a card which does nothing was asked.
#[derive(Debug)]
pub struct Call {
    /// When, seconds of a clock.
    pub began: f64,
    /// When it returned: a launch before its kernel is done.
    pub ended: f64,
    /// On which stream.
    pub stream: String,
    /// "launch", "upload", "download", "allocate", "free" …
    pub what: String,
    /// Bytes, or the kernel.
    pub of: String,
}

/// What cards that do nothing noted in the folder `log`, in the order of the calls.
pub fn calls(log: &Path) -> Vec<Call> {
    let texts = std::fs::read_dir(log).expect("a folder");
    let text = |file: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(file.expect("an entry").path()).expect("a log")
    };
    let call = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [began, stream, what, of, took] = words[..] else { panic!("{line}") };
        let began: f64 = began.parse().expect("seconds");
        let ended = began + took.parse::<f64>().expect("seconds");
        let [stream, what, of] = [stream, what, of].map(str::to_owned);
        Call { began, ended, stream, what, of }
    };
    texts.map(text).flat_map(|text| text.lines().map(call).collect::<Vec<_>>()).collect()
}

/// A folder that goes with this.
struct Log(PathBuf);

impl Drop for Log {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Does `work` on a card that does nothing (`null_gpu.c`), opened with `options`, in a process of its own, and returns
/// what the card was asked; `None` in that process, and, said aloud, where there is no compiler or NVRTC. The card has
/// this fault ("none" for none), and each kernel takes so many seconds.
pub fn asked(
    name: &str,
    fault: &str,
    kernel_seconds: f64,
    options: &DeviceOptions,
    work: impl FnOnce(&Device),
) -> Option<Vec<Call>> {
    if is_child() {
        let chosen = Selection::AllGpus.choose(&list()).expect("the card");
        work(&Device::open(&chosen[0], options).expect("the card opens"));
        return None;
    }
    let (_driver, path) = null_gpu()?;
    let log = Log(std::env::temp_dir().join(format!("fimbria-{name}-{}", std::process::id())));
    std::fs::create_dir_all(&log.0).expect("a temporary folder");
    in_child(&[
        ("LD_LIBRARY_PATH", &path),
        ("NULL_GPU_FAULT", fault),
        ("NULL_GPU_LOG", log.0.to_str().expect("a temporary path in UTF-8")),
        ("NULL_GPU_KERNEL_MS", &format!("{}", 1e3 * kernel_seconds)),
    ]);
    Some(calls(&log.0))
}
