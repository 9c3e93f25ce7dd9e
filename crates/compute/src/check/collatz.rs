//! A placeholder for divergent work: the steps of the Collatz iteration, whose number jumps from
//! one start to the next. It tests dispatchers because a wrong or lost item cannot go unnoticed,
//! and neighbouring items finish at very different times, as streamlines do.

use super::{Check, Comparison, Extent};
use crate::device::{Device, DeviceError, KernelSource, Launch};

/// How often n ↦ n/2 (even), 3n+1 (odd) is applied to `start` (at least 1) until it is 1.
pub fn steps(start: u32) -> u32 {
    let mut n = u64::from(start);
    let mut steps = 0;
    while n > 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

/// The kernel `collatz(start, steps, count)`.
pub fn source() -> KernelSource {
    KernelSource::new("collatz", include_str!("collatz.cl"))
}

/// [`steps`] of each of `starts` on a device.
///
/// # Errors
/// Where the device fails.
pub fn steps_on(device: &Device, starts: &[u32]) -> Result<Vec<u32>, DeviceError> {
    let kernel = device.kernel(&source(), "collatz")?;
    let start = device.upload(starts)?;
    let steps = device.zeros::<u32>(starts.len())?;
    let arguments = [(&start).into(), (&steps).into(), (starts.len() as u64).into()];
    // SAFETY: the kernel's three parameters; both buffers hold `count` elements.
    unsafe { kernel.launch(Launch::items(starts.len()), &arguments)? };
    steps.to_vec()
}

pub(super) fn check() -> Check {
    Check::new("divergent work (Collatz steps)", vec![source()], compare)
}

fn compare(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let count = match extent {
        Extent::Toy => 200,
        Extent::Full => 200_000,
    };
    let starts: Vec<u32> = (1..=count).collect();
    let oracle: Vec<u32> = starts.iter().map(|&start| steps(start)).collect();
    Ok(Comparison::of_bits(&oracle, &steps_on(device, &starts)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_of_steps() {
        // OEIS A006577.
        assert_eq!([1, 2, 3, 7, 27, 97].map(steps), [0, 1, 7, 16, 111, 118]);
    }
}
