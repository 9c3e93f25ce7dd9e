//! Several devices on one queue, devices that fail, devices that are too small: always the same
//! streamlines.

use std::sync::Mutex;

use fimbria_compute::device::{Buffer, Device, DeviceOptions};
use fimbria_compute::queue::Shares;
use fimbria_compute::{Backend, Interrupted, Progress, SimdLevel, Workers};
use fimbria_tracking::{
    Deal, Field, Judgement, Propagation, Rules, Seed, Space, Tracking, Waypoints, track_on,
};

use crate::bend::{Everything, Seen, field, seeds, slab};

/// What was warned of.
#[derive(Default)]
pub(crate) struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Progress for Warnings {
    fn start(&self, _what: &str, _total: u64) {}
    fn advance(&self, _items: u64) {}
    fn warn(&self, message: &str) {
        self.0.lock().unwrap().push(message.to_owned());
    }
    fn is_cancelled(&self) -> bool {
        false
    }
}

struct Case {
    field: Field,
    space: Space,
    seeds: Vec<Seed>,
    rules: Rules,
    propagation: Propagation,
    workers: Workers,
}

impl Case {
    fn new(propagation: Propagation) -> Self {
        let workers = Workers::new(2).unwrap();
        let field = field(&workers);
        let space = Space::same(*field.grid());
        let mut seeds = seeds(&space);
        // Two regions: random numbers are theirs, and so are launches.
        let n = seeds.len();
        seeds[n / 2..].iter_mut().for_each(|seed| seed.region = 1);
        let rules = Rules {
            avoid: vec![slab(&space, "avoid", 14, 15)],
            stop_on_leaving: vec![slab(&space, "leave", 5, 9)],
            waypoints: Waypoints {
                regions: vec![slab(&space, "a", 3, 6), slab(&space, "b", 8, 10)],
                any: true,
                ..Waypoints::default()
            },
            judgement: Judgement::HalfByHalf,
            ..Rules::default()
        };
        Self { field, space, seeds, rules, propagation, workers }
    }

    fn tracking(&self) -> Tracking<'_> {
        Tracking {
            field: &self.field,
            space: &self.space,
            propagation: &self.propagation,
            rules: &self.rules,
            seeds: &self.seeds,
            n_samples: 2,
            jitter_mm: 0.4,
            rng_seed: 5,
        }
    }

    /// Everything, in order; `between` is called with the number of blocks so far.
    fn on(
        &self,
        devices: &[Device],
        deal: Deal,
        progress: &dyn Progress,
        between: impl FnMut(usize),
    ) -> Vec<Seen> {
        self.shared(devices, deal, progress, between).0
    }

    /// The same, and who made how many.
    fn shared(
        &self,
        devices: &[Device],
        deal: Deal,
        progress: &dyn Progress,
        mut between: impl FnMut(usize),
    ) -> (Vec<Seen>, Shares) {
        let on = Backend::new(&self.workers, devices);
        let (mut all, mut blocks) = (Vec::new(), 0);
        let tracked =
            track_on(&self.tracking(), on, deal, progress, Everything::default, |block| {
                all.extend::<Vec<Seen>>(block);
                blocks += 1;
                between(blocks);
                Ok::<(), Interrupted>(())
            });
        (all, tracked.unwrap().shares)
    }
}

const SMALL: Deal = Deal { block: 64, launch: 256 };
const TINY: Deal = Deal { block: 64, launch: 64 };

fn with_loops() -> Propagation {
    Propagation {
        loop_check: true,
        modified_euler: true,
        max_points: 400,
        ..Propagation::default()
    }
}

/// Devices, and a machine that computes as they do: without fused multiply-adds the oracle rounds
/// otherwise.
pub(crate) fn devices(options: &[DeviceOptions]) -> Option<Vec<Device>> {
    if !SimdLevel::best().fuses() {
        fimbria_testing::skipped("this processor does not fuse multiply-adds");
        return None;
    }
    options.iter().map(fimbria_testing::opencl_device_with).collect()
}

#[test]
fn two_devices_make_what_threads_make() {
    let Some(devices) = devices(&[DeviceOptions::default(); 2]) else { return };
    for propagation in [Propagation { max_points: 400, ..Propagation::default() }, with_loops()] {
        let case = Case::new(propagation);
        let warnings = Warnings::default();
        let alone = case.on(&[], Deal::default(), &warnings, |_| ());
        assert!(alone.iter().filter(|seen| seen.kept).count() > 100, "too little to see");
        for deal in [SMALL, TINY] {
            let (seen, shares) = case.shared(&devices, deal, &warnings, |_| ());
            assert_eq!(alone, seen);
            assert_eq!(warnings.all(), Vec::<String>::new());
            let made = 2 * case.seeds.len();
            assert_eq!((shares.devices.iter().sum::<usize>(), shares.cpu), (made, 0), "{shares:?}");
            // How even the shares are depends on the scheduler; that both work does not, since each
            // is dealt its first launches before either has finished one.
            assert!(shares.devices.iter().all(|share| *share > 0), "{shares:?}");
        }
    }
}

#[test]
fn a_device_lost_on_the_way_costs_a_message_and_no_streamline() {
    if !fimbria_testing::is_child() {
        let Some((_driver, path)) = fimbria_testing::failing_opencl() else { return };
        // Both of its queues, in the second round.
        let lost = [("LD_LIBRARY_PATH", path.as_str()), ("FAILING_OPENCL_LOST", "0:6,1:6")];
        fimbria_testing::in_child(&lost);
        return;
    }
    let Some(devices) = devices(&[DeviceOptions::default()]) else { return };
    let case = Case::new(with_loops());
    let warnings = Warnings::default();
    let alone = case.on(&[], Deal::default(), &warnings, |_| ());
    let (rest, shares) = case.shared(&devices, SMALL, &warnings, |_| ());
    assert_eq!(alone, rest);
    assert!(shares.devices[0] > 0 && shares.cpu > 0, "{shares:?}");
    assert_eq!(shares.devices[0] + shares.cpu, 2 * case.seeds.len());
    // Once, whatever its other queue says.
    let all = warnings.all();
    assert!(all.len() == 1 && all[0].contains("the device is given up"), "{all:?}");
}

#[test]
fn a_device_that_fills_on_the_way_costs_no_streamline() {
    let Some(devices) = devices(&[DeviceOptions::default()]) else { return };
    let case = Case::new(with_loops());
    let warnings = Warnings::default();
    let alone = case.on(&[], Deal::default(), &warnings, |_| ());
    // After the first round all of the memory it may use is taken, and later what a launch that asks for more
    // has given back.
    let mut hogs: Vec<Buffer<u8>> = Vec::new();
    let (rest, shares) = case.shared(&devices, SMALL, &warnings, |_| {
        while devices[0].available_bytes() >= 4 {
            let largest = devices[0].info().largest_buffer_bytes;
            let bytes = devices[0].available_bytes().min(largest) as usize;
            hogs.push(devices[0].allocate(bytes).unwrap());
        }
    });
    assert_eq!(alone, rest);
    assert!(!hogs.is_empty());
    // It goes on in the room that it has; where that does not do, the threads make the samples and it is told.
    assert!(shares.devices[0] > 0, "{shares:?}");
    assert_eq!(shares.devices[0] + shares.cpu, 2 * case.seeds.len());
    let all = warnings.all();
    // Three failures, one more of each queue of the same round, and the verdict.
    assert!((shares.cpu > 0) != all.is_empty() && all.len() <= 6, "{shares:?} {all:?}");
    assert!(
        all.iter().all(|said| said.contains("memory") || said.contains("not used any more")),
        "{all:?}"
    );
}

#[test]
fn a_device_too_small_for_the_samples_is_not_used() {
    let small = DeviceOptions { memory_limit: Some(100_000), ..DeviceOptions::default() };
    let Some(devices) = devices(&[small, DeviceOptions::default()]) else { return };
    let case = Case::new(Propagation { max_points: 400, ..Propagation::default() });
    let warnings = Warnings::default();
    let alone = case.on(&[], Deal::default(), &warnings, |_| ());
    let (seen, shares) = case.shared(&devices, SMALL, &warnings, |_| ());
    assert_eq!(alone, seen);
    assert_eq!(shares, Shares { devices: vec![0, 2 * case.seeds.len()], cpu: 0 });
    let all = warnings.all();
    assert!(
        all.len() == 1 && all[0].contains("is not used: samples, seeds, regions and counts take"),
        "{all:?}"
    );
}

#[test]
fn memory_for_few_samples_gives_more_launches_and_the_same_streamlines() {
    // The field takes some 240 kB and each sample 5 kB.
    let small = DeviceOptions { memory_limit: Some(700_000), ..DeviceOptions::default() };
    let Some(devices) = devices(&[small]) else { return };
    let case = Case::new(Propagation { max_points: 400, ..Propagation::default() });
    let warnings = Warnings::default();
    let alone = case.on(&[], Deal::default(), &warnings, |_| ());
    assert_eq!(alone, case.on(&devices, Deal::default(), &warnings, |_| ()));
    assert_eq!(warnings.all(), Vec::<String>::new());
}
