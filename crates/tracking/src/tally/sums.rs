//! Counts added up over processes. They are whole numbers: the order changes nothing.

use fimbria_compute::comm::Comm;

/// Numbers added up at a time.
pub(super) const STRETCH: usize = 1 << 20;

/// Replaces counts by their sums over processes.
pub(super) fn add_up(comm: &dyn Comm, counts: &mut [u64]) {
    for stretch in counts.chunks_mut(STRETCH) {
        comm.sum_i64(bytemuck::cast_slice_mut(stretch));
    }
}
