//! What several tests need.

use fimbria_compute::philox::{Philox, normals};
use fimbria_qsm::{FieldModel, Geometry, Shape};

/// `n` standard normal numbers, the same for the same seed.
pub(crate) fn normal_numbers(seed: u64, n: usize) -> Vec<f64> {
    let philox = Philox::new(seed);
    (0..n as u64).map(|i| f64::from(normals::<f32>(philox.at(i, 0))[0])).collect()
}

pub(crate) fn narrow(x: &[f64]) -> Vec<f32> {
    x.iter().map(|&x| x as f32).collect()
}

pub(crate) fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).collect()
}

pub(crate) fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

pub(crate) fn inner(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// ‖got - expected‖ / ‖expected‖
pub(crate) fn relative_error(got: &[f64], expected: &[f64]) -> f64 {
    let difference: Vec<f64> = got.iter().zip(expected).map(|(a, b)| a - b).collect();
    assert_eq!(got.len(), expected.len());
    norm(&difference) / norm(expected)
}

/// An ellipsoid of unknowns, a third of them cylinders along smoothly turning axes, seen from a
/// larger ellipsoid; B0 oblique, voxels not cubic.
pub(crate) fn model(dims: [usize; 3]) -> FieldModel {
    let spacing = [0.9, 1.0, 1.0 / 0.9];
    let geometry = Geometry { dims, spacing, b0: [0.36, -0.48, 0.8], reversed: [false; 3] };
    let radius = |voxel: usize| {
        let at = geometry.voxel(voxel);
        (0..3).map(|a| (2.0 * (at[a] as f64 + 0.5) / dims[a] as f64 - 1.0).powi(2)).sum::<f64>()
    };
    let within = |r: f64| {
        (0..geometry.len() as u32).filter(|&v| radius(v as usize) < r).collect::<Vec<u32>>()
    };
    let mask = within(0.8);
    let shapes = mask.iter().map(|&voxel| {
        let [x, y, z] = geometry.voxel(voxel as usize).map(|i| i as f64 / 10.0);
        if voxel % 3 == 0 {
            Shape::Cylinder(unit([(x + z).sin(), (y - 0.3).cos(), (x * y).sin() + 0.2]))
        } else {
            Shape::Sphere
        }
    });
    FieldModel::new(&geometry, &mask, shapes.collect(), &within(1.0)).unwrap()
}

/// The voxel at each place of a volume of `dims` that is stored with its axes in another `order`, some of
/// them `backwards`.
pub(crate) fn stored(order: [usize; 3], backwards: [bool; 3], dims: [usize; 3]) -> Vec<usize> {
    let of = order.map(|a| dims[a]);
    let voxel = |place: usize| {
        let i = [place % of[0], place / of[0] % of[1], place / (of[0] * of[1])];
        let mut at = [0; 3];
        for a in 0..3 {
            at[order[a]] = if backwards[a] { of[a] - 1 - i[a] } else { i[a] };
        }
        at[0] + dims[0] * (at[1] + dims[1] * at[2])
    };
    (0..dims.iter().product()).map(voxel).collect()
}

fn unit(v: [f64; 3]) -> [f64; 3] {
    let n = norm(&v);
    v.map(|x| x / n)
}
