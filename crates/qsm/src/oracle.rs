//! The forward model as a double loop in f64: what every operator is held against.

use crate::kernel::sphere_field;
use crate::{Cylinder, FieldModel, Shape};

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
    for (unknown, (&source, shape)) in model.unknowns.iter().zip(&model.shapes).enumerate() {
        let from = geometry.voxel(source as usize);
        let cylinder = match shape {
            Shape::Sphere => None,
            Shape::Cylinder(axis) => Cylinder::new(geometry, *axis),
        };
        for (receiver, &voxel) in model.receivers.iter().enumerate() {
            let to = geometry.voxel(voxel as usize);
            let steps = std::array::from_fn(|a| to[a] as i64 - from[a] as i64);
            if model.support.is_some_and(|s| steps.iter().any(|d| d.unsigned_abs() > s.into())) {
                continue;
            }
            let kernel = match &cylinder {
                None => sphere_field(geometry, steps),
                Some(cylinder) => cylinder.field(geometry, steps),
            };
            visit(receiver, unknown, kernel);
        }
    }
}
