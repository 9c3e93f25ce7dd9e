//! Devices reached through OpenCL 1.2.

mod api;
mod find;

use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::{Arc, Mutex};

use opencl_sys as cl;

use self::api::{Api, api};
pub(crate) use self::find::find;
use super::error::Fault;
use super::runtime::{Handle, RawArgument, Runtime};
use crate::dialect;

/// NVIDIA's undocumented code for a fault inside a kernel.
const CL_NV_ILLEGAL_ACCESS: cl::cl_int = -9999;

/// A context and an in-order queue on one device.
pub(crate) struct OpenCl {
    api: &'static Api,
    device: cl::cl_device_id,
    context: cl::cl_context,
    queue: cl::cl_command_queue,
    /// Setting a kernel's arguments and queuing it is one step: `cl_kernel` holds them.
    launching: Mutex<()>,
}

// SAFETY: OpenCL objects may be used from any thread; the one exception, clSetKernelArg, happens
// under `launching`.
unsafe impl Send for OpenCl {}
// SAFETY: as above.
unsafe impl Sync for OpenCl {}

impl OpenCl {
    /// Opens the device with the given `cl_device_id`, as [`find`] reported it.
    pub(crate) fn open(device: usize) -> Result<Self, Fault> {
        let Some(api) = api() else {
            let detail = "the library is missing".to_owned();
            return Err(Fault::Runtime { call: "libOpenCL", detail });
        };
        let device = device as cl::cl_device_id;
        let mut status = cl::CL_SUCCESS;
        // SAFETY: one device, no properties, no callback.
        let context = unsafe {
            (api.create_context)(
                ptr::null(),
                1,
                &raw const device,
                None,
                ptr::null_mut(),
                &raw mut status,
            )
        };
        check("clCreateContext", status)?;
        Self::with_context(api, device, context)
    }

    /// A queue of its own on a context, which is released with it, or at once where there is none.
    fn with_context(
        api: &'static Api,
        device: cl::cl_device_id,
        context: cl::cl_context,
    ) -> Result<Self, Fault> {
        let mut status = cl::CL_SUCCESS;
        // SAFETY: the device belongs to the context.
        let queue = unsafe { (api.create_command_queue)(context, device, 0, &raw mut status) };
        let opened = Self { api, device, context, queue, launching: Mutex::new(()) };
        check("clCreateCommandQueue", status)?;
        Ok(opened)
    }

    fn build_log(&self, program: cl::cl_program) -> String {
        let what = cl::CL_PROGRAM_BUILD_LOG;
        let mut size = 0;
        // SAFETY: with no value given, only the size is written.
        unsafe {
            (self.api.get_program_build_info)(
                program,
                self.device,
                what,
                0,
                ptr::null_mut(),
                &raw mut size,
            );
        }
        let mut log = vec![0_u8; size];
        // SAFETY: `log` holds `size` bytes.
        unsafe {
            (self.api.get_program_build_info)(
                program,
                self.device,
                what,
                size,
                log.as_mut_ptr().cast::<c_void>(),
                ptr::null_mut(),
            );
        }
        String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_owned()
    }
}

impl Drop for OpenCl {
    fn drop(&mut self) {
        // A lost device may refuse; there is nothing left to do about it.
        // SAFETY: the queue was created with this, the context created or retained for it, and each is
        // released once; a null queue is refused.
        unsafe {
            if !self.queue.is_null() {
                (self.api.release_command_queue)(self.queue);
            }
            (self.api.release_context)(self.context);
        }
    }
}

impl Runtime for OpenCl {
    fn another_queue(&self) -> Result<Arc<dyn Runtime>, Fault> {
        // SAFETY: the context lives as long as `self`; `with_context` releases it again.
        check("clRetainContext", unsafe { (self.api.retain_context)(self.context) })?;
        Ok(Arc::new(Self::with_context(self.api, self.device, self.context)?))
    }

    fn allocate(&self, bytes: usize) -> Result<Handle, Fault> {
        let mut status = cl::CL_SUCCESS;
        // SAFETY: no host pointer is given.
        let memory = unsafe {
            (self.api.create_buffer)(
                self.context,
                cl::CL_MEM_READ_WRITE,
                bytes,
                ptr::null_mut(),
                &raw mut status,
            )
        };
        check("clCreateBuffer", status)?;
        Ok(Handle(memory as u64))
    }

    fn free(&self, memory: Handle) {
        // SAFETY: the handle is a cl_mem that is released once.
        unsafe { (self.api.release_mem_object)(memory.0 as cl::cl_mem) };
    }

    fn write(&self, memory: Handle, offset: usize, bytes: &[u8]) -> Result<(), Fault> {
        // SAFETY: the call blocks until `bytes` has been read.
        let status = unsafe {
            (self.api.enqueue_write_buffer)(
                self.queue,
                memory.0 as cl::cl_mem,
                cl::CL_TRUE,
                offset,
                bytes.len(),
                bytes.as_ptr().cast::<c_void>(),
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        check("clEnqueueWriteBuffer", status)
    }

    fn read(&self, memory: Handle, offset: usize, bytes: &mut [u8]) -> Result<(), Fault> {
        // SAFETY: the call blocks until `bytes` has been written.
        let status = unsafe {
            (self.api.enqueue_read_buffer)(
                self.queue,
                memory.0 as cl::cl_mem,
                cl::CL_TRUE,
                offset,
                bytes.len(),
                bytes.as_mut_ptr().cast::<c_void>(),
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        check("clEnqueueReadBuffer", status)
    }

    fn copy(&self, from: (Handle, usize), to: (Handle, usize), bytes: usize) -> Result<(), Fault> {
        // SAFETY: both handles are cl_mem objects; OpenCL checks the ranges.
        let status = unsafe {
            (self.api.enqueue_copy_buffer)(
                self.queue,
                from.0.0 as cl::cl_mem,
                to.0.0 as cl::cl_mem,
                from.1,
                to.1,
                bytes,
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        check("clEnqueueCopyBuffer", status)
    }

    fn zero(&self, memory: Handle, bytes: usize) -> Result<(), Fault> {
        let pattern = 0_u8;
        // SAFETY: the pattern is copied before the call returns.
        let status = unsafe {
            (self.api.enqueue_fill_buffer)(
                self.queue,
                memory.0 as cl::cl_mem,
                (&raw const pattern).cast::<c_void>(),
                1,
                0,
                bytes,
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        check("clEnqueueFillBuffer", status)
    }

    fn prelude(&self) -> &'static str {
        dialect::PRELUDE_OPENCL
    }

    fn compile(&self, _name: &str, text: &str) -> Result<Handle, Fault> {
        let (mut start, length) = (text.as_ptr().cast(), text.len());
        let mut status = cl::CL_SUCCESS;
        // SAFETY: one string of the given length.
        let program = unsafe {
            (self.api.create_program_with_source)(
                self.context,
                1,
                &raw mut start,
                &raw const length,
                &raw mut status,
            )
        };
        check("clCreateProgramWithSource", status)?;
        // SAFETY: the program belongs to the device's context; the options are a C string.
        let status = unsafe {
            (self.api.build_program)(
                program,
                1,
                &raw const self.device,
                c"-cl-std=CL1.2".as_ptr(),
                None,
                ptr::null_mut(),
            )
        };
        if status == cl::CL_SUCCESS {
            return Ok(Handle(program as u64));
        }
        let log = self.build_log(program);
        self.release_program(Handle(program as u64));
        match check("clBuildProgram", status) {
            Err(fault @ (Fault::OutOfMemory | Fault::Lost(_))) => Err(fault),
            _ => Err(Fault::Compile(log)),
        }
    }

    fn release_program(&self, program: Handle) {
        // SAFETY: the handle is a cl_program that is released once.
        unsafe { (self.api.release_program)(program.0 as cl::cl_program) };
    }

    fn kernel(&self, program: Handle, name: &str) -> Result<Handle, Fault> {
        let name = CString::new(name).unwrap_or_default();
        let mut status = cl::CL_SUCCESS;
        // SAFETY: the handle is a built cl_program.
        let kernel = unsafe {
            (self.api.create_kernel)(program.0 as cl::cl_program, name.as_ptr(), &raw mut status)
        };
        check("clCreateKernel", status)?;
        Ok(Handle(kernel as u64))
    }

    fn release_kernel(&self, kernel: Handle) {
        // SAFETY: the handle is a cl_kernel that is released once.
        unsafe { (self.api.release_kernel)(kernel.0 as cl::cl_kernel) };
    }

    unsafe fn launch(
        &self,
        kernel: Handle,
        groups: usize,
        group_size: usize,
        arguments: &[RawArgument],
    ) -> Result<(), Fault> {
        let kernel = kernel.0 as cl::cl_kernel;
        let _launching = self.launching.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for (index, argument) in arguments.iter().enumerate() {
            let (size, value) = raw_parts(argument);
            // SAFETY: `value` points to `size` bytes inside `argument`, copied by the call.
            let status = unsafe { (self.api.set_kernel_arg)(kernel, index as u32, size, value) };
            check("clSetKernelArg", status)?;
        }
        let global = groups.saturating_mul(group_size);
        // SAFETY: one dimension; the caller vouches for the kernel and its arguments.
        let status = unsafe {
            (self.api.enqueue_nd_range_kernel)(
                self.queue,
                kernel,
                1,
                ptr::null(),
                &raw const global,
                &raw const group_size,
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        check(LAUNCH, status)
    }

    fn synchronize(&self) -> Result<(), Fault> {
        // SAFETY: the queue is open.
        check("clFinish", unsafe { (self.api.finish)(self.queue) })
    }

    fn free_memory(&self) -> Option<u64> {
        None
    }
}

/// Size and address of an argument's value; a `Handle` is as wide as a `cl_mem`.
fn raw_parts(argument: &RawArgument) -> (usize, *const c_void) {
    fn bytes_of<T>(value: &T) -> (usize, *const c_void) {
        (size_of::<T>(), ptr::from_ref(value).cast())
    }
    match argument {
        RawArgument::Memory(handle) => (size_of::<cl::cl_mem>(), ptr::from_ref(&handle.0).cast()),
        RawArgument::I32(value) => bytes_of(value),
        RawArgument::U32(value) => bytes_of(value),
        RawArgument::I64(value) => bytes_of(value),
        RawArgument::U64(value) => bytes_of(value),
        RawArgument::F32(value) => bytes_of(value),
        RawArgument::F64(value) => bytes_of(value),
    }
}

/// The call that runs a kernel.
const LAUNCH: &str = "clEnqueueNDRangeKernel";

fn check(call: &'static str, status: cl::cl_int) -> Result<(), Fault> {
    match status {
        cl::CL_SUCCESS => Ok(()),
        cl::CL_MEM_OBJECT_ALLOCATION_FAILURE
        | cl::CL_OUT_OF_HOST_MEMORY
        | cl::CL_INVALID_BUFFER_SIZE => Err(Fault::OutOfMemory),
        cl::CL_DEVICE_NOT_AVAILABLE | cl::CL_INVALID_COMMAND_QUEUE | CL_NV_ILLEGAL_ACCESS => {
            Err(Fault::Lost(format!("{call}: {}", status_name(status))))
        }
        // A launch may ask for more registers than there are. Later, some drivers say so of a kernel
        // that faulted, after which the device's context refuses everything.
        cl::CL_OUT_OF_RESOURCES if call != LAUNCH => {
            Err(Fault::Lost(format!("{call}: {}", status_name(status))))
        }
        _ => Err(Fault::Runtime { call, detail: status_name(status) }),
    }
}

/// The header's name of the statuses one meets in practice, else the number.
fn status_name(status: cl::cl_int) -> String {
    let name = match status {
        cl::CL_DEVICE_NOT_AVAILABLE => "CL_DEVICE_NOT_AVAILABLE",
        cl::CL_OUT_OF_RESOURCES => "CL_OUT_OF_RESOURCES",
        cl::CL_BUILD_PROGRAM_FAILURE => "CL_BUILD_PROGRAM_FAILURE",
        cl::CL_INVALID_VALUE => "CL_INVALID_VALUE",
        cl::CL_INVALID_DEVICE => "CL_INVALID_DEVICE",
        cl::CL_INVALID_COMMAND_QUEUE => "CL_INVALID_COMMAND_QUEUE",
        cl::CL_INVALID_MEM_OBJECT => "CL_INVALID_MEM_OBJECT",
        cl::CL_INVALID_KERNEL_NAME => "CL_INVALID_KERNEL_NAME",
        cl::CL_INVALID_ARG_INDEX => "CL_INVALID_ARG_INDEX",
        cl::CL_INVALID_ARG_VALUE => "CL_INVALID_ARG_VALUE",
        cl::CL_INVALID_ARG_SIZE => "CL_INVALID_ARG_SIZE",
        cl::CL_INVALID_KERNEL_ARGS => "CL_INVALID_KERNEL_ARGS",
        cl::CL_INVALID_WORK_GROUP_SIZE => "CL_INVALID_WORK_GROUP_SIZE",
        cl::CL_INVALID_GLOBAL_WORK_SIZE => "CL_INVALID_GLOBAL_WORK_SIZE",
        CL_NV_ILLEGAL_ACCESS => "illegal memory access in a kernel",
        other => return format!("OpenCL status {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_tell_full_memory_from_a_lost_device_and_from_other_refusals() {
        let fault = |status| check("a call", status).unwrap_err();
        assert!(matches!(fault(cl::CL_MEM_OBJECT_ALLOCATION_FAILURE), Fault::OutOfMemory));
        assert!(matches!(fault(cl::CL_OUT_OF_HOST_MEMORY), Fault::OutOfMemory));
        assert!(matches!(fault(cl::CL_DEVICE_NOT_AVAILABLE), Fault::Lost(_)));
        assert!(matches!(fault(cl::CL_INVALID_COMMAND_QUEUE), Fault::Lost(_)));
        assert!(matches!(fault(cl::CL_INVALID_KERNEL_ARGS), Fault::Runtime { .. }));
    }
}
