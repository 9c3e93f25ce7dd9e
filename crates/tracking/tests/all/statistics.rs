//! Visits of probtrackx2 in distribution: the test of the reference data's README, section 3.
//!
//! Q is the mean over voxels of (mean of our runs - mean of FSL's)² over its variance; it is near 1
//! where both come from one distribution, and its limit for each case was found from FSL's own runs.

use std::path::Path;

use fimbria_compute::{Interrupted, Silent, Workers};
use fimbria_image::bedpostx::read_bedpostx;
use fimbria_image::{OpenOptions, read_image};
use fimbria_tracking::{
    Field, Judgement, Propagation, Rules, SampleChoice, Space, Tally, Tracking, Waypoints,
    seeds_of_region, track,
};

/// Runs of our own; the README asks for six, which `benches/rivals/probtrackx2.py` makes of every
/// case. Q allows for the number.
const RUNS: u64 = 2;

/// The limit that info.txt gives for the map of visits, and the number of FSL's runs.
fn limit(case: &Path) -> (f64, f64) {
    let text = std::fs::read_to_string(case.join("info.txt")).unwrap();
    let after = |start: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(start)).unwrap();
        line.split([' ', ',', ';']).next().unwrap().parse().unwrap()
    };
    (after("limit fdt_paths: Q <= "), after("runs: "))
}

fn check(case: &str, propagation: &Propagation, rules: impl Fn(&Space, &Path) -> Rules) {
    let Some(folder) = fimbria_testing::refdata("fsl") else { return };
    let inputs = folder.join("inputs/phantom_detneg");
    let workers = Workers::new(2).unwrap();
    let samples = workers
        .install(|| read_bedpostx(&inputs.join("merged"), None, &OpenOptions::default()).unwrap());
    let field = Field::new(samples, &workers);
    let space = Space::same(*field.grid());
    let seed = space.region(&read_image(inputs.join("seed.nii.gz")).unwrap(), "seed").unwrap();
    let seeds = seeds_of_region(&space, &seed, 0);
    let rules = rules(&space, &inputs);
    let mut runs = Vec::new();
    for rng_seed in 1..=RUNS {
        let tracking = Tracking {
            field: &field,
            space: &space,
            propagation,
            rules: &rules,
            seeds: &seeds,
            n_samples: 1000,
            jitter_mm: 0.0,
            rng_seed,
        };
        let new = || Tally::new(&space, 1, false);
        let tallies = track(&tracking, &workers, &Silent, new, |()| Ok::<(), Interrupted>(()));
        let sum = tallies.unwrap().into_iter().reduce(|mut a, b| {
            a.merge(b);
            a
        });
        let sum = sum.unwrap();
        runs.push(space.image(|voxel| sum.visits.count(voxel) as f32));
    }
    let case = folder.join("cases").join(case);
    let read = |name: &str| read_image(case.join(name)).unwrap().data;
    let (mean, variance) = (read("fdt_paths_mean.nii.gz"), read("fdt_paths_var.nii.gz"));
    let (limit, n_ref) = limit(&case);
    let voxels: Vec<_> = (0..mean.len()).filter(|v| mean[*v] >= 20.0).collect();
    let mut ratios: Vec<_> = voxels.iter().map(|v| variance[*v] / mean[*v]).collect();
    ratios.sort_by(f32::total_cmp);
    let phi = f64::from(ratios[ratios.len() / 2]);
    let n = RUNS as f64;
    let q = voxels.iter().map(|&v| {
        let ours = runs.iter().map(|run| f64::from(run.data[v])).sum::<f64>() / n;
        let (mean, variance) = (f64::from(mean[v]), f64::from(variance[v]));
        let s2 = 0.5 * variance + 0.5 * phi * mean;
        (ours - mean).powi(2) / (s2 * (1.0 / n + 1.0 / n_ref))
    });
    let q = q.sum::<f64>() / voxels.len() as f64;
    assert!(q <= limit, "{}: Q {q:.2} above {limit}", case.display());
    // A map that is merely far too wide in variance would pass: the sums must agree too.
    let sum = |data: &[f32]| data.iter().map(|x| f64::from(*x)).sum::<f64>();
    let ratio = runs.iter().map(|run| sum(&run.data)).sum::<f64>() / n / sum(&mean);
    assert!((ratio - 1.0).abs() < 5e-3, "{}: {ratio} times the visits", case.display());
}

fn fsl() -> Propagation {
    Propagation {
        sample_choice: SampleChoice::HalfWeightEnds,
        ends_inside: false,
        ..Propagation::default()
    }
}

fn half_by_half() -> Rules {
    Rules { judgement: Judgement::HalfByHalf, ..Rules::default() }
}

fn region(space: &Space, inputs: &Path, name: &str) -> Vec<fimbria_tracking::Region> {
    let image = read_image(inputs.join(format!("{name}.nii.gz"))).unwrap();
    vec![space.region(&image, name).unwrap()]
}

#[test]
fn plain_visits_are_distributed_as_those_of_probtrackx2() {
    check("detneg_default", &fsl(), |_, _| half_by_half());
}

#[test]
fn visits_by_modified_euler_without_loops_are() {
    let options = Propagation { modified_euler: true, loop_check: true, ..fsl() };
    check("detneg_modeuler_l", &options, |_, _| half_by_half());
}

#[test]
fn visits_past_a_region_to_avoid_are() {
    check("detneg_avoid", &fsl(), |space, inputs| Rules {
        avoid: region(space, inputs, "half"),
        ..half_by_half()
    });
}

#[test]
fn visits_by_a_waypoint_are() {
    check("detneg_waypoint_single", &fsl(), |space, inputs| Rules {
        waypoints: Waypoints { regions: region(space, inputs, "targetC"), ..Waypoints::default() },
        ..half_by_half()
    });
}
