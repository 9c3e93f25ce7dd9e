//! The CUDA devices of this machine.

use std::ffi::{CStr, c_int};

use super::api::{self, Api, api};
use crate::device::info::{DeviceHandle, DeviceInfo, DeviceKind, PciAddress, RuntimeKind};

/// Every card of the driver, in its order; `None` where libcuda is missing, `Err` with the
/// driver's word where it does not start.
pub(crate) fn find() -> Option<Result<Vec<DeviceInfo>, String>> {
    let (api, status) = api()?;
    if *status != 0 {
        return Some(Err(api.status_name(*status)));
    }
    let mut count = 0;
    // SAFETY: writes one int.
    let status = unsafe { (api.device_count)(&raw mut count) };
    if status != 0 {
        return Some(Err(api.status_name(status)));
    }
    Some(Ok((0..count).filter_map(|ordinal| info(api, ordinal)).collect()))
}

fn info(api: &Api, ordinal: c_int) -> Option<DeviceInfo> {
    let (mut device, mut version, mut memory) = (0, 0, 0);
    let mut name = [0_u8; 256];
    // SAFETY: each call writes one value; the name's buffer is as long as stated.
    let failed = unsafe {
        (api.device_get)(&raw mut device, ordinal) != 0
            || (api.driver_version)(&raw mut version) != 0
            || (api.device_total_memory)(&raw mut memory, device) != 0
            || (api.device_name)(name.as_mut_ptr().cast(), name.len() as c_int, device) != 0
    };
    if failed {
        return None;
    }
    let attribute = |which: c_int| {
        let mut value = 0;
        // SAFETY: writes one int.
        let status = unsafe { (api.device_attribute)(&raw mut value, which, device) };
        if status == 0 { u32::try_from(value).ok() } else { None }
    };
    let name = CStr::from_bytes_until_nul(&name).ok()?;
    Some(DeviceInfo {
        name: name.to_string_lossy().into_owned(),
        vendor: "NVIDIA".to_owned(),
        runtime: RuntimeKind::Cuda,
        kind: DeviceKind::Gpu,
        driver: format!("CUDA {}.{}", version / 1000, version % 1000 / 10),
        memory_bytes: memory as u64,
        largest_buffer_bytes: memory as u64,
        compute_units: attribute(api::MULTIPROCESSOR_COUNT)?,
        max_group_size: attribute(api::MAX_THREADS_PER_BLOCK)?,
        local_memory_bytes: attribute(api::MAX_SHARED_MEMORY_PER_BLOCK)?.into(),
        has_f64: true,
        pci: attribute(api::PCI_BUS_ID)
            .zip(attribute(api::PCI_DEVICE_ID))
            .map(|(bus, device)| PciAddress { bus, device, domain: attribute(api::PCI_DOMAIN_ID) }),
        compute_capability: Some((
            attribute(api::COMPUTE_CAPABILITY_MAJOR)?,
            attribute(api::COMPUTE_CAPABILITY_MINOR)?,
        )),
        handle: DeviceHandle::Cuda { ordinal },
    })
}
