//! The same streamlines from the oracle and from lanes, whatever the threads.

use fimbria_compute::{Interrupted, Silent, SimdLevel, Workers};
use fimbria_tracking::{
    Collect as _, FirstFibre, Judgement, Propagation, Rules, Space, Tracking, Waypoints, track,
    track_slowly,
};

use crate::bend::{Everything, Seen, field, seeds, slab};

fn tracked(tracking: &Tracking<'_>, threads: usize, simd: SimdLevel) -> Vec<Seen> {
    let workers = Workers::new(threads).unwrap().with_simd(simd);
    let mut all = Vec::new();
    track(tracking, &workers, &Silent, Everything::default, |block: Vec<Seen>| {
        all.extend(block);
        Ok::<(), Interrupted>(())
    })
    .unwrap();
    all
}

fn fusing() -> Vec<SimdLevel> {
    SimdLevel::available().into_iter().filter(|level| level.fuses()).collect()
}

fn check_all(options: &Propagation, rules: &dyn Fn(&Space) -> Rules, elsewhere: bool) {
    let workers = Workers::new(2).unwrap();
    let field = field(&workers);
    let space = if elsewhere {
        let mut grid = *field.grid();
        grid.dims = [20, 17, 13];
        grid.ras_from_vox.0[0][0] = 1.3;
        grid.ras_from_vox.0[2][3] += 0.7;
        Space::scanner(grid, field.grid()).unwrap()
    } else {
        Space::same(*field.grid())
    };
    let (rules, seeds) = (rules(&space), seeds(&space));
    let tracking = Tracking {
        field: &field,
        space: &space,
        propagation: options,
        rules: &rules,
        seeds: &seeds,
        n_samples: 3,
        jitter_mm: 0.4,
        rng_seed: 7,
    };
    let mut oracle = Everything::default();
    track_slowly(&tracking, None, &Silent, &mut oracle).unwrap();
    let oracle = oracle.end_block();
    assert!(oracle.iter().map(|seen| seen.points.len()).sum::<usize>() > 5000, "too little to see");
    for level in fusing() {
        for threads in [1, 2, 5] {
            let fast = tracked(&tracking, threads, level);
            assert_eq!(fast.len(), oracle.len());
            for (fast, oracle) in fast.iter().zip(&oracle) {
                assert_eq!(fast, oracle, "{level:?}, {threads} threads, {options:?}");
            }
        }
    }
}

fn no_rules(_space: &Space) -> Rules {
    Rules::default()
}

#[test]
fn plain_steps_are_the_same() {
    check_all(&Propagation::default(), &no_rules, false);
}

#[test]
fn ends_outside_the_mask_are_the_same() {
    check_all(&Propagation { ends_inside: false, ..Propagation::default() }, &no_rules, false);
}

#[test]
fn every_rule_for_the_first_fibre_is_the_same() {
    for first_fibre in
        [FirstFibre::Number(1), FirstFibre::Uniform, FirstFibre::Proportional, FirstFibre::Any]
    {
        let options = Propagation { first_fibre, fibre_threshold: 0.05, ..Propagation::default() };
        check_all(&options, &no_rules, false);
    }
}

#[test]
fn modified_euler_loops_and_fractions_are_the_same() {
    let options = Propagation {
        modified_euler: true,
        loop_check: true,
        use_fraction: true,
        step_mm: 0.3,
        ..Propagation::default()
    };
    check_all(&options, &no_rules, false);
    check_all(&Propagation { max_points: 20, ..options }, &no_rules, false);
    check_all(&Propagation { max_points: 2, use_fraction: false, ..options }, &no_rules, false);
}

#[test]
fn regions_are_the_same() {
    let rules = |judgement| {
        move |space: &Space| Rules {
            avoid: vec![slab(space, "avoid", 14, 15)],
            stop: vec![slab(space, "stop", 0, 2)],
            stop_on_leaving: vec![slab(space, "leave", 5, 9)],
            waypoints: Waypoints {
                regions: vec![slab(space, "a", 3, 6), slab(space, "b", 8, 10)],
                ..Waypoints::default()
            },
            least_length_mm: 2.0,
            judgement,
            ..Rules::default()
        }
    };
    check_all(&Propagation::default(), &rules(Judgement::Whole), false);
    check_all(&Propagation::default(), &rules(Judgement::HalfByHalf), true);
}

#[test]
fn another_seed_space_is_the_same() {
    check_all(&Propagation::default(), &no_rules, true);
}

#[test]
fn more_seeds_do_not_change_the_paths_of_others() {
    let workers = Workers::new(1).unwrap();
    let field = field(&workers);
    let space = Space::same(*field.grid());
    let (rules, seeds) = (Rules::default(), seeds(&space));
    let fewer: Vec<_> = seeds.iter().copied().skip(11).step_by(4).collect();
    let propagation = Propagation::default();
    let tracking = |seeds| Tracking {
        field: &field,
        space: &space,
        propagation: &propagation,
        rules: &rules,
        seeds,
        n_samples: 2,
        jitter_mm: 0.0,
        rng_seed: 3,
    };
    let level = SimdLevel::best();
    let (all, some) = (tracked(&tracking(&seeds), 2, level), tracked(&tracking(&fewer), 2, level));
    for (index, seen) in some.iter().enumerate() {
        let (seed, number) = seen.order;
        let same = &all[(11 + 4 * seed) * 2 + number as usize];
        assert_eq!(seen.points, same.points, "{index}");
    }
}
