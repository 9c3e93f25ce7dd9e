//! Buffers, programs and errors of an open device, on PoCL where there is no card.

use fimbria_compute::device::{DeviceError, DeviceOptions, DeviceSpace, KernelSource, Launch};
use fimbria_compute::fft::{DeviceFft, DeviceFftError, FftError};
use fimbria_compute::operator::VectorSpace;
use fimbria_testing::{opencl_device, opencl_device_with};

#[test]
fn what_is_uploaded_comes_back() {
    let Some(device) = opencl_device() else { return };
    let sent: Vec<u32> = (0..1000).map(|i| 2_654_435_761_u32.wrapping_mul(i)).collect();
    assert_eq!(device.upload(&sent).unwrap().to_vec().unwrap(), sent);
}

#[test]
fn ranges_are_written_read_and_copied_where_they_say() {
    let Some(device) = opencl_device() else { return };
    let mut buffer = device.zeros::<u32>(10).unwrap();
    buffer.write(3, &[7, 8]).unwrap();
    let mut copy = device.upload(&[9_u32; 4]).unwrap();
    copy.copy_from(1, &buffer, 3..5).unwrap();
    assert_eq!(copy.to_vec().unwrap(), [9, 7, 8, 9]);
    let mut read = [0; 2];
    buffer.read(4, &mut read).unwrap();
    assert_eq!(read, [8, 0]);
}

#[test]
fn a_range_outside_the_buffer_is_an_error_with_its_bounds() {
    let Some(device) = opencl_device() else { return };
    let mut buffer = device.zeros::<f32>(4).unwrap();
    assert_eq!(buffer.write(3, &[0.0; 2]), Err(DeviceError::Range { start: 3, end: 5, len: 4 }));
}

#[test]
fn empty_buffers_are_allowed() {
    let Some(device) = opencl_device() else { return };
    assert!(device.upload::<f32>(&[]).unwrap().to_vec().unwrap().is_empty());
}

#[test]
fn constants_specialise_a_text() {
    let Some(device) = opencl_device() else { return };
    let text = "KERNEL(fill)(GLOBAL f32 *x, u32 n) {
        u64 i = GLOBAL_ID();
        if (i < n) x[i] = VALUE;
    }";
    for value in [0.1_f32, -3.0e-38, 1.175_494_4e-38, f32::MAX] {
        let source = KernelSource::new("fill", text).with_f32("VALUE", value);
        let kernel = device.kernel(&source, "fill").unwrap();
        let x = device.zeros::<f32>(5).unwrap();
        // SAFETY: the kernel's two parameters; it stays below n.
        unsafe { kernel.launch(Launch::items(3), &[(&x).into(), 3_u32.into()]) }.unwrap();
        assert_eq!(x.to_vec().unwrap(), [value, value, value, 0.0, 0.0]);
    }
}

#[test]
fn a_text_that_does_not_compile_is_an_error_with_the_compilers_log() {
    let Some(device) = opencl_device() else { return };
    let source = KernelSource::new("broken", "KERNEL(broken)(GLOBAL f32 *x) { x[0] = nonsense; }");
    let error = device.kernel(&source, "broken").unwrap_err();
    let DeviceError::Compile { program, log, .. } = &error else { panic!("{error:?}") };
    assert_eq!(program, "broken");
    assert!(log.contains("nonsense"), "{log}");
}

#[test]
fn a_kernel_that_the_text_lacks_is_an_error() {
    let Some(device) = opencl_device() else { return };
    let source = KernelSource::new("one", "KERNEL(one)(GLOBAL f32 *x) { x[0] = 1.0f; }");
    let error = device.kernel(&source, "two").unwrap_err();
    assert!(matches!(error, DeviceError::Runtime { .. }), "{error:?}");
}

#[test]
fn contraction_is_off_and_fma_fuses() {
    let Some(device) = opencl_device() else { return };
    let source = KernelSource::new(
        "contraction",
        "KERNEL(contraction)(GLOBAL f32 *x) {
            x[3] = x[0] * x[1] + x[2];
            x[4] = FMA(x[0], x[1], x[2]);
        }",
    );
    let kernel = device.kernel(&source, "contraction").unwrap();
    // a² = 1 + 2⁻¹¹ + 2⁻²⁴ rounds to 1 + 2⁻¹¹: the separate result is 0, the fused one 2⁻²⁴.
    let a = 1.0 + 2.0_f32.powi(-12);
    let x = device.upload(&[a, a, -(1.0 + 2.0_f32.powi(-11)), 9.0, 9.0]).unwrap();
    // SAFETY: one parameter; the kernel touches five elements.
    unsafe { kernel.launch(Launch::groups_of(1, 1), &[(&x).into()]) }.unwrap();
    assert_eq!(x.to_vec().unwrap()[3..], [0.0, 2.0_f32.powi(-24)]);
}

#[test]
fn the_dialects_atomics_and_group_sums_are_exact() {
    let Some(device) = opencl_device() else { return };
    let source = KernelSource::new(
        "sums",
        "GROUP_KERNEL(sums, 64)(GLOBAL u32 *u, GLOBAL i32 *i, GLOBAL f32 *f) {
            LOCAL f32 scratch[64];
            u32 me = (u32)GLOBAL_ID();
            ATOMIC_ADD_U32(&u[0], me);
            ATOMIC_ADD_I32(&i[0], -(i32)me);
            f32 sum = GROUP_SUM_F32(scratch, (f32)me);
            if (LOCAL_ID() == 0) f[GROUP_ID()] = sum;
        }",
    );
    let kernel = device.kernel(&source, "sums").unwrap();
    let u = device.zeros::<u32>(1).unwrap();
    let i = device.zeros::<i32>(1).unwrap();
    let f = device.zeros::<f32>(2).unwrap();
    let arguments = [(&u).into(), (&i).into(), (&f).into()];
    // SAFETY: the kernel's three parameters; two groups write two sums.
    unsafe { kernel.launch(Launch::groups_of(64, 2), &arguments) }.unwrap();
    assert_eq!(u.to_vec().unwrap(), [127 * 128 / 2]);
    assert_eq!(i.to_vec().unwrap(), [-127 * 128 / 2]);
    assert_eq!(f.to_vec().unwrap(), [2016.0, 6112.0]);
}

#[test]
fn projection_keeps_what_is_positive_or_not_a_number() {
    let Some(device) = opencl_device() else { return };
    let space = DeviceSpace::new(&device, 3).unwrap();
    let mut x = space.upload(&[-1.0, 2.5, f32::NAN]).unwrap();
    space.project_nonnegative(&mut x).unwrap();
    let x = x.to_vec().unwrap();
    assert_eq!(x[..2], [0.0, 2.5]);
    assert!(x[2].is_nan());
}

#[test]
fn more_memory_than_allowed_is_an_error_with_both_sizes() {
    let options = DeviceOptions { memory_limit: Some(1000), ..DeviceOptions::default() };
    let Some(device) = opencl_device_with(&options) else { return };
    let held = device.zeros::<f32>(150).unwrap();
    let error = device.zeros::<f32>(150).unwrap_err();
    assert!(
        matches!(error, DeviceError::OutOfMemory { requested: 600, available: 400, .. }),
        "{error:?}"
    );
    drop(held);
    assert!(device.zeros::<f32>(150).is_ok());
}

#[test]
fn a_buffer_beyond_the_devices_largest_is_an_error_before_anything_is_allocated() {
    let Some(device) = opencl_device() else { return };
    let largest = device.info().largest_buffer_bytes;
    let error = device.allocate::<u8>(largest as usize + 1).unwrap_err();
    assert!(matches!(error, DeviceError::BufferTooLarge { .. }), "{error:?}");
    assert!(matches!(
        device.allocate::<u64>(usize::MAX).unwrap_err(),
        DeviceError::BufferTooLarge { .. }
    ));
}

#[test]
fn a_chunk_fits_the_memory_left_and_the_largest_buffer() {
    let options = DeviceOptions { memory_limit: Some(1 << 20), ..DeviceOptions::default() };
    let Some(device) = opencl_device_with(&options) else { return };
    assert_eq!(device.chunk_len(&[1000, 24]), 1024);
    let _held = device.zeros::<u8>(1 << 19).unwrap();
    assert_eq!(device.chunk_len(&[1000, 24]), 512);
    assert_eq!(device.chunk_len(&[2 << 20]), 0);
    let largest = device.info().largest_buffer_bytes as usize;
    assert_eq!(device.chunk_len(&[largest + 1]), 0);
    // PoCL has more memory than it gives to one buffer.
    let options = DeviceOptions { memory_fraction: 1.0, ..DeviceOptions::default() };
    let Some(device) = opencl_device_with(&options) else { return };
    assert_eq!(device.chunk_len(&[largest / 2 + 1, 1]), 1);
}

#[test]
fn a_transform_of_more_elements_than_kernels_count_is_refused() {
    let Some(device) = opencl_device() else { return };
    let shape = [1 << 16, 1 << 16, 1];
    let refused = DeviceFft::new(&device, shape, &[0]).err();
    assert_eq!(refused, Some(DeviceFftError::Plan(FftError::TooLarge { shape })));
}
