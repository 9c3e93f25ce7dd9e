//! Programmes with a shared H and with an H each.

use pulp::Simd;

use super::dual::{Scaled, Walk, minimise};
use super::metric::Metric;
use super::path::Path;
use super::pricing::{BlockPrices, Blocks, Pricing};
use super::splitting::Guess;
use super::sums::dot;
use super::{ActiveSetError, Constraints, Outcome, Verdict};

/// Violations up to this fraction of the largest slack of the unconstrained minimum are rounding.
const TOLERANCE: f64 = 1e-9;

/// Constraints in the metric of an H.
#[derive(Clone, Debug)]
struct Units {
    stride: usize,
    /// H⁻¹cⱼ times the scale, padded.
    steps: Vec<f64>,
    /// One over the lengths of the constraints, √(cⱼᵀH⁻¹cⱼ).
    scales: Vec<f64>,
}

impl Units {
    fn new(n_constraints: usize, metric: &Metric) -> Self {
        let stride = metric.stride;
        Self { stride, steps: vec![0.0; n_constraints * stride], scales: vec![1.0; n_constraints] }
    }

    /// Computes what belongs to constraint `j`.
    #[inline(always)]
    fn set(&mut self, j: usize, constraints: &Constraints, metric: &Metric) {
        let row = constraints.padded_row(j);
        let step = &mut self.steps[j * self.stride..][..self.stride];
        metric.minimum(&row[..constraints.n_unknowns()], step);
        let scale = 1.0 / dot(row, step).sqrt();
        step.iter_mut().for_each(|s| *s *= scale);
        self.scales[j] = scale;
    }

    #[inline(always)]
    fn step(&self, j: usize) -> &[f64] {
        &self.steps[j * self.stride..][..self.stride]
    }

    /// The product of the constraints of `i` and `j` with length 1.
    #[inline(always)]
    fn gram(&self, i: usize, j: usize, constraints: &Constraints) -> f64 {
        self.scales[i] * dot(constraints.padded_row(i), self.step(j))
    }
}

/// Working memory of one thread, and what a solution leaves in it.
#[derive(Clone, Debug, Default)]
pub struct Work {
    walk: Walk,
    prices: BlockPrices,
    path: Path,
}

impl Work {
    /// The constraints that the last solution meets with equality, in no order.
    pub fn active(&self) -> &[usize] {
        &self.walk.active
    }

    /// Their multipliers, of the constraints as they were given: Hx - f = Cᵀλ.
    pub fn multipliers(&self) -> &[f64] {
        &self.walk.lambda
    }
}

/// Many programmes with the same H and C: K is formed once.
#[derive(Clone, Debug)]
pub struct SharedProgramme {
    constraints: Constraints,
    metric: Metric,
    units: Units,
    /// K.
    gram: Vec<f64>,
    tolerance: f64,
}

struct Formed<'a> {
    units: &'a Units,
    gram: &'a [f64],
}

impl Scaled for Formed<'_> {
    #[inline(always)]
    fn admit(&mut self, _j: usize) {}

    #[inline(always)]
    fn scale(&self, j: usize) -> f64 {
        self.units.scales[j]
    }

    #[inline(always)]
    fn step(&self, j: usize) -> &[f64] {
        self.units.step(j)
    }

    #[inline(always)]
    fn gram(&self, i: usize, j: usize) -> f64 {
        self.gram[i * self.units.scales.len() + j]
    }
}

impl SharedProgramme {
    /// The programmes with this H (row-major, symmetric).
    ///
    /// # Errors
    /// Where H has another size or is not positive definite.
    pub fn new(hessian: &[f64], constraints: Constraints) -> Result<Self, ActiveSetError> {
        let mut metric = Metric::new(constraints.n_unknowns());
        metric.set(hessian)?;
        let m = constraints.len();
        let mut units = Units::new(m, &metric);
        (0..m).for_each(|j| units.set(j, &constraints, &metric));
        let gram = (0..m * m).map(|at| units.gram(at / m, at % m, &constraints)).collect();
        Ok(Self { constraints, metric, units, gram, tolerance: TOLERANCE })
    }

    /// Lets constraints be violated by this fraction of the largest slack of the unconstrained
    /// minimum (1e-9 unless told).
    #[must_use]
    pub fn with_tolerance(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
    }

    /// By how much constraints may be violated, relative to the largest slack of the unconstrained
    /// minimum.
    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// The constraints.
    pub fn constraints(&self) -> &Constraints {
        &self.constraints
    }

    /// H⁻¹f, the unconstrained minimum.
    pub fn minimum(&self, f: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.metric.stride];
        self.metric.minimum(f, &mut x);
        x.truncate(f.len());
        x
    }

    /// Minimises ½ xᵀHx - fᵀx with f in `x`, which becomes the solution.
    ///
    /// # Panics
    /// Where `x` has another length than there are unknowns.
    #[inline(always)]
    pub fn solve(&self, x: &mut [f64], work: &mut Work) -> Outcome {
        self.solve_within(self.tolerance, x, work)
    }

    /// The same with constraints violated by another fraction of that slack at most.
    ///
    /// # Panics
    /// Where `x` has another length than there are unknowns.
    #[inline(always)]
    pub fn solve_within(&self, tolerance: f64, x: &mut [f64], work: &mut Work) -> Outcome {
        let mut formed = Formed { units: &self.units, gram: &self.gram };
        let Work { walk, prices, .. } = work;
        walk.start_at_minimum(x, &self.metric);
        let mut blocks = Blocks { constraints: &self.constraints, prices };
        solve(&self.constraints, &mut formed, &mut blocks, tolerance, x, walk)
    }

    /// [`solve`](Self::solve) from a guess, which decides how long it takes and not what comes out.
    ///
    /// # Panics
    /// Where `x` has another length than there are unknowns.
    #[inline(always)]
    pub fn improve(&self, guess: &Guess, x: &mut [f64], work: &mut Work) -> Outcome {
        let mut formed = Formed { units: &self.units, gram: &self.gram };
        let Work { walk, prices, path } = work;
        walk.start_at_minimum(x, &self.metric);
        let mut blocks = Blocks { constraints: &self.constraints, prices };
        let scale = walk.begin(&mut blocks);
        let sizes = (scale, self.tolerance);
        if walk.follow(&self.constraints, &formed, guess, -self.tolerance * scale, path) {
            walk.active.iter().for_each(|&j| blocks.set_active(j, true));
            blocks.look_again(&walk.x);
            let outcome = finish(&self.constraints, &mut formed, &mut blocks, sizes, x, walk);
            if matches!(outcome.verdict, Verdict::Free | Verdict::Bound) {
                return outcome;
            }
        }
        walk.begin(&mut blocks);
        finish(&self.constraints, &mut formed, &mut blocks, sizes, x, walk)
    }
}

/// A programme whose H changes from problem to problem; each thread has its own.
#[derive(Clone, Debug)]
pub struct Programme<'c> {
    constraints: &'c Constraints,
    metric: Metric,
    units: Units,
}

struct AsNeeded<'a> {
    constraints: &'a Constraints,
    metric: &'a Metric,
    units: &'a mut Units,
}

impl Scaled for AsNeeded<'_> {
    #[inline(always)]
    fn admit(&mut self, j: usize) {
        self.units.set(j, self.constraints, self.metric);
    }

    #[inline(always)]
    fn scale(&self, j: usize) -> f64 {
        self.units.scales[j]
    }

    #[inline(always)]
    fn step(&self, j: usize) -> &[f64] {
        self.units.step(j)
    }

    #[inline(always)]
    fn gram(&self, i: usize, j: usize) -> f64 {
        self.units.gram(i, j, self.constraints)
    }
}

impl<'c> Programme<'c> {
    /// Memory for programmes with these constraints.
    pub fn new(constraints: &'c Constraints) -> Self {
        let metric = Metric::new(constraints.n_unknowns());
        let units = Units::new(constraints.len(), &metric);
        Self { constraints, metric, units }
    }

    /// Minimises ½ xᵀHx - fᵀx with f in `x`, which becomes the solution; `hessian` is row-major,
    /// and only its lower triangle is read.
    ///
    /// # Errors
    /// Where H has another size or is not positive definite.
    ///
    /// # Panics
    /// Where `x` has another length than there are unknowns.
    #[inline(always)]
    pub fn solve(
        &mut self,
        hessian: &[f64],
        x: &mut [f64],
        work: &mut Work,
    ) -> Result<Outcome, ActiveSetError> {
        self.metric.set(hessian)?;
        let Work { walk, prices, .. } = work;
        walk.start_at_minimum(x, &self.metric);
        let mut blocks = Blocks { constraints: self.constraints, prices };
        Ok(self.solve_from_start(&mut blocks, x, walk))
    }

    /// Minimises (x - x₀)ᵀH(x - x₀) with x₀, the unconstrained minimum, in `x`, which becomes the
    /// solution: the closest point to it in the metric of H, given by H⁻¹ as lane `one` of what
    /// [`invert`](super::invert) leaves. Slacks are those that `pricing` finds.
    ///
    /// # Panics
    /// Where `x` has another length than there are unknowns.
    #[inline(always)]
    pub fn project<S: Simd>(
        &mut self,
        inverses: &[S::f64s],
        one: usize,
        pricing: &mut impl Pricing,
        x: &mut [f64],
        work: &mut Work,
    ) -> Outcome {
        self.metric.take(bytemuck::cast_slice(inverses), S::F64_LANES, one);
        work.walk.start_at(x, self.metric.stride);
        self.solve_from_start(pricing, x, &mut work.walk)
    }

    #[inline(always)]
    fn solve_from_start(
        &mut self,
        pricing: &mut impl Pricing,
        x: &mut [f64],
        walk: &mut Walk,
    ) -> Outcome {
        let Self { constraints, metric, units } = self;
        let mut as_needed = AsNeeded { constraints, metric, units };
        solve(constraints, &mut as_needed, pricing, TOLERANCE, x, walk)
    }
}

impl Walk {
    /// The unconstrained minimum H⁻¹f.
    #[inline(always)]
    fn start_at_minimum(&mut self, f: &[f64], metric: &Metric) {
        self.x0.resize(metric.stride, 0.0);
        metric.minimum(f, &mut self.x0);
    }

    #[inline(always)]
    fn start_at(&mut self, x0: &[f64], stride: usize) {
        self.x0.clear();
        self.x0.extend_from_slice(x0);
        self.x0.resize(stride, 0.0);
    }
}

/// From the unconstrained minimum `walk.x0` to the constrained one, `x`.
#[inline(always)]
fn solve(
    constraints: &Constraints,
    scaled: &mut impl Scaled,
    pricing: &mut impl Pricing,
    tolerance: f64,
    x: &mut [f64],
    walk: &mut Walk,
) -> Outcome {
    let scale = walk.begin(pricing);
    finish(constraints, scaled, pricing, (scale, tolerance), x, walk)
}

/// From where the walk stands to the constrained minimum, `x`; `sizes` are those of slacks at the
/// unconstrained minimum, and what may be violated relative to that.
#[inline(always)]
fn finish(
    constraints: &Constraints,
    scaled: &mut impl Scaled,
    pricing: &mut impl Pricing,
    sizes: (f64, f64),
    x: &mut [f64],
    walk: &mut Walk,
) -> Outcome {
    assert_eq!(x.len(), constraints.n_unknowns(), "one number for each unknown");
    let outcome = minimise(constraints, scaled, pricing, sizes, walk);
    x.copy_from_slice(&walk.x[..x.len()]);
    for (&j, l) in walk.active.iter().zip(&mut walk.lambda) {
        *l *= scaled.scale(j);
    }
    outcome
}
