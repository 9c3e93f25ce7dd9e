//! Programmes with a shared H and with an H each.

use super::dual::{BLOCK, Gram, minimise};
use super::metric::Metric;
use super::{ActiveSetError, Constraints, Outcome, Work};

/// Violations up to this fraction of the largest slack of the unconstrained minimum are rounding.
const TOLERANCE: f64 = 1e-9;

/// Many programmes with the same H and C: K is formed once.
#[derive(Clone, Debug)]
pub struct SharedProgramme {
    constraints: Constraints,
    metric: Metric,
    gram: Vec<f64>,
    tolerance: f64,
}

struct Formed<'a> {
    gram: &'a [f64],
    stride: usize,
}

impl Gram for Formed<'_> {
    #[inline(always)]
    fn prepare(&mut self, _j: usize) {}

    #[inline(always)]
    fn row(&self, j: usize) -> &[f64] {
        &self.gram[j * self.stride..][..self.stride]
    }
}

impl SharedProgramme {
    /// The programmes with this H (row-major, symmetric).
    ///
    /// # Errors
    /// Where H has another size or is not positive definite.
    pub fn new(hessian: &[f64], constraints: Constraints) -> Result<Self, ActiveSetError> {
        let mut metric = Metric::new(&constraints);
        metric.set(hessian, &constraints)?;
        let m = constraints.len();
        let stride = m.next_multiple_of(BLOCK);
        let mut gram = vec![0.0; m * stride];
        for (j, row) in gram.chunks_exact_mut(stride.max(1)).enumerate() {
            metric.gram_row(j, &mut row[..m]);
        }
        Ok(Self { constraints, metric, gram, tolerance: TOLERANCE })
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

    /// z = L⁻¹f in place, for H = LLᵀ.
    pub fn whiten(&self, f: &mut [f64]) {
        self.metric.whiten(f);
    }

    /// x = L⁻ᵀz in place.
    pub fn unwhiten(&self, z: &mut [f64]) {
        self.metric.unwhiten(z);
    }

    /// The rows of C L⁻ᵀ scaled to length 1, `[constraint][unknown]`: constraints on z = Lᵀx where
    /// all bounds are zero.
    pub fn whitened_constraints(&self) -> Vec<f64> {
        let m = self.constraints.len();
        let columns = &self.metric.columns;
        let row = |i: usize| columns.iter().skip(i).step_by(m);
        (0..m).flat_map(|i| row(i).copied().collect::<Vec<_>>()).collect()
    }

    /// Minimises ½ xᵀHx - fᵀx with f in `x`, which becomes the solution.
    ///
    /// # Panics
    /// Where `x` has another length than there are unknowns.
    #[inline(always)]
    pub fn solve(&self, x: &mut [f64], work: &mut Work) -> Outcome {
        let mut gram =
            Formed { gram: &self.gram, stride: self.constraints.len().next_multiple_of(BLOCK) };
        solve(&self.constraints, &self.metric, &mut gram, self.tolerance, x, work)
    }
}

/// A programme whose H changes from problem to problem; each thread has its own.
#[derive(Clone, Debug)]
pub struct Programme<'c> {
    constraints: &'c Constraints,
    metric: Metric,
    gram: Vec<f64>,
    formed: Vec<bool>,
    tolerance: f64,
}

struct AsNeeded<'a> {
    metric: &'a Metric,
    gram: &'a mut [f64],
    formed: &'a mut [bool],
}

impl Gram for AsNeeded<'_> {
    #[inline(always)]
    fn prepare(&mut self, j: usize) {
        let m = self.formed.len();
        if !std::mem::replace(&mut self.formed[j], true) {
            self.metric.gram_row(j, &mut self.gram[j * m.next_multiple_of(BLOCK)..][..m]);
        }
    }

    #[inline(always)]
    fn row(&self, j: usize) -> &[f64] {
        let stride = self.formed.len().next_multiple_of(BLOCK);
        &self.gram[j * stride..][..stride]
    }
}

impl<'c> Programme<'c> {
    /// Memory for programmes with these constraints.
    pub fn new(constraints: &'c Constraints) -> Self {
        let m = constraints.len();
        Self {
            constraints,
            metric: Metric::new(constraints),
            gram: vec![0.0; m * m.next_multiple_of(BLOCK)],
            formed: vec![false; m],
            tolerance: TOLERANCE,
        }
    }

    /// As [`SharedProgramme::with_tolerance`].
    #[must_use]
    pub fn with_tolerance(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
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
        let Self { constraints, metric, gram, formed, tolerance } = self;
        metric.set(hessian, constraints)?;
        formed.fill(false);
        let mut gram = AsNeeded { metric, gram, formed };
        Ok(solve(constraints, metric, &mut gram, *tolerance, x, work))
    }
}

#[inline(always)]
fn solve(
    constraints: &Constraints,
    metric: &Metric,
    gram: &mut impl Gram,
    tolerance: f64,
    x: &mut [f64],
    work: &mut Work,
) -> Outcome {
    assert_eq!(x.len(), constraints.n_unknowns(), "one number for each unknown");
    metric.whiten(x);
    let m = constraints.len();
    let mut slack0 = std::mem::take(&mut work.slack0);
    slack0.clear();
    slack0.extend(constraints.bounds.iter().zip(&metric.scales).map(|(d, s)| -d * s));
    for (column, &z) in metric.columns.chunks_exact(m.max(1)).zip(&*x) {
        for (s, g) in slack0.iter_mut().zip(column) {
            *s += z * g;
        }
    }
    slack0.resize(m.next_multiple_of(BLOCK), 0.0);
    work.slack0 = slack0;
    let outcome = minimise(gram, tolerance, work);
    for (column, z) in metric.columns.chunks_exact(m.max(1)).zip(&mut *x) {
        for (&j, &l) in work.active.iter().zip(&work.lambda) {
            *z += l * column[j];
        }
    }
    metric.unwhiten(x);
    for (&j, l) in work.active.iter().zip(&mut work.lambda) {
        *l *= metric.scales[j];
    }
    outcome
}
