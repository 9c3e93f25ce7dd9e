//! Several processes sample what one samples, to the bit.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::Subject;
use fimbria_compute::comm::{Comm, Solo};
use fimbria_compute::device::Device;
use fimbria_compute::{Backend, Progress, Silent, SimdLevel, Workers};
use fimbria_image::Image;
use fimbria_sticks::{CHUNK, Diffusivity, Keeper, Sampled, SticksOptions, sample, sample_along};
use fimbria_testing::as_processes;

/// Kept chunks, by number.
type Chunks = Vec<(usize, Vec<u8>)>;

/// Keeps chunks in memory.
#[derive(Default)]
struct Memory {
    earlier: Chunks,
    kept: Mutex<Chunks>,
}

impl Keeper for Memory {
    fn kept(&self, chunk: usize) -> Option<Vec<u8>> {
        self.earlier.iter().find(|(index, _)| *index == chunk).map(|(_, bytes)| bytes.clone())
    }

    fn keep(&self, chunk: usize, results: &[u8]) -> std::io::Result<()> {
        self.kept.lock().unwrap().push((chunk, results.to_vec()));
        Ok(())
    }
}

/// Counts what it is told.
#[derive(Default)]
struct Told {
    total: AtomicU64,
    done: AtomicU64,
}

impl Progress for Told {
    fn start(&self, _: &str, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }
    fn advance(&self, items: u64) {
        self.done.fetch_add(items, Ordering::Relaxed);
    }
    fn warn(&self, _: &str) {}
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// The least to sample: what matters here is who does a voxel.
fn short() -> SticksOptions {
    SticksOptions {
        diffusivity: Diffusivity::Single,
        n_fibres: 1,
        burn_in: 5,
        jumps: 10,
        sample_every: 5,
        ..SticksOptions::default()
    }
}

/// What a process gets, on threads as many as its rank says; the first one keeps chunks in `memory`.
fn sampled(
    subject: &Subject,
    comm: &dyn Comm,
    devices: &[Device],
    memory: &Memory,
    progress: &dyn Progress,
) -> Option<Sampled> {
    let workers = Workers::new(1 + comm.rank() % 2).unwrap();
    let on = Backend { comm, ..Backend::new(&workers, devices) };
    let (Subject { series, mask, gradients, .. }, options) = (subject, short());
    if comm.rank() > 0 {
        let done = sample_along(series, mask, gradients, None, &options, &on, progress);
        done.unwrap();
        return None;
    }
    let keeper = Some(memory as &dyn Keeper);
    Some(sample(series, mask, gradients, None, &options, keeper, &on, progress).unwrap())
}

fn images(sampled: &Sampled) -> Vec<&Image> {
    sampled.maps.iter().map(|map| &map.image).collect()
}

fn assert_same(several: &Sampled, one: &Sampled, case: &str) {
    assert!(several.sticks == one.sticks, "{case}: other sticks");
    assert!(images(several) == images(one), "{case}: other maps");
    assert_eq!(several.counts, one.counts, "{case}");
}

/// Chunks in their order, whatever that in which they were finished.
fn in_order(memory: Memory) -> Chunks {
    let mut kept = memory.kept.into_inner().unwrap();
    kept.sort();
    kept
}

#[test]
fn any_number_of_processes_makes_the_same_samples_and_keeps_the_same_chunks() {
    // Two chunks and a bit: for two processes a full round and one that is not.
    let mut subject = Subject::crossings(2 * CHUNK / 3 + 50);
    let n_chunks = subject.mask.len().div_ceil(CHUNK);
    assert_eq!(n_chunks, 3);
    subject.series.data[CHUNK + 7] = f32::NAN;
    let memory = Memory::default();
    let one = sampled(&subject, &Solo, &[], &memory, &Silent).unwrap();
    let chunks = in_order(memory);
    assert_eq!(chunks.len(), n_chunks);
    // From the start, and where an earlier run has left chunks that are not the first ones, or all.
    for earlier in [&[][..], &[1], &[0, 1, 2]] {
        let is_earlier = |(index, _): &(usize, Vec<u8>)| earlier.contains(index);
        let (earlier, later): (Chunks, Chunks) = chunks.iter().cloned().partition(is_earlier);
        for size in [1, 2, 3] {
            let case = format!("{size} processes, {} of {n_chunks} chunks left", later.len());
            let (memory, told) =
                (Memory { earlier: earlier.clone(), ..Memory::default() }, Told::default());
            let made = as_processes(size, |comm| {
                let progress: &dyn Progress = if comm.rank() == 0 { &told } else { &Silent };
                sampled(&subject, comm, &[], &memory, progress)
            });
            let mut made = made.into_iter();
            assert_same(&made.next().flatten().unwrap(), &one, &case);
            assert!(made.all(|others| others.is_none()), "{case}");
            assert!(in_order(memory) == later, "{case}: other chunks were kept");
            let voxels = subject.mask.len() as u64;
            assert_eq!(told.total.into_inner(), voxels, "{case}");
            assert_eq!(told.done.into_inner(), voxels, "{case}");
        }
    }
}

#[test]
fn processes_that_have_no_voxel_wait_for_those_that_have() {
    let subject = Subject::crossings(25);
    let one = sampled(&subject, &Solo, &[], &Memory::default(), &Silent).unwrap();
    let memory = Memory::default();
    let made = as_processes(5, |comm| sampled(&subject, comm, &[], &memory, &Silent));
    assert_same(made[0].as_ref().unwrap(), &one, "5 processes, 75 voxels");
}

#[test]
fn processes_on_devices_and_on_threads_make_the_same_together() {
    if !SimdLevel::best().fuses() {
        fimbria_testing::skipped("this processor does not fuse multiply-adds");
        return;
    }
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let subject = Subject::crossings(100);
    let one = sampled(&subject, &Solo, &[], &Memory::default(), &Silent).unwrap();
    let memory = Memory::default();
    let made = as_processes(3, |comm| {
        let devices = if comm.rank() == 1 { &[] } else { std::slice::from_ref(&device) };
        sampled(&subject, comm, devices, &memory, &Silent)
    });
    let several = made[0].as_ref().unwrap();
    assert_same(several, &one, "two devices, one processor");
    assert_eq!((several.shares.devices[0], several.shares.cpu), (1, 0));
}

#[test]
fn a_process_with_other_samples_ends_the_work() {
    let subject = Subject::crossings(50);
    let Subject { series, mask, gradients, .. } = &subject;
    let made = as_processes(2, |comm| {
        let workers = Workers::new(1).unwrap();
        let on = Backend { comm, ..Backend::cpu(&workers) };
        if comm.rank() > 0 {
            let more = SticksOptions { jumps: 20, ..short() };
            sample_along(series, mask, gradients, None, &more, &on, &Silent).unwrap();
            return String::new();
        }
        let made = sample(series, mask, gradients, None, &short(), None, &on, &Silent);
        made.err().expect("other samples").to_string()
    });
    assert!(made[0].contains("process 1 hands over"), "{}", made[0]);
}
