//! Seeds whose chances follow the streamlines.

use std::sync::atomic::{AtomicI64, Ordering};

use fimbria_compute::comm::{Comm, Solo};
use fimbria_compute::{Backend, Interrupted, Silent, Workers};
use fimbria_streamlines::Streamlines;
use fimbria_testing::as_processes;
use fimbria_tracking::{
    Attempts, DensityTracking, Lines, Reseed, Rules, Sample, SeedChances, SeedFixel, Space,
    track_densities, track_reseeded,
};

use crate::densities::{ALONG_X, ALONG_Y, ARCS, All, CURVES, Line, best, densities, grid, seed};

/// Chances of two seeds: the one with fewer streamlines so far has three times that of the other.
struct Fewer {
    chances: SeedChances,
    kept: [i64; 2],
    passed: [AtomicI64; 2],
    /// Starts of each stretch.
    stretches: Vec<u64>,
}

impl Fewer {
    fn new() -> Self {
        let chances = SeedChances::new([1.0, 1.0]).unwrap();
        Self { chances, kept: [0; 2], passed: Default::default(), stretches: Vec::new() }
    }
}

impl Reseed for Fewer {
    fn chances(&self) -> &SeedChances {
        &self.chances
    }

    fn pass(&self, sample: &Sample<'_>) {
        self.passed[sample.seed_index].fetch_add(1, Ordering::Relaxed);
    }

    fn settle(&mut self, counts: bool) {
        for (kept, passed) in self.kept.iter_mut().zip(&mut self.passed) {
            let passed = std::mem::take(passed.get_mut());
            *kept += if counts { passed } else { 0 };
        }
    }

    fn renew(&mut self, starts: u64, comm: &dyn Comm) {
        let mut kept = self.kept;
        comm.sum_i64(&mut kept);
        let first = if kept[0] <= kept[1] { 3.0 } else { 1.0 };
        self.chances = SeedChances::new([first, 4.0 - first]).unwrap();
        self.stretches.push(starts);
    }
}

#[test]
fn chances_that_follow_the_streamlines_are_the_same_whoever_makes_them() {
    // The second seed is at the edge of the bundle: few of its streamlines are kept.
    let field = densities(|at| if at[1] < 16.5 { vec![ALONG_X] } else { Vec::new() });
    let seeds = [seed([15.0, 12.0, 7.0]), seed([15.0, 16.0, 7.0])];
    let space = Space::same(grid());
    let rules = Rules { least_length_mm: 30.0, ..Rules::default() };
    let tracking = DensityTracking {
        densities: &field,
        space: &space,
        propagation: &ARCS,
        rules: &rules,
        anatomy: None,
        seeds: &seeds,
        chances: None,
        attempts: Attempts::UntilKept { select: 2000, at_most: 20_000 },
        jitter_mm: None,
        one_way: false,
        rng_seed: 5,
    };
    let made = |comm: &dyn Comm, threads: usize, follows: bool| {
        let workers = Workers::new(threads).unwrap();
        let on = Backend { comm, ..Backend::cpu(&workers) };
        let (mut fewer, mut lines) =
            (Fewer::new(), Streamlines::with_columns(&[], &Lines::columns()));
        let new = || Lines::new(&space);
        let reseed = follows.then_some(&mut fewer as &mut dyn Reseed);
        let selected = track_reseeded(&tracking, reseed, on, &Silent, new, |block: Streamlines| {
            lines.append(&block);
            Ok::<(), Interrupted>(())
        });
        (lines, selected.unwrap().attempts, fewer)
    };
    let (lines, attempts, fewer) = made(&Solo, 1, true);
    assert_eq!((lines.len(), fewer.kept[0] + fewer.kept[1]), (2000, 2000));
    // Stretches of 1024 and then of an eighth of what was started; the last one was not filled.
    assert!(fewer.stretches.iter().all(|starts| *starts == 1024), "{:?}", fewer.stretches);
    assert_eq!(fewer.stretches.len() as u64, attempts / 1024);
    let three = made(&Solo, 3, true);
    assert!(three.0 == lines && three.1 == attempts && three.2.kept == fewer.kept, "threads");
    assert!(made(&Solo, 1, false).0 != lines, "chances are no matter");
    let first = as_processes(3, |comm| made(comm, 1, true)).swap_remove(0);
    assert!(first.0 == lines && first.1 == attempts, "processes");
    assert_eq!(first.2.chances, fewer.chances);
}

#[test]
fn streamlines_start_along_the_fixel_that_is_drawn() {
    let field = densities(|_| vec![ALONG_X, ALONG_Y]);
    let seeds = [seed([15.0, 15.0, 7.0])];
    let (space, rules, workers) = (Space::same(grid()), Rules::default(), best());
    let fixel = |dir| SeedFixel { seed: 0, dir };
    // The second is never drawn.
    let chances = SeedChances::new([1.0, 0.0]).unwrap();
    let chances = chances.along([fixel([0.0, -1.0, 0.0]), fixel([1.0, 0.0, 0.0])].into());
    let tracking = DensityTracking {
        densities: &field,
        space: &space,
        propagation: &CURVES,
        rules: &rules,
        anatomy: None,
        seeds: &seeds,
        chances: Some(&chances),
        attempts: Attempts::UntilKept { select: 300, at_most: 300 },
        jitter_mm: Some(0.0),
        one_way: false,
        rng_seed: 5,
    };
    let mut all = Vec::new();
    track_densities(&tracking, Backend::cpu(&workers), &Silent, All::default, |block| {
        all.extend::<Vec<Line>>(block);
        Ok::<(), Interrupted>(())
    })
    .unwrap();
    assert_eq!(all.len(), 300);
    let mut ways = [0; 2];
    for line in all {
        let first = &line.points[..line.n_first];
        let step: [f32; 3] = std::array::from_fn(|a| 2.0 * (first[1][a] - first[0][a]) / 0.2);
        // 30°, and half of what a step bends at most.
        assert!(step[1].abs() > (30.0_f32.to_radians() + 0.05).cos() - 0.01, "{step:?}");
        ways[usize::from(step[1] > 0.0)] += 1;
    }
    // Either way alike: four deviations.
    assert!((ways[0] - 150_i32).abs() < 35, "{ways:?}");
}
