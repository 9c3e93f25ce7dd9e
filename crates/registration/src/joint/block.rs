//! Voxels gathered, what the parameters of volumes move in them, and how far residuals pull.

use fimbria_compute::SimdLevel;
use fimbria_compute::dense::vec3::Vec3;
use pulp::{Simd, WithSimd};

use super::prior::{EDDY, TURN_MM};
use super::{Joint, Signals};
use crate::outliers::median;
use crate::place::{Lattice, terms};
use crate::region::{Inner, Region};

/// Voxels that are worked on at once.
pub(super) const LANES: usize = 64;
pub(super) type Row = [f32; LANES];
/// Residuals are cut off at so many standard deviations.
const CUT: f32 = 3.0;

/// Voxels of one class.
pub(super) struct Block {
    pub(super) class: usize,
    /// Places over [`TURN_MM`], then the polynomials of the field.
    basis: Vec<Row>,
    /// Of each volume: slopes of its prediction along three axes, per mm.
    slopes: Vec<[Row; 3]>,
    /// C⁻¹ r of each volume, cut off.
    pulls: Vec<Row>,
}

impl Joint {
    /// What parameter `k` of a volume moves its signal by.
    #[inline(always)]
    pub(super) fn column(&self, block: &Block, v: usize, k: usize, out: &mut [f32]) {
        let [x, y, z] = [&block.basis[0], &block.basis[1], &block.basis[2]];
        let [sx, sy, sz] = &block.slopes[v];
        match k {
            0 => (0..LANES).for_each(|i| out[i] = y[i] * sz[i] - z[i] * sy[i]),
            1 => (0..LANES).for_each(|i| out[i] = z[i] * sx[i] - x[i] * sz[i]),
            2 => (0..LANES).for_each(|i| out[i] = x[i] * sy[i] - y[i] * sx[i]),
            3 => out.copy_from_slice(sx),
            4 => out.copy_from_slice(sy),
            5 => out.copy_from_slice(sz),
            _ => {
                let [ax, ay, az] = self.along[v];
                (0..LANES).for_each(|i| out[i] = ax * sx[i] + ay * sy[i] + az * sz[i]);
                if k > EDDY {
                    let term = &block.basis[2 + k - EDDY];
                    (0..LANES).for_each(|i| out[i] *= term[i]);
                }
            }
        }
    }

    /// Gᵀ C⁻¹ r over a block.
    pub(super) fn pulled(&self, block: &Block) -> Vec<f32> {
        SimdLevel::best().run(Pulled { joint: self, block })
    }
}

struct Pulled<'a> {
    joint: &'a Joint,
    block: &'a Block,
}

impl WithSimd for Pulled<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<f32> {
        let Self { joint, block } = self;
        let p = joint.width();
        let mut out = vec![0.0; joint.along.len() * p];
        let mut column = [0.0; LANES];
        for (at, out) in out.iter_mut().enumerate() {
            joint.column(block, at / p, at % p, &mut column);
            *out = column.iter().zip(&block.pulls[at / p]).map(|(a, b)| a * b).sum();
        }
        out
    }
}

/// Voxels of a class; lanes beyond the last count nothing.
pub(super) fn gathered(
    signals: &Signals<'_>,
    precision: &[f32],
    class: usize,
    voxels: &[&Inner],
    lattice: &Lattice,
    region: &Region,
    n_terms: usize,
) -> Block {
    let n = signals.rows.len();
    let mut basis = vec![[0.0; LANES]; 3 + n_terms];
    for (lane, voxel) in voxels.iter().enumerate() {
        let at: Vec3 = lattice.place(region.voxels[voxel.at as usize] as usize);
        (0..3).for_each(|a| basis[a][lane] = (at[a] / TURN_MM) as f32);
        // Values are the same along any phase encoding.
        let (term, _) = terms(at, 0, n_terms);
        (0..n_terms).for_each(|k| basis[3 + k][lane] = term[k] as f32);
    }
    let spacing = lattice.spacing_mm.map(|s| 0.5 / s as f32);
    let mut slopes = vec![[[0.0; LANES]; 3]; n];
    let mut rows = vec![[0.0; LANES]; n];
    for v in 0..n {
        let p = &signals.predictions[v];
        for (lane, voxel) in voxels.iter().enumerate() {
            for a in 0..3 {
                let rise = p[voxel.high[a] as usize] - p[voxel.low[a] as usize];
                slopes[v][a][lane] = rise * spacing[a];
            }
            rows[v][lane] = signals.rows[v][voxel.at as usize];
        }
    }
    let pulls = SimdLevel::best().run(Through { precision, rows: &rows });
    Block { class, basis, slopes, pulls }
}

/// Rows of C⁻¹ times rows.
struct Through<'a> {
    precision: &'a [f32],
    rows: &'a [Row],
}

impl WithSimd for Through<'_> {
    type Output = Vec<Row>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<Row> {
        let Self { precision, rows } = self;
        let n = rows.len();
        let mut out = vec![[0.0f32; LANES]; n];
        for (i, out) in out.iter_mut().enumerate() {
            for (row, &c) in rows.iter().zip(&precision[i * n..(i + 1) * n]) {
                (0..LANES).for_each(|l| out[l] += c * row[l]);
            }
        }
        out
    }
}

/// Makes residuals over their standard deviations have that of the data, cuts them off, and counts each as `share`.
///
/// A volume's are cut off at its own spread where that is larger: where it lies degrees away from what predicts it, nearly
/// all of them are large, and cut at the spread of the others they would pull it there by a small part of the way a round.
pub(super) fn calibrate(precision: &mut [f32], class: usize, blocks: &mut [Block], share: f32) {
    let own = |block: &&Block| block.class == class;
    let n = blocks.iter().find(own).map_or(0, |block| block.pulls.len());
    if n == 0 {
        return;
    }
    let deviations: Vec<f32> =
        (0..n).map(|v| precision[v * n + v].max(f32::MIN_POSITIVE).sqrt()).collect();
    // Lanes beyond the last are 0 and left out.
    let sizes = |v: usize| -> Vec<f64> {
        let pulls = blocks.iter().filter(own).flat_map(|block| block.pulls[v]);
        let sizes = pulls.map(|z| f64::from((z / deviations[v]).abs()));
        sizes.filter(|z| *z > 0.0).collect()
    };
    let each: Vec<Vec<f64>> = (0..n).map(sizes).collect();
    let all = spread(each.concat()).unwrap_or(1.0).max(1e-12);
    let by = share / (all * all) as f32;
    let most: Vec<f32> = each
        .into_iter()
        .zip(&deviations)
        .map(|(sizes, sd)| CUT * spread(sizes).unwrap_or(all).max(all) as f32 * sd)
        .collect();
    precision.iter_mut().for_each(|c| *c *= by);
    for block in blocks.iter_mut().filter(|block| block.class == class) {
        for (row, most) in block.pulls.iter_mut().zip(&most) {
            row.iter_mut().for_each(|z| *z = z.clamp(-most, *most) * by);
        }
    }
}

/// The standard deviation of which these are sizes, by their median.
fn spread(sizes: Vec<f64>) -> Option<f64> {
    median(sizes).map(|size| 1.4826 * size)
}

#[cfg(test)]
mod tests {
    use fimbria_testing::Noise;

    use super::*;

    #[test]
    fn a_volume_that_lies_far_away_keeps_its_pull_and_a_voxel_that_does_is_cut_off() {
        let (n, far, by) = (5, 4, 20.0);
        let mut random = Noise(5);
        let mut row = |v: usize| -> Row {
            std::array::from_fn(|_| random.normal() as f32 * if v == far { by } else { 1.0 })
        };
        let block = |pulls| Block { class: 0, basis: Vec::new(), slopes: Vec::new(), pulls };
        let mut blocks: Vec<Block> =
            (0..20).map(|_| block((0..n).map(&mut row).collect())).collect();
        blocks[0].pulls[0][0] = 1000.0;
        let mut precision: Vec<f32> =
            (0..n * n).map(|at| if at / n == at % n { 1.0 } else { 0.0 }).collect();
        calibrate(&mut precision, 0, &mut blocks, 1.0);
        let size = |v: usize| -> f32 {
            let sizes = blocks.iter().flat_map(|block| block.pulls[v]).map(f32::abs);
            sizes.sum::<f32>() / (20 * LANES) as f32
        };
        // Of normal deviates 3 in 1000 are beyond three, and a mean of 1280 sizes is sure to 2 %.
        assert!((size(far) / size(1) - by).abs() < 0.1 * by, "{} {}", size(far), size(1));
        // Three deviations are 3.8 times the mean size; the far volume's spread widens that of all by a third.
        let cut = blocks[0].pulls[0][0] / size(1);
        assert!((3.0..6.0).contains(&cut), "{cut}");
    }
}
