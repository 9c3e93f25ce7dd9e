//! The penalty D: a discrete second derivative.

use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace as _};
use fimbria_compute::{HostError, HostSpace, Workers};
use rayon::prelude::*;

use crate::FieldModel;

/// Weight of each of the 6 voxels that share a face and the 12 that share an edge; with -1 in the
/// centre they sum to zero.
pub(crate) const FACE: f64 = 10.0 / 96.0;
/// As [`FACE`], of the 12 that share an edge.
pub(crate) const EDGE: f64 = 3.0 / 96.0;

/// What lies beyond the unknowns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edges {
    /// Nothing: a voxel is compared with its neighbours among the unknowns only.
    #[default]
    Free,
    /// Susceptibility 0, as published: the map is drawn to 0 at the edge of the mask, and D has a
    /// row for every voxel of the volume.
    Zero,
}

/// D x, a value for every voxel of the model's box, of susceptibilities x of the unknowns.
pub struct Laplacian<'w> {
    domain: HostSpace<'w>,
    range: HostSpace<'w>,
    dims: [usize; 3],
    /// Places of the unknowns in the box, and in a box with a border of one voxel.
    unknowns: Vec<u32>,
    bordered: Vec<u32>,
    edges: Edges,
    /// What is taken off for each voxel of the box: the sum of its neighbours' weights.
    centre: Vec<f32>,
}

impl<'w> Laplacian<'w> {
    /// Of the unknowns of `model`.
    pub fn new(model: &FieldModel, edges: Edges, workers: &'w Workers) -> Self {
        let dims = model.geometry.dims;
        let [bx, by, _] = dims.map(|n| n + 2);
        let bordered = |&voxel: &u32| {
            let [x, y, z] = model.geometry.voxel(voxel as usize);
            (x + 1 + bx * (y + 1 + by * (z + 1))) as u32
        };
        let mut laplacian = Self {
            domain: HostSpace::new(workers, model.unknowns.len()),
            range: HostSpace::new(workers, model.geometry.len()),
            dims,
            unknowns: model.unknowns.clone(),
            bordered: model.unknowns.iter().map(bordered).collect(),
            edges,
            centre: Vec::new(),
        };
        laplacian.centre = laplacian.centre();
        laplacian
    }

    /// What is taken off for each voxel of the box, as a part of it.
    pub(crate) fn centres(&self) -> &[f32] {
        &self.centre
    }

    fn centre(&self) -> Vec<f32> {
        match self.edges {
            Edges::Zero => vec![1.0; self.range.len()],
            Edges::Free => {
                let mut inside = self.empty();
                self.bordered.iter().for_each(|&at| inside[at as usize] = 1.0);
                let mut sums = vec![0.0; self.range.len()];
                self.neighbours(&inside, &mut sums);
                // Rows of voxels that are no unknowns are empty.
                let mut centre = vec![0.0; self.range.len()];
                self.unknowns.iter().for_each(|&i| centre[i as usize] = sums[i as usize]);
                centre
            }
        }
    }

    /// The box with its border, all zero.
    fn empty(&self) -> Vec<f32> {
        vec![0.0; self.dims.map(|n| n + 2).iter().product()]
    }

    /// The weighted sums of neighbours.
    fn neighbours(&self, bordered: &[f32], sums: &mut [f32]) {
        let [nx, ny, _] = self.dims;
        let (row, plane) = (nx + 2, (nx + 2) * (ny + 2));
        let (face, edge) = (FACE as f32, EDGE as f32);
        self.domain.workers().install(|| {
            sums.par_chunks_mut(nx * ny).enumerate().for_each(|(z, sums)| {
                for (y, sums) in sums.chunks_exact_mut(nx).enumerate() {
                    let first = 1 + row * (y + 1) + plane * (z + 1);
                    let line = |at: usize| &bordered[at - 1..at + nx + 1];
                    let (here, y0, y1) = (line(first), line(first - row), line(first + row));
                    let (z0, z1) = (line(first - plane), line(first + plane));
                    let (a, b) = (line(first - plane - row), line(first - plane + row));
                    let (c, d) = (line(first + plane - row), line(first + plane + row));
                    for (x, sum) in sums.iter_mut().enumerate() {
                        let i = x + 1;
                        let faces = (here[i - 1] + here[i + 1]) + (y0[i] + y1[i]) + (z0[i] + z1[i]);
                        let edges = (y0[i - 1] + y0[i + 1])
                            + (y1[i - 1] + y1[i + 1])
                            + (z0[i - 1] + z0[i + 1])
                            + (z1[i - 1] + z1[i + 1])
                            + (a[i] + b[i])
                            + (c[i] + d[i]);
                        *sum = face * faces + edge * edges;
                    }
                }
            });
        });
    }
}

impl<'w> Operator for Laplacian<'w> {
    fimbria_compute::between!(HostSpace<'w> => HostSpace<'w>);

    fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        let mut volume = self.empty();
        self.bordered.iter().zip(x).for_each(|(&at, x)| volume[at as usize] = *x);
        match self.edges {
            Edges::Zero => self.neighbours(&volume, y),
            Edges::Free => {
                let mut sums = vec![0.0; y.len()];
                self.neighbours(&volume, &mut sums);
                y.fill(0.0);
                self.unknowns.iter().for_each(|&i| y[i as usize] = sums[i as usize]);
            }
        }
        for (&i, x) in self.unknowns.iter().zip(x) {
            y[i as usize] -= self.centre[i as usize] * x;
        }
        Ok(())
    }
}

impl LinearOperator for Laplacian<'_> {
    /// The stencil is even, so that the adjoint is the same sum over neighbours.
    fn adjoint(&self, y: &Vec<f32>, x: &mut Vec<f32>) -> Result<(), HostError> {
        let [nx, ny, _] = self.dims;
        let row = nx + 2;
        let mut volume = self.empty();
        match self.edges {
            Edges::Zero => {
                for (line, y) in y.chunks_exact(nx).enumerate() {
                    let first = 1 + row * (line % ny + 1 + (ny + 2) * (line / ny + 1));
                    volume[first..first + nx].copy_from_slice(y);
                }
            }
            Edges::Free => {
                let places = self.bordered.iter().zip(&self.unknowns);
                places.for_each(|(&at, &i)| volume[at as usize] = y[i as usize]);
            }
        }
        let mut sums = vec![0.0; y.len()];
        self.neighbours(&volume, &mut sums);
        for (x, &i) in x.iter_mut().zip(&self.unknowns) {
            let i = i as usize;
            *x = sums[i] - self.centre[i] * y[i];
        }
        Ok(())
    }
}
