use fimbria_compute::Silent;
use fimbria_compute::dense::vec3::unit;
use fimbria_image::{Affine, Grid, Image};

use super::*;
use crate::sh::ShToForm;

const X: [f64; 3] = [1.0, 0.0, 0.0];
const Y: [f64; 3] = [0.0, 1.0, 0.0];
const Z: [f64; 3] = [0.0, 0.0, 1.0];

const WHAT: (ShBasis, usize) = (ShBasis::Mrtrix, 8);

/// Voxels whose density is a sum of deltas, as far as harmonics of degree 8 go.
fn deltas(voxels: &[&[(f64, [f64; 3])]]) -> (Image, Vec<u32>) {
    let grid = Grid { dims: [voxels.len(), 1, 1], ras_from_vox: Affine::IDENTITY };
    let mut image = Image::zeros(grid, sh_count(8));
    for (k, deltas) in voxels.iter().enumerate() {
        for &(amount, dir) in *deltas {
            let values = evaluate(ShBasis::Mrtrix, 8, dir);
            for (c, value) in values.iter().enumerate() {
                image.volume_mut(c)[k] += (amount * value) as f32;
            }
        }
    }
    (image, (0..voxels.len() as u32).collect())
}

/// Above the rings that cutting a delta at degree 8 leaves around it.
fn options() -> LobeOptions {
    LobeOptions { least_peak: 0.8, ..LobeOptions::default() }
}

fn lobes_of(voxels: &[&[(f64, [f64; 3])]]) -> Lobes {
    let (image, all) = deltas(voxels);
    let workers = Workers::new(1).unwrap();
    let what = (Some(WHAT.0), WHAT.1);
    Lobes::find(&image, &all, what, options(), &workers, &Silent).unwrap()
}

fn fixels_of(voxels: &[&[(f64, [f64; 3])]], threads: usize) -> Fixels {
    let (image, all) = deltas(voxels);
    let workers = Workers::new(threads).unwrap();
    Fixels::find(&image, &all, WHAT, options(), &workers, &Silent).unwrap()
}

#[test]
fn a_fixel_has_the_integral_of_its_lobe_and_its_maximum() {
    let dir = unit([0.3, -0.5, 0.7]).unwrap();
    let voxels: &[&[_]] = &[&[(1.3, dir)], &[], &[(0.7, X), (0.5, Y)]];
    let (found, lobes) = (fixels_of(voxels, 1), lobes_of(voxels));
    assert_eq!(found.first, [0, 1, 1, 3]);
    assert_eq!(found.integrals, lobes.integrals());
    // A delta cut at degree L is the sum of (2 l + 1) / 4 pi over even l up to L: 45 / 4 pi for L = 8.
    let summit = 1.3 * 45.0 / (2.0 * std::f64::consts::TAU);
    assert!((f64::from(found.peaks[0]) / summit - 1.0).abs() < 1e-6, "{:?}", found.peaks);
    // To the rounding of single precision; the mean of a round lobe, to that of directions 5° apart.
    for (found, least) in [(found.peak_dirs[0], 1e-6), (found.mean_dirs[0], 0.01)] {
        let off = dot(found.map(f64::from), dir).abs().min(1.0).acos();
        assert!(off < least + 4e-4, "{off}");
    }
}

#[test]
fn a_ridge_between_directions_is_no_lobe_of_its_own() {
    // Two fibres so near that their density has one maximum, on a ridge that no direction lies on.
    let off = |degrees: f64| {
        let (sin, cos) = degrees.to_radians().sin_cos();
        unit([cos, sin * 0.8, sin * 0.6]).unwrap()
    };
    let voxels: Vec<Vec<(f64, [f64; 3])>> = (0..40)
        .map(|k| vec![(0.5, off(2.2 * k as f64)), (0.5, off(2.2 * k as f64 + 24.0))])
        .collect();
    let voxels: Vec<&[_]> = voxels.iter().map(|voxel| &voxel[..]).collect();
    assert_eq!(lobes_of(&voxels).len(), voxels.len());
    let found = fixels_of(&voxels, 1);
    for (k, ends) in found.first.windows(2).enumerate() {
        assert_eq!(
            ends[1] - ends[0],
            1,
            "{k}: {:?}",
            &found.peak_dirs[ends[0] as usize..ends[1] as usize]
        );
        let middle =
            dot(found.peak_dirs[ends[0] as usize].map(f64::from), off(2.2 * k as f64 + 12.0));
        assert!(middle.abs() > 0.99999, "{k}: {middle}");
    }
}

#[test]
fn fixels_have_the_same_bits_on_any_number_of_threads() {
    let voxel: &[_] = &[(0.7, X), (0.5, [0.0, 0.6, 0.8])];
    let voxels = vec![voxel; 300];
    assert_eq!(fixels_of(&voxels, 1), fixels_of(&voxels, 3));
}

#[test]
fn crossing_fibres_share_the_density_as_they_are_mixed() {
    let lobes = lobes_of(&[&[(1.0, X)], &[(0.7, X), (0.3, Y)], &[]]);
    assert!(lobes.of_voxel(2).is_empty() && lobes.along(2, X).is_none());
    let of = |k, dir| f64::from(lobes.integrals()[lobes.along(k, dir).unwrap()]);
    let whole = of(0, X);
    // The main lobe of a delta cut at degree 8; side lobes, of which there are more where fibres
    // cross, are the rest.
    assert!((of(1, X) / whole - 0.7).abs() < 0.04, "{}", of(1, X) / whole);
    assert!((of(1, Y) / whole - 0.3).abs() < 0.04, "{}", of(1, Y) / whole);
    assert_ne!(lobes.along(1, X), lobes.along(1, Y));
}

#[test]
fn the_integral_is_that_of_the_density() {
    // The lobes of a constant together are 4π times its value.
    let grid = Grid { dims: [1, 1, 1], ras_from_vox: Affine::IDENTITY };
    let mut image = Image::zeros(grid, 1);
    image.data[0] = 3.0;
    let (workers, what) = (Workers::new(1).unwrap(), (Some(ShBasis::Mrtrix), 0));
    let found = Lobes::find(&image, &[0], what, LobeOptions::default(), &workers, &Silent);
    let value = 3.0 * (0.25 / std::f64::consts::PI).sqrt();
    let sum: f32 = found.unwrap().integrals().iter().sum();
    assert!((f64::from(sum) / (2.0 * std::f64::consts::TAU * value) - 1.0).abs() < 1e-5);
}

#[test]
fn a_direction_belongs_to_the_lobe_it_lies_in_or_to_the_nearest() {
    let lobes = lobes_of(&[&[(0.6, X), (0.4, Z)]]);
    for degrees in [0.0_f64, 10.0, 20.0, 40.0] {
        let (sin, cos) = degrees.to_radians().sin_cos();
        assert_eq!(lobes.along(0, [cos, 0.0, sin]), lobes.along(0, X), "{degrees}");
        assert_eq!(lobes.along(0, [-cos, sin, 0.0]), lobes.along(0, X), "{degrees}");
        assert_eq!(lobes.along(0, [sin, 0.0, -cos]), lobes.along(0, Z), "{degrees}");
    }
}

#[test]
fn the_table_finds_the_nearest_direction() {
    let directions = Directions::new(724).unit;
    let nearest = Nearest::new(&directions);
    for dir in Directions::new(1999).unit {
        let dot = |d: &[f64; 3]| (d[0] * dir[0] + d[1] * dir[1] + d[2] * dir[2]).abs();
        let best = directions.iter().map(dot).fold(0.0, f64::max).min(1.0).acos();
        let found = dot(&directions[nearest.to(dir)]).min(1.0).acos();
        // A cell is 1.8° wide at most: its centre is within 1.3°, counted twice.
        assert!(found - best < 2.6_f64.to_radians(), "{found} {best}");
    }
}

#[test]
fn unique_entries_have_the_lobes_of_the_harmonics_that_they_are() {
    let dir = unit([0.3, -0.5, 0.7]).unwrap();
    let (image, all) = deltas(&[&[(0.7, X), (0.5, Y)], &[(1.3, dir)]]);
    let form = ShToForm::new(WHAT.0, WHAT.1).unwrap();
    let mut entries = Image::zeros(image.grid, sh_count(8));
    for k in 0..2 {
        let harmonics: Vec<f64> = (0..45).map(|c| f64::from(image.volume(c)[k])).collect();
        let of_voxel = form.to_form(&harmonics);
        (0..45).for_each(|c| entries.volume_mut(c)[k] = of_voxel[c] as f32);
    }
    let workers = Workers::new(1).unwrap();
    let found = Lobes::find(&entries, &all, (None, 8), options(), &workers, &Silent).unwrap();
    let expected = lobes_of(&[&[(0.7, X), (0.5, Y)], &[(1.3, dir)]]);
    assert_eq!((found.first.clone(), found.dirs()), (expected.first.clone(), expected.dirs()));
    for (found, expected) in found.integrals().iter().zip(expected.integrals()) {
        // Sums of 45 terms in single precision, the largest some tens of times the value.
        assert!((found / expected - 1.0).abs() < 1e-4, "{found} {expected}");
    }
    // To the directions, which lie 5° apart.
    let off = dot(found.dirs()[2].map(f64::from), dir).abs().acos().to_degrees();
    assert!(off < 4.0, "{off}");
}
