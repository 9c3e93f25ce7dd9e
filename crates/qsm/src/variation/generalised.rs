//! Total generalised variation of second order: slopes cost nothing, only where they begin and end.
//!
//! Minimises over the map χ and a vector field v
//!
//! data + λ Σ |∇χ - v| + 3 λ Σ |E v| + ½ ε Σ χ² outside the mask,
//!
//! E v the symmetric part of the differences of v, by alternating directions as for total variation:
//! ∇χ - v and E v are variables apart, and χ and v follow together from a system of four equations for
//! each k, of which three are a multiple of the identity and a product of two vectors. Ten transforms an
//! iteration.
//!
//! Bredies, Kunisch and Pock, SIAM J Imaging Sci 3, 2010; for susceptibility: Langkammer et al.,
//! NeuroImage 111, 2015, whose weights of both terms stand as 1 to 3.

use fimbria_compute::fft::Complex32;
use fimbria_compute::{Progress, Workers};
use rayon::prelude::*;

use super::alternating::{MU_OF_LAMBDA, RHO_OF_MU, relative_change};
use super::data::Data;
use super::edges::{Ring, Shrinking};
use super::step::{Step, misfit, rms};
use super::{Outside, Variation, VariationMap};
use crate::fourier::{KSpace, at};
use crate::{FieldModel, QsmError};

/// The weight of |E v| as a part of that of |∇χ - v|.
pub(super) const OF_SECOND: f32 = 3.0;

/// Where the entry of a symmetric matrix is among xx yy zz xy xz yz.
const ENTRY: [[usize; 3]; 3] = [[0, 3, 4], [3, 1, 5], [4, 5, 2]];
/// The axes of each, and how often it stands in the matrix.
const AXES: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
const TIMES: [f32; 6] = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0];

pub(super) struct Generalised<'w> {
    pub(super) space: KSpace<'w>,
    pub(super) ring: Ring,
    pub(super) system: System,
    pub(super) variation: Variation,
    pub(super) places: Vec<u32>,
    is_inside: Vec<bool>,
}

/// χ and v of every k.
pub(super) struct System {
    /// Of ∇χ - v, of E v, and of χ outside the mask.
    pub(super) mu: f32,
    pub(super) second: f32,
    pub(super) rho: f32,
    /// Forward differences along each axis.
    pub(super) differences: [Vec<Complex32>; 3],
    /// 1 / what is left of the equation of χ, v eliminated; over the half spectrum.
    pub(super) inverse: Vec<f32>,
}

impl System {
    fn new(space: &KSpace<'_>, lambda: f32) -> Self {
        let mu = MU_OF_LAMBDA * lambda;
        let (second, rho) = (mu, RHO_OF_MU * mu);
        let (shape, spacing) = (space.shape(), space.spacing());
        let differences = [0, 1, 2].map(|a| {
            let turn = |i: usize| std::f64::consts::TAU * i as f64 / shape[a] as f64;
            let of = |i: usize| {
                let (sine, cosine) = turn(i).sin_cos();
                Complex32::new(((cosine - 1.0) / spacing[a]) as f32, (sine / spacing[a]) as f32)
            };
            (0..shape[a]).map(of).collect::<Vec<_>>()
        });
        let mut system = Self { mu, second, rho, differences, inverse: Vec::new() };
        let mut inverse = vec![0.0_f32; space.dipole.len()];
        space.workers().install(|| {
            inverse.par_iter_mut().enumerate().for_each(|(k, inverse)| {
                let d = system.difference(shape, k);
                let (first, part) = system.of_slopes(&d);
                let length: f32 = d.iter().map(Complex32::norm_sqr).sum();
                let square: Complex32 = d.iter().map(|d| d * d).sum();
                let explained = (length - part * square.norm_sqr()) / first;
                let dipole = space.dipole[k];
                // What v explains is at most the whole: rounding must not make it more.
                let rest = (mu * (length - mu * explained)).max(0.0);
                *inverse = (dipole * dipole + rho + rest).recip();
            });
        });
        system.inverse = inverse;
        system
    }

    fn difference(&self, [nx, ny, _]: [usize; 3], k: usize) -> [Complex32; 3] {
        let half = nx / 2 + 1;
        let at = [k % half, k / half % ny, k / (half * ny)];
        [0, 1, 2].map(|a| self.differences[a][at[a]])
    }

    /// The matrix of v is A + B c c', c the conjugate of `d`: A, and B / (A + B |c|²).
    fn of_slopes(&self, d: &[Complex32; 3]) -> (f32, f32) {
        let length: f32 = d.iter().map(Complex32::norm_sqr).sum();
        let (first, outer) = (self.mu + 0.5 * self.second * length, 0.5 * self.second);
        (first, outer / (first + outer * length))
    }

    /// χ and v of one k, from the right sides of their equations.
    fn solve(&self, d: &[Complex32; 3], inverse: f32, chi: &mut Complex32, v: [&mut Complex32; 3]) {
        let (first, part) = self.of_slopes(d);
        let dot = |v: &[Complex32; 3]| -> Complex32 { (0..3).map(|a| d[a] * v[a]).sum() };
        let right = [*v[0], *v[1], *v[2]];
        let along: Complex32 = (0..3).map(|a| d[a].conj() * right[a]).sum();
        let square: Complex32 = d.iter().map(|d| d * d).sum();
        let coupled = (along - square.conj() * dot(&right) * part) / first;
        *chi = (*chi + coupled * self.mu) * inverse;
        let right: [Complex32; 3] = std::array::from_fn(|a| right[a] + d[a] * *chi * self.mu);
        let sum = dot(&right) * part;
        for (a, v) in v.into_iter().enumerate() {
            *v = (right[a] - d[a].conj() * sum) / first;
        }
    }
}

impl<'w> Generalised<'w> {
    pub(super) fn new(
        model: &FieldModel,
        variation: Variation,
        workers: &'w Workers,
    ) -> Result<Self, QsmError> {
        let space = KSpace::new(&model.geometry, workers)?;
        let system = System::new(&space, variation.lambda as f32);
        let places = space.places(&model.geometry, &model.unknowns);
        let mut is_inside = vec![false; space.elements()];
        places.iter().for_each(|&place| is_inside[place as usize] = true);
        let ring = Ring::new(&space);
        Ok(Self { space, ring, system, variation, places, is_inside })
    }

    /// The differences that count; `None` where all do.
    pub(super) fn within(&self) -> Option<Vec<u8>> {
        match self.variation.outside {
            Outside::Sources => Some(self.ring.within(&self.is_inside, self.space.workers())),
            Outside::Nothing => None,
        }
    }

    /// The map whose field at the unknowns is `field`.
    pub(super) fn run(
        &self,
        field: &[f32],
        weights: Option<&[f32]>,
        progress: &dyn Progress,
    ) -> Result<VariationMap, QsmError> {
        let workers = self.space.workers();
        let n = self.space.elements();
        let Variation { outside, iterations: most, tolerance, radians, .. } = self.variation;
        // As for total variation; then those of E v.
        let (mut p, mut q) = (vec![0.0_f32; n], vec![0.0_f32; n]);
        let (mut h, mut of_edges) = (vec![[0.0_f32; 3]; n], vec![[0.0_f32; 3]; n]);
        let (mut second, mut of_second) = (vec![[0.0_f32; 6]; n], vec![[0.0_f32; 6]; n]);
        let mut of_field = vec![0.0_f32; field.len()];
        let radians = radians.map(|radians| radians as f32);
        let data = Data { field, weights, radians, places: &self.places };
        self.places.iter().zip(data.field).for_each(|(&place, &b)| p[place as usize] = b);
        let within = self.within();
        let threshold = MU_OF_LAMBDA.recip();
        let shrinking =
            Shrinking { threshold, counted: within.as_deref(), each: false, free: None };
        let (mut chi, mut has_settled) = (vec![0.0_f32; n], false);
        let (mut log, mut predicted): (Vec<Step>, Vec<f32>) = (Vec::new(), Vec::new());
        progress.start("inverting the field", most as u64);
        while log.len() < most {
            progress.check()?;
            let (map, mut next, v) = self.invert(&p, &q, &h, &second);
            let change = relative_change(&chi, &map, workers);
            chi = map;
            predicted = at(&self.places, &next);
            log.push(Step {
                rms: rms(self.places.iter().map(|&place| chi[place as usize])),
                relative_change: change,
                data: misfit(&predicted, &data),
                variation: self.variation_of(&chi, &v, shrinking),
            });
            progress.advance(1);
            has_settled = change <= tolerance;
            if has_settled {
                break;
            }
            data.step(&mut next, &mut of_field);
            p = next;
            outside.step(&mut q, &chi, &self.is_inside, workers);
            self.shrink_first(&chi, &v, (&mut of_edges, &mut h), shrinking);
            self.shrink_second(&v, (&mut of_second, &mut second));
        }
        let chi = at(&self.places, &chi);
        let (coefficients, anisotropy, field) = (Vec::new(), 0.0, predicted);
        Ok(VariationMap { chi, coefficients, anisotropy, field, log, has_settled })
    }

    /// The map, its field and v that agree best with the copies.
    fn invert(
        &self,
        p: &[f32],
        q: &[f32],
        h: &[[f32; 3]],
        second: &[[f32; 6]],
    ) -> (Vec<f32>, Vec<f32>, [Vec<f32>; 3]) {
        let (space, system) = (&self.space, &self.system);
        let mut pull = vec![0.0; q.len()];
        let together = |place: usize, gathered: f32| system.rho * q[place] + system.mu * gathered;
        self.ring.gather(h, &mut pull, together, space.workers());
        let mut chi = space.forward(&pull);
        let of_p = space.forward(p);
        space.each(&mut chi, |k, chi| *chi += of_p[k] * space.dipole[k]);
        drop(of_p);
        let mut v = [0, 1, 2].map(|a| {
            self.gathered_second(second, h, a, &mut pull);
            space.forward(&pull)
        });
        drop(pull);
        let [vx, vy, vz] = &mut v;
        space.workers().install(|| {
            let all = chi.par_iter_mut().zip(vx).zip(vy).zip(vz).zip(&system.inverse);
            all.enumerate().for_each(|(k, ((((chi, vx), vy), vz), inverse))| {
                let d = system.difference(space.shape(), k);
                system.solve(&d, *inverse, chi, [vx, vy, vz]);
            });
        });
        let mut of_map = chi.clone();
        space.each(&mut of_map, |k, field| *field *= space.dipole[k]);
        (space.back(chi), space.back(of_map), v.map(|v| space.back(v)))
    }

    /// Component `a` of μ₂ E'(second) - μ h.
    fn gathered_second(&self, second: &[[f32; 6]], h: &[[f32; 3]], a: usize, to: &mut [f32]) {
        let [nx, ny, _] = self.ring.shape;
        let System { mu, second: weight, .. } = self.system;
        self.space.workers().install(|| {
            to.par_chunks_mut(nx).enumerate().for_each(|(row, to)| {
                let (y, z) = (row % ny, row / ny);
                for (x, to) in to.iter_mut().enumerate() {
                    let place = row * nx + x;
                    let next = self.ring.next(place, x, y, z);
                    let of_axis = |b: usize| {
                        let entry = ENTRY[a][b];
                        (second[place][entry] - second[next[b]][entry]) * self.ring.per_length[b]
                    };
                    let sum = of_axis(0) + of_axis(1) + of_axis(2);
                    *to = weight * sum - mu * h[place][a];
                }
            });
        });
    }

    /// Σ |∇χ - v| + 3 Σ |E v| of the differences that count.
    fn variation_of(&self, chi: &[f32], v: &[Vec<f32>; 3], by: Shrinking<'_>) -> f64 {
        let ring = &self.ring;
        ring.sum(self.space.workers(), |place, [x, y, z]| {
            let next = ring.next(place, x, y, z);
            let rise = |a: usize| (chi[next[a]] - chi[place]) * ring.per_length[a] - v[a][place];
            let before = ring.before(place, x, y, z);
            let (strain, counts) = (self.strain(v, place, before), self.counted(place, before));
            let square: f64 = (0..6)
                .filter(|&entry| counts[entry])
                .map(|entry| f64::from(TIMES[entry]) * f64::from(strain[entry]).powi(2))
                .sum();
            by.length(place, [0, 1, 2].map(rise)) + f64::from(OF_SECOND) * square.sqrt()
        })
    }

    /// E v, by differences from the voxels before.
    fn strain(&self, v: &[Vec<f32>; 3], place: usize, before: [usize; 3]) -> [f32; 6] {
        let rise =
            |of: usize, a: usize| (v[of][place] - v[of][before[a]]) * self.ring.per_length[a];
        AXES.map(|(a, b)| 0.5 * (rise(a, b) + rise(b, a)))
    }

    /// Which entries of E v are between voxels of the mask, where those alone count.
    fn counted(&self, place: usize, before: [usize; 3]) -> [bool; 6] {
        let is_in =
            |place: usize| self.variation.outside == Outside::Nothing || self.is_inside[place];
        AXES.map(|(a, b)| is_in(place) && is_in(before[a]) && is_in(before[b]))
    }

    /// The step of ∇χ - v.
    fn shrink_first(
        &self,
        chi: &[f32],
        v: &[Vec<f32>; 3],
        (u, h): (&mut [[f32; 3]], &mut [[f32; 3]]),
        by: Shrinking<'_>,
    ) {
        let [nx, ny, _] = self.ring.shape;
        self.space.workers().install(|| {
            let rows = u.par_chunks_mut(nx).zip(h.par_chunks_mut(nx)).enumerate();
            rows.for_each(|(row, (u, h))| {
                let (y, z) = (row % ny, row / ny);
                for (x, (u, h)) in u.iter_mut().zip(h).enumerate() {
                    let place = row * nx + x;
                    let next = self.ring.next(place, x, y, z);
                    let sum = std::array::from_fn(|a| {
                        (chi[next[a]] - chi[place]) * self.ring.per_length[a] - v[a][place] + u[a]
                    });
                    (*u, *h) = by.split(place, sum);
                }
            });
        });
    }

    /// The step of E v, of the entries that count.
    fn shrink_second(&self, v: &[Vec<f32>; 3], (u, h): (&mut [[f32; 6]], &mut [[f32; 6]])) {
        let [nx, ny, _] = self.ring.shape;
        let threshold = OF_SECOND * MU_OF_LAMBDA.recip() * self.system.mu / self.system.second;
        self.space.workers().install(|| {
            let rows = u.par_chunks_mut(nx).zip(h.par_chunks_mut(nx)).enumerate();
            rows.for_each(|(row, (u, h))| {
                let (y, z) = (row % ny, row / ny);
                for (x, (u, h)) in u.iter_mut().zip(h).enumerate() {
                    let place = row * nx + x;
                    let before = self.ring.before(place, x, y, z);
                    let counts = self.counted(place, before);
                    let mut sum = self.strain(v, place, before);
                    sum.iter_mut().zip(&*u).for_each(|(sum, u)| *sum += u);
                    let square: f32 = (0..6)
                        .filter(|&entry| counts[entry])
                        .map(|entry| TIMES[entry] * sum[entry] * sum[entry])
                        .sum();
                    let length = square.sqrt();
                    let part = if length > threshold { 1.0 - threshold / length } else { 0.0 };
                    for entry in 0..6 {
                        let y = if counts[entry] { part * sum[entry] } else { sum[entry] };
                        u[entry] = sum[entry] - y;
                        h[entry] = y - u[entry];
                    }
                }
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Geometry;

    /// The right sides that χ and v give, by the equations as they stand, are taken back to χ and v.
    #[test]
    fn the_system_of_a_frequency_is_solved() {
        let workers = Workers::new(1).unwrap();
        let geometry = Geometry {
            dims: [6, 5, 4],
            spacing: [0.9, 1.0, 1.2],
            b0: [0.0, 0.6, 0.8],
            reversed: [false; 3],
        };
        let space = KSpace::new(&geometry, &workers).unwrap();
        let system = System::new(&space, 1e-3);
        let (mu, second, rho) = (system.mu, system.second, system.rho);
        for k in 0..space.dipole.len() {
            let d = system.difference(space.shape(), k);
            let number = |i: usize| ((i * 37 + k * 11) % 101) as f32 / 50.0 - 1.0;
            let chi = Complex32::new(number(1), number(2));
            let v: [Complex32; 3] =
                std::array::from_fn(|a| Complex32::new(number(3 + a), number(7 + a)));
            // E v by backward differences, whose spectra are those of forward ones, conjugated, less
            // the sign.
            let e = d.map(|d| -d.conj());
            let strain = |a: usize, b: usize| (e[a] * v[b] + e[b] * v[a]) * 0.5;
            let (dipole, length) =
                (space.dipole[k], d.iter().map(Complex32::norm_sqr).sum::<f32>());
            let dv: Complex32 = (0..3).map(|a| d[a].conj() * v[a]).sum();
            let mut right = chi * (dipole * dipole + rho + mu * length) - dv * mu;
            let mut of_v: [Complex32; 3] = std::array::from_fn(|b| {
                let back: Complex32 = (0..3).map(|a| e[a].conj() * strain(a, b)).sum();
                v[b] * mu + back * second - d[b] * chi * mu
            });
            let [x, y, z] = &mut of_v;
            system.solve(&d, system.inverse[k], &mut right, [x, y, z]);
            // Products of f32 of order 1, divided by penalties of 0.1.
            assert!((right - chi).norm() < 1e-3, "{k}: {right} {chi}");
            assert!((0..3).all(|a| (of_v[a] - v[a]).norm() < 1e-3), "{k}: {of_v:?} {v:?}");
        }
    }
}
