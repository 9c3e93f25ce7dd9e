//! All volumes laid on each other at once.
//!
//! Signals r(x) of the volumes at a place of the head are a Gaussian process over q-space, of covariance C. Steps d
//! of all volumes together minimise
//!
//! Σ_x (r + G d)ᵀ C⁻¹ (r + G d) + (θ + d)ᵀ Λ (θ + d),
//!
//! G the slopes of the predictions along what each parameter moves, Λ what is known before (`prior`). To lay each
//! volume on its prediction in turn has the same end where nothing is known before, and hardly gets there along
//! displacements that vary slowly with the direction, since neighbours are displaced alike; here what the data do
//! not say of them is left to Λ.

use fimbria_compute::SimdLevel;
use fimbria_compute::dense::lu;
use fimbria_compute::dense::vec3::Vec3;
use fimbria_image::frames::{transposed, turned};
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::outliers::median;
use crate::place::{Lattice, Place, terms};
use crate::prior::{EDDY, Prior, TURN_MM};
use crate::region::{Inner, Region};

/// Voxels that are worked on at once.
const LANES: usize = 64;
type Row = [f32; LANES];
/// Residuals are cut off at so many standard deviations.
const CUT: f32 = 3.0;
/// Conjugate gradients end at this part of the first residual, or after so many steps.
const TOLERANCE: f64 = 1e-5;
const STEPS: usize = 500;

/// Voxels of one class.
struct Block {
    class: usize,
    /// Places over [`TURN_MM`], then the polynomials of the field.
    basis: Vec<Row>,
    /// Of each volume: slopes of its prediction along three axes, per mm.
    slopes: Vec<[Row; 3]>,
    /// C⁻¹ r of each volume, cut off.
    pulls: Vec<Row>,
}

/// What the steps are made from.
pub(crate) struct Joint<'a> {
    /// Of each class: C⁻¹, row-major, over what voxels share of each other's noise.
    precisions: Vec<Vec<f32>>,
    blocks: Vec<Block>,
    /// The direction of the phase encoding in each volume's head.
    along: Vec<[f32; 3]>,
    /// Terms of the field.
    n_terms: usize,
    prior: &'a Prior,
}

/// Signals as one round has them.
pub(crate) struct Signals<'a> {
    pub rows: &'a [Vec<f32>],
    pub predictions: &'a [Vec<f32>],
    /// For each voxel of the region its class.
    pub classes: &'a [u8],
    /// Of each class C⁻¹ as the predictor has it, row-major.
    pub precisions: Vec<Vec<f64>>,
    /// So many voxels share their noise.
    pub shared: f64,
}

/// What was solved: steps of all parameters, n x p, and their variances where all others are known.
pub(crate) struct Solved {
    pub steps: Vec<f64>,
    pub variances: Vec<f64>,
}

impl<'a> Joint<'a> {
    /// `every`: one voxel of so many is compared.
    pub(crate) fn new(
        signals: &Signals<'_>,
        places: &[Place],
        lattice: &Lattice,
        region: &Region,
        every: usize,
        prior: &'a Prior,
    ) -> Self {
        let n_terms = prior.width().saturating_sub(EDDY + 1);
        let classes = signals.precisions.len();
        let picked: Vec<&Inner> = region.inner.iter().step_by(every).collect();
        let mut groups = Vec::new();
        for class in 0..classes {
            let own = |voxel: &&Inner| usize::from(signals.classes[voxel.at as usize]) == class;
            let voxels: Vec<&Inner> = picked.iter().copied().filter(own).collect();
            groups.extend(voxels.chunks(LANES).map(|chunk| (class, chunk.to_vec())));
        }
        let axis = places[0].axis;
        let single = |m: &Vec<f64>| m.iter().map(|v| *v as f32).collect::<Vec<f32>>();
        let mut precisions: Vec<Vec<f32>> = signals.precisions.iter().map(single).collect();
        let mut blocks: Vec<Block> = groups
            .par_iter()
            .map(|(class, voxels)| {
                block(signals, &precisions[*class], *class, voxels, lattice, region, axis, n_terms)
            })
            .collect();
        let share = (every as f64 / signals.shared).min(1.0) as f32;
        for (class, precision) in precisions.iter_mut().enumerate() {
            calibrate(precision, class, &mut blocks, share);
        }
        let mut unit = [0.0; 3];
        unit[axis] = 1.0;
        let along = |place: &Place| turned(&transposed(&place.turn), unit).map(|v: f64| v as f32);
        Self { precisions, blocks, along: places.iter().map(along).collect(), n_terms, prior }
    }

    /// Minimises from parameters `theta`, n x p.
    pub(crate) fn solve(&self, theta: &[f64]) -> Solved {
        let (n, p) = (self.along.len(), self.prior.width());
        let grams = self.grams();
        let inverses: Vec<Option<Vec<f64>>> = (0..n)
            .into_par_iter()
            .map(|v| {
                let mut block = grams[v].clone();
                let diagonal = self.prior.diagonal(v);
                for k in 0..p {
                    if self.prior.is_free(v, k) {
                        block[k * p + k] += diagonal[k] + 1e-12;
                    } else {
                        for j in 0..p {
                            block[k * p + j] = 0.0;
                            block[j * p + k] = 0.0;
                        }
                        block[k * p + k] = 1.0;
                    }
                }
                lu::inverse(&block, p)
            })
            .collect();
        let variances = (0..n * p)
            .map(|at| {
                let (v, k) = (at / p, at % p);
                let gram = grams[v][k * p + k];
                if gram > 0.0 { 1.0 / gram } else { f64::INFINITY }
            })
            .collect();
        let precondition = |r: &[f64]| -> Vec<f64> {
            let row = |at: usize| -> f64 {
                let (v, k) = (at / p, at % p);
                let r = &r[v * p..(v + 1) * p];
                match &inverses[v] {
                    Some(inverse) => (0..p).map(|j| inverse[k * p + j] * r[j]).sum(),
                    None => 0.0,
                }
            };
            (0..n * p).map(row).collect()
        };
        let pulls = self.summed(|block| &block.pulls);
        let known = self.prior.apply(theta);
        let mut r: Vec<f64> = pulls.iter().zip(&known).map(|(a, b)| -a - b).collect();
        self.hold(&mut r);
        let steps = conjugate_gradients(r, precondition, |d| {
            let mut out = self.product(d);
            out.iter_mut().zip(self.prior.apply(d)).for_each(|(a, b)| *a += b);
            self.hold(&mut out);
            out
        });
        Solved { steps, variances }
    }

    /// What does not move has no step.
    fn hold(&self, of: &mut [f64]) {
        let p = self.prior.width();
        for (at, value) in of.iter_mut().enumerate() {
            if !self.prior.is_free(at / p, at % p) {
                *value = 0.0;
            }
        }
    }

    /// Gᵀ C⁻¹ G d.
    fn product(&self, d: &[f64]) -> Vec<f64> {
        let mut d = d.to_vec();
        self.prior.without_means(&mut d);
        let d: Vec<f32> = d.iter().map(|v| *v as f32).collect();
        let level = SimdLevel::best();
        let parts =
            self.blocks.par_iter().map(|block| level.run(Product { joint: self, block, d: &d }));
        self.sum(parts.collect())
    }

    /// Gᵀ of rows.
    fn summed<'b>(&'b self, rows: impl Fn(&'b Block) -> &'b Vec<Row> + Sync) -> Vec<f64> {
        let level = SimdLevel::best();
        let parts = self
            .blocks
            .par_iter()
            .map(|block| level.run(Adjoint { joint: self, block, rows: rows(block) }));
        self.sum(parts.collect())
    }

    fn sum(&self, parts: Vec<Vec<f32>>) -> Vec<f64> {
        let mut sum = vec![0.0; self.along.len() * self.prior.width()];
        for part in parts {
            sum.iter_mut().zip(part).for_each(|(sum, value)| *sum += f64::from(value));
        }
        self.prior.without_means(&mut sum);
        sum
    }

    /// Of each volume Gᵀ G over its variance given the others.
    fn grams(&self) -> Vec<Vec<f64>> {
        let (n, p) = (self.along.len(), self.prior.width());
        let level = SimdLevel::best();
        let of = |v: usize| {
            let mut gram = vec![0.0; p * p];
            for block in &self.blocks {
                let own = self.precisions[block.class][v * n + v];
                let part = level.run(Gram { joint: self, block, v });
                gram.iter_mut().zip(part).for_each(|(g, x)| *g += f64::from(own * x));
            }
            gram
        };
        (0..n).into_par_iter().map(of).collect()
    }

    /// What the parameters of a volume move its signal by.
    #[inline(always)]
    fn forward(&self, block: &Block, v: usize, d: &[f32], out: &mut Row) {
        let [x, y, z] = [&block.basis[0], &block.basis[1], &block.basis[2]];
        let [sx, sy, sz] = &block.slopes[v];
        let a = self.along[v];
        let mut field = [0.0; LANES];
        if self.prior.has_field() {
            field = [d[EDDY]; LANES];
            for k in 0..self.n_terms {
                let (term, by) = (&block.basis[3 + k], d[EDDY + 1 + k]);
                (0..LANES).for_each(|i| field[i] += by * term[i]);
            }
        }
        for i in 0..LANES {
            let ux = d[1] * z[i] - d[2] * y[i] + d[3] + a[0] * field[i];
            let uy = d[2] * x[i] - d[0] * z[i] + d[4] + a[1] * field[i];
            let uz = d[0] * y[i] - d[1] * x[i] + d[5] + a[2] * field[i];
            out[i] = sx[i] * ux + sy[i] * uy + sz[i] * uz;
        }
    }

    /// The column of parameter `k` of a volume.
    #[inline(always)]
    fn column(&self, block: &Block, v: usize, k: usize, out: &mut Row) {
        let [x, y, z] = [&block.basis[0], &block.basis[1], &block.basis[2]];
        let [sx, sy, sz] = &block.slopes[v];
        match k {
            0 => (0..LANES).for_each(|i| out[i] = y[i] * sz[i] - z[i] * sy[i]),
            1 => (0..LANES).for_each(|i| out[i] = z[i] * sx[i] - x[i] * sz[i]),
            2 => (0..LANES).for_each(|i| out[i] = x[i] * sy[i] - y[i] * sx[i]),
            3 => *out = *sx,
            4 => *out = *sy,
            5 => *out = *sz,
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

    #[inline(always)]
    fn adjoint(&self, block: &Block, rows: &[Row]) -> Vec<f32> {
        let (n, p) = (self.along.len(), self.prior.width());
        let mut out = vec![0.0; n * p];
        let mut column = [0.0; LANES];
        for v in 0..n {
            for k in 0..p {
                self.column(block, v, k, &mut column);
                out[v * p + k] = dot(&column, &rows[v]);
            }
        }
        out
    }
}

#[inline(always)]
fn dot(a: &Row, b: &Row) -> f32 {
    let mut sums = [0.0f32; 16];
    for start in (0..LANES).step_by(16) {
        (0..16).for_each(|i| sums[i] += a[start + i] * b[start + i]);
    }
    sums.iter().sum()
}

/// Rows of C⁻¹ times rows.
#[inline(always)]
fn through(precision: &[f32], rows: &[Row]) -> Vec<Row> {
    let n = rows.len();
    let mut out = vec![[0.0f32; LANES]; n];
    for (i, out) in out.iter_mut().enumerate() {
        let mut sum = [0.0f32; LANES];
        for (row, &c) in rows.iter().zip(&precision[i * n..(i + 1) * n]) {
            (0..LANES).for_each(|l| sum[l] += c * row[l]);
        }
        *out = sum;
    }
    out
}

struct Product<'a, 'b> {
    joint: &'a Joint<'b>,
    block: &'a Block,
    d: &'a [f32],
}

impl WithSimd for Product<'_, '_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<f32> {
        let Self { joint, block, d } = self;
        let p = joint.prior.width();
        let mut moved = vec![[0.0; LANES]; joint.along.len()];
        for (v, moved) in moved.iter_mut().enumerate() {
            joint.forward(block, v, &d[v * p..(v + 1) * p], moved);
        }
        joint.adjoint(block, &through(&joint.precisions[block.class], &moved))
    }
}

struct Adjoint<'a, 'b> {
    joint: &'a Joint<'b>,
    block: &'a Block,
    rows: &'a [Row],
}

impl WithSimd for Adjoint<'_, '_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<f32> {
        self.joint.adjoint(self.block, self.rows)
    }
}

struct Gram<'a, 'b> {
    joint: &'a Joint<'b>,
    block: &'a Block,
    v: usize,
}

impl WithSimd for Gram<'_, '_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<f32> {
        let Self { joint, block, v } = self;
        let p = joint.prior.width();
        let mut columns = vec![[0.0; LANES]; p];
        columns.iter_mut().enumerate().for_each(|(k, c)| joint.column(block, v, k, c));
        let mut out = vec![0.0; p * p];
        for i in 0..p {
            for j in 0..=i {
                out[i * p + j] = dot(&columns[i], &columns[j]);
                out[j * p + i] = out[i * p + j];
            }
        }
        out
    }
}

/// Voxels gathered; lanes beyond the last count nothing.
#[allow(clippy::too_many_arguments)]
fn block(
    signals: &Signals<'_>,
    precision: &[f32],
    class: usize,
    voxels: &[&Inner],
    lattice: &Lattice,
    region: &Region,
    axis: usize,
    n_terms: usize,
) -> Block {
    let n = signals.rows.len();
    let mut basis = vec![[0.0; LANES]; 3 + n_terms];
    for (lane, voxel) in voxels.iter().enumerate() {
        let at: Vec3 = lattice.place(region.voxels[voxel.at as usize] as usize);
        (0..3).for_each(|a| basis[a][lane] = (at[a] / TURN_MM) as f32);
        let (term, _) = terms(at, axis, n_terms);
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

struct Through<'a> {
    precision: &'a [f32],
    rows: &'a [Row],
}

impl WithSimd for Through<'_> {
    type Output = Vec<Row>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<Row> {
        through(self.precision, self.rows)
    }
}

/// Makes residuals over their standard deviations have that of the data, cuts them off, and counts each as `share`.
fn calibrate(precision: &mut [f32], class: usize, blocks: &mut [Block], share: f32) {
    let own = |block: &&Block| block.class == class;
    let n = blocks.iter().find(own).map_or(0, |block| block.pulls.len());
    if n == 0 {
        return;
    }
    let deviations: Vec<f32> =
        (0..n).map(|v| precision[v * n + v].max(f32::MIN_POSITIVE).sqrt()).collect();
    // Lanes beyond the last are 0 and left out.
    let sizes = blocks.iter().filter(own).flat_map(|block| {
        block.pulls.iter().zip(&deviations).flat_map(|(row, sd)| row.iter().map(move |z| z / sd))
    });
    let sizes: Vec<f64> = sizes.map(|z| f64::from(z.abs())).filter(|z| *z > 0.0).collect();
    let spread = 1.4826 * median(sizes).unwrap_or(1.0).max(1e-12);
    let by = share / (spread * spread) as f32;
    precision.iter_mut().for_each(|c| *c *= by);
    for block in blocks.iter_mut().filter(|block| block.class == class) {
        for (row, sd) in block.pulls.iter_mut().zip(&deviations) {
            let most = CUT * spread as f32 * sd;
            row.iter_mut().for_each(|z| *z = z.clamp(-most, most) * by);
        }
    }
}

fn conjugate_gradients(
    mut r: Vec<f64>,
    precondition: impl Fn(&[f64]) -> Vec<f64>,
    product: impl Fn(&[f64]) -> Vec<f64>,
) -> Vec<f64> {
    let dot = fimbria_compute::dense::vector::dot;
    let mut x = vec![0.0; r.len()];
    let mut z = precondition(&r);
    let mut direction = z.clone();
    let mut size = dot(&r, &z);
    let last = size * TOLERANCE * TOLERANCE;
    for _ in 0..STEPS {
        if size.is_nan() || size <= last || size <= 0.0 {
            break;
        }
        let applied = product(&direction);
        let step = size / dot(&direction, &applied);
        x.iter_mut().zip(&direction).for_each(|(x, d)| *x += step * d);
        r.iter_mut().zip(&applied).for_each(|(r, a)| *r -= step * a);
        z = precondition(&r);
        let next = dot(&r, &z);
        let keep = next / size;
        direction.iter_mut().zip(&z).for_each(|(d, z)| *d = z + keep * *d);
        size = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, Grid, Mask};

    use super::*;
    use crate::place::Eddy;

    /// Five volumes of a bump, of which each is the prediction of all and one lies elsewhere.
    fn with_joint<T>(moved: [f64; 3], run: impl FnOnce(&Joint<'_>) -> T) -> T {
        let grid = Grid { dims: [17, 15, 13], ras_from_vox: Affine::from_spacing([2.0; 3]) };
        let lattice = Lattice::new(&grid);
        let mask = Mask { grid, voxels: (0..grid.len() as u32).collect() };
        let region = Region::around(&mask);
        let bump = |v: u32, by: [f64; 3]| {
            let at = lattice.place(v as usize);
            let [x, y, z] = [0, 1, 2].map(|a| (at[a] + by[a]) / [9.0, 8.0, 7.0][a]);
            (100.0 * (-0.5 * (x * x + y * y + z * z + 0.3 * x * y)).exp()) as f32
        };
        let row = |by| region.voxels.iter().map(|&v| bump(v, by)).collect::<Vec<f32>>();
        let mut rows = vec![row([0.0; 3]); 5];
        rows[2] = row(moved);
        let predictions = vec![row([0.0; 3]); 5];
        let classes = vec![0; region.voxels.len()];
        // What is left of each volume by the mean of all.
        let precision = (0..25).map(|at| if at / 5 == at % 5 { 0.8 } else { -0.2 }).collect();
        let signals = Signals {
            rows: &rows,
            predictions: &predictions,
            classes: &classes,
            precisions: vec![precision],
            shared: 1.0,
        };
        let turned = |v: usize| (v > 0).then(|| [v as f64, 1.0, 0.5 * (v * v) as f64]);
        let shells = vec![vec![0], vec![1, 2, 3, 4]];
        let prior = Prior::new(0, (0..5).map(turned).collect(), shells, 8);
        let places = vec![Place::still(1, Eddy::Quadratic); 5];
        run(&Joint::new(&signals, &places, &lattice, &region, 1, &prior))
    }

    #[test]
    fn the_product_is_symmetric() {
        with_joint([0.3, 0.0, 0.0], |joint| {
            let n = 5 * joint.prior.width();
            let vector = |k: f64| (0..n).map(|i| (k * i as f64).sin()).collect::<Vec<f64>>();
            let (a, b) = (vector(1.0), vector(0.7));
            let dot = fimbria_compute::dense::vector::dot;
            let (left, right) = (dot(&joint.product(&a), &b), dot(&a, &joint.product(&b)));
            let size = dot(&joint.product(&a), &a) + dot(&joint.product(&b), &b);
            // Sums of single numbers.
            assert!((left - right).abs() < 1e-5 * size, "{left} {right} {size}");
        });
    }

    #[test]
    fn a_volume_that_lies_elsewhere_is_moved_back() {
        let solved = with_joint([0.4, -0.3, 0.2], |joint| joint.solve(&vec![0.0; 5 * 15]));
        let shift = |v: usize| -> Vec<f64> {
            (3..6).map(|k| solved.steps[v * 15 + k] - solved.steps[15 + k]).collect()
        };
        let [by, other] = [shift(2), shift(4)];
        for (a, known) in [-0.4, 0.3, -0.2].into_iter().enumerate() {
            // Its residuals are cut off at three of their deviations; the constant of the field may take a part.
            assert!(by[a] * known > 0.0 && by[a].abs() < 1.3 * known.abs(), "{by:?}");
            assert!(other[a].abs() < 0.5 * known.abs(), "{other:?}");
        }
    }
}
