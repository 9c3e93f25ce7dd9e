//! The sparse product on a device gives the bits of the CPU's.

mod support;

use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};
use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::sparse::{Csr, DeviceCsr, ThreadedCsr};
use fimbria_compute::{SimdLevel, Workers};

fn numbers(seed: u64, n: usize) -> Vec<f32> {
    (0..n as u64).map(|i| normals::<f32>(Philox::new(seed).at(i, 0))[0]).collect()
}

#[test]
fn the_device_gives_the_bits_of_the_threads_where_they_fuse() {
    let Some(device) = support::opencl_device() else { return };
    if !SimdLevel::best().fuses() {
        return support::skipped("this processor does not fuse a * b + c");
    }
    // Rows of 0, 1, 2 … 199 entries.
    let row_start: Vec<usize> =
        (0..=200).map(|row: usize| row * row.saturating_sub(1) / 2).collect();
    let entries = row_start[200];
    let column: Vec<u32> = (0..entries as u32).map(|k| k.wrapping_mul(7919) % 301).collect();
    let matrix = Csr::new(301, row_start, column, numbers(1, entries)).unwrap();
    let workers = Workers::new(2).unwrap();
    let threaded = ThreadedCsr::new(&matrix, &workers);
    let on_device = DeviceCsr::new(&device, &matrix).unwrap();

    let (x, y) = (numbers(2, 301), numbers(3, 200));
    let (mut ax, mut aty) = (vec![0.0; 200], vec![0.0; 301]);
    threaded.apply(&x, &mut ax).unwrap();
    threaded.adjoint(&y, &mut aty).unwrap();

    let (domain, range) = (on_device.domain(), on_device.range());
    let (mut device_ax, mut device_aty) = (range.zeros().unwrap(), domain.zeros().unwrap());
    on_device.apply(&domain.upload(&x).unwrap(), &mut device_ax).unwrap();
    on_device.adjoint(&range.upload(&y).unwrap(), &mut device_aty).unwrap();
    assert_eq!(device_ax.to_vec().unwrap(), ax);
    assert_eq!(device_aty.to_vec().unwrap(), aty);
}

#[test]
fn a_vector_of_another_space_is_an_error() {
    let Some(device) = support::opencl_device() else { return };
    let matrix = Csr::new(3, vec![0, 1], vec![2], vec![1.0]).unwrap();
    let product = DeviceCsr::new(&device, &matrix).unwrap();
    let mut y = product.range().zeros().unwrap();
    assert!(product.apply(&device.zeros(4).unwrap(), &mut y).is_err());
    assert!(product.apply(&device.zeros(3).unwrap(), &mut y).is_ok());
}
