//! Large blocks of memory.

use bytemuck::{Pod, Zeroable};

use crate::heap::expecting_refusal;

/// There is not enough memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes of memory were refused")]
pub struct Refused {
    /// What was asked for; the most there is where it is even more.
    pub bytes: u64,
}

impl Refused {
    fn for_items<T>(n: usize) -> Self {
        Self { bytes: u64::try_from(n as u128 * size_of::<T>() as u128).unwrap_or(u64::MAX) }
    }
}

/// `n` zeros, in large pages where the system has them.
///
/// Large pages cost fewer faults when they are first written, and fewer misses of address
/// translation where they are read in no order.
pub fn zeros<T: Pod>(n: usize) -> Vec<T> {
    let mut block = bytemuck::zeroed_vec(n);
    prefer_large_pages(&mut block);
    block
}

/// The same, for a number that comes from input.
///
/// # Errors
/// [`Refused`] where there is not enough memory.
pub fn try_zeros<T: Zeroable>(n: usize) -> Result<Vec<T>, Refused> {
    let zeroed = expecting_refusal(|| bytemuck::try_zeroed_vec(n));
    let mut block = zeroed.map_err(|()| Refused::for_items::<T>(n))?;
    prefer_large_pages(&mut block);
    Ok(block)
}

/// An empty vector with room for `n` elements.
///
/// # Errors
/// [`Refused`] where there is not enough memory.
pub fn try_vec<T>(n: usize) -> Result<Vec<T>, Refused> {
    let mut block = Vec::new();
    expecting_refusal(|| block.try_reserve_exact(n)).map_err(|_| Refused::for_items::<T>(n))?;
    Ok(block)
}

/// Hands what was freed back to the system: an allocator that keeps small blocks for later has them beside
/// a large one that is about to be made. Nothing happens where the system's allocator cannot be asked to.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it touches nothing but what is free, whatever other threads do.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Asks for large pages where the block is not yet touched: a gigabyte then costs a few hundred
/// page faults instead of a quarter of a million.
#[cfg(target_os = "linux")]
fn prefer_large_pages<T>(block: &mut Vec<T>) {
    const PAGE: usize = 4096;
    /// What is smaller has no large page of its own.
    const LARGE_PAGE: usize = 2 << 20;
    let bytes = size_of_val(&block[..]);
    if bytes >= 2 * LARGE_PAGE {
        let start: *mut u8 = block.as_mut_ptr().cast();
        let skipped = start.align_offset(PAGE);
        // SAFETY: the range lies in the block, begins at a page, and the advice changes no
        // content. A refusal leaves ordinary pages.
        unsafe { libc::madvise(start.add(skipped).cast(), bytes - skipped, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn prefer_large_pages<T>(_: &mut Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_refused_by_its_size() {
        let refused = try_zeros::<f64>(usize::MAX / 32).unwrap_err();
        assert_eq!(refused.bytes, (usize::MAX / 32) as u64 * 8);
        assert_eq!(try_vec::<f64>(usize::MAX).unwrap_err().bytes, u64::MAX);
    }

    #[test]
    fn what_there_is_is_given() {
        assert_eq!(try_zeros::<u16>(3_000_001).unwrap(), vec![0; 3_000_001]);
    }
}
