//! From a guess to the solution along a path of programmes.
//!
//! Any x with multipliers λ ≥ 0 solves a programme of its own exactly: that with f' = Hx - Cᵀλ and
//! bounds d' which are met where λ > 0 and lie below the slacks elsewhere. Between it and the
//! programme that is asked for, f and d change in proportion, and so do x and λ as long as the same
//! constraints are active. Where a multiplier comes to zero its constraint is dropped, where a slack
//! does it is taken in: the parametric active set method (Ferreau, Bock & Diehl, Int. J. Robust
//! Nonlinear Control 18, 816 (2008)). The path is as long as the guess is wrong, whereas the walk from
//! the unconstrained minimum takes in three constraints for each that stays.
//!
//! Slacks on the way are in single precision. What that leaves violated at the end is the next path's
//! start, whose slacks are as small as its errors.

use super::Constraints;
use super::constraints::BLOCK;
use super::dual::{DEPENDENT, Scaled, Walk};
use super::metric::combine;
use super::splitting::Guess;
use super::sums::{dot, least_of};

/// Of a guess, constraints become active whose square distance from the others is this at least.
const INDEPENDENT: f64 = 1e-4;
/// By how much bounds lie below slacks at the start, relative to the largest slack: constraints of which
/// many are met at once are met in no order, and again and again.
const MARGIN: f64 = 1e-4;
/// The same for a next path, relative to the largest violation.
const NEXT_MARGIN: f64 = 0.1;
/// Spreads its multiples over the fractions of 1.
const GOLDEN: f64 = 0.618_033_988_749_895;
/// Changes of the active set, for each unknown, after which a path is given up.
const MOST_CHANGES: usize = 3;
/// Multipliers of a guess, for each unknown, of which more say that everything is bound: the walk is as short.
const MOST_MULTIPLIERS: usize = 2;
/// Paths after which the walk goes on.
const MOST_PATHS: usize = 4;

/// Of active constraints slacks this often what may be violated show that rounding has spoilt the inverse, which is
/// formed anew; what is less one correction makes nothing.
const ROUGH: f64 = 100.0;

/// Working memory of a path, which takes a time of 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// Where it begins.
    start: Vec<f64>,
    /// What bounds at its start are more than those asked for, by place.
    excess: Vec<f64>,
    single_excess: Vec<f32>,
    /// How far slacks are from their bounds, by place; infinite for active constraints.
    gaps: Vec<f32>,
    /// How fast gaps grow.
    rates: Vec<f32>,
    /// How fast x moves where multipliers stay, and as it does.
    drift: Vec<f64>,
    motion: Vec<f64>,
    single_motion: Vec<f32>,
    /// How fast the multipliers of active constraints grow.
    growth: Vec<f64>,
    /// Multipliers of a guess with their constraints.
    order: Vec<(f64, usize)>,
    /// The place of the constraint dropped last: rounding must not bring it back at once.
    dropped: Option<usize>,
}

/// Slacks at the start of a path.
struct Slacks {
    /// The lowest of constraints that are not active.
    lowest: f64,
    /// The largest of active ones, of either sign; rounding keeps it from zero.
    off: f64,
    /// The largest of all, of either sign.
    largest: f64,
}

/// What happens next on a path.
enum Change {
    /// The active constraint of this number goes.
    Drop(usize),
    /// The constraint in this place is met.
    Meet(usize),
    Arrive,
}

impl Walk {
    /// Walks from the guess to the minimum over constraints that are active then, of which others are
    /// violated by `least` (below zero) at most, or hardly more. False where there is no path or it is too
    /// long: what is left means nothing.
    #[inline(always)]
    pub(super) fn follow(
        &mut self,
        constraints: &Constraints,
        scaled: &impl Scaled,
        guess: &Guess,
        least: f64,
        path: &mut Path,
    ) -> bool {
        path.rank(scaled, guess);
        if path.order.len() > MOST_MULTIPLIERS * constraints.n_unknowns() {
            return false;
        }
        self.adopt(scaled, path);
        path.start.clear();
        path.start.extend_from_slice(&guess.x);
        for number in 0..MOST_PATHS {
            let slacks = path.look(constraints, &self.active);
            let mut margin = MARGIN * slacks.largest;
            if number > 0 {
                if slacks.lowest >= least && slacks.off <= ROUGH * -least {
                    break;
                }
                self.form_inverse(scaled, |_| ());
                margin = NEXT_MARGIN * slacks.off.max(-slacks.lowest);
            }
            self.depart(constraints, scaled, margin, path);
            if !self.travel(constraints, scaled, path) {
                return false;
            }
            path.start.copy_from_slice(&self.x[..constraints.n_unknowns()]);
        }
        true
    }

    /// Makes constraints of the guess active unless they follow from those with larger multipliers.
    #[inline(always)]
    fn adopt(&mut self, scaled: &impl Scaled, path: &Path) {
        for &(multiplier, j) in &path.order {
            let pivot = self.look_at(j, scaled);
            if pivot >= INDEPENDENT {
                self.bind(j, multiplier, pivot);
            }
        }
    }

    /// Sets bounds at the start and how all moves from there.
    #[inline(always)]
    fn depart(
        &mut self,
        constraints: &Constraints,
        scaled: &impl Scaled,
        margin: f64,
        path: &mut Path,
    ) {
        path.open_gaps(margin);
        path.dropped = None;
        self.move_to(scaled);
        path.drift.clear();
        path.drift.extend_from_slice(&self.x);
        path.drift.iter_mut().zip(&path.start).for_each(|(drift, start)| *drift -= start);
        self.beside.clear();
        self.beside.extend(self.active.iter().map(|&j| path.pull(j, constraints, scaled)));
        self.inverse.apply(&self.beside, &mut path.growth);
    }

    /// Goes along the path to its end. False where that is too far.
    #[inline(always)]
    fn travel(&mut self, constraints: &Constraints, scaled: &impl Scaled, path: &mut Path) -> bool {
        let mut left = 1.0;
        for _ in 0..MOST_CHANGES * constraints.n_unknowns() {
            self.aim(constraints, scaled, path);
            let (step, change) = self.next_change(left, path);
            left -= step;
            for (l, growth) in self.lambda.iter_mut().zip(&path.growth) {
                *l = (*l + step * growth).max(0.0);
            }
            for (gap, rate) in path.gaps.iter_mut().zip(&path.rates) {
                *gap = (*gap + step as f32 * rate).max(0.0);
            }
            match change {
                Change::Arrive => {
                    self.move_to(scaled);
                    return self.x.iter().all(|x| x.is_finite());
                }
                Change::Drop(i) => {
                    path.dropped = Some(constraints.places[self.active[i]]);
                    self.leave(i, constraints, path);
                }
                Change::Meet(place) => {
                    if !self.meet(constraints.order[place], constraints, scaled, path) {
                        return false;
                    }
                }
            }
        }
        false
    }

    /// How fast x and gaps move with the constraints that are active now.
    #[inline(always)]
    fn aim(&mut self, constraints: &Constraints, scaled: &impl Scaled, path: &mut Path) {
        path.motion.resize(path.drift.len(), 0.0);
        let steps = self.active.iter().map(|&j| scaled.step(j));
        combine(steps.zip(&path.growth), &mut path.motion);
        path.single_motion.clear();
        let motion = path.motion.iter().zip(&path.drift).map(|(m, drift)| (m + drift) as f32);
        path.single_motion.extend(motion);
        path.rates.clear();
        for block in 0..constraints.n_blocks() {
            let rates = constraints.single_block(block, &path.single_excess, &path.single_motion);
            path.rates.extend_from_slice(&rates);
        }
        if let Some(place) = path.dropped.take() {
            path.rates[place] = path.rates[place].max(0.0);
        }
    }

    /// What comes first, and the time until then.
    #[inline(always)]
    fn next_change(&self, left: f64, path: &Path) -> (f64, Change) {
        let (mut step, mut change) = (left, Change::Arrive);
        for (i, (l, growth)) in self.lambda.iter().zip(&path.growth).enumerate() {
            if *growth < 0.0 && *l < -growth * step {
                (step, change) = (-l / growth, Change::Drop(i));
            }
        }
        let blocks = path.gaps.as_chunks::<BLOCK>().0.iter().zip(path.rates.as_chunks::<BLOCK>().0);
        for (block, (gaps, rates)) in blocks.enumerate() {
            let mut times = [f32::INFINITY; BLOCK];
            for i in 0..BLOCK {
                times[i] = if rates[i] < 0.0 { gaps[i] / -rates[i] } else { f32::INFINITY };
            }
            let first = least_of(&times);
            if f64::from(first) < step {
                let within = times.iter().position(|&time| time == first).unwrap_or(0);
                (step, change) = (f64::from(first), Change::Meet(block * BLOCK + within));
            }
        }
        (step, change)
    }

    /// Drops active constraint `i`: the others take over what it held.
    #[inline(always)]
    fn leave(&mut self, i: usize, constraints: &Constraints, path: &mut Path) {
        self.inverse.project(i, &mut path.growth);
        path.growth.swap_remove(i);
        self.inverse.swap_remove(i);
        self.lambda.swap_remove(i);
        path.gaps[constraints.places[self.active.swap_remove(i)]] = 0.0;
    }

    /// Takes in constraint `j`, whose gap is closed. False where none can make room for it.
    #[inline(always)]
    fn meet(
        &mut self,
        j: usize,
        constraints: &Constraints,
        scaled: &impl Scaled,
        path: &mut Path,
    ) -> bool {
        let mut pivot = self.look_at(j, scaled);
        let mut own = 0.0;
        if pivot < DEPENDENT {
            let Some((raised, i)) = self.first_to_yield() else { return false };
            own = raised;
            for (l, u) in self.lambda.iter_mut().zip(&self.direction) {
                *l = (*l - raised * u).max(0.0);
            }
            pivot += self.inverse.project(i, &mut self.direction);
            self.direction.swap_remove(i);
            self.beside.swap_remove(i);
            self.leave(i, constraints, path);
            if pivot < DEPENDENT {
                return false;
            }
        }
        let held = dot(&self.beside, &path.growth);
        let growth = (path.pull(j, constraints, scaled) - held) / pivot;
        path.growth.iter_mut().zip(&self.direction).for_each(|(g, u)| *g -= growth * u);
        path.growth.push(growth);
        path.gaps[constraints.places[j]] = f32::INFINITY;
        self.bind(j, own, pivot);
        true
    }
}

impl Path {
    /// Multipliers of the guess, largest first, and their constraints.
    #[inline(always)]
    fn rank(&mut self, scaled: &impl Scaled, guess: &Guess) {
        self.order.clear();
        for (j, multiplier) in guess.multipliers.iter().enumerate() {
            if *multiplier > 0.0 {
                self.order.push((multiplier / scaled.scale(j), j));
            }
        }
        self.order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    }

    /// The slacks at the start, `excess`; `gaps` is infinite for active constraints and zero elsewhere.
    #[inline(always)]
    fn look(&mut self, constraints: &Constraints, active: &[usize]) -> Slacks {
        self.excess.clear();
        for block in 0..constraints.n_blocks() {
            let slacks = constraints.block_of_slacks(block, &constraints.offsets, &self.start);
            self.excess.extend_from_slice(&slacks);
        }
        self.gaps.clear();
        self.gaps.resize(self.excess.len(), 0.0);
        active.iter().for_each(|&j| self.gaps[constraints.places[j]] = f32::INFINITY);
        let (mut lowest, mut off) = (0.0, 0.0);
        for (slack, gap) in self.excess.iter().zip(&self.gaps).filter(|(s, _)| s.is_finite()) {
            if *gap == 0.0 {
                lowest = f64::min(lowest, *slack);
            } else {
                off = f64::max(off, slack.abs());
            }
        }
        let finite = self.excess.iter().filter(|slack| slack.is_finite());
        Slacks { lowest, off, largest: finite.fold(0.0, |most, s| f64::max(most, s.abs())) }
    }

    /// Moves the bounds of constraints that are not active below their slacks.
    #[inline(always)]
    fn open_gaps(&mut self, margin: f64) {
        self.single_excess.clear();
        for (place, (excess, gap)) in self.excess.iter_mut().zip(&mut self.gaps).enumerate() {
            if *excess == f64::INFINITY {
                // Behind the last constraint there is none.
                (*excess, *gap) = (0.0, f32::INFINITY);
            } else if *gap == 0.0 {
                // Each by an amount of its own: they are met one after another.
                let bound = excess.min(0.0) - margin * (1.0 + (place as f64 * GOLDEN).fract());
                *gap = (*excess - bound) as f32;
                *excess = bound;
            }
            self.single_excess.push(*excess as f32);
        }
    }

    /// How fast the slack of constraint `j` would fall behind its bound if multipliers stayed.
    #[inline(always)]
    fn pull(&self, j: usize, constraints: &Constraints, scaled: &impl Scaled) -> f64 {
        let drift = &self.drift[..constraints.n_unknowns()];
        let excess = self.excess[constraints.places[j]];
        -scaled.scale(j) * (excess + dot(constraints.row(j), drift))
    }
}
