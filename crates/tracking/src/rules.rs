//! Regions that decide over streamlines: where they may not go, must go, and end.

use crate::field::floor;
use crate::region::{Region, Step, off_the_seed};
use crate::{EndReason, LocalRules, Visit};

/// Regions that decide over streamlines.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Whoever enters is rejected.
    pub avoid: Vec<Region>,
    /// Whoever enters ends there; the point inside is kept. The seed itself stops nobody.
    pub stop: Vec<Region>,
    /// Whoever enters ends on leaving, or where it is a surface on crossing it again; the point
    /// before is the end.
    pub stop_on_leaving: Vec<Region>,
    /// Where streamlines must go.
    pub waypoints: Waypoints,
    /// Streamlines must reach one of these, other than the one they start in.
    pub network: Vec<Region>,
    /// Halves shorter than this are rejected, mm.
    pub least_length_mm: f32,
    /// Ask `avoid` and `stop` one point later: `avoid` not at the seed, `stop` not at the point
    /// after it.
    pub force_first_step: bool,
    /// How the two halves of a sample share a verdict.
    pub judgement: Judgement,
    /// What differs from place to place in how streamlines are followed; not through densities.
    pub local: LocalRules,
}

/// Where streamlines must go.
#[derive(Clone, Debug, Default)]
pub struct Waypoints {
    /// The regions.
    pub regions: Vec<Region>,
    /// One is enough.
    pub any: bool,
    /// They must be reached in this order.
    pub in_order: bool,
    /// By each half on its own.
    pub by_each_half: bool,
}

/// How the two halves of a sample share a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Judgement {
    /// The streamline is judged as a whole: both halves are kept or neither is, and the order in
    /// which the halves are made does not matter.
    #[default]
    Whole,
    /// probtrackx2's: each half is judged for itself, the second knowing what the first has reached,
    /// but not in which order.
    HalfByHalf,
}

/// What comes of a half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Keep,
    Reject,
    /// The second half decides.
    Open,
}

/// Judges the two halves of one sample.
pub(crate) struct Judge<'a> {
    rules: &'a Rules,
    /// The region of the network it starts in.
    own: usize,
    reached: Vec<bool>,
    ordered: bool,
    /// Points from the seed at which each region of the network was first reached.
    pub(crate) network: Vec<Option<u32>>,
    half: HalfState,
}

#[derive(Default)]
struct HalfState {
    points: usize,
    step: Step,
    avoided: bool,
    reached_before: Vec<bool>,
    network_before: Vec<Option<u32>>,
    network_any: bool,
    /// Per region to leave: started inside, outside, inside.
    leaving: Vec<Leaving>,
    verdict: Option<Verdict>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaving {
    Unknown,
    StartedInside,
    Outside,
    Inside,
}

impl Leaving {
    /// The state after a step that is inside the region or not, or crosses the surface or not.
    fn after(self, met: bool, is_surface: bool) -> Result<Self, EndReason> {
        match (self, met) {
            (Self::Inside, true) if is_surface => Err(EndReason::StopOnLeaving),
            (Self::Outside | Self::Unknown, true) if is_surface => Ok(Self::Inside),
            (state, false) if is_surface => Ok(state),
            (Self::Unknown, true) => Ok(Self::StartedInside),
            (Self::Unknown | Self::StartedInside, false) => Ok(Self::Outside),
            (Self::Outside, true) => Ok(Self::Inside),
            (Self::Inside, false) => Err(EndReason::StopOnLeaving),
            (state, _) => Ok(state),
        }
    }
}

impl<'a> Judge<'a> {
    pub(crate) fn new(rules: &'a Rules) -> Self {
        Self {
            rules,
            own: 0,
            reached: vec![false; rules.waypoints.regions.len()],
            ordered: true,
            network: vec![None; rules.network.len()],
            half: HalfState::default(),
        }
    }

    /// True where nothing but its own propagation ends a streamline.
    pub(crate) fn is_idle(&self) -> bool {
        let r = self.rules;
        r.avoid.is_empty()
            && r.stop.is_empty()
            && r.stop_on_leaving.is_empty()
            && r.waypoints.regions.is_empty()
            && r.network.is_empty()
    }

    /// A sample begins, in this region of the network.
    pub(crate) fn begin_sample(&mut self, own: usize) {
        self.own = own;
        self.reached.fill(false);
        self.ordered = true;
        self.network.fill(None);
    }

    pub(crate) fn begin_half(&mut self) {
        if self.rules.waypoints.by_each_half {
            self.reached.fill(false);
            self.ordered = true;
        }
        // probtrackx2 keeps what the first half has reached, and forgets that it was out of order.
        self.ordered |= self.rules.judgement == Judgement::HalfByHalf;
        let half = &mut self.half;
        half.points = 0;
        half.step = Step::default();
        half.avoided = false;
        half.network_any = false;
        half.verdict = None;
        half.reached_before.clone_from(&self.reached);
        half.network_before.clone_from(&self.network);
        half.leaving.clear();
        half.leaving.resize(self.rules.stop_on_leaving.len(), Leaving::Unknown);
    }

    /// The next point, in this voxel. An error ends the half: for
    /// [`EndReason::StopOnLeaving`] without this point, else with it.
    pub(crate) fn enter(&mut self, pos: [f32; 3], voxel: Option<u32>) -> Result<(), EndReason> {
        let (rules, half) = (self.rules, &mut self.half);
        let is_first = half.points == 0;
        let from = match half.points {
            0 => None,
            1 => Some(off_the_seed(half.step.to, pos)),
            _ => Some(half.step.to),
        };
        half.step = Step { from, to: pos, voxel };
        half.points += 1;
        let step = half.step;
        if !(is_first && rules.force_first_step) && rules.avoid.iter().any(|r| r.is_met(&step)) {
            self.reject_half();
            return Err(EndReason::Avoid);
        }
        // probtrackx2 lets the point count that it then takes off.
        let counts_ahead = rules.judgement == Judgement::HalfByHalf;
        if counts_ahead && !is_first {
            self.reach(&step);
        }
        for (region, state) in rules.stop_on_leaving.iter().zip(&mut self.half.leaving) {
            *state = state.after(region.is_met(&step), region.mesh().is_some())?;
        }
        if is_first {
            return Ok(());
        }
        if !counts_ahead {
            self.reach(&step);
        }
        for (i, region) in rules.network.iter().enumerate() {
            if i != self.own && region.is_met(&step) {
                self.half.network_any = true;
                self.network[i].get_or_insert(self.half.points as u32 - 1);
            }
        }
        Ok(())
    }

    /// Notes the waypoints that a step reaches.
    fn reach(&mut self, step: &Step) {
        for (i, region) in self.rules.waypoints.regions.iter().enumerate() {
            if !self.reached[i] && region.is_met(step) {
                self.ordered &= self.reached[..i].iter().all(|reached| *reached);
                self.reached[i] = true;
            }
        }
    }

    /// The half is rejected, and what it has reached does not count, as where it enters a region to
    /// avoid.
    pub(crate) fn reject_half(&mut self) {
        self.half.avoided = true;
        self.reached.clone_from(&self.half.reached_before);
        self.network.clone_from(&self.half.network_before);
    }

    /// True where a region may end a half and leave it right.
    pub(crate) fn may_stop(&self) -> bool {
        !self.rules.stop.is_empty() || !self.rules.stop_on_leaving.is_empty()
    }

    /// Whether the half ends at the point just entered.
    pub(crate) fn leave(&self) -> Result<(), EndReason> {
        let first = if self.rules.force_first_step { 3 } else { 2 };
        let asked = self.half.points >= first;
        if asked && self.rules.stop.iter().any(|region| region.is_met(&self.half.step)) {
            return Err(EndReason::Stop);
        }
        Ok(())
    }

    fn end_half(&self, points: usize, step_mm: f32) -> Verdict {
        let (rules, half) = (self.rules, &self.half);
        let length_mm = points.saturating_sub(1) as f32 * step_mm;
        if half.avoided
            || length_mm < rules.least_length_mm
            || (!rules.network.is_empty() && !half.network_any)
        {
            return Verdict::Reject;
        }
        self.waypoints()
    }

    fn waypoints(&self) -> Verdict {
        let waypoints = &self.rules.waypoints;
        let n_reached = self.reached.iter().filter(|reached| **reached).count();
        let in_order = !waypoints.in_order || self.ordered;
        match n_reached {
            _ if waypoints.regions.is_empty() => Verdict::Keep,
            0 => Verdict::Reject,
            n if n == self.reached.len() && in_order => Verdict::Keep,
            n if n == self.reached.len() => Verdict::Reject,
            _ if waypoints.any => Verdict::Keep,
            _ if waypoints.by_each_half || !in_order => Verdict::Reject,
            _ => Verdict::Open,
        }
    }
}

/// Both halves of a sample after judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptHalves(pub(crate) [bool; 2]);

/// Collects the verdicts of the two halves.
#[derive(Default)]
pub(crate) struct Verdicts {
    halves: Vec<(Verdict, bool, usize)>,
}

impl Verdicts {
    pub(crate) fn begin(&mut self) {
        self.halves.clear();
    }

    pub(crate) fn end_half(&mut self, judge: &Judge<'_>, points: usize, step_mm: f32) {
        let verdict = judge.end_half(points, step_mm);
        self.halves.push((verdict, judge.half.avoided, points));
    }

    /// Which halves are kept, once both are known.
    pub(crate) fn kept(&self, judge: &Judge<'_>, step_mm: f32) -> KeptHalves {
        let [(first, avoided_first, n_first), (second, avoided_second, n_second)] = self.halves[..]
        else {
            return KeptHalves([false; 2]);
        };
        if judge.rules.judgement == Judgement::HalfByHalf {
            let second_kept = second == Verdict::Keep;
            let first_kept = first == Verdict::Keep || (first == Verdict::Open && second_kept);
            return KeptHalves([first_kept, second_kept]);
        }
        // The halves share their seed point.
        let steps = n_first.saturating_sub(1) + n_second.saturating_sub(1);
        let rules = judge.rules;
        let network = rules.network.is_empty() || judge.network.iter().any(Option::is_some);
        let keep = !avoided_first
            && !avoided_second
            && n_first > 0
            && steps as f32 * step_mm >= rules.least_length_mm
            && network
            && if rules.waypoints.by_each_half {
                first == Verdict::Keep && second == Verdict::Keep
            } else {
                judge.waypoints() == Verdict::Keep
            };
        KeptHalves([keep; 2])
    }
}

/// A judge that looks at points as they come, with the space that tells their voxels.
pub(crate) struct Watcher<'a, 'b> {
    pub(crate) judge: &'b mut Judge<'a>,
    pub(crate) space: &'b crate::Space,
    pub(crate) path: &'b mut Vec<[f32; 3]>,
    pub(crate) loops: Option<&'b mut LoopCheck>,
}

impl Watcher<'_, '_> {
    /// Points that nothing ends or rejects, as where the judge is idle.
    pub(crate) fn pass(&mut self, points: &[[f32; 3]]) {
        if self.space.is_that_of_samples() {
            self.path.extend_from_slice(points);
        } else {
            self.path.extend(points.iter().map(|pos| self.space.from_samples(*pos)));
        }
    }
}

impl Visit for Watcher<'_, '_> {
    fn enter(&mut self, pos: [f32; 3], dir: [f32; 3]) -> Result<(), EndReason> {
        if let Some(loops) = &mut self.loops {
            loops.enter(pos, dir)?;
        }
        let pos = self.space.from_samples(pos);
        self.path.push(pos);
        let verdict = self.judge.enter(pos, self.space.voxel(pos));
        if verdict == Err(EndReason::StopOnLeaving) {
            self.path.pop();
        }
        verdict
    }

    fn leave(&mut self) -> Result<(), EndReason> {
        self.judge.leave()
    }
}

/// The last direction in each block of 5 x 5 x 5 voxels; few are met, so they are listed.
#[derive(Clone, Debug, Default)]
pub struct LoopCheck {
    blocks: Vec<([i16; 3], [f32; 3])>,
}

impl LoopCheck {
    /// A half begins.
    pub fn begin_half(&mut self) {
        self.blocks.clear();
    }

    /// A point is reached along `dir`.
    ///
    /// # Errors
    /// [`EndReason::Loop`] where the block was last left in a direction more than 90 degrees off.
    #[inline]
    pub fn enter(&mut self, pos: [f32; 3], dir: [f32; 3]) -> Result<(), EndReason> {
        // The standard library's rounding is a call where SSE4.1 is not taken for granted.
        let block = pos.map(|x| floor(x / 5.0 + 0.5) as i16);
        // Usually it is the block of the point before.
        match self.blocks.iter_mut().rev().find(|(known, _)| *known == block) {
            Some((_, last)) => {
                let cos: f32 = (0..3).map(|k| dir[k] * last[k]).sum();
                if cos < 0.0 {
                    return Err(EndReason::Loop);
                }
                *last = dir;
            }
            None => self.blocks.push((block, dir)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One voxel of four.
    fn voxel(at: usize) -> Region {
        Region::of_voxels("voxel", (0..4).map(|voxel| voxel == at).collect())
    }

    /// A half through these voxels: how many points it takes to end, and why.
    fn went(judge: &mut Judge<'_>, voxels: &[u32]) -> (usize, Option<EndReason>) {
        judge.begin_sample(0);
        judge.begin_half();
        for (before, voxel) in voxels.iter().enumerate() {
            let entered = judge.enter([*voxel as f32, 0.0, 0.0], Some(*voxel));
            if let Err(why) = entered.and_then(|()| judge.leave()) {
                return (before + 1, Some(why));
            }
        }
        (voxels.len(), None)
    }

    #[test]
    fn nobody_stops_at_the_seed_and_with_a_forced_first_step_nobody_at_the_next_point() {
        let mut rules = Rules { stop: vec![voxel(1)], ..Rules::default() };
        assert_eq!(went(&mut Judge::new(&rules), &[1, 1, 1]), (2, Some(EndReason::Stop)));
        assert_eq!(went(&mut Judge::new(&rules), &[1, 2, 2]), (3, None));
        rules.force_first_step = true;
        assert_eq!(went(&mut Judge::new(&rules), &[1, 1, 1]), (3, Some(EndReason::Stop)));
    }

    #[test]
    fn who_starts_inside_what_is_avoided_is_rejected_unless_the_first_step_is_forced() {
        let mut rules = Rules { avoid: vec![voxel(1)], ..Rules::default() };
        assert_eq!(went(&mut Judge::new(&rules), &[1, 2]), (1, Some(EndReason::Avoid)));
        rules.force_first_step = true;
        assert_eq!(went(&mut Judge::new(&rules), &[1, 2]), (2, None));
    }

    /// Which halves of a sample through these voxels are kept, where both must be reached in order.
    fn kept(regions: [usize; 2], judgement: Judgement, halves: [&[u32]; 2]) -> [bool; 2] {
        let regions = regions.map(voxel).to_vec();
        let waypoints = Waypoints { regions, in_order: true, ..Waypoints::default() };
        let rules = Rules { waypoints, judgement, ..Rules::default() };
        let (mut judge, mut verdicts) = (Judge::new(&rules), Verdicts::default());
        judge.begin_sample(0);
        verdicts.begin();
        for half in halves {
            judge.begin_half();
            for voxel in half {
                judge.enter([*voxel as f32, 0.0, 0.0], Some(*voxel)).unwrap();
            }
            verdicts.end_half(&judge, half.len(), 1.0);
        }
        verdicts.kept(&judge, 1.0).0
    }

    #[test]
    fn probtrackx2_begins_the_check_of_order_anew_in_each_half() {
        use Judgement::{HalfByHalf, Whole};
        let (there, back): (&[u32], &[u32]) = (&[0, 1, 2, 3], &[0]);
        assert_eq!(kept([1, 3], HalfByHalf, [there, back]), [true, true]);
        // The first half reaches both out of order; the second adds nothing that could be.
        assert_eq!(kept([3, 1], HalfByHalf, [there, back]), [false, true]);
        assert_eq!(kept([3, 1], Whole, [there, back]), [false, false]);
        // One in each half: the second is in order where the first has what comes before.
        assert_eq!(kept([1, 3], HalfByHalf, [&[0, 1], &[0, 3]]), [true, true]);
        assert_eq!(kept([3, 1], HalfByHalf, [&[0, 1], &[0, 3]]), [false, true]);
    }

    #[test]
    fn a_point_taken_off_counts_for_waypoints_only_where_probtrackx2_lets_it() {
        let waypoints = Waypoints { regions: vec![voxel(3)], ..Waypoints::default() };
        for (judgement, reached) in [(Judgement::Whole, false), (Judgement::HalfByHalf, true)] {
            let stop_on_leaving = vec![voxel(2)];
            let waypoints = waypoints.clone();
            let rules = Rules { waypoints, stop_on_leaving, judgement, ..Rules::default() };
            let mut judge = Judge::new(&rules);
            let ended = (4, Some(EndReason::StopOnLeaving));
            assert_eq!(went(&mut judge, &[1, 2, 2, 3, 3]), ended);
            assert_eq!(judge.reached, [reached], "{judgement:?}");
        }
    }
}
