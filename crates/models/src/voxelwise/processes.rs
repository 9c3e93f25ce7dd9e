//! The part of the driver that shares voxels out to processes.

use std::ops::Range;

use fimbria_compute::comm::Comm;
use fimbria_image::{Mask, Status, StatusCounts};

use super::{BLOCK, FittedMap, Tally};

/// Of `n` voxels the stretch that process `rank` of so many fits.
fn share(n: usize, rank: usize, processes: usize) -> Range<usize> {
    n * rank / processes..n * (rank + 1) / processes
}

/// The voxels that this process fits.
pub(super) fn part_of(mask: &Mask, comm: &dyn Comm) -> Mask {
    let mine = share(mask.voxels.len(), comm.rank(), comm.size());
    Mask { grid: mask.grid, voxels: mask.voxels[mine].to_vec() }
}

/// Hands what every process has found in its voxels to all others, so that all go on with the same
/// maps, to the bit, as one process alone would.
pub(super) fn exchange(maps: &mut [FittedMap], mask: &Mask, mine: Tally, comm: &dyn Comm) -> Tally {
    for rank in 0..comm.size() {
        let of_rank = &mask.voxels[share(mask.voxels.len(), rank, comm.size())];
        for voxels in of_rank.chunks(BLOCK) {
            let volumes: usize = maps.iter().map(|map| map.image.n_volumes).sum();
            let mut values = vec![0.0_f32; volumes * voxels.len()];
            if rank == comm.rank() {
                visit(maps, voxels, &mut values, |sample, value| *value = *sample);
            }
            comm.broadcast(bytemuck::cast_slice_mut(&mut values), rank);
            if rank != comm.rank() {
                visit(maps, voxels, &mut values, |sample, value| *sample = *value);
            }
        }
    }
    let codes = Status::ALL.map(|status| mine.status.count(status) as i64);
    let raised = [mine.raised.samples, mine.raised.voxels].map(|count| count as i64);
    let mut sums = [&codes[..], &raised[..]].concat();
    comm.sum_i64(&mut sums);
    let (codes, raised) = sums.split_at(Status::ALL.len());
    let mut tally = Tally { status: StatusCounts::default(), ..mine };
    for (status, count) in Status::ALL.into_iter().zip(codes) {
        tally.status.add_many(status, *count as u64);
    }
    (tally.raised.samples, tally.raised.voxels) = (raised[0] as u64, raised[1] as u64);
    tally
}

/// Every sample of `voxels`, volume by volume, with its place among `values`.
fn visit(
    maps: &mut [FittedMap],
    voxels: &[u32],
    values: &mut [f32],
    each: impl Fn(&mut f32, &mut f32),
) {
    let mut values = values.iter_mut();
    for map in maps {
        for volume in 0..map.image.n_volumes {
            let samples = map.image.volume_mut(volume);
            for (&voxel, value) in voxels.iter().zip(&mut values) {
                each(&mut samples[voxel as usize], value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_voxel_is_in_one_share() {
        for (n, processes) in [(0, 3), (1, 4), (10, 4), (4097, 2)] {
            let shares: Vec<usize> =
                (0..processes).flat_map(|rank| share(n, rank, processes)).collect();
            assert_eq!(shares, (0..n).collect::<Vec<_>>());
        }
    }
}
