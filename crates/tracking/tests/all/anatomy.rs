//! Streamlines that tissues constrain: each kept one ends where a fibre can.

use fimbria_compute::device::DeviceOptions;
use fimbria_compute::{Backend, SimdLevel, Workers};
use fimbria_image::Image;
use fimbria_tracking::{
    Anatomy, Attempts, Densities, DensityPropagation, DensityRule, EndReason, Space, Tissues,
};

use crate::densities::{
    ALONG_X, ARCS, CURVES, Line, MAXIMA, best, densities, grid, seed, tracked_on, tracked_within,
};
use crate::several_devices::{Warnings, devices};

/// What voxels are: the number of a volume of the image of five tissues.
#[derive(Clone, Copy)]
pub(crate) enum Tissue {
    Cortex,
    Deep,
    White,
    Fluid,
    Lesion,
}

pub(crate) fn tissues(of: impl Fn([f32; 3]) -> Tissue) -> Tissues {
    let mut image = Image::zeros(grid(), 5);
    for index in 0..grid().len() {
        let tissue = of(grid().voxel(index).map(|x| x as f32));
        image.volume_mut(tissue as usize)[index] = 1.0;
    }
    Tissues::new(&image, &grid()).unwrap()
}

/// White matter for x from 5 to 25, cortex beyond it.
pub(crate) fn between_cortices([x, ..]: [f32; 3]) -> Tissue {
    if (4.5..25.5).contains(&x) { Tissue::White } else { Tissue::Cortex }
}

pub(crate) fn straight() -> Densities {
    densities(|_| vec![ALONG_X])
}

pub(crate) const PLAIN: fn(&Tissues) -> Anatomy<'_> =
    |tissues| Anatomy { tissues, backtrack: false, crop: false, from_boundary: false };

/// Streamlines along maxima from the middle.
pub(crate) fn along_x(anatomy: Anatomy<'_>, field: &Densities) -> Vec<Line> {
    let seeds = [seed([15.0, 15.2, 7.3])];
    tracked_within(Some(anatomy), field, &MAXIMA, &seeds, Attempts::PerSeed(4), &best())
}

/// The ends of a streamline, the one with the smaller x first.
pub(crate) fn ends(line: &Line) -> [[f32; 3]; 2] {
    let ends = [line.points[line.n_first - 1], line.points[line.points.len() - 1]];
    if ends[0][0] < ends[1][0] { ends } else { [ends[1], ends[0]] }
}

#[test]
fn streamlines_end_where_the_cortex_begins() {
    let tissues = tissues(between_cortices);
    for line in along_x(PLAIN(&tissues), &straight()) {
        assert!(line.kept);
        assert_eq!(line.ends, [EndReason::Cortex; 2]);
        let [low, high] = ends(&line).map(|end| end[0]);
        // Halved twenty times; the rounding of f32.
        assert!((low - 4.5).abs() < 1e-4 && (high - 25.5).abs() < 1e-4, "{low} {high}");
    }
}

/// Curves from the middle.
pub(crate) fn curves(
    tissues: &Tissues,
    field: &Densities,
    curves: &DensityPropagation,
) -> Vec<Line> {
    let seeds = [seed([15.0, 15.2, 7.3])];
    tracked_within(Some(PLAIN(tissues)), field, curves, &seeds, Attempts::PerSeed(40), &best())
}

#[test]
fn curves_that_look_past_the_cortex_reach_it_though_nothing_is_beyond() {
    let tissues = tissues(between_cortices);
    let field =
        densities(|at| if (4.5..25.5).contains(&at[0]) { vec![ALONG_X] } else { Vec::new() });
    // A voxel and a half ahead.
    let rule = DensityRule::Transport { power: 1.0, places: 3, probe_mm: 3.0 };
    for line in curves(&tissues, &field, &DensityPropagation { rule, ..CURVES }) {
        assert!(line.kept && line.ends == [EndReason::Cortex; 2], "{:?}", line.ends);
    }
}

#[test]
fn curves_turn_away_from_fluid_where_a_fibre_does() {
    // Fluid two voxels beside the seed; fibres along the border and across it.
    let tissues = tissues(|at| if at[1] > 16.6 { Tissue::Fluid } else { between_cortices(at) });
    let field = densities(|_| vec![ALONG_X, ([0.6, 0.8, 0.0], 0.5), ([0.6, -0.8, 0.0], 0.5)]);
    let made = curves(&tissues, &field, &CURVES);
    let n_kept = made.iter().filter(|line| line.kept).count();
    let n_wet = made.iter().filter(|line| line.ends.contains(&EndReason::Fluid)).count();
    // A step ends before the first place that is looked at: some touch the border between.
    assert!(n_kept > 0 && 10 * n_wet <= made.len(), "{n_wet} and {n_kept} of {}", made.len());
}

#[test]
fn cropped_ends_lie_on_the_boundary() {
    let tissues = tissues(between_cortices);
    let anatomy = Anatomy { crop: true, ..PLAIN(&tissues) };
    for line in along_x(anatomy, &straight()) {
        let [low, high] = ends(&line).map(|end| end[0]);
        // Halved twenty times; the rounding of f32.
        assert!((low - 4.5).abs() < 1e-4 && (high - 25.5).abs() < 1e-4, "{low} {high}");
        assert_eq!(line.ends, [EndReason::Cortex; 2]);
    }
}

#[test]
fn who_enters_fluid_or_ends_in_white_matter_is_rejected() {
    let fluid = tissues(|at| if at[0] > 25.5 { Tissue::Fluid } else { between_cortices(at) });
    let short = densities(|at| if at[0] > 20.0 { Vec::new() } else { vec![ALONG_X] });
    let white = tissues(between_cortices);
    let cases = [(&fluid, &straight(), EndReason::Fluid), (&white, &short, EndReason::Cutoff)];
    for (tissues, field, why) in cases {
        for backtrack in [false, true] {
            let anatomy = Anatomy { backtrack, ..PLAIN(tissues) };
            for line in along_x(anatomy, field) {
                assert!(!line.kept && line.ends.contains(&why), "{:?}", line.ends);
            }
        }
    }
}

#[test]
fn who_leaves_the_brain_is_kept_without_the_point_outside() {
    // The image of tissues ends in the middle of white matter, as a scan ends at the neck.
    let tissues = tissues(|at| if at[0] < 4.5 { Tissue::Cortex } else { Tissue::White });
    for line in along_x(PLAIN(&tissues), &straight()) {
        assert!(line.kept && line.ends.contains(&EndReason::OutsideTissue), "{:?}", line.ends);
        assert!(ends(&line)[1][0] <= 30.5);
    }
}

#[test]
fn subcortical_grey_matter_is_entered_and_ended_in_where_its_share_is_largest() {
    let deep = |low: f32, high: f32| {
        tissues(
            move |at| {
                if (low..high).contains(&at[0]) { Tissue::Deep } else { between_cortices(at) }
            },
        )
    };
    for line in along_x(PLAIN(&deep(19.5, 22.5)), &straight()) {
        assert!(line.kept);
        assert_eq!(ends(&line)[1][0].round(), 20.0);
        assert!(line.ends.contains(&EndReason::Deep) && line.ends.contains(&EndReason::Cortex));
    }
    // Who starts there leaves it at one end only.
    for line in along_x(PLAIN(&deep(13.5, 16.5)), &straight()) {
        assert!(line.kept);
        assert_eq!(line.ends, [EndReason::Cortex, EndReason::Deep]);
    }
}

#[test]
fn nobody_starts_in_cortex_fluid_or_nothing() {
    let tissues = tissues(|at| match at[0] {
        x if x < 4.5 => Tissue::Cortex,
        x if x > 25.5 => Tissue::Fluid,
        _ => Tissue::White,
    });
    let field = straight();
    for (x, why) in [(2.0, EndReason::Cortex), (28.0, EndReason::Fluid)] {
        let seeds = [seed([x, 15.0, 7.0])];
        let (anatomy, each) = (Some(PLAIN(&tissues)), Attempts::PerSeed(2));
        for line in tracked_within(anatomy, &field, &MAXIMA, &seeds, each, &best()) {
            assert!(line.points.is_empty() && !line.kept);
            assert_eq!(line.ends, [why; 2]);
        }
    }
}

#[test]
fn who_starts_on_the_boundary_goes_into_white_matter_only() {
    let (tissues, field) = (tissues(between_cortices), straight());
    let space = Space::same(grid());
    let all: Vec<_> = (0..31).map(|x| seed([x as f32, 15.0, 7.0])).collect();
    // The boundary lies between two voxels: their outer corners are beyond it.
    let seeds = tissues.boundary_seeds(&all, &space);
    let found: Vec<_> = seeds.iter().map(|seed| seed.pos[0]).collect();
    assert!(
        found.len() <= 4 && found.iter().all(|x| [4.0, 5.0, 25.0, 26.0].contains(x)),
        "{found:?}"
    );
    let anatomy = Anatomy { from_boundary: true, ..PLAIN(&tissues) };
    let each = Attempts::PerSeed(20);
    let lines = tracked_within(Some(anatomy), &field, &MAXIMA, &seeds, each, &best());
    assert!(!lines.is_empty());
    for line in lines {
        assert!(line.kept, "{:?}", line.ends);
        assert_eq!(line.points.len() - line.n_first, 1);
        let [low, high] = ends(&line).map(|end| end[0]);
        let starts_low = (line.points[0][0] - 4.5).abs() < 1e-4;
        assert!(starts_low || (line.points[0][0] - 25.5).abs() < 1e-4, "{:?}", line.points[0]);
        assert!(low <= 4.5 + 1e-4 && high >= 25.5 - 1e-4, "{low} {high}");
    }
}

/// Cortex at one end; at the other cortex and fluid in turns.
fn fringed([x, y, z]: [f32; 3]) -> Tissue {
    let is_fluid = x > 25.5 && (y / 3.0).floor() as i32 % 2 == 0;
    if is_fluid { Tissue::Fluid } else { between_cortices([x, y, z]) }
}

#[test]
fn backtracking_finds_more_ways_and_only_right_ones() {
    let (tissues, field) = (tissues(fringed), straight());
    let seeds = [seed([15.0, 15.2, 7.3])];
    let kept = |propagation: &DensityPropagation, backtrack: bool| {
        let anatomy = Anatomy { backtrack, ..PLAIN(&tissues) };
        let each = Attempts::PerSeed(400);
        let lines = tracked_within(Some(anatomy), &field, propagation, &seeds, each, &best());
        let kept: Vec<_> = lines.into_iter().filter(|line| line.kept).collect();
        for line in &kept {
            assert_eq!(line.ends, [EndReason::Cortex; 2]);
            for (at, pos) in line.points.iter().enumerate() {
                let here = tissues.at(*pos);
                let is_end = at + 1 == line.n_first || at + 1 == line.points.len();
                // Both are a half where a way beside fluid comes to the cortex.
                let is_dry = here.fluid < 0.5 || is_end && here.fluid == 0.5;
                assert!(is_dry && (here.cortex >= 0.5) == is_end, "{at}: {here:?}");
            }
            // No step is longer than the others: what was taken back left no gap.
            for half in [&line.points[..line.n_first], &line.points[line.n_first..]] {
                for pair in half.windows(2) {
                    let step = (0..3).map(|a| (pair[1][a] - pair[0][a]).powi(2)).sum::<f32>();
                    assert!(step.sqrt() <= 0.5 * propagation.step_mm + 1e-4, "{step}");
                }
            }
        }
        kept.len()
    };
    for propagation in [ARCS, CURVES] {
        let (without, with) = (kept(&propagation, false), kept(&propagation, true));
        // A good part of the far end is fluid.
        assert!((100..330).contains(&without), "{without}");
        assert!(with >= 380, "{with} of 400 with, {without} without: {propagation:?}");
    }
}

#[test]
fn threads_and_registers_change_no_streamline() {
    let (tissues, field) = (tissues(fringed), straight());
    let seeds = [seed([15.0, 15.2, 7.3]), seed([12.0, 14.0, 6.0])];
    let anatomy = Anatomy { backtrack: true, crop: true, ..PLAIN(&tissues) };
    for propagation in [ARCS, CURVES] {
        let each = Attempts::PerSeed(150);
        let of = |workers: &Workers| {
            tracked_within(Some(anatomy), &field, &propagation, &seeds, each, workers)
        };
        let expected = of(&best());
        for level in SimdLevel::available().into_iter().filter(|level| level.fuses()) {
            for threads in [1, 3] {
                let workers = Workers::new(threads).unwrap().with_simd(level);
                assert!(of(&workers) == expected, "{level:?}, {threads} threads");
            }
        }
    }
}

#[test]
fn devices_make_the_streamlines_of_threads() {
    // Memory for all at once on each of two; for some fifty of each of two launches beside the densities.
    let small = DeviceOptions { memory_limit: Some(3_800_000), ..DeviceOptions::default() };
    let Some(two) = devices(&[DeviceOptions::default(); 2]) else { return };
    let Some(one) = devices(&[small]) else { return };
    let (tissues, field) = (tissues(fringed), straight());
    let seeds = [seed([15.0, 15.2, 7.3]), seed([12.0, 14.0, 6.0]), seed([5.0, 15.0, 7.0])];
    let plain = PLAIN(&tissues);
    let anatomies = [
        None,
        Some(plain),
        Some(Anatomy { crop: true, ..plain }),
        Some(Anatomy { from_boundary: true, ..plain }),
    ];
    let until = Attempts::UntilKept { select: 1100, at_most: 20_000 };
    for (propagation, attempts) in [(ARCS, Attempts::PerSeed(100)), (MAXIMA, until)] {
        for anatomy in anatomies {
            let workers = best();
            let warnings = Warnings::default();
            let of = |devices: &[_]| {
                let on = Backend::new(&workers, devices);
                tracked_on(on, &warnings, anatomy, &field, &propagation, &seeds, attempts)
            };
            let expected = of(&[]);
            assert!(expected.iter().filter(|line| line.kept).count() > 30, "too little to see");
            for devices in [&two, &one] {
                let n = devices.len();
                assert!(of(devices) == expected, "{propagation:?}, {anatomy:?}, {n} devices");
            }
            assert_eq!(warnings.all(), Vec::<String>::new());
        }
    }
}

#[test]
fn no_streamline_is_longer_than_it_may_be() {
    let (tissues, field) = (tissues(between_cortices), straight());
    let seeds = [seed([15.0, 15.2, 7.3])];
    // From cortex to cortex there are 42 mm: 53 steps of 0.4 mm on either side.
    for most in [41.8, 42.2, 42.6, 60.0] {
        let propagation = DensityPropagation { max_length_mm: most, ..MAXIMA };
        let (anatomy, each) = (Some(PLAIN(&tissues)), Attempts::PerSeed(4));
        let lines = tracked_within(anatomy, &field, &propagation, &seeds, each, &best());
        for line in lines.iter().filter(|line| line.kept) {
            assert!((line.points.len() - 2) as f32 * 0.4 <= most, "{most}: {}", line.points.len());
        }
        assert_eq!(lines.iter().all(|line| line.kept), most > 42.4, "{most}");
    }
}

#[test]
fn who_never_leaves_the_subcortical_grey_matter_it_starts_in_is_right() {
    let tissues =
        tissues(
            |at| {
                if (10.5..19.5).contains(&at[0]) { Tissue::Deep } else { between_cortices(at) }
            },
        );
    // Nothing to follow right of the middle of it.
    let field = densities(|at| if at[0] > 17.0 { Vec::new() } else { vec![ALONG_X] });
    for line in along_x(PLAIN(&tissues), &field) {
        assert!(line.kept, "{:?}", line.ends);
        assert!(line.ends.contains(&EndReason::Deep), "{:?}", line.ends);
    }
}
