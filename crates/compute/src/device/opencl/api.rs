//! The functions of libOpenCL that are used.

use std::sync::OnceLock;

use opencl_sys::cl_function_types as types;

use crate::device::library::shared_library;

/// Names the function inside the header's `Option<fn>` types.
pub(crate) trait Optional {
    type Inner;
}
impl<F> Optional for Option<F> {
    type Inner = F;
}
pub(crate) type FunctionOf<T> = <T as Optional>::Inner;

shared_library! {
    /// OpenCL 1.2.
    Api {
        get_platform_ids: "clGetPlatformIDs", FunctionOf<types::clGetPlatformIDs_t>;
        get_device_ids: "clGetDeviceIDs", FunctionOf<types::clGetDeviceIDs_t>;
        get_device_info: "clGetDeviceInfo", FunctionOf<types::clGetDeviceInfo_t>;
        create_context: "clCreateContext", FunctionOf<types::clCreateContext_t>;
        retain_context: "clRetainContext", FunctionOf<types::clRetainContext_t>;
        release_context: "clReleaseContext", FunctionOf<types::clReleaseContext_t>;
        create_command_queue: "clCreateCommandQueue", FunctionOf<types::clCreateCommandQueue_t>;
        release_command_queue: "clReleaseCommandQueue", FunctionOf<types::clReleaseCommandQueue_t>;
        finish: "clFinish", FunctionOf<types::clFinish_t>;
        create_buffer: "clCreateBuffer", FunctionOf<types::clCreateBuffer_t>;
        release_mem_object: "clReleaseMemObject", FunctionOf<types::clReleaseMemObject_t>;
        enqueue_read_buffer: "clEnqueueReadBuffer", FunctionOf<types::clEnqueueReadBuffer_t>;
        enqueue_write_buffer: "clEnqueueWriteBuffer", FunctionOf<types::clEnqueueWriteBuffer_t>;
        enqueue_copy_buffer: "clEnqueueCopyBuffer", FunctionOf<types::clEnqueueCopyBuffer_t>;
        enqueue_fill_buffer: "clEnqueueFillBuffer", FunctionOf<types::clEnqueueFillBuffer_t>;
        create_program_with_source: "clCreateProgramWithSource",
            FunctionOf<types::clCreateProgramWithSource_t>;
        build_program: "clBuildProgram", FunctionOf<types::clBuildProgram_t>;
        get_program_build_info: "clGetProgramBuildInfo",
            FunctionOf<types::clGetProgramBuildInfo_t>;
        release_program: "clReleaseProgram", FunctionOf<types::clReleaseProgram_t>;
        create_kernel: "clCreateKernel", FunctionOf<types::clCreateKernel_t>;
        release_kernel: "clReleaseKernel", FunctionOf<types::clReleaseKernel_t>;
        set_kernel_arg: "clSetKernelArg", FunctionOf<types::clSetKernelArg_t>;
        enqueue_nd_range_kernel: "clEnqueueNDRangeKernel",
            FunctionOf<types::clEnqueueNDRangeKernel_t>;
    }
}

const LIBRARY_NAMES: &[&str] = if cfg!(target_os = "macos") {
    &["/System/Library/Frameworks/OpenCL.framework/OpenCL"]
} else if cfg!(windows) {
    &["OpenCL.dll"]
} else {
    &["libOpenCL.so.1", "libOpenCL.so"]
};

/// The library, opened at the first call; `None` where there is none.
pub(crate) fn api() -> Option<&'static Api> {
    static API: OnceLock<Option<Api>> = OnceLock::new();
    API.get_or_init(|| LIBRARY_NAMES.iter().find_map(Api::open)).as_ref()
}
