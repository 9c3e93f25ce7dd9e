//! Points that a device has strewn, handed back one half after the other.

use std::ops::Range;

use fimbria_compute::device::{Buffer, Device, DeviceError, Kernel, Launch};

/// The kernel that moves points together, with the memory it takes from one launch to the next.
pub(crate) struct Gather {
    kernel: Kernel,
    points_per_read: usize,
    firsts: Option<Buffer<u64>>,
    to: Option<Buffer<f32>>,
}

impl Gather {
    /// With the kernel `gather`, so many points at a time.
    pub(crate) fn new(kernel: Kernel, points_per_read: usize) -> Self {
        Self { kernel, points_per_read, firsts: None, to: None }
    }

    /// Reads points of halves that a kernel left in `from`, one after the other, into the front of `all`, in as
    /// many reads as memory asks for. `n` is how many work items wrote them, and the points of a half
    /// begin at its place in `firsts`.
    ///
    /// # Safety
    /// The kernel has the six parameters given here, and reads of `from` what its halves have written.
    pub(crate) unsafe fn read(
        &mut self,
        device: &Device,
        from: &Buffer<f32>,
        n: usize,
        firsts: &[u64],
        all: &mut Vec<[f32; 3]>,
    ) -> Result<(), DeviceError> {
        let total = firsts.last().map_or(0, |last| *last as usize);
        if total == 0 {
            return Ok(());
        }
        // Only what is new is cleared.
        if all.len() < total {
            all.resize(total, [0.0; 3]);
        }
        let on_device = grown(&mut self.firsts, device, firsts.len())?;
        on_device.write(0, firsts)?;
        let to = grown(&mut self.to, device, 3 * self.points_per_read.min(total))?;
        let mut begun = 0;
        while begun + 1 < firsts.len() {
            let Range { start, end } = reach(firsts, begun, self.points_per_read);
            let range = firsts[start] as usize..firsts[end] as usize;
            begun = end;
            if range.is_empty() {
                continue;
            }
            let arguments = [
                (n as u64).into(),
                (start as u64).into(),
                (end as u64).into(),
                (&*on_device).into(),
                from.into(),
                (&*to).into(),
            ];
            // SAFETY: as the caller says; `to` has room for the points of these halves.
            unsafe { self.kernel.launch(Launch::items(end - start), &arguments)? };
            to.read(0, bytemuck::cast_slice_mut(&mut all[range]))?;
        }
        Ok(())
    }
}

/// A buffer of `len` elements or more: the one that was there, or a new one in its place.
pub(crate) fn grown<'b, T: bytemuck::Pod>(
    kept: &'b mut Option<Buffer<T>>,
    device: &Device,
    len: usize,
) -> Result<&'b mut Buffer<T>, DeviceError> {
    let buffer = match kept.take() {
        Some(buffer) if buffer.len() >= len => buffer,
        // Its memory is free before more is asked for.
        too_small => {
            drop(too_small);
            device.allocate(len)?
        }
    };
    Ok(kept.insert(buffer))
}

/// The halves from `begun` on whose points, together, are no more than `most`; at least one.
fn reach(firsts: &[u64], begun: usize, most: usize) -> Range<usize> {
    let limit = firsts[begun] + most as u64;
    let end = firsts.partition_point(|first| *first <= limit) - 1;
    begun..end.max(begun + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_take_as_many_halves_as_fit_and_at_least_one() {
        let firsts = [0, 4, 4, 9, 11];
        assert_eq!(reach(&firsts, 0, 9), 0..3);
        assert_eq!(reach(&firsts, 0, 8), 0..2);
        assert_eq!(reach(&firsts, 0, 100), 0..4);
        // Never with a plan: it leaves room for the longest half.
        assert_eq!(reach(&firsts, 2, 3), 2..3);
    }
}
