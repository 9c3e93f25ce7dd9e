//! The kernels as text, with what is known of a job as constants.

use fimbria_compute::device::KernelSource;
use fimbria_compute::{math, philox};

use super::labels::{RegionBits, WORD};
use super::plan::MemoryPlan;
use super::work::Work;
use crate::draws::stream;
use crate::field::floor;
use crate::needs::Points;
use crate::oracle::scale;
use crate::tally::PRODUCT_UNITS;
use crate::tracking::{JITTER_TRIALS, Tracking};
use crate::{EndReason, FirstFibre, Judgement, SampleChoice};

const TEXT: &str = concat!(
    include_str!("judge.cl"),
    "\n",
    include_str!("track.cl"),
    "\n",
    include_str!("count.cl")
);

/// The kernels of a job.
pub(crate) fn source(work: &Work<'_>, plan: &MemoryPlan) -> KernelSource {
    let source =
        KernelSource::new("track", TEXT).after(philox::KERNEL_TEXT).after(math::KERNEL_TEXT);
    of_counts(of_rules(of_seeds(of_steps(of_field(source, work, plan), work), work), work), work)
}

fn whole(n: usize) -> String {
    format!("{n}u")
}

/// Rows of an affine.
fn numbers(rows: [[f32; 4]; 3]) -> String {
    let numbers = rows.as_flattened().iter().map(|x| format!("{x:e}f"));
    numbers.collect::<Vec<_>>().join(", ")
}

/// Where samples are, and how they are read.
fn of_field(source: KernelSource, work: &Work<'_>, plan: &MemoryPlan) -> KernelSource {
    let field = work.tracking.field;
    let [nx, ny, nz] = field.grid().dims;
    let parts = 0..plan.parts;
    let parameters = |restrict: &str| -> String {
        parts.clone().map(|part| format!(", GLOBAL const u32 *{restrict} sticks_{part}")).collect()
    };
    let arguments: String = parts.clone().map(|part| format!(", sticks_{part}")).collect();
    let last = plan.parts - 1;
    let choice: String =
        (0..last).map(|part| format!("(part) == {part}u ? sticks_{part} : ")).collect();
    source
        .with("STICKS_PARAMETERS", parameters(""))
        .with("KERNEL_STICKS_PARAMETERS", parameters("RESTRICT"))
        .with("STICKS", arguments)
        .with("STICKS_OF(part)", format_args!("({choice}sticks_{last})"))
        .with("SLOTS_PER_PART", whole(plan.slots_per_part))
        .with("N_FIBRES", field.n_fibres())
        .with("N_SAMPLES", whole(field.n_samples()))
        .with_f32("N_SAMPLES_F", field.n_samples() as f32)
        .with("ROW", whole(nx + 2))
        .with("SLICE", whole((nx + 2) * (ny + 2)))
        .with_f32("LAST_X", nx as f32)
        .with_f32("LAST_Y", ny as f32)
        .with_f32("LAST_Z", nz as f32)
        .with_f32("COORDINATE_STEP", 1.0 / 8_388_607.0)
}

/// How streamlines are followed.
fn of_steps(mut source: KernelSource, work: &Work<'_>) -> KernelSource {
    let Tracking { field, propagation: options, .. } = work.tracking;
    let (rule, first_fibre) = match options.first_fibre {
        FirstFibre::Number(fibre) => (0, fibre.min(field.n_fibres() - 1)),
        FirstFibre::Uniform => (1, 0),
        FirstFibre::Proportional => (2, 0),
        FirstFibre::Any => (3, 0),
    };
    let step = scale(field, options);
    let half_weight = options.sample_choice == SampleChoice::HalfWeightEnds;
    source = source
        .with("HALF_POINTS", whole(options.half_points() as usize))
        .with("FIRST_FIBRE_RULE", rule)
        .with("FIRST_FIBRE", first_fibre)
        .with("USE_FRACTION", u8::from(options.use_fraction))
        .with("MODIFIED_EULER", u8::from(options.modified_euler))
        .with("LOOP_CHECK", u8::from(options.loop_check))
        .with("ENDS_INSIDE", u8::from(options.ends_inside))
        .with("HALF_WEIGHT_ENDS", u8::from(half_weight))
        .with_f32("MIN_COS", options.min_cos)
        .with_f32("FIBRE_THRESHOLD", options.fibre_threshold)
        .with_f32("STEP_MM", options.step_mm)
        .with("KEEP_POINTS", u8::from(work.points != Points::None));
    for (axis, name) in ["X", "Y", "Z"].into_iter().enumerate() {
        // A point is a step outside the grid at most.
        let blocks = |x: f32| floor(x / 5.0 + 0.5);
        let lowest = blocks(-1.0 - step[axis]) - 1.0;
        let highest = blocks(field.grid().dims[axis] as f32 + step[axis]) + 1.0;
        source = source
            .with_f32(format!("SCALE_{name}"), step[axis])
            .with(format!("BLOCK_{name}"), format_args!("({})", lowest as i32))
            .with(format!("BLOCKS_{name}"), whole((highest - lowest) as usize + 1));
    }
    for (name, reason) in [
        ("OUTSIDE_SAMPLES", EndReason::OutsideSamples),
        ("FRACTION", EndReason::Fraction),
        ("CURVATURE", EndReason::Curvature),
        ("NO_DIRECTION", EndReason::NoDirection),
        ("OUTSIDE_MASK", EndReason::OutsideMask),
        ("LENGTH", EndReason::Length),
        ("LOOP", EndReason::Loop),
        ("STOP", EndReason::Stop),
        ("STOP_ON_LEAVING", EndReason::StopOnLeaving),
        ("AVOID", EndReason::Avoid),
    ] {
        source = source.with(name, whole(reason as usize));
    }
    source
}

/// Where streamlines start, and what their random numbers depend on.
fn of_seeds(mut source: KernelSource, work: &Work<'_>) -> KernelSource {
    let Tracking { space, seeds, n_samples, jitter_mm, .. } = work.tracking;
    for (name, what) in [
        ("HERE", stream::HERE),
        ("AHEAD", stream::AHEAD),
        ("CHOICES", stream::CHOICES),
        ("JITTER", stream::JITTER),
        ("STREAMS_OF_REGION", stream::PER_REGION),
        ("JITTER_TRIALS", JITTER_TRIALS),
        ("SAMPLES_OF_SEED", n_samples.max(1)),
    ] {
        source = source.with(name, format_args!("{what}u"));
    }
    let grid = space.grid();
    for (axis, name) in ["X", "Y", "Z"].into_iter().enumerate() {
        let spacing = grid.ras_from_vox.spacing()[axis] as f32;
        source = source
            .with_f32(format!("SEED_SPACING_{name}"), spacing)
            .with(format!("SEED_N{name}"), whole(grid.dims[axis]));
    }
    let [forth, back] = space.affines().unwrap_or_default();
    source
        .with("N_SEEDS", whole(seeds.len()))
        .with("N_SEED_VOXELS", whole(grid.len()))
        .with("STARTS_GIVEN", u8::from(work.starts_are_given()))
        .with("HAS_JITTER", u8::from(jitter_mm > 0.0))
        .with_f32("JITTER_MM", jitter_mm)
        .with("ELSEWHERE", u8::from(space.affines().is_some()))
        .with("TO_SAMPLES_ROWS", numbers(forth))
        .with("FROM_SAMPLES_ROWS", numbers(back))
}

/// What decides over them.
fn of_rules(source: KernelSource, work: &Work<'_>) -> KernelSource {
    let rules = work.tracking.rules;
    let waypoints = &rules.waypoints;
    let bits = work.regions.as_ref();
    let number = |of: fn(&RegionBits) -> usize| bits.map_or(0, of);
    let (n_leave, n_waypoints) = (number(|bits| bits.n_leave), number(|bits| bits.n_waypoints));
    let n_network = number(|bits| bits.n_network);
    let (way_word, way_shift) = bits.map_or((0, 0), |bits| bits.waypoints);
    let has_avoid = bits.is_some() && !rules.avoid.is_empty();
    let has_stop = bits.is_some() && !rules.stop.is_empty();
    let has_regions = has_avoid || has_stop || n_leave + n_waypoints + n_network > 0;
    source
        .with("JUDGES", u8::from(bits.is_some()))
        .with("HAS_REGIONS", u8::from(has_regions))
        .with("LABEL_WORDS", whole(number(|bits| bits.words).max(1)))
        .with("HAS_AVOID", u8::from(has_avoid))
        .with("HAS_STOP", u8::from(has_stop))
        .with("LEAVE_MASK", format_args!("{}u", RegionBits::mask(n_leave)))
        .with("N_WAYPOINTS", n_waypoints)
        .with("WAYPOINT_WORD", whole(way_word))
        .with("WAYPOINT_SHIFT", whole(way_shift))
        .with("WAYPOINT_MASK", format_args!("{}u", RegionBits::mask(n_waypoints)))
        .with("ANY_WAYPOINT", u8::from(waypoints.any))
        .with("IN_ORDER", u8::from(waypoints.in_order))
        .with("BY_EACH_HALF", u8::from(waypoints.by_each_half))
        .with("N_NETWORK", whole(n_network))
        .with("NETWORK_WORD", whole(number(|bits| bits.network_word)))
        .with("NETWORK_WORDS", whole(n_network.div_ceil(WORD).max(1)))
        .with("HALF_BY_HALF", u8::from(rules.judgement == Judgement::HalfByHalf))
        .with("FORCE_FIRST_STEP", u8::from(rules.force_first_step))
        .with_f32("LEAST_MM", rules.least_length_mm)
}

/// What is counted.
fn of_counts(source: KernelSource, work: &Work<'_>) -> KernelSource {
    let (counts, n_targets) = (work.counts, work.n_targets());
    let distances = counts.is_some_and(|counts| counts.distances);
    let places = work.places.as_ref();
    let elsewhere = places.and_then(|places| places.elsewhere.as_ref());
    let rows = elsewhere.and_then(|elsewhere| elsewhere.rows);
    let [nx, ny, nz] = elsewhere.map_or([1; 3], |elsewhere| elsewhere.dims);
    let spacing = work.tracking.space.grid().ras_from_vox.spacing();
    source
        .with("HAS_PLACES", u8::from(places.is_some()))
        .with("RETURNS", u8::from(places.is_some_and(|places| places.returns)))
        .with("PLACES_ELSEWHERE", u8::from(elsewhere.is_some()))
        .with("PLACES_TRANSFORMED", u8::from(rows.is_some()))
        .with("TO_PLACES_ROWS", numbers(rows.unwrap_or_default()))
        .with("PLACES_NX", whole(nx))
        .with("PLACES_NY", whole(ny))
        .with("PLACES_NZ", whole(nz))
        .with("COUNT_PRODUCTS", u8::from(work.product_words() > 0))
        .with("PRODUCT_UNITS", format_args!("{PRODUCT_UNITS:e}"))
        .with("SEED_SPACING_X_F64", format_args!("{:e}", spacing[0]))
        .with("SEED_SPACING_Y_F64", format_args!("{:e}", spacing[1]))
        .with("SEED_SPACING_Z_F64", format_args!("{:e}", spacing[2]))
        .with("KEEP_RUNS", u8::from(counts.is_some()))
        .with("LOOK_BACK", whole(work.look_back))
        .with("TABLE_SLOTS", whole(work.table_slots()))
        .with("RUN_WORDS", whole(work.run_words().max(1)))
        .with("COUNT_STEPS", u8::from(work.run_words() > 1))
        .with("COUNT_DISTANCES", u8::from(distances))
        .with("COUNT_NETWORK", u8::from(counts.is_some_and(|counts| counts.network)))
        .with("N_TARGETS", whole(n_targets))
        .with("TARGET_WORD", whole(work.regions.as_ref().map_or(0, |bits| bits.target_word)))
        .with("TARGET_WORDS", whole(n_targets.div_ceil(WORD).max(1)))
}
