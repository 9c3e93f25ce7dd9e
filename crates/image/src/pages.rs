//! Large blocks of zeroed memory.

use bytemuck::Pod;

/// `n` zeros, in large pages where the system has them.
///
/// Large pages cost fewer faults when they are first written, and fewer misses of address
/// translation where they are read in no order.
pub fn zeros<T: Pod>(n: usize) -> Vec<T> {
    let mut data = bytemuck::zeroed_vec(n);
    prefer_large_pages(&mut data);
    data
}

/// The same; `None` where there is not enough memory.
pub(crate) fn zeroed(n: usize) -> Option<Vec<f32>> {
    let mut data = bytemuck::try_zeroed_vec(n).ok()?;
    prefer_large_pages(&mut data);
    Some(data)
}

/// Asks for large pages where `data` are not yet touched: a gigabyte then costs a few hundred
/// page faults instead of a quarter of a million.
#[cfg(target_os = "linux")]
fn prefer_large_pages<T: Pod>(data: &mut [T]) {
    const PAGE: usize = 4096;
    /// What is smaller has no large page of its own.
    const LARGE_PAGE: usize = 2 << 20;
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(data);
    let skipped = bytes.as_ptr().align_offset(PAGE);
    if bytes.len() >= 2 * LARGE_PAGE {
        let whole = &mut bytes[skipped..];
        // SAFETY: the range is ours, begins at a page, and the advice changes no content. A
        // refusal leaves ordinary pages.
        unsafe { libc::madvise(whole.as_mut_ptr().cast(), whole.len(), libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn prefer_large_pages<T: Pod>(_: &mut [T]) {}
