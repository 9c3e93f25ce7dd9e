//! Drivers for CUDA without a card, and an OpenCL whose devices fail.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{missing, nvrtc_folder};

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
