//! What this machine has, and what is missing to use more.

use super::info::{DeviceInfo, DeviceKind};
use super::{cuda, opencl};

/// The devices of a machine.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// Every device once: GPUs first, a card that two runtimes reach under CUDA, then processors
    /// behind OpenCL.
    pub devices: Vec<DeviceInfo>,
    /// Every OpenCL device, those also reached through CUDA included, in the platforms' order:
    /// what `opencl:N` counts.
    pub opencl: Vec<DeviceInfo>,
    /// What was not found.
    pub missing: Vec<Missing>,
}

impl Inventory {
    /// The GPUs, in the order `gpu:N` counts.
    pub fn gpus(&self) -> impl Iterator<Item = &DeviceInfo> {
        self.devices.iter().filter(|info| info.kind == DeviceKind::Gpu)
    }
}

/// Something without which devices may go unused. Displayed with a hint what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// No OpenCL loader.
    #[error(
        "libOpenCL not found: for OpenCL devices install the loader (ocl-icd-libopencl1) and the \
         vendor's driver"
    )]
    OpenClLibrary,
    /// A loader that finds no driver.
    #[error(
        "libOpenCL found, but no OpenCL driver: install the card vendor's, or PoCL for the CPU"
    )]
    OpenClDriver,
    /// No NVIDIA driver.
    #[error("libcuda not found: an NVIDIA card needs NVIDIA's driver")]
    CudaDriver,
    /// NVIDIA's driver is there but does not start.
    #[error(
        "libcuda found, but it does not start ({status}): no NVIDIA card, or its kernel module is not loaded"
    )]
    CudaStart {
        /// What the driver said.
        status: String,
    },
    /// No CUDA compiler, or none that the driver can follow.
    #[error(
        "NVRTC not found, or only one of a later CUDA than the driver's: NVIDIA cards are used \
         through OpenCL where it has them; for CUDA install the CUDA toolkit, or \
         `pip install nvidia-cuda-nvrtc-cu12` where fimbria was installed by pip, elsewhere with its \
         lib folder on LD_LIBRARY_PATH"
    )]
    Nvrtc,
}

/// False where the system certainly shows no graphics card. Asking the runtimes instead means to
/// load every driver that is installed, compilers included, which takes longer than many fits.
pub fn may_have_gpu() -> bool {
    /// What the device files of cards begin with: NVIDIA's, any with a kernel driver for rendering,
    /// AMD's, those of Windows seen from Linux, and two of ARM boards.
    const CARDS: [&str; 6] = ["nvidia", "dri", "kfd", "dxg", "mali", "kgsl"];
    let is_card = |name: &str| CARDS.iter().any(|card| name.starts_with(card));
    if !cfg!(target_os = "linux") {
        return true;
    }
    match std::fs::read_dir("/dev") {
        Ok(files) => files.flatten().any(|file| file.file_name().to_str().is_some_and(is_card)),
        Err(_) => true,
    }
}

/// Looks for devices. Opens the runtimes' libraries where they exist; never fails.
pub fn list() -> Inventory {
    let mut missing = Vec::new();

    let cuda = match cuda::find() {
        None => Err(Missing::CudaDriver),
        Some(Err(status)) => Err(Missing::CudaStart { status }),
        Some(Ok(cards)) if !cards.is_empty() && cuda::nvrtc().is_none() => Err(Missing::Nvrtc),
        Some(Ok(cards)) => Ok(cards),
    };
    let cuda = cuda.unwrap_or_else(|absent| {
        missing.push(absent);
        Vec::new()
    });

    let opencl = match opencl::find() {
        None => Err(Missing::OpenClLibrary),
        Some(found) if found.is_empty() => Err(Missing::OpenClDriver),
        Some(found) => Ok(found),
    };
    let opencl = opencl.unwrap_or_else(|absent| {
        missing.push(absent);
        Vec::new()
    });

    Inventory { devices: each_once(cuda, &opencl), opencl, missing }
}

/// Cards under the first runtime that reaches them, then processors.
fn each_once(cuda: Vec<DeviceInfo>, opencl: &[DeviceInfo]) -> Vec<DeviceInfo> {
    let (cards, processors): (Vec<_>, Vec<_>) =
        opencl.iter().cloned().partition(|info| info.kind == DeviceKind::Gpu);
    let mut devices = cuda;
    for card in cards {
        if !devices.iter().any(|listed| listed.is_same_card(&card)) {
            devices.push(card);
        }
    }
    devices.extend(processors);
    devices
}

#[cfg(test)]
mod tests {
    use super::super::info::{DeviceHandle, PciAddress, RuntimeKind};
    use super::*;

    fn device(runtime: RuntimeKind, kind: DeviceKind, pci: Option<(u32, u32)>) -> DeviceInfo {
        DeviceInfo {
            name: "a device".to_owned(),
            vendor: String::new(),
            runtime,
            kind,
            driver: String::new(),
            memory_bytes: 1 << 30,
            largest_buffer_bytes: 1 << 28,
            compute_units: 1,
            max_group_size: 256,
            local_memory_bytes: 1 << 15,
            has_f64: true,
            pci: pci.map(|(bus, device)| PciAddress { bus, device, domain: None }),
            compute_capability: None,
            handle: DeviceHandle::Cuda { ordinal: 0 },
        }
    }

    #[test]
    fn a_card_reached_through_both_runtimes_is_listed_once_under_cuda() {
        let cuda = vec![device(RuntimeKind::Cuda, DeviceKind::Gpu, Some((1, 0)))];
        let opencl = [
            device(RuntimeKind::OpenCl, DeviceKind::Cpu, None),
            device(RuntimeKind::OpenCl, DeviceKind::Gpu, Some((1, 0))),
            device(RuntimeKind::OpenCl, DeviceKind::Gpu, Some((2, 0))),
        ];
        let listed: Vec<_> =
            each_once(cuda, &opencl).iter().map(|info| (info.runtime, info.kind)).collect();
        assert_eq!(
            listed,
            [
                (RuntimeKind::Cuda, DeviceKind::Gpu),
                (RuntimeKind::OpenCl, DeviceKind::Gpu),
                (RuntimeKind::OpenCl, DeviceKind::Cpu),
            ]
        );
    }

    #[test]
    fn two_like_cards_in_different_slots_are_both_listed() {
        let opencl = [
            device(RuntimeKind::OpenCl, DeviceKind::Gpu, Some((1, 0))),
            device(RuntimeKind::OpenCl, DeviceKind::Gpu, Some((2, 0))),
        ];
        assert_eq!(each_once(Vec::new(), &opencl).len(), 2);
    }

    #[test]
    fn cards_of_unknown_slot_are_never_merged() {
        let opencl = [
            device(RuntimeKind::OpenCl, DeviceKind::Gpu, None),
            device(RuntimeKind::OpenCl, DeviceKind::Gpu, None),
        ];
        assert_eq!(each_once(Vec::new(), &opencl).len(), 2);
    }
}
