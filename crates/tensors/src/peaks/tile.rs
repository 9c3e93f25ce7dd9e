//! All peaks of a tile of voxels: scan, climb, select.

use std::marker::PhantomData;

use fimbria_compute::{Flags, Lanes, Real};
use pulp::{Simd, WithSimd};

use super::ascent::{self, Climber};
use super::directions::Directions;
use super::matrix::{Matrix, REGISTERS, Strip};
use super::options::{PeakOptions, PeakStatus};
use super::scan::MAX_COLUMNS;
use super::select::Selection;
use crate::unrolled::Form;

/// Steps that a bundle of ascents makes before those at rest leave it and others take their place.
const ROUND: usize = 4;

/// What all tiles share.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) order: usize,
    /// Coefficients of harmonics to unique entries, where harmonics come in.
    pub(crate) from_sh: Option<Matrix>,
    /// Unique entries to values along the directions.
    pub(crate) scan: Matrix,
    pub(crate) directions: Directions,
    /// The same as they are climbed from.
    pub(crate) unit: Vec<[f32; 3]>,
    /// Share of its range by which a form may exceed its values along the directions.
    pub(crate) slack: f32,
    pub(crate) relative: f32,
    pub(crate) absolute: f32,
    pub(crate) tolerance: f32,
    pub(crate) max_iterations: usize,
    pub(crate) selection: Selection,
    /// Voxels of a tile.
    pub(crate) tile: usize,
}

/// What the scan says about a voxel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Voxel {
    pub(super) status: PeakStatus,
    /// Least value worth climbing from.
    pub(super) limit: f32,
    /// The power of two below the form's size, which ascents divide by.
    pub(super) scale: f32,
}

/// How an ascent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Climbing,
    Certified,
    /// At rest where the Hessian is not negative definite.
    Doubtful,
}

/// An ascent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Climb {
    /// The voxel's place in the tile.
    pub(super) column: u32,
    pub(super) x: [f32; 3],
    pub(super) back: [f32; 3],
    /// In units of the voxel's scale.
    pub(super) value: f32,
    pub(super) radius: f32,
    pub(super) end: End,
}

/// Memory of a thread.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// `[coefficient][tile]`, as read.
    pub(crate) input: Vec<f32>,
    /// `[unique entry][tile]`
    form: Vec<f32>,
    /// `[direction][strip]`
    values: Vec<f32>,
    voxels: Vec<Voxel>,
    climbs: Vec<Climb>,
    open: Vec<u32>,
}

impl Scratch {
    pub(crate) fn new(plan: &Plan, inputs: usize) -> Self {
        let background = Voxel { status: PeakStatus::Flat, limit: f32::INFINITY, scale: 1.0 };
        Self {
            input: vec![0.0; inputs * plan.tile],
            form: vec![0.0; inputs * plan.tile],
            values: vec![0.0; plan.scan.rows() * MAX_COLUMNS],
            voxels: vec![background; plan.tile],
            climbs: Vec::new(),
            open: Vec::new(),
        }
    }
}

impl Plan {
    /// The number of output rows: 3 for each peak, its value, count, status.
    pub(crate) fn n_rows(&self) -> usize {
        4 * self.selection.n_peaks + 2
    }

    pub(crate) fn new(
        order: usize,
        from_sh: Option<Matrix>,
        options: &PeakOptions,
        tile: usize,
    ) -> Self {
        let directions = Directions::new(options.starts);
        let scan = Matrix::new(entries(order), &weighted_monomials(order, &directions.unit));
        let unit = directions.unit.iter().map(|x| x.map(|x| x as f32)).collect();
        // The mean curvature of a form of degree m that varies by `range` is at most about
        // m (m + 1) / 2 times half of its range.
        let bend = (order * (order + 1)) as f64 / 4.0;
        let slack = (0.5 * bend * directions.reach_rad.powi(2)) as f32;
        Self {
            order,
            from_sh,
            scan,
            directions,
            unit,
            slack,
            relative: options.relative_threshold as f32,
            absolute: options.absolute_threshold as f32,
            tolerance: options.tolerance as f32,
            max_iterations: options.max_iterations,
            selection: Selection::new(options),
            tile,
        }
    }
}

/// Number of unique entries in dimension 3.
pub(crate) fn entries(order: usize) -> usize {
    (order + 1) * (order + 2) / 2
}

/// A row for each direction g: the factors of the unique entries in the value A g^m.
fn weighted_monomials(order: usize, directions: &[[f64; 3]]) -> Vec<f64> {
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    let mut rows = Vec::new();
    for g in directions {
        // Lexicographic: more x first, then more y.
        for i in (0..=order).rev() {
            for j in (0..=order - i).rev() {
                let k = order - i - j;
                let count = factorial(order) / (factorial(i) * factorial(j) * factorial(k));
                rows.push(count * g[0].powi(i as i32) * g[1].powi(j as i32) * g[2].powi(k as i32));
            }
        }
    }
    rows
}

/// Finds the peaks of the first `n` voxels whose coefficients are in `scratch.input`; `rows` is
/// `[output row][tile]`.
pub(crate) struct FindTile<'a, F> {
    pub(crate) plan: &'a Plan,
    pub(crate) scratch: &'a mut Scratch,
    pub(crate) n: usize,
    pub(crate) rows: &'a mut [f32],
    pub(crate) form: PhantomData<F>,
}

impl<F: Form> WithSimd for FindTile<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { plan, scratch, n, rows, .. } = self;
        let width = REGISTERS * Lanes::<S>::LANES;
        scratch.climbs.clear();
        for offset in (0..n).step_by(width) {
            let voxels = &mut scratch.voxels[offset..offset + width];
            if is_background(&scratch.input, plan.tile, offset, width) {
                voxels.fill(plan.outlook(0.0, 0.0));
                continue;
            }
            let form = match &plan.from_sh {
                None => &scratch.input,
                Some(matrix) => {
                    let from = Strip { data: &scratch.input[..], stride: plan.tile, offset };
                    let to = Strip { data: &mut scratch.form[..], stride: plan.tile, offset };
                    matrix.times_strip(simd, from, to);
                    &scratch.form
                }
            };
            let (values, climbs) = (&mut scratch.values, &mut scratch.climbs);
            plan.scan_strip(simd, form, offset, values, voxels, climbs);
        }
        let form = if plan.from_sh.is_some() { &scratch.form } else { &scratch.input };
        let (voxels, climbs, open) = (&scratch.voxels, &mut scratch.climbs, &mut scratch.open);
        climb::<F, S>(simd, plan, form, voxels, climbs, open);
        select(plan, &scratch.voxels[..n], &scratch.climbs, rows);
    }
}

/// True where all coefficients are zeros.
#[inline(always)]
fn is_background(input: &[f32], stride: usize, offset: usize, width: usize) -> bool {
    input.chunks(stride).all(|row| row[offset..offset + width].iter().all(|&x| x == 0.0))
}

/// Ascents until they rest, as many at a time as there are lanes.
#[inline(always)]
fn climb<F: Form, S: Simd>(
    simd: S,
    plan: &Plan,
    form: &[f32],
    voxels: &[Voxel],
    climbs: &mut [Climb],
    open: &mut Vec<u32>,
) {
    let lanes = Lanes::<S>::LANES;
    open.clear();
    open.extend(0..climbs.len() as u32);
    let mut entries = F::all([0.0; 16]);
    let mut steps = 0;
    while !open.is_empty() && steps < plan.max_iterations {
        let round = ROUND.min(plan.max_iterations - steps);
        let (mut begin, mut still) = (0, 0);
        while begin < open.len() {
            let end = (begin + lanes).min(open.len());
            let mut columns = [0; 16];
            let mut inverses = [1.0; 16];
            let mut state = [[0.0; 16]; 8];
            for lane in 0..lanes {
                // A bundle that is not full climbs its first again.
                let which = if begin + lane < end { begin + lane } else { begin };
                let climb = &climbs[open[which] as usize];
                columns[lane] = climb.column as usize;
                inverses[lane] = 1.0 / voxels[columns[lane]].scale;
                for i in 0..3 {
                    state[i][lane] = climb.x[i];
                    state[3 + i][lane] = climb.back[i];
                }
                state[6][lane] = climb.value;
                state[7][lane] = climb.radius;
            }
            for (entry, row) in entries.as_mut().iter_mut().zip(form.chunks_exact(plan.tile)) {
                for lane in 0..lanes {
                    entry[lane] = row[columns[lane]] * inverses[lane];
                }
            }
            let ends = climb_bundle::<F, S>(simd, &entries, &mut state, round, plan.tolerance);
            for lane in 0..end - begin {
                let index = open[begin + lane];
                let climb = &mut climbs[index as usize];
                for i in 0..3 {
                    climb.x[i] = state[i][lane];
                    climb.back[i] = state[3 + i][lane];
                }
                climb.value = state[6][lane];
                climb.radius = state[7][lane];
                climb.end = match ends[lane] {
                    2.0 => End::Certified,
                    1.0 => End::Doubtful,
                    _ => End::Climbing,
                };
                if climb.end == End::Climbing {
                    open[still] = index;
                    still += 1;
                }
            }
            begin = end;
        }
        open.truncate(still);
        steps += round;
    }
}

/// At most `round` steps of as many ascents as there are lanes; gives 2 where one came to rest at
/// a certified maximum, 1 where elsewhere, 0 where it still climbs.
#[inline(always)]
fn climb_bundle<F: Form, S: Simd>(
    simd: S,
    entries: &F::Of<[f32; 16]>,
    state: &mut [[f32; 16]; 8],
    round: usize,
    tolerance: f32,
) -> [f32; 16] {
    let zero = Lanes::new(simd, 0.0);
    let mut a = F::all(zero);
    for (a, entry) in a.as_mut().iter_mut().zip(entries.as_ref()) {
        *a = Lanes::load(simd, entry);
    }
    let load = |i: usize| Lanes::load(simd, &state[i]);
    let mut climber = Climber {
        x: [load(0), load(1), load(2)],
        back: [load(3), load(4), load(5)],
        value: load(6),
        radius: load(7),
    };
    let mut rest = climber;
    let mut end = zero;
    for _ in 0..round {
        let outcome = ascent::step::<F, _>(a.as_ref(), &mut climber, tolerance);
        let newly = outcome.at_rest & end.equals(zero);
        for i in 0..3 {
            rest.x[i] = Lanes::select(newly, climber.x[i], rest.x[i]);
        }
        rest.value = Lanes::select(newly, climber.value, rest.value);
        let kind = Lanes::select(outcome.certified, zero.splat(2.0), zero.splat(1.0));
        end = Lanes::select(newly, kind, end);
        if !end.equals(zero).any() {
            break;
        }
    }
    let climbing = end.equals(zero);
    for i in 0..3 {
        Lanes::select(climbing, climber.x[i], rest.x[i]).store(&mut state[i]);
        climber.back[i].store(&mut state[3 + i]);
    }
    Lanes::select(climbing, climber.value, rest.value).store(&mut state[6]);
    climber.radius.store(&mut state[7]);
    let mut ends = [0.0; 16];
    end.store(&mut ends);
    ends
}

/// Writes the rows of every voxel.
fn select(plan: &Plan, voxels: &[Voxel], climbs: &[Climb], rows: &mut [f32]) {
    const NONE: u32 = u32::MAX;
    // Each voxel's ascents as a chain, in the order of their directions.
    let mut first = vec![NONE; plan.tile];
    let mut next = vec![NONE; climbs.len()];
    for (index, climb) in climbs.iter().enumerate().rev() {
        let column = climb.column as usize;
        next[index] = first[column];
        first[column] = index as u32;
    }
    let mut of_voxel = Vec::new();
    for (column, voxel) in voxels.iter().enumerate() {
        of_voxel.clear();
        let mut index = first[column];
        while index != NONE {
            let climb = climbs[index as usize];
            of_voxel.push(Climb { value: climb.value * voxel.scale, ..climb });
            index = next[index as usize];
        }
        plan.select_voxel(voxel.status, &mut of_voxel, rows, column);
    }
}
