//! What a device has strewn, points of halves for one, handed back one list after the other.

use std::ops::Range;

use bytemuck::Pod;
use fimbria_compute::device::{Argument, Buffer, Device, DeviceError, Kernel, Launch};

/// The kernel that moves elements of lists together, with the memory it takes from one launch to the next.
pub(crate) struct Gather<T> {
    kernel: Kernel,
    per_read: usize,
    firsts: Option<Buffer<u64>>,
    to: Option<Buffer<T>>,
}

impl<T: Pod> Gather<T> {
    /// With such a kernel, so many elements at a time.
    pub(crate) fn new(kernel: Kernel, per_read: usize) -> Self {
        Self { kernel, per_read, firsts: None, to: None }
    }

    /// Reads elements that a kernel left in `from`, one after the other, into the front of `all`, in as many reads as
    /// memory asks for. `n` is how many work items wrote them, and those of a list begin at its place in
    /// `firsts`.
    ///
    /// # Safety
    /// The kernel has five parameters beside `from`, as given here, and reads there what its lists have.
    pub(crate) unsafe fn read(
        &mut self,
        device: &Device,
        from: &[Argument],
        n: usize,
        firsts: &[u64],
        all: &mut Vec<T>,
    ) -> Result<(), DeviceError> {
        let total = firsts.last().map_or(0, |last| *last as usize);
        if total == 0 {
            return Ok(());
        }
        // Only what is new is cleared.
        if all.len() < total {
            all.resize(total, T::zeroed());
        }
        let on_device = grown(&mut self.firsts, device, firsts.len())?;
        on_device.write(0, firsts)?;
        let to = grown(&mut self.to, device, self.per_read.min(total))?;
        let mut begun = 0;
        while begun + 1 < firsts.len() {
            let Range { start, end } = reach(firsts, begun, self.per_read);
            let range = firsts[start] as usize..firsts[end] as usize;
            begun = end;
            if range.is_empty() {
                continue;
            }
            let mut arguments: Vec<Argument> = vec![
                (n as u64).into(),
                (start as u64).into(),
                (end as u64).into(),
                (&*on_device).into(),
            ];
            arguments.extend(from);
            arguments.push((&*to).into());
            // SAFETY: as the caller says; `to` has room for the elements of these lists.
            unsafe { self.kernel.launch(Launch::items(end - start), &arguments)? };
            to.read(0, &mut all[range])?;
        }
        Ok(())
    }
}

/// A buffer of `len` elements or more: the one that was there, or a new one in its place.
pub(crate) fn grown<'b, T: Pod>(
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

/// The lists from `begun` on whose elements, together, are no more than `most`; at least one.
fn reach(firsts: &[u64], begun: usize, most: usize) -> Range<usize> {
    let limit = firsts[begun] + most as u64;
    let end = firsts.partition_point(|first| *first <= limit) - 1;
    begun..end.max(begun + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_take_as_many_lists_as_fit_and_at_least_one() {
        let firsts = [0, 4, 4, 9, 11];
        assert_eq!(reach(&firsts, 0, 9), 0..3);
        assert_eq!(reach(&firsts, 0, 8), 0..2);
        assert_eq!(reach(&firsts, 0, 100), 0..4);
        // Never with a plan: it leaves room for the longest list.
        assert_eq!(reach(&firsts, 2, 3), 2..3);
    }
}
