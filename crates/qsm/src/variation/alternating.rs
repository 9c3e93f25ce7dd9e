//! The iteration: alternating directions, every one of them exact.
//!
//! The field z = D χ + a B, the edges y = ∇(χ - Φ c) and the map itself are variables apart, each with a
//! multiplier, so that one step inverts in the Fourier domain and the others treat every voxel by
//! itself: z takes the data into account, y is shrunken, and outside the mask the map costs ε or is 0.
//! Four transforms an iteration.

use fimbria_compute::fft::Complex32;
use fimbria_compute::{Progress, Workers};
use rayon::prelude::*;

use super::data::Data;
use super::edges::{Ring, Shrinking};
use super::explained::Explained;
use super::step::{Step, misfit, rms};
use super::supported::supported;
use super::{Outside, Variation, VariationMap};
use crate::fourier::{KSpace, at};
use crate::{FieldModel, QsmError};

/// The penalty of ∇χ - y is so many times λ, that of χ outside the mask a part of it: with these the
/// head of `phantom head` converges in some 40 iterations.
pub(super) const MU_OF_LAMBDA: f32 = 100.0;
pub(super) const RHO_OF_MU: f32 = 0.3;
/// The differences along an axis that are taken for edges of a magnitude (Liu et al. 2012).
const EDGES: f64 = 0.3;

/// Penalties, and what the inversion divides by.
pub(super) struct Weights {
    pub(super) mu: f32,
    pub(super) rho: f32,
    /// L = ∇'∇ over the half spectrum.
    pub(super) laplacian: Vec<f32>,
    /// 1 / (D² + μ L + ρ).
    pub(super) inverse: Vec<f32>,
}

/// The part of the squared field of anisotropy that is not of isotropic sources, at least. Of fibres in all directions it is a
/// half; where all are within 20° of B0, or within 10° of the plane across it, less than this.
const LEAST_OWN: f64 = 0.2;

/// Everything that stays the same from step to step.
pub(super) struct Alternating<'w> {
    pub(super) space: KSpace<'w>,
    pub(super) weights: Weights,
    pub(super) ring: Ring,
    pub(super) variation: Variation,
    /// Places of the unknowns in the padded volume.
    pub(super) places: Vec<u32>,
    /// Which differences count.
    pub(super) counted: Option<Vec<u8>>,
    /// Whether each axis counts by itself.
    pub(super) each: bool,
    pub(super) explained: Explained,
    /// Differences of which no part costs anything, of every place.
    pub(super) free: Option<Vec<[f32; 3]>>,
}

impl<'w> Alternating<'w> {
    /// `fibres` are how anisotropic the unknowns are, where that is to explain a part of the field; the edges of
    /// `magnitude`, where there is one, cost nothing.
    pub(super) fn new(
        model: &FieldModel,
        variation: Variation,
        images: Vec<Vec<f32>>,
        fibres: Option<&[f32]>,
        magnitude: Option<&[f32]>,
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
        let places = space.places(geometry, &model.unknowns);
        let field = fibres.and_then(|fa| field_of_anisotropy(model, &space, &places, fa));
        let explained = Explained::new(&space, &weights, &places, images, field);
        let ring = Ring::new(&space);
        let mut is_inside = vec![false; space.elements()];
        places.iter().for_each(|&place| is_inside[place as usize] = true);
        let within = match variation.outside {
            Outside::Sources => Some(ring.within(&is_inside, workers)),
            Outside::Nothing => None,
        };
        let counted = match magnitude {
            None => within,
            Some(magnitude) => {
                let mut volume = vec![0.0; space.elements()];
                places.iter().zip(magnitude).for_each(|(&place, m)| {
                    volume[place as usize] = if m.is_finite() { *m } else { 0.0 };
                });
                let within = within.as_deref();
                Some(ring.but_for_edges_of(&volume, EDGES, &is_inside, within, workers))
            }
        };
        let each = magnitude.is_some();
        let free = None;
        Ok(Self { space, weights, ring, variation, places, counted, each, explained, free })
    }

    /// No part costs anything of the differences of `guide` that lie along those of `own`, maps of the unknowns.
    pub(super) fn support(&mut self, guide: &[f32], own: &[f32]) {
        let (space, workers) = (&self.space, self.space.workers());
        let rises = |map: &[f32]| {
            let mut volume = vec![0.0; space.elements()];
            self.places.iter().zip(map).for_each(|(&place, x)| volume[place as usize] = *x);
            let mut rises = self.ring.differences(&volume, workers);
            for (rise, bits) in rises.iter_mut().zip(self.counted.iter().flatten()) {
                (0..3).filter(|a| bits >> a & 1 == 0).for_each(|a| rise[a] = 0.0);
            }
            rises
        };
        self.free = Some(supported(space, rises(guide), &rises(own)));
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
        // z less its multiplier, which the field of the map takes the place of; the map's copy less its multiplier, y
        // less its multiplier.
        let (mut p, mut q, mut h) = (volume(), volume(), vec![[0.0_f32; 3]; n]);
        let mut spectra = [space.spectrum(), space.spectrum()];
        let mut of_edges = vec![[0.0_f32; 3]; n];
        let mut of_field = vec![0.0_f32; self.places.len()];
        let data =
            Data { field, weights: data_weights, radians: self.radians(), places: &self.places };
        self.places.iter().zip(data.field).for_each(|(&place, &b)| p[place as usize] = b);
        let mut is_inside = vec![false; n];
        self.places.iter().for_each(|&place| is_inside[place as usize] = true);
        let (mut chi, mut before, mut numbers) = (volume(), volume(), Vec::new());
        let (mut log, mut predicted): (Vec<Step>, Vec<f32>) = (Vec::new(), Vec::new());
        let Variation { outside, iterations: most, tolerance, .. } = self.variation;
        let (threshold, counted) = (MU_OF_LAMBDA.recip(), self.counted.as_deref());
        let shrinking =
            Shrinking { threshold, counted, each: self.each, free: self.free.as_deref() };
        let mut has_settled = false;
        progress.start("inverting the field", most as u64);
        while log.len() < most {
            progress.check()?;
            std::mem::swap(&mut chi, &mut before);
            numbers = self.invert(&mut p, &q, &h, &mut spectra, &mut chi);
            let change = relative_change(&before, &chi, workers);
            let unexplained = self.explained.unexplained(&self.places, &numbers, &chi);
            predicted = at(&self.places, &p);
            let variation =
                self.ring.shrink(&unexplained, &mut of_edges, &mut h, shrinking, workers);
            log.push(Step {
                rms: rms(self.places.iter().map(|&place| chi[place as usize])),
                relative_change: change,
                data: misfit(&predicted, &data),
                variation,
            });
            progress.advance(1);
            has_settled = change <= tolerance;
            if has_settled {
                break;
            }
            data.step(&mut p, &mut of_field);
            outside.step(&mut q, &chi, &is_inside, workers);
        }
        let chi = at(&self.places, &chi);
        let anisotropy = if self.explained.has_field { numbers.pop().unwrap_or(0.0) } else { 0.0 };
        let coefficients = numbers;
        Ok(VariationMap { chi, coefficients, anisotropy, field: predicted, log, has_settled })
    }

    pub(super) fn radians(&self) -> Option<f32> {
        self.variation.radians.map(|radians| radians as f32)
    }

    /// The map that agrees best with the copies, and its numbers; its field takes the place of `p`.
    fn invert(
        &self,
        p: &mut [f32],
        q: &[f32],
        h: &[[f32; 3]],
        [of_field, of_map]: &mut [Vec<Complex32>; 2],
        map: &mut [f32],
    ) -> Vec<f64> {
        let (space, w, ring) = (&self.space, &self.weights, &self.ring);
        let workers = space.workers();
        space.forward_into(p, of_field);
        let pull = |place: usize, gathered: f32| w.rho * q[place] + w.mu * gathered;
        ring.gather(h, map, pull, workers);
        space.forward_into(map, of_map);
        space.each(of_map, |k, right| *right += of_field[k] * space.dipole[k]);
        let along = |image: &[f32]| ring.gathered_along(h, &self.places, image);
        let numbers = self.explained.numbers(space, w, along, of_field, of_map);
        workers.install(|| {
            let all = of_map.par_iter_mut().zip(of_field.par_iter_mut());
            all.zip(&w.inverse).zip(&space.dipole).for_each(|(((map, field), inverse), dipole)| {
                *map *= inverse;
                *field = *map * dipole;
            });
        });
        self.explained.add_field(space, &numbers, of_field);
        space.back_into(of_map, map);
        space.back_into(of_field, p);
        numbers
    }
}

/// The spectrum of B: tensors whose anisotropy is `fa` about the fibre axes. `None` where it is nearly that of isotropic
/// sources, as where all fibres lie across B0, or along it: what is magnetic of white matter would be taken for its anisotropy,
/// whose edges cost nothing.
fn field_of_anisotropy(
    model: &FieldModel,
    space: &KSpace<'_>,
    places: &[u32],
    fa: &[f32],
) -> Option<Vec<Complex32>> {
    let b0 = model.geometry.b0;
    let along = |part: &dyn Fn([f64; 3]) -> f64| {
        let mut volume = vec![0.0_f32; space.elements()];
        for ((&place, shape), &fa) in places.iter().zip(&model.shapes).zip(fa) {
            if let Some(m) = shape.of_anisotropy(b0) {
                volume[place as usize] = (f64::from(fa) * part(m)) as f32;
            }
        }
        space.forward(&volume)
    };
    let mut field = vec![Complex32::default(); space.dipole.len()];
    for a in 0..3 {
        let spectrum = along(&|m| m[a]);
        let kernel = space.of_magnetisation(a, b0);
        space.each(&mut field, |k, field| *field += spectrum[k] * kernel[k]);
    }
    let isotropic = along(&|m| (0..3).map(|a| m[a] * b0[a]).sum());
    let mut left = field.clone();
    space.each(&mut left, |k, left| *left -= isotropic[k] * space.dipole[k]);
    let square = |spectrum: &[Complex32]| space.inner(spectrum, spectrum, |_| 1.0);
    (square(&left) > LEAST_OWN * square(&field)).then_some(field)
}

/// ‖new - old‖ / ‖new‖, summed in blocks, so that it does not depend on threads.
pub(crate) fn relative_change(old: &[f32], new: &[f32], workers: &Workers) -> f64 {
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
