//! The search itself.

use fimbria_compute::Progress;
use fimbria_compute::dense::vector::normalise;
use rayon::prelude::*;

use super::collection::{Collection, Member, frobenius};
use super::matrix::pairs_of_matrix;
use super::{Found, Pair, PairsError, kind, most_pairs};
use crate::geap::geap;
use crate::layout::Layout;
use crate::newton::{newton, polish};
use crate::problem::{Form, Local, Problem};
use crate::sshopm::{Extremum, Shift, Stopping, sshopm};
use crate::starts::{in_cube, on_half_sphere};
use crate::tables::Chain;

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// Starts to follow, half of them evenly spread and half random; none for as many as seem needed:
    /// 8 for each of [`most_pairs`], 64 to 4096, and again as many, up to 5 times, until a round
    /// brings nothing new and the pairs balance.
    pub starts: Option<usize>,
    /// Seed of the random starts.
    pub seed: u64,
    /// Largest residual of a pair, relative to the Frobenius norm of A plus |λ| times that of B.
    pub tolerance: f64,
}

impl Default for Search {
    fn default() -> Self {
        Self { starts: None, seed: 0, tolerance: 1e-12 }
    }
}

/// What the shifted power method alone reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// The pairs that converged starts led to, largest λ first.
    pub pairs: Vec<Pair>,
    /// Starts that converged.
    pub converged: usize,
    /// Starts that did not.
    pub not_converged: usize,
}

/// Rounds of a search whose number of starts was not given.
const MOST_ROUNDS: usize = 6;

/// Residual, of tensors with norms near 1, at which Newton's method leaves the rest to polishing.
const NEWTON_TOLERANCE: f64 = 1e-9;

/// Finds pairs of tensors of one order and dimension, in the threads of the pool it is called in.
#[derive(Clone, Debug)]
pub struct PairFinder {
    chain: Chain,
    multiplicities: Vec<f64>,
}

impl PairFinder {
    /// Largest dimension that is searched.
    pub const MAX_DIMENSION: usize = 128;

    /// The finder for this order and dimension.
    ///
    /// # Errors
    /// Where the order is below 2, or there is no such layout or a too large one; nothing is
    /// allocated then.
    pub fn new(order: usize, dimension: usize) -> Result<Self, PairsError> {
        if order < 2 {
            return Err(PairsError::Order { order });
        }
        let layout = Layout::new(order, dimension)?;
        if dimension > Self::MAX_DIMENSION {
            return Err(PairsError::Dimension { dimension, most: Self::MAX_DIMENSION });
        }
        Ok(Self { chain: Chain::new(layout), multiplicities: layout.multiplicities() })
    }

    /// Order and dimension.
    pub fn layout(&self) -> &Layout {
        self.chain.layout()
    }

    /// All real pairs that are found of A, or of A with B, from their unique entries. `tensor`, the
    /// tensor's own number, keys the random starts.
    ///
    /// # Errors
    /// [`PairsError`] where the entries or the options are none, B is not positive definite, or the
    /// user stops it.
    pub fn find(
        &self,
        a: &[f64],
        b: Option<&[f64]>,
        tensor: u64,
        search: &Search,
        progress: &dyn Progress,
    ) -> Result<Found, PairsError> {
        let scaled = self.scale(a, b, search)?;
        let problem = scaled.problem(&self.chain);
        if self.layout().order() == 2 {
            let pairs = pairs_of_matrix(problem, kind::SINGULAR)?;
            return Ok(Found { pairs: scaled.back(pairs), balanced: true, starts: 0 });
        }
        self.require_definite(problem.b, &scaled, progress)?;

        let automatic = most_pairs(self.layout().order(), self.layout().dimension())
            .saturating_mul(8)
            .clamp(64, 4096);
        let per_round = search.starts.unwrap_or(automatic);
        let rounds = if search.starts.is_some() { 1 } else { MOST_ROUNDS };
        let mut collection = Collection::new(problem, search.tolerance);
        let mut local = Local::default();
        let mut starts = 0;
        for round in 0..rounds {
            let before = collection.members.len();
            let first = self.starts(round, per_round, tensor, search.seed);
            let ends = first.par_chunks_exact(self.layout().dimension()).enumerate().map(
                |(number, start)| {
                    progress.check()?;
                    Ok(follow(problem, number, start))
                },
            );
            let ends: Result<Vec<_>, PairsError> = ends.collect();
            for mut x in ends?.into_iter().flatten() {
                collection.add(&mut x, &mut local);
            }
            starts += per_round;
            if round > 0 && collection.members.len() == before && collection.is_balanced() {
                break;
            }
        }
        let balanced = collection.is_balanced();
        Ok(Found { pairs: scaled.collected(collection), balanced, starts })
    }

    /// The pairs that the shifted power method alone leads to, from `starts` random starts as in the
    /// paper: maxima for shifts >= 0, minima below; with B by its generalised form. A fixed shift is
    /// in the unit of λ.
    ///
    /// Starts whose λ does not converge, and those that end where there is no pair, are counted and
    /// not returned.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn reach(
        &self,
        a: &[f64],
        b: Option<&[f64]>,
        tensor: u64,
        starts: usize,
        shift: Shift,
        search: &Search,
        progress: &dyn Progress,
    ) -> Result<Reached, PairsError> {
        let scaled = self.scale(a, b, search)?;
        let problem = scaled.problem(&self.chain);
        self.require_definite(problem.b, &scaled, progress)?;
        let shift = match shift {
            Shift::Fixed(alpha) if !alpha.is_finite() => {
                return Err(PairsError::Option {
                    name: "shift",
                    value: alpha,
                    needed: "a finite number",
                });
            }
            Shift::Fixed(alpha) => Shift::Fixed(alpha / scaled.lambda_unit),
            adaptive @ Shift::Adaptive(_) => adaptive,
        };
        let n = self.layout().dimension();
        let ends: Result<Vec<_>, PairsError> = (0..starts)
            .into_par_iter()
            .map(|start| {
                progress.check()?;
                let mut x = vec![0.0; n];
                in_cube(search.seed, tensor, start as u32, &mut x);
                Ok(geap(problem, &x, shift, Stopping::default()))
            })
            .collect();
        let mut collection = Collection::new(problem, search.tolerance);
        let mut local = Local::default();
        let mut converged = 0;
        for end in ends?.into_iter().filter(|end| end.converged) {
            let mut x = end.x.clone();
            let reached = collection.add(&mut x, &mut local).is_some();
            // Polishing must not have gone to another pair: λ converged to many digits, x to half of
            // them.
            let stayed = kind::sine_between(&end.x, &x, true) < 1e-3;
            converged += usize::from(reached && stayed);
        }
        let pairs = scaled.collected(collection);
        Ok(Reached { pairs, converged, not_converged: starts - converged })
    }

    /// Refuses what [`find`](Self::find) refuses of a tensor alone.
    pub(super) fn check(&self, a: &[f64], search: &Search) -> Result<(), PairsError> {
        self.scale(a, None, search).map(drop)
    }

    /// The entries of a tensor brought to a Frobenius norm of 1; of a tensor that is 0, zeros.
    pub(super) fn of_norm_1(&self, a: &[f64]) -> Vec<f64> {
        let (scaled, _) = self.near_one(a);
        let norm = frobenius(&self.multiplicities, &scaled);
        let divisor = if norm > 0.0 { norm } else { 1.0 };
        scaled.iter().map(|entry| entry / divisor).collect()
    }

    /// The pairs of a tensor near some unit vectors, polished, largest λ first; empty where it is none.
    /// Of vectors within 0.6° of each other the first is taken for all.
    pub(super) fn near(&self, a: &[f64], vectors: &[&[f32]], search: &Search) -> Vec<Pair> {
        /// The sine of 0.6°: far above the error of a search in single precision, far below the
        /// distance of maxima.
        const NEAR: f64 = 0.01;
        let Ok(scaled) = self.scale(a, None, search) else { return Vec::new() };
        let problem = scaled.problem(&self.chain);
        let even = self.layout().order().is_multiple_of(2);
        let mut collection = Collection::new(problem, search.tolerance);
        let mut local = Local::default();
        let mut taken: Vec<Vec<f64>> = Vec::new();
        for vector in vectors {
            let mut x: Vec<f64> = vector.iter().map(|&x| f64::from(x)).collect();
            normalise(&mut x);
            if taken.iter().any(|other| kind::sine_between(other, &x, even) <= NEAR) {
                continue;
            }
            taken.push(x.clone());
            collection.add(&mut x, &mut local);
        }
        scaled.collected(collection)
    }

    /// The starts of a round: in the first, half of them evenly spread; all others random.
    fn starts(&self, round: usize, count: usize, tensor: u64, seed: u64) -> Vec<f64> {
        let n = self.layout().dimension();
        let mut starts = on_half_sphere(if round == 0 { count.div_ceil(2) } else { 0 }, n);
        let spread = starts.len() / n;
        starts.resize(count * n, 0.0);
        for (i, x) in starts.chunks_exact_mut(n).enumerate().skip(spread) {
            in_cube(seed, tensor, (round * count + i) as u32, x);
        }
        starts
    }

    /// Checks everything, and brings A and B to norms between 1 and 2 by powers of 2, which is exact.
    fn scale(&self, a: &[f64], b: Option<&[f64]>, search: &Search) -> Result<Scaled, PairsError> {
        let layout = *self.layout();
        let (order, dimension, expected) = (layout.order(), layout.dimension(), layout.len());
        for (tensor, entries) in [("A", Some(a)), ("B", b)] {
            let Some(entries) = entries else { continue };
            if entries.len() != expected {
                let found = entries.len();
                return Err(PairsError::Entries { tensor, found, expected, order, dimension });
            }
            if let Some(index) = entries.iter().position(|entry| !entry.is_finite()) {
                return Err(PairsError::NotFinite { tensor, index, value: entries[index] });
            }
        }
        if b.is_some() && order % 2 == 1 {
            return Err(PairsError::OddOrder { order });
        }
        if !(search.tolerance > 0.0 && search.tolerance < 1.0) {
            let needed = "above 0 and below 1";
            return Err(PairsError::Option { name: "tolerance", value: search.tolerance, needed });
        }
        if search.starts == Some(0) {
            return Err(PairsError::Option { name: "starts", value: 0.0, needed: "at least 1" });
        }
        let (a, unit_a) = self.near_one(a);
        let (b, unit_b) = match b {
            Some(b) => {
                let (b, unit) = self.near_one(b);
                (Some(b), unit)
            }
            None => (None, 1.0),
        };
        Ok(Scaled { a, b, unit_a, lambda_unit: unit_a / unit_b })
    }

    /// The entries divided by a power of 2, and that power.
    fn near_one(&self, entries: &[f64]) -> (Vec<f64>, f64) {
        // In two steps, because squares of very small or large entries are out of range.
        let largest = crate::sshopm::largest(entries);
        let first = power_of_two(largest);
        let scaled: Vec<f64> = entries.iter().map(|entry| entry / first).collect();
        let second = power_of_two(frobenius(&self.multiplicities, &scaled));
        (scaled.iter().map(|entry| entry / second).collect(), first * second)
    }

    /// Refuses a B whose least value on the sphere is not positive.
    fn require_definite(
        &self,
        b: Option<Form<'_>>,
        scaled: &Scaled,
        progress: &dyn Progress,
    ) -> Result<(), PairsError> {
        /// Relative to B's norm: what rounding can make of 0.
        const POSITIVE: f64 = 1e-13;
        let Some(b) = b else { return Ok(()) };
        let stopping = Stopping { tolerance: 1e-12, max_iterations: 300 };
        let alone = Problem { a: b, b: None };
        let mut local = Local::default();
        for start in on_half_sphere(64, b.dimension()).chunks_exact(b.dimension()) {
            progress.check()?;
            let least = sshopm(b, start, Shift::Adaptive(Extremum::Minimum), stopping);
            let (mut value, mut x) = (least.lambda, least.x);
            // Where B is flat around a zero, only Newton's method comes close enough to see it.
            let mut polished = x.clone();
            if newton(alone, &mut polished, NEWTON_TOLERANCE, &mut local) {
                polish(alone, &mut polished, &mut local);
                if local.lambda < value {
                    (value, x) = (local.lambda, polished);
                }
            }
            if value <= POSITIVE {
                let unit_b = scaled.unit_a / scaled.lambda_unit;
                return Err(PairsError::NotDefinite { value: value * unit_b, x });
            }
        }
        Ok(())
    }
}

/// Follows one start: every second one goes to Newton's method as it is, the others first up or
/// down. None where it does not converge.
fn follow(problem: Problem<'_>, number: usize, start: &[f64]) -> Option<Vec<f64>> {
    /// Enough to enter the neighbourhood of an extreme where Newton's method converges to it.
    const POWER_ITERATIONS: Stopping = Stopping { tolerance: 1e-6, max_iterations: 15 };
    let mut x = match number % 4 {
        1 => geap(problem, start, Shift::Adaptive(Extremum::Maximum), POWER_ITERATIONS).x,
        3 => geap(problem, start, Shift::Adaptive(Extremum::Minimum), POWER_ITERATIONS).x,
        _ => start.to_vec(),
    };
    let mut local = Local::default();
    newton(problem, &mut x, NEWTON_TOLERANCE, &mut local).then_some(x)
}

/// The power of 2 at or below a positive number; 1 for 0.
fn power_of_two(value: f64) -> f64 {
    if value > 0.0 { value.log2().floor().clamp(-1000.0, 1000.0).exp2() } else { 1.0 }
}

/// A and B divided by powers of 2.
struct Scaled {
    a: Vec<f64>,
    b: Option<Vec<f64>>,
    /// What A was divided by.
    unit_a: f64,
    /// What eigenvalues are to be multiplied with.
    lambda_unit: f64,
}

impl Scaled {
    fn problem<'a>(&'a self, chain: &'a Chain) -> Problem<'a> {
        let a = Form::new(chain, &self.a);
        Problem { a, b: self.b.as_ref().map(|b| Form::new(chain, b)) }
    }

    fn collected(&self, collection: Collection<'_>) -> Vec<Pair> {
        self.back(collection.members.into_iter().map(|Member { pair, .. }| pair).collect())
    }

    /// Pairs of the tensors as given, largest λ first.
    fn back(&self, mut pairs: Vec<Pair>) -> Vec<Pair> {
        for pair in &mut pairs {
            pair.lambda *= self.lambda_unit;
            pair.residual *= self.unit_a;
        }
        pairs.sort_by(|a, b| b.lambda.total_cmp(&a.lambda));
        pairs
    }
}
