//! Voxels whose fibres are known.

#![allow(dead_code)]

use fimbria_compute::philox::{Philox, normals};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask};
use fimbria_sticks::Sampled;

/// A series with what was put into it.
pub(crate) struct Subject {
    pub(crate) series: Image,
    pub(crate) mask: Mask,
    pub(crate) gradients: GradientTable,
    /// Directions of every voxel, and their fractions.
    pub(crate) truth: Vec<Vec<([f64; 3], f64)>>,
}

pub(crate) fn gradients() -> GradientTable {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let mut table = GradientTable {
        b_s_per_mm2: vec![0.0; 6],
        dirs_ras: vec![[0.0; 3]; 6],
        b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
    };
    for i in 0..60 {
        let z = (f64::from(i) + 0.5) / 60.0;
        let (s, c) = (golden * f64::from(i)).sin_cos();
        let r = (1.0 - z * z).sqrt();
        table.b_s_per_mm2.push(1000.0);
        table.dirs_ras.push([r * c, r * s, z]);
    }
    table
}

impl Subject {
    /// `n` voxels of each: one fibre of f = 0.6; two at 60 degrees, 0.4 and 0.3; two at 90 degrees,
    /// 0.35 each. d = 1.5e-3 mm²/s, S0 = 1000, SNR 30.
    pub(crate) fn crossings(n: usize) -> Self {
        let gradients = gradients();
        let grid = Grid { dims: [n, 3, 1], ras_from_vox: Affine::from_spacing([2.0; 3]) };
        let mut series = Image::zeros(grid, gradients.len());
        let mut truth = Vec::new();
        for voxel in 0..grid.len() {
            let random: Vec<f64> = (0..20)
                .flat_map(|step| normals::<f32>(Philox::new(17).at(voxel as u64, step)))
                .map(f64::from)
                .collect();
            let first = unit([random[70], random[71], random[72]]);
            let along: f64 = (0..3).map(|k| first[k] * random[73 + k]).sum();
            let across = unit(std::array::from_fn(|k| random[73 + k] - along * first[k]));
            let at = |degrees: f64| {
                let (s, c) = degrees.to_radians().sin_cos();
                std::array::from_fn(|k| c * first[k] + s * across[k])
            };
            let fibres = match voxel / n {
                0 => vec![(first, 0.6)],
                1 => vec![(first, 0.4), (at(60.0), 0.3)],
                _ => vec![(first, 0.35), (at(90.0), 0.35)],
            };
            for v in 0..gradients.len() {
                let bd = 1.5e-3 * gradients.b_s_per_mm2[v];
                let mut signal = 0.0;
                let mut rest = 1.0;
                for (dir, f) in &fibres {
                    let cos: f64 = (0..3).map(|k| dir[k] * gradients.dirs_ras[v][k]).sum();
                    signal += f * (-bd * cos * cos).exp();
                    rest -= f;
                }
                signal += rest * (-bd).exp();
                series.volume_mut(v)[voxel] = (1000.0 * (signal + random[v] / 30.0)) as f32;
            }
            truth.push(fibres);
        }
        Self { series, mask: Mask::full(grid), gradients, truth }
    }
}

pub(crate) fn unit(v: [f64; 3]) -> [f64; 3] {
    let norm = v.iter().map(|c| c * c).sum::<f64>().sqrt();
    v.map(|c| c / norm)
}

/// Degrees between two axes.
pub(crate) fn angle(a: [f64; 3], b: [f64; 3]) -> f64 {
    let cos: f64 = (0..3).map(|k| a[k] * b[k]).sum();
    cos.abs().min(1.0).acos().to_degrees()
}

/// The mean direction of a fibre, senses made to agree.
pub(crate) fn mean_direction(sampled: &Sampled, slot: usize, fibre: usize) -> [f64; 3] {
    let mut sum = [0.0f64; 3];
    for stick in sampled.sticks.fibre(slot, fibre) {
        let v = stick.dir_ras.map(f64::from);
        let sign = (0..3).map(|k| sum[k] * v[k]).sum::<f64>();
        (0..3).for_each(|k| sum[k] += if sign < 0.0 { -v[k] } else { v[k] });
    }
    let norm = sum.iter().map(|c| c * c).sum::<f64>().sqrt();
    sum.map(|c| c / norm)
}
