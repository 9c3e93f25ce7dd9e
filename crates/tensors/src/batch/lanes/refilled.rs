//! The loop of all lanes: one whose start is done takes the next.

use std::marker::PhantomData;

use fimbria_compute::{Flags, Real};
use pulp::{Simd, WithSimd};

use super::pair::Registers;
use super::{Advance, MARGIN, Stop, Task};
use crate::unrolled::Form;

/// Starts of one tensor that a lane takes in a row, so that it seldom changes tensors.
const RUN: usize = 16;
/// The most lanes.
const MAX: usize = 64;
/// Products between looks at who is done, where a tolerance says so.
const STRIDE: u32 = 2;

pub(super) struct Solve<'a, F, A> {
    task: Task<'a>,
    /// Products between looks, and how many a start gets at most: one more than iterations, for
    /// the products at an iterate give its λ.
    stride: u32,
    most: u32,
    /// Negative for a fixed number of iterations.
    tolerance: f32,
    kind: PhantomData<(F, A)>,
}

impl<'a, F, A> Solve<'a, F, A> {
    pub(super) fn new(task: Task<'a>) -> Self {
        let (stride, most, tolerance) = match task.stop {
            Stop::Iterations(count) => (count + 1, count + 1, -1.0),
            Stop::Tolerance { tolerance, max_iterations } => {
                (STRIDE, (max_iterations + 1).next_multiple_of(STRIDE), tolerance)
            }
        };
        Self { task, stride, most, tolerance, kind: PhantomData }
    }
}

/// What every lane works on, lane by lane.
struct State {
    a: [[f32; MAX]; 45],
    /// The adaptive shift's margin for them.
    margin: [f32; MAX],
    x: [[f32; MAX]; 3],
    lambda: [f32; MAX],
    /// The count of iterations at which the lane's start began.
    began: [f32; MAX],
    /// Its start, as a place among the results; and the end of its run.
    place: [usize; MAX],
    run_end: [usize; MAX],
    idle: [bool; MAX],
}

/// Runs that no lane has taken yet.
struct Queue {
    tensors: usize,
    starts: usize,
    next_tensor: usize,
    next_start: usize,
}

impl Queue {
    /// The first and the last place of the next run.
    fn take(&mut self) -> Option<(usize, usize)> {
        if self.next_tensor == self.tensors {
            return None;
        }
        let base = self.next_tensor * self.starts;
        let end = (self.next_start + RUN).min(self.starts);
        let run = (base + self.next_start, base + end);
        self.next_start = end;
        if end == self.starts {
            (self.next_tensor, self.next_start) = (self.next_tensor + 1, 0);
        }
        Some(run)
    }
}

impl<F: Form, A: Advance> Solve<'_, F, A> {
    /// Gives `lane` its next start; false where there is none left.
    #[inline(always)]
    fn refill(&self, state: &mut State, queue: &mut Queue, lane: usize, step: f32) -> bool {
        let n_starts = self.task.starts.len() / 3;
        state.place[lane] += 1;
        if state.place[lane] >= state.run_end[lane] {
            let Some((first, end)) = queue.take() else {
                state.idle[lane] = true;
                return false;
            };
            let tensor = first / n_starts;
            let entries = &self.task.tensors[tensor * F::ENTRIES..][..F::ENTRIES];
            let mut largest = 0.0_f32;
            for (a, &entry) in state.a.iter_mut().zip(entries) {
                a[lane] = entry;
                largest = largest.max(entry.abs());
            }
            state.margin[lane] = MARGIN * largest;
            (state.place[lane], state.run_end[lane]) = (first, end);
        }
        let start = &self.task.starts[state.place[lane] % n_starts * 3..][..3];
        for i in 0..3 {
            state.x[i][lane] = start[i];
        }
        state.lambda[lane] = f32::INFINITY;
        state.began[lane] = step;
        true
    }
}

impl<F: Form, A: Advance> WithSimd for Solve<'_, F, A> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = A::Registers::<S>::LANES;
        let (starts, shift) = (self.task.starts.len() / 3, self.task.shift);
        let tensors = self.task.tensors.len() / F::ENTRIES;
        let mut queue = Queue { tensors, starts, next_tensor: 0, next_start: 0 };
        let mut state = State {
            a: [[0.0; MAX]; 45],
            margin: [0.0; MAX],
            x: [[0.0; MAX]; 3],
            lambda: [0.0; MAX],
            began: [f32::INFINITY; MAX],
            place: [0; MAX],
            run_end: [0; MAX],
            idle: [false; MAX],
        };
        let mut busy = 0;
        for lane in 0..lanes {
            busy += usize::from(self.refill(&mut state, &mut queue, lane, 0.0));
        }
        let (zero, one) = (A::Registers::all(simd, 0.0), A::Registers::all(simd, 1.0));
        let most = zero.splat(self.most as f32);
        let tolerance = zero.splat(self.tolerance);
        let mut step = 0;
        while busy > 0 {
            let mut a = [zero; 45];
            for (a, entry) in a[..F::ENTRIES].iter_mut().zip(&state.a) {
                *a = Registers::load(simd, entry);
            }
            let margin = Registers::load(simd, &state.margin);
            let mut x = [
                Registers::load(simd, &state.x[0]),
                Registers::load(simd, &state.x[1]),
                Registers::load(simd, &state.x[2]),
            ];
            let (mut before, mut lambda) =
                (Registers::load(simd, &state.lambda), Registers::load(simd, &state.lambda));
            let mut at = x;
            for _ in 0..self.stride {
                at = x;
                before = lambda;
                (lambda, x) = A::advance::<F, _>(&a, &x, shift, margin);
            }
            step += self.stride;
            let rests = (lambda - before).abs().at_most(tolerance * lambda.abs());
            let steps = zero.splat(step as f32) - A::Registers::load(simd, &state.began);
            let done = rests | most.at_most(steps);
            lambda.store(&mut state.lambda);
            for i in 0..3 {
                x[i].store(&mut state.x[i]);
            }
            if !done.any() {
                continue;
            }
            let (mut is_done, mut is_rest, mut ends) = ([0.0; MAX], [0.0; MAX], [[0.0; MAX]; 3]);
            Real::select(done, one, zero).store(&mut is_done);
            Real::select(rests, one, zero).store(&mut is_rest);
            for i in 0..3 {
                at[i].store(&mut ends[i]);
            }
            let (mut which, mut n) = ([0; MAX], 0);
            for lane in 0..lanes {
                which[n & (MAX - 1)] = lane;
                n += usize::from(is_done[lane] != 0.0);
            }
            for &lane in &which[..n] {
                if state.idle[lane] {
                    continue;
                }
                let (place, to) = (state.place[lane], &mut self.task);
                to.lambda[place] = state.lambda[lane];
                for i in 0..3 {
                    to.x[3 * place + i] = ends[i][lane];
                }
                // The last product gave λ of the iterate before it.
                to.iterations[place] = step - state.began[lane] as u32 - 1;
                to.converged[place] = self.tolerance < 0.0 || is_rest[lane] != 0.0;
                busy -= usize::from(!self.refill(&mut state, &mut queue, lane, step as f32));
            }
        }
    }
}
