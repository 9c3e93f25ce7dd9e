//! The signal without noise has the diffusion that is written as its truth: what its logarithm is at b = 0,
//! extrapolated from low b.

use std::sync::OnceLock;

use fimbria_compute::{Silent, Workers};
use fimbria_phantoms::head::{Head, HeadSpec, Tissue, head};
use fimbria_phantoms::{Acquisition, Placement, ShellSpec, spread_directions};

use crate::head::{made, spec};

const DIRECTIONS: usize = 60;
/// The b of the shells, ms/µm².
const SHELLS: [f64; 4] = [0.07, 0.14, 0.21, 0.28];

/// 7.5 mm voxels, shells of low b.
fn low_b() -> &'static Head {
    static HEAD: OnceLock<Head> = OnceLock::new();
    HEAD.get_or_init(|| {
        let shells = SHELLS.map(|b| ShellSpec { b_s_per_mm2: 1e3 * b, directions: DIRECTIONS });
        let acquisition = Acquisition { b0s: 1, shells: shells.to_vec() };
        let placement = Placement { dims: [24, 29, 24], voxel_mm: [7.5; 3], ..spec().placement };
        head(&HeadSpec { acquisition, placement, ..spec() }, &Workers::new(2).unwrap(), &Silent)
            .unwrap()
    })
}

/// The products of so many of a direction's coordinates.
fn forms([x, y, z]: [f64; 3], degree: i32) -> Vec<f64> {
    let exponents = (0..=degree).flat_map(|i| (0..=degree - i).map(move |j| (i, j)));
    exponents.map(|(i, j)| x.powi(i) * y.powi(j) * z.powi(degree - i - j)).collect()
}

/// -ln S / b is D(g) - b Q(g) + b² C(g) - …, where D is a form of second degree in the direction, Q = D² K / 6
/// of fourth and C of sixth, each exactly so: what is beyond is of b³.
fn terms(b: f64, g: [f64; 3]) -> Vec<f64> {
    let scaled = |degree: i32, by: f64| forms(g, degree).into_iter().map(move |term| by * term);
    scaled(2, 1.0).chain(scaled(4, -b)).chain(scaled(6, b * b)).collect()
}

/// Least squares of all weighted volumes by [`terms`], as a matrix that takes -ln S / b to coefficients.
fn extrapolation(head: &Head) -> Vec<Vec<f64>> {
    let table = &head.subject.gradients;
    let rows: Vec<Vec<f64>> = (1..table.dirs_ras.len())
        .map(|volume| terms(1e-3 * table.b_s_per_mm2[volume], table.dirs_ras[volume]))
        .collect();
    let n = rows[0].len();
    // Normal equations with all right-hand sides at once, by Gauss and Jordan.
    let mut m: Vec<Vec<f64>> = (0..n)
        .map(|j| {
            let normal = (0..n).map(|k| rows.iter().map(|r| r[j] * r[k]).sum::<f64>());
            normal.chain(rows.iter().map(|r| r[j])).collect()
        })
        .collect();
    for i in 0..n {
        let largest = (i..n).max_by(|&a, &b| m[a][i].abs().total_cmp(&m[b][i].abs())).unwrap();
        m.swap(i, largest);
        let by = 1.0 / m[i][i];
        m[i].iter_mut().for_each(|c| *c *= by);
        let pivot = m[i].clone();
        for (_, row) in m.iter_mut().enumerate().filter(|(j, _)| *j != i) {
            let by = row[i];
            row.iter_mut().zip(&pivot).for_each(|(c, p)| *c -= by * p);
        }
    }
    m.into_iter().map(|row| row[n..].to_vec()).collect()
}

/// What the signal of a voxel says at b = 0: xx xy xz yy yz zz of D, µm²/ms, and the mean over directions of
/// the kurtosis, over `dirs`.
fn extrapolated(head: &Head, matrix: &[Vec<f64>], dirs: &[[f64; 3]], v: usize) -> ([f64; 6], f64) {
    let signal = |volume: usize| f64::from(head.subject.dwi.volume(volume)[v]);
    let b = |volume: usize| 1e-3 * head.subject.gradients.b_s_per_mm2[volume];
    let y: Vec<f64> = (1..head.subject.gradients.dirs_ras.len())
        .map(|volume| -(signal(volume) / signal(0)).ln() / b(volume))
        .collect();
    let found: Vec<f64> =
        matrix.iter().map(|row| row.iter().zip(&y).map(|(a, b)| a * b).sum()).collect();
    let form = |degree: i32, coefficients: &[f64], g: [f64; 3]| -> f64 {
        forms(g, degree).iter().zip(coefficients).map(|(a, b)| a * b).sum()
    };
    let along = |g: [f64; 3]| {
        let d = form(2, &found[..6], g);
        6.0 * form(4, &found[6..21], g) / (d * d)
    };
    let kurtosis = dirs.iter().map(|g| along(*g)).sum::<f64>() / dirs.len() as f64;
    // In the order of `forms`: zz yz yy xz xy xx, the mixed ones twice.
    let [zz, yz, yy, xz, xy, xx] = [0, 1, 2, 3, 4, 5].map(|k| found[k]);
    ([xx, 0.5 * xy, 0.5 * xz, yy, 0.5 * yz, zz], kurtosis)
}

fn rows([xx, xy, xz, yy, yz, zz]: [f64; 6]) -> [[f64; 3]; 3] {
    [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
}

/// The axis of the largest eigenvalue of a tensor that is positive, by its powers.
fn main_axis(d: [f64; 6]) -> [f64; 3] {
    let mut m = rows(d);
    for _ in 0..12 {
        let trace = m[0][0] + m[1][1] + m[2][2];
        m = [0, 1, 2].map(|i| {
            [0, 1, 2].map(|j| (0..3).map(|k| m[i][k] * m[k][j]).sum::<f64>() / (trace * trace))
        });
    }
    let norm = |v: &[f64; 3]| v.iter().map(|c| c * c).sum::<f64>().sqrt();
    let longest = m.iter().max_by(|a, b| norm(a).total_cmp(&norm(b))).unwrap();
    longest.map(|c| c / norm(longest))
}

fn fractional_anisotropy(d: [f64; 6]) -> f64 {
    let m = rows(d);
    let mean = (d[0] + d[3] + d[5]) / 3.0;
    let (mut all, mut off) = (0.0, 0.0);
    for i in 0..3 {
        for j in 0..3 {
            all += m[i][j].powi(2);
            off += (m[i][j] - if i == j { mean } else { 0.0 }).powi(2);
        }
    }
    (1.5 * off / all).sqrt()
}

#[test]
fn diffusivity_anisotropy_and_kurtosis_of_the_signal_are_the_true_ones() {
    let head = low_b();
    let [md, fa, mk] = ["MD", "FA", "MK"].map(|name| head.truth(name).unwrap());
    let (matrix, over) = (extrapolation(head), spread_directions(60));
    let mut highest = 0.0_f64;
    for &voxel in &head.subject.mask.voxels {
        let v = voxel as usize;
        let (tensor, kurtosis) = extrapolated(head, &matrix, &over, v);
        let mean = (tensor[0] + tensor[3] + tensor[5]) / 3.0;
        let [md, fa, mk] = [md, fa, mk].map(|map| f64::from(map.data[v]));
        // What is beyond is largest where half a voxel is fluid: D differs by 2.2, and its fourth cumulant
        // over 24 is 0.12, times b³.
        assert!((mean / (1e3 * md) - 1.0).abs() < 2e-3, "{v}: MD {mean} {}", 1e3 * md);
        let anisotropy = fractional_anisotropy(tensor);
        assert!((anisotropy - fa).abs() < 2e-3, "{v}: FA {anisotropy} {fa}");
        // The same times b², over D² K / 6.
        assert!((kurtosis - mk).abs() < 0.03 * mk + 0.01, "{v}: MK {kurtosis} {mk}");
        highest = highest.max(mk);
    }
    assert!(highest > 1.0, "{highest}");
}

#[test]
fn the_signal_is_longest_along_the_axis_of_its_true_fibres() {
    let head = low_b();
    let maps = ["dirs", "fractions", "ODI", "NDI"].map(|name| head.truth(name).unwrap());
    let [dirs, fractions, spread, inside] = maps;
    let white = head.tissues.volume(Tissue::White as usize);
    let (matrix, over) = (extrapolation(head), spread_directions(60));
    let mut seen = 0;
    for v in (0..white.len()).filter(|v| white[*v] == 1.0) {
        // What is not the same in all directions: of each population the mean of u uᵀ by Watson's
        // density exp(κ x²), times along less across (2 and 0 inside axons, 1.6 and 0.55 around).
        let mut expected = [0.0; 6];
        for k in 0..4 {
            let [part, index, inside] =
                [fractions, spread, inside].map(|m| f64::from(m.volume(k)[v]));
            if part <= 0.0 {
                continue;
            }
            let kappa = 1.0 / (std::f64::consts::FRAC_PI_2 * index).tan();
            let (mut squares, mut all) = (0.0, 0.0);
            for x in (0..2000).map(|i| (f64::from(i) + 0.5) / 2000.0) {
                let weight = (kappa * (x * x - 1.0)).exp();
                squares += weight * x * x;
                all += weight;
            }
            let aligned = 0.5 * (3.0 * squares / all - 1.0);
            let by = part * aligned * (2.0 * inside + 1.05 * (1.0 - inside));
            let [x, y, z] = [0, 1, 2].map(|a| f64::from(dirs.volume(3 * k + a)[v]));
            for (sum, n) in expected.iter_mut().zip([x * x, x * y, x * z, y * y, y * z, z * z]) {
                *sum += by * n;
            }
        }
        let (tensor, ..) = extrapolated(head, &matrix, &over, v);
        // Where the two largest are alike the axis is neither's.
        if fractional_anisotropy(tensor) < 0.3 {
            continue;
        }
        let [found, expected] = [tensor, expected].map(main_axis);
        let cos: f64 = (0..3).map(|a| found[a] * expected[a]).sum();
        // f32 samples, where a tenth parts the eigenvalues.
        assert!(cos.abs() > 1.0_f64.to_radians().cos(), "{v}: {found:?} {expected:?}");
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
}

/// A spin echo of pure tissue, by repetition time 4 s and echo time 75 ms.
#[test]
fn the_unweighted_signal_is_that_of_its_water() {
    let head = made();
    let [s0, coil, pd, t1, t2] =
        ["S0", "coil", "PD", "T1", "T2"].map(|name| &head.truth(name).unwrap().data);
    let echo = |v: usize| {
        let [pd, t1, t2] = [pd, t1, t2].map(|map| f64::from(map[v]));
        pd * (1.0 - (-4.0 / t1).exp()) * (-0.075 / t2).exp()
    };
    let pure = |tissue: Tissue| {
        let parts = head.tissues.volume(tissue as usize);
        (0..parts.len()).filter(|v| parts[*v] == 1.0).collect::<Vec<_>>()
    };
    // 800 in white matter, whose water is that of Stanisz 2005.
    use Tissue::{Blood, CorticalGrey, Fluid, Soft, SubcorticalGrey, White};
    let white = echo(pure(White)[0]);
    for tissue in [CorticalGrey, SubcorticalGrey, White, Fluid, Blood, Soft] {
        let voxels = pure(tissue);
        assert!(voxels.len() > 5, "{tissue:?}: {}", voxels.len());
        for v in voxels {
            let expected = 800.0 * echo(v) / white * f64::from(coil[v]);
            let found = f64::from(s0[v]);
            // f32 maps.
            assert!((found / expected - 1.0).abs() < 1e-5, "{tissue:?}: {found} {expected}");
        }
    }
    // A voxel of two tissues has the water of both.
    let [white, fluid] = [White, Fluid].map(|t| head.tissues.volume(t as usize));
    let mixed = (0..white.len())
        .find(|&v| white[v] > 0.2 && fluid[v] > 0.2 && (white[v] + fluid[v]) > 0.999)
        .unwrap();
    let [white, fluid] = [white, fluid].map(|part| f64::from(part[mixed]));
    let water = [0.70 * white, fluid];
    let expected = (water[0] * 0.85 + water[1] * 4.0) / (water[0] + water[1]);
    assert!((f64::from(t1[mixed]) - expected).abs() < 1e-5, "{} {expected}", t1[mixed]);
}
