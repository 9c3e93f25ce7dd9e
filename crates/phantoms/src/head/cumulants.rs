//! True maps of the signal without noise, in closed form: its cumulants at b = 0.

use fimbria_compute::{Progress, Workers};
use rayon::prelude::*;

use super::compartments::{Compartments, Mixture, Population};
use super::filled;
use super::fixels::FIXELS;
use super::tissue::{AROUND, INSIDE, ISOTROPIC};
use super::watson::{Spread, Watson};
use crate::zeros::zeros;
use crate::{PhantomError, TruthMap, spread_directions};

/// Directions over which kurtosis is averaged: within 1 % of the integral over the sphere.
const DIRECTIONS: usize = 60;
/// Steps of the cosine between which the moments of fibres are lines: they are polynomials of
/// fourth degree, off by less than 1e-6.
const STEPS: usize = 2048;

/// FA, MD and MK of every voxel of `mask`.
///
/// # Errors
/// Where memory is short or the user stops it.
pub(super) fn maps(
    compartments: &Compartments,
    is_inside: impl Fn(u32) -> bool + Sync,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Vec<TruthMap>, PhantomError> {
    let tables: Vec<Vec<Moments>> = workers.install(|| Spread::all().map(moments).collect());
    let dirs = spread_directions(DIRECTIONS);
    let inside: Vec<&Mixture> =
        compartments.voxels.iter().filter(|mixture| is_inside(mixture.voxel)).collect();
    let of = |i: usize| {
        let mixture = inside[i];
        let [fa, md] = tensor(mixture, &tables);
        [fa, md, mean_kurtosis(mixture, &tables, &dirs)]
    };
    let found: Vec<[f64; 3]> = filled(inside.len(), workers, progress, of)?;
    let all = [
        ("FA", "fractional anisotropy of the diffusion tensor at b = 0, a pure number"),
        ("MD", "mean diffusivity at b = 0, mm²/s"),
        ("MK", "mean over directions of the kurtosis at b = 0, a pure number"),
    ];
    let mut maps = Vec::new();
    for (k, (name, description)) in all.into_iter().enumerate() {
        let mut image = zeros(compartments.grid, 1)?;
        let unit = if name == "MD" { 1e-3 } else { 1.0 };
        for (mixture, values) in inside.iter().zip(&found) {
            image.data[mixture.voxel as usize] = (unit * values[k]) as f32;
        }
        maps.push(TruthMap { name, description, image });
    }
    Ok(maps)
}

/// Directions, parts and bundles of the fibres of white matter.
///
/// # Errors
/// Where memory is short or the user stops it.
pub(super) fn fibres(
    compartments: &Compartments,
    progress: &dyn Progress,
) -> Result<Vec<TruthMap>, PhantomError> {
    let grid = compartments.grid;
    let (mut dirs, mut parts) = (zeros(grid, 3 * FIXELS)?, zeros(grid, FIXELS)?);
    let mut numbers = zeros(grid, FIXELS)?;
    let (mut dispersion, mut density) = (zeros(grid, FIXELS)?, zeros(grid, FIXELS)?);
    for (i, mixture) in compartments.voxels.iter().enumerate() {
        if i % (1 << 14) == 0 {
            progress.check()?;
        }
        let voxel = mixture.voxel as usize;
        for (k, population) in mixture.populations[..FIXELS].iter().enumerate() {
            if population.part > 0.0 {
                parts.volume_mut(k)[voxel] = population.part;
                numbers.volume_mut(k)[voxel] = f32::from(mixture.bundles[k] + 1);
                dispersion.volume_mut(k)[voxel] = population.spread.index() as f32;
                density.volume_mut(k)[voxel] = population.inside;
                for (a, c) in population.dir_ras.into_iter().enumerate() {
                    dirs.volume_mut(3 * k + a)[voxel] = c;
                }
            }
        }
    }
    let map = |name, description, image| TruthMap { name, description, image };
    Ok(vec![
        map("dirs", "fibre directions, x y z per fibre, scanner axes, 0 = none", dirs),
        map("fractions", "parts of the signal at b=0 of fibres 1 to 4, largest first", parts),
        map("bundles", "numbers of the bundles of fibres 1 to 4, as in bundles.txt", numbers),
        map("ODI", "NODDI's index of dispersion of fibres 1 to 4", dispersion),
        map("NDI", "part of the water of fibres 1 to 4 that is inside axons", density),
    ])
}

/// Means of D and of D² over the directions of fibres, µm²/ms: inside axons and around them.
type Moments = [[f64; 2]; 2];

/// By the cosine to the gradient.
fn moments(spread: Spread) -> Vec<Moments> {
    let watson = Watson::new(spread.index());
    let at = |i: usize| [INSIDE, AROUND].map(|d| watson.cumulants(d, i as f64 / STEPS as f64));
    (0..=STEPS).map(at).collect()
}

/// The mean over the water of a population.
fn over(population: &Population, [inside, around]: Moments) -> [f64; 2] {
    let part = f64::from(population.inside);
    [0, 1].map(|k| part * inside[k] + (1.0 - part) * around[k])
}

/// FA and MD, µm²/ms.
fn tensor(mixture: &Mixture, tables: &[Vec<Moments>]) -> [f64; 2] {
    let mut d = [[0.0; 3]; 3];
    for (part, free) in mixture.isotropic.iter().zip(ISOTROPIC) {
        (0..3).for_each(|a| d[a][a] += f64::from(*part) * free);
    }
    for population in mixture.populations.iter().filter(|p| p.part > 0.0) {
        let table = &tables[population.spread.place()];
        let [along, across] = [table[STEPS], table[0]].map(|moments| over(population, moments)[0]);
        let u = population.dir_ras.map(f64::from);
        let part = f64::from(population.part);
        for i in 0..3 {
            d[i][i] += part * across;
            (0..3).for_each(|j| d[i][j] += part * (along - across) * u[i] * u[j]);
        }
    }
    let md = (d[0][0] + d[1][1] + d[2][2]) / 3.0;
    let (mut all, mut off) = (0.0, 0.0);
    for i in 0..3 {
        for j in 0..3 {
            all += d[i][j] * d[i][j];
            off += (d[i][j] - if i == j { md } else { 0.0 }).powi(2);
        }
    }
    [if all > 0.0 { (1.5 * off / all).sqrt() } else { 0.0 }, md]
}

/// K = 3 (⟨D²⟩ - ⟨D⟩²) / ⟨D⟩² over compartments, averaged over directions.
fn mean_kurtosis(mixture: &Mixture, tables: &[Vec<Moments>], dirs: &[[f64; 3]]) -> f64 {
    let mut free = [0.0; 2];
    for (part, d) in mixture.isotropic.iter().zip(ISOTROPIC) {
        free[0] += f64::from(*part) * d;
        free[1] += f64::from(*part) * d * d;
    }
    let along = |g: &[f64; 3]| {
        let [mut mean, mut square] = free;
        for population in mixture.populations.iter().filter(|p| p.part > 0.0) {
            let u = population.dir_ras.map(f64::from);
            let cos = (u[0] * g[0] + u[1] * g[1] + u[2] * g[2]).abs().min(1.0);
            let at = cos * STEPS as f64;
            let low = (at as usize).min(STEPS - 1);
            let table = &tables[population.spread.place()];
            let [below, above] = [low, low + 1].map(|step| over(population, table[step]));
            let between = |k: usize| below[k] + (at - low as f64) * (above[k] - below[k]);
            mean += f64::from(population.part) * between(0);
            square += f64::from(population.part) * between(1);
        }
        if mean > 0.0 { 3.0 * (square - mean * mean) / (mean * mean) } else { 0.0 }
    };
    dirs.iter().map(along).sum::<f64>() / dirs.len() as f64
}
