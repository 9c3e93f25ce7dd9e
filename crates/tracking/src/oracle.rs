//! One half of a streamline, as probtrackx2 makes it, one particle at a time.
//!
//! This is what every faster tracker is held to. Positions are radiological voxel coordinates of
//! the samples' grid; a streamline follows directions of random samples at random corners of the
//! lattice around it (Behrens et al. 2003, 2007).

use crate::draws::{Draws, Lookup};
use crate::field::{Field, Stick, unpacked};
use crate::step::{Nearest, along, corner, dot, halfway, moved, sample_index};
use crate::{EndReason, FirstFibre, Propagation};

/// What happens at the points of a half besides propagation.
pub trait Visit {
    /// A point is reached, travelling along `dir` (zero at the start of a sample). An error ends
    /// the half: [`EndReason::Loop`] without this point, all others with it.
    ///
    /// # Errors
    /// Why the half ends.
    fn enter(&mut self, pos: [f32; 3], dir: [f32; 3]) -> Result<(), EndReason>;

    /// The directions at the point just entered have been looked up.
    ///
    /// # Errors
    /// Why the half ends.
    fn leave(&mut self) -> Result<(), EndReason>;
}

/// How a half went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfEnd {
    /// The direction of its first step, where it made one.
    pub first_dir: Option<[f32; 3]>,
    /// Why it ended.
    pub reason: EndReason,
}

/// Propagates half number `half` (0 or 1) from `start`, travelling along `dir` where an earlier half
/// gave a direction.
pub fn propagate(
    field: &Field,
    options: &Propagation,
    half: u32,
    start: [f32; 3],
    dir: Option<[f32; 3]>,
    draws: &mut dyn Draws,
    visit: &mut dyn Visit,
) -> HalfEnd {
    let mut particle = Particle { field, options, pos: start, dir, draws };
    let mut first_dir = None;
    let reason = particle.run(half, &mut first_dir, visit);
    HalfEnd { first_dir, reason }
}

struct Particle<'a> {
    field: &'a Field,
    options: &'a Propagation,
    pos: [f32; 3],
    dir: Option<[f32; 3]>,
    draws: &'a mut dyn Draws,
}

impl Particle<'_> {
    fn run(
        &mut self,
        half: u32,
        first_dir: &mut Option<[f32; 3]>,
        visit: &mut dyn Visit,
    ) -> EndReason {
        if !self.is_in_mask() {
            return EndReason::OutsideMask;
        }
        for point in 0..self.options.half_points() {
            if self.options.ends_inside && !self.is_in_mask() {
                return EndReason::OutsideMask;
            }
            if let Err(reason) = visit.enter(self.pos, self.dir.unwrap_or_default()) {
                return reason;
            }
            self.draws.step(half, point);
            let found = self.lookup(self.pos, Lookup::Here, point == 0);
            if let Err(reason) = visit.leave() {
                return reason;
            }
            let Some((stick, fraction)) = found else { return EndReason::OutsideSamples };
            let next = match self.next_dir(stick, fraction) {
                Ok(next) => next,
                Err(reason) => return reason,
            };
            first_dir.get_or_insert(next);
            self.dir = Some(next);
            self.pos = moved(self.pos, next, self.scale());
        }
        EndReason::Length
    }

    fn is_in_mask(&self) -> bool {
        self.field.is_inside(self.pos)
    }

    /// One step, in voxels along each axis.
    fn scale(&self) -> [f32; 3] {
        scale(self.field, self.options)
    }

    /// The stick to follow and the fraction to test, from a random sample at a random corner; `None`
    /// where the corner has no samples. `is_first`: the first lookup of a half, which may choose its
    /// fibre by other rules.
    fn lookup(
        &mut self,
        pos: [f32; 3],
        lookup: Lookup,
        is_first: bool,
    ) -> Option<(Stick<f32>, f32)> {
        let corner = corner(pos, self.draws.corner(lookup));
        let slot = self.field.slot(self.field.lattice().place(corner))?;
        let u = self.draws.sample(lookup);
        let index = sample_index(self.options.sample_choice, self.field.n_samples(), u);
        let sticks = self.field.sticks_from(self.field.first_of(slot, index as usize));
        let stick =
            |fibre: usize| unpacked(0.0, sticks[fibre].0 as u32, (sticks[fibre].0 >> 32) as u32);
        let first = stick(0);
        if sticks.len() == 1 {
            return Some((first, first.fraction));
        }
        if is_first {
            let fibre = self.first_fibre(sticks.len(), |fibre| stick(fibre).fraction);
            return Some((stick(fibre), first.fraction));
        }
        let (dir, threshold) = (self.dir.unwrap_or_default(), self.options.fibre_threshold);
        let mut nearest = Nearest::first(first, dir, threshold);
        for fibre in 1..sticks.len() {
            nearest = nearest.or(stick(fibre), dir, threshold);
        }
        Some((nearest.stick, nearest.stick.fraction))
    }

    fn first_fibre(&mut self, n_fibres: usize, fraction: impl Fn(usize) -> f32) -> usize {
        let options = self.options;
        first_fibre(options, n_fibres, fraction, || self.draws.fibre())
    }

    /// The direction of the next step, or why there is none.
    fn next_dir(&mut self, stick: Stick<f32>, fraction: f32) -> Result<[f32; 3], EndReason> {
        let limit = if self.options.use_fraction { self.draws.fraction() } else { 0.0 };
        if fraction <= limit {
            return Err(EndReason::Fraction);
        }
        if let Some(dir) = self.dir
            && dot(stick.dir, dir).abs() <= self.options.min_cos
        {
            return Err(EndReason::Curvature);
        }
        if !stick.has_direction {
            return Err(EndReason::NoDirection);
        }
        if !self.is_in_mask() {
            return Err(EndReason::OutsideMask);
        }
        let v = if self.options.modified_euler { self.euler(stick.dir) } else { stick.dir };
        Ok(self.with_sign(v, Lookup::Here))
    }

    /// `v` or -`v`: the one on the side of the current direction, or at random without one.
    fn with_sign(&mut self, v: [f32; 3], lookup: Lookup) -> [f32; 3] {
        let cos = match self.dir {
            Some(dir) => dot(v, dir),
            None => self.draws.sign(lookup) - 0.5,
        };
        along(v, cos)
    }

    /// The mean of `v` and the direction a step ahead. Where nothing is known there, the mean with
    /// the z axis, as probtrackx2 has it.
    fn euler(&mut self, v: [f32; 3]) -> [f32; 3] {
        let trial = self.with_sign(v, Lookup::Ahead);
        let ahead = moved(self.pos, trial, self.scale());
        let found = self.lookup(ahead, Lookup::Ahead, false);
        let known = found.map(|(stick, _)| stick).filter(|stick| stick.has_direction);
        halfway(v, known.map_or([0.0, 0.0, 1.0], |stick| stick.dir))
    }
}

/// One step, in voxels along each axis.
pub(crate) fn scale(field: &Field, options: &Propagation) -> [f32; 3] {
    field.grid().ras_from_vox.spacing().map(|mm| options.step_mm / mm as f32)
}

/// The fibre a half starts with; `u` gives the number to choose by, where one is needed.
pub(crate) fn first_fibre(
    options: &Propagation,
    n_fibres: usize,
    fraction: impl Fn(usize) -> f32,
    u: impl FnOnce() -> f32,
) -> usize {
    let counts = |fibre: &usize| fraction(*fibre) > options.fibre_threshold;
    let nth = |n: usize, u: f32| ((n as f32 * u) as usize).min(n - 1);
    match options.first_fibre {
        FirstFibre::Number(fibre) => fibre.min(n_fibres - 1),
        FirstFibre::Any => nth(n_fibres, u()),
        FirstFibre::Uniform => match (0..n_fibres).filter(counts).count() {
            0 => 0,
            n => (0..n_fibres).filter(counts).nth(nth(n, u())).unwrap_or(0),
        },
        FirstFibre::Proportional => {
            let total: f32 = (0..n_fibres).filter(counts).map(&fraction).sum();
            let mut rest = u() * total;
            let reached = |fibre: &usize| {
                rest -= fraction(*fibre);
                rest <= 0.0
            };
            (0..n_fibres).filter(counts).find(reached).unwrap_or(0)
        }
    }
}
