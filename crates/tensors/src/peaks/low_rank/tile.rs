//! The terms of a tile of voxels, one voxel in each lane.

use std::marker::PhantomData;

use fimbria_compute::{Flags, Lanes, Real};
use pulp::{Simd, WithSimd};

use super::super::ascent::{self, Climber, RADIUS};
use super::super::matrix::{REGISTERS, Strip};
use super::super::options::PeakStatus;
use super::super::scan::MAX_COLUMNS;
use super::super::tile::{Climb, End, Plan, Voxel};
use crate::unrolled::Form;

/// Terms of a form at most.
pub(super) const MAX_TERMS: usize = 6;
/// Newton steps of a climb; from where a term was, two or three reach single precision.
const STEPS: usize = 12;
/// Cycles through all terms, after which a voxel counts as not converged.
const CYCLES: usize = 200;
/// Over once no direction moves by more than this in a cycle, radians.
const STILL: f32 = 2e-5;
/// Terms up to this, in units of the form's scale, are made of rounding: they may wander, and are
/// not reported.
const NEGLIGIBLE: f32 = 1e-4;
/// Powers of a number up to the highest order, from 0 on.
const POWERS: usize = 13;

/// Memory of a thread.
pub(super) struct Scratch {
    /// `[coefficient][tile]`, as read.
    pub(super) input: Vec<f32>,
    /// `[unique entry][tile]`
    form: Vec<f32>,
    /// `[direction][strip]`
    values: Vec<f32>,
}

impl Scratch {
    pub(super) fn new(plan: &Plan, inputs: usize) -> Self {
        Self {
            input: vec![0.0; inputs * plan.tile],
            form: vec![0.0; inputs * plan.tile],
            values: vec![0.0; plan.scan.rows() * MAX_COLUMNS],
        }
    }
}

/// Decomposes the forms of the first `n` voxels whose coefficients are in `scratch.input`; `rows`
/// is `[output row][tile]`.
pub(super) struct DecomposeTile<'a, F> {
    pub(super) plan: &'a Plan,
    pub(super) scratch: &'a mut Scratch,
    pub(super) n: usize,
    pub(super) rows: &'a mut [f32],
    pub(super) form: PhantomData<F>,
}

impl<F: Form> WithSimd for DecomposeTile<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { plan, scratch, n, rows, .. } = self;
        let lanes = Lanes::<S>::LANES;
        let width = REGISTERS * lanes;
        for offset in (0..n).step_by(width) {
            let form = match &plan.from_sh {
                None => &scratch.input,
                Some(matrix) => {
                    let from = Strip { data: &scratch.input[..], stride: plan.tile, offset };
                    let to = Strip { data: &mut scratch.form[..], stride: plan.tile, offset };
                    matrix.times_strip(simd, from, to);
                    &scratch.form
                }
            };
            let from = Strip { data: &form[..], stride: plan.tile, offset };
            let to = Strip { data: &mut scratch.values[..], stride: width, offset: 0 };
            plan.scan.times_strip(simd, from, to);
            for skip in (0..width).step_by(lanes) {
                let first = offset + skip;
                if first >= n {
                    break;
                }
                let values = Strip { data: &scratch.values[..], stride: width, offset: skip };
                let voxels = outlook(simd, plan, &values);
                let terms = if voxels[..lanes].iter().any(|v| v.status == PeakStatus::Below) {
                    decompose::<F, S>(simd, plan, form, first, &values, &voxels)
                } else {
                    Terms::default()
                };
                for (lane, voxel) in voxels[..lanes.min(n - first)].iter().enumerate() {
                    terms.select(plan, voxel, lane, rows, first + lane);
                }
            }
        }
    }
}

/// What the extremes of the values say about each voxel.
#[inline(always)]
fn outlook<S: Simd>(simd: S, plan: &Plan, values: &Strip<&[f32]>) -> [Voxel; 16] {
    let mut largest = Lanes::new(simd, f32::NEG_INFINITY);
    let mut smallest = Lanes::new(simd, f32::INFINITY);
    let mut sum = Lanes::new(simd, 0.0);
    for row in values.data.chunks_exact(values.stride) {
        let value = Lanes::load(simd, &row[values.offset..]);
        largest = value.max(largest);
        smallest = value.min(smallest);
        // NaN is passed over by the extremes, not by the sum.
        sum = sum + value;
    }
    largest = Lanes::select(sum.equals(sum), largest, sum);
    let (mut high, mut low) = ([0.0; 16], [0.0; 16]);
    largest.store(&mut high);
    smallest.store(&mut low);
    std::array::from_fn(|lane| plan.outlook(high[lane], low[lane]))
}

/// The terms of as many voxels as there are lanes, in units of each voxel's scale.
#[derive(Default)]
struct Terms {
    direction: [[[f32; 16]; 3]; MAX_TERMS],
    value: [[f32; 16]; MAX_TERMS],
    unsettled: [f32; 16],
}

impl Terms {
    /// Writes the rows of one voxel.
    fn select(&self, plan: &Plan, voxel: &Voxel, lane: usize, rows: &mut [f32], column: usize) {
        let n = if voxel.status == PeakStatus::Below { plan.selection.n_peaks } else { 0 };
        let mut found = Vec::with_capacity(n);
        for (x, value) in self.direction[..n].iter().zip(&self.value) {
            if value[lane] > NEGLIGIBLE {
                let x = [x[0][lane], x[1][lane], x[2][lane]];
                let value = value[lane] * voxel.scale;
                let column = column as u32;
                let (radius, end) = (RADIUS, End::Certified);
                found.push(Climb { column, x, back: x, value, radius, end });
            }
        }
        plan.select_voxel(voxel.status, &mut found, rows, column);
        let status = &mut rows[(4 * plan.selection.n_peaks + 1) * plan.tile + column];
        if *status == PeakStatus::Found.code() && self.unsettled[lane] != 0.0 {
            *status = PeakStatus::Uncertain.code();
        }
    }
}

/// A term in every lane.
#[derive(Clone, Copy)]
struct Term<R> {
    x: [R; 3],
    value: R,
}

#[inline(always)]
fn decompose<F: Form, S: Simd>(
    simd: S,
    plan: &Plan,
    form: &[f32],
    first: usize,
    values: &Strip<&[f32]>,
    voxels: &[Voxel; 16],
) -> Terms {
    let zero = Lanes::new(simd, 0.0);
    let mut inverses = [0.0; 16];
    for (inverse, voxel) in inverses.iter_mut().zip(voxels) {
        // Background stays zero and is at rest from the beginning.
        *inverse = if voxel.status == PeakStatus::Below { 1.0 / voxel.scale } else { 0.0 };
    }
    let inverse = Lanes::load(simd, &inverses);
    let worked_on = zero.less(inverse);
    let mut rest = F::all(zero);
    for (entry, row) in rest.as_mut().iter_mut().zip(form.chunks_exact(plan.tile)) {
        *entry = Lanes::select(worked_on, Lanes::load(simd, &row[first..]) * inverse, zero);
    }

    let mut terms = [Term { x: [zero, zero, zero.splat(1.0)], value: zero }; MAX_TERMS];
    let (mut growing, mut unsettled) = (worked_on, !worked_on & worked_on);
    for k in 0..plan.selection.n_peaks {
        let before = terms;
        terms[k].x = highest::<F, S>(simd, plan, values, inverse, &terms[..k]);
        visit::<F, _>(rest.as_mut(), &mut terms[k], plan.tolerance, growing);
        if k == 0 {
            // Alone it is at its maximum.
            continue;
        }
        let mut active = growing;
        for _ in 0..CYCLES {
            let mut moved = zero;
            for term in &mut terms[..=k] {
                let turn = visit::<F, _>(rest.as_mut(), term, plan.tolerance, active);
                moved = turn.max(moved);
            }
            active = active & zero.splat(STILL * STILL).less(moved);
            if !active.any() {
                break;
            }
        }
        // One term too many splits a fibre or explains noise: then those before were all.
        growing = growing & stand_apart(plan, &terms[..=k]);
        for (term, before) in terms[..=k].iter_mut().zip(before) {
            term.value = Lanes::select(growing, term.value, before.value);
            for i in 0..3 {
                term.x[i] = Lanes::select(growing, term.x[i], before.x[i]);
            }
        }
        unsettled = (growing & active) | (!growing & unsettled);
        if !growing.any() {
            break;
        }
    }

    let mut result = Terms::default();
    for (k, term) in terms[..plan.selection.n_peaks].iter().enumerate() {
        term.value.store(&mut result.value[k]);
        for i in 0..3 {
            term.x[i].store(&mut result.direction[k][i]);
        }
    }
    Lanes::select(unsettled, zero.splat(1.0), zero).store(&mut result.unsettled);
    result
}

/// True where every term is as large as the threshold asks, and no two are too near.
#[inline(always)]
fn stand_apart<R: Real>(plan: &Plan, terms: &[Term<R>]) -> R::Flags {
    let mut largest = terms[0].value;
    for term in terms {
        largest = term.value.max(largest);
    }
    let least = largest * plan.relative.max(NEGLIGIBLE);
    let near = largest.splat(plan.selection.near);
    let mut apart = least.at_most(largest);
    for (k, term) in terms.iter().enumerate() {
        apart = apart & least.at_most(term.value);
        for other in &terms[..k] {
            apart = apart & crate::unrolled::inner(&term.x, &other.x).abs().at_most(near);
        }
    }
    apart
}

/// The direction in which most is left by the terms so far.
#[inline(always)]
fn highest<F: Form, S: Simd>(
    simd: S,
    plan: &Plan,
    values: &Strip<&[f32]>,
    inverse: Lanes<S>,
    terms: &[Term<Lanes<S>>],
) -> [Lanes<S>; 3] {
    let mut most = Lanes::new(simd, f32::NEG_INFINITY);
    let mut x = [Lanes::new(simd, 0.0), Lanes::new(simd, 0.0), Lanes::new(simd, 1.0)];
    for (unit, row) in plan.unit.iter().zip(values.data.chunks_exact(values.stride)) {
        let g = [most.splat(unit[0]), most.splat(unit[1]), most.splat(unit[2])];
        let mut left = Lanes::load(simd, &row[values.offset..]) * inverse;
        for term in terms {
            let cosine = crate::unrolled::inner(&term.x, &g);
            left = term.value.neg_mul_add(even_power::<F, _>(cosine), left);
        }
        let higher = most.less(left);
        most = Lanes::select(higher, left, most);
        for i in 0..3 {
            x[i] = Lanes::select(higher, g[i], x[i]);
        }
    }
    x
}

/// The power of the form's order.
#[inline(always)]
fn even_power<F: Form, R: Real>(x: R) -> R {
    let square = x * x;
    let mut power = square;
    for _ in 1..F::ORDER / 2 {
        power = power * square;
    }
    power
}

/// Puts a term back, lets it climb, and takes it out again, where `active`. Gives the square of
/// the angle by which it turned.
#[inline(always)]
fn visit<F: Form, R: Real>(
    rest: &mut [R],
    term: &mut Term<R>,
    tolerance: f32,
    active: R::Flags,
) -> R {
    let zero = term.value.splat(0.0);
    add_power::<F, R>(rest, R::select(active, term.value, zero), &term.x);
    let start = term.x;
    let mut climber = Climber {
        x: start,
        back: start,
        value: zero.splat(f32::NEG_INFINITY),
        radius: zero.splat(RADIUS),
    };
    let mut climbing = active;
    let (mut x, mut value) = (start, zero);
    for _ in 0..STEPS {
        let outcome = ascent::step::<F, R>(rest, &mut climber, tolerance);
        for i in 0..3 {
            x[i] = R::select(climbing, climber.x[i], x[i]);
        }
        value = R::select(climbing, climber.value, value);
        climbing = climbing & !outcome.at_rest;
        if !climbing.any() {
            break;
        }
    }
    let value = value.max(zero);
    let mut turn = zero;
    for i in 0..3 {
        let change = x[i] - start[i];
        turn = change.mul_add(change, turn);
        term.x[i] = R::select(active, x[i], start[i]);
    }
    term.value = R::select(active, value, term.value);
    add_power::<F, R>(rest, R::select(active, -value, zero), &term.x);
    R::select(active & zero.splat(NEGLIGIBLE).less(value), turn, zero)
}

/// Adds `factor · x^m` to the unique entries.
#[inline(always)]
fn add_power<F: Form, R: Real>(entries: &mut [R], factor: R, x: &[R; 3]) {
    let one = factor.splat(1.0);
    let mut powers = [[one; POWERS]; 3];
    for (powers, &x) in powers.iter_mut().zip(x) {
        for k in 1..=F::ORDER {
            powers[k] = powers[k - 1] * x;
        }
    }
    let mut place = 0;
    for of_yz in 0..=F::ORDER {
        let with_x = factor * powers[0][F::ORDER - of_yz];
        for of_z in 0..=of_yz {
            let with_y = with_x * powers[1][of_yz - of_z];
            entries[place] = with_y.mul_add(powers[2][of_z], entries[place]);
            place += 1;
        }
    }
}
