//! One half of a streamline, as probtrackx2 makes it, one particle at a time.
//!
//! This is what every faster tracker is held to. Positions are radiological voxel coordinates of
//! the samples' grid; a streamline follows directions of random samples at random corners of the
//! lattice around it (Behrens et al. 2003, 2007).

use crate::draws::{Draws, Lookup};
use crate::field::voxel;
use crate::field::{Field, Stick, unpacked};
use crate::local::{LocalChoice, NEAR_COS};
use crate::region::Region;
use crate::step::{Nearest, along, corner, dot, halfway, moved, sample_index};
use crate::{EndReason, FirstFibre, LocalRules, Propagation, Space};

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

/// What one streamline is propagated by.
#[derive(Clone, Copy, Debug)]
pub struct Propagator<'a> {
    /// The directions.
    pub field: &'a Field,
    /// How it follows them.
    pub options: &'a Propagation,
    /// What differs from place to place.
    pub local: &'a LocalRules,
    /// Where places of `local` and regions are.
    pub space: &'a Space,
    /// On which side the first step goes; `None` for a random one.
    pub towards: Option<[f32; 3]>,
}

/// Propagates half number `half` (0 or 1) from `start`, travelling along `dir` where an earlier half
/// gave a direction.
pub fn propagate(
    by: Propagator<'_>,
    half: u32,
    start: [f32; 3],
    dir: Option<[f32; 3]>,
    draws: &mut dyn Draws,
    visit: &mut dyn Visit,
) -> HalfEnd {
    let Propagator { field, options, local, space, towards } = by;
    let mut particle =
        Particle { field, options, local, space, towards, pos: start, dir, draws, last: None };
    let mut first_dir = None;
    let reason = particle.run(half, &mut first_dir, visit);
    HalfEnd { first_dir, reason }
}

struct Particle<'a> {
    field: &'a Field,
    options: &'a Propagation,
    local: &'a LocalRules,
    space: &'a Space,
    towards: Option<[f32; 3]>,
    pos: [f32; 3],
    dir: Option<[f32; 3]>,
    draws: &'a mut dyn Draws,
    /// What was found last, which is followed on where nothing is drawn.
    last: Option<(Stick<f32>, f32)>,
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
            let found = self.found_here();
            if let Err(reason) = visit.leave() {
                return reason;
            }
            let Some((stick, fraction)) = found else {
                return if self.is_skipped() {
                    EndReason::NoDirection
                } else {
                    EndReason::OutsideSamples
                };
            };
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

    /// What is followed from here: where nothing is drawn, what was found last.
    fn found_here(&mut self) -> Option<(Stick<f32>, f32)> {
        if !self.is_skipped() {
            // The first lookup of a half chooses its fibre by other rules.
            let is_first = self.last.is_none();
            self.last = self.lookup(self.pos, Lookup::Here, is_first);
        }
        self.last
    }

    fn is_skipped(&self) -> bool {
        let holds = |region: &Region| {
            let pos = self.space.from_samples(self.pos);
            region.holds(self.space.voxel(pos))
        };
        self.local.skip.as_ref().is_some_and(holds)
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
        let corner = if self.local.nearest_voxel {
            voxel(pos)
        } else {
            corner(pos, self.draws.corner(lookup))
        };
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
            let fraction = |fibre: usize| stick(fibre).fraction;
            let fibre = self.chosen(self.options.first_fibre, sticks.len(), fraction, lookup);
            return Some((stick(fibre), first.fraction));
        }
        let (dir, threshold) = (self.dir.unwrap_or_default(), self.options.fibre_threshold);
        // Rules of the place of the point hold a step ahead of it too.
        if let Some(choice) = self.local.choice(self.pos, corner) {
            let (rule, far_off) = match choice {
                LocalChoice::Any(rule) => (rule, 0.0),
                // Those farther off count as none.
                LocalChoice::Near => (FirstFibre::Uniform, NEAR_COS),
            };
            let is_near = |stick: Stick<f32>| far_off == 0.0 || dot(stick.dir, dir).abs() > far_off;
            let fraction = |fibre: usize| {
                let stick = stick(fibre);
                if is_near(stick) { stick.fraction } else { f32::NEG_INFINITY }
            };
            let found = stick(self.chosen(rule, sticks.len(), fraction, lookup));
            return Some((found, found.fraction));
        }
        let dir = self.local.preferred(self.pos).unwrap_or(dir);
        let mut nearest = Nearest::first(first, dir, threshold);
        for fibre in 1..sticks.len() {
            nearest = nearest.or(stick(fibre), dir, threshold);
        }
        Some((nearest.stick, nearest.stick.fraction))
    }

    fn chosen(
        &mut self,
        rule: FirstFibre,
        n_fibres: usize,
        fraction: impl Fn(usize) -> f32,
        lookup: Lookup,
    ) -> usize {
        let options = Propagation { first_fibre: rule, ..*self.options };
        first_fibre(&options, n_fibres, fraction, || self.draws.fibre(lookup))
    }

    /// The direction of the next step, or why there is none.
    fn next_dir(&mut self, stick: Stick<f32>, fraction: f32) -> Result<[f32; 3], EndReason> {
        let limit = if self.options.use_fraction { self.draws.fraction() } else { 0.0 };
        if fraction <= limit {
            return Err(EndReason::Fraction);
        }
        let min_cos =
            self.local.min_cos.as_ref().map_or(self.options.min_cos, |map| map.at(self.pos)[0]);
        if let Some(dir) = self.dir
            && dot(stick.dir, dir).abs() <= min_cos
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
        let cos = match self.dir.or(self.towards) {
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
