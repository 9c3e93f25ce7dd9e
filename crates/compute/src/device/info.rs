//! What is known of a device before it is opened.

/// The library a device is reached through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuntimeKind {
    /// NVIDIA's driver, kernels compiled by NVRTC.
    Cuda,
    /// Any vendor's OpenCL.
    OpenCl,
}

impl std::fmt::Display for RuntimeKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Cuda => "CUDA",
            Self::OpenCl => "OpenCL",
        })
    }
}

/// What a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// A graphics card or another accelerator.
    Gpu,
    /// The host's processor behind OpenCL (PoCL); used only when named.
    Cpu,
}

/// Where a card sits on the bus: the same card reached through two runtimes has the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PciAddress {
    /// Bus number.
    pub bus: u32,
    /// Device number on the bus.
    pub device: u32,
    /// Domain, where the runtime tells it.
    pub domain: Option<u32>,
}

impl PciAddress {
    /// True where both may name one slot; an unknown domain agrees with any.
    fn agrees_with(self, other: Self) -> bool {
        let domains_differ = matches!((self.domain, other.domain), (Some(a), Some(b)) if a != b);
        self.bus == other.bus && self.device == other.device && !domains_differ
    }
}

/// A device that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// What the vendor calls it.
    pub name: String,
    /// Who made it, or the OpenCL platform it belongs to.
    pub vendor: String,
    /// The library it is reached through.
    pub runtime: RuntimeKind,
    /// GPU or host processor.
    pub kind: DeviceKind,
    /// Version of the driver, as it states it.
    pub driver: String,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Largest single buffer in bytes; OpenCL devices often allow a quarter of their memory.
    pub largest_buffer_bytes: u64,
    /// Multiprocessors, compute units or cores.
    pub compute_units: u32,
    /// Most items of a work group.
    pub max_group_size: u32,
    /// Memory shared by the items of a group, bytes.
    pub local_memory_bytes: u64,
    /// True where kernels may use `f64`.
    pub has_f64: bool,
    /// Slot, where known.
    pub pci: Option<PciAddress>,
    /// CUDA compute capability (major, minor).
    pub compute_capability: Option<(u32, u32)>,
    pub(crate) handle: DeviceHandle,
}

impl DeviceInfo {
    /// True where both are the same card, whatever the runtime.
    pub(crate) fn is_same_card(&self, other: &Self) -> bool {
        matches!((self.pci, other.pci), (Some(a), Some(b)) if a.agrees_with(b))
    }
}

/// What a runtime calls the device. OpenCL's platform and device ids live as long as the process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DeviceHandle {
    Cuda { ordinal: i32 },
    OpenCl { device: usize },
}
