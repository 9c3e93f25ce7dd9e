//! One, two and four devices, devices without room and devices that are lost: always the bits of the threads.

use std::sync::Mutex;

use fimbria_compute::device::{Device, DeviceOptions};
use fimbria_compute::operator::{LinearOperator as _, Operator as _, VectorSpace as _};
use fimbria_compute::{Backend, Progress, Silent, Workers};
use fimbria_testing::{in_child, several_devices};

use super::numbers;
use crate::product::on_device::DevicePart;
use crate::product::{BLOCK, DealtProduct};
use crate::solve::{Problem, Stop, conjugate, proximal, sbb};
use crate::testing::{Planted, System};
use crate::{EncodeOptions, GroupPenalty, Grouped, Groups, Rank};

/// Streamlines, enough for a dozen blocks.
const COUNT: usize = 3000;
/// PoCL as four devices.
const FOUR: (&str, &str) = ("POCL_DEVICES", "pthread pthread pthread pthread");

fn system(workers: &Workers) -> System {
    let system = Planted::new(COUNT, &EncodeOptions::default(), 3.0).system(Rank::Full, workers);
    let (blocks, _) = system.blocks.blocks_and_slots();
    assert!(blocks >= 8, "{blocks} blocks: the test needs more streamlines");
    system
}

/// As many devices, each with so many bytes.
fn devices(limits: &[Option<u64>]) -> Option<Vec<Device>> {
    let options =
        |limit: &Option<u64>| DeviceOptions { memory_limit: *limit, ..DeviceOptions::default() };
    several_devices(&limits.iter().map(options).collect::<Vec<_>>())
}

/// The warnings that were said.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Progress for Heard {
    fn start(&self, _what: &str, _total: u64) {}
    fn advance(&self, _items: u64) {}
    fn is_cancelled(&self) -> bool {
        false
    }
    fn warn(&self, message: &str) {
        self.0.lock().unwrap().push(message.to_owned());
    }
}

impl Heard {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn product<'a>(
    system: &'a System,
    on: &Backend<'a>,
    progress: &'a dyn Progress,
) -> DealtProduct<'a> {
    DealtProduct::new(&system.blocks, &system.dictionary, &system.data, on, progress)
}

fn bits(numbers: &[f32]) -> impl Iterator<Item = u32> {
    numbers.iter().map(|x| x.to_bits())
}

/// The bits of every product, with all columns and with some, and with all again.
fn every_product(product: &mut DealtProduct<'_>, system: &System) -> Vec<u32> {
    let some: Vec<bool> = (0..COUNT).map(|f| f % 3 != 1).collect();
    let mut found = Vec::new();
    for kept in [None, Some(&some[..]), None] {
        product.restrict(kept);
        let (n, rows) = (product.domain().len(), product.range().len());
        let (x, y) = (numbers(1, n), numbers(2, rows));
        // With sums in one half of the voxels that are far above all others.
        let mut uneven = y.clone();
        uneven[..rows / 2].iter_mut().for_each(|y| *y *= 1e4);
        let (mut g, mut mx) = (vec![0.0; n], vec![0.0; rows]);
        product.apply(&x, &mut mx).unwrap();
        found.extend(bits(&mx));
        product.adjoint(&y, &mut g).unwrap();
        found.extend(bits(&g));
        for b in [&system.data, &uneven] {
            let squares = product.gradient(&x, b, &mut g).unwrap();
            found.extend(bits(&g).chain([(squares as f32).to_bits()]));
        }
        let squares = product.normal(&x, &mut g).unwrap();
        let alone = product.squares(&x).unwrap();
        assert_eq!(squares, alone);
        found.extend(bits(&g).chain([(squares as f32).to_bits()]));
    }
    found
}

#[test]
fn any_devices_have_the_bits_of_the_threads() {
    if !in_child(&[FOUR]) {
        return;
    }
    let workers = Workers::new(2).unwrap();
    let system = system(&workers);
    let here = every_product(&mut product(&system, &Backend::cpu(&workers), &Silent), &system);
    for count in [1, 2, 4] {
        let Some(devices) = devices(&vec![None; count]) else { return };
        let (on, heard) = (Backend::new(&workers, &devices), Heard::default());
        let mut there = product(&system, &on, &heard);
        assert!(every_product(&mut there, &system) == here, "{count} devices");
        let shares = there.shares();
        assert_eq!(shares.cpu + shares.devices.iter().sum::<usize>(), system.blocks.entries());
        assert_eq!(shares.cpu, 0);
        // Even to a block.
        let even = system.blocks.entries() / count;
        for share in shares.devices {
            assert!(share.abs_diff(even) <= 2 * BLOCK as usize, "{share} of {even}");
        }
        assert_eq!(heard.all(), Vec::<String>::new());
    }
}

#[test]
fn what_a_device_has_no_room_for_is_others() {
    if !in_child(&[FOUR]) {
        return;
    }
    let workers = Workers::new(2).unwrap();
    let system = system(&workers);
    let here = every_product(&mut product(&system, &Backend::cpu(&workers), &Silent), &system);
    // Room for a part of all entries, and none for a copy of some columns besides.
    let (blocks, _) = system.blocks.blocks_and_slots();
    let all = DevicePart::bytes(&system.blocks, &(0..blocks), system.dictionary.stride());
    let columns = size_of_val(system.dictionary.columns()) as u64;
    for limits in [
        // None has room for anything, one has not, one has room for some, both for some and none for all.
        vec![Some(0); 2],
        vec![Some(0), None],
        vec![None, Some(columns + all / 4), None],
        vec![Some(columns + all / 3); 2],
    ] {
        let Some(devices) = devices(&limits) else { return };
        let (on, heard) = (Backend::new(&workers, &devices), Heard::default());
        let mut there = product(&system, &on, &heard);
        assert!(every_product(&mut there, &system) == here, "{limits:?}");
        let (shares, said) = (there.shares(), heard.all());
        assert_eq!(shares.cpu + shares.devices.iter().sum::<usize>(), system.blocks.entries());
        let limited = limits.iter().filter(|limit| limit.is_some()).count();
        assert_eq!(said.len(), limited, "{limits:?}: {said:?}");
        let to_threads = limited == limits.len();
        assert_eq!(shares.cpu > 0, to_threads, "{limits:?}: {shares:?}");
        for ((limit, share), warning) in limits.iter().zip(&shares.devices).zip(&said) {
            assert!(warning.contains(": out of memory ("), "{warning}");
            let end = if to_threads { "the threads" } else { &devices[0].info().name };
            assert!(warning.contains(" part goes to ") && warning.contains(end), "{warning}");
            assert_eq!(*share == 0, *limit == Some(0), "{limits:?}: {shares:?}");
        }
    }
}

/// Every solver on some devices, of which `to_lose` go after so many calls.
fn solved(
    system: &System,
    on: &Backend<'_>,
    to_lose: &[(usize, usize)],
    heard: &Heard,
) -> Vec<u32> {
    let groups = Groups::new(vec![(0..40).collect(), (50..90).collect()], COUNT).unwrap();
    let grouped = Grouped { groups, share: 0.3 };
    let stop = Stop { max_iterations: 12, gradient: 1e-6, objective: 0.0 };
    let mut found = Vec::new();
    for solver in 0..3 {
        let mut there = product(system, on, heard);
        there.lose_devices(to_lose);
        let some: Vec<bool> = (0..COUNT).map(|f| f % 5 != 1).collect();
        if solver == 1 {
            there.restrict(Some(&some));
        }
        let n = there.domain().len();
        let problem = Problem { operator: &there, data: &system.data, linear: None };
        let zero = vec![0.0; n];
        let watch = &mut |_: &_, _: &_| ();
        let solution = match solver {
            0 => conjugate(&problem, zero, &stop, &Silent, watch),
            1 => sbb(&problem, zero, &stop, &Silent, watch),
            _ => {
                let mut g = vec![0.0; n];
                there.gradient(&zero, &system.data, &mut g).unwrap();
                let factors = vec![1.0; n];
                let penalty = GroupPenalty::new(&grouped, &factors, &g);
                proximal(&problem, &penalty, zero, &stop, &Silent, watch)
            }
        };
        let solution = solution.unwrap();
        assert!(solution.iterations > 5, "{}", solution.iterations);
        found.extend(bits(&solution.x).chain([(solution.objective as f32).to_bits()]));
        for (lost, _) in to_lose {
            assert_eq!(there.shares().devices[*lost], 0, "{to_lose:?}");
        }
    }
    found
}

#[test]
fn a_device_that_is_lost_in_the_middle_costs_a_warning_and_no_bit() {
    if !in_child(&[FOUR]) {
        return;
    }
    let workers = Workers::new(2).unwrap();
    let system = system(&workers);
    let here = solved(&system, &Backend::cpu(&workers), &[], &Heard::default());
    for (count, to_lose) in [
        // At once, within the first half of a product, within the second, one after the other, all.
        (1, vec![(0, 0)]),
        (1, vec![(0, 8)]),
        (1, vec![(0, 9)]),
        (2, vec![(1, 7)]),
        (2, vec![(0, 6), (1, 13)]),
        (4, vec![(2, 10)]),
        (4, vec![(0, 5), (1, 5), (2, 6), (3, 20)]),
    ] {
        let Some(devices) = devices(&vec![None; count]) else { return };
        let (on, heard) = (Backend::new(&workers, &devices), Heard::default());
        assert!(solved(&system, &on, &to_lose, &heard) == here, "{count} devices, {to_lose:?}");
        let said = heard.all();
        assert_eq!(said.len(), 3 * to_lose.len(), "{said:?}");
        let ends = |end: &str| said.iter().filter(|warning| warning.ends_with(end)).count();
        match to_lose.len() == count {
            // The last of them leaves the threads alone.
            true => assert!(ends("its part goes to the threads") >= 3, "{said:?}"),
            false => assert_eq!(ends("its part goes to the threads"), 0, "{said:?}"),
        }
        assert!(said.iter().all(|warning| warning.contains(": lost (in a test)")), "{said:?}");
    }
}

#[test]
fn what_is_no_number_is_none_on_a_device() {
    let Some(devices) = devices(&[None]) else { return };
    let workers = Workers::new(2).unwrap();
    let system = system(&workers);
    let on = Backend::new(&workers, &devices);
    for on in [Backend::cpu(&workers), on] {
        let there = product(&system, &on, &Silent);
        for bad in [f32::NAN, f32::INFINITY] {
            let mut x = vec![0.5; COUNT];
            x[7] = bad;
            let mut g = vec![0.0; COUNT];
            assert!(there.gradient(&x, &system.data, &mut g).unwrap().is_nan());
            assert!(g.iter().all(|g| g.is_nan()));
        }
    }
}
