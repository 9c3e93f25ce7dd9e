//! A head whose own field shifts what it shows, moving.

use fimbria_compute::{Silent, Workers};
use fimbria_image::Image;
use fimbria_registration::{
    CorrectOptions, Distortion, Eddy, Lattice, Place, Scan as Measured, correct, rotation,
};

use crate::phantom;
use crate::scans::Scan;

/// Above the nose: shifted by up to 9 mm, stretched and squeezed by up to a third.
pub(crate) fn shift(p: [f64; 3]) -> (f64, [f64; 3]) {
    const MIDDLE: [f64; 3] = [0.0, 45.0, -15.0];
    const WIDTH: f64 = 17.0;
    let from = [0, 1, 2].map(|a| (p[a] - MIDDLE[a]) / WIDTH);
    let squares: f64 = from.iter().map(|x| x * x).sum();
    if squares > 16.0 {
        return (0.0, [0.0; 3]);
    }
    let shift = 9.0 * (-0.5 * squares).exp();
    (shift, from.map(|x| -shift * x / WIDTH))
}

/// Two unweighted volumes and twelve directions.
const SCAN: Scan = Scan {
    name: "distorted",
    shells: &[(1000.0, 12)],
    b0: 2,
    motion: 0.0,
    is_sudden: false,
    eddy_mm: 0.0,
    model: Eddy::None,
    sigma: 0.0,
    dropped: 0,
    is_half: false,
};

/// Turned and shifted from volume to volume; the first lies still.
fn places(volumes: usize) -> Vec<Place> {
    let place = |v: usize| {
        let mut place = Place::still(1, Eddy::None);
        let t = v as f64 / (volumes - 1) as f64;
        place.turn = rotation([0.06 * t, -0.02 * (3.0 * t).sin(), 0.05 * t]);
        place.shift_mm = [1.5 * t, -(2.0 * t).sin(), 2.0 * t];
        place
    };
    (0..volumes).map(place).collect()
}

/// Root mean square difference of two volumes over the mask where the field shifts by a voxel and more.
fn off(series: &Image, truth: &Image, volume: usize) -> f64 {
    let lattice = Lattice::new(&series.grid);
    let mask = phantom::mask();
    let near = mask.voxels.iter().filter(|v| shift(lattice.place(**v as usize)).0 > 2.5);
    let square = |v: &u32| {
        let [a, b] = [series, truth].map(|image| image.volume(volume)[*v as usize]);
        f64::from(a - b).powi(2)
    };
    let squares: Vec<f64> = near.map(square).collect();
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

#[test]
fn a_known_field_is_undone_of_a_head_that_moves_and_its_wrong_sign_makes_it_worse() {
    let table = SCAN.table();
    let (last, places) = (table.len() - 1, places(table.len()));
    let measured = phantom::distorted_series(&table, &places, 10.0, &|_| shift);
    let still = vec![Place::still(1, Eddy::None); table.len()];
    let truth = phantom::series(&table, &still, 0.0);
    let workers = Workers::new(2).unwrap();
    let lattice = Lattice::new(&measured.grid);
    let field = |sign: f64| {
        let all = (0..measured.grid.len()).map(|v| (sign * shift(lattice.place(v)).0) as f32);
        Distortion::along(1, &measured.grid, &all.collect::<Vec<_>>())
    };
    let with = |distortion: Option<Distortion>| {
        let options = CorrectOptions {
            eddy: Eddy::None,
            fwhm_vox: vec![4.0, 2.0, 1.0],
            ..CorrectOptions::default()
        };
        let mut series = measured.clone();
        let mask = phantom::mask();
        let scan = Measured { distortion, ..Measured::new(&series) };
        correct(&mut series, &[scan], &table, &mask, &options, &workers, &Silent).unwrap();
        // The first, which lay still, and the one that moved most.
        [0, last].map(|volume| off(&series, &truth, volume))
    };
    let [plain, right, wrong] = [None, Some(field(1.0)), Some(field(-1.0))].map(with);
    for volume in 0..2 {
        let [plain, right, wrong] = [plain[volume], right[volume], wrong[volume]];
        // What is left is noise (10) and interpolation across edges of some hundreds.
        assert!(right < 0.5 * plain, "{plain:.1} {right:.1}");
        assert!(wrong > 1.2 * plain, "{plain:.1} {wrong:.1}");
    }
}
