//! Streamlines through directions of any kind.

use fimbria_streamlines::Streamlines;
use fimbria_tracking::{
    Anatomy, Densities, DensityTracking, Propagation, Seed, SeedChances, Space, Tally, Tracking,
};

use super::counted::{counted, counted_through_densities, reshaping};
use super::directions::{Directions, Medium};
use super::edges::Edges;
use super::parameters::SeedsBy;
use super::regions::TrackedRegions;
use super::reseed::DynamicSeeds;
use super::{TrackError, TrackParameters};
use crate::options::Resolved;
use crate::{Logbook, Page};

/// Tracks; streamlines, where they are made, come to `each` in their order.
pub(super) fn follow<'p>(
    directions: &Directions,
    places: &'p TrackedRegions,
    options: &Resolved<TrackParameters>,
    makes_lines: bool,
    log: &Logbook<'_>,
    each: impl FnMut(Streamlines) -> Result<(), TrackError>,
) -> Result<Tally<'p>, TrackError> {
    places.tell_empty(log);
    let each = reshaping(options.reshape(), log, each);
    let TrackedRegions { seed_set, rules, .. } = places;
    let space = &seed_set.space;
    let new = || places.counts(makes_lines);
    let (seeds, rng_seed) = (&seed_set.seeds[..], options.rng_seed);
    let tally = match &directions.medium {
        Medium::Samples(field) => {
            let step_mm = options.step.unwrap_or(Propagation::default().step_mm);
            let propagation = options.propagation(step_mm);
            let tracking = Tracking {
                field,
                space,
                propagation: &propagation,
                rules,
                seeds,
                n_samples: options.samples.unwrap_or(1),
                jitter_mm: options.jitter.unwrap_or(0.0),
                rng_seed,
            };
            tell_outside(space, seeds, |pos| field.is_inside(pos), log);
            counted(&tracking, log, new, each)?
        }
        Medium::Densities(densities) => {
            let shortest = Edges::from_grid(directions.grid()).shortest;
            let propagation = options.density_propagation(shortest, densities.order());
            let anatomy = places.constraint();
            let Drawn { fixed, mut dynamic } =
                Drawn::new(options, densities, (seeds, space), anatomy, log)?;
            let tracking = DensityTracking {
                densities,
                space,
                propagation: &propagation,
                rules,
                anatomy,
                seeds,
                chances: fixed.as_ref(),
                attempts: options.attempts(),
                jitter_mm: options.jitter.or(seed_set.are_points().then_some(0.0)),
                one_way: options.one_direction,
                rng_seed,
            };
            tell_outside(space, seeds, |pos| densities.is_inside(pos), log);
            if let Some(anatomy) = &tracking.anatomy {
                tell_misplaced(anatomy, &tracking, log);
            }
            counted_through_densities(&tracking, dynamic.as_mut(), log, new, each)?
        }
    };
    if tally.kept.iter().sum::<u64>() == 0 {
        log.warn(Page::Tracking, "no streamline was kept: see in run.json why they ended");
    }
    Ok(tally)
}

/// With which chances seeds are drawn.
pub(super) struct Drawn {
    /// Where they are neither equal nor change.
    pub(super) fixed: Option<SeedChances>,
    /// Where they follow the streamlines.
    pub(super) dynamic: Option<DynamicSeeds>,
}

impl Drawn {
    /// As options in effect ask for.
    pub(super) fn new(
        options: &Resolved<TrackParameters>,
        densities: &Densities,
        (seeds, space): (&[Seed], &Space),
        anatomy: Option<Anatomy<'_>>,
        log: &Logbook<'_>,
    ) -> Result<Self, TrackError> {
        let (mut fixed, mut dynamic) = (None, None);
        match options.seeds_by() {
            SeedsBy::Equal => {}
            SeedsBy::Density => {
                let points = seeds.iter().map(|seed| space.to_samples(seed.pos));
                let chances = SeedChances::new(densities.integrals(points));
                fixed = Some(chances.ok_or(TrackError::NoDensity)?);
            }
            SeedsBy::Dynamic => {
                // What is below it nobody follows.
                let shortest = Edges::from_grid(densities.grid()).shortest;
                let least = options.density_propagation(shortest, densities.order()).cutoff;
                let tissues = anatomy.map(|anatomy| anatomy.tissues);
                let seeds = (seeds, space);
                dynamic = Some(DynamicSeeds::new(densities, seeds, least, tissues, log)?);
            }
        }
        Ok(Self { fixed, dynamic })
    }
}

/// Warns where tissues and densities can hardly be of one head, and where most seeds lie in the wrong
/// tissue.
pub(super) fn tell_misplaced(
    anatomy: &Anatomy<'_>,
    tracking: &DensityTracking<'_>,
    log: &Logbook<'_>,
) {
    /// So many points tell.
    const LOOKED_AT: usize = 20_000;
    /// Masks of the brain are some voxels wider than its tissues.
    const COVERED: f64 = 0.85;
    const STARTING: f64 = 0.2;
    let DensityTracking { densities, space, seeds, .. } = *tracking;
    let grid = densities.grid();
    let centres = (0..grid.len())
        .step_by(grid.len().div_ceil(LOOKED_AT) | 1)
        .map(|index| grid.voxel(index).map(|x| x as f32));
    let covered = anatomy.tissues.covers(centres.filter(|pos| densities.has_density(*pos)));
    if covered < COVERED {
        log.warn(Page::Tracking, &format!(
            "{:.0} % of the voxels with densities lie where --act says that there is no tissue: do both \
             images show the same head, in one scanner space?",
            100.0 * (1.0 - covered)
        ));
    }
    let looked_at = seeds.iter().step_by(seeds.len().div_ceil(LOOKED_AT).max(1));
    let (mut n, mut starting) = (0, 0);
    for seed in looked_at {
        n += 1;
        starting += usize::from(anatomy.may_start(space.to_samples(seed.pos)));
    }
    if (starting as f64) < STARTING * f64::from(n) {
        log.warn(Page::Tracking, &format!(
            "by --act {:.0} % of the seeds lie in cortex, in fluid or outside the brain, where nothing \
             starts",
            100.0 * (1.0 - starting as f64 / f64::from(n))
        ));
    }
}

/// Warns of seeds from which nothing can be followed; `is_inside` says where something can, in voxels
/// of the directions.
pub(crate) fn tell_outside(
    space: &Space,
    seeds: &[Seed],
    is_inside: impl Fn([f32; 3]) -> bool,
    log: &Logbook<'_>,
) {
    let is_outside = |seed: &&Seed| !is_inside(space.to_samples(seed.pos));
    match seeds.iter().filter(is_outside).count() {
        0 => {}
        n if n == seeds.len() => {
            log.warn(Page::Tracking, "every seed lies outside the mask of the directions")
        }
        n => log.warn(
            Page::Tracking,
            &format!(
                "outside the mask of the directions: {n} of {}",
                fimbria_image::counted(seeds.len(), "seed")
            ),
        ),
    }
}
