//! A heap that keeps to its limit. One test, since the heap is the whole process's.

use fimbria_memory::{Heap, try_vec, try_zeros};

#[global_allocator]
static HEAP: Heap = Heap::new(|refusal| panic!("{} bytes were refused", refusal.bytes));

#[test]
fn what_is_held_is_counted_and_kept_to_the_limit() {
    const MB: usize = 1 << 20;
    let before = HEAP.held();
    let mut block = try_zeros::<u8>(8 * MB).unwrap();
    assert_eq!(HEAP.held() - before, 8 * MB);
    block.reserve_exact(16 * MB);
    assert_eq!(HEAP.held() - before, block.capacity());
    assert!(HEAP.most() >= before + block.capacity());
    drop(block);
    assert_eq!(HEAP.held(), before);

    HEAP.limit_to(before + 32 * MB);
    let half = try_vec::<f32>(4 * MB).unwrap();
    assert_eq!(try_zeros::<u8>(17 * MB).unwrap_err().bytes, 17 << 20);
    assert_eq!(HEAP.held() - before, 16 * MB, "what was refused is not counted");
    drop(half);
    assert!(try_zeros::<u8>(17 * MB).is_ok());

    #[cfg(debug_assertions)]
    {
        HEAP.refuse_the(2);
        let answers = [0; 4].map(|_| try_zeros::<u8>(MB).is_ok());
        assert_eq!(answers, [true, false, true, true]);
    }
}
