//! GPUs, and processors behind OpenCL, as one kind of thing.
//!
//! [`list`] says what this machine has and what is missing to use more; a [`Selection`] chooses;
//! [`Device::open`] opens. A device gives [`Buffer`]s, compiles [`KernelSource`]s written in the
//! [dialect](crate::dialect) and runs their [`Kernel`]s in the order they were queued. Everything
//! that can go wrong is a [`DeviceError`].
//!
//! ```no_run
//! use fimbria_compute::device::{Device, DeviceOptions, KernelSource, Launch, list};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let info = &list().devices[0];
//! let device = Device::open(info, &DeviceOptions::default())?;
//! let source = KernelSource::new(
//!     "double",
//!     "KERNEL(double_all)(GLOBAL f32 *x, u32 n) {
//!          u64 i = GLOBAL_ID();
//!          if (i < n) x[i] *= FACTOR;
//!      }",
//! )
//! .with("FACTOR", "2.0f");
//! let kernel = device.kernel(&source, "double_all")?;
//! let x = device.upload(&[1.0_f32, 2.0, 3.0])?;
//! // SAFETY: the arguments are the kernel's, and it stays within `n` elements.
//! unsafe { kernel.launch(Launch::items(3), &[(&x).into(), 3_u32.into()])? };
//! assert_eq!(x.to_vec()?, [2.0, 4.0, 6.0]);
//! # Ok(())
//! # }
//! ```

mod buffer;
mod cuda;
mod error;
mod host_buffer;
mod info;
mod inventory;
mod library;
mod measure;
mod memory;
mod meter;
mod opencl;
mod program;
mod runtime;
mod selection;
mod space;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

pub use self::buffer::Buffer;
pub use self::cuda::{CompiledKernel, Nvrtc};
pub use self::error::DeviceError;
use self::error::Fault;
pub use self::host_buffer::HostBuffer;
use self::info::DeviceHandle;
pub use self::info::{DeviceInfo, DeviceKind, PciAddress, RuntimeKind};
pub use self::inventory::{Inventory, Missing, list, may_have_gpu};
pub(crate) use self::measure::kernel_source as measure_source;
pub use self::measure::{Attained, DeviceMeasurement, measure};
use self::memory::Memory;
pub use self::meter::Spent;
use self::meter::{Meter, Metered};
use self::program::Program;
pub use self::program::{Argument, Kernel, KernelSource, Launch};
use self::runtime::Runtime;
pub use self::selection::{Selection, SelectionError};
pub use self::space::DeviceSpace;

/// How much of a device may be used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceOptions {
    /// Share of the device's free memory (of all its memory under OpenCL, which does not tell), 0
    /// to 1.
    pub memory_fraction: f64,
    /// A further cap in bytes.
    pub memory_limit: Option<u64>,
    /// Whether to measure [where its time goes](Device::spent). Then it does one thing at a time and is
    /// waited for after each, so that all takes somewhat longer.
    pub metered: bool,
}

impl Default for DeviceOptions {
    /// 80 % of it, not metered.
    fn default() -> Self {
        Self { memory_fraction: 0.8, memory_limit: None, metered: false }
    }
}

/// An open device, and a queue of it. Clones are handles of the same queue; the device closes with the
/// last of them and of the buffers and kernels made on it.
#[derive(Clone)]
pub struct Device {
    queue: Arc<Queue>,
}

/// One queue of a device.
struct Queue {
    shared: Arc<Shared>,
    runtime: Arc<dyn Runtime>,
}

/// What all queues of a device share.
struct Shared {
    info: DeviceInfo,
    memory: Memory,
    meter: Option<Arc<Meter>>,
    programs: Mutex<HashMap<String, Arc<Program>>>,
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.shared.memory.forget(&self.runtime);
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({}, {})", self.info().name, self.info().runtime)
    }
}

impl Device {
    /// Opens a device.
    ///
    /// # Errors
    /// Where the runtime refuses.
    pub fn open(info: &DeviceInfo, options: &DeviceOptions) -> Result<Self, DeviceError> {
        let opened: Result<Arc<dyn Runtime>, Fault> = match info.handle {
            DeviceHandle::Cuda { ordinal } => {
                let capability = info.compute_capability.unwrap_or_default();
                cuda::Cuda::open(ordinal, capability).map(|cuda| Arc::new(cuda) as _)
            }
            DeviceHandle::OpenCl { device } => {
                opencl::OpenCl::open(device).map(|opencl| Arc::new(opencl) as _)
            }
        };
        let runtime = opened.map_err(|fault| describe(fault, &info.name, 0, 0))?;
        let free = runtime.free_memory().unwrap_or(info.memory_bytes);
        let share = (free as f64 * options.memory_fraction.clamp(0.0, 1.0)) as u64;
        let budget = options.memory_limit.map_or(share, |limit| limit.min(share));
        let meter = options.metered.then(|| Arc::new(Meter::new()));
        let runtime = match &meter {
            Some(meter) => Arc::new(Metered::new(runtime, Arc::clone(meter))),
            None => runtime,
        };
        let shared = Shared {
            info: info.clone(),
            memory: Memory::new(budget),
            meter,
            programs: Mutex::default(),
        };
        Ok(Self { queue: Arc::new(Queue { shared: Arc::new(shared), runtime }) })
    }

    /// The same device, its memory and its compiled texts, with another queue: what is queued here and
    /// there runs side by side, in no order. So kernels of another queue may only read a buffer, once the queue
    /// that wrote it was waited for, and while nobody writes or frees it.
    ///
    /// # Errors
    /// Where the runtime refuses.
    pub fn another_queue(&self) -> Result<Self, DeviceError> {
        let runtime = self.runtime().another_queue().map_err(|fault| self.error(fault))?;
        Ok(Self { queue: Arc::new(Queue { shared: Arc::clone(&self.queue.shared), runtime }) })
    }

    /// True where both are one opened device, by whichever of its queues.
    pub fn is_queue_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.queue.shared, &other.queue.shared)
    }

    /// What is known of it.
    pub fn info(&self) -> &DeviceInfo {
        &self.shared().info
    }

    /// Where the time since it was opened went, where that is metered.
    pub fn spent(&self) -> Option<Spent> {
        self.shared().meter.as_ref().map(|meter| meter.spent())
    }

    /// Says that since the last call the host put results where they belong, for [`spent`](Self::spent).
    pub fn stored(&self) {
        if let Some(meter) = &self.shared().meter {
            meter.stored();
        }
    }

    /// Gives back freed memory that is kept for later buffers.
    pub fn give_back(&self) {
        self.shared().memory.give_back();
    }

    /// Bytes that buffers made from now on may take in all.
    pub fn available_bytes(&self) -> u64 {
        self.shared().memory.available()
    }

    /// How many items fit at once when each needs `bytes_per_item` in as many buffers: neither
    /// the memory left nor the largest buffer is exceeded. 0 where not even one fits.
    pub fn chunk_len(&self, bytes_per_item: &[usize]) -> usize {
        let total: u64 = bytes_per_item.iter().map(|&bytes| bytes as u64).sum();
        let largest = bytes_per_item.iter().copied().max().unwrap_or(0) as u64;
        let by_memory = self.available_bytes() / total.max(1);
        let by_buffer = self.info().largest_buffer_bytes / largest.max(1);
        usize::try_from(by_memory.min(by_buffer)).unwrap_or(usize::MAX)
    }

    /// Compiles `source`, or finds it already compiled, and takes the kernel `name` from it.
    ///
    /// # Errors
    /// [`DeviceError::Compile`] with the compiler's log; [`DeviceError::Runtime`] where the text
    /// has no such kernel.
    pub fn kernel(&self, source: &KernelSource, name: &str) -> Result<Kernel, DeviceError> {
        Kernel::new(self, &self.program(source)?, name)
    }

    fn program(&self, source: &KernelSource) -> Result<Arc<Program>, DeviceError> {
        let text = source.assemble(self.runtime().prelude());
        // Held while compiling, so that two threads do not compile one text twice.
        let mut programs =
            self.shared().programs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(program) = programs.get(&text) {
            return Ok(Arc::clone(program));
        }
        let handle = self.runtime().compile(&source.name, &text).map_err(|fault| match fault {
            Fault::Compile(log) => DeviceError::Compile {
                device: self.info().name.clone(),
                program: source.name.clone(),
                log,
            },
            other => self.error(other),
        })?;
        let program = Arc::new(Program::new(Arc::clone(&self.queue.runtime), handle));
        programs.insert(text, Arc::clone(&program));
        Ok(program)
    }

    /// Refuses a kernel that computes in double precision on a device without it.
    ///
    /// # Errors
    /// [`DeviceError::NoDouble`].
    pub fn has_double(&self) -> Result<(), DeviceError> {
        match self.info().has_f64 {
            true => Ok(()),
            false => Err(DeviceError::NoDouble { device: self.info().name.clone() }),
        }
    }

    /// Refuses a kernel whose groups share `bytes` of memory on a device that has less.
    ///
    /// # Errors
    /// [`DeviceError::LocalMemory`].
    pub fn has_local_memory(&self, bytes: usize) -> Result<(), DeviceError> {
        let (requested, available) = (bytes as u64, self.info().local_memory_bytes);
        if requested <= available {
            return Ok(());
        }
        Err(DeviceError::LocalMemory { device: self.info().name.clone(), requested, available })
    }

    /// Waits until everything that was queued here is done.
    ///
    /// # Errors
    /// Where a kernel faulted or the device was lost.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.runtime().synchronize().map_err(|fault| self.error(fault))
    }

    fn shared(&self) -> &Shared {
        &self.queue.shared
    }

    fn runtime(&self) -> &dyn Runtime {
        &*self.queue.runtime
    }

    /// Adds who refused to what was refused. Drivers may say only when memory is used that there is none:
    /// then what is kept goes, too.
    fn error(&self, fault: Fault) -> DeviceError {
        if matches!(fault, Fault::OutOfMemory) {
            self.shared().memory.give_back();
        }
        describe(fault, &self.info().name, 0, self.available_bytes())
    }
}

fn describe(fault: Fault, device: &str, requested: u64, available: u64) -> DeviceError {
    let device = device.to_owned();
    match fault {
        Fault::OutOfMemory => DeviceError::OutOfMemory { device, requested, available },
        Fault::Compile(log) => DeviceError::Compile { device, program: String::new(), log },
        Fault::Lost(detail) => DeviceError::Lost { device, detail },
        Fault::Runtime { call, detail } => DeviceError::Runtime { device, call, detail },
    }
}
