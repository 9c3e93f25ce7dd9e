//! Where tissues let streamlines end (Smith et al., NeuroImage 62, 1924 (2012)).
//!
//! A half that enters the cortex, or leaves the brain, ends there and is right: its last point is where the
//! cortex begins. One that enters fluid, or ends of itself in white matter, is not, and its streamline is
//! rejected. Subcortical grey matter is passed through until the half leaves it or ends in it: it then ends
//! there, where that tissue's share is largest, and is right. Where tissue is not healthy nothing is known of what
//! fibres do, and nothing is asked: a half goes on there as it would without tissues, and is right if it ends there.

use super::arcs::Pose;
use crate::EndReason;
use crate::tissues::{MET, Shares, Tissues};

/// How tissues constrain streamlines.
#[derive(Clone, Copy, Debug)]
pub struct Anatomy<'a> {
    /// The tissues.
    pub tissues: &'a Tissues,
    /// Take a half that ends wrongly back some steps and let it go on by other random numbers.
    pub backtrack: bool,
    /// Cut ends in grey matter off at its boundary with white matter.
    pub crop: bool,
    /// Start on that boundary, and go into white matter only.
    pub from_boundary: bool,
}

/// True where a curve that gets there ends rightly.
pub(super) fn ends_rightly(here: Shares) -> bool {
    here.cortex >= MET || here.sum() < MET
}

impl Anatomy<'_> {
    /// Where a streamline starts whose seed is at a point.
    ///
    /// # Errors
    /// What is there instead of white or subcortical grey matter, or a boundary nearby.
    pub(super) fn start(&self, pos: [f32; 3]) -> Result<[f32; 3], EndReason> {
        let pos = if self.from_boundary {
            self.tissues.nearest_boundary(pos).ok_or(EndReason::OutsideTissue)?
        } else {
            pos
        };
        let here = self.tissues.at(pos);
        if here.sum() < MET {
            Err(EndReason::OutsideTissue)
        } else if here.fluid >= MET {
            Err(EndReason::Fluid)
        } else if here.cortex >= MET && !self.from_boundary {
            Err(EndReason::Cortex)
        } else {
            Ok(pos)
        }
    }

    /// True where a streamline may start whose seed is at a point.
    pub fn may_start(&self, pos: [f32; 3]) -> bool {
        self.start(pos).is_ok()
    }

    /// What is beyond a start on the boundary, where the streamline has its other end.
    pub(super) fn beyond(&self, start: [f32; 3]) -> EndReason {
        let here = self.tissues.at(start);
        if here.deep > here.cortex { EndReason::Deep } else { EndReason::Cortex }
    }

    /// Why a half of `points` ends that goes on no more of itself, towards `next` where it was about to
    /// leave the densities.
    pub(super) fn end(
        &self,
        way: &Way,
        points: &mut Vec<[f32; 3]>,
        why: EndReason,
        next: Option<[f32; 3]>,
    ) -> EndReason {
        if points.last().is_some_and(|last| self.tissues.at(*last).is_lesion()) {
            return EndReason::Lesion;
        }
        if let Some((deepest, _)) = way.deep {
            points.truncate(deepest + 1);
            return EndReason::Deep;
        }
        if way.in_first {
            return EndReason::Deep;
        }
        match next.map(|pos| self.tissues.at(pos)) {
            Some(there) if there.sum() < MET => EndReason::OutsideTissue,
            Some(there) if there.cortex >= MET => EndReason::Cortex,
            Some(there) if there.deep >= MET => EndReason::Deep,
            _ => why,
        }
    }

    /// The half `points`, of the seed and what comes after it, with the end at the boundary of white
    /// matter, if it ends in grey matter.
    pub(super) fn cropped(&self, points: &mut Vec<[f32; 3]>, first: usize) {
        // What ends in a lesion or in nothing is on neither side, and not cut.
        let is_grey = |at: &usize| {
            let here = self.tissues.at(points[*at]);
            here.is_grey() && !here.is_lesion()
        };
        let last_white = (first..points.len()).rev().find(|at| !is_grey(at));
        let Some(at) = last_white.filter(|at| at + 1 < points.len()) else { return };
        points.truncate(at + 2);
        points[at + 1] = self.tissues.boundary(points[at], points[at + 1]);
    }
}

/// True for ends that tissues allow, and for a seed, of which they say nothing.
pub(super) fn is_right(end: EndReason) -> bool {
    use EndReason::{Cortex, Deep, Lesion, OutsideTissue, Seed};
    matches!(end, Cortex | Deep | OutsideTissue | Lesion | Seed)
}

/// A half on its way through tissues.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    /// It is still in the subcortical grey matter in which it started.
    in_first: bool,
    /// In such matter that it has entered: the point with the largest share, and that.
    deep: Option<(usize, f32)>,
}

/// What comes of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The half goes on.
    On,
    /// It ends, with so many points.
    End(EndReason, usize),
}

impl Way {
    /// A half at its seed. Of a streamline that starts in subcortical grey matter one half leaves
    /// it: `has_left` says that the other one has.
    pub(super) fn from_seed(here: Shares, at: usize, has_left: bool) -> Self {
        let is_deep = here.deep >= MET;
        Self {
            in_first: is_deep && !has_left,
            deep: (is_deep && has_left).then_some((at, here.deep)),
        }
    }

    /// True while it has not left where it started.
    pub(super) fn is_in_first(&self) -> bool {
        self.in_first
    }

    /// The point number `at`, with the tissue there.
    pub(super) fn enter(&mut self, here: Shares, at: usize) -> Step {
        if here.is_lesion() {
            return Step::On;
        }
        if here.sum() < MET {
            return Step::End(EndReason::OutsideTissue, at);
        }
        if here.fluid >= MET {
            return Step::End(EndReason::Fluid, at + 1);
        }
        if here.cortex >= MET {
            return Step::End(EndReason::Cortex, at + 1);
        }
        if here.deep >= MET {
            let is_deepest = self.deep.is_none_or(|(_, share)| here.deep > share);
            if !self.in_first && is_deepest {
                self.deep = Some((at, here.deep));
            }
            return Step::On;
        }
        self.in_first = false;
        match self.deep {
            Some((deepest, _)) => Step::End(EndReason::Deep, deepest + 1),
            None => Step::On,
        }
    }
}

/// Taking back halves that end wrongly.
#[derive(Clone, Debug, Default)]
pub(super) struct Retries {
    /// Where each point of the half was reached along.
    dirs: Vec<[f32; 3]>,
    /// Most points that the half has had.
    farthest: usize,
    /// Tries since it got so far.
    since: u32,
    /// Tries of this half.
    tries: u32,
}

impl Retries {
    /// Tries from one distance back.
    const FROM_EACH: u32 = 3;
    /// Tries of a half at most: they are counted in ten bits of the step of its random numbers.
    const MOST: u32 = 1000;

    /// What random numbers of a step from this point depend on: tries count above its bits.
    pub(super) fn point(&self, point: u32) -> u32 {
        // A half has less than 2^21 points.
        point | self.tries << 21
    }

    /// A half begins along `dir`.
    pub(super) fn begin(&mut self, dir: [f32; 3]) {
        (self.farthest, self.since, self.tries) = (0, 0, 0);
        self.dirs.clear();
        self.dirs.push(dir);
    }

    /// A point is reached along `dir`.
    pub(super) fn enter(&mut self, dir: [f32; 3]) {
        self.dirs.push(dir);
    }

    /// Takes the half, points from `first` on, back: `stride` steps, and as many more after every three
    /// tries that did not get farther than the ones before. The place to go on from; `None` where that
    /// would be before the seed. Twice as many each time halve the work, and leave a tenth more of the
    /// demo's bundles unfilled.
    pub(super) fn back(
        &mut self,
        points: &mut Vec<[f32; 3]>,
        first: usize,
        stride: usize,
    ) -> Option<Pose> {
        let n = self.dirs.len();
        if n > self.farthest {
            (self.farthest, self.since) = (n, 0);
        }
        let steps = stride * (1 + (self.since / Self::FROM_EACH) as usize);
        // From the farthest place, so that tries that end at once are not the ones to go back from.
        let kept = self.farthest.saturating_sub(steps).min(n);
        if kept == 0 || self.tries == Self::MOST {
            return None;
        }
        self.since += 1;
        self.tries += 1;
        self.dirs.truncate(kept);
        points.truncate(first + kept);
        Some(Pose { pos: *points.last()?, dir: *self.dirs.last()? })
    }
}
