//! The objective as it is written, pair by pair in f64, and descents from what is found.

use std::f64::consts::TAU;

use fimbria_compute::{Silent, Workers};

use super::edges::Ring;
use super::supported::supported;
use super::*;
use crate::fourier::KSpace;
use crate::tensor::magnetisation;
use crate::{Geometry, Shape};

const B0: [f64; 3] = [0.36, -0.48, 0.8];
const DIMS: [usize; 3] = [10, 9, 8];
const STRENGTH: f64 = 1e-3;

/// An ellipsoid with fibres, their axes turning; and FA of two levels.
fn scene(reversed: [bool; 3]) -> (FieldModel, Vec<f32>) {
    let geometry = Geometry { dims: DIMS, spacing: [0.9, 1.0, 1.0 / 0.9], b0: B0, reversed };
    let at = |v: u32| geometry.voxel(v as usize).map(|i| i as f64);
    let inside = |v: &u32| {
        let p = at(*v);
        (0..3).map(|a| (2.0 * (p[a] + 0.5) / DIMS[a] as f64 - 1.0).powi(2)).sum::<f64>() < 1.0
    };
    let mask: Vec<u32> = (0..geometry.len() as u32).filter(inside).collect();
    let shape = |&v: &u32| {
        let [x, _, z] = at(v);
        let turn = 0.2 * (x + z);
        Shape::Cylinder([turn.cos(), 0.0, turn.sin()])
    };
    let fa = mask.iter().map(|&v| if at(v)[1] > 4.0 { 0.7 } else { 0.1 }).collect();
    (FieldModel::new(&geometry, &mask, mask.iter().map(shape).collect(), &mask).unwrap(), fa)
}

/// The objective with everything that it needs, as plain lists.
struct Plain {
    /// The field at each unknown of 1 at each other, and of the anisotropy.
    kernel: Vec<Vec<f64>>,
    of_anisotropy: Vec<f64>,
    images: Vec<Vec<f64>>,
    /// Neighbours in a volume one voxel larger to all sides, `None` outside the mask.
    edges: Vec<[(Option<usize>, Option<usize>); 3]>,
    spacing: [f64; 3],
    field: Vec<f64>,
    /// Of each of the edges what is free.
    free: Vec<[f64; 3]>,
}

impl Plain {
    fn new(model: &FieldModel, images: &[Vec<f32>], field: &[f32], workers: &Workers) -> Self {
        let geometry = &model.geometry;
        let shape = KSpace::new(geometry, workers).unwrap().shape();
        let at = |v: u32| geometry.voxel(v as usize).map(|i| i as i64);
        // The periodic kernels of M along each axis, as sums over all k.
        let signed = |i: usize, n: usize| if 2 * i > n { i as f64 - n as f64 } else { i as f64 };
        let n: usize = shape.iter().product();
        let kernels_at = |step: [i64; 3]| {
            let mut sum = [0.0; 3];
            for k in 1..n {
                let i = [k % shape[0], k / shape[0] % shape[1], k / (shape[0] * shape[1])];
                let phase: f64 =
                    (0..3).map(|a| i[a] as f64 * step[a] as f64 / shape[a] as f64).sum();
                let k: [f64; 3] = std::array::from_fn(|a| {
                    signed(i[a], shape[a]) / (shape[a] as f64 * geometry.spacing[a])
                });
                let squared: f64 = k.iter().map(|k| k * k).sum();
                let along: f64 = (0..3).map(|a| k[a] * B0[a]).sum();
                for a in 0..3 {
                    sum[a] += (B0[a] / 3.0 - k[a] * along / squared) * (TAU * phase).cos();
                }
            }
            sum.map(|s| s / n as f64)
        };
        let mut table = std::collections::BTreeMap::new();
        let mut between = |from: u32, to: u32| {
            let (from, to) = (at(from), at(to));
            let step = std::array::from_fn(|a| to[a] - from[a]);
            // Even: half of them are enough.
            let step = if step < [0; 3] { step.map(|s: i64| -s) } else { step };
            *table.entry(step).or_insert_with(|| kernels_at(step))
        };
        let (mut kernel, mut of_anisotropy) = (Vec::new(), Vec::new());
        for &to in &model.unknowns {
            let mut row = Vec::new();
            let mut sum = 0.0;
            for (j, &from) in model.unknowns.iter().enumerate() {
                let kernels = between(from, to);
                row.push((0..3).map(|a| kernels[a] * B0[a]).sum::<f64>());
                if let (Shape::Cylinder(axis), Some(fa)) = (model.shapes[j], images.first()) {
                    let m = magnetisation(0.0, f64::from(fa[j]), axis, B0);
                    sum += (0..3).map(|a| kernels[a] * m[a]).sum::<f64>();
                }
            }
            kernel.push(row);
            of_anisotropy.push(sum);
        }
        let index = |p: [i64; 3]| {
            let within = (0..3).all(|a| (0..geometry.dims[a] as i64).contains(&p[a]));
            let [nx, ny, _] = geometry.dims.map(|n| n as i64);
            let voxel = (p[0] + nx * (p[1] + ny * p[2])) as u32;
            if within { model.unknowns.binary_search(&voxel).ok() } else { None }
        };
        let mut edges = Vec::new();
        // The next voxel is the one before where an axis is reversed.
        let step = geometry.reversed.map(|reversed| if reversed { -1 } else { 1 });
        let [xs, ys, zs] = [0, 1, 2].map(|a| {
            let first = if geometry.reversed[a] { 0 } else { -1 };
            first..first + geometry.dims[a] as i64 + 1
        });
        for z in zs {
            for y in ys.clone() {
                for x in xs.clone() {
                    let next = |a: usize| {
                        let mut p = [x, y, z];
                        p[a] += step[a];
                        (index([x, y, z]), index(p))
                    };
                    edges.push([next(0), next(1), next(2)]);
                }
            }
        }
        let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
        let images = images.iter().map(|image| wide(image)).collect();
        let spacing = geometry.spacing;
        let free = vec![[0.0; 3]; edges.len()];
        Self { kernel, of_anisotropy, images, edges, spacing, field: wide(field), free }
    }

    /// The objective of χ, then c, then a, with |∇| rounded off below `smooth`; and its gradient.
    fn objective(&self, x: &[f64], smooth: f64) -> (f64, Vec<f64>) {
        let n = self.field.len();
        let (chi, numbers) = x.split_at(n);
        let (c, a) = numbers.split_at(self.images.len());
        let a = a.first().copied().unwrap_or(0.0);
        let (mut value, mut gradient) = (0.0, vec![0.0; x.len()]);
        for i in 0..n {
            let of_map: f64 = self.kernel[i].iter().zip(chi).map(|(k, x)| k * x).sum();
            let rest = of_map + a * self.of_anisotropy[i] - self.field[i];
            value += 0.5 * rest * rest;
            (0..n).for_each(|j| gradient[j] += self.kernel[i][j] * rest);
            if let Some(last) = gradient.get_mut(n + c.len()) {
                *last += self.of_anisotropy[i] * rest;
            }
        }
        let unexplained = |i: Option<usize>| {
            i.map_or(0.0, |i| {
                chi[i] - c.iter().zip(&self.images).map(|(c, p)| c * p[i]).sum::<f64>()
            })
        };
        for (edges, free) in self.edges.iter().zip(&self.free) {
            let rise: [f64; 3] = std::array::from_fn(|a| {
                (unexplained(edges[a].1) - unexplained(edges[a].0)) / self.spacing[a]
            });
            let dot = |a: [f64; 3], b: [f64; 3]| (0..3).map(|k| a[k] * b[k]).sum::<f64>();
            let square = dot(*free, *free);
            let part = if square > 0.0 { dot(rise, *free) / square } else { 0.0 };
            let rise: [f64; 3] = std::array::from_fn(|a| rise[a] - part.clamp(0.0, 1.0) * free[a]);
            let length = (rise.iter().map(|r| r * r).sum::<f64>() + smooth * smooth).sqrt();
            value += STRENGTH * (length - smooth);
            for a in 0..3 {
                let part = STRENGTH * rise[a] / length / self.spacing[a];
                for (end, sign) in [(edges[a].1, 1.0), (edges[a].0, -1.0)] {
                    let Some(i) = end else { continue };
                    gradient[i] += sign * part;
                    for (j, image) in self.images.iter().enumerate() {
                        gradient[n + j] -= sign * part * image[i];
                    }
                }
            }
        }
        (value, gradient)
    }

    /// The objective of total generalised variation and its gradient: of χ of the unknowns, 0 elsewhere,
    /// then v of every place of the periodic volume, in which `places` are the unknowns'.
    fn generalised(&self, x: &[f64], smooth: f64, ring: &Ring, places: &[u32]) -> (f64, Vec<f64>) {
        let n = self.field.len();
        let (chi, v) = x.split_at(n);
        let (mut value, mut gradient) = (0.0, vec![0.0; x.len()]);
        for i in 0..n {
            let of_map: f64 = self.kernel[i].iter().zip(chi).map(|(k, x)| k * x).sum();
            let rest = of_map - self.field[i];
            value += 0.5 * rest * rest;
            (0..n).for_each(|j| gradient[j] += self.kernel[i][j] * rest);
        }
        let length_of = |parts: f64| (parts + smooth * smooth).sqrt();
        let size = ring.shape.iter().product();
        let mut index = vec![None; size];
        places.iter().enumerate().for_each(|(i, &place)| index[place as usize] = Some(i));
        let at = |place: usize| index[place].map_or(0.0, |i: usize| chi[i]);
        for place in 0..size {
            let [nx, ny, _] = ring.shape;
            let [x, y, z] = [place % nx, place / nx % ny, place / (nx * ny)];
            let (next, before) = (ring.next(place, x, y, z), ring.before(place, x, y, z));
            let rise: [f64; 3] = std::array::from_fn(|a| {
                (at(next[a]) - at(place)) / self.spacing[a] - v[3 * place + a]
            });
            let length = length_of(rise.iter().map(|r| r * r).sum());
            value += STRENGTH * (length - smooth);
            for a in 0..3 {
                let part = STRENGTH * rise[a] / length;
                for (end, sign) in [(next[a], 1.0), (place, -1.0)] {
                    if let Some(i) = index[end] {
                        gradient[i] += sign * part / self.spacing[a];
                    }
                }
                gradient[n + 3 * place + a] -= part;
            }
            let slope =
                |of: usize, a: usize| (v[3 * place + of] - v[3 * before[a] + of]) / self.spacing[a];
            let strain = |a: usize, b: usize| 0.5 * (slope(a, b) + slope(b, a));
            let pairs = || (0..9).map(|i| (i / 3, i % 3));
            let length = length_of(pairs().map(|(a, b)| strain(a, b).powi(2)).sum());
            let weight = f64::from(generalised::OF_SECOND) * STRENGTH;
            value += weight * (length - smooth);
            for (a, b) in pairs() {
                let part = 0.5 * weight * strain(a, b) / length;
                for (of, along) in [(a, b), (b, a)] {
                    gradient[n + 3 * place + of] += part / self.spacing[along];
                    gradient[n + 3 * before[along] + of] -= part / self.spacing[along];
                }
            }
        }
        (value, gradient)
    }
}

/// The least of `objective` that `steps` downhill reach from `x`.
fn downhill(
    objective: impl Fn(&[f64], f64) -> (f64, Vec<f64>),
    mut x: Vec<f64>,
    steps: usize,
) -> (f64, Vec<f64>) {
    const SMOOTH: f64 = 1e-4;
    let mut step = 1.0;
    'steps: for _ in 0..steps {
        let (value, gradient) = objective(&x, SMOOTH);
        loop {
            let next: Vec<f64> = x.iter().zip(&gradient).map(|(x, g)| x - step * g).collect();
            if objective(&next, SMOOTH).0 < value {
                x = next;
                step *= 1.5;
                break;
            }
            step *= 0.5;
            if step < 1e-12 {
                break 'steps;
            }
        }
    }
    (objective(&x, 0.0).0, x)
}

/// A field of numbers without a pattern on top of that of a nucleus.
fn field_of(model: &FieldModel, workers: &Workers) -> Vec<f32> {
    let plain = Plain::new(model, &[], &vec![0.0; model.unknowns.len()], workers);
    let chi: Vec<f64> = (0..model.unknowns.len())
        .map(|i| if (100..130).contains(&i) { 0.1 } else { 0.0 })
        .collect();
    let noise = |i: usize| 0.004 * (((i * 7919) % 101) as f64 / 50.0 - 1.0);
    plain
        .kernel
        .iter()
        .enumerate()
        .map(|(i, row)| (row.iter().zip(&chi).map(|(k, x)| k * x).sum::<f64>() + noise(i)) as f32)
        .collect()
}

/// What is found has the least objective: plain descents from it, over all unknowns and numbers, gain
/// next to nothing, where one from zero still has some way to go.
#[test]
fn no_descent_leads_below_what_is_found() {
    let workers = Workers::new(2).unwrap();
    let guidance = Guidance { fa: scene([false; 3]).1, images: Vec::new() };
    let variation =
        Variation { lambda: STRENGTH, outside: Outside::Nothing, ..Variation::default() };
    let stored = [[false; 3], [false; 3], [true, false, true]];
    for (reversed, guidance) in stored.into_iter().zip([None, Some(&guidance), None]) {
        let (model, _) = scene(reversed);
        let field = field_of(&model, &workers);
        let prior = guidance.map_or(Prior::Total, Prior::Explained);
        let found = reconstruct_variation(
            &model,
            &field,
            None,
            prior,
            variation,
            &Backend::cpu(&workers),
            &Silent,
        );
        let found = found.unwrap();
        let images = guidance.map_or(Vec::new(), |given| explaining(&model, given, &workers));
        let plain = Plain::new(&model, &images, &field, &workers);
        let mut x: Vec<f64> = found.chi.iter().map(|x| f64::from(*x)).collect();
        x.extend(&found.coefficients);
        if guidance.is_some() {
            x.push(found.anisotropy);
        }
        let zero = plain.objective(&vec![0.0; x.len()], 0.0).0;
        let reached = plain.objective(&x, 0.0).0;
        let below = downhill(|x, smooth| plain.objective(x, smooth), x, 400).0;
        // The iteration ends where a step changes the map by less than 5e-3 of it.
        assert!(reached < 0.8 * zero, "{reached} of {zero}");
        assert!(below > 0.99 * reached, "{reached}, and {below} below it, of {zero}");
    }
}

/// The same where a map without guidance has to support the edges of the images, with what is free as
/// [`supported`] has it; which makes another map.
#[test]
fn no_descent_leads_below_a_map_of_supported_edges() {
    let workers = Workers::new(2).unwrap();
    let (model, fa) = scene([false; 3]);
    let field = field_of(&model, &workers);
    let guidance = Guidance { fa: fa.clone(), images: Vec::new() };
    let variation =
        Variation { lambda: STRENGTH, outside: Outside::Nothing, ..Variation::default() };
    let map = |prior| {
        let on = Backend::cpu(&workers);
        reconstruct_variation(&model, &field, None, prior, variation, &on, &Silent).unwrap()
    };
    // In one half the map has the edge of FA.
    let own: Vec<f32> = fa.iter().enumerate().map(|(i, fa)| f32::from(i % 2 == 0) * fa).collect();
    let coefficients = [0.05, 0.02];
    let prior = Supported { guidance: &guidance, coefficients: &coefficients, own: &own };
    let found = map(Prior::Supported(&prior));
    let images = explaining(&model, &guidance, &workers);
    let fibres = images[0].iter().map(|fa| fa.min(FIBRE_FA) / FIBRE_FA).collect();
    let mut plain = Plain::new(&model, &[fibres], &field, &workers);
    plain.images.clear();
    let space = KSpace::new(&model.geometry, &workers).unwrap();
    let (ring, places) = (Ring::new(&space), space.places(&model.geometry, &model.unknowns));
    let rises = |value: &dyn Fn(usize) -> f32| {
        let mut volume = vec![0.0; space.elements()];
        places.iter().enumerate().for_each(|(i, &place)| volume[place as usize] = value(i));
        ring.differences(&volume, &workers)
    };
    let guide = rises(&|i| images.iter().zip([0.05, 0.02]).map(|(x, c)| c * x[i]).sum());
    let free = supported(&space, guide, &rises(&|i| own[i]));
    let shape = space.shape();
    // Edges begin one voxel before the volume.
    let place = |i: usize| {
        let dims = DIMS.map(|n| n + 1);
        let at = [i % dims[0], i / dims[0] % dims[1], i / (dims[0] * dims[1])];
        let at: [usize; 3] = std::array::from_fn(|a| (at[a] + shape[a] - 1) % shape[a]);
        at[0] + shape[0] * (at[1] + shape[1] * at[2])
    };
    let n = plain.edges.len();
    plain.free = (0..n).map(|i| free[place(i)].map(f64::from)).collect();
    assert!(plain.free.iter().any(|g| *g != [0.0; 3]));
    let mut x: Vec<f64> = found.chi.iter().map(|x| f64::from(*x)).collect();
    x.push(found.anisotropy);
    let zero = plain.objective(&vec![0.0; x.len()], 0.0).0;
    let reached = plain.objective(&x, 0.0).0;
    let below = downhill(|x, smooth| plain.objective(x, smooth), x, 400).0;
    assert!(reached < 0.8 * zero, "{reached} of {zero}");
    assert!(below > 0.99 * reached, "{reached}, and {below} below it, of {zero}");
    let other = map(Prior::Explained(&guidance));
    assert!(found.chi.iter().zip(&other.chi).any(|(a, b)| (a - b).abs() > 1e-3));
}

/// The same of total generalised variation: with v found by descent for the map that is found, no
/// descent over both gains more than the tolerance leaves.
#[test]
fn no_descent_leads_below_a_map_of_generalised_variation() {
    let workers = Workers::new(2).unwrap();
    let (model, _) = scene([false; 3]);
    let field = field_of(&model, &workers);
    let outside = Outside::Nothing;
    let variation = Variation { lambda: STRENGTH, outside, tolerance: 5e-4, ..Default::default() };
    let prior = Prior::Generalised;
    let found = reconstruct_variation(
        &model,
        &field,
        None,
        prior,
        variation,
        &Backend::cpu(&workers),
        &Silent,
    );
    let found = found.unwrap();
    let plain = Plain::new(&model, &[], &field, &workers);
    let space = KSpace::new(&model.geometry, &workers).unwrap();
    let (ring, places) = (Ring::new(&space), space.places(&model.geometry, &model.unknowns));
    let n = found.chi.len();
    let objective = |x: &[f64], smooth: f64| plain.generalised(x, smooth, &ring, &places);
    let mut x = vec![0.0; n + 3 * space.elements()];
    let zero = objective(&x, 0.0).0;
    found.chi.iter().zip(&mut x).for_each(|(chi, x)| *x = f64::from(*chi));
    let fixed = |x: &[f64], smooth: f64| {
        let (value, mut gradient) = objective(x, smooth);
        gradient[..n].fill(0.0);
        (value, gradient)
    };
    let (reached, x) = downhill(fixed, x, 1500);
    let below = downhill(objective, x, 400).0;
    assert!(reached < 0.8 * zero, "{reached} of {zero}");
    assert!(below > 0.98 * reached, "{reached}, and {below} below it, of {zero}");
}
