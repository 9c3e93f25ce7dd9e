//! The functions of NVIDIA's driver library that are used.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;

use crate::device::library::shared_library;

pub(crate) type Status = c_int;
pub(crate) type DevicePointer = u64;
pub(crate) type Context = *mut c_void;
pub(crate) type Stream = *mut c_void;
pub(crate) type Module = *mut c_void;
pub(crate) type Function = *mut c_void;

// Members of CUdevice_attribute.
pub(crate) const MAX_THREADS_PER_BLOCK: c_int = 1;
pub(crate) const MAX_SHARED_MEMORY_PER_BLOCK: c_int = 8;
pub(crate) const MULTIPROCESSOR_COUNT: c_int = 16;
pub(crate) const PCI_BUS_ID: c_int = 33;
pub(crate) const PCI_DEVICE_ID: c_int = 34;
pub(crate) const PCI_DOMAIN_ID: c_int = 50;
pub(crate) const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
pub(crate) const COMPUTE_CAPABILITY_MINOR: c_int = 76;

shared_library! {
    /// The CUDA driver; every card since Kepler and every driver since CUDA 11 has these;
    /// nothing but speed is lost without the last two.
    Api {
        init: "cuInit", unsafe extern "C" fn(c_uint) -> Status;
        driver_version: "cuDriverGetVersion", unsafe extern "C" fn(*mut c_int) -> Status;
        error_name: "cuGetErrorName",
            unsafe extern "C" fn(Status, *mut *const c_char) -> Status;
        device_count: "cuDeviceGetCount", unsafe extern "C" fn(*mut c_int) -> Status;
        device_get: "cuDeviceGet", unsafe extern "C" fn(*mut c_int, c_int) -> Status;
        device_name: "cuDeviceGetName",
            unsafe extern "C" fn(*mut c_char, c_int, c_int) -> Status;
        device_total_memory: "cuDeviceTotalMem_v2",
            unsafe extern "C" fn(*mut usize, c_int) -> Status;
        device_attribute: "cuDeviceGetAttribute",
            unsafe extern "C" fn(*mut c_int, c_int, c_int) -> Status;
        context_retain: "cuDevicePrimaryCtxRetain",
            unsafe extern "C" fn(*mut Context, c_int) -> Status;
        context_release: "cuDevicePrimaryCtxRelease_v2", unsafe extern "C" fn(c_int) -> Status;
        context_push: "cuCtxPushCurrent_v2", unsafe extern "C" fn(Context) -> Status;
        context_pop: "cuCtxPopCurrent_v2", unsafe extern "C" fn(*mut Context) -> Status;
        stream_create: "cuStreamCreate", unsafe extern "C" fn(*mut Stream, c_uint) -> Status;
        stream_destroy: "cuStreamDestroy_v2", unsafe extern "C" fn(Stream) -> Status;
        stream_synchronize: "cuStreamSynchronize", unsafe extern "C" fn(Stream) -> Status;
        memory_info: "cuMemGetInfo_v2",
            unsafe extern "C" fn(*mut usize, *mut usize) -> Status;
        allocate: "cuMemAlloc_v2",
            unsafe extern "C" fn(*mut DevicePointer, usize) -> Status;
        free: "cuMemFree_v2", unsafe extern "C" fn(DevicePointer) -> Status;
        copy_to_device: "cuMemcpyHtoDAsync_v2",
            unsafe extern "C" fn(DevicePointer, *const c_void, usize, Stream) -> Status;
        copy_to_host: "cuMemcpyDtoHAsync_v2",
            unsafe extern "C" fn(*mut c_void, DevicePointer, usize, Stream) -> Status;
        copy_on_device: "cuMemcpyDtoDAsync_v2",
            unsafe extern "C" fn(DevicePointer, DevicePointer, usize, Stream) -> Status;
        set_bytes: "cuMemsetD8Async",
            unsafe extern "C" fn(DevicePointer, u8, usize, Stream) -> Status;
        module_load: "cuModuleLoadData",
            unsafe extern "C" fn(*mut Module, *const c_void) -> Status;
        module_unload: "cuModuleUnload", unsafe extern "C" fn(Module) -> Status;
        module_function: "cuModuleGetFunction",
            unsafe extern "C" fn(*mut Function, Module, *const c_char) -> Status;
        launch: "cuLaunchKernel", unsafe extern "C" fn(
            Function, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Stream,
            *mut *mut c_void, *mut *mut c_void) -> Status;
        ? host_register: "cuMemHostRegister_v2",
            unsafe extern "C" fn(*mut c_void, usize, c_uint) -> Status;
        ? host_unregister: "cuMemHostUnregister", unsafe extern "C" fn(*mut c_void) -> Status;
    }
}

const LIBRARY_NAMES: &[&str] =
    if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };

/// The library, opened and initialised at the first call: `None` where it is missing, else the
/// status of its initialisation beside it.
pub(crate) fn api() -> Option<&'static (Api, Status)> {
    static API: OnceLock<Option<(Api, Status)>> = OnceLock::new();
    API.get_or_init(|| {
        let api = LIBRARY_NAMES.iter().find_map(Api::open)?;
        // SAFETY: the first call every CUDA program makes.
        let status = unsafe { (api.init)(0) };
        Some((api, status))
    })
    .as_ref()
}

impl Api {
    /// The header's name of a status.
    pub(crate) fn status_name(&self, status: Status) -> String {
        let mut name = ptr::null();
        // SAFETY: writes a pointer to a static C string, or leaves it null.
        unsafe { (self.error_name)(status, &raw mut name) };
        if name.is_null() {
            return format!("CUDA status {status}");
        }
        // SAFETY: the driver's static string.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }
}
