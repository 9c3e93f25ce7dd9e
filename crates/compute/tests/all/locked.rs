//! Memory of the host that is locked for a card, by the log of one that does nothing.
#![cfg(target_os = "linux")]

use fimbria_compute::device::{Device, DeviceOptions, DeviceSpace, HostBuffer};
use fimbria_compute::operator::VectorSpace as _;
use fimbria_testing::Call;

fn asked(name: &str, fault: &str, work: impl FnOnce(&Device)) -> Option<Vec<Call>> {
    fimbria_testing::asked(name, fault, 0.0, &DeviceOptions::default(), work)
}

/// Whether the memory of each such copy was locked.
fn of_copies(calls: &[Call], what: &str) -> Vec<bool> {
    calls.iter().filter(|call| call.what == what).map(|call| call.is_locked).collect()
}

/// What was locked and unlocked, as "lock 8192".
fn of_locks(calls: &[Call]) -> Vec<String> {
    let of_locks = calls.iter().filter(|call| call.what.ends_with("lock"));
    of_locks.map(|call| format!("{} {}", call.what, call.of)).collect()
}

/// Sends numbers, overwrites them, and fetches them.
fn there_and_back(device: &Device, numbers: &mut [f32]) {
    numbers.fill(3.0);
    let there = device.upload(numbers).unwrap();
    numbers.fill(0.0);
    there.read(0, numbers).unwrap();
    assert!(numbers.iter().all(|&number| number == 3.0));
}

#[test]
fn a_buffer_is_locked_for_all_queues_of_its_device_until_it_grows_or_goes() {
    let copies = |device: &Device| {
        let another = device.another_queue().unwrap();
        assert!(another.is_queue_of(device));
        let mut host = HostBuffer::for_uses(device, 2);
        assert!(!host.is_locked());
        there_and_back(device, host.with_len(2000));
        there_and_back(&another, host.with_len(1000));
        there_and_back(device, &mut vec![0.0; 2000]);
        there_and_back(device, host.with_len(5000));
        assert!(host.is_locked());
    };
    let Some(calls) = asked("locked", "none", copies) else { return };
    for what in ["upload", "download"] {
        assert_eq!(of_copies(&calls, what), [true, true, false, true], "{what}: {calls:?}");
    }
    // 2000 numbers are two pages, 5000 are five.
    let expected = ["lock 8192", "unlock 8192", "lock 20480", "unlock 20480"];
    assert_eq!(of_locks(&calls), expected, "{calls:?}");
}

#[test]
fn a_buffer_for_a_single_use_is_not_locked() {
    let copies = |device: &Device| {
        let mut host = HostBuffer::for_uses(device, 1);
        there_and_back(device, host.with_len(2000));
    };
    let Some(calls) = asked("used-once", "none", copies) else { return };
    assert_eq!((of_copies(&calls, "upload"), of_locks(&calls)), (vec![false], vec![]), "{calls:?}");
}

#[test]
fn what_is_locked_is_unlocked_before_the_card_is_closed() {
    let copies = |device: &Device| {
        let mut host = {
            let another = device.another_queue().unwrap();
            HostBuffer::for_uses(&another, 2)
        };
        there_and_back(device, host.with_len(2000));
        assert!(host.is_locked());
    };
    let Some(calls) = asked("closed", "none", copies) else { return };
    // Each queue has the card open for itself.
    let closed: Vec<&str> =
        calls.iter().filter(|call| call.what == "close").map(|call| &*call.of).collect();
    assert_eq!(closed, ["0", "0"], "bytes that were locked: {calls:?}");
    assert_eq!(of_locks(&calls), ["lock 8192", "unlock 8192"], "{calls:?}");
}

#[test]
fn a_buffer_that_the_driver_does_not_lock_is_as_other_memory() {
    let copies = |device: &Device| {
        let mut host = HostBuffer::for_uses(device, 2);
        there_and_back(device, host.with_len(2000));
        assert!(!host.is_locked());
    };
    let Some(calls) = asked("not-locked", "lock:1", copies) else { return };
    assert_eq!((of_copies(&calls, "upload"), of_locks(&calls)), (vec![false], vec![]), "{calls:?}");
}

#[test]
fn a_metered_device_locks_as_others_do() {
    let options = DeviceOptions { metered: true, ..DeviceOptions::default() };
    let copies = |device: &Device| {
        there_and_back(device, HostBuffer::for_uses(device, 2).with_len(2000));
    };
    let calls = fimbria_testing::asked("metered-locks", "none", 0.0, &options, copies);
    let Some(calls) = calls else { return };
    assert_eq!(of_copies(&calls, "upload"), [true], "{calls:?}");
    assert_eq!(of_locks(&calls), ["lock 8192", "unlock 8192"], "{calls:?}");
}

/// The driver keeps what was locked for a card that is lost: what came to lie there would be taken for it.
#[test]
fn memory_that_a_lost_card_keeps_is_never_used_again() {
    let lost = |device: &Device| {
        // So much that the system has it back whenever it is freed, and gives the same addresses next.
        const LEN: usize = 16 << 20;
        let mut host = HostBuffer::for_uses(device, 2);
        let before = host.with_len::<f32>(LEN).as_ptr().addr();
        let space = DeviceSpace::new(device, 8).unwrap();
        let mut x = space.zeros().unwrap();
        drop(space.scale(2.0, &mut x));
        assert!(space.download(&x, &mut [0.0; 8]).unwrap_err().is_lost());
        drop(host);
        let after = HostBuffer::plain().with_len::<f32>(LEN).as_ptr().addr();
        assert_ne!(before, after);
    };
    let Some(calls) = asked("lost-locked", "address:1", lost) else { return };
    assert_eq!(of_locks(&calls), [format!("lock {}", 64 << 20)], "{calls:?}");
}
