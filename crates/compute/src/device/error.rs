//! What can go wrong on a device, as values.

/// A device could not do what was asked.
///
/// None of these ends a job: [`run_chunks`](crate::queue::run_chunks) gives the work to another
/// device or to the CPU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The device cannot hold `requested` more bytes; `available` are left of what this program
    /// may use of it.
    #[error("{device}: out of memory ({requested} bytes requested, {available} available)")]
    OutOfMemory {
        /// The device's name.
        device: String,
        /// Bytes asked for.
        requested: u64,
        /// Bytes left.
        available: u64,
    },

    /// One buffer of `requested` bytes is larger than the device allows, whatever is free.
    #[error("{device}: a buffer of {requested} bytes exceeds its largest, {largest} bytes")]
    BufferTooLarge {
        /// The device's name.
        device: String,
        /// Bytes asked for.
        requested: u64,
        /// The device's limit for one buffer.
        largest: u64,
    },

    /// A kernel text does not compile.
    #[error("{device}: kernel text `{program}` does not compile:\n{log}")]
    Compile {
        /// The device's name.
        device: String,
        /// Name of the [`KernelSource`](crate::device::KernelSource).
        program: String,
        /// What the compiler said.
        log: String,
    },

    /// The device is gone, or was left unusable by a fault in a kernel.
    #[error("{device}: lost ({detail})")]
    Lost {
        /// The device's name.
        device: String,
        /// What the runtime said.
        detail: String,
    },

    /// Host and buffer lengths differ, or a range lies outside a buffer.
    #[error("elements {start}..{end} of a device buffer of {len}")]
    Range {
        /// First element.
        start: usize,
        /// One past the last element.
        end: usize,
        /// The buffer's length.
        len: usize,
    },

    /// A buffer of one device given to another.
    #[error("{expected}: a buffer is on another device, {found}")]
    OtherDevice {
        /// Where it is needed.
        expected: String,
        /// Where it is.
        found: String,
    },

    /// Any other refusal of the runtime.
    #[error("{device}: {call}: {detail}")]
    Runtime {
        /// The device's name.
        device: String,
        /// The runtime's function.
        call: &'static str,
        /// What it returned.
        detail: String,
    },
}

impl DeviceError {
    /// True where the device will refuse all further work.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }
}

/// A refusal as a runtime states it; [`Device`](crate::device::Device) adds who and how much.
#[derive(Debug)]
pub(crate) enum Fault {
    OutOfMemory,
    Compile(String),
    Lost(String),
    Runtime { call: &'static str, detail: String },
}
