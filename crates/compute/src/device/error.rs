//! What can go wrong on a device, as values.

/// A device could not do what was asked.
///
/// None of these ends a job: [`run_chunks`](crate::queue::run_chunks) gives the work to another
/// device or to the CPU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The device cannot hold `requested` more bytes; `available` are left of what this program
    /// may use of it.
    #[error("{device}: out of memory ({})", sizes(*requested, *available))]
    OutOfMemory {
        /// The device's name.
        device: String,
        /// Bytes asked for; 0 where a call that asks for none was refused.
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

    /// A kernel needs more memory that a group shares than the device has.
    #[error(
        "{device}: a kernel needs {requested} bytes of memory shared by a group, of which there are \
         {available}"
    )]
    LocalMemory {
        /// The device's name.
        device: String,
        /// Bytes needed.
        requested: u64,
        /// Bytes there are.
        available: u64,
    },

    /// A kernel computes in double precision, which the device has not.
    #[error("{device}: it has no double precision, in which this is computed")]
    NoDouble {
        /// The device's name.
        device: String,
    },

    /// A kernel text does not compile; the message has the errors, not the warnings.
    #[error("{device}: kernel text `{program}` does not compile:\n{}", errors_of(log))]
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

    /// True where a kernel was refused for what it is, so that another may be taken: its text, or what its groups
    /// need. Of memory and copies none are: they would be refused of another, too.
    pub fn is_of_one_kernel(&self) -> bool {
        match self {
            Self::Compile { .. } => true,
            Self::Runtime { call, .. } => OF_ONE_KERNEL.contains(call),
            _ => false,
        }
    }
}

/// The calls that make a kernel of a text that compiles, and that run it.
const OF_ONE_KERNEL: [&str; 5] = [
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuLaunchKernel",
    "clCreateKernel",
    "clEnqueueNDRangeKernel",
];

/// Of how many bytes memory was short. A launch asks for none that it could tell.
fn sizes(requested: u64, available: u64) -> String {
    match requested {
        0 => format!("{available} bytes available"),
        _ => format!("{requested} bytes requested, {available} available"),
    }
}

/// The lines of a compiler's log that say what is wrong, the first of many; the first of all where no
/// line does.
fn errors_of(log: &str) -> String {
    const MOST: usize = 6;
    let errors: Vec<&str> = log.lines().filter(|line| line.contains("error")).take(MOST).collect();
    let lines = if errors.is_empty() { log.lines().take(MOST).collect() } else { errors };
    lines.join("\n")
}

/// A refusal as a runtime states it; [`Device`](crate::device::Device) adds who and how much.
#[derive(Debug)]
pub(crate) enum Fault {
    OutOfMemory,
    Compile(String),
    Lost(String),
    Runtime { call: &'static str, detail: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_kernel_is_taken_for_one_that_is_refused_alone() {
        let refused = |call| {
            let (device, detail) = ("a card".to_owned(), "no".to_owned());
            DeviceError::Runtime { device, call, detail }.is_of_one_kernel()
        };
        assert!(refused("cuLaunchKernel") && refused("clCreateKernel"));
        assert!(!refused("cuMemcpyHtoDAsync") && !refused("clCreateBuffer"));
        let lost = DeviceError::Lost { device: String::new(), detail: "cuLaunchKernel".to_owned() };
        assert!(!lost.is_of_one_kernel());
    }

    #[test]
    fn of_a_long_log_the_errors_are_shown() {
        let warnings =
            "fimbria.cu(7): warning #177-D: variable \"x\" was declared but never used\n";
        let log = format!("{}fimbria.cu(9): error: y is undefined\n", warnings.repeat(300));
        assert_eq!(errors_of(&log), "fimbria.cu(9): error: y is undefined");
        assert_eq!(errors_of("ptxas says no\n"), "ptxas says no");
    }
}
