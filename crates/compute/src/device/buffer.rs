//! Typed device memory.

use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::Pod;

use super::memory::Block;
use super::runtime::Handle;
use super::{Device, DeviceError, describe};

/// `len` elements of device memory, freed when dropped: later buffers of the same queue may have it, or the
/// device where memory is short. Transfers wait for the work queued before them.
pub struct Buffer<T> {
    device: Device,
    block: Block,
    len: usize,
    element: PhantomData<T>,
}

/// Neither runtime knows empty buffers, so that every one holds four bytes at least.
const LEAST_BYTES: usize = 4;

impl<T> std::fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let element = std::any::type_name::<T>();
        write!(f, "Buffer<{element}>({} elements on {:?})", self.len, self.device)
    }
}

impl Device {
    /// A buffer of `len` elements of unspecified content.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`], [`DeviceError::BufferTooLarge`].
    pub fn allocate<T: Pod>(&self, len: usize) -> Result<Buffer<T>, DeviceError> {
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64).max(LEAST_BYTES as u64);
        let name = &self.info().name;
        let largest = self.info().largest_buffer_bytes;
        if bytes > largest {
            let device = name.clone();
            return Err(DeviceError::BufferTooLarge { device, requested: bytes, largest });
        }
        match self.shared().memory.take(bytes, &self.queue.runtime) {
            Ok(block) => Ok(Buffer { device: self.clone(), block, len, element: PhantomData }),
            Err(refusal) => Err(describe(refusal.fault, name, bytes, refusal.available)),
        }
    }

    /// A buffer of `len` zero elements.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub fn zeros<T: Pod>(&self, len: usize) -> Result<Buffer<T>, DeviceError> {
        let mut buffer = self.allocate(len)?;
        buffer.fill_zero()?;
        Ok(buffer)
    }

    /// A buffer with the elements of `host`.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate), and where the transfer fails.
    pub fn upload<T: Pod>(&self, host: &[T]) -> Result<Buffer<T>, DeviceError> {
        let mut buffer = self.allocate(host.len())?;
        buffer.write(0, host)?;
        Ok(buffer)
    }
}

impl<T: Pod> Buffer<T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device it is on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Makes sure that kernels of `device` can use it.
    ///
    /// # Errors
    /// [`DeviceError::OtherDevice`], also for one card that was opened twice, where each has memory of its
    /// own, and for another queue of one device, which does not wait for this one's work.
    pub fn expect_on(&self, device: &Device) -> Result<(), DeviceError> {
        if std::sync::Arc::ptr_eq(&self.device.queue, &device.queue) {
            return Ok(());
        }
        let (expected, found) = (device.info().name.clone(), self.device.info().name.clone());
        Err(DeviceError::OtherDevice { expected, found })
    }

    /// Writes `host` to the elements from `start` on.
    ///
    /// # Errors
    /// [`DeviceError::Range`] where they do not fit; where the transfer fails.
    pub fn write(&mut self, start: usize, host: &[T]) -> Result<(), DeviceError> {
        let range = self.range(start, host.len())?;
        if range.is_empty() {
            return Ok(());
        }
        let bytes = bytemuck::cast_slice(host);
        self.device
            .runtime()
            .write(self.handle(), start * size_of::<T>(), bytes)
            .map_err(|fault| self.device.error(fault))
    }

    /// Reads the elements from `start` on into `host`.
    ///
    /// # Errors
    /// [`DeviceError::Range`] where there are not as many; where the transfer fails or work
    /// queued before it did.
    pub fn read(&self, start: usize, host: &mut [T]) -> Result<(), DeviceError> {
        let range = self.range(start, host.len())?;
        if range.is_empty() {
            return Ok(());
        }
        let bytes = bytemuck::cast_slice_mut(host);
        self.device
            .runtime()
            .read(self.handle(), start * size_of::<T>(), bytes)
            .map_err(|fault| self.device.error(fault))
    }

    /// All elements.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn to_vec(&self) -> Result<Vec<T>, DeviceError> {
        let mut host = vec![T::zeroed(); self.len];
        self.read(0, &mut host)?;
        Ok(host)
    }

    /// Copies `range` of `from` to the elements from `start` on, on the device.
    ///
    /// # Errors
    /// [`DeviceError::Range`] where either range does not fit.
    pub fn copy_from(
        &mut self,
        start: usize,
        from: &Self,
        range: Range<usize>,
    ) -> Result<(), DeviceError> {
        from.expect_on(&self.device)?;
        let from_range = from.range(range.start, range.len())?;
        self.range(start, from_range.len())?;
        if from_range.is_empty() {
            return Ok(());
        }
        let size = size_of::<T>();
        self.device
            .runtime()
            .copy(
                (from.handle(), from_range.start * size),
                (self.handle(), start * size),
                from_range.len() * size,
            )
            .map_err(|fault| self.device.error(fault))
    }

    /// Sets every element to zero.
    ///
    /// # Errors
    /// Where the device fails.
    pub fn fill_zero(&mut self) -> Result<(), DeviceError> {
        self.device
            .runtime()
            .zero(self.handle(), (self.len * size_of::<T>()).max(LEAST_BYTES))
            .map_err(|fault| self.device.error(fault))
    }

    pub(super) fn handle(&self) -> Handle {
        self.block.handle
    }

    fn range(&self, start: usize, len: usize) -> Result<Range<usize>, DeviceError> {
        let end = start.saturating_add(len);
        if end > self.len {
            return Err(DeviceError::Range { start, end, len: self.len });
        }
        Ok(start..end)
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        self.device.shared().memory.free(self.block, &self.device.queue.runtime);
    }
}
