//! Several processes, where there is an `mpirun` to start them.
#![cfg(feature = "mpi")]

use std::process::Command;

use fimbria_cluster::{Exchange, World};

/// Set in the processes of a world.
const CHILD: &str = "FIMBRIA_TEST_RANKS";

/// True in a process of `mpirun`; otherwise runs the calling test in worlds of 1, 2 and 4.
fn in_worlds() -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let test = std::thread::current().name().expect("tests run in named threads").to_owned();
    let program = std::env::current_exe().expect("the test's own program");
    for ranks in ["1", "2", "4"] {
        let mut mpirun = Command::new("mpirun");
        // A container's root, and more processes than cores, are refused otherwise (OpenMPI).
        mpirun.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        mpirun.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env(CHILD, ranks);
        let status = mpirun.args(["-n", ranks]).arg(&program).args(["--exact", &test]).status();
        let Ok(status) = status else {
            fimbria_testing::missing("mpirun");
            return false;
        };
        assert!(status.success(), "{test} failed in a world of {ranks}");
    }
    false
}

fn ranks() -> usize {
    std::env::var(CHILD).expect("set for the children").parse().expect("a number")
}

#[test]
fn sums_are_those_of_all_in_the_order_of_ranks() {
    if !in_worlds() {
        return;
    }
    let world = World::start();
    let comm = world.comm();
    assert_eq!(comm.size(), ranks());
    // Lengths that ranks share evenly, unevenly, and not at all.
    for len in [0, 1, 3, 8, 1001] {
        let value = |rank: usize, i: usize| 1e16_f64.powi((rank % 2) as i32) + 0.1 * i as f64;
        let mut sums: Vec<f64> = (0..len).map(|i| value(comm.rank(), i)).collect();
        comm.sum_f64(&mut sums);
        for (i, sum) in sums.iter().enumerate() {
            let expected = (1..comm.size()).fold(value(0, i), |sum, rank| sum + value(rank, i));
            assert_eq!(sum.to_bits(), expected.to_bits(), "{len} numbers, number {i}");
        }
    }
    let mut counts = [comm.rank() as i64, 7];
    comm.sum_i64(&mut counts);
    let n = comm.size() as i64;
    assert_eq!(counts, [n * (n - 1) / 2, 7 * n]);
    let mut bytes = [comm.rank() as u8 + 1; 3];
    comm.broadcast(&mut bytes, 0);
    assert_eq!(bytes, [1; 3]);
    comm.barrier();
}

#[test]
fn every_rank_knows_what_each_brings() {
    if !in_worlds() {
        return;
    }
    let world = World::start();
    let comm = world.comm();
    let bits = |rank: usize| u64::MAX - rank as u64;
    let expected: Vec<u64> = (0..comm.size()).map(bits).collect();
    assert_eq!(comm.of_each(bits(comm.rank())), expected);
}

#[test]
fn the_first_gets_what_others_hand_it_in_their_order() {
    if !in_worlds() {
        return;
    }
    let world = World::start();
    let comm = world.comm();
    for from in 0..comm.size() {
        // None, few, and more than what is sent without waiting for the receiver.
        for len in [0, 3, 1 << 20] {
            let bytes = |rank: usize| vec![rank as u8 + 1; len + rank];
            if comm.rank() == from {
                let back = comm.to_first(bytes(from), from);
                assert_eq!(back, if from == 0 { bytes(0) } else { Vec::new() });
            } else if comm.rank() == 0 {
                assert!(comm.to_first(Vec::new(), from) == bytes(from), "{len} bytes of {from}");
            }
        }
    }
}

#[test]
fn every_exchange_makes_the_same_sums() {
    if !in_worlds() {
        return;
    }
    let mut world = World::start();
    for (exchange, name, _) in Exchange::ALL {
        world.set_exchange(exchange);
        let comm = world.comm();
        // Several chunks, and some more; whole numbers, whose sums do not depend on their order.
        let mut sums: Vec<f64> = (0..40_000).map(|i| (i * (comm.rank() + 1)) as f64).collect();
        comm.sum_f64(&mut sums);
        let ranks: usize = (1..=comm.size()).sum();
        let expected: Vec<f64> = (0..40_000).map(|i| (i * ranks) as f64).collect();
        assert!(sums == expected, "{name}, {} processes", comm.size());
    }
}
