//! Tissues, volumes, diffusion, susceptibility and scans of the head are those of published ones.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use fimbria_compute::{Progress, Silent, Workers};
use fimbria_image::Image;
use fimbria_phantoms::head::{Faults, Head, HeadScan, HeadSpec, Tissue, head, labels};
use fimbria_phantoms::{Acquisition, Placement, ShellSpec};

/// 3 mm voxels on an oblique grid, a shell of six directions, no noise.
pub(crate) fn spec() -> HeadSpec {
    let shells = vec![ShellSpec { b_s_per_mm2: 1000.0, directions: 6 }];
    HeadSpec {
        placement: Placement {
            dims: [62, 76, 60],
            voxel_mm: [3.0; 3],
            tilt_deg: [6.0, -4.0, 3.0],
            x_right_to_left: true,
        },
        acquisition: Acquisition { b0s: 1, shells },
        snr: f64::INFINITY,
        ..HeadSpec::default()
    }
}

pub(crate) fn made() -> &'static Head {
    static HEAD: OnceLock<Head> = OnceLock::new();
    HEAD.get_or_init(|| head(&spec(), &Workers::new(2).unwrap(), &Silent).unwrap())
}

/// The names of the labels, of all gyri of a side that of its cortex.
pub(crate) fn part_names() -> BTreeMap<u16, &'static str> {
    let name = |name: &'static str| match name.get(..6) {
        Some("ctx-lh") => "Left-Cerebral-Cortex",
        Some("ctx-rh") => "Right-Cerebral-Cortex",
        _ => name,
    };
    labels().iter().map(|l| (l.number, name(l.name))).collect()
}

/// ml of every part by name, left and right together.
fn volumes(head: &Head) -> BTreeMap<String, f64> {
    let ml = head.labels.grid.ras_from_vox.determinant().abs() * 1e-3;
    let names = part_names();
    let mut volumes = BTreeMap::new();
    for number in &head.labels.data {
        let name = names[&(*number as u16)];
        let name = name.trim_start_matches("Left-").trim_start_matches("Right-");
        *volumes.entry(name.to_owned()).or_insert(0.0) += ml;
    }
    volumes
}

#[test]
fn tissues_sum_to_one() {
    let head = made();
    let sums =
        |image: &Image, v: usize| -> f32 { (0..image.n_volumes).map(|t| image.volume(t)[v]).sum() };
    let mut inside = vec![false; head.labels.grid.len()];
    head.subject.mask.voxels.iter().for_each(|&v| inside[v as usize] = true);
    for v in 0..head.labels.grid.len() {
        // f32 sums of nine parts.
        assert!((sums(&head.tissues, v) - 1.0).abs() < 1e-5);
        let expected = f32::from(u8::from(inside[v]));
        assert!((sums(&head.five_tissues, v) - expected).abs() < 1e-5);
    }
    assert_eq!(head.tissues.n_volumes, Tissue::ALL.len());
}

#[test]
fn volumes_are_those_of_adults() {
    let found = volumes(made());
    // The ranges of docs/phantom-head.md, ml; voxels of 3 mm take from what is thin.
    for (name, low, high) in [
        ("Cerebral-Cortex", 400.0, 620.0),
        ("Cerebral-White-Matter", 380.0, 600.0),
        ("Lateral-Ventricle", 7.0, 40.0),
        ("3rd-Ventricle", 0.5, 3.0),
        ("4th-Ventricle", 0.8, 3.5),
        ("Thalamus", 10.0, 17.0),
        ("Caudate", 5.5, 9.5),
        ("Putamen", 7.5, 12.5),
        ("Pallidum", 2.0, 5.0),
        ("Hippocampus", 4.5, 9.5),
        ("Amygdala", 2.2, 4.5),
        ("Brain-Stem", 18.0, 30.0),
        ("Cerebellum-Cortex", 60.0, 125.0),
        ("Cerebellum-White-Matter", 20.0, 70.0),
    ] {
        let ml = found[name];
        assert!((low..high).contains(&ml), "{name}: {ml} ml, expected {low} to {high}");
    }
}

#[test]
fn streamlines_lie_in_white_matter() {
    let head = made();
    let grid = head.labels.grid;
    let vox_from_ras = grid.ras_from_vox.inverse().unwrap();
    let at = |p: [f32; 3], t: usize| {
        let v = vox_from_ras.apply(p.map(f64::from)).map(|c| c.round() as usize);
        head.tissues.volume(t)[v[0] + grid.dims[0] * (v[1] + grid.dims[1] * v[2])]
    };
    let white = Tissue::White as usize;
    for bundle in &head.bundles {
        assert!(bundle.streamlines.len() > 20, "{}: {}", bundle.name, bundle.streamlines.len());
        let (mut outside, mut points) = (0, 0);
        for line in &bundle.streamlines {
            for p in line {
                points += 1;
                outside += usize::from(at(*p, white) == 0.0);
            }
        }
        // Every point is in white matter; a voxel of 27 samples can miss its edge.
        let part = outside as f64 / f64::from(points);
        assert!(part < 0.01, "{}: {part}", bundle.name);
    }
}

#[test]
fn a_bundle_s_mask_holds_its_streamlines_and_its_fixels() {
    let head = made();
    let bundles = head.truth("bundles").unwrap();
    for (number, bundle) in (1..).zip(&head.bundles) {
        let mask = head.bundle_mask(bundle);
        let inside = mask.data.iter().filter(|m| **m > 0.0).count();
        let has = |v: usize| (0..bundles.n_volumes).any(|k| bundles.volume(k)[v] == number as f32);
        let both = (0..mask.data.len()).filter(|v| mask.data[*v] > 0.0 && has(*v)).count();
        // At its rim a bundle can be too thin to be among the four largest of a voxel.
        let part = both as f64 / inside as f64;
        assert!(part > 0.5, "{}: {part} of {inside}", bundle.name);
    }
}

#[test]
fn diffusion_is_that_of_published_tissue() {
    let head = made();
    let median = |name: &str, tissue: usize| {
        let (map, parts) = (head.truth(name).unwrap(), head.five_tissues.volume(tissue));
        let pure = parts.iter().zip(&map.data).filter(|(part, _)| **part > 0.95);
        let mut values: Vec<f32> = pure.map(|(_, value)| *value).collect();
        values.sort_by(f32::total_cmp);
        f64::from(values[values.len() / 2])
    };
    // Ranges of docs/phantom-head.md.
    for (name, tissue, low, high) in [
        ("FA", 2, 0.38, 0.65),
        ("FA", 0, 0.08, 0.2),
        ("MD", 2, 0.65e-3, 0.9e-3),
        ("MD", 0, 0.75e-3, 1.0e-3),
        ("MD", 3, 2.6e-3, 3.1e-3),
        ("MK", 2, 0.85, 1.3),
        ("MK", 0, 0.55, 0.9),
    ] {
        let found = median(name, tissue);
        assert!((low..high).contains(&found), "{name} of tissue {tissue}: {found}");
    }
}

#[test]
fn the_callosum_is_the_most_anisotropic_of_all() {
    let head = made();
    let fa = head.truth("FA").unwrap();
    let callosum = labels().iter().find(|l| l.name == "Corpus-Callosum").unwrap().number;
    let white = Tissue::White as usize;
    let is_pure = |v: &usize| {
        head.labels.data[*v] == f32::from(callosum) && head.tissues.volume(white)[*v] == 1.0
    };
    let mut values: Vec<f32> = (0..fa.data.len()).filter(is_pure).map(|v| fa.data[v]).collect();
    values.sort_by(f32::total_cmp);
    // The splenium of 36 adults: 0.87 (Lätt 2013); with crossing fibres left and right of it less.
    assert!(values[values.len() / 2] > 0.6, "{}", values[values.len() / 2]);
}

#[test]
fn threads_make_no_difference_and_seeds_do() {
    let small = HeadSpec {
        placement: Placement { dims: [20, 24, 20], voxel_mm: [9.0; 3], ..spec().placement },
        snr: 25.0,
        ..spec()
    };
    let made = |spec: &HeadSpec, threads: usize| {
        head(spec, &Workers::new(threads).unwrap(), &Silent).unwrap()
    };
    let bits = |head: &Head| head.subject.dwi.data.iter().map(|s| s.to_bits()).collect::<Vec<_>>();
    let (one, two) = (made(&small, 1), made(&small, 2));
    assert!(bits(&one) == bits(&two));
    assert!(one.labels.data == two.labels.data && one.bundles == two.bundles);
    let other = made(&HeadSpec { seed: 2, subject: 2, ..small }, 2);
    assert!(other.labels.data != one.labels.data && other.bundles != one.bundles);
    // In air there is nothing but noise.
    let air = Tissue::Air as usize;
    let is_air = |head: &Head, v: usize| head.tissues.volume(air)[v] == 1.0;
    let both = (0..one.labels.data.len()).filter(|v| is_air(&one, *v) && is_air(&other, *v));
    let same = both.filter(|v| one.subject.dwi.data[*v] == other.subject.dwi.data[*v]).count();
    assert_eq!(same, 0);
}

#[test]
fn what_is_out_of_range_is_refused() {
    let workers = Workers::new(1).unwrap();
    for wrong in [
        HeadSpec { samples_per_axis: 1, ..spec() },
        HeadSpec { snr: 0.0, ..spec() },
        HeadSpec { scan: Some(HeadScan { finer: 5, ..HeadScan::default() }), ..spec() },
        HeadSpec { placement: Placement { voxel_mm: [60.0; 3], ..spec().placement }, ..spec() },
    ] {
        assert!(head(&wrong, &workers, &Silent).is_err());
    }
}

/// The head of [`made`] with a scan, which costs one more head.
fn scanned(scan: HeadScan, threads: usize) -> Head {
    let shells = vec![ShellSpec { b_s_per_mm2: 1000.0, directions: 1 }];
    let acquisition = Acquisition { b0s: 1, shells };
    let spec = HeadSpec { acquisition, scan: Some(scan), ..spec() };
    head(&spec, &Workers::new(threads).unwrap(), &Silent).unwrap()
}

fn quiet_scan() -> &'static Head {
    static HEAD: OnceLock<Head> = OnceLock::new();
    HEAD.get_or_init(|| scanned(HeadScan { snr: f64::INFINITY, ..HeadScan::default() }, 2))
}

#[test]
fn susceptibilities_of_a_scan_are_those_of_published_tissue() {
    let head = quiet_scan();
    let scan = head.scan.as_ref().unwrap();
    let chi = scan.truth("chi").unwrap();
    let mean = |name: &str| {
        let is_of = |n: &str| n.trim_start_matches("Left-").trim_start_matches("Right-") == name;
        let of: Vec<u16> =
            part_names().into_iter().filter(|(_, n)| is_of(n)).map(|(number, _)| number).collect();
        let is_it = |v: &&u32| of.contains(&(head.labels.data[**v as usize] as u16));
        let values: Vec<f64> = scan
            .mask
            .voxels
            .iter()
            .filter(is_it)
            .map(|&v| f64::from(chi.data[v as usize]))
            .collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    // Ranges of docs/phantom-head.md, ppm relative to fluid; voxels of 3 mm mix small nuclei with
    // what is around them.
    for (name, low, high) in [
        ("Pallidum", 0.09, 0.20),
        ("Putamen", 0.03, 0.10),
        ("Caudate", 0.03, 0.09),
        ("Thalamus", -0.02, 0.03),
        ("Substantia-Nigra", 0.06, 0.18),
        ("Cerebral-White-Matter", -0.06, 0.0),
        ("Cerebral-Cortex", -0.01, 0.04),
        ("Vein", 0.1, 0.4),
    ] {
        let found = mean(name);
        assert!((low..high).contains(&found), "{name}: {found} ppm, expected {low} to {high}");
    }
    let mut sorted = chi.data.clone();
    sorted.sort_by(f32::total_cmp);
    assert!(sorted[sorted.len() - 1] > 0.8, "no bleed");
    let pineal = chi.grid.ras_from_vox.inverse().unwrap().apply([0.0, -33.0, 2.5]);
    let near = (0..chi.data.len()).filter(|&v| {
        let p = chi.grid.voxel(v).map(|i| i as f64);
        (0..3).all(|a| (p[a] - pineal[a]).abs() < 2.0)
    });
    let lowest = near.map(|v| chi.data[v]).fold(0.0, f32::min);
    assert!(lowest < -0.8, "no calcification: {lowest}");
}

/// What is outside the brain makes a field in it that has no sources there: its mean over the points
/// at a distance from a voxel is that of the voxel.
#[test]
fn the_background_of_a_scan_has_no_sources_in_the_brain() {
    let scan = quiet_scan().scan.as_ref().unwrap();
    let [local, total] = ["local_field", "total_field"].map(|name| scan.truth(name).unwrap());
    let grid = total.grid;
    let mut inside = vec![false; grid.len()];
    scan.mask.voxels.iter().for_each(|&v| inside[v as usize] = true);
    let background = |v: usize| f64::from(total.data[v] - local.data[v]);
    let (mut laplacian, mut slope, mut count) = (0.0_f64, 0.0_f64, 0.0);
    for &voxel in &scan.mask.voxels {
        let at = grid.voxel(voxel as usize);
        let beside = |a: usize, by: isize| {
            let mut at = at;
            at[a] = at[a].checked_add_signed(by).filter(|i| *i < grid.dims[a])?;
            Some(grid.index(at))
        };
        let deep = (0..3).all(|a| (-3..=3).all(|by| beside(a, by).is_some_and(|v| inside[v])));
        if !deep {
            continue;
        }
        for a in 0..3 {
            slope +=
                (background(beside(a, 1).unwrap()) - background(beside(a, -1).unwrap())).powi(2);
        }
        let sum: f64 = (0..3)
            .map(|a| {
                let sides = [-1, 1].map(|by| background(beside(a, by).unwrap()));
                sides[0] + sides[1] - 2.0 * background(voxel as usize)
            })
            .sum();
        laplacian += sum * sum;
        count += 1.0;
    }
    assert!(count > 5000.0, "{count}");
    // The voxels' Laplacian of a harmonic field is of the fourth order in their size over the
    // distance to the sources, 12 mm and more; that of a source is of the order of the slope itself.
    let part = (laplacian / slope).sqrt();
    assert!(part < 0.1, "{part}");
}

#[test]
fn threads_make_no_difference_to_a_scan() {
    let coarse = |threads: usize| {
        let shells = vec![ShellSpec { b_s_per_mm2: 1000.0, directions: 1 }];
        let placement = Placement { dims: [20, 24, 20], voxel_mm: [9.0; 3], ..spec().placement };
        let acquisition = Acquisition { b0s: 1, shells };
        let scan = Some(HeadScan::default());
        let spec = HeadSpec { placement, acquisition, scan, ..spec() };
        head(&spec, &Workers::new(threads).unwrap(), &Silent).unwrap().scan.unwrap()
    };
    let (one, two) = (coarse(1), coarse(2));
    assert!(one.phase.data == two.phase.data && one.magnitude.data == two.magnitude.data);
    for (a, b) in one.truth.iter().zip(&two.truth) {
        assert!(a.image.data == b.image.data, "{}", a.name);
    }
}

#[test]
fn the_phase_of_a_scan_winds_with_the_field_from_its_offset() {
    let head = quiet_scan();
    let scan = head.scan.as_ref().unwrap();
    let [field, offset] = ["total_field", "phase_offset"].map(|name| scan.truth(name).unwrap());
    let [fluid, white] = [Tissue::Fluid, Tissue::White].map(|t| head.tissues.volume(t as usize));
    let (mut off, mut count) = (0, 0);
    for &voxel in &scan.mask.voxels {
        let v = voxel as usize;
        // What is all one is dephased by its slope alone.
        if white[v] < 1.0 && fluid[v] < 1.0 {
            continue;
        }
        // 42.58 Hz per T and ppm, 3 T, 4 ms.
        let turns = 42.577_478_518 * 3.0 * 0.004 * f64::from(field.data[v]);
        let expected = turns + f64::from(offset.data[v]) / std::f64::consts::TAU;
        let by = f64::from(scan.phase.volume(0)[v]) / std::f64::consts::TAU - expected;
        // Of eight parts of one decay the phase is the mean to the third order in how they differ.
        off += usize::from((by - by.round()).abs() > 0.01);
        count += 1;
    }
    // Some forty voxels hold parts of the bleed or the calcification, or lie at a sinus.
    assert!(off < 60 && count > 5000, "{off} of {count}");
}

/// Counts how often each stage looks whether it is stopped.
#[derive(Default)]
struct Looks {
    stage: Mutex<String>,
    of: Mutex<BTreeMap<String, usize>>,
}

impl Progress for Looks {
    fn start(&self, what: &str, _total: u64) {
        what.clone_into(&mut self.stage.lock().unwrap());
        self.of.lock().unwrap().entry(what.to_owned()).or_default();
    }

    fn advance(&self, _items: u64) {}

    fn warn(&self, _message: &str) {}

    fn is_cancelled(&self) -> bool {
        let stage = self.stage.lock().unwrap().clone();
        *self.of.lock().unwrap().entry(stage).or_default() += 1;
        false
    }
}

/// Ctrl-C was answered after up to 4 s: loops of seconds looked once, or not at all.
#[test]
fn every_stage_looks_often_whether_it_is_stopped() {
    let coarse = Placement { dims: [24, 29, 24], voxel_mm: [7.5; 3], ..spec().placement };
    let faults = Faults { motion: 2.0, ..Faults::default() };
    let scan = Some(HeadScan::default());
    let spec = HeadSpec { placement: coarse, faults, scan, snr: 30.0, ..spec() };
    let looks = Looks::default();
    head(&spec, &Workers::new(2).unwrap(), &looks).unwrap();
    let found = looks.of.into_inner().unwrap();
    // 17 000 voxels of the series, eight times as many of the field, each loop of a few thousand; the
    // lattices of the folding have 178 rows of planes and more.
    for (stage, least) in [
        ("folding the cortex", 1000),
        ("growing the bundles", 1000),
        ("sampling the head", 1000),
        ("filling the voxels", 1000),
        ("magnetising the head", 100),
        ("rendering the echoes", 20),
        ("measuring the head", 100),
        ("mapping the truth", 10),
    ] {
        assert!(found[stage] >= least, "{stage}: {} looks", found[stage]);
    }
    assert_eq!(found.keys().filter(|stage| !stage.is_empty()).count(), 8, "{found:?}");
}

/// What is written of the fibres is all that the signal of white matter is made of: its sum over
/// directions on the sphere, apart from the series' own expansion in Legendre polynomials.
#[test]
fn the_series_is_that_of_its_true_fibres() {
    const POINTS: usize = 20_000;
    let head = made();
    let maps = ["dirs", "fractions", "ODI", "NDI"].map(|name| head.truth(name).unwrap());
    let [dirs, fractions, spread, inside] = maps;
    let sphere: Vec<[f64; 3]> = (0..POINTS)
        .map(|i| {
            let z = 1.0 - (2.0 * i as f64 + 1.0) / POINTS as f64;
            let (sin, cos) = (i as f64 * std::f64::consts::PI * (3.0 - 5.0_f64.sqrt())).sin_cos();
            let r = (1.0 - z * z).sqrt();
            [r * cos, r * sin, z]
        })
        .collect();
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let white = head.tissues.volume(Tissue::White as usize);
    let pure = (0..white.len()).filter(|v| white[*v] == 1.0 && fractions.volume(0)[*v] > 0.0);
    let chosen: Vec<usize> = pure.step_by(601).collect();
    assert!(chosen.len() > 15, "{}", chosen.len());
    for v in chosen {
        for volume in 1..7 {
            let g = head.subject.gradients.dirs_ras[volume];
            // b = 1 ms/µm²; what is left of the water is free.
            let parts = (0..4).map(|k| f64::from(fractions.volume(k)[v]));
            let free = 1.0 - parts.clone().sum::<f64>();
            let mut expected = free * (-3.0_f64).exp();
            for (k, part) in parts.enumerate().filter(|(_, part)| *part > 0.0) {
                let n = [0, 1, 2].map(|a| f64::from(dirs.volume(3 * k + a)[v]));
                let index = f64::from(spread.volume(k)[v]);
                let kappa = 1.0 / (std::f64::consts::FRAC_PI_2 * index).tan();
                let density = f64::from(inside.volume(k)[v]);
                let (mut sum, mut weights) = (0.0, 0.0);
                for u in &sphere {
                    let (along, across) = (dot(*u, g).powi(2), 1.0 - dot(*u, g).powi(2));
                    let weight = (kappa * (dot(*u, n).powi(2) - 1.0)).exp();
                    let axons = (-2.0 * along).exp();
                    let around = (-1.6 * along - 0.55 * across).exp();
                    sum += weight * (density * axons + (1.0 - density) * around);
                    weights += weight;
                }
                expected += part * sum / weights;
            }
            let [s, s0] = [volume, 0].map(|i| f64::from(head.subject.dwi.volume(i)[v]));
            // f32 maps, and the sum over 20 000 points of what bends over 10°.
            assert!((s / s0 - expected).abs() < 2e-4, "{v} {volume}: {} {expected}", s / s0);
        }
    }
}
