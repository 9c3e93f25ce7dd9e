//! What OpenCL and CUDA each implement; everything above this trait is the same for both.

use std::sync::Arc;

use super::error::Fault;

/// The runtime's own name of an object: `cl_mem`, `CUdeviceptr`, `cl_kernel`, `CUfunction` …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle(pub(crate) u64);

/// An argument of a kernel, in the order of its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RawArgument {
    Memory(Handle),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F32(f32),
    F64(f64),
}

/// One queue of an open device. Work is done in the order it was queued; transfers return when the
/// host's memory is free to be used again.
///
/// Callers pass handles that this runtime made, or another queue of the same device, and that were not
/// freed, and ranges inside them.
pub(crate) trait Runtime: Send + Sync {
    /// Another queue of the same device: what is queued in one does not wait for the other.
    fn another_queue(&self) -> Result<Arc<dyn Runtime>, Fault>;

    /// `bytes` (not 0) of device memory, contents unspecified.
    fn allocate(&self, bytes: usize) -> Result<Handle, Fault>;
    fn free(&self, memory: Handle);
    fn write(&self, memory: Handle, offset: usize, bytes: &[u8]) -> Result<(), Fault>;
    fn read(&self, memory: Handle, offset: usize, bytes: &mut [u8]) -> Result<(), Fault>;
    fn copy(&self, from: (Handle, usize), to: (Handle, usize), bytes: usize) -> Result<(), Fault>;
    fn zero(&self, memory: Handle, bytes: usize) -> Result<(), Fault>;

    /// Locks pages of host memory in place, so that transfers from and to them are the device's alone; false
    /// where the runtime does not: transfers work all the same.
    ///
    /// # Safety
    /// The memory is the caller's and stays until it is unlocked.
    unsafe fn lock(&self, _memory: *mut u8, _bytes: usize) -> bool {
        false
    }

    /// Undoes that; false where the runtime refuses, as one of a device that is lost does: then the memory must
    /// never be used for anything else.
    ///
    /// # Safety
    /// [`lock`](Self::lock) returned true for this memory, and nothing unlocked it since.
    unsafe fn unlock(&self, _memory: *mut u8) -> bool {
        true
    }

    /// What stands before every kernel text.
    fn prelude(&self) -> &'static str;
    /// Compiles a whole text, prelude included.
    fn compile(&self, name: &str, text: &str) -> Result<Handle, Fault>;
    fn release_program(&self, program: Handle);
    fn kernel(&self, program: Handle, name: &str) -> Result<Handle, Fault>;
    fn release_kernel(&self, kernel: Handle);

    /// Queues `groups` groups of `group_size` items.
    ///
    /// # Safety
    /// `arguments` match the kernel's parameters in number and type, and the kernel stays inside
    /// its buffers.
    unsafe fn launch(
        &self,
        kernel: Handle,
        groups: usize,
        group_size: usize,
        arguments: &[RawArgument],
    ) -> Result<(), Fault>;

    /// Waits until all queued work is done; a fault in a kernel may surface here.
    fn synchronize(&self) -> Result<(), Fault>;

    /// Free memory in bytes, where the runtime tells it.
    fn free_memory(&self) -> Option<u64>;
}
