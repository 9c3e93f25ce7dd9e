//! Approximate solutions of many programmes side by side, in single precision.
//!
//! The alternating direction method of multipliers (Boyd et al., Found. Trends Mach. Learn. 3, 1
//! (2011), §§ 3 and 5.2) has slacks y ≥ 0 of its own, which multipliers λ ≥ 0 hold to Cx. One vector v
//! carries both: √σ y is its positive part, λ/√σ its negative one. With LLᵀ = H + σCᵀC and
//! B = √σ C L⁻ᵀ a round is two products with B, the same for all programmes:
//!
//! x̃ = L⁻¹f + Bᵀ|v|, v ← α B x̃ + (1 - α) max(v, 0) + min(v, 0), and x = L⁻ᵀx̃.
//!
//! A small σ moves slacks far, a large one multipliers: it changes on the way ([`STAGES`]). Each lane is a
//! programme by itself, so that a guess does not depend on those beside it.

use fimbria_compute::dense::cholesky;
use fimbria_compute::{Lanes, Real};
use pulp::Simd;

use super::metric::Metric;
use super::sums::dot;
use super::{ActiveSetError, Constraints};

/// σ, in units of the geometric mean of how H and the constraints bend, and the rounds with it.
const STAGES: [(f64, usize); 3] = [(8.0, 30), (32.0, 30), (100.0, 60)];
/// α: steps go further than they aim.
const RELAXATION: f32 = 1.9;
/// Constraints worked on together.
const ROWS: usize = 4;
/// Registers of programmes worked on together: with [`ROWS`] as many sums as 16 registers hold.
const WIDE: usize = 3;

/// What programmes with one H and constraints Cx ≥ 0 share. (Other bounds are taken for zero: guesses
/// are worse.)
#[derive(Clone, Debug)]
pub struct Splitting {
    n_unknowns: usize,
    stages: Vec<Stage>,
    /// Lengths of the constraints.
    lengths: Vec<f64>,
}

/// Rounds with one σ.
#[derive(Clone, Debug)]
struct Stage {
    rounds: usize,
    /// √σ.
    root: f64,
    /// L⁻¹, row-major.
    whitening: Vec<f64>,
    /// B of constraints of length 1, `[block][unknown][constraint]`; zeros behind the last one.
    blocks: Vec<[f32; ROWS]>,
}

/// Approximate solutions of programmes side by side.
#[derive(Clone, Debug, Default)]
pub struct Guesses {
    /// What x̃ and v of each are in units of.
    sizes: Vec<f64>,
    /// x̃ and v, `[unknown or constraint][programme]`.
    points: Vec<f32>,
    splits: Vec<f32>,
    width: usize,
}

/// An approximate solution of one programme.
#[derive(Clone, Debug, Default)]
pub struct Guess {
    /// x.
    pub(super) x: Vec<f64>,
    /// λ ≥ 0 of every constraint as it was given.
    pub(super) multipliers: Vec<f64>,
}

impl Splitting {
    /// For programmes with this H (row-major, symmetric).
    ///
    /// # Errors
    /// Where H has another size or is not positive definite.
    pub fn new(hessian: &[f64], constraints: &Constraints) -> Result<Self, ActiveSetError> {
        let n = constraints.n_unknowns();
        let mut metric = Metric::new(n);
        metric.set(hessian)?;
        let mut rows: Vec<f64> = Vec::with_capacity(constraints.len() * n);
        let mut lengths = Vec::with_capacity(constraints.len());
        for row in (0..constraints.len()).map(|j| constraints.row(j)) {
            let length = dot(row, row).sqrt();
            rows.extend(row.iter().map(|c| c / length));
            lengths.push(length);
        }
        let bend = (dot(hessian, hessian).sqrt() / metric.norm()).sqrt();
        let unit = bend * n as f64 / lengths.len().max(1) as f64;
        let stage = |(sigma, rounds)| Stage::new(hessian, &rows, n, sigma * unit, rounds);
        let stages = STAGES.into_iter().map(stage).collect::<Option<Vec<_>>>();
        let stages = stages.ok_or(ActiveSetError::NotPositiveDefinite)?;
        Ok(Self { n_unknowns: n, stages, lengths })
    }

    /// The most programmes that [`approximate`](Self::approximate) takes.
    #[inline(always)]
    pub fn width<S: Simd>() -> usize {
        WIDE * Lanes::<S>::LANES
    }

    /// Approximates the solutions of programmes with these f, `[programme][unknown]`.
    ///
    /// # Panics
    /// Where there are more than [`width`](Self::width).
    #[inline(always)]
    pub fn approximate<S: Simd>(&self, simd: S, linear: &[f64], guesses: &mut Guesses) {
        let (n, lanes) = (self.n_unknowns, Lanes::<S>::LANES);
        assert!(linear.len() <= WIDE * lanes * n, "{} numbers", linear.len());
        if linear.len() <= lanes * n {
            self.split::<S, 1>(simd, linear, guesses);
        } else {
            self.split::<S, WIDE>(simd, linear, guesses);
        }
    }

    #[inline(always)]
    fn split<S: Simd, const W: usize>(&self, simd: S, linear: &[f64], guesses: &mut Guesses) {
        let n = self.n_unknowns;
        let zero = [Lanes::<S>::new(simd, 0.0); W];
        let mut splits = vec![zero; self.lengths.len().next_multiple_of(ROWS)];
        let (mut aims, mut points, mut next) = (vec![zero; n], vec![zero; n], vec![zero; n]);
        guesses.width = W * Lanes::<S>::LANES;
        guesses.sizes.clear();
        let mut root = self.stages[0].root;
        for stage in &self.stages {
            guesses.whiten(stage, linear, n);
            load(simd, &guesses.points, &mut aims);
            rescale((stage.root / root) as f32, &mut splits);
            root = stage.root;
            stage.meet(&aims, &splits, &mut points);
            for _ in 0..stage.rounds {
                stage.round(&aims, &points, &mut splits, &mut next);
                std::mem::swap(&mut points, &mut next);
            }
        }
        store(&points, &mut guesses.points);
        store(&splits, &mut guesses.splits);
    }

    /// The guess of one of the programmes that were approximated last.
    #[inline(always)]
    pub fn take(&self, guesses: &Guesses, programme: usize, guess: &mut Guess) {
        let (n, size) = (self.n_unknowns, guesses.sizes[programme]);
        let stage = &self.stages[STAGES.len() - 1];
        let numbers = |of_all: &[f32]| {
            let numbers = of_all.iter().skip(programme).step_by(guesses.width);
            numbers.map(move |&number| size * f64::from(number)).collect::<Vec<f64>>()
        };
        guess.x.clear();
        guess.x.resize(n, 0.0);
        // L⁻ᵀx̃.
        let rows = stage.whitening.chunks_exact(n).enumerate();
        for ((i, row), point) in rows.zip(numbers(&guesses.points)) {
            guess.x.iter_mut().zip(&row[..=i]).for_each(|(x, l)| *x += point * l);
        }
        let splits = numbers(&guesses.splits);
        let multiplier = |(v, length): (&f64, &f64)| stage.root * (-v).max(0.0) / length;
        guess.multipliers.clear();
        guess.multipliers.extend(splits.iter().zip(&self.lengths).map(multiplier));
    }
}

impl Guesses {
    /// L⁻¹f of every programme into `points`, in units of its largest number in the first stage.
    #[inline(always)]
    fn whiten(&mut self, stage: &Stage, linear: &[f64], n: usize) {
        self.points.clear();
        self.points.resize(n * self.width, 0.0);
        let mut white = vec![0.0; n];
        for (k, f) in linear.chunks_exact(n).enumerate() {
            for (i, (white, row)) in
                white.iter_mut().zip(stage.whitening.chunks_exact(n)).enumerate()
            {
                *white = dot(&row[..=i], &f[..=i]);
            }
            if k == self.sizes.len() {
                let size = white.iter().fold(0.0, |size, x| f64::max(size, x.abs()));
                self.sizes.push(if size > 0.0 { size } else { 1.0 });
            }
            for (lanes, white) in self.points.chunks_exact_mut(self.width).zip(&white) {
                lanes[k] = (white / self.sizes[k]) as f32;
            }
        }
    }
}

impl Stage {
    /// `None` where H is not positive definite.
    fn new(hessian: &[f64], rows: &[f64], n: usize, sigma: f64, rounds: usize) -> Option<Self> {
        let mut bent = hessian.to_vec();
        for row in rows.chunks_exact(n) {
            for (bent, c) in bent.chunks_exact_mut(n).zip(row) {
                bent.iter_mut().zip(row).for_each(|(b, d)| *b += sigma * c * d);
            }
        }
        let factor = cholesky::factor(&bent, n, 0.0)?;
        let whitening = inverse_of_triangle(&factor, n);
        let root = sigma.sqrt();
        let mut blocks = vec![[0.0; ROWS]; rows.len().div_ceil(n * ROWS) * n];
        for (j, row) in rows.chunks_exact(n).enumerate() {
            for (k, white) in whitening.chunks_exact(n).enumerate() {
                blocks[j / ROWS * n + k][j % ROWS] = (root * dot(white, row)) as f32;
            }
        }
        Some(Self { rounds, root, whitening, blocks })
    }

    /// x̃ of v, `points` of `splits`.
    #[inline(always)]
    fn meet<R: Real, const W: usize>(
        &self,
        aims: &[[R; W]],
        splits: &[[R; W]],
        points: &mut [[R; W]],
    ) {
        points.copy_from_slice(aims);
        let blocks = self.blocks.chunks_exact(points.len());
        for (block, splits) in blocks.zip(splits.as_chunks::<ROWS>().0) {
            add(block, &splits.map(|split| split.map(R::abs)), points);
        }
    }

    /// One round: from x̃ and v to the next v, `splits`, and its x̃, `next`.
    #[inline(always)]
    fn round<R: Real, const W: usize>(
        &self,
        aims: &[[R; W]],
        points: &[[R; W]],
        splits: &mut [[R; W]],
        next: &mut [[R; W]],
    ) {
        next.copy_from_slice(aims);
        let blocks = self.blocks.chunks_exact(points.len());
        for (block, splits) in blocks.zip(splits.as_chunks_mut::<ROWS>().0) {
            let zero = points[0][0].splat(0.0);
            let mut sums = [[zero; W]; ROWS];
            for (column, point) in block.iter().zip(points) {
                for r in 0..ROWS {
                    let b = zero.splat(column[r]);
                    for w in 0..W {
                        sums[r][w] = b.mul_add(point[w], sums[r][w]);
                    }
                }
            }
            for r in 0..ROWS {
                for w in 0..W {
                    let v = splits[r][w];
                    let kept = v.max(zero).mul_add(zero.splat(1.0 - RELAXATION), v.min(zero));
                    splits[r][w] = sums[r][w].mul_add(zero.splat(RELAXATION), kept);
                    sums[r][w] = splits[r][w].abs();
                }
            }
            add(block, &sums, next);
        }
    }
}

/// Adds Bᵀ times some constraints' numbers.
#[inline(always)]
fn add<R: Real, const W: usize>(
    block: &[[f32; ROWS]],
    numbers: &[[R; W]; ROWS],
    sums: &mut [[R; W]],
) {
    for (column, sum) in block.iter().zip(sums) {
        let mut running = *sum;
        for r in 0..ROWS {
            let b = running[0].splat(column[r]);
            for w in 0..W {
                running[w] = b.mul_add(numbers[r][w], running[w]);
            }
        }
        *sum = running;
    }
}

/// v for another σ: the same slacks and multipliers.
#[inline(always)]
fn rescale<R: Real, const W: usize>(ratio: f32, splits: &mut [[R; W]]) {
    for v in splits.iter_mut().flatten() {
        let zero = v.splat(0.0);
        *v = v.max(zero) * ratio + v.min(zero) / ratio;
    }
}

#[inline(always)]
fn load<S: Simd, const W: usize>(simd: S, numbers: &[f32], registers: &mut [[Lanes<S>; W]]) {
    let numbers = numbers.chunks_exact(Lanes::<S>::LANES);
    for (register, numbers) in registers.iter_mut().flatten().zip(numbers) {
        *register = Lanes::load(simd, numbers);
    }
}

#[inline(always)]
fn store<S: Simd, const W: usize>(registers: &[[Lanes<S>; W]], numbers: &mut Vec<f32>) {
    let lanes = Lanes::<S>::LANES;
    numbers.clear();
    numbers.resize(registers.len() * W * lanes, 0.0);
    for (register, numbers) in registers.iter().flatten().zip(numbers.chunks_exact_mut(lanes)) {
        register.store(numbers);
    }
}

/// The inverse of a lower triangular matrix.
fn inverse_of_triangle(factor: &[f64], n: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; n * n];
    for j in 0..n {
        for i in j..n {
            let earlier: f64 = (j..i).map(|k| factor[i * n + k] * inverse[k * n + j]).sum();
            let unit = f64::from(u8::from(i == j));
            inverse[i * n + j] = (unit - earlier) / factor[i * n + i];
        }
    }
    inverse
}
