//! Bundles of the head are as long as in people, cross where they do there and end where they do; what lies
//! beside white matter may lie there.

use fimbria_compute::{Silent, Workers};
use fimbria_phantoms::Placement;
use fimbria_phantoms::head::{Head, HeadSpec, Tissue, head};

use crate::head::{made, part_names, spec};

/// Voxels in which each of the bundles, by the first letters of their names, is a tenth of the signal.
fn voxels_of_all(head: &Head, of: &[&[&str]]) -> usize {
    let [numbers, parts] = ["bundles", "fractions"].map(|name| head.truth(name).unwrap());
    let has = |v: usize, names: &[&str]| {
        (0..numbers.n_volumes).any(|k| {
            let number = numbers.volume(k)[v] as usize;
            let bundle = number.checked_sub(1).and_then(|i| head.bundles.get(i));
            let is_one = |b: &str| names.iter().any(|name| b.starts_with(name));
            parts.volume(k)[v] >= 0.1 && bundle.is_some_and(|b| is_one(&b.name))
        })
    };
    (0..head.labels.grid.len()).filter(|&v| of.iter().all(|names| has(v, names))).count()
}

#[test]
fn bundles_cross_where_they_do_in_people() {
    let head = made();
    let callosum: &[&str] = &["callosum", "forceps"];
    let (corticospinal, arcuate): (&[&str], &[&str]) = (&["corticospinal"], &["arcuate"]);
    for pair in [[callosum, corticospinal], [callosum, arcuate], [corticospinal, arcuate]] {
        let both = voxels_of_all(head, &pair);
        assert!(both >= 30, "{pair:?} cross in {both} voxels of 3 mm");
    }
    let all = voxels_of_all(head, &[callosum, corticospinal, arcuate]);
    assert!(all > 0, "nowhere all three");
}

#[test]
fn bundles_are_as_long_as_those_of_people() {
    let coarse = Placement { dims: [20, 24, 20], voxel_mm: [9.0; 3], ..spec().placement };
    let spec = HeadSpec { placement: coarse, ..spec() };
    let head = head(&spec, &Workers::new(2).unwrap(), &Silent).unwrap();
    // mm, the lowest and the highest median of five people (docs/phantom-head.md).
    for (name, low, high) in [
        ("arcuate", 109.0, 124.0),
        ("forceps_major", 148.0, 165.0),
        ("corticospinal", 123.0, 141.0),
    ] {
        let of = head.bundles.iter().filter(|b| b.name.starts_with(name));
        let length = |line: &Vec<[f32; 3]>| -> f64 {
            let step = |p: &[[f32; 3]]| {
                (0..3).map(|a| f64::from(p[1][a] - p[0][a]).powi(2)).sum::<f64>().sqrt()
            };
            line.windows(2).map(step).sum()
        };
        let mut lengths: Vec<f64> = of.flat_map(|b| b.streamlines.iter().map(length)).collect();
        lengths.sort_by(f64::total_cmp);
        let median = lengths[lengths.len() / 2];
        assert!((low..=high).contains(&median), "{name}: {median} mm, in people {low} to {high}");
    }
}

/// Where an end of a bundle is.
#[derive(Clone, Copy, Debug)]
enum At {
    /// Beside or in one of these labels of its side.
    Side(&'static [&'static str]),
    /// In one of these labels, which have no sides.
    Label(&'static str),
    /// At the midline, in what has no label: the chiasm and the mammillary bodies.
    Midline,
}

const CORTEX: At = At::Side(&["Cerebral-Cortex"]);
const FOLIA: At = At::Side(&["Cerebellum-Cortex", "Dentate-Nucleus"]);
const THALAMUS: At = At::Side(&["Thalamus"]);

/// Both ends of every bundle, by the first letters of its name. Of those that cross the first is on the
/// right.
const ENDS: [(&str, [At; 2]); 18] = [
    ("forceps_minor", [CORTEX, CORTEX]),
    ("callosum", [CORTEX, CORTEX]),
    ("forceps_major", [CORTEX, CORTEX]),
    ("corticospinal", [CORTEX, At::Label("Brain-Stem")]),
    ("anterior_thalamic", [CORTEX, THALAMUS]),
    ("arcuate", [CORTEX, CORTEX]),
    ("slf", [CORTEX, CORTEX]),
    ("anterior_commissure", [CORTEX, CORTEX]),
    ("optic_tract", [At::Midline, THALAMUS]),
    ("cingulum", [CORTEX, At::Side(&["Cerebral-Cortex", "Hippocampus"])]),
    ("ilf", [CORTEX, At::Side(&["Cerebral-Cortex", "Amygdala"])]),
    ("ifof", [CORTEX, CORTEX]),
    ("uncinate", [CORTEX, CORTEX]),
    ("optic_radiation", [THALAMUS, CORTEX]),
    ("fornix", [At::Midline, At::Side(&["Hippocampus"])]),
    ("pontine", [FOLIA, FOLIA]),
    ("lemniscus", [THALAMUS, At::Label("Brain-Stem")]),
    ("u_fibres", [CORTEX, CORTEX]),
];

#[test]
fn every_bundle_ends_at_its_part_of_the_brain() {
    let head = made();
    let grid = head.labels.grid;
    let vox_from_ras = grid.ras_from_vox.inverse().unwrap();
    let names = part_names();
    // Labels of the voxel and of those that touch it.
    let near = |p: [f32; 3]| -> Vec<&str> {
        let v = vox_from_ras.apply(p.map(f64::from)).map(f64::round);
        let around = (0..27_i32).map(|i| [i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1]);
        let at = around.map(|by| grid.index([0, 1, 2].map(|a| (v[a] + f64::from(by[a])) as usize)));
        at.map(|v| names[&(head.labels.data[v] as u16)]).collect()
    };
    for bundle in &head.bundles {
        let (_, ends) = ENDS.iter().find(|(name, _)| bundle.name.starts_with(name)).unwrap();
        for (end, expected) in ends.iter().enumerate() {
            let side = match bundle.name.rsplit('_').next() {
                Some("left") => "Left-",
                Some("right") => "Right-",
                _ => ["Right-", "Left-"][end],
            };
            let is_there = |line: &&Vec<[f32; 3]>| {
                let p = if end == 0 { line[0] } else { line[line.len() - 1] };
                match expected {
                    At::Side(of) => near(p)
                        .iter()
                        .any(|l| l.strip_prefix(side).is_some_and(|l| of.contains(&l))),
                    At::Label(name) => near(p).contains(name),
                    At::Midline => p[0].abs() < 5.0,
                }
            };
            let there = bundle.streamlines.iter().filter(is_there).count();
            let part = there as f64 / bundle.streamlines.len() as f64;
            // A sheet of cortex thinner than a voxel can have the label of what is on either side.
            assert!(part > 0.95, "{}: end {end}, {part} at {expected:?}", bundle.name);
        }
    }
}

/// What followed them to the end of the brain ended 25 mm below them, in the cord.
#[test]
fn bundles_of_the_cord_end_where_the_brain_ends() {
    let head = made();
    let grid = head.labels.grid;
    let vox_from_ras = grid.ras_from_vox.inverse().unwrap();
    let mask: std::collections::BTreeSet<u32> = head.subject.mask.voxels.iter().copied().collect();
    let inside = |[x, y, z]: [f32; 3], down: f64| {
        let p = [f64::from(x), f64::from(y), f64::from(z) - down];
        mask.contains(&(grid.index(vox_from_ras.apply(p).map(|c| c.round() as usize)) as u32))
    };
    for name in ["corticospinal", "lemniscus"] {
        for bundle in head.bundles.iter().filter(|b| b.name.starts_with(name)) {
            for line in &bundle.streamlines {
                let end = line[line.len() - 1];
                // A voxel of 3 mm and its tilt.
                assert!(inside(end, -3.0) && !inside(end, 4.0), "{}: {end:?}", bundle.name);
            }
        }
    }
}

/// White matter is inside: between it and all that is not brain there is grey matter or fluid, and fluid
/// only where there is no cortex.
#[test]
fn white_matter_lies_beside_what_it_may() {
    let head = made();
    let grid = head.labels.grid;
    let names = part_names();
    let label = |v: usize| names[&(head.labels.data[v] as u16)];
    let [white, cortex] =
        [Tissue::White, Tissue::CorticalGrey].map(|t| head.tissues.volume(t as usize));
    let mut seen = 0;
    for v in (0..grid.len()).filter(|v| white[*v] == 1.0) {
        let at = grid.voxel(v);
        for (a, by) in [(0, -1), (0, 1), (1, -1), (1, 1), (2, -1), (2, 1)] {
            let mut beside = at;
            let Some(i) = at[a].checked_add_signed(by).filter(|i| *i < grid.dims[a]) else {
                continue;
            };
            beside[a] = i;
            let beside = grid.index(beside);
            let has_cortex = cortex[beside] > 0.0;
            let beside = label(beside);
            let outside = ["Unknown", "Skull", "Marrow", "Fat", "Connective-Tissue", "Eye"];
            assert!(!outside.contains(&beside), "{} at {at:?} beside {beside}", label(v));
            // A voxel can be mostly fluid and hold the sheet of cortex between, which is thinner than it.
            if beside == "CSF" && !has_cortex && label(v).ends_with("Cerebral-White-Matter") {
                // Around the third ventricle and the midbrain, under the callosum.
                let from_midline = grid.ras_from_vox.apply(at.map(|i| i as f64))[0].abs();
                assert!(from_midline < 16.0, "{} at {at:?} beside fluid", label(v));
            }
            seen += 1;
        }
    }
    assert!(seen > 20_000, "{seen}");
}
