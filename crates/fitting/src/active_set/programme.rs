//! Programmes with a shared H and with an H each.

use super::dual::{Whitened, minimise};
use super::metric::Metric;
use super::sums::dot;
use super::{ActiveSetError, Constraints, Outcome, Work};

/// Violations up to this fraction of the largest slack of the unconstrained minimum are rounding.
const TOLERANCE: f64 = 1e-9;

/// Constraints in the metric of an H, by their places.
#[derive(Clone, Debug)]
struct Units {
    stride: usize,
    /// gⱼ = L⁻¹cⱼ with length 1, padded.
    vectors: Vec<f64>,
    /// L⁻ᵀgⱼ, padded.
    steps: Vec<f64>,
    /// One over the lengths that L⁻¹cⱼ had.
    scales: Vec<f64>,
}

impl Units {
    fn new(n_constraints: usize, metric: &Metric) -> Self {
        let stride = metric.stride;
        let vectors = vec![0.0; n_constraints * stride];
        Self { stride, steps: vectors.clone(), vectors, scales: vec![1.0; n_constraints] }
    }

    /// Computes what belongs to place `j`.
    #[inline(always)]
    fn set(&mut self, j: usize, constraints: &Constraints, metric: &Metric) {
        let place = j * self.stride..(j + 1) * self.stride;
        let vector = &mut self.vectors[place.clone()];
        metric.whiten(constraints.row(constraints.order[j]), vector);
        let scale = 1.0 / dot(vector, vector).sqrt();
        vector.iter_mut().for_each(|g| *g *= scale);
        self.scales[j] = scale;
        metric.unwhiten(vector, &mut self.steps[place]);
    }

    #[inline(always)]
    fn vector(&self, j: usize) -> &[f64] {
        &self.vectors[j * self.stride..][..self.stride]
    }

    #[inline(always)]
    fn step(&self, j: usize) -> &[f64] {
        &self.steps[j * self.stride..][..self.stride]
    }

    #[inline(always)]
    fn gram(&self, i: usize, j: usize) -> f64 {
        dot(self.vector(i), self.vector(j))
    }
}

/// Many programmes with the same H and C: K is formed once.
#[derive(Clone, Debug)]
pub struct SharedProgramme {
    constraints: Constraints,
    metric: Metric,
    units: Units,
    /// K by places.
    gram: Vec<f64>,
    tolerance: f64,
}

struct Formed<'a> {
    units: &'a Units,
    gram: &'a [f64],
}

impl Whitened for Formed<'_> {
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
        let gram = (0..m * m).map(|at| units.gram(at / m, at % m)).collect();
        Ok(Self { constraints, metric, units, gram, tolerance: TOLERANCE })
    }

    /// Lets constraints be violated by this fraction of the largest slack of the unconstrained
    /// minimum (1e-9 unless told).
    #[must_use]
    pub fn with_tolerance(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
    }

    /// The constraints.
    pub fn constraints(&self) -> &Constraints {
        &self.constraints
    }

    /// L⁻¹f, for H = LLᵀ.
    pub fn whiten(&self, f: &[f64]) -> Vec<f64> {
        let mut z = vec![0.0; self.metric.stride];
        self.metric.whiten(f, &mut z);
        z.truncate(f.len());
        z
    }

    /// L⁻ᵀz.
    pub fn unwhiten(&self, z: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.metric.stride];
        self.metric.unwhiten(z, &mut x);
        x.truncate(z.len());
        x
    }

    /// Minimises ½ xᵀHx - fᵀx with f in `x`, which becomes the solution.
    ///
    /// # Panics
    /// Where `x` has another length than there are unknowns.
    #[inline(always)]
    pub fn solve(&self, x: &mut [f64], work: &mut Work) -> Outcome {
        let mut formed = Formed { units: &self.units, gram: &self.gram };
        solve(&self.constraints, &self.metric, &mut formed, self.tolerance, x, work)
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

impl Whitened for AsNeeded<'_> {
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
        self.units.gram(i, j)
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
        let Self { constraints, metric, units } = self;
        metric.set(hessian)?;
        let mut as_needed = AsNeeded { constraints, metric, units };
        Ok(solve(constraints, metric, &mut as_needed, TOLERANCE, x, work))
    }
}

#[inline(always)]
fn solve(
    constraints: &Constraints,
    metric: &Metric,
    whitened: &mut impl Whitened,
    tolerance: f64,
    x: &mut [f64],
    work: &mut Work,
) -> Outcome {
    assert_eq!(x.len(), constraints.n_unknowns(), "one number for each unknown");
    work.x.resize(metric.stride, 0.0);
    work.x0.resize(metric.stride, 0.0);
    metric.whiten(x, &mut work.x);
    metric.unwhiten(&work.x, &mut work.x0);
    let outcome = minimise(constraints, whitened, tolerance, work);
    x.copy_from_slice(&work.x[..x.len()]);
    for (j, l) in work.active.iter_mut().zip(&mut work.lambda) {
        *l *= whitened.scale(*j);
        *j = constraints.order[*j];
    }
    outcome
}
