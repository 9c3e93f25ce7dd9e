use fimbria_compute::{Silent, Workers};
use fimbria_image::{Affine, GradientTable, Image};
use fimbria_registration::{
    AlignOptions, CorrectOptions, Eddy, Place, Scan as Measured, align, correct, rotation,
};

use crate::phantom;
use crate::scans::{Scan, part};

/// Motion, fields and dropped slices in a short scan.
const SCAN: Scan = Scan {
    name: "short",
    shells: &[(1000.0, 16)],
    b0: 2,
    motion: 3.0,
    is_sudden: false,
    eddy_mm: 2.0,
    model: Eddy::Quadratic,
    sigma: 20.0,
    dropped: 4,
    is_half: false,
};

#[test]
fn motion_fields_and_dropped_slices_are_found_with_the_same_bits_on_any_threads() {
    let made = SCAN.made(&Workers::new(2).unwrap());
    let options =
        CorrectOptions { fwhm_vox: vec![4.0, 2.5, 2.0, 1.5, 1.0], ..CorrectOptions::default() };
    let with = |threads: usize| {
        let mut series = made.series.clone();
        let workers = Workers::new(threads).unwrap();
        let mask = phantom::mask();
        let corrected = correct(
            &mut series,
            &[Measured::new(&made.series)],
            &made.table,
            &mask,
            &options,
            &workers,
            &Silent,
        )
        .unwrap();
        (series, corrected)
    };
    let (series, corrected) = with(2);
    let [before, after] = made.errors(&corrected.places);
    // Sixteen directions predict each other badly: no more is asked than that the error halves.
    assert!(part(&before, 0.5) > 1.0, "{before:.2?}");
    assert!(part(&after, 0.5) < 0.5 * part(&before, 0.5), "{after:.2?}");
    for at in &made.dropped {
        assert!(corrected.outliers.iter().any(|o| (o.volume, o.slice) == *at), "{at:?}");
    }
    assert!(
        part(&corrected.left[1], 0.5) < 0.8 * part(&corrected.left[0], 0.5),
        "{:?}",
        corrected.left
    );
    let (again, _) = with(1);
    assert!(again.data == series.data);
}

#[test]
fn gradients_turn_with_the_head() {
    let scan = Scan { eddy_mm: 0.0, dropped: 0, model: Eddy::None, ..SCAN };
    let workers = Workers::new(2).unwrap();
    let made = scan.made(&workers);
    let mut series = made.series.clone();
    let options = CorrectOptions { eddy: Eddy::None, ..CorrectOptions::default() };
    let mask = phantom::mask();
    let corrected = correct(
        &mut series,
        &[Measured::new(&made.series)],
        &made.table,
        &mask,
        &options,
        &workers,
        &Silent,
    )
    .unwrap();
    // Voxel axes are scanner axes here.
    let off = |table: &GradientTable, v: usize| {
        let turn = &made.places[v].turn;
        let seen =
            |i: usize| -> f64 { (0..3).map(|k| turn[k][i] * made.table.dirs_ras[v][k]).sum() };
        let cos: f64 = (0..3).map(|i| seen(i) * table.dirs_ras[v][i]).sum();
        cos.clamp(-1.0, 1.0).acos().to_degrees()
    };
    let median = |table: &GradientTable| {
        let weighted = (0..table.len()).filter(|&v| !table.is_b0(v));
        part(&weighted.map(|v| off(table, v)).collect::<Vec<_>>(), 0.5)
    };
    let [before, after] = [&made.table, &corrected.table].map(median);
    assert!(after < 0.5 * before, "{before} {after}");
}

#[test]
fn an_image_of_another_contrast_is_laid_on_another() {
    let table = SCAN.table();
    let mut place = Place::still(1, Eddy::None);
    place.turn = rotation([0.06, -0.04, 0.05]);
    place.shift_mm = [4.0, -3.0, 2.0];
    let weighted = (0..table.len()).find(|&v| !table.is_b0(v)).unwrap();
    let one = |volume: usize, place: &Place| -> Image {
        let table = GradientTable {
            b_s_per_mm2: vec![table.b_s_per_mm2[volume]],
            dirs_ras: vec![table.dirs_ras[volume]],
            ..table.clone()
        };
        phantom::series(&table, std::slice::from_ref(place), 10.0)
    };
    let [fixed, moving] = [one(0, &Place::still(1, Eddy::None)), one(weighted, &place)];
    let workers = Workers::new(2).unwrap();
    let options = AlignOptions::default();
    let mask = phantom::mask();
    let transform: Affine = align(&fixed, &mask, &moving, &options, &workers, &Silent).unwrap();
    for corner in [[60.0, 0.0, 0.0], [0.0, -70.0, 20.0], [-30.0, 40.0, -30.0]] {
        let [there, known] = [transform.apply(corner), place.in_scanner(corner)];
        let off = (0..3).map(|a| (there[a] - known[a]).powi(2)).sum::<f64>().sqrt();
        // A fifth of a voxel.
        assert!(off < 0.5, "{there:?} {known:?}");
    }
}
