//! Which maps can be trusted with one, two and three shells: bias, spread and Cramér and Rao's bound of the maps of every
//! model, over grids of tissue of which the truth is known. Prints the tables of docs/protocols.md:
//! `cargo run --release -p fimbria-models --example protocol_limits`.
#![allow(clippy::print_stdout, missing_docs)]

use std::f64::consts::PI;

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_fitting::lm::Model as _;
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask};
use fimbria_models::curve::CurveOptions;
use fimbria_models::dki::DkiOptions;
use fimbria_models::dti::DtiOptions;
use fimbria_models::mapmri::{self, MapmriOptions};
use fimbria_models::noddi::{self, Dispersed, NoddiOptions, Tissue, covariates};
use fimbria_models::smt::{self, Compartments, SmtOptions};
use fimbria_models::{Fitted, dki, dti, fwdti, msdki, wmti};
use fimbria_testing::{Noise, acquisition};

/// Voxels of each point of a grid.
const COPIES: usize = 200;
const S0: f64 = 900.0;

type Numbers = Vec<f64>;
/// The signal of some tissue at b (ms/µm²) along a direction.
type Signal = fn(&[f64], f64, [f64; 3]) -> f64;
/// A number of that tissue.
type Quantity = fn(&[f64]) -> f64;
type Fit = fn(&Image, &Mask, &GradientTable, &Backend<'_>) -> Option<Fitted>;

/// A model, tissue that it is tried on, and what its maps should be. Where `of_bound` is given the tissue's parameters
/// are not the model's: those come from it, with the model's own signal and quantities.
struct Trial {
    name: &'static str,
    b_max: f64,
    points: Vec<Numbers>,
    signal: Signal,
    fit: Fit,
    maps: Vec<(&'static str, f64, Quantity)>,
    of_bound: Option<Bound>,
}

/// What Cramér and Rao's bound is computed of: the model's parameters, signal and maps.
struct Bound {
    parameters: fn(&[f64]) -> Numbers,
    signal: Signal,
    maps: Vec<Quantity>,
}

fn outer([x, y, z]: [f64; 3]) -> [f64; 6] {
    [x * x, 2.0 * x * y, 2.0 * x * z, y * y, 2.0 * y * z, z * z]
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A tensor xx xy xz yy yz zz of one axis.
fn axial(along: f64, across: f64, [x, y, z]: [f64; 3]) -> [f64; 6] {
    let more = along - across;
    let [xx, xy, xz, yy, yz, zz] = [x * x, x * y, x * z, y * y, y * z, z * z].map(|p| p * more);
    [xx + across, xy, xz, yy + across, yz, zz + across]
}

/// Unit, all over the sphere.
fn axis(point: usize) -> [f64; 3] {
    let z = 2.0 * ((point as f64 * 0.754_877_666) % 1.0) - 1.0;
    let (angle, r) = (point as f64 * 2.399_963_23, f64::sqrt(1.0 - z * z));
    [r * angle.cos(), r * angle.sin(), z]
}

fn grid(values: &[&[f64]]) -> Vec<Numbers> {
    let none = vec![Vec::new()];
    values.iter().fold(none, |all, values| {
        all.iter().flat_map(|p| values.iter().map(|v| [&p[..], &[*v]].concat())).collect()
    })
}

// A tensor: S0, xx xy xz yy yz zz.

fn gaussian(p: &[f64], b: f64, g: [f64; 3]) -> f64 {
    p[0] * (-b * dot(&p[1..7], &outer(g))).exp()
}

fn md(p: &[f64]) -> f64 {
    (p[1] + p[4] + p[6]) / 3.0
}

fn fa(p: &[f64]) -> f64 {
    let [xx, xy, xz, yy, yz, zz] = [p[1], p[2], p[3], p[4], p[5], p[6]];
    let norm = xx * xx + yy * yy + zz * zz + 2.0 * (xy * xy + xz * xz + yz * yz);
    (1.5 * (1.0 - 3.0 * md(p) * md(p) / norm)).max(0.0).sqrt()
}

// Free water beside it: S0, the tensor, the share.

fn with_water(p: &[f64], b: f64, g: [f64; 3]) -> f64 {
    (1.0 - p[7]) * gaussian(p, b, g) + p[7] * p[0] * (-3.0 * b).exp()
}

// Two tensors of one axis: S0, axis, share, along and across within, along and across beside.

fn pools(p: &[f64]) -> [(f64, [f64; 6]); 2] {
    let axis = [p[1], p[2], p[3]];
    [(p[4], axial(p[5], p[6], axis)), (1.0 - p[4], axial(p[7], p[8], axis))]
}

fn two_pools(p: &[f64], b: f64, g: [f64; 3]) -> f64 {
    p[0] * pools(p).iter().map(|(s, d)| s * (-b * dot(d, &outer(g))).exp()).sum::<f64>()
}

fn share(p: &[f64]) -> f64 {
    p[4]
}

/// Diffusivity and its variance among pools along a direction.
fn moments(p: &[f64], g: [f64; 3]) -> [f64; 2] {
    let mean: f64 = pools(p).iter().map(|(s, d)| s * dot(d, &outer(g))).sum();
    let square: f64 = pools(p).iter().map(|(s, d)| s * dot(d, &outer(g)).powi(2)).sum();
    [mean, square - mean * mean]
}

const SPHERE: usize = 600;

fn mean_over_sphere(of: impl Fn([f64; 3]) -> f64) -> f64 {
    (0..SPHERE)
        .map(|k| {
            let z = 1.0 - (2 * k + 1) as f64 / SPHERE as f64;
            let (angle, r) = (k as f64 * 2.399_963_23, f64::sqrt(1.0 - z * z));
            of([r * angle.cos(), r * angle.sin(), z])
        })
        .sum::<f64>()
        / SPHERE as f64
}

/// MD of the pools.
fn md_of_pools(p: &[f64]) -> f64 {
    mean_over_sphere(|g| moments(p, g)[0])
}

/// The mean over directions of 3 var/mean².
fn mk_of_pools(p: &[f64]) -> f64 {
    mean_over_sphere(|g| {
        let [mean, variance] = moments(p, g);
        3.0 * variance / (mean * mean)
    })
}

/// The kurtosis of the mean signal: the variance is over directions, too.
fn msk_of_pools(p: &[f64]) -> f64 {
    let mean = md_of_pools(p);
    let square = mean_over_sphere(|g| {
        let [mean, variance] = moments(p, g);
        variance + mean * mean
    });
    3.0 * (square - mean * mean) / (mean * mean)
}

/// 1e5/mm³, for the usual diffusion time.
fn rtop_of_pools(p: &[f64]) -> f64 {
    let options = MapmriOptions::default();
    let time = options.big_delta_s - options.small_delta_s / 3.0;
    let scale = |d: f64| (4e-3 * PI * d * time).sqrt();
    let pool = |s: f64, along: f64, across: f64| s / (scale(along) * scale(across).powi(2));
    1e-5 * (pool(p[4], p[5], p[6]) + pool(1.0 - p[4], p[7], p[8]))
}

/// ln S to b², and its two tensors: S0, six of D, fifteen of MD² W.
fn cumulants(p: &[f64], b: f64, g: [f64; 3]) -> f64 {
    p[0] * (-b * dot(&p[1..7], &outer(g)) + b * b / 6.0 * fourth(&p[7..22], g)).exp()
}

/// Σ W over the fifteen monomials of fourth degree, each as often as it occurs.
fn fourth(w: &[f64], g: [f64; 3]) -> f64 {
    let mut sum = 0.0;
    let mut at = 0;
    for i in 0..=4_i32 {
        for j in 0..=4 - i {
            let k = 4 - i - j;
            let times =
                24.0 / [i, j, k].map(|n| (1..=n).product::<i32>() as f64).iter().product::<f64>();
            sum += times * w[at] * g[0].powi(i) * g[1].powi(j) * g[2].powi(k);
            at += 1;
        }
    }
    sum
}

/// The cumulants of two pools: 3 (E[D²] - E[D]²), whose symmetric part is all that counts, by least squares over the
/// sphere.
fn cumulants_of_pools(p: &[f64]) -> Numbers {
    let mut d = [0.0; 6];
    for (s, of_pool) in pools(p) {
        (0..6).for_each(|i| d[i] += s * of_pool[i]);
    }
    let directions: Vec<[f64; 3]> = (0..200).map(|k| axis(k + 1)).collect();
    let rows: Vec<Numbers> =
        (directions.iter()).map(|&g| (0..15).map(|i| fourth(&unit(15, i), g)).collect()).collect();
    let right: Numbers = directions.iter().map(|&g| 3.0 * moments(p, g)[1]).collect();
    let normal = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum::<f64>();
    let matrix: Vec<Numbers> = (0..15).map(|i| (0..15).map(|j| normal(i, j)).collect()).collect();
    let of_right: Numbers =
        (0..15).map(|i| rows.iter().zip(&right).map(|(row, r)| row[i] * r).sum()).collect();
    let w = solved(matrix, of_right).expect("200 directions determine fifteen numbers");
    [&[S0][..], &d, &w].concat()
}

fn mk_of_cumulants(p: &[f64]) -> f64 {
    mean_over_sphere(|g| fourth(&p[7..22], g) / dot(&p[1..7], &outer(g)).powi(2))
}

// NODDI: S0, icvf, od, isovf, two tangents; then the axes, which are known.

fn neurites(p: &[f64], b: f64, g: [f64; 3]) -> f64 {
    let known = covariates::<18>(Tissue::White, b, g);
    Dispersed::<18>.signal(&[p[0], p[1], p[2], p[3], p[4], p[5], 0.0], &known, &p[6..15])
}

// Sticks and what they hinder: S0, axis, share, diffusivity.

fn hindered(p: &[f64], b: f64, g: [f64; 3]) -> f64 {
    let [v, d] = [p[4], p[5]];
    two_pools(&[p[0], p[1], p[2], p[3], v, d, 0.0, d, (1.0 - v) * d], b, g)
}

fn unit(n: usize, at: usize) -> Numbers {
    (0..n).map(|i| f64::from(i == at)).collect()
}

/// Gauss's elimination; `None` where a pivot is nothing.
fn solved(mut a: Vec<Numbers>, mut right: Numbers) -> Option<Numbers> {
    let n = right.len();
    let largest = a.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()));
    for i in 0..n {
        let pivot = (i..n).max_by(|&j, &k| a[j][i].abs().total_cmp(&a[k][i].abs()))?;
        a.swap(i, pivot);
        right.swap(i, pivot);
        if a[i][i].abs() < 1e-13 * largest {
            return None;
        }
        for j in i + 1..n {
            let factor = a[j][i] / a[i][i];
            let row = a[i].clone();
            a[j].iter_mut().zip(&row).skip(i).for_each(|(x, y)| *x -= factor * y);
            right[j] -= factor * right[i];
        }
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| a[i][j] * right[j]).sum();
        right[i] = (right[i] - known) / a[i][i];
    }
    Some(right)
}

/// The derivatives of a function by the parameters that move.
fn slope(p: &[f64], free: usize, of: impl Fn(&[f64]) -> f64) -> Numbers {
    let moved = |k: usize, by: f64| {
        let mut p = p.to_vec();
        p[k] += by;
        of(&p)
    };
    let step = |k: usize| 1e-5 * p[k].abs().max(1.0);
    (0..free).map(|k| (moved(k, step(k)) - moved(k, -step(k))) / (2.0 * step(k))).collect()
}

/// The least variance of `quantity` that an unbiased estimate can have, with Gaussian noise; `None` where the volumes do
/// not determine it. Directions of which the axis is a parameter lose what its length has, which moves nothing else.
fn least_variance(
    p: &[f64],
    free: usize,
    sigma: f64,
    signal: Signal,
    table: &GradientTable,
    quantity: Quantity,
) -> Option<f64> {
    let mut information = vec![vec![0.0; free]; free];
    for (b, g) in table.b_s_per_mm2.iter().zip(&table.dirs_ras) {
        let of_volume = slope(p, free, |p| signal(p, 1e-3 * b, *g));
        for i in 0..free {
            (0..free)
                .for_each(|j| information[i][j] += of_volume[i] * of_volume[j] / (sigma * sigma));
        }
    }
    let of_quantity = slope(p, free, quantity);
    Some(dot(&of_quantity, &solved(information, of_quantity.clone())?))
}

fn trials() -> Vec<Trial> {
    let single = |all: Vec<Numbers>, of: fn(&[f64], [f64; 3]) -> Numbers| -> Vec<Numbers> {
        all.iter().enumerate().map(|(at, p)| of(p, axis(at + 1))).collect()
    };
    // MD and how far from round.
    let tensors = single(grid(&[&[0.6, 0.8, 1.0], &[0.0, 0.25, 0.5, 0.75]]), |p, axis| {
        [&[S0][..], &axial(p[0] * (1.0 + 2.0 * p[1]), p[0] * (1.0 - p[1]), axis)].concat()
    });
    let watery =
        single(grid(&[&[0.6, 0.8], &[0.25, 0.5, 0.75], &[0.0, 0.2, 0.4, 0.6]]), |p, axis| {
            let tensor = axial(p[0] * (1.0 + 2.0 * p[1]), p[0] * (1.0 - p[1]), axis);
            [&[S0][..], &tensor, &[p[2]]].concat()
        });
    let bundles =
        single(grid(&[&[0.3, 0.4, 0.5, 0.6, 0.7], &[0.9, 1.2], &[0.4, 0.7]]), |p, axis| {
            [&[S0][..], &axis, &[p[0], p[1], 0.0, 2.2, p[2]]].concat()
        });
    let sticks = single(grid(&[&[0.3, 0.4, 0.5, 0.6, 0.7], &[1.7, 2.0, 2.3]]), |p, axis| {
        [&[S0][..], &axis, p].concat()
    });
    let fluid = single(grid(&[&[0.4, 0.6, 0.8, 1.0], &[1.2, 1.6], &[0.2, 0.4]]), |p, axis| {
        [&[S0][..], &axis, p, &[3.0, 3.0]].concat()
    });
    let dispersed =
        single(grid(&[&[0.3, 0.5, 0.7], &[0.05, 0.2, 0.5], &[0.0, 0.2, 0.4]]), |p, axis| {
            let other = if axis[2].abs() < 0.9 { [0.0, 0.0, 1.0] } else { [1.0, 0.0, 0.0] };
            let cross = |a: [f64; 3], b: [f64; 3]| {
                let c = [
                    a[1] * b[2] - a[2] * b[1],
                    a[2] * b[0] - a[0] * b[2],
                    a[0] * b[1] - a[1] * b[0],
                ];
                let length = dot(&c, &c).sqrt();
                c.map(|x| x / length)
            };
            let second = cross(axis, other);
            [&[S0][..], p, &[0.0, 0.0], &axis, &second, &cross(axis, second)].concat()
        });
    vec![
        Trial {
            name: "dti",
            b_max: 1500.0,
            points: tensors,
            signal: gaussian,
            fit: |image, mask, table, on| {
                dti::fit(image, mask, table, None, &DtiOptions::default(), on, &Silent).ok()
            },
            maps: vec![("FA", 1.0, fa), ("MD", 1e3, md)],
            of_bound: Some(Bound {
                parameters: <[f64]>::to_vec,
                signal: gaussian,
                maps: vec![fa, md],
            }),
        },
        Trial {
            name: "fwdti",
            b_max: 2000.0,
            points: watery,
            signal: with_water,
            fit: |image, mask, table, on| {
                fwdti::fit(image, mask, table, &CurveOptions::default(), on, &Silent).ok()
            },
            maps: vec![("FWF", 1.0, |p| p[7]), ("FA", 1.0, fa), ("MD", 1e3, md)],
            of_bound: Some(Bound {
                parameters: <[f64]>::to_vec,
                signal: with_water,
                maps: vec![|p| p[7], fa, md],
            }),
        },
        Trial {
            name: "dki",
            b_max: 3000.0,
            points: bundles.clone(),
            signal: two_pools,
            fit: |image, mask, table, on| {
                dki::fit(image, mask, table, &DkiOptions::default(), on, &Silent).ok()
            },
            maps: vec![("MK", 1.0, mk_of_pools), ("MD", 1e3, md_of_pools)],
            of_bound: Some(Bound {
                parameters: cumulants_of_pools,
                signal: cumulants,
                maps: vec![mk_of_cumulants, md],
            }),
        },
        Trial {
            name: "msdki",
            b_max: 3000.0,
            points: bundles.clone(),
            signal: two_pools,
            fit: |image, mask, table, on| msdki::fit(image, mask, table, on, &Silent).ok(),
            maps: vec![("MSK", 1.0, msk_of_pools), ("MSD", 1e3, md_of_pools)],
            of_bound: None,
        },
        Trial {
            name: "dkimicro",
            b_max: 3000.0,
            points: bundles.clone(),
            signal: two_pools,
            fit: |image, mask, table, on| {
                wmti::fit(image, mask, table, &DkiOptions::default(), on, &Silent).ok()
            },
            maps: vec![("AWF", 1.0, share), ("axonalD", 1e3, |p| p[5]), ("RDE", 1e3, |p| p[8])],
            of_bound: None,
        },
        Trial {
            name: "smt",
            b_max: f64::INFINITY,
            points: sticks,
            signal: hindered,
            fit: |image, mask, table, on| {
                let options =
                    SmtOptions { curve: CurveOptions::default(), compartments: Compartments::Two };
                smt::fit(image, mask, table, &options, on, &Silent).ok()
            },
            maps: vec![("intra", 1.0, share), ("diff", 1e3, |p| p[5])],
            of_bound: None,
        },
        Trial {
            name: "noddi",
            b_max: f64::INFINITY,
            points: dispersed,
            signal: neurites,
            fit: |image, mask, table, on| {
                noddi::fit(image, mask, table, &NoddiOptions::default(), on, &Silent).ok()
            },
            maps: vec![("icvf", 1.0, |p| p[1]), ("od", 1.0, |p| p[2]), ("isovf", 1.0, |p| p[3])],
            of_bound: Some(Bound {
                parameters: <[f64]>::to_vec,
                signal: neurites,
                maps: vec![|p| p[1], |p| p[2], |p| p[3]],
            }),
        },
        Trial {
            name: "mapmri",
            b_max: f64::INFINITY,
            points: fluid,
            signal: two_pools,
            fit: |image, mask, table, on| {
                mapmri::fit(image, mask, table, &MapmriOptions::default(), on, &Silent).ok()
            },
            maps: vec![("RTOP", 1e-5, rtop_of_pools)],
            of_bound: None,
        },
    ]
}

/// Mean difference from the truth, spread about the mean of a point, root mean square of what is left once the mean
/// difference is taken off, and spread of the truth.
struct Found {
    bias: f64,
    spread: f64,
    error: f64,
    of_truth: f64,
}

fn found(values: &[f32], factor: f64, truths: &Numbers) -> Found {
    let n = truths.len();
    let (mut bias, mut spread, mut error, mut points) = (0.0, 0.0, 0.0, 0.0);
    for (point, truth) in truths.iter().enumerate() {
        let of_point = values.iter().skip(point).step_by(n).map(|v| factor * f64::from(*v) - truth);
        let off: Numbers = of_point.filter(|off| off.is_finite()).collect();
        let mean = off.iter().sum::<f64>() / off.len() as f64;
        let square = off.iter().map(|x| x * x).sum::<f64>() / off.len() as f64;
        bias += mean;
        spread += square - mean * mean;
        error += square;
        points += 1.0;
    }
    let middle = truths.iter().sum::<f64>() / n as f64;
    let of_truth = truths.iter().map(|t| (t - middle).powi(2)).sum::<f64>() / n as f64;
    Found {
        bias: bias / points,
        spread: (spread / points).sqrt(),
        error: (error / points - (bias / points).powi(2)).sqrt(),
        of_truth: of_truth.sqrt(),
    }
}

/// The rows of a model's maps with each protocol.
fn rows(trial: &Trial, tables: &[GradientTable], snr: f64, on: &Backend<'_>) -> Vec<String> {
    let sigma = S0 / snr;
    let n = trial.points.len();
    let mut rows: Vec<String> =
        trial.maps.iter().map(|(map, ..)| format!("| {} {map} |", trial.name)).collect();
    for whole in tables {
        let kept: Vec<usize> =
            (0..whole.len()).filter(|v| whole.b_s_per_mm2[*v] <= 1.05 * trial.b_max).collect();
        let table = GradientTable {
            b_s_per_mm2: kept.iter().map(|v| whole.b_s_per_mm2[*v]).collect(),
            dirs_ras: kept.iter().map(|v| whole.dirs_ras[*v]).collect(),
            b0_threshold: whole.b0_threshold,
        };
        let space = Grid { dims: [n, COPIES, 1], ras_from_vox: Affine::IDENTITY };
        let mut image = Image::zeros(space, table.len());
        let mut noise = Noise(1);
        for (volume, (b, g)) in table.b_s_per_mm2.iter().zip(&table.dirs_ras).enumerate() {
            let signals: Numbers =
                trial.points.iter().map(|p| (trial.signal)(p, 1e-3 * b, *g)).collect();
            for (voxel, sample) in image.volume_mut(volume).iter_mut().enumerate() {
                *sample = noise.rician(signals[voxel % n], sigma) as f32;
            }
        }
        let fitted = (trial.fit)(&image, &Mask::full(space), &table, on);
        for (index, (row, (map, factor, quantity))) in rows.iter_mut().zip(&trial.maps).enumerate()
        {
            let Some(image) = fitted.as_ref().and_then(|fitted| fitted.map(map)) else {
                *row += " refused |";
                continue;
            };
            let truths = trial.points.iter().map(|p| quantity(p)).collect();
            let Found { bias, spread, error, of_truth } = found(&image.data, *factor, &truths);
            let bound = trial.of_bound.as_ref().map(|bound| {
                let of_point = |point: &Numbers| {
                    let p = (bound.parameters)(point);
                    // The axes of dispersed sticks are known numbers behind six parameters.
                    let free = if p.len() == 15 { 6 } else { p.len() };
                    least_variance(&p, free, sigma, bound.signal, &table, bound.maps[index])
                };
                trial.points.iter().map(|p| of_point(p).unwrap_or(f64::NAN)).sum::<f64>() / n as f64
            });
            let bound =
                bound.map_or("–".to_owned(), |variance| format!("{:.3}", variance.sqrt()));
            let worth = match error / of_truth {
                part if part < 1.0 / 3.0 => "**yes**",
                part if part < 2.0 / 3.0 => "partly",
                _ => "no",
            };
            *row += &format!(" {bias:+.3} {spread:.3} ({bound}) {worth} |");
        }
    }
    rows
}

fn main() {
    let protocols = [
        ("1 + 30", acquisition(1, &[(1000.0, 30)])),
        ("8 + 96", acquisition(8, &[(1000.0, 96)])),
        ("8 + 48, 48", acquisition(8, &[(1000.0, 48), (2000.0, 48)])),
        ("8 + 32, 64", acquisition(8, &[(700.0, 32), (2500.0, 64)])),
        ("8 + 32, 32, 32", acquisition(8, &[(1000.0, 32), (2000.0, 32), (3000.0, 32)])),
    ];
    let (names, tables): (Vec<&str>, Vec<GradientTable>) = protocols.into_iter().unzip();
    let workers = Workers::new(0).unwrap();
    for snr in [40.0, 20.0] {
        println!("SNR {snr}:\n");
        println!("| map | {} |", names.join(" | "));
        println!("|---|{}", "---|".repeat(names.len()));
        for trial in trials() {
            for row in rows(&trial, &tables, snr, &Backend::cpu(&workers)) {
                println!("{row}");
            }
        }
        println!();
    }
}
