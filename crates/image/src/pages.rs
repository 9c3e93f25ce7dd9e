//! Large blocks of zeroed memory.

/// `n` zeros, in large pages where the system has them; `None` where there is not enough memory.
pub(crate) fn zeroed(n: usize) -> Option<Vec<f32>> {
    let mut data = bytemuck::try_zeroed_vec(n).ok()?;
    prefer_large_pages(bytemuck::cast_slice_mut(&mut data));
    Some(data)
}

/// Asks for large pages where `bytes` are not yet touched: a gigabyte then costs a few hundred
/// page faults instead of a quarter of a million.
#[cfg(target_os = "linux")]
fn prefer_large_pages(bytes: &mut [u8]) {
    const PAGE: usize = 4096;
    let skipped = bytes.as_ptr().align_offset(PAGE);
    if skipped < bytes.len() {
        let whole = &mut bytes[skipped..];
        // SAFETY: the range is ours, begins at a page, and the advice changes no content. A
        // refusal leaves ordinary pages.
        unsafe { libc::madvise(whole.as_mut_ptr().cast(), whole.len(), libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn prefer_large_pages(_: &mut [u8]) {}
