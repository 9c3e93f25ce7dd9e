//! The options of streamlines as they are made with: defaults of what they run through and where.

use fimbria_image::Grid;
use fimbria_tensors::sh::sh_count;
use fimbria_tracking::{Attempts, DensityPropagation, DensityRule, FirstFibre, Propagation};

use super::edges::Edges;
use super::parameters::{Algorithm, SeedsBy, Through, TrackParameters};
use crate::Named;
use crate::options::{Place, Resolve, Resolved};

/// By what streamlines end, of which what is usual depends as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// Where nothing is left to follow.
    Densities,
    /// In the tissues that fibres end in.
    Tissues,
}

/// What defaults depend on: a run starts in every voxel, the command in regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// What streamlines run through.
    pub through: Through,
    /// Where the options are used.
    pub place: Place,
    /// By what streamlines end.
    pub ended_by: EndedBy,
}

/// Through densities: where a streamline ends. Of many ways drawn some go along noise, until tissues end them.
pub(super) const CUTOFF: f32 = 0.1;
pub(super) const CUTOFF_OF_DRAWN: f32 = 0.15;
/// The largest angle of a step, degrees: through samples that of which the cosine is 0.2.
pub(super) const ANGLE_THROUGH_SAMPLES: f32 = 78.463_04;
pub(super) const ANGLE: f32 = 45.0;
pub(super) const ANGLE_OF_TRANSPORT: f32 = 6.0;
/// Lengths, mm; through samples of a command and of a run.
pub(super) const LONGEST: f32 = 250.0;
pub(super) const LONGEST_THROUGH_SAMPLES: [f32; 2] = [1000.0, LONGEST];
pub(super) const SHORTEST: f32 = 10.0;
pub(super) const SHORTEST_THROUGH_SAMPLES: [f32; 2] = [0.0, 20.0];
/// Streamlines from each seed through samples, of a command and of a run.
pub(super) const SAMPLES: [u32; 2] = [50, 2];
/// Streamlines kept through densities.
pub(super) const SELECT: u32 = 10_000;
/// Streamlines started at most for one that is to be kept.
pub(super) const STARTS_OF_ONE: u64 = 1000;
/// The power of densities.
pub(super) const POWER: f32 = 1.0;
/// The least fraction of a fibre, of a command and of a run: smaller ones than that are those that bedpostX's
/// own maps leave out.
pub(super) const FIBRE_THRESHOLD: [f32; 2] = [0.01, 0.05];

impl Resolve for TrackParameters {
    type Setting = Setting;

    /// The length of a step and where streamlines start in a voxel, which depend on the voxels, are left as
    /// they are.
    fn with_defaults(&self, setting: &Setting) -> Self {
        let (all, given) = (self.clone(), self);
        let is_run = setting.place == Place::Run;
        if setting.through == Through::Densities {
            let select = given.select.or(given.samples.is_none().then_some(SELECT));
            let algorithm = given.algorithm.unwrap_or_default();
            let is_random = algorithm.0 != Algorithm::Deterministic;
            let is_bent = algorithm.0 == Algorithm::Transport;
            let may_stray = is_random && setting.ended_by == EndedBy::Densities;
            let seeds_by = select.map(|_| given.seeds_by.unwrap_or_default());
            return Self {
                select,
                most_starts: select
                    .map(|select| given.most_starts.unwrap_or(STARTS_OF_ONE * u64::from(select))),
                seeds_by,
                algorithm: Some(algorithm),
                max_length: given.max_length.or(Some(LONGEST)),
                min_length: given.min_length.or(Some(SHORTEST)),
                angle: given.angle.or(Some(if is_bent { ANGLE_OF_TRANSPORT } else { ANGLE })),
                cutoff: given.cutoff.or(Some(if may_stray { CUTOFF_OF_DRAWN } else { CUTOFF })),
                power: given.power.or(is_random.then_some(POWER)),
                ..all
            };
        }
        let at = usize::from(is_run);
        let first = if is_run { FirstFibre::Proportional } else { FirstFibre::Number(0) };
        Self {
            samples: given.samples.or(Some(SAMPLES[at])),
            step: given.step.or((!is_run).then_some(Propagation::default().step_mm)),
            max_length: given.max_length.or(Some(LONGEST_THROUGH_SAMPLES[at])),
            min_length: given.min_length.or(Some(SHORTEST_THROUGH_SAMPLES[at])),
            angle: given.angle.or(Some(ANGLE_THROUGH_SAMPLES)),
            fibre_threshold: given.fibre_threshold.or(Some(FIBRE_THRESHOLD[at])),
            first_fibre: given.first_fibre.or(Some(Named(first))),
            jitter: given.jitter.or((!is_run).then_some(0.0)),
            ..all
        }
    }
}

impl TrackParameters {
    /// As a run has them through densities.
    fn in_run_through_densities(&self) -> Resolved<Self> {
        let (through, place, ended_by) = (Through::Densities, Place::Run, EndedBy::Densities);
        self.resolve(&Setting { through, place, ended_by })
    }

    /// How many streamlines a run makes at most through densities of so many voxels.
    pub(crate) fn most_streamlines(&self, voxels: u64) -> u64 {
        let options = self.in_run_through_densities();
        let from_each = options.samples.map(|samples| u64::from(samples) * voxels);
        options.select.map(u64::from).or(from_each).unwrap_or(0)
    }

    /// The length of a step of a run through densities on this grid, mm.
    pub(crate) fn step_through_densities(&self, grid: &Grid) -> f32 {
        let shortest = Edges::from_grid(grid).shortest;
        self.in_run_through_densities().density_propagation(shortest, 8).step_mm
    }
}

impl Resolved<TrackParameters> {
    /// How streamlines are propagated through samples in steps of this length.
    pub(super) fn propagation(&self, step_mm: f32) -> Propagation {
        let usual = Propagation::default();
        Propagation {
            step_mm,
            max_points: self
                .max_length
                .map_or(usual.max_points, |mm| Propagation::points_within(mm, step_mm)),
            min_cos: self.angle.map_or(usual.min_cos, |angle| angle.to_radians().cos()),
            fibre_threshold: self.fibre_threshold.unwrap_or(usual.fibre_threshold),
            use_fraction: self.use_fraction,
            modified_euler: self.modified_euler,
            loop_check: self.loop_check,
            first_fibre: self.first_fibre.map_or(usual.first_fibre, |first| first.0),
            ..usual
        }
    }

    /// How they follow densities of this order on voxels of which this is the shortest edge.
    pub(super) fn density_propagation(
        &self,
        shortest_edge_mm: f32,
        order: usize,
    ) -> DensityPropagation {
        // One fibre is as high as there are coefficients, and so is what noise makes of none.
        let height = (sh_count(order) as f32 / sh_count(8) as f32).max(1.0);
        let power = self.power.unwrap_or(POWER);
        let probe_mm = self.probe.unwrap_or(0.5 * shortest_edge_mm);
        let (rule, edges) = match self.algorithm.unwrap_or_default().0 {
            Algorithm::Probabilistic => (DensityRule::Arcs { power, places: 3 }, 0.5),
            Algorithm::Transport => (DensityRule::Transport { power, places: 3, probe_mm }, 0.1),
            Algorithm::Deterministic => (DensityRule::Maximum, 0.2),
        };
        DensityPropagation {
            rule,
            step_mm: self.step.unwrap_or(edges * shortest_edge_mm),
            max_angle: self.angle.unwrap_or(ANGLE).to_radians(),
            cutoff: self.cutoff.unwrap_or(CUTOFF) * height,
            max_length_mm: self.max_length.unwrap_or(LONGEST),
        }
    }

    /// How seeds are drawn, where they are.
    pub(super) fn seeds_by(&self) -> SeedsBy {
        self.seeds_by.unwrap_or_default().0
    }

    /// How many streamlines start through densities.
    pub(super) fn attempts(&self) -> Attempts {
        match (self.select, self.most_starts) {
            (Some(select), Some(at_most)) => {
                Attempts::UntilKept { select: u64::from(select), at_most }
            }
            _ => Attempts::PerSeed(self.samples.unwrap_or(SAMPLES[1])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::usual;

    fn setting(through: Through, place: Place) -> Setting {
        Setting { through, place, ended_by: EndedBy::Densities }
    }

    #[test]
    fn the_usual_steps_through_samples_are_those_of_the_tracking() {
        let default = Propagation::default();
        let usual: TrackParameters = usual();
        let usual = usual.resolve(&setting(Through::Samples, Place::Command));
        let propagation = usual.propagation(default.step_mm);
        // 1000 mm, and the seed in each half, where probtrackx2 counts 2000 steps.
        assert_eq!(propagation, Propagation { max_points: 2002, ..default });
        assert_eq!((usual.samples, usual.step, usual.jitter), (Some(50), Some(0.5), Some(0.0)));
    }

    #[test]
    fn tracks_of_a_run_through_samples_are_fewer_and_of_fibres_only() {
        let usual: TrackParameters = usual();
        let usual = usual.resolve(&setting(Through::Samples, Place::Run));
        assert_eq!((usual.samples, usual.step, usual.jitter), (Some(2), None, None));
        assert_eq!((usual.min_length, usual.max_length), (Some(20.0), Some(250.0)));
        assert_eq!(usual.fibre_threshold, Some(0.05));
    }

    #[test]
    fn densities_are_followed_alike_from_regions_and_in_a_run() {
        let usual: TrackParameters = usual();
        let of = |place| usual.resolve(&setting(Through::Densities, place));
        assert_eq!(of(Place::Command), of(Place::Run));
        assert_eq!((of(Place::Command).samples, of(Place::Command).select), (None, Some(10_000)));
    }

    #[test]
    fn so_many_start_at_most_as_are_asked_for_or_a_thousand_for_each_to_keep() {
        let usual: TrackParameters = usual();
        let attempts = |select, most_starts| {
            let options = TrackParameters { select, most_starts, ..usual.clone() };
            options.resolve(&setting(Through::Densities, Place::Command)).attempts()
        };
        let until = |select, at_most| Attempts::UntilKept { select, at_most };
        assert_eq!(attempts(None, None), until(10_000, 10_000_000));
        assert_eq!(attempts(Some(7), None), until(7, 7000));
        assert_eq!(attempts(Some(7), Some(5)), until(7, 5));
        assert_eq!(attempts(None, Some(20_000)), until(10_000, 20_000));
        let from_each = TrackParameters { samples: Some(3), ..usual.clone() };
        let from_each = from_each.resolve(&setting(Through::Densities, Place::Command));
        assert_eq!(from_each.attempts(), Attempts::PerSeed(3));
    }

    #[test]
    fn ways_that_are_drawn_end_at_a_higher_density_where_no_tissues_end_them() {
        let usual: TrackParameters = usual();
        let cutoff = |algorithm, ended_by| {
            let options = TrackParameters { algorithm: Some(Named(algorithm)), ..usual.clone() };
            let setting = setting(Through::Densities, Place::Command);
            options.with_defaults(&Setting { ended_by, ..setting }).cutoff
        };
        for algorithm in [Algorithm::Probabilistic, Algorithm::Transport] {
            assert_eq!(cutoff(algorithm, EndedBy::Densities), Some(0.15));
            assert_eq!(cutoff(algorithm, EndedBy::Tissues), Some(0.1));
        }
        assert_eq!(cutoff(Algorithm::Deterministic, EndedBy::Densities), Some(0.1));
    }

    #[test]
    fn densities_of_higher_orders_are_followed_down_to_the_same_part_of_a_fibre() {
        let usual: TrackParameters = usual();
        let usual = usual.resolve(&setting(Through::Densities, Place::Command));
        let cutoff = |order| usual.density_propagation(2.0, order).cutoff;
        assert_eq!([4, 8].map(cutoff), [0.15; 2]);
        assert!((cutoff(12) - 0.15 * 91.0 / 45.0).abs() < 1e-6);
    }
}
