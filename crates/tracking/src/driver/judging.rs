//! One streamline at a time: its halves judged and handed in.

use crate::oracle::{HalfEnd, Visit as _};
use crate::rules::{Judge, LoopCheck, Rules, Verdicts, Watcher};
use crate::sample::{Sample, Take};
use crate::{EndReason, Seed, Space};

/// The rules with what belongs to one streamline.
pub(crate) struct Judging<'a> {
    space: &'a Space,
    step_mm: f32,
    loop_check: bool,
    judge: Judge<'a>,
    verdicts: Verdicts,
    loops: LoopCheck,
    all: Vec<[f32; 3]>,
}

/// Which streamline it is.
pub(crate) struct Judged<'a> {
    pub(crate) seed: &'a Seed,
    pub(crate) seed_index: usize,
    pub(crate) number: u32,
    /// What samples are sorted by.
    pub(crate) order: (usize, u32),
}

/// A half that is made.
#[derive(Clone, Copy)]
pub(crate) struct Half<'a> {
    /// In voxels of the directions, from the seed outwards.
    pub(crate) points: &'a [[f32; 3]],
    /// Why it ended.
    pub(crate) end: EndReason,
    /// Its end is not where a fibre ends: it is rejected, unless a region stops it before.
    pub(crate) is_wrong: bool,
}

impl<'a> Judging<'a> {
    pub(crate) fn new(space: &'a Space, rules: &'a Rules, step_mm: f32) -> Self {
        Self {
            space,
            step_mm,
            loop_check: false,
            judge: Judge::new(rules),
            verdicts: Verdicts::default(),
            loops: LoopCheck::default(),
            all: Vec::new(),
        }
    }

    /// The same, which ends streamlines that come back on themselves.
    pub(super) fn with_loop_check(self, loop_check: bool) -> Self {
        Self { loop_check, ..self }
    }

    /// Judges a streamline whose halves `make` makes, given their number, the direction to start in and
    /// whom to tell their points.
    pub(super) fn sample(
        &mut self,
        judged: Judged<'_>,
        take: &mut Take<'_>,
        mut make: impl FnMut(u32, Option<[f32; 3]>, &mut Watcher<'_, '_>) -> HalfEnd,
    ) {
        let Judged { seed, seed_index, number, order } = judged;
        self.all.clear();
        self.verdicts.begin();
        self.judge.begin_sample(seed.region as usize);
        let mut dir: Option<[f32; 3]> = None;
        let (mut n_made_first, mut ends) = (0, [EndReason::OutsideMask; 2]);
        for half in 0..2 {
            let before = self.all.len();
            self.judge.begin_half();
            self.loops.begin_half();
            let mut watcher = Watcher {
                judge: &mut self.judge,
                space: self.space,
                path: &mut self.all,
                loops: self.loop_check.then_some(&mut self.loops),
            };
            let end = make(half as u32, dir, &mut watcher);
            if half == 0 {
                dir = end.first_dir.map(|dir| dir.map(|x| -x));
                n_made_first = self.all.len();
            }
            ends[half] = end.reason;
            self.verdicts.end_half(&self.judge, self.all.len() - before, self.step_mm);
        }
        let made = Made { seed, seed_index, number, order, n_made_first, ends };
        made.hand_in(&self.judge, &self.verdicts, self.step_mm, &self.all, &[], take);
    }

    /// Judges a streamline whose halves are made.
    pub(crate) fn halves(
        &mut self,
        judged: Judged<'_>,
        halves: [Half<'_>; 2],
        take: &mut Take<'_>,
    ) {
        self.sample(judged, take, |half, _, watcher| {
            let Half { points, end, is_wrong } = halves[half as usize];
            let ended = if watcher.judge.is_idle() {
                watcher.pass(points);
                None
            } else {
                stopped(points.iter().map(|pos| (*pos, [0.0; 3])), watcher)
            };
            if is_wrong && ended.is_none() {
                watcher.judge.reject_half();
            }
            HalfEnd { first_dir: None, reason: ended.unwrap_or(end) }
        });
    }

    /// True where a region may end a half before it ends of itself, and leave it right.
    pub(crate) fn may_stop(&self) -> bool {
        self.judge.may_stop()
    }

    /// True where some rule ends a streamline at its start.
    pub(super) fn ends_at(&mut self, start: [f32; 3], region: u32) -> bool {
        if self.judge.is_idle() {
            return false;
        }
        let pos = self.space.from_samples(start);
        self.judge.begin_sample(region as usize);
        self.judge.begin_half();
        let voxel = self.space.voxel(pos);
        self.judge.enter(pos, voxel).and_then(|()| self.judge.leave()).is_err()
    }
}

/// Why the watcher ends a half that is made, points with directions; `None` where it lets it pass.
pub(super) fn stopped(
    points: impl IntoIterator<Item = ([f32; 3], [f32; 3])>,
    watcher: &mut Watcher<'_, '_>,
) -> Option<EndReason> {
    let mut points = points.into_iter();
    points.find_map(|(pos, dir)| watcher.enter(pos, dir).and_then(|()| watcher.leave()).err())
}

/// A sample whose halves are made.
pub(crate) struct Made<'a> {
    pub(crate) seed: &'a Seed,
    pub(crate) seed_index: usize,
    pub(crate) number: u32,
    pub(crate) order: (usize, u32),
    pub(crate) n_made_first: usize,
    pub(crate) ends: [EndReason; 2],
}

impl Made<'_> {
    /// Judges the halves in `all`, and hands in what is kept. `places`: a number for
    /// each point, as a sample has them, or none.
    pub(crate) fn hand_in(
        self,
        judge: &Judge<'_>,
        verdicts: &Verdicts,
        step_mm: f32,
        all: &[[f32; 3]],
        places: &[u32],
        take: &mut Take<'_>,
    ) {
        self.hand_on(verdicts.kept(judge, step_mm).0, &judge.network, all, places, take);
    }

    /// Hands in the halves in `all` that are kept.
    pub(super) fn hand_on(
        self,
        [first, second]: [bool; 2],
        network: &[Option<u32>],
        all: &[[f32; 3]],
        places: &[u32],
        take: &mut Take<'_>,
    ) {
        let Self { seed, seed_index, number, order, n_made_first, ends } = self;
        let (kept, n_first) = match (first, second) {
            (true, true) => (0..all.len(), n_made_first),
            (true, false) => (0..n_made_first, n_made_first),
            (false, true) => (n_made_first..all.len(), 0),
            (false, false) => (0..0, 0),
        };
        take(&Sample {
            seed,
            seed_index,
            number,
            order,
            points: &all[kept.clone()],
            places: places.get(kept).unwrap_or_default(),
            n_first,
            n_made_first,
            all_points: all,
            ends,
            kept: first || second,
            network,
        });
    }
}
