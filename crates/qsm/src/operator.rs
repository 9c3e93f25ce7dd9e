//! The forward model as an operator: dense as the paper has it, or fast.

use fimbria_compute::comm::Comm;
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};
use fimbria_compute::{HostError, HostSpace, Workers};

use crate::convolution::Convolution;
use crate::pairs::{self, CylinderSource, Cylinders, Kind, Pairs, SphereSource, Spheres, double};
use crate::{FieldModel, QsmError};

/// How products with A are made; both are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Products {
    /// Spheres by Fourier transform, cylinders where their slab is.
    #[default]
    Fast,
    /// Every pair of a source and a receiver, as published.
    Dense,
}

/// Which of the sources a process is responsible for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// This process, from 0.
    pub rank: usize,
    /// Number of processes.
    pub size: usize,
}

impl Share {
    /// One process that has them all.
    pub const WHOLE: Self = Self { rank: 0, size: 1 };

    fn has(self, index: usize) -> bool {
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
    cylinders: Pairs<Cylinders>,
    inside: Vec<Inside>,
    weights: Option<Vec<f32>>,
}

/// How the spheres are summed.
enum SphereSum {
    None,
    Convolution(Convolution<f32>),
    Pairs(Pairs<Spheres>),
}

/// What a cylinder does in its own voxel.
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
    /// Cylinders are dealt out in turn, and so are spheres where each is summed; the transform is
    /// made by the first process.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_share(
        model: &FieldModel,
        products: Products,
        workers: &'w Workers,
        share: Share,
    ) -> Result<Self, QsmError> {
        let (mut cylinder_index, mut cylinders) = pairs::cylinders::<f32>(model);
        let mut inside = inside(model);
        keep(&mut cylinder_index, |i| share.has(i));
        keep(&mut cylinders, |i| share.has(i));
        inside.retain(|inside| cylinder_index.binary_search(&inside.unknown).is_ok());
        let (mut sphere_index, mut spheres) = pairs::spheres::<f32>(model);
        let spheres = match products {
            Products::Fast if share.rank == 0 && !spheres.is_empty() => {
                let voxels: Vec<u32> =
                    sphere_index.iter().map(|&i| model.unknowns[i as usize]).collect();
                SphereSum::Convolution(Convolution::new(model, &voxels, workers)?)
            }
            Products::Dense => {
                keep(&mut sphere_index, |i| share.has(i));
                keep(&mut spheres, |i| share.has(i));
                SphereSum::Pairs(Pairs::new(model, spheres, false))
            }
            Products::Fast => {
                sphere_index.clear();
                SphereSum::None
            }
        };
        Ok(Self {
            domain: HostSpace::new(workers, model.unknowns.len()),
            range: HostSpace::new(workers, model.receivers.len()),
            sphere_index,
            cylinder_index,
            spheres,
            cylinders: Pairs::new(model, cylinders, products == Products::Fast),
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

/// One finite weight for each of `receivers`.
pub(crate) fn check_weights(weights: &[f32], receivers: usize) -> Result<(), QsmError> {
    if weights.len() != receivers {
        let (found, expected) = (weights.len(), receivers);
        return Err(QsmError::Length { what: "the list of weights", found, expected });
    }
    let count = weights.iter().filter(|w| !w.is_finite()).count();
    if count > 0 {
        return Err(QsmError::NotFinite { what: "the weights", count });
    }
    Ok(())
}

/// What cylinders do in their own voxels, where these are receivers.
pub(crate) fn inside(model: &FieldModel) -> Vec<Inside> {
    let inside = |(unknown, cylinder): (usize, crate::Cylinder)| {
        let voxel = model.unknowns[unknown];
        let receiver = model.receivers.binary_search(&voxel).ok()? as u32;
        Some(Inside { unknown: unknown as u32, receiver, field: cylinder.inside() })
    };
    model.cylinder_sources().filter_map(inside).collect()
}

fn keep<T>(items: &mut Vec<T>, mut index: impl FnMut(usize) -> bool) {
    let mut i = 0;
    items.retain(|_| {
        i += 1;
        index(i - 1)
    });
}

fn pick<T: Copy>(x: &[T], index: &[u32]) -> Vec<T> {
    index.iter().map(|&i| x[i as usize]).collect()
}

impl<'w> Operator for HostOperator<'w> {
    type Domain = HostSpace<'w>;
    type Range = HostSpace<'w>;

    fn domain(&self) -> &HostSpace<'w> {
        &self.domain
    }

    fn range(&self) -> &HostSpace<'w> {
        &self.range
    }

    fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        let workers = self.workers();
        let spheres = pick(x, &self.sphere_index);
        y.fill(0.0);
        match &self.spheres {
            SphereSum::None => {}
            SphereSum::Convolution(sum) => *y = sum.field(workers, &spheres),
            SphereSum::Pairs(sum) => sum.add_field(workers, &spheres, y),
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
            SphereSum::Pairs(sum) => sum.gather(workers, y),
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

/// A whose sources are spread over processes; unknowns and field are whole in each of them.
pub struct Distributed<'c, A> {
    part: A,
    comm: &'c dyn Comm,
}

impl<'c, A> Distributed<'c, A> {
    /// Sums the products of each process's `part` over `comm`.
    pub fn new(part: A, comm: &'c dyn Comm) -> Self {
        Self { part, comm }
    }

    /// In f64, in the order of ranks.
    fn sum(&self, values: &mut [f32]) {
        if self.comm.size() > 1 {
            let mut wide: Vec<f64> = values.iter().map(|&v| f64::from(v)).collect();
            self.comm.sum_f64(&mut wide);
            values.iter_mut().zip(wide).for_each(|(v, sum)| *v = sum as f32);
        }
    }
}

impl<'w, A> Operator for Distributed<'_, A>
where
    A: Operator<Domain = HostSpace<'w>, Range = HostSpace<'w>>,
{
    type Domain = HostSpace<'w>;
    type Range = HostSpace<'w>;

    fn domain(&self) -> &HostSpace<'w> {
        self.part.domain()
    }

    fn range(&self) -> &HostSpace<'w> {
        self.part.range()
    }

    fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        self.part.apply(x, y)?;
        self.sum(y);
        Ok(())
    }
}

impl<'w, A> LinearOperator for Distributed<'_, A>
where
    A: LinearOperator + Operator<Domain = HostSpace<'w>, Range = HostSpace<'w>>,
{
    fn adjoint(&self, y: &Vec<f32>, x: &mut Vec<f32>) -> Result<(), HostError> {
        self.part.adjoint(y, x)?;
        self.sum(x);
        Ok(())
    }
}

/// The fast or dense product throughout in f64, on one thread: what is left of rounding in the
/// [`HostOperator`] is held against it, and it against the [oracle](crate::oracle).
pub struct DoubleOperator<'w> {
    model: FieldModel,
    workers: &'w Workers,
    convolution: Option<(Vec<u32>, Convolution<f64>)>,
    spheres: Option<Wide<Spheres, SphereSource<f64>>>,
    cylinders: Wide<Cylinders, CylinderSource<f64>>,
    inside: Vec<Inside>,
}

/// Sources in f64, and the pairs that f32 finds them in.
struct Wide<K: Kind, S> {
    index: Vec<u32>,
    sources: Vec<S>,
    pairs: Pairs<K>,
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
        let (index, sources) = pairs::cylinders::<f64>(model);
        let (_, narrow) = pairs::cylinders::<f32>(model);
        let pairs = Pairs::new(model, narrow, products == Products::Fast);
        let cylinders = Wide { index, sources, pairs };
        let (index, sources) = pairs::spheres::<f64>(model);
        let (mut convolution, mut spheres) = (None, None);
        if products == Products::Fast && !sources.is_empty() {
            let voxels: Vec<u32> = index.iter().map(|&i| model.unknowns[i as usize]).collect();
            convolution = Some((index, Convolution::new(model, &voxels, workers)?));
        } else {
            let (_, narrow) = pairs::spheres::<f32>(model);
            spheres = Some(Wide { index, sources, pairs: Pairs::new(model, narrow, false) });
        }
        let inside = inside(model);
        Ok(Self { model: model.clone(), workers, convolution, spheres, cylinders, inside })
    }

    /// A x.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        let mut y = match &self.convolution {
            Some((index, sum)) => sum.field(self.workers, &pick(x, index)),
            None => vec![0.0; self.model.receivers.len()],
        };
        self.each_pair(|unknown, receiver, kernel| y[receiver] += kernel * x[unknown]);
        y
    }

    /// A' y.
    pub fn adjoint(&self, y: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.model.unknowns.len()];
        if let Some((index, sum)) = &self.convolution {
            for (&i, value) in index.iter().zip(sum.gather(self.workers, y)) {
                x[i as usize] = value;
            }
        }
        self.each_pair(|unknown, receiver, kernel| x[unknown] += kernel * y[receiver]);
        x
    }

    fn each_pair(&self, mut visit: impl FnMut(usize, usize, f64)) {
        if let Some(Wide { index, sources, pairs }) = &self.spheres {
            double::each_pair(pairs, sources, |i, receiver, kernel| {
                visit(index[i] as usize, receiver, kernel);
            });
        }
        let Wide { index, sources, pairs } = &self.cylinders;
        double::each_pair(pairs, sources, |i, receiver, kernel| {
            visit(index[i] as usize, receiver, kernel);
        });
        for inside in &self.inside {
            visit(inside.unknown as usize, inside.receiver as usize, inside.field);
        }
    }
}
