//! From the numbers that scanners store to radians.

use std::f32::consts::PI;
use std::ops::RangeInclusive;

use super::turn::{Volume, Voxels};

/// Why numbers are no phase.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PhaseError {
    /// There are no numbers to tell.
    #[error("the phase has no finite number inside the mask")]
    Empty,
    /// One number only.
    #[error("the phase is {value} in every voxel of the mask: it is no phase")]
    Constant {
        /// The number.
        value: f32,
    },
    /// Nothing tells how long a turn is.
    #[error(
        "the phase spans {low} to {high}, and neither wraps inside the mask nor noise around it \
         shows which numbers are a turn apart: it may be a magnitude, a field, a map, or unwrapped"
    )]
    NoTurn {
        /// Least number.
        low: f32,
        /// Largest number.
        high: f32,
    },
    /// A turn that has no length.
    #[error("a phase from {low} to {high}: two finite numbers, the smaller one first")]
    Range {
        /// Said to be the least number.
        low: f32,
        /// Said to be the largest.
        high: f32,
    },
    /// Numbers outside the range they are said to have.
    #[error(
        "{count} voxels of the mask have a phase beyond {low} to {high}, by {worst} at most: these \
         are not the ends of its range"
    )]
    Beyond {
        /// How many.
        count: usize,
        /// Said to be the least number.
        low: f32,
        /// Said to be the largest.
        high: f32,
        /// The number farthest out.
        worst: f32,
    },
}

/// Of a range that ends at both sides of zero a wrapped phase reaches this part at both.
const REACHED: f32 = 0.95;

/// Phases in radians that do not reach ±π reach this at least, and the middle half of one echo
/// spreads over [`LEAST_SPREAD`]: maps in ppm are smaller and spread less.
const LEAST_RADIANS: f32 = 0.5;
const LEAST_SPREAD: f32 = 0.1;

/// Voxels close to either end of a turn.
const LEAST_AT_ENDS: usize = 10;

/// A wrapped phase in thousandths of a radian reaches these at both ends: few voxels, or numbers that
/// were steps of a turn before, need not meet the last ones.
const THOUSANDTHS: RangeInclusive<f32> = 3135.0..=3142.0;

/// Steps of a turn of twelve bits.
const STEPS: f32 = 4096.0;

/// The factor and offset, radians = factor · number + offset, of numbers as scanners store them, the
/// same for all `volumes` (echoes):
///
/// * numbers within ±π are radians, where they reach both ends, or spread as a phase does and show
///   no wraps at a shorter turn;
/// * integers that reach ±3142, or nearly, but not more, are thousandths of a radian;
/// * other integers of 0 to 4095, ±2048 or ±4096 are steps of a turn, whether or not they fill that
///   range;
/// * any other range (±0.003 …) stands for one turn: its ends become ±π.
///
/// Of the last two something has to show that a turn is so long, unless they reach both ends of
/// ±4096: wraps inside the mask, or noise around it. Magnitudes, fields and maps show neither.
///
/// # Errors
/// [`PhaseError`] where the numbers of the voxels `mask` (ascending, in a volume of `dims`) are no
/// phase, or do not show how long a turn is.
pub fn to_radians(
    dims: [usize; 3],
    volumes: &[Vec<f32>],
    mask: &[u32],
) -> Result<(f32, f32), PhaseError> {
    let voxels = Voxels::new(dims, mask);
    let volumes: Vec<Volume<'_>> =
        volumes.iter().map(|volume| Volume::new(&voxels, volume)).collect::<Result<_, _>>()?;
    let low = volumes.iter().fold(f32::INFINITY, |low, v| low.min(v.range[0]));
    let high = volumes.iter().fold(f32::NEG_INFINITY, |high, v| high.max(v.range[1]));
    let whole = volumes.iter().all(Volume::is_whole);
    let largest = low.abs().max(high.abs());
    let reaches = |end: f32| low <= -REACHED * end && high >= REACHED * end;
    let shows = |from: f32, turn: f32| volumes.iter().any(|v| v.shows(from, turn));
    // The extremes may be the turn: those of a phase are met often, those of a map by few voxels.
    let near = 0.05 * (high - low);
    let count = |from, to| volumes.iter().map(|v| v.count_between(from, to)).sum::<usize>();
    let are_ends = count(low, low + near).min(count(high - near, high)) >= LEAST_AT_ENDS;
    // Storage as float rounds π up.
    if !whole && largest <= PI * 1.001 {
        if reaches(PI) {
            return Ok((1.0, 0.0));
        }
        // Half turns, or turns of π, wrap between ends of their own.
        if are_ends && volumes.iter().any(|v| v.wraps_often_by(high - low)) {
            return Ok(of_turn(low, high));
        }
        let spreads = volumes.iter().any(|v| v.spread >= LEAST_SPREAD);
        if low < 0.0 && largest >= LEAST_RADIANS && spreads {
            return Ok((1.0, 0.0));
        }
    }
    if whole && [-low, high].iter().all(|end| THOUSANDTHS.contains(end)) {
        return Ok((1e-3, 0.0));
    }
    if whole && low >= 0.0 && (STEPS / 2.0..STEPS).contains(&high) && shows(0.0, STEPS) {
        return Ok((2.0 * PI / STEPS, -PI));
    }
    // Numbers within ±2048 may be all of a turn, or a part of one of ±4096.
    if whole && low < 0.0 && largest <= STEPS / 2.0 && shows(-STEPS / 2.0, STEPS) {
        return Ok((2.0 * PI / STEPS, 0.0));
    }
    let is_double = whole && low < 0.0 && largest > STEPS / 2.0 && largest <= STEPS;
    if is_double && (reaches(STEPS) || shows(-STEPS, 2.0 * STEPS)) {
        return Ok((PI / STEPS, 0.0));
    }
    if are_ends && shows(low, high - low) {
        return Ok(of_turn(low, high));
    }
    Err(PhaseError::NoTurn { low, high })
}

/// The factor and offset, radians = factor · number + offset, of numbers of which `low` and `high`
/// are known to be a turn apart: -π and π.
///
/// # Errors
/// [`PhaseError`] where these are no ends of a range, or voxels of `mask` lie beyond them by more
/// than a hundredth of it.
pub fn radians_of_range(
    [low, high]: [f32; 2],
    volumes: &[Vec<f32>],
    mask: &[u32],
) -> Result<(f32, f32), PhaseError> {
    let turn = high - low;
    if !(turn.is_finite() && turn > 0.0) {
        return Err(PhaseError::Range { low, high });
    }
    let inside = volumes.iter().flat_map(|volume| mask.iter().map(|&v| volume[v as usize]));
    let how_far = |value: f32| (low - value).max(value - high);
    let beyond = inside.filter(|&value| how_far(value) > 0.01 * turn);
    let (mut count, mut worst) = (0, low);
    for value in beyond {
        count += 1;
        if how_far(value) > how_far(worst) {
            worst = value;
        }
    }
    if count > 0 {
        return Err(PhaseError::Beyond { count, low, high, worst });
    }
    Ok(of_turn(low, high))
}

/// Whose scanner stored a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// 12 bits are a turn: 0 to 4095, or, after the rescaling that is stored beside them, ±4096.
    Siemens,
    /// Thousandths of a radian.
    Philips,
    /// Thousandths of a radian.
    Ge,
}

impl Maker {
    /// By the `Manufacturer` of DICOM and BIDS.
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let begins = |with: &str| name.starts_with(with);
        match () {
            () if begins("siemens") => Some(Self::Siemens),
            () if begins("philips") => Some(Self::Philips),
            () if begins("ge") => Some(Self::Ge),
            () => None,
        }
    }
}

/// The factor and offset, radians = factor · number + offset, that the integers of a maker have where
/// they themselves do not show how long a turn is; `None` where they are not such.
pub fn radians_of_maker(maker: Maker, volumes: &[Vec<f32>]) -> Option<(f32, f32)> {
    let numbers = || volumes.iter().flatten().copied().filter(|v| v.is_finite());
    let (low, high) = numbers().fold((f32::MAX, f32::MIN), |(l, h), v| (l.min(v), h.max(v)));
    if low >= high || numbers().any(|v| v.fract() != 0.0) {
        return None;
    }
    let within = |from: f32, to: f32| from <= low && high <= to;
    match maker {
        Maker::Siemens if within(0.0, STEPS - 1.0) => Some((2.0 * PI / STEPS, -PI)),
        Maker::Siemens if within(-STEPS, STEPS) => Some((PI / STEPS, 0.0)),
        Maker::Philips | Maker::Ge if within(-3142.0, 3142.0) => Some((1e-3, 0.0)),
        _ => None,
    }
}

fn of_turn(low: f32, high: f32) -> (f32, f32) {
    let factor = 2.0 * PI / (high - low);
    (factor, -PI - factor * low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of voxels, all in the mask.
    fn radians(volume: &[f32]) -> Result<(f32, f32), PhaseError> {
        let mask: Vec<u32> = (0..volume.len() as u32).collect();
        to_radians([volume.len(), 1, 1], &[volume.to_vec()], &mask)
    }

    fn is_refused(volume: &[f32]) -> bool {
        matches!(radians(volume), Err(PhaseError::NoTurn { .. }))
    }

    /// Twice around.
    fn turns(factor: f32, offset: f32) -> Vec<f32> {
        let turn = |i: u32| factor * ((i % 1001) as f32 / 500.0 - 1.0) * PI + offset;
        (0..2002).map(turn).collect()
    }

    fn scaled(volume: &[f32]) -> Vec<f32> {
        let (factor, offset) = radians(volume).unwrap();
        volume.iter().map(|v| factor * v + offset).collect()
    }

    #[test]
    fn any_scaling_of_a_turn_becomes_radians() {
        let expected = turns(1.0, 0.0);
        for (factor, offset) in [(1.0, 0.0), (1303.8, 0.0), (651.7, 2047.5), (0.001_168, 0.0)] {
            for (got, expected) in scaled(&turns(factor, offset)).iter().zip(&expected) {
                // f32 numbers of thousands, scaled by π.
                assert!((got - expected).abs() < 1e-5, "{got} {expected}");
            }
        }
    }

    /// A smooth phase of `range` in the middle of a line, with noise over `noise` around it.
    fn in_noise(range: [f32; 2], noise: [f32; 2]) -> (Vec<f32>, Vec<u32>) {
        let part = |[low, high]: [f32; 2], share: f32| (low + (high - low) * share).round();
        let value = |i: u32| match i {
            500..1500 => part(range, (i - 500) as f32 / 999.0),
            _ => part(noise, (i * 577 % 1000) as f32 / 999.0),
        };
        ((0..2000).map(value).collect(), (500..1500).collect())
    }

    #[test]
    fn steps_of_a_turn_need_not_fill_their_range() {
        let (steps, mask) = in_noise([1548.0, 2547.0], [0.0, 4095.0]);
        let (factor, offset) = to_radians([2000, 1, 1], &[steps], &mask).unwrap();
        assert!((factor * 2048.0 + offset).abs() < 1e-5);
        assert!((factor * 1024.0 - PI / 2.0).abs() < 1e-5);
    }

    #[test]
    fn radians_need_neither_wraps_nor_noise() {
        let shimmed: Vec<f32> = (0..1000).map(|i| 0.9 * (0.01 * i as f32).sin()).collect();
        assert_eq!(radians(&shimmed), Ok((1.0, 0.0)));
    }

    #[test]
    fn parts_of_a_turn_that_wrap_are_a_turn() {
        // In units of π, half turns, and two that nobody would choose.
        for end in [1.0, PI / 2.0, 2.0, 2.5] {
            let phase: Vec<f32> = (0..9000).map(|i| end * ((i % 41) as f32 / 20.0 - 1.0)).collect();
            let (factor, offset) = radians(&phase).unwrap();
            assert!((factor * end - PI).abs() < 1e-5 && offset.abs() < 1e-5, "{end}: {factor}");
        }
    }

    #[test]
    fn a_magnitude_is_refused_in_any_scaling() {
        // Smooth tissue, dark around.
        for high in [1.0, 1000.0, 3000.0, 4095.0, 5000.0] {
            let whole = high > 1.0;
            let value = |i: u32| {
                let tissue = 0.3 + 0.7 * (0.004 * (i - 500) as f32).sin().abs();
                let level = if (500..1500).contains(&i) { tissue } else { 0.01 };
                if whole { (high * level).round() } else { high * level }
            };
            let volume: Vec<f32> =
                (0..2000).map(|i| if i < 500 { 0.0 } else { value(i) }).collect();
            let mask: Vec<u32> = (500..1500).collect();
            let found = to_radians([2000, 1, 1], &[volume], &mask);
            assert!(matches!(found, Err(PhaseError::NoTurn { .. })), "{high} {found:?}");
        }
        assert_eq!(radians(&[3.0; 10]), Err(PhaseError::Constant { value: 3.0 }));
    }

    #[test]
    fn maps_in_ppm_and_masks_are_refused() {
        // Steps of all heights between regions, and of one height only.
        let level = |i: u32| ((i / 20 * 7 % 11) as f32 - 5.0) * 0.04 + (i % 20) as f32 * 1e-4;
        assert!(is_refused(&(0..1000).map(level).collect::<Vec<_>>()));
        assert!(is_refused(&(0..1000).map(|i| (i / 50 % 2) as f32).collect::<Vec<_>>()));
        // A vein far from the rest.
        let map = |i: u32| if i == 500 { 2.0 } else { 0.02 * (0.1 * i as f32).sin() };
        assert!(is_refused(&(0..1000).map(map).collect::<Vec<_>>()));
    }

    #[test]
    fn thousandths_of_a_radian_are_told_from_steps_of_a_turn() {
        let phase: Vec<f32> = (-3142..=3141).map(|i| i as f32).collect();
        assert_eq!(radians(&phase), Ok((1e-3, 0.0)));
        // As they are of 12 bits, whose steps are one and a half.
        let phase: Vec<f32> =
            (-2048..2048).map(|i| (i as f32 / 2048.0 * 3141.59).round()).collect();
        assert_eq!(radians(&phase), Ok((1e-3, 0.0)));
        let (steps, mask) = in_noise([-300.0, 300.0], [-4096.0, 4095.0]);
        let found = to_radians([2000, 1, 1], &[steps], &mask);
        assert_eq!(found, Ok((PI / 4096.0, 0.0)));
    }

    #[test]
    fn steps_of_half_the_range_are_told_by_their_wraps() {
        let steps: Vec<f32> = (0..9000).map(|i| (i % 4096 - 2048) as f32).collect();
        assert_eq!(radians(&steps), Ok((PI / 2048.0, 0.0)));
        assert!(is_refused(&(-2048..2048).map(|i| i as f32).collect::<Vec<_>>()));
    }

    #[test]
    fn one_echo_that_wraps_shows_the_turn_of_all() {
        let mut early: Vec<f32> = (0..2000).map(|i| (2048 + i % 20) as f32).collect();
        (early[0], early[1]) = (0.0, 4095.0);
        let late: Vec<f32> = (0..2000).map(|i| ((i * 7) % 4096) as f32).collect();
        let mask: Vec<u32> = (2..2000).collect();
        let found = to_radians([2000, 1, 1], &[early, late], &mask);
        assert_eq!(found, Ok((2.0 * PI / 4096.0, -PI)));
    }

    #[test]
    fn what_is_unwrapped_has_no_scale() {
        let ramp: Vec<f32> = (0..1000).map(|i| 0.03 * i as f32 - 7.0).collect();
        assert!(is_refused(&ramp));
        // Nor where it goes on outside of the mask, smoothly.
        let inside: Vec<u32> = (300..600).collect();
        let found = to_radians([1000, 1, 1], &[ramp], &inside);
        assert!(matches!(found, Err(PhaseError::NoTurn { .. })), "{found:?}");
    }

    #[test]
    fn integers_that_show_no_turn_are_those_of_their_maker() {
        let shimmed = |from: f32, to: f32| -> Vec<Vec<f32>> {
            vec![(0..1000).map(|i| (from + (to - from) * i as f32 / 999.0).round()).collect()]
        };
        for (name, from, to, expected) in [
            ("SIEMENS", 1900.0, 2200.0, Some((2.0 * PI / 4096.0, -PI))),
            ("Siemens Healthineers", -300.0, 280.0, Some((PI / 4096.0, 0.0))),
            ("Philips Medical Systems", -300.0, 280.0, Some((1e-3, 0.0))),
            ("GE MEDICAL SYSTEMS", -300.0, 280.0, Some((1e-3, 0.0))),
            ("GE", -5000.0, 280.0, None),
        ] {
            let maker = Maker::of_name(name).unwrap();
            assert_eq!(radians_of_maker(maker, &shimmed(from, to)), expected, "{name}");
        }
        assert_eq!(radians_of_maker(Maker::Siemens, &[vec![0.5, 1.5]]), None);
        assert_eq!(Maker::of_name("Bruker"), None);
    }

    #[test]
    fn a_range_that_is_given_is_believed_where_it_holds_the_numbers() {
        let unit = [(0..1000).map(|i| i as f32 * 1e-3).collect::<Vec<f32>>()];
        let mask: Vec<u32> = (0..1000).collect();
        let (factor, offset) = radians_of_range([0.0, 1.0], &unit, &mask).unwrap();
        assert!((factor - 2.0 * PI).abs() < 1e-6 && (offset + PI).abs() < 1e-6);
        let found = radians_of_range([0.0, 0.5], &unit, &mask);
        let is_beyond =
            matches!(found, Err(PhaseError::Beyond { count: 490.., worst: 0.99.., .. }));
        assert!(is_beyond, "{found:?}");
        let found = radians_of_range([1.0, 0.0], &unit, &mask);
        assert!(matches!(found, Err(PhaseError::Range { .. })), "{found:?}");
    }
}
