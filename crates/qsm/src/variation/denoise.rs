//! Noise off an image, its edges kept.

use fimbria_compute::Workers;
use rayon::prelude::*;

use crate::FieldModel;

/// Steps of the dual iteration; by then maps of FA change by less than a thousandth.
const STEPS: usize = 60;
/// No voxel.
const NONE: u32 = u32::MAX;

/// argmin ½‖p - image‖² + `by` Σ |∇p| over the unknowns of `model`, neighbours beyond them not counted
/// (Rudin, Osher and Fatemi 1992), by the fast dual iteration of Beck and Teboulle (2009). Differences
/// are of neighbours, whatever their distance.
pub(super) fn without_noise(
    model: &FieldModel,
    image: &[f32],
    by: f32,
    workers: &Workers,
) -> Vec<f32> {
    let neighbours = Neighbours::new(model);
    let n = image.len();
    // The dual variable, and where the next step starts.
    let (mut dual, mut ahead) = (vec![[0.0_f32; 3]; n], vec![[0.0_f32; 3]; n]);
    let mut t = 1.0_f32;
    let mut clean = image.to_vec();
    for _ in 0..STEPS {
        neighbours.primal(image, &ahead, &mut clean, workers);
        let next_t = 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt());
        let momentum = (t - 1.0) / next_t;
        t = next_t;
        let steps = dual.par_iter_mut().zip(&mut ahead).enumerate();
        workers.install(|| {
            steps.for_each(|(i, (dual, ahead))| {
                let mut p: [f32; 3] = std::array::from_fn(|a| {
                    let next = neighbours.next[i][a];
                    let rise = if next == NONE { 0.0 } else { clean[next as usize] - clean[i] };
                    // 12 bounds the square of the norm of differences along three axes.
                    ahead[a] + rise / 12.0
                });
                let length = (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt();
                if length > by {
                    p.iter_mut().for_each(|p| *p *= by / length);
                }
                *ahead = std::array::from_fn(|a| p[a] + momentum * (p[a] - dual[a]));
                *dual = p;
            });
        });
    }
    neighbours.primal(image, &dual, &mut clean, workers);
    clean
}

/// Which unknowns lie after and before each along each axis.
struct Neighbours {
    next: Vec<[u32; 3]>,
    before: Vec<[u32; 3]>,
}

impl Neighbours {
    fn new(model: &FieldModel) -> Self {
        let [nx, ny, nz] = model.geometry.dims;
        let mut index = vec![NONE; model.geometry.len()];
        for (i, &voxel) in (0..).zip(&model.unknowns) {
            index[voxel as usize] = i;
        }
        let (steps, ends) = ([1, nx, nx * ny], [nx, ny, nz]);
        let (mut next, mut before) = (Vec::new(), Vec::new());
        for &voxel in &model.unknowns {
            let (voxel, at) = (voxel as usize, model.geometry.voxel(voxel as usize));
            let after = |a: usize| if at[a] + 1 < ends[a] { index[voxel + steps[a]] } else { NONE };
            let ahead = |a: usize| if at[a] > 0 { index[voxel - steps[a]] } else { NONE };
            next.push([0, 1, 2].map(after));
            before.push([0, 1, 2].map(ahead));
        }
        Self { next, before }
    }

    /// `image` - ∇'`dual`, where no difference leads beyond the unknowns.
    fn primal(&self, image: &[f32], dual: &[[f32; 3]], clean: &mut [f32], workers: &Workers) {
        workers.install(|| {
            clean.par_iter_mut().enumerate().for_each(|(i, clean)| {
                let gathered = |a: usize| {
                    let before = self.before[i][a];
                    let from = if before == NONE { 0.0 } else { dual[before as usize][a] };
                    from - if self.next[i][a] == NONE { 0.0 } else { dual[i][a] }
                };
                *clean = image[i] - (0..3).map(gathered).sum::<f32>();
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Geometry, Shape};

    fn line(n: usize) -> FieldModel {
        let geometry = Geometry {
            dims: [n, 1, 1],
            spacing: [1.0; 3],
            b0: [0.0, 0.0, 1.0],
            reversed: [false; 3],
        };
        let mask: Vec<u32> = (0..n as u32).collect();
        FieldModel::new(&geometry, &mask, vec![Shape::Sphere; n], &mask).unwrap()
    }

    /// The closed form of one step between two plateaus: each moves towards the other by
    /// `by` / its length.
    #[test]
    fn a_step_is_lowered_by_the_strength_over_its_length_and_stays_sharp() {
        let workers = Workers::new(1).unwrap();
        let image = [vec![0.0; 4], vec![1.0; 6]].concat();
        let clean = without_noise(&line(10), &image, 0.1, &workers);
        for (i, found) in clean.iter().enumerate() {
            let expected = if i < 4 { 0.1 / 4.0 } else { 1.0 - 0.1 / 6.0 };
            // What 60 steps leave of an error of 0.1.
            assert!((found - expected).abs() < 2e-3, "{i}: {found}, not {expected}");
        }
    }

    #[test]
    fn what_is_constant_stays() {
        let workers = Workers::new(1).unwrap();
        let clean = without_noise(&line(7), &[0.3; 7], 0.1, &workers);
        assert!(clean.iter().all(|value| (value - 0.3).abs() < 1e-6), "{clean:?}");
    }
}
