//! NVIDIA devices reached through CUDA's driver, with kernels compiled by NVRTC.

mod api;
mod cache;
mod find;
mod nvrtc;
mod packages;

use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr;
use std::sync::{Arc, OnceLock};

use self::api::{Api, Context, Function, Module, Status, Stream, api};
use self::cache::Cache;
pub(crate) use self::find::find;
pub use self::nvrtc::{CompiledKernel, Nvrtc};
use super::error::Fault;
use super::runtime::{Handle, RawArgument, Runtime};
use crate::dialect;

/// The stream does not wait for the legacy default stream, which others in the process may use.
const CU_STREAM_NON_BLOCKING: c_uint = 1;

/// The first compiler found whose work the driver loads, looked for at the first call.
pub(crate) fn nvrtc() -> Option<&'static Nvrtc> {
    static NVRTC: OnceLock<Option<Nvrtc>> = OnceLock::new();
    NVRTC.get_or_init(|| compilers()?.next()).as_ref()
}

/// The compiler for a card: the first, or where the card is too old for it another that knows the card.
fn nvrtc_for(compute_capability: (u32, u32)) -> Option<&'static Nvrtc> {
    static FOR_OLD_CARDS: OnceLock<Option<Nvrtc>> = OnceLock::new();
    let first = nvrtc()?;
    if first.knows(compute_capability) {
        return Some(first);
    }
    let other = FOR_OLD_CARDS
        .get_or_init(|| compilers()?.find(|nvrtc| nvrtc.knows(compute_capability)))
        .as_ref();
    // Without another the first says that it does not know the card.
    other.or(Some(first))
}

/// The compilers whose work the driver loads.
fn compilers() -> Option<impl Iterator<Item = Nvrtc>> {
    let (api, _) = api()?;
    let mut version = 0;
    // SAFETY: writes one int.
    let status = unsafe { (api.driver_version)(&raw mut version) };
    (status == 0).then(|| Nvrtc::all_up_to(version / 1000))
}

/// A card's primary context and one stream on it. Contexts are counted: two of these share one, and its
/// memory, with a stream each.
pub(crate) struct Cuda {
    api: &'static Api,
    nvrtc: &'static Nvrtc,
    device: c_int,
    context: Context,
    stream: Stream,
    compute_capability: (u32, u32),
}

// SAFETY: contexts, streams and modules may be used from any thread that has made the context
// current, which every method does first.
unsafe impl Send for Cuda {}
// SAFETY: as above; the driver serialises calls itself.
unsafe impl Sync for Cuda {}

impl Cuda {
    /// Opens the card of the given ordinal, as [`find`] reported it.
    pub(crate) fn open(ordinal: i32, compute_capability: (u32, u32)) -> Result<Self, Fault> {
        let missing = |call| Fault::Runtime { call, detail: "the library is missing".to_owned() };
        let (api, status) = api().ok_or_else(|| missing("libcuda"))?;
        let nvrtc = nvrtc_for(compute_capability).ok_or_else(|| missing("NVRTC"))?;
        check(api, "cuInit", *status)?;
        let mut device = 0;
        // SAFETY: writes a device number.
        check(api, "cuDeviceGet", unsafe { (api.device_get)(&raw mut device, ordinal) })?;
        Self::with_compiler(api, nvrtc, device, compute_capability)
    }

    /// A stream of its own on the device's primary context.
    fn with_compiler(
        api: &'static Api,
        nvrtc: &'static Nvrtc,
        device: c_int,
        compute_capability: (u32, u32),
    ) -> Result<Self, Fault> {
        let (mut context, mut stream) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the device exists; the context is released when `Cuda` is dropped.
        let status = unsafe { (api.context_retain)(&raw mut context, device) };
        check(api, "cuDevicePrimaryCtxRetain", status)?;
        let mut opened = Self { api, nvrtc, device, context, stream, compute_capability };
        {
            let _entered = opened.enter()?;
            // SAFETY: the context is current; the stream is destroyed when `Cuda` is dropped.
            let status = unsafe { (api.stream_create)(&raw mut stream, CU_STREAM_NON_BLOCKING) };
            check(api, "cuStreamCreate", status)?;
        }
        opened.stream = stream;
        Ok(opened)
    }

    /// Makes the context current on this thread while the result lives.
    fn enter(&self) -> Result<Entered<'_>, Fault> {
        // SAFETY: the context is retained as long as `self` lives.
        self.check("cuCtxPushCurrent", unsafe { (self.api.context_push)(self.context) })?;
        Ok(Entered(self.api))
    }

    fn check(&self, call: &'static str, status: Status) -> Result<(), Fault> {
        check(self.api, call, status)
    }

    fn load(&self, compiled: &CompiledKernel) -> Result<Handle, Fault> {
        let _entered = self.enter()?;
        let mut module: Module = ptr::null_mut();
        // SAFETY: the image is NVRTC's own output: a cubin, or PTX text ending in NUL.
        let status =
            unsafe { (self.api.module_load)(&raw mut module, compiled.image.as_ptr().cast()) };
        self.check("cuModuleLoadData", status)?;
        Ok(Handle(module as u64))
    }
}

/// A context is current. Dropping it brings back the one that was before, which may be another
/// library's of the same process.
struct Entered<'a>(&'a Api);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut context = ptr::null_mut();
        // SAFETY: pops what `enter` pushed; writes one context.
        unsafe { (self.0.context_pop)(&raw mut context) };
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // A lost context refuses; there is nothing left to do about it.
        if let Ok(_entered) = self.enter()
            && !self.stream.is_null()
        {
            // SAFETY: the stream was created by `open` and is destroyed once.
            unsafe { (self.api.stream_destroy)(self.stream) };
        }
        // SAFETY: retained once by `open`.
        unsafe { (self.api.context_release)(self.device) };
    }
}

impl Runtime for Cuda {
    fn another_queue(&self) -> Result<Arc<dyn Runtime>, Fault> {
        let another =
            Self::with_compiler(self.api, self.nvrtc, self.device, self.compute_capability)?;
        Ok(Arc::new(another))
    }

    fn allocate(&self, bytes: usize) -> Result<Handle, Fault> {
        let _entered = self.enter()?;
        let mut memory = 0;
        // SAFETY: writes one device pointer.
        self.check("cuMemAlloc", unsafe { (self.api.allocate)(&raw mut memory, bytes) })?;
        Ok(Handle(memory))
    }

    fn free(&self, memory: Handle) {
        // Queued work may still use it. A lost context fails here and keeps nothing worth freeing.
        if self.synchronize().is_ok()
            && let Ok(_entered) = self.enter()
        {
            // SAFETY: the pointer came from cuMemAlloc and is freed once; nothing uses it.
            unsafe { (self.api.free)(memory.0) };
        }
    }

    fn write(&self, memory: Handle, offset: usize, bytes: &[u8]) -> Result<(), Fault> {
        let _entered = self.enter()?;
        // SAFETY: `bytes` outlives the copy, which is waited for below; the caller's range lies
        // inside the allocation.
        let status = unsafe {
            (self.api.copy_to_device)(
                memory.0 + offset as u64,
                bytes.as_ptr().cast(),
                bytes.len(),
                self.stream,
            )
        };
        self.check("cuMemcpyHtoDAsync", status)?;
        self.synchronize()
    }

    fn read(&self, memory: Handle, offset: usize, bytes: &mut [u8]) -> Result<(), Fault> {
        let _entered = self.enter()?;
        // SAFETY: as in `write`.
        let status = unsafe {
            (self.api.copy_to_host)(
                bytes.as_mut_ptr().cast(),
                memory.0 + offset as u64,
                bytes.len(),
                self.stream,
            )
        };
        self.check("cuMemcpyDtoHAsync", status)?;
        self.synchronize()
    }

    fn copy(&self, from: (Handle, usize), to: (Handle, usize), bytes: usize) -> Result<(), Fault> {
        let _entered = self.enter()?;
        // SAFETY: the caller's ranges lie inside their allocations.
        let status = unsafe {
            (self.api.copy_on_device)(
                to.0.0 + to.1 as u64,
                from.0.0 + from.1 as u64,
                bytes,
                self.stream,
            )
        };
        self.check("cuMemcpyDtoDAsync", status)
    }

    fn zero(&self, memory: Handle, bytes: usize) -> Result<(), Fault> {
        let _entered = self.enter()?;
        // SAFETY: the allocation holds `bytes`.
        let status = unsafe { (self.api.set_bytes)(memory.0, 0, bytes, self.stream) };
        self.check("cuMemsetD8Async", status)
    }

    unsafe fn lock(&self, memory: *mut u8, bytes: usize) -> bool {
        let (Some(register), Some(_)) = (self.api.host_register, self.api.host_unregister) else {
            return false;
        };
        let Ok(_entered) = self.enter() else { return false };
        // SAFETY: the caller's promise. Without flags: kernels need not see it, and that every context has it, as
        // with unified addresses, does no harm.
        unsafe { register(memory.cast(), bytes, 0) == 0 }
    }

    unsafe fn unlock(&self, memory: *mut u8) -> bool {
        let (Some(unregister), Ok(_entered)) = (self.api.host_unregister, self.enter()) else {
            return false;
        };
        // SAFETY: the caller's promise.
        unsafe { unregister(memory.cast()) == 0 }
    }

    fn prelude(&self) -> &'static str {
        dialect::PRELUDE_CUDA
    }

    fn compile(&self, _name: &str, text: &str) -> Result<Handle, Fault> {
        let key = self.nvrtc.key(text, self.compute_capability)?;
        let cache = Cache::of_user();
        // A kernel that was kept and does not load is compiled like one that was not.
        let kept = cache.as_ref().and_then(|cache| cache.get(&key));
        if let Some(module) = kept.and_then(|kept| self.load(&kept).ok()) {
            return Ok(module);
        }
        let compiled = self.nvrtc.compile_text(text, self.compute_capability)?;
        let module = self.load(&compiled)?;
        if let Some(cache) = cache {
            cache.put(&key, &compiled);
        }
        Ok(module)
    }

    fn release_program(&self, program: Handle) {
        if let Ok(_entered) = self.enter() {
            // SAFETY: the module was loaded by `compile` and is unloaded once.
            unsafe { (self.api.module_unload)(program.0 as Module) };
        }
    }

    fn kernel(&self, program: Handle, name: &str) -> Result<Handle, Fault> {
        let _entered = self.enter()?;
        let name = CString::new(name).unwrap_or_default();
        let mut function: Function = ptr::null_mut();
        // SAFETY: the module is loaded; the name is a C string.
        let status = unsafe {
            (self.api.module_function)(&raw mut function, program.0 as Module, name.as_ptr())
        };
        self.check("cuModuleGetFunction", status)?;
        Ok(Handle(function as u64))
    }

    fn release_kernel(&self, _kernel: Handle) {
        // A CUfunction lives as long as its module.
    }

    unsafe fn launch(
        &self,
        kernel: Handle,
        groups: usize,
        group_size: usize,
        arguments: &[RawArgument],
    ) -> Result<(), Fault> {
        let _entered = self.enter()?;
        let (Ok(blocks), Ok(threads)) = (c_uint::try_from(groups), c_uint::try_from(group_size))
        else {
            let detail = format!("{groups} groups of {group_size} items exceed a grid");
            return Err(Fault::Runtime { call: "cuLaunchKernel", detail });
        };
        let mut pointers: Vec<*mut c_void> = arguments.iter().map(value_address).collect();
        // SAFETY: each pointer is to a value of the parameter's type, as the caller vouches, and
        // is read before the call returns.
        let status = unsafe {
            (self.api.launch)(
                kernel.0 as Function,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                0,
                self.stream,
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        self.check("cuLaunchKernel", status)
    }

    fn synchronize(&self) -> Result<(), Fault> {
        let _entered = self.enter()?;
        // SAFETY: the stream is open.
        self.check("cuStreamSynchronize", unsafe { (self.api.stream_synchronize)(self.stream) })
    }

    fn free_memory(&self) -> Option<u64> {
        let _entered = self.enter().ok()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two sizes.
        let status = unsafe { (self.api.memory_info)(&raw mut free, &raw mut total) };
        (status == 0).then_some(free as u64)
    }
}

/// Where an argument's value lies; the driver only reads it.
fn value_address(argument: &RawArgument) -> *mut c_void {
    let address: *const c_void = match argument {
        RawArgument::Memory(handle) => ptr::from_ref(&handle.0).cast(),
        RawArgument::I32(value) => ptr::from_ref(value).cast(),
        RawArgument::U32(value) => ptr::from_ref(value).cast(),
        RawArgument::I64(value) => ptr::from_ref(value).cast(),
        RawArgument::U64(value) => ptr::from_ref(value).cast(),
        RawArgument::F32(value) => ptr::from_ref(value).cast(),
        RawArgument::F64(value) => ptr::from_ref(value).cast(),
    };
    address.cast_mut()
}

fn check(api: &Api, call: &'static str, status: Status) -> Result<(), Fault> {
    match status {
        0 => Ok(()),
        2 => Err(Fault::OutOfMemory),
        // Device unavailable, uncorrectable ECC or NVLink error, contained error, destroyed
        // context, and the faults inside kernels (illegal address, instruction, misalignment,
        // launch failure, timeout), after which the context refuses everything.
        46 | 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721 | 999 => {
            Err(Fault::Lost(format!("{call}: {}", api.status_name(status))))
        }
        _ => Err(Fault::Runtime { call, detail: api.status_name(status) }),
    }
}
