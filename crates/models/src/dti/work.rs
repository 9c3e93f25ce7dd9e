//! What a fit costs at least: the floor that its time is held against.

use super::layout::MapLayout;
use super::recipe::{FirstWeights, Refinement};
use super::tables::{N_QUARTICS, N_TENSOR};
use super::{DtiMap, Problem};

/// The least work of one voxel in `f32`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeastWork {
    /// Arithmetic instructions on one number each; a fused multiply-add is one, so is a
    /// comparison.
    pub instructions: f64,
    /// Samples read.
    pub samples_read: usize,
    /// Numbers written, the status among them.
    pub numbers_written: usize,
}

/// Instructions of a logarithm or an exponential to `f32` accuracy: a polynomial of degree 6 to 8
/// and the exponent.
const TRANSCENDENTAL: usize = 12;
/// A Cholesky factorisation and the solution of 7 equations.
const SOLVE: usize = 200;
/// The eigenvalues and eigenvectors of a symmetric 3x3 matrix in closed form.
const EIGEN: usize = 150;
/// FA, MD and mode from the tensor.
const INVARIANTS: usize = 30;

impl Problem {
    /// Counts the least work of a voxel, `None` where the method iterates as often as the data
    /// ask for.
    pub fn least_work(&self) -> Option<LeastWork> {
        let recipe = &self.recipe;
        if recipe.refinement != Refinement::None {
            return None;
        }
        // The sum and the least of the samples, their scaling, the floor; then the logarithm.
        const LOGARITHM: usize = 4 + TRANSCENDENTAL;
        const ORDINARY: usize = N_TENSOR + 1;
        const PREDICT: usize = N_TENSOR;
        // The weight, the residual, their product; Σ w, Σ w x, Σ w b² g⁴; the right-hand side.
        const NORMAL: usize = 3 + (1 + N_TENSOR + N_QUARTICS) + (N_TENSOR + 1);
        const REWEIGHTED: usize = PREDICT + TRANSCENDENTAL + NORMAL;
        const RESIDUAL: usize = PREDICT + TRANSCENDENTAL + 2;
        let measured = usize::from(recipe.first != FirstWeights::Unit);
        let of_sample = LOGARITHM
            // Weighted by the measured signal, no estimate comes before.
            + if measured == 1 { NORMAL } else { ORDINARY }
            + recipe.reweighted_passes * REWEIGHTED
            + if self.wants_residual() { RESIDUAL } else { 0 };
        let of_voxel = (measured + recipe.reweighted_passes) * SOLVE + of_maps(&self.layout);
        Some(LeastWork {
            instructions: (self.n_volumes() * of_sample + of_voxel) as f64,
            samples_read: self.n_volumes(),
            numbers_written: self.n_map_rows(),
        })
    }
}

fn of_maps(layout: &MapLayout) -> usize {
    use DtiMap::{Ad, Fa, L1, L2, L3, Md, Mo, Rd, V1, V2, V3};
    let eigen = layout.has_any(&[Ad, Rd, L1, L2, L3, V1, V2, V3]);
    let invariants = layout.has_any(&[Fa, Md, Mo]);
    usize::from(eigen) * EIGEN + usize::from(invariants) * INVARIANTS + layout.n_rows()
}

#[cfg(test)]
mod tests {
    use crate::dti::{DtiMap, DtiOptions, Method, Problem};
    use fimbria_testing::acquisition;

    fn work(method: Method, maps: &[DtiMap]) -> Option<super::LeastWork> {
        let options = DtiOptions { method, maps: maps.to_vec(), ..DtiOptions::default() };
        Problem::new(&acquisition(6, &[(1000.0, 64)]), &options).unwrap().least_work()
    }

    #[test]
    fn more_passes_and_maps_are_more_work_and_iterations_cannot_be_counted() {
        let of = |method, maps| work(method, maps).unwrap().instructions;
        let tensor = &[DtiMap::Tensor];
        assert!(of(Method::Ols, tensor) < of(Method::Wls, tensor));
        assert!(of(Method::Wls, tensor) < of(Method::Iwls, tensor));
        assert!(of(Method::Wls, tensor) < of(Method::Wls, &DtiMap::ALL));
        assert_eq!(work(Method::Nlls, tensor), None);
        // Six elements and the status.
        assert_eq!(work(Method::Wls, tensor).unwrap().numbers_written, 7);
    }
}
