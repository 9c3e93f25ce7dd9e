//! The OpenCL devices of this machine.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use opencl_sys as cl;

use super::api::{Api, api};
use crate::device::info::{DeviceHandle, DeviceInfo, DeviceKind, PciAddress, RuntimeKind};

/// Held while devices are looked for: drivers set themselves up on the first question, and PoCL
/// crashes where two threads ask it at once.
static LOOKING: Mutex<()> = Mutex::new(());

/// Every device of every platform that can compile kernels, in the platforms' order; `None` where
/// libOpenCL is missing.
pub(crate) fn find() -> Option<Vec<DeviceInfo>> {
    let api = api()?;
    let _looking = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
    let devices = platforms(api)
        .into_iter()
        .flat_map(|platform| devices_of(api, platform))
        .filter_map(|device| Query { api, device }.info())
        .collect();
    Some(devices)
}

fn platforms(api: &Api) -> Vec<cl::cl_platform_id> {
    let mut count = 0;
    // SAFETY: with no array given, only the count is written.
    let status = unsafe { (api.get_platform_ids)(0, ptr::null_mut(), &raw mut count) };
    if status != cl::CL_SUCCESS {
        return Vec::new();
    }
    let mut ids = vec![ptr::null_mut(); count as usize];
    // SAFETY: `ids` holds `count` entries.
    let status = unsafe { (api.get_platform_ids)(count, ids.as_mut_ptr(), ptr::null_mut()) };
    if status == cl::CL_SUCCESS { ids } else { Vec::new() }
}

fn devices_of(api: &Api, platform: cl::cl_platform_id) -> Vec<cl::cl_device_id> {
    let mut count = 0;
    // SAFETY: with no array given, only the count is written.
    let status = unsafe {
        (api.get_device_ids)(platform, cl::CL_DEVICE_TYPE_ALL, 0, ptr::null_mut(), &raw mut count)
    };
    if status != cl::CL_SUCCESS {
        return Vec::new();
    }
    let mut ids = vec![ptr::null_mut(); count as usize];
    // SAFETY: `ids` holds `count` entries.
    let status = unsafe {
        (api.get_device_ids)(
            platform,
            cl::CL_DEVICE_TYPE_ALL,
            count,
            ids.as_mut_ptr(),
            ptr::null_mut(),
        )
    };
    if status == cl::CL_SUCCESS { ids } else { Vec::new() }
}

/// `clGetDeviceInfo` of one device.
struct Query<'a> {
    api: &'a Api,
    device: cl::cl_device_id,
}

impl Query<'_> {
    fn info(&self) -> Option<DeviceInfo> {
        let usable = self.u32(cl::CL_DEVICE_AVAILABLE)? != 0
            && self.u32(cl::CL_DEVICE_COMPILER_AVAILABLE)? != 0;
        // The kernels read and write 32-bit words as the host does.
        let little_endian = self.u32(cl::CL_DEVICE_ENDIAN_LITTLE)? != 0;
        if !usable || !little_endian {
            return None;
        }
        let extensions = self.text(cl::CL_DEVICE_EXTENSIONS)?;
        let is_processor = self.u64(cl::CL_DEVICE_TYPE)? & cl::CL_DEVICE_TYPE_CPU != 0;
        Some(DeviceInfo {
            name: self.text(cl::CL_DEVICE_NAME)?,
            vendor: self.text(cl::CL_DEVICE_VENDOR)?,
            runtime: RuntimeKind::OpenCl,
            kind: if is_processor { DeviceKind::Cpu } else { DeviceKind::Gpu },
            driver: self.text(cl::CL_DRIVER_VERSION)?,
            memory_bytes: self.u64(cl::CL_DEVICE_GLOBAL_MEM_SIZE)?,
            largest_buffer_bytes: self.u64(cl::CL_DEVICE_MAX_MEM_ALLOC_SIZE)?,
            compute_units: self.u32(cl::CL_DEVICE_MAX_COMPUTE_UNITS)?,
            max_group_size: u32::try_from(self.u64(cl::CL_DEVICE_MAX_WORK_GROUP_SIZE)?).ok()?,
            local_memory_bytes: self.u64(cl::CL_DEVICE_LOCAL_MEM_SIZE)?,
            has_f64: extensions.contains("cl_khr_fp64"),
            pci: self.pci(&extensions),
            compute_capability: None,
            handle: DeviceHandle::OpenCl { device: self.device as usize },
        })
    }

    fn pci(&self, extensions: &str) -> Option<PciAddress> {
        if extensions.contains("cl_khr_pci_bus_info") {
            let bytes = self.bytes(cl::CL_DEVICE_PCI_BUS_INFO_KHR)?;
            let [domain, bus, device, _function] = bytes.as_chunks::<4>().0 else { return None };
            let [domain, bus, device] = [domain, bus, device].map(|word| u32::from_ne_bytes(*word));
            return Some(PciAddress { bus, device, domain: Some(domain) });
        }
        if extensions.contains("cl_nv_device_attribute_query") {
            let bus = self.u32(cl::CL_DEVICE_PCI_BUS_ID_NV)?;
            // The slot's low three bits are the function.
            let device = self.u32(cl::CL_DEVICE_PCI_SLOT_ID_NV)? >> 3;
            return Some(PciAddress { bus, device, domain: None });
        }
        None
    }

    fn bytes(&self, what: cl::cl_device_info) -> Option<Vec<u8>> {
        let mut size = 0;
        // SAFETY: with no value given, only the size is written.
        let status = unsafe {
            (self.api.get_device_info)(self.device, what, 0, ptr::null_mut(), &raw mut size)
        };
        if status != cl::CL_SUCCESS {
            return None;
        }
        let mut value = vec![0; size];
        // SAFETY: `value` holds `size` bytes.
        let status = unsafe {
            (self.api.get_device_info)(
                self.device,
                what,
                size,
                value.as_mut_ptr().cast::<c_void>(),
                ptr::null_mut(),
            )
        };
        (status == cl::CL_SUCCESS).then_some(value)
    }

    fn u32(&self, what: cl::cl_device_info) -> Option<u32> {
        Some(u32::from_ne_bytes(self.bytes(what)?.try_into().ok()?))
    }

    fn u64(&self, what: cl::cl_device_info) -> Option<u64> {
        Some(u64::from_ne_bytes(self.bytes(what)?.try_into().ok()?))
    }

    fn text(&self, what: cl::cl_device_info) -> Option<String> {
        let bytes = self.bytes(what)?;
        let text = String::from_utf8_lossy(&bytes);
        Some(text.trim_end_matches('\0').trim().to_owned())
    }
}
