//! Cortex goes by gyri that are each a piece of one hemisphere, as large as in people, and bundles join those that
//! they join in people.

use std::collections::{BTreeMap, BTreeSet};

use fimbria_phantoms::head::{Head, HeadBundle, labels};

use crate::head::made;

/// The names of gyri without their hemisphere, by the number on the left.
fn gyri() -> BTreeMap<u16, &'static str> {
    let left = labels()
        .into_iter()
        .filter_map(|label| label.name.strip_prefix("ctx-lh-").map(|name| (label.number, name)));
    left.collect()
}

/// The voxels of a label.
fn voxels(head: &Head, number: u16) -> BTreeSet<usize> {
    let is_it = |v: &usize| head.labels.data[*v] == f32::from(number);
    (0..head.labels.data.len()).filter(is_it).collect()
}

/// The largest piece of voxels that touch each other, if only at a corner.
fn largest_piece(head: &Head, mut left: BTreeSet<usize>) -> usize {
    let grid = head.labels.grid;
    let mut largest = 0;
    while let Some(first) = left.pop_first() {
        let (mut open, mut size) = (vec![first], 1);
        while let Some(at) = open.pop().map(|v| grid.voxel(v)) {
            for by in (0..27_i32).map(|i| [i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1]) {
                let beside = [0, 1, 2].map(|a| (at[a] as i32 + by[a]) as usize);
                if (0..3).all(|a| beside[a] < grid.dims[a]) && left.remove(&grid.index(beside)) {
                    size += 1;
                    open.push(grid.index(beside));
                }
            }
        }
        largest = largest.max(size);
    }
    largest
}

/// The middle of voxels, scanner mm.
fn middle(head: &Head, voxels: &BTreeSet<usize>) -> [f64; 3] {
    let grid = head.labels.grid;
    let place = |v: &usize| grid.ras_from_vox.apply(grid.voxel(*v).map(|i| i as f64));
    let sum = voxels.iter().map(place).fold([0.0; 3], |s, p| [0, 1, 2].map(|a| s[a] + p[a]));
    sum.map(|s| s / voxels.len() as f64)
}

#[test]
fn every_gyrus_is_a_piece_of_each_hemisphere() {
    let head = made();
    let ml = head.labels.grid.ras_from_vox.determinant().abs() * 1e-3;
    assert_eq!(gyri().len(), 34);
    for (number, name) in gyri() {
        let [left, right] = [number, number + 1000].map(|number| voxels(head, number));
        for side in [&left, &right] {
            // The smallest of a person, the frontal pole, is under 1 ml, the largest, the superior frontal,
            // some 25; frontal gyri lie beside each other without a sulcus that all heads share.
            let size = side.len() as f64 * ml;
            assert!((0.4..36.0).contains(&size), "{name}: {size} ml");
            // Voxels of 3 mm tear sheets of 2.3 mm.
            let part = largest_piece(head, side.clone()) as f64 / side.len() as f64;
            assert!(part > 0.85, "{name}: {part} in one piece");
        }
        // Each side folds in its own way; 3 mm voxels have a tenth and more of what is small by chance.
        let ratio = left.len() as f64 / right.len() as f64;
        assert!((0.6..1.67).contains(&ratio), "{name}: left over right {ratio}");
        let [[lx, ly, lz], [rx, ry, rz]] = [middle(head, &left), middle(head, &right)];
        let apart = [lx + rx, ly - ry, lz - rz].map(f64::abs);
        assert!(lx < -3.0 && rx > 3.0, "{name}: {lx} {rx}");
        assert!(apart.into_iter().all(|mm| mm < 6.0), "{name} is no mirror image: {apart:?}");
    }
}

/// Which gyri the ends of a bundle come from, by the first letters of its name, as anatomists have it.
const JOINED: [(&str, [&[&str]; 2]); 15] = [
    ("forceps_minor", [FRONTAL, FRONTAL]),
    ("callosum_front", [FRONTAL, FRONTAL]),
    ("callosum_middle", [CENTRAL, CENTRAL]),
    ("callosum_back", [PARIETAL, PARIETAL]),
    ("forceps_major", [OCCIPITAL, OCCIPITAL]),
    ("corticospinal", [CENTRAL, &[]]),
    ("anterior_thalamic", [FRONTAL, &[]]),
    (
        "arcuate",
        [
            &["parsopercularis", "parstriangularis", "precentral", "caudalmiddlefrontal"],
            &[
                "superiortemporal",
                "middletemporal",
                "inferiortemporal",
                "bankssts",
                "transversetemporal",
            ],
        ],
    ),
    (
        "slf",
        [
            &["inferiorparietal", "supramarginal", "superiorparietal"],
            &["rostralmiddlefrontal", "caudalmiddlefrontal", "parstriangularis"],
        ],
    ),
    ("anterior_commissure", [TEMPORAL_POLE, TEMPORAL_POLE]),
    (
        "cingulum",
        [&["rostralanteriorcingulate", "medialorbitofrontal"], &["parahippocampal", "entorhinal"]],
    ),
    ("ilf", [OCCIPITAL, TEMPORAL_POLE]),
    ("ifof", [OCCIPITAL, FRONTAL]),
    (
        "uncinate",
        [TEMPORAL_POLE, &["lateralorbitofrontal", "medialorbitofrontal", "parsorbitalis"]],
    ),
    ("optic_radiation", [&[], OCCIPITAL]),
];

const FRONTAL: &[&str] = &[
    "rostralmiddlefrontal",
    "caudalmiddlefrontal",
    "superiorfrontal",
    "rostralanteriorcingulate",
    "caudalanteriorcingulate",
    "frontalpole",
    "parsorbitalis",
    "parstriangularis",
    "lateralorbitofrontal",
];
const CENTRAL: &[&str] =
    &["precentral", "postcentral", "paracentral", "caudalmiddlefrontal", "posteriorcingulate"];
const PARIETAL: &[&str] =
    &["postcentral", "supramarginal", "inferiorparietal", "superiorparietal", "precuneus"];
const OCCIPITAL: &[&str] = &["lateraloccipital", "pericalcarine", "cuneus", "lingual"];
const TEMPORAL_POLE: &[&str] = &[
    "temporalpole",
    "superiortemporal",
    "middletemporal",
    "inferiortemporal",
    "entorhinal",
    "insula",
];

/// What part of a bundle's ends at cortex is nearest to one of these gyri, and to one of its hemisphere.
fn ending_in(head: &Head, bundle: &HeadBundle, end: usize, of: &[&str]) -> [f64; 2] {
    let grid = head.labels.grid;
    let vox_from_ras = grid.ras_from_vox.inverse().unwrap();
    let names: BTreeMap<u16, &str> = labels().iter().map(|l| (l.number, l.name)).collect();
    let (mut all, mut there, mut on_side) = (0, 0, 0);
    for line in &bundle.streamlines {
        let p = if end == 0 { line[0] } else { line[line.len() - 1] };
        let v = vox_from_ras.apply(p.map(f64::from));
        let around = (0..27_i32).map(|i| [i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1]);
        let beside = around.map(|by| [0, 1, 2].map(|a| v[a].round() + f64::from(by[a])));
        let near = beside.filter_map(|at| {
            let name = names[&(head.labels.data[grid.index(at.map(|c| c as usize))] as u16)];
            let far = (0..3).map(|a| (at[a] - v[a]).powi(2)).sum::<f64>();
            name.starts_with("ctx-").then_some((far, name))
        });
        let Some((_, name)) = near.min_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        all += 1;
        there += usize::from(of.contains(&&name["ctx-lh-".len()..]));
        on_side += usize::from(name.starts_with("ctx-rh") == (p[0] > 0.0));
    }
    [there, on_side].map(|n| f64::from(n as u32) / f64::from(all as u32))
}

#[test]
fn bundles_join_the_gyri_that_they_join_in_people() {
    let head = made();
    for (name, ends) in JOINED {
        for bundle in head.bundles.iter().filter(|bundle| bundle.name.starts_with(name)) {
            for (end, of) in ends.into_iter().enumerate().filter(|(_, of)| !of.is_empty()) {
                let [there, on_side] = ending_in(head, bundle, end, of);
                // Where two gyri meet the nearest voxel of 3 mm is of the other one.
                assert!(there > 0.8, "{}: end {end}, {there} in {of:?}", bundle.name);
                assert!(on_side > 0.98, "{}: end {end}, {on_side} on its side", bundle.name);
            }
        }
    }
}
