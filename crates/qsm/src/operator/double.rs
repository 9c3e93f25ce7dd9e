use fimbria_compute::Workers;

use super::{Inside, Products, Sources, pick};
use crate::convolution::Convolution;
use crate::direct::Direct;
use crate::pairs::Pairs;
use crate::{Cylinder, FieldModel, QsmError};

/// The fast or dense product throughout in f64, on one thread: what is left of rounding in the
/// [`HostOperator`](crate::HostOperator) is held against it, and it against the
/// [oracle](crate::oracle).
pub struct DoubleOperator<'w> {
    model: FieldModel,
    workers: &'w Workers,
    sphere_index: Vec<u32>,
    spheres: SphereSum,
    cylinder_index: Vec<u32>,
    cylinders: Vec<([usize; 3], Cylinder)>,
    pairs: Pairs,
    inside: Vec<Inside>,
}

enum SphereSum {
    Convolution(Convolution<f64>),
    Direct(Direct<f64>),
}

impl<'w> DoubleOperator<'w> {
    /// The whole of A.
    ///
    /// # Errors
    /// Where the volume is too large to transform.
    pub fn new(
        model: &FieldModel,
        products: Products,
        workers: &'w Workers,
    ) -> Result<Self, QsmError> {
        let sources = Sources::from_model(model);
        let inside = sources.inside(model);
        let voxels = pick(&model.unknowns, &sources.spheres);
        let spheres = match products {
            Products::Fast => SphereSum::Convolution(Convolution::new(model, &voxels, workers)?),
            Products::Dense => SphereSum::Direct(Direct::new(model, &voxels, workers)),
        };
        let pairs = Pairs::new(model, &sources.cylinders, products == Products::Fast);
        Ok(Self {
            model: model.clone(),
            workers,
            sphere_index: sources.spheres,
            spheres,
            cylinder_index: sources.cylinder_index,
            cylinders: sources.cylinders,
            pairs,
            inside,
        })
    }

    /// A x.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        let spheres = pick(x, &self.sphere_index);
        let mut y = match &self.spheres {
            SphereSum::Convolution(sum) => sum.field(self.workers, &spheres),
            SphereSum::Direct(sum) => sum.field(&spheres),
        };
        self.each_pair(|unknown, receiver, kernel| y[receiver] += kernel * x[unknown]);
        y
    }

    /// A' y.
    pub fn adjoint(&self, y: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.model.unknowns.len()];
        let spheres = match &self.spheres {
            SphereSum::Convolution(sum) => sum.gather(self.workers, y),
            SphereSum::Direct(sum) => sum.gather(y),
        };
        for (&i, value) in self.sphere_index.iter().zip(spheres) {
            x[i as usize] = value;
        }
        self.each_pair(|unknown, receiver, kernel| x[unknown] += kernel * y[receiver]);
        x
    }

    /// Of the cylinders.
    fn each_pair(&self, mut visit: impl FnMut(usize, usize, f64)) {
        self.pairs.each_pair(&self.model, &self.cylinders, |i, receiver, kernel| {
            visit(self.cylinder_index[i] as usize, receiver, kernel);
        });
        for inside in &self.inside {
            visit(inside.unknown as usize, inside.receiver as usize, inside.field);
        }
    }
}
