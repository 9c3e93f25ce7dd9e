//! The forward model as a double loop in f64: what every operator is held against.

use crate::kernel::sphere_field;
use crate::{Cylinder, FieldModel, Lattice, Shape};

/// A x: the field at the receivers, of susceptibilities `x`.
pub fn apply(model: &FieldModel, x: &[f64]) -> Vec<f64> {
    let mut field = vec![0.0; model.receivers.len()];
    each_pair(model, |receiver, unknown, kernel| field[receiver] += kernel * x[unknown]);
    field
}

/// A' y.
pub fn adjoint(model: &FieldModel, y: &[f64]) -> Vec<f64> {
    let mut x = vec![0.0; model.unknowns.len()];
    each_pair(model, |receiver, unknown, kernel| x[unknown] += kernel * y[receiver]);
    x
}

/// Gives `visit` the index of the receiver, that of the unknown, and the kernel between them.
fn each_pair(model: &FieldModel, mut visit: impl FnMut(usize, usize, f64)) {
    let geometry = &model.geometry;
    let lattice = Lattice::new(geometry);
    for (unknown, (&source, shape)) in model.unknowns.iter().zip(&model.shapes).enumerate() {
        let from = geometry.voxel(source as usize);
        let cylinder = match shape {
            Shape::Sphere | Shape::Crossing(_) => None,
            Shape::Cylinder(axis) => Cylinder::new(geometry, *axis),
        };
        for (receiver, &voxel) in model.receivers.iter().enumerate() {
            let to = geometry.voxel(voxel as usize);
            let steps = std::array::from_fn(|a| to[a] as i64 - from[a] as i64);
            if model.support.is_some_and(|s| steps.iter().any(|d| d.unsigned_abs() > s.into())) {
                continue;
            }
            let kernel = match &cylinder {
                None if steps == [0; 3] => lattice.sphere(),
                Some(cylinder) if steps == [0; 3] => lattice.cylinder(cylinder),
                None => sphere_field(geometry, steps),
                Some(cylinder) => cylinder.field(geometry, steps),
            };
            visit(receiver, unknown, kernel);
        }
    }
}

/// The field at every `stride`-th receiver, in single precision by the loop that one would write
/// first: what the fast operators are timed against.
pub fn plain_loop(model: &FieldModel, x: &[f32], stride: usize) -> Vec<f32> {
    /// A source: position, axis, the part of b across it, and the numbers of its kernel.
    struct Source {
        at: [f32; 3],
        axis: [f32; 3],
        across: [f32; 3],
        sin_squared: f32,
        radius: f32,
        factor: f32,
        is_cylinder: bool,
    }
    let geometry = &model.geometry;
    let single = |v: [f64; 3]| v.map(|x| x as f32);
    let position = |voxel: u32| {
        single(geometry.displacement(geometry.voxel(voxel as usize).map(|i| i as i64)))
    };
    let source = |(&voxel, shape): (&u32, &Shape)| {
        let cylinder = match shape {
            Shape::Sphere | Shape::Crossing(_) => None,
            Shape::Cylinder(axis) => Cylinder::new(geometry, *axis),
        };
        let at = position(voxel);
        match cylinder {
            None => Source {
                at,
                axis: [0.0; 3],
                across: single(geometry.b0),
                sin_squared: 0.0,
                radius: 0.0,
                factor: (0.25 / std::f64::consts::PI) as f32,
                is_cylinder: false,
            },
            Some(c) => Source {
                at,
                axis: single(c.axis),
                across: single(c.across),
                sin_squared: c.sin_squared as f32,
                radius: c.radius as f32,
                factor: (0.5 / (std::f64::consts::PI * c.length)) as f32,
                is_cylinder: true,
            },
        }
    };
    let sources: Vec<Source> = model.unknowns.iter().zip(&model.shapes).map(source).collect();
    let dot = |a: [f32; 3], b: [f32; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let field = |&receiver: &u32| {
        let to = position(receiver);
        let mut sum = 0.0;
        for (s, x) in sources.iter().zip(x) {
            let d = [to[0] - s.at[0], to[1] - s.at[1], to[2] - s.at[2]];
            let squared = dot(d, d);
            if squared == 0.0 {
                continue;
            }
            let guided = dot(d, s.across);
            if s.is_cylinder {
                let along = dot(d, s.axis);
                let h = 2.0 * s.radius - along.abs();
                if h > 0.0 {
                    let a = s.radius;
                    let window = h * h * (3.0 * a - h) / (4.0 * a * a * a);
                    let perpendicular = squared - along * along;
                    let angular = 2.0 * guided * guided / perpendicular - s.sin_squared;
                    sum += x * s.factor * angular / perpendicular * window;
                }
            } else {
                let angular = 3.0 * guided * guided / squared - 1.0;
                sum += x * s.factor * angular / (squared * squared.sqrt());
            }
        }
        sum
    };
    model.receivers.iter().step_by(stride.max(1)).map(field).collect()
}
