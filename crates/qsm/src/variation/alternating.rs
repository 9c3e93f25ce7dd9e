//! The iteration: alternating directions, every one of them exact.
//!
//! The field z = D χ + a B, the edges y = ∇(χ - Φ c) and the map itself are variables apart, each with a
//! multiplier, so that one step inverts in the Fourier domain and the others treat every voxel by
//! itself: z takes the data into account, y is shrunken, and outside the mask the map costs ε or is 0.
//! Four transforms an iteration.

use fimbria_compute::fft::Complex32;
use fimbria_compute::{Progress, Workers};
use rayon::prelude::*;

use super::edges::Ring;
use super::explained::Explained;
use super::{ITERATIONS, Outside, Step, TOLERANCE, Variation, VariationMap, rms};
use crate::fourier::KSpace;
use crate::tensor::magnetisation;
use crate::{FieldModel, QsmError, Shape};

/// The penalty of ∇χ - y is so many times λ, that of χ outside the mask a part of it: with these the
/// head of `phantom head` converges in some 40 iterations.
const MU_OF_LAMBDA: f32 = 100.0;
const RHO_OF_MU: f32 = 0.3;
/// ε as a part of ρ: 1e-5 at the default of λ. Ten times as much makes maps of the phase of `phantom
/// head` two points worse, a hundred times 14.
const EPSILON_OF_RHO: f32 = 1.0 / 600.0;

/// Penalties, and what the inversion divides by.
pub(super) struct Weights {
    pub(super) mu: f32,
    pub(super) rho: f32,
    /// L = ∇'∇ over the half spectrum.
    pub(super) laplacian: Vec<f32>,
    /// 1 / (D² + μ L + ρ).
    pub(super) inverse: Vec<f32>,
}

/// Everything that stays the same from step to step.
pub(super) struct Alternating<'w> {
    space: KSpace<'w>,
    weights: Weights,
    ring: Ring,
    threshold: f32,
    outside: Outside,
    /// Places of the unknowns in the padded volume.
    places: Vec<u32>,
    explained: Explained,
    n_images: usize,
}

impl<'w> Alternating<'w> {
    /// The first of `images` is the FA of the unknowns.
    pub(super) fn new(
        model: &FieldModel,
        variation: Variation,
        images: Vec<Vec<f32>>,
        workers: &'w Workers,
    ) -> Result<Self, QsmError> {
        let geometry = &model.geometry;
        let space = KSpace::new(geometry, workers)?;
        let mu = MU_OF_LAMBDA * variation.lambda as f32;
        let rho = RHO_OF_MU * mu;
        let laplacian: Vec<f32> = space.laplacian().into_iter().map(|l| -l).collect();
        let parts = space.dipole.iter().zip(&laplacian);
        let inverse = parts.map(|(d, l)| (d * d + mu * l + rho).recip()).collect();
        let weights = Weights { mu, rho, laplacian, inverse };
        let shape = space.shape();
        let place = |&voxel: &u32| {
            let [x, y, z] = geometry.voxel(voxel as usize);
            (x + shape[0] * (y + shape[1] * z)) as u32
        };
        let places: Vec<u32> = model.unknowns.iter().map(place).collect();
        let field = images.first().map(|fa| field_of_anisotropy(model, &space, &places, fa));
        let n_images = images.len();
        let explained = Explained::new(&space, &weights, &places, images, field);
        let per_length = geometry.spacing.map(|s| s.recip() as f32);
        let threshold = MU_OF_LAMBDA.recip();
        let ring = Ring { shape, per_length };
        let outside = variation.outside;
        Ok(Self { space, weights, ring, threshold, outside, places, explained, n_images })
    }

    /// The map whose field at the unknowns is `field`.
    pub(super) fn run(
        &self,
        field: &[f32],
        data_weights: Option<&[f32]>,
        progress: &dyn Progress,
    ) -> Result<VariationMap, QsmError> {
        let space = &self.space;
        let workers = space.workers();
        let n = space.elements();
        let volume = || vec![0.0_f32; n];
        // z less its multiplier, the map's copy less its multiplier, y less its multiplier.
        let (mut p, mut q, mut h) = (volume(), volume(), vec![[0.0_f32; 3]; n]);
        let mut of_edges = vec![[0.0_f32; 3]; n];
        let mut of_field = vec![0.0_f32; self.places.len()];
        self.places.iter().zip(field).for_each(|(&place, b)| p[place as usize] = *b);
        let mut is_inside = vec![false; n];
        self.places.iter().for_each(|&place| is_inside[place as usize] = true);
        let (mut chi, mut numbers) = (volume(), Vec::new());
        let (mut log, mut predicted): (Vec<Step>, Vec<f32>) = (Vec::new(), Vec::new());
        let counted = (self.outside == Outside::Sources).then_some(&is_inside[..]);
        progress.start("inverting the field", ITERATIONS as u64);
        while log.len() < ITERATIONS {
            progress.check()?;
            let (map, of_map, found) = self.invert(&p, &q, &h);
            numbers = found;
            let change = relative_change(&chi, &map, workers);
            chi = map;
            let mut unexplained = chi.clone();
            self.explained.take_off(&self.places, &numbers, &mut unexplained);
            predicted = self.places.iter().map(|&place| of_map[place as usize]).collect();
            log.push(Step {
                rms: rms(self.places.iter().map(|&place| chi[place as usize])),
                relative_change: change,
                data: misfit(&predicted, field, data_weights),
                variation: self.ring.variation(&unexplained, counted, workers),
            });
            progress.advance(1);
            if change <= TOLERANCE {
                break;
            }
            // Outside the mask nothing is known of the field: its copy is what the map says.
            let mut next = of_map;
            for (i, &place) in self.places.iter().enumerate() {
                let wanted = next[place as usize] + of_field[i];
                let squared = data_weights.map_or(1.0, |weights| weights[i] * weights[i]);
                let z = (squared * field[i] + wanted) / (squared + 1.0);
                of_field[i] = wanted - z;
                next[place as usize] = z - of_field[i];
            }
            p = next;
            workers.install(|| {
                let all = q.par_iter_mut().zip(&chi).zip(&is_inside);
                all.for_each(|((q, chi), inside)| {
                    *q = if *inside { *chi } else { self.outside(*q, *chi) }
                });
            });
            self.ring.shrink(&unexplained, &mut of_edges, &mut h, self.threshold, counted, workers);
        }
        let chi = self.places.iter().map(|&place| chi[place as usize]).collect();
        let anisotropy = if self.n_images > 0 { numbers.pop().unwrap_or(0.0) } else { 0.0 };
        Ok(VariationMap { chi, coefficients: numbers, anisotropy, field: predicted, log })
    }

    /// The copy of the map outside the mask less its multiplier u, from the one before and the map.
    fn outside(&self, before: f32, chi: f32) -> f32 {
        match self.outside {
            // The copy is 0.
            Outside::Nothing => before - chi,
            // The copy is (χ + u) ρ / (ρ + ε), and what that leaves of χ + u is the next u.
            Outside::Sources => {
                let part = EPSILON_OF_RHO;
                let v = chi + before * part / (1.0 - part);
                v * (1.0 - part) / (1.0 + part)
            }
        }
    }

    /// The map, its field and the numbers that agree best with the copies.
    fn invert(&self, p: &[f32], q: &[f32], h: &[[f32; 3]]) -> (Vec<f32>, Vec<f32>, Vec<f64>) {
        let (space, w) = (&self.space, &self.weights);
        let of_p = space.forward(p);
        let gathered = self.ring.gathered(h, space.workers());
        let mut pull = q.to_vec();
        space.workers().install(|| {
            let all = pull.par_iter_mut().zip(&gathered);
            all.for_each(|(pull, gathered)| *pull = w.rho * *pull + w.mu * gathered);
        });
        let mut right = space.forward(&pull);
        drop(pull);
        space.each(&mut right, |k, right| *right += of_p[k] * space.dipole[k]);
        let numbers = self.explained.numbers(space, w, &self.places, &of_p, &gathered, &mut right);
        drop((of_p, gathered));
        space.each(&mut right, |k, right| *right *= w.inverse[k]);
        let mut of_map = right.clone();
        space.each(&mut of_map, |k, field| *field *= space.dipole[k]);
        self.explained.add_field(space, &numbers, &mut of_map);
        (space.back(right), space.back(of_map), numbers)
    }
}

/// Σ w² (`predicted` - `field`)².
fn misfit(predicted: &[f32], field: &[f32], weights: Option<&[f32]>) -> f64 {
    let each = predicted.iter().zip(field).enumerate();
    each.map(|(i, (p, b))| {
        let weight = weights.map_or(1.0, |weights| f64::from(weights[i]));
        (weight * (f64::from(*p) - f64::from(*b))).powi(2)
    })
    .sum()
}

/// The spectrum of B: tensors whose anisotropy is `fa` about the fibre axes.
fn field_of_anisotropy(
    model: &FieldModel,
    space: &KSpace<'_>,
    places: &[u32],
    fa: &[f32],
) -> Vec<Complex32> {
    let b0 = model.geometry.b0;
    let mut field = vec![Complex32::default(); space.dipole.len()];
    for a in 0..3 {
        let mut volume = vec![0.0_f32; space.elements()];
        for ((&place, shape), &fa) in places.iter().zip(&model.shapes).zip(fa) {
            if let Shape::Cylinder(axis) = shape {
                volume[place as usize] = magnetisation(0.0, f64::from(fa), *axis, b0)[a] as f32;
            }
        }
        let kernel = space.of_magnetisation(a, b0);
        let spectrum = space.forward(&volume);
        space.each(&mut field, |k, field| *field += spectrum[k] * kernel[k]);
    }
    field
}

/// ‖new - old‖ / ‖new‖, summed in blocks, so that it does not depend on threads.
fn relative_change(old: &[f32], new: &[f32], workers: &Workers) -> f64 {
    const BLOCK: usize = 1 << 14;
    let block = |(old, new): (&[f32], &[f32])| {
        old.iter().zip(new).fold((0.0, 0.0), |(change, size), (a, b)| {
            (change + f64::from(b - a).powi(2), size + f64::from(*b).powi(2))
        })
    };
    let blocks: Vec<(f64, f64)> =
        workers.install(|| old.par_chunks(BLOCK).zip(new.par_chunks(BLOCK)).map(block).collect());
    let (change, size) = blocks.iter().fold((0.0, 0.0), |(c, s), (a, b)| (c + a, s + b));
    // A field of zeros has a map of zeros, at once.
    if size == 0.0 { 0.0 } else { (change / size).sqrt() }
}
