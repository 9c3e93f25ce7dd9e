//! The forward model as an operator: dense as the paper has it, or fast.

mod distributed;
mod double;

use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};
use fimbria_compute::{HostError, HostSpace, Workers};

pub use self::distributed::Distributed;
pub use self::double::DoubleOperator;
use crate::convolution::Convolution;
use crate::direct::Direct;
use crate::pairs::Pairs;
use crate::{Cylinder, FieldModel, Lattice, QsmError, Shape};

/// How products with A are made; both are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Products {
    /// Spheres by Fourier transform, cylinders where their slab is.
    #[default]
    Fast,
    /// Every pair of a source and a receiver, as published.
    Dense,
}

/// Which of the sources a process, or a device beside others, is responsible for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which of them, from 0.
    pub rank: usize,
    /// How many there are.
    pub size: usize,
}

impl Share {
    /// One that has them all.
    pub const WHOLE: Self = Self { rank: 0, size: 1 };

    pub(crate) fn has(self, index: usize) -> bool {
        index % self.size == self.rank
    }
}

/// A on this process's threads, from the unknowns of a [`FieldModel`] to its receivers.
///
/// In units of B0: ppm of susceptibility become ppm of field. With weights W the product is W A.
pub struct HostOperator<'w> {
    domain: HostSpace<'w>,
    range: HostSpace<'w>,
    /// Indices of the spheres and cylinders among the unknowns.
    sphere_index: Vec<u32>,
    cylinder_index: Vec<u32>,
    spheres: SphereSum,
    cylinders: Pairs,
    inside: Vec<Inside>,
    weights: Option<Vec<f32>>,
}

/// How the spheres are summed.
enum SphereSum {
    None,
    Convolution(Convolution<f32>),
    Direct(Direct<f32>),
}

/// What a source does in its own voxel.
#[derive(Clone, Copy)]
pub(crate) struct Inside {
    pub(crate) unknown: u32,
    pub(crate) receiver: u32,
    pub(crate) field: f64,
}

impl<'w> HostOperator<'w> {
    /// The whole of A.
    ///
    /// # Errors
    /// Where the volume is too large to transform.
    pub fn new(
        model: &FieldModel,
        products: Products,
        workers: &'w Workers,
    ) -> Result<Self, QsmError> {
        Self::of_share(model, products, workers, Share::WHOLE)
    }

    /// The part of A that belongs to the sources of one process: the sum over processes is A.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_share(
        model: &FieldModel,
        products: Products,
        workers: &'w Workers,
        share: Share,
    ) -> Result<Self, QsmError> {
        let sources = Sources::of_share(model, products, share);
        let inside = sources.inside(model);
        let voxels = pick(&model.unknowns, &sources.spheres);
        let spheres = match products {
            _ if voxels.is_empty() => SphereSum::None,
            Products::Fast => SphereSum::Convolution(Convolution::new(model, &voxels, workers)?),
            Products::Dense => SphereSum::Direct(Direct::new(model, &voxels, workers)),
        };
        Ok(Self {
            domain: HostSpace::new(workers, model.unknowns.len()),
            range: HostSpace::new(workers, model.receivers.len()),
            sphere_index: sources.spheres,
            cylinder_index: sources.cylinder_index,
            spheres,
            cylinders: Pairs::new(model, &sources.cylinders, products == Products::Fast),
            inside,
            weights: None,
        })
    }

    /// W A: each receiver's field times its weight.
    ///
    /// # Errors
    /// Where there is not one finite weight for each receiver.
    pub fn weighted(mut self, weights: Vec<f32>) -> Result<Self, QsmError> {
        check_weights(&weights, self.range.len())?;
        self.weights = Some(weights);
        Ok(self)
    }

    fn workers(&self) -> &'w Workers {
        self.domain.workers()
    }
}

/// The largest weight: sums of squares of many are numbers in single precision.
const LARGEST_WEIGHT: f32 = 1e9;

/// One weight for each of `receivers`, none below zero, some above.
pub(crate) fn check_weights(weights: &[f32], receivers: usize) -> Result<(), QsmError> {
    if weights.len() != receivers {
        let (found, expected) = (weights.len(), receivers);
        return Err(QsmError::Length { what: "the list of weights", found, expected });
    }
    let count = weights.iter().filter(|w| !(0.0..=LARGEST_WEIGHT).contains(*w)).count();
    if count > 0 {
        return Err(QsmError::Weights { count });
    }
    if weights.iter().all(|w| *w == 0.0) {
        return Err(QsmError::NoWeight);
    }
    Ok(())
}

/// The sources of a model by their shapes.
pub(crate) struct Sources {
    /// The spheres among the unknowns.
    pub(crate) spheres: Vec<u32>,
    /// The cylinders among the unknowns, and the voxel and kernel of each.
    pub(crate) cylinder_index: Vec<u32>,
    pub(crate) cylinders: Vec<([usize; 3], Cylinder)>,
}

impl Sources {
    pub(crate) fn from_model(model: &FieldModel) -> Self {
        let voxel = |unknown: usize| model.geometry.voxel(model.unknowns[unknown] as usize);
        let cylinder = |(i, cylinder): (usize, Cylinder)| (i as u32, (voxel(i), cylinder));
        let (cylinder_index, cylinders) = model.cylinder_sources().map(cylinder).unzip();
        let shapes = model.shapes.iter().enumerate();
        let spheres =
            shapes.filter(|(_, s)| !matches!(s, Shape::Cylinder(_))).map(|(i, _)| i as u32);
        Self { spheres: spheres.collect(), cylinder_index, cylinders }
    }

    /// Those of one of several: cylinders are dealt out in turn, and so are spheres where each is
    /// summed; the transform is made by the first.
    pub(crate) fn of_share(model: &FieldModel, products: Products, share: Share) -> Self {
        let mut sources = Self::from_model(model);
        keep(&mut sources.cylinder_index, |i| share.has(i));
        keep(&mut sources.cylinders, |i| share.has(i));
        match products {
            Products::Dense => keep(&mut sources.spheres, |i| share.has(i)),
            Products::Fast if share.rank > 0 => sources.spheres.clear(),
            Products::Fast => {}
        }
        sources
    }

    /// What sources do in their own voxels, where these are receivers: cylinders, and spheres of voxels that
    /// are no cubes.
    pub(crate) fn inside(&self, model: &FieldModel) -> Vec<Inside> {
        let lattice = Lattice::new(&model.geometry);
        let inside = |unknown: u32, field: &dyn Fn() -> f64| {
            let voxel = model.unknowns[unknown as usize];
            let receiver = model.receivers.binary_search(&voxel).ok()? as u32;
            Some(Inside { unknown, receiver, field: field() })
        };
        let cylinders = self.cylinder_index.iter().zip(&self.cylinders);
        let cylinders = cylinders.filter_map(|(&unknown, (_, cylinder))| {
            inside(unknown, &|| lattice.cylinder(cylinder))
        });
        let of_sphere = lattice.sphere();
        let spheres: &[u32] = if of_sphere == 0.0 { &[] } else { &self.spheres };
        let spheres = spheres.iter().filter_map(|&unknown| inside(unknown, &|| of_sphere));
        cylinders.chain(spheres).collect()
    }
}

fn keep<T>(items: &mut Vec<T>, mut index: impl FnMut(usize) -> bool) {
    let mut i = 0;
    items.retain(|_| {
        i += 1;
        index(i - 1)
    });
}

pub(crate) fn pick<T: Copy>(x: &[T], index: &[u32]) -> Vec<T> {
    index.iter().map(|&i| x[i as usize]).collect()
}

impl<'w> Operator for HostOperator<'w> {
    fimbria_compute::between!(HostSpace<'w> => HostSpace<'w>);

    fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        let workers = self.workers();
        let spheres = pick(x, &self.sphere_index);
        y.fill(0.0);
        match &self.spheres {
            SphereSum::None => {}
            SphereSum::Convolution(sum) => *y = sum.field(workers, &spheres),
            SphereSum::Direct(sum) => *y = sum.field(workers, &spheres),
        }
        self.cylinders.add_field(workers, &pick(x, &self.cylinder_index), y);
        for inside in &self.inside {
            y[inside.receiver as usize] += inside.field as f32 * x[inside.unknown as usize];
        }
        if let Some(weights) = &self.weights {
            y.iter_mut().zip(weights).for_each(|(y, w)| *y *= w);
        }
        Ok(())
    }
}

impl LinearOperator for HostOperator<'_> {
    fn adjoint(&self, y: &Vec<f32>, x: &mut Vec<f32>) -> Result<(), HostError> {
        let workers = self.workers();
        let weighted: Vec<f32>;
        let y = match &self.weights {
            None => y,
            Some(weights) => {
                weighted = y.iter().zip(weights).map(|(y, w)| y * w).collect();
                &weighted
            }
        };
        let spheres = match &self.spheres {
            SphereSum::None => Vec::new(),
            SphereSum::Convolution(sum) => sum.gather(workers, y),
            SphereSum::Direct(sum) => sum.gather(workers, y),
        };
        x.fill(0.0);
        for (&i, value) in self.sphere_index.iter().zip(spheres) {
            x[i as usize] = value;
        }
        let cylinders = self.cylinders.gather(workers, y);
        for (&i, value) in self.cylinder_index.iter().zip(cylinders) {
            x[i as usize] = value;
        }
        for inside in &self.inside {
            x[inside.unknown as usize] += inside.field as f32 * y[inside.receiver as usize];
        }
        Ok(())
    }
}
