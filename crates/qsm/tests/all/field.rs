//! The field of a map, which residuals are made of.

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_qsm::Geometry;
use fimbria_qsm::fourier::{FourierMethod, dipole_field, invert};

const GEOMETRY: Geometry =
    Geometry { dims: [40; 3], spacing: [1.0; 3], b0: [0.0, 0.6, 0.8], reversed: [false; 3] };

/// A soft ball of 0.2 in its middle, and what all of it comes to: what is sharp rings in the Fourier domain.
fn ball() -> (Vec<f32>, f64) {
    let amount = |voxel: usize| {
        let squares = GEOMETRY.voxel(voxel).map(|i| (i as f64 - 20.0).powi(2));
        0.2 * (-squares.iter().sum::<f64>() / (2.0 * 2.5 * 2.5)).exp()
    };
    let chi: Vec<f32> = (0..GEOMETRY.len()).map(|v| amount(v) as f32).collect();
    let sum = chi.iter().map(|x| f64::from(*x)).sum();
    (chi, sum)
}

#[test]
fn a_ball_has_the_field_of_a_dipole() {
    let workers = Workers::new(2).unwrap();
    let (chi, sum) = ball();
    let field = dipole_field(&GEOMETRY, &chi, &workers).unwrap();
    let (mut worst, mut largest): (f64, f64) = (0.0, 0.0);
    for (voxel, got) in field.iter().enumerate() {
        let d = GEOMETRY.voxel(voxel).map(|i| i as f64 - 20.0);
        let r = d.iter().map(|x| x * x).sum::<f64>().sqrt();
        if (10.0..16.0).contains(&r) {
            let along: f64 = d.iter().zip(GEOMETRY.b0).map(|(d, b)| d * b).sum();
            let expected = sum * (3.0 * along * along / (r * r) - 1.0)
                / (4.0 * std::f64::consts::PI * r.powi(3));
            worst = worst.max((f64::from(*got) - expected).abs());
            largest = largest.max(expected.abs());
        }
    }
    // The nearest images of the padded volume are 44 to 60 voxels away: (10/44)³ of the field here at most
    // from each of 6, of both signs.
    assert!(worst < 0.07 * largest, "{worst} {largest}");
}

#[test]
fn what_threshold_division_leaves_is_what_it_cut_off() {
    let workers = Workers::new(1).unwrap();
    let (chi, _) = ball();
    let field = dipole_field(&GEOMETRY, &chi, &workers).unwrap();
    let left = |threshold| {
        let method = FourierMethod::Tkd { threshold };
        let (map, log) =
            invert(&GEOMETRY, &field, method, &Backend::cpu(&workers), &Silent).unwrap();
        assert!(log.is_empty(), "it does not iterate");
        let of_map = dipole_field(&GEOMETRY, &map, &workers).unwrap();
        of_map.iter().zip(&field).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()
    };
    let all: f64 = field.iter().map(|b| f64::from(*b).powi(2)).sum();
    assert!(left(0.02) < left(0.2) && left(0.2) < all, "{} {} {all}", left(0.02), left(0.2));
}
