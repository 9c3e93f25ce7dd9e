//! Several scans of a head as one series.

use fimbria_compute::{Silent, Workers};
use fimbria_image::frames::{product, transposed, turned};
use fimbria_image::{Affine, Grid, Image};
use fimbria_registration::{
    CorrectOptions, Corrected, Eddy, Place, Scan as Measured, correct, rotation,
};

use crate::phantom;
use crate::runs::Runs;
use crate::scans::{Scan, part};

/// Two runs of twelve directions each.
const SCAN: Scan = Scan {
    name: "two runs",
    shells: &[(1000.0, 24)],
    b0: 4,
    motion: 2.0,
    is_sudden: false,
    eddy_mm: 2.0,
    model: Eddy::Quadratic,
    sigma: 20.0,
    dropped: 0,
    is_half: false,
};

/// The series corrected, and what was found.
fn corrected(runs: &Runs, scans: &[Measured], workers: &Workers) -> (Image, Corrected) {
    let mut series = runs.made.series.clone();
    let (table, mask) = (&runs.made.table, phantom::mask());
    let options =
        CorrectOptions { fwhm_vox: vec![4.0, 2.5, 2.0, 1.5, 1.0], ..CorrectOptions::default() };
    let corrected = correct(&mut series, scans, table, &mask, &options, workers, &Silent).unwrap();
    (series, corrected)
}

#[test]
fn a_series_that_was_cut_in_two_is_corrected_as_if_it_had_not_been() {
    let workers = Workers::new(2).unwrap();
    let mut runs = Runs::cut(SCAN.made(&workers));
    let whole = Measured::new(&runs.made.series);
    let (series, of_whole) = corrected(&runs, &[whole], &workers);
    // The second was reconstructed with other factors.
    const BRIGHTER: f32 = 1.25;
    let first = runs.scans[0].volumes * runs.made.series.grid.len();
    runs.made.series.data[first..].iter_mut().for_each(|x| *x *= BRIGHTER);
    let (joined, of_two) = corrected(&runs, &runs.scans, &workers);
    let scale = of_two.scales[1].unwrap();
    // The noise of two means of two volumes over thousands of voxels.
    assert!((scale * f64::from(BRIGHTER) - 1.0).abs() < 0.01, "{scale}");
    let mask = phantom::mask();
    let apart: Vec<f64> = of_whole
        .places
        .iter()
        .zip(&of_two.places)
        .map(|(a, b)| phantom::distance(a, b, &mask)[0])
        .collect();
    // A twenty-fifth of a voxel: what mutual information says of weighted and unweighted means together, which are now
    // of other noise, and what is known from volume to volume ends at the cut.
    assert!(part(&apart, 0.5) < 0.1 && part(&apart, 1.0) < 0.1, "{apart:.3?}");
    let [one, two] = [&of_whole, &of_two].map(|found| runs.made.errors(&found.places)[1].clone());
    assert!(part(&two, 0.5) < part(&one, 0.5) + 0.03, "{one:.3?} {two:.3?}");
    let far = |v: usize| {
        let voxels = mask.voxels.iter().map(|at| *at as usize);
        let square = voxels.map(|at| (series.volume(v)[at] - joined.volume(v)[at]).powi(2));
        (square.sum::<f32>() / mask.len() as f32).sqrt()
    };
    let last = runs.made.table.len() - 1;
    // The noise is 20 before interpolation.
    assert!(far(0) < 10.0 && far(last) < 10.0, "{} {}", far(0), far(last));
}

#[test]
fn opposed_runs_meet_by_the_field_though_the_head_jumped_between_them() {
    let workers = Workers::new(2).unwrap();
    let runs = Runs::opposed(&SCAN, 5.0, &workers);
    let (_, found) = corrected(&runs, &runs.scans, &workers);
    let [before, after] = runs.made.errors(&found.places);
    let angles = runs.made.angles(&found.places);
    assert!(found.is_better && part(&before, 0.5) > 1.5, "{before:.2?}");
    // Voxels are 2.5 mm. A few directions leave 0.3 mm that is common to all weighted volumes of both; unweighted ones
    // of the second, beyond the jump and of the other polarity, lie where those of the first do.
    assert!(part(&after, 0.5) < 0.4 && part(&after, 1.0) < 0.5, "{after:.2?}");
    let unweighted = (0..after.len()).filter(|v| runs.made.table.is_b0(*v)).map(|v| after[v]);
    assert!(unweighted.fold(0.0, f64::max) < 0.1, "{after:.2?}");
    assert!(part(&angles, 0.5) < 0.4 && part(&angles, 1.0) < 0.6, "{angles:.2?}");
    // The first alone is placed better by no more than a twenty-fifth of a voxel: what is common to weighted volumes is
    // of other noise there.
    let first = runs.first_alone();
    let (_, alone) = corrected(&first, &first.scans, &workers);
    let alone = first.made.errors(&alone.places)[1].clone();
    let shared = &after[..alone.len()];
    assert!(part(shared, 0.5) < part(&alone, 0.5) + 0.1, "{shared:.2?} {alone:.2?}");
}

#[test]
fn headers_that_differ_by_a_rigid_motion_are_where_it_begins() {
    let workers = Workers::new(2).unwrap();
    let mut runs = Runs::cut(Scan { shells: &[(1000.0, 16)], ..SCAN }.made(&workers));
    // The field of view of the second was turned by 20 degrees and shifted by 25 mm; the head with it.
    let mut moved = Place::still(1, Eddy::None);
    moved.turn = rotation([0.3, -0.1, 0.15]);
    moved.shift_mm = [10.0, -20.0, 12.0];
    let (first, volumes) = (runs.scans[0].grid, runs.scans[0].volumes);
    let linear = product(&moved.turn, &first.ras_from_vox.linear());
    let origin = moved.in_scanner(first.ras_from_vox.0.map(|row| row[3]));
    let rows = std::array::from_fn(|i| [linear[i][0], linear[i][1], linear[i][2], origin[i]]);
    runs.scans[1].grid = Grid { ras_from_vox: Affine(rows), ..first };
    for dir in &mut runs.made.table.dirs_ras[volumes..] {
        *dir = turned(&moved.turn, *dir);
    }
    let (_, found) = corrected(&runs, &runs.scans, &workers);
    let after = runs.made.errors(&found.places)[1].clone();
    assert!(part(&after, 0.5) < 0.25 && part(&after, 1.0) < 0.6, "{after:.2?}");
    // In the scanner the head moved by what the headers say, and by its own motion.
    let motion = found.motions(&runs.scans)[volumes];
    let far = (0..3).map(|a| (motion.shift_mm[a] - moved.shift_mm[a]).powi(2)).sum::<f64>().sqrt();
    assert!(far < 5.0, "{motion:?}");
    // The turned table is along the axes of the first.
    let dir = found.table.dirs_ras[volumes + 3];
    let known = {
        let back = transposed(&moved.turn);
        let place = &runs.made.places[volumes + 3];
        let seen = turned(&back, runs.made.table.dirs_ras[volumes + 3]);
        turned(&transposed(&place.turn), seen)
    };
    let cos: f64 = (0..3).map(|a| dir[a] * known[a]).sum();
    assert!(cos.abs().acos().to_degrees() < 1.0, "{dir:?} {known:?}");
}
