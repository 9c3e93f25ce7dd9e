//! The kernels against closed forms.

use std::f64::consts::PI;

use fimbria_qsm::{Cylinder, FieldModel, Geometry, Shape, oracle, sphere_field};

const CUBIC: Geometry =
    Geometry { dims: [41; 3], spacing: [1.0; 3], b0: [0.0, 0.0, 1.0], reversed: [false; 3] };

fn model(geometry: &Geometry, shape: Shape, inside: impl Fn([f64; 3]) -> bool) -> FieldModel {
    let centre = geometry.dims.map(|n| (n / 2) as f64);
    let mask: Vec<u32> = (0..geometry.len() as u32)
        .filter(|&v| {
            let at = geometry.voxel(v as usize);
            inside([0, 1, 2].map(|a| (at[a] as f64 - centre[a]) * geometry.spacing[a]))
        })
        .collect();
    let middle = |v: &u32| {
        let [_, _, z] = geometry.voxel(*v as usize);
        z as f64 == centre[2]
    };
    let receivers: Vec<u32> = (0..geometry.len() as u32).filter(middle).collect();
    let shapes = vec![shape; mask.len()];
    FieldModel::new(geometry, &mask, shapes, &receivers).unwrap()
}

#[test]
fn a_paramagnetic_voxel_raises_the_field_along_b0() {
    assert!(sphere_field(&CUBIC, [0, 0, 1]) > 0.0);
    assert!(sphere_field(&CUBIC, [1, 0, 0]) < 0.0);
    // A sphere of volume 1 and susceptibility 1: (3 - 1) / 4π on the axis.
    assert!((sphere_field(&CUBIC, [0, 0, 2]) - 2.0 / (4.0 * PI * 8.0)).abs() < 1e-15);
    assert_eq!(sphere_field(&CUBIC, [0; 3]), 0.0);
}

#[test]
fn a_ball_of_spheres_has_the_field_of_a_sphere() {
    let r0 = 6.0;
    let model = model(&CUBIC, Shape::Sphere, |p| p.iter().map(|x| x * x).sum::<f64>() < r0 * r0);
    let volume = model.unknowns.len() as f64;
    let field = oracle::apply(&model, &vec![1.0; model.unknowns.len()]);
    let (mut worst_out, mut worst_in): (f64, f64) = (0.0, 0.0);
    for (&receiver, field) in model.receivers.iter().zip(field) {
        let at = model.geometry.voxel(receiver as usize);
        let [x, y] = [0, 1].map(|a| at[a] as f64 - 20.0);
        let r = x.hypot(y);
        // In the plane through the centre, across B0; nothing inside after Lorentz' correction.
        let expected = if r > r0 { -volume / (4.0 * PI * r.powi(3)) } else { 0.0 };
        let error = (field - expected).abs();
        if r > 2.0 * r0 {
            worst_out = worst_out.max(error / expected.abs());
        } else if r < r0 - 4.0 {
            worst_in = worst_in.max(error);
        }
    }
    // The ball is made of cubes: its moments beyond the dipole fall off faster.
    assert!(worst_out < 0.03, "{worst_out}");
    assert!(worst_in < 0.02, "{worst_in}");
}

#[test]
fn a_rod_of_cylinders_has_the_field_of_a_cylinder() {
    let r0 = 4.0;
    // A rod along z through the volume; B0 across it, along x.
    let geometry = Geometry { b0: [1.0, 0.0, 0.0], ..CUBIC };
    let model = model(&geometry, Shape::Cylinder([0.0, 0.0, 1.0]), |p| p[0].hypot(p[1]) < r0);
    let section = model.unknowns.len() as f64 / 41.0;
    let field = oracle::apply(&model, &vec![1.0; model.unknowns.len()]);
    let mut worst: f64 = 0.0;
    for (&receiver, field) in model.receivers.iter().zip(field) {
        let at = model.geometry.voxel(receiver as usize);
        let [x, y] = [0, 1].map(|a| at[a] as f64 - 20.0);
        let r2 = x * x + y * y;
        if r2 > (2.0 * r0).powi(2) {
            let expected = section / (2.0 * PI) * (x * x - y * y) / (r2 * r2);
            worst = worst.max((field - expected).abs() / (section / (2.0 * PI * r2)));
        }
    }
    // Along a lattice axis the window holds one voxel: 1 in its middle, 0 at the next.
    assert!(worst < 0.03, "{worst}");
}

#[test]
fn a_cylinder_inside_is_the_textbooks() {
    for (axis, expected) in [([0.0, 0.0, 1.0], 1.0 / 3.0), ([1.0, 0.0, 0.0], -1.0 / 6.0)] {
        let inside = Cylinder::new(&CUBIC, axis).unwrap().inside();
        assert!((inside - expected).abs() < 1e-15, "{axis:?}");
    }
}

#[test]
fn kernels_are_even_in_displacement_and_axis() {
    let geometry = Geometry { spacing: [0.8, 1.0, 1.25], b0: [0.48, -0.6, 0.64], ..CUBIC };
    let axis = [0.3, -0.5, 0.81];
    let there = Cylinder::new(&geometry, axis).unwrap();
    let back = Cylinder::new(&geometry, axis.map(|x: f64| -x)).unwrap();
    for steps in [[1, 0, 0], [3, -2, 1], [0, 5, 3], [-1, -1, 0]] {
        let f = there.field(&geometry, steps);
        assert!((f - there.field(&geometry, steps.map(|s: i64| -s))).abs() < 1e-15);
        assert!((f - back.field(&geometry, steps)).abs() < 1e-15);
    }
}

#[test]
fn a_turned_scanner_sees_the_same_field() {
    // Turning B0, axis and displacement by a quarter about z changes nothing.
    let turn = |v: [f64; 3]| [-v[1], v[0], v[2]];
    let geometry = Geometry { b0: [0.48, -0.6, 0.64], ..CUBIC };
    let turned = Geometry { b0: turn(geometry.b0), ..CUBIC };
    let axis = [0.3, -0.5, 0.81];
    let cylinder = Cylinder::new(&geometry, axis).unwrap();
    let turned_cylinder = Cylinder::new(&turned, turn(axis)).unwrap();
    for steps in [[1, 0, 0], [3, -2, 1], [0, 5, 3], [-1, -1, 0]] {
        let turned_steps = [-steps[1], steps[0], steps[2]];
        let (a, b) = (sphere_field(&geometry, steps), sphere_field(&turned, turned_steps));
        assert!((a - b).abs() < 1e-15);
        let a = cylinder.field(&geometry, steps);
        let b = turned_cylinder.field(&turned, turned_steps);
        assert!((a - b).abs() < 1e-15);
    }
}

/// Voxels of 1 x 1 x 2 mm: without a field of its own at each source up to 0.6 would be left within a bundle,
/// 0.77 within a ball.
#[test]
fn bodies_in_voxels_that_are_no_cubes_have_the_field_of_the_formula() {
    let unit = 2.0_f64.cbrt();
    let spacing = [1.0 / unit, 1.0 / unit, 2.0 / unit];
    for b0 in [[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]] {
        let geometry = Geometry { dims: [41, 41, 21], spacing, b0, reversed: [false; 3] };
        let within = |model: &FieldModel, near: &dyn Fn([f64; 3]) -> bool| -> Vec<f64> {
            let field = oracle::apply(model, &vec![1.0; model.unknowns.len()]);
            let pairs = model.receivers.iter().zip(field);
            let near = |v: u32| {
                let (at, dims) = (model.geometry.voxel(v as usize), model.geometry.dims);
                near([0, 1, 2].map(|a| (at[a] as f64 - (dims[a] / 2) as f64) * spacing[a]))
            };
            pairs.filter(|(v, _)| near(**v)).map(|(_, field)| field).collect()
        };
        let r0 = 7.0;
        let length = |p: [f64; 3]| p.iter().map(|x| x * x).sum::<f64>().sqrt();
        let ball = model(&geometry, Shape::Sphere, |p| length(p) < r0);
        for field in within(&ball, &|p| length(p) < r0 - 4.0) {
            assert!(field.abs() < 0.06, "{b0:?}: {field} in a ball");
        }
        // A bundle along y through the volume.
        let axis = [0.0, 1.0, 0.0];
        let bundle = model(&geometry, Shape::Cylinder(axis), |p| p[0].hypot(p[2]) < r0);
        let expected = (3.0 * b0[1] * b0[1] - 1.0) / 6.0;
        for field in within(&bundle, &|p| p[0].hypot(p[2]) < r0 - 4.0 && p[1].abs() < 8.0) {
            assert!((field - expected).abs() < 0.06, "{b0:?}: {field} of {expected} in a bundle");
        }
    }
}
