//! Memory of the host that a device copies from and to by itself.

use bytemuck::Pod;

use super::Device;

/// What is locked: whole pages, so that no other block has a part of one. Where the system's are larger, two
/// blocks may share one of its pages, and a runtime may refuse the second.
const PAGE: usize = 4096;

/// How often numbers that are locked go to or from the device at least. To lock a page takes about as long as the driver's
/// copy of it, which is four to ten times that of the device: one use gains nothing, two do.
const USES_WORTH_LOCKING: usize = 2;

/// Numbers in memory of the host, kept from one use to the next.
///
/// For [many uses](Self::for_uses) their pages are locked in place for the device, so that it copies from and to them by
/// itself. From other memory the driver copies first to pages of its own, with the calling thread. Where the
/// runtime locks none, or refuses, they are as other memory.
#[derive(Default)]
pub struct HostBuffer {
    /// Whole pages, and room to begin at one.
    block: Vec<u8>,
    /// Of these pages.
    bytes: usize,
    device: Option<Device>,
    is_locked: bool,
}

impl std::fmt::Debug for HostBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { block: _, bytes, device, is_locked } = self;
        write!(f, "HostBuffer({bytes} bytes for {device:?}, locked: {is_locked})")
    }
}

impl HostBuffer {
    /// Empty, for no device.
    pub fn plain() -> Self {
        Self::default()
    }

    /// Empty, for so many copies from or to a device, by any of its queues: locked where there are enough to pay for it.
    pub fn for_uses(device: &Device, uses: usize) -> Self {
        let device = (uses >= USES_WORTH_LOCKING).then(|| device.clone());
        Self { block: Vec::new(), bytes: 0, device, is_locked: false }
    }

    /// True where its pages are locked.
    pub fn is_locked(&self) -> bool {
        self.is_locked
    }

    /// The first `len` numbers: whatever was left in them; zeros where there were fewer, and none of those
    /// before are kept.
    pub fn with_len<T: Pod>(&mut self, len: usize) -> &mut [T] {
        let bytes = len * size_of::<T>();
        if bytes > self.bytes {
            // Both at once would take twice the memory.
            self.give_back();
            self.bytes = bytes.next_multiple_of(PAGE);
            self.block = fimbria_memory::zeros(self.bytes + PAGE);
            self.lock();
        }
        if bytes == 0 {
            return &mut [];
        }
        let start = self.start();
        bytemuck::cast_slice_mut(&mut self.block[start..start + bytes])
    }

    /// The first `len` numbers.
    ///
    /// # Panics
    /// Where [`with_len`](Self::with_len) never made as many.
    pub fn first<T: Pod>(&self, len: usize) -> &[T] {
        let bytes = len * size_of::<T>();
        assert!(bytes <= self.bytes, "{bytes} bytes of {}", self.bytes);
        if bytes == 0 {
            return &[];
        }
        bytemuck::cast_slice(&self.block[self.start()..self.start() + bytes])
    }

    /// Several arrays, one behind the other, as [`with_len`](Self::with_len).
    pub fn with_lens<T: Pod, const K: usize>(&mut self, lens: [usize; K]) -> [&mut [T]; K] {
        let mut rest = self.with_len(lens.iter().sum());
        lens.map(|len| {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(len);
            rest = after;
            part
        })
    }

    /// Where the first page begins.
    fn start(&self) -> usize {
        self.block.as_ptr().align_offset(PAGE)
    }

    fn pages(&mut self) -> *mut u8 {
        let start = self.start();
        self.block[start..].as_mut_ptr()
    }

    fn lock(&mut self) {
        if let Some(device) = self.device.clone() {
            // SAFETY: `block` keeps its memory until `give_back` has unlocked it: nobody else can make it grow.
            self.is_locked = unsafe { device.runtime().lock(self.pages(), self.bytes) };
        }
    }

    fn give_back(&mut self) {
        if self.is_locked
            && let Some(device) = self.device.clone()
        {
            // SAFETY: `lock` locked this very memory.
            let is_free = unsafe { device.runtime().unlock(self.pages()) };
            if !is_free {
                // The driver still takes these addresses for the pages that it locked: nothing else may come to
                // lie there, or a copy would go to the wrong memory.
                std::mem::forget(std::mem::take(&mut self.block));
            }
        }
        (self.is_locked, self.bytes) = (false, 0);
        self.block = Vec::new();
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_until_more_are_wanted_than_there_is_room_for() {
        let mut buffer = HostBuffer::plain();
        buffer.with_len::<f32>(3).copy_from_slice(&[1.0, 2.0, 3.0]);
        assert_eq!(buffer.with_len::<f32>(4), [1.0, 2.0, 3.0, 0.0]);
        assert_eq!(buffer.first::<u32>(1), [1.0_f32.to_bits()]);
        // A page has room for 1024.
        assert_eq!(buffer.with_len::<f32>(1024)[..4], [1.0, 2.0, 3.0, 0.0]);
        assert_eq!(buffer.with_len::<f32>(1025), [0.0; 1025]);
        assert!(buffer.with_len::<f32>(0).is_empty() && !buffer.is_locked());
    }

    #[test]
    fn arrays_lie_one_behind_the_other_from_a_page_on() {
        let mut buffer = HostBuffer::plain();
        let [a, b, c] = buffer.with_lens::<f32, 3>([1000, 0, 500]);
        assert_eq!((a.len(), b.len(), c.len()), (1000, 0, 500));
        assert_eq!(a.as_ptr().addr() % PAGE, 0);
        (a[999], c[0]) = (1.0, 2.0);
        assert_eq!(buffer.with_len::<f32>(1500)[999..1001], [1.0, 2.0]);
    }
}
