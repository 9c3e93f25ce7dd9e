use std::f32::consts::PI;

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
    /// Numbers of a magnitude.
    #[error(
        "the phase spans {low} to {high} and half of it lies in {share:.0} % of that range: it \
         looks like a magnitude; phase fills its range"
    )]
    NotPhase {
        /// Least number.
        low: f32,
        /// Largest number.
        high: f32,
        /// Percentage of the range that holds the middle half.
        share: f32,
    },
    /// Numbers of unknown scaling that never wrap around.
    #[error(
        "the phase spans {low} to {high} and never jumps by most of that between neighbours: its \
         ends are no turn apart. Scale it to radians, within ±π, before"
    )]
    NeverWraps {
        /// Least number.
        low: f32,
        /// Largest number.
        high: f32,
    },
}

/// Neighbours that a wrap lies between differ by more than this part of a turn.
const WRAP: f32 = 0.7;

/// Of the range of a wrapped phase the middle half of the numbers fills more than this; a
/// magnitude with its long tail does not.
const LEAST_SHARE: f32 = 0.02;

/// A phase in radians reaches this at least; smaller numbers are scaled in some other way.
const LEAST_RADIANS: f32 = 0.5;

/// The factor and offset, radians = factor · number + offset, of numbers as scanners store them, the
/// same for all `volumes` (echoes):
///
/// * numbers within ±π are radians;
/// * integers that reach ±3141 or ±3142, but not more, are thousandths of a radian;
/// * other integers of 0 to 4095 or of ±4096 are steps of a turn, whether or not they fill that
///   range, and those within ±2048 where neighbours are most of 4096 apart;
/// * any other range (±0.003 …) stands for one turn: its ends become ±π. Somewhere neighbours are
///   most of a turn apart then: where none are, nothing tells how long a turn is.
///
/// # Errors
/// [`PhaseError`] where the numbers of the voxels `mask` (ascending, in a volume of `dims`) are no
/// phase.
pub fn to_radians(
    dims: [usize; 3],
    volumes: &[Vec<f32>],
    mask: &[u32],
) -> Result<(f32, f32), PhaseError> {
    let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
    let (mut whole, mut least_share, mut most_inside) = (true, f32::INFINITY, 0.0_f32);
    for volume in volumes {
        let Spread { range, inside, share } = check(volume, mask)?;
        (low, high) = (low.min(range[0]), high.max(range[1]));
        least_share = least_share.min(share);
        most_inside = most_inside.max(inside);
        whole &= volume.iter().all(|v| !v.is_finite() || v.fract() == 0.0);
    }
    let jumps = |by: f32| volumes.iter().any(|volume| wraps(dims, volume, mask, by));
    // An echo that was shimmed well fills little of a turn; where some echo wraps, all are phases.
    if low >= 0.0 && least_share < LEAST_SHARE && !jumps(WRAP * (high - low)) {
        return Err(PhaseError::NotPhase { low, high, share: 100.0 * least_share });
    }
    let largest = low.abs().max(high.abs());
    // Storage as float rounds π up.
    if !whole && (LEAST_RADIANS..=PI * 1.001).contains(&largest) {
        return Ok((1.0, 0.0));
    }
    if whole && [-low, high].iter().all(|end| (3141.0..=3142.0).contains(end)) {
        return Ok((1e-3, 0.0));
    }
    const STEPS: f32 = 4096.0;
    if whole && low >= 0.0 && (STEPS / 2.0..STEPS).contains(&high) {
        // Over half a turn within the mask and never a wrap: rather a magnitude of twelve bits.
        if most_inside > STEPS / 2.0 && !jumps(WRAP * STEPS) {
            return Err(PhaseError::NeverWraps { low, high });
        }
        return Ok((2.0 * PI / STEPS, -PI));
    }
    // Numbers within ±2048 may be all of a turn, or a part of one of ±4096: wraps tell.
    if whole && low < 0.0 && largest <= STEPS / 2.0 && jumps(WRAP * STEPS) {
        return Ok((2.0 * PI / STEPS, 0.0));
    }
    if whole && low < 0.0 && largest > STEPS / 2.0 && largest <= STEPS {
        return Ok((PI / STEPS, 0.0));
    }
    if !jumps(WRAP * (high - low)) {
        return Err(PhaseError::NeverWraps { low, high });
    }
    let factor = 2.0 * PI / (high - low);
    Ok((factor, -PI - factor * low))
}

/// True where two neighbours within the mask are more than `jump` apart.
fn wraps([nx, ny, nz]: [usize; 3], volume: &[f32], mask: &[u32], jump: f32) -> bool {
    let mut inside = vec![false; volume.len()];
    mask.iter().for_each(|&v| inside[v as usize] = true);
    mask.iter().any(|&v| {
        let v = v as usize;
        let next = [v % nx + 1 < nx, v / nx % ny + 1 < ny, v / (nx * ny) + 1 < nz];
        let step = [1, nx, nx * ny];
        (0..3).any(|a| {
            next[a] && inside[v + step[a]] && (volume[v + step[a]] - volume[v]).abs() > jump
        })
    })
}

/// How the numbers of a volume lie.
struct Spread {
    /// The least and the largest.
    range: [f32; 2],
    /// From the least to the largest inside the mask.
    inside: f32,
    /// The part of the range that holds the middle half of those inside the mask.
    share: f32,
}

/// How a volume's numbers lie, that may be a phase.
fn check(volume: &[f32], mask: &[u32]) -> Result<Spread, PhaseError> {
    let mut inside: Vec<f32> =
        mask.iter().map(|&v| volume[v as usize]).filter(|v| v.is_finite()).collect();
    if inside.is_empty() {
        return Err(PhaseError::Empty);
    }
    inside.sort_unstable_by(f32::total_cmp);
    let finite = volume.iter().copied().filter(|v| v.is_finite());
    let (low, high) =
        finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low == high {
        return Err(PhaseError::Constant { value: low });
    }
    let (first, third) = (inside[inside.len() / 4], inside[inside.len() * 3 / 4]);
    let share = (third - first) / (high - low);
    Ok(Spread { range: [low, high], inside: inside[inside.len() - 1] - inside[0], share })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of voxels, all in the mask.
    fn radians(volume: &[f32]) -> Result<(f32, f32), PhaseError> {
        let mask: Vec<u32> = (0..volume.len() as u32).collect();
        to_radians([volume.len(), 1, 1], &[volume.to_vec()], &mask)
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

    #[test]
    fn steps_of_a_turn_need_not_fill_their_range() {
        let steps: Vec<f32> = (0..1000).map(|i| (1548 + i) as f32).collect();
        let (factor, offset) = radians(&steps).unwrap();
        assert!((factor * 2048.0 + offset).abs() < 1e-5);
        assert!((factor * 1024.0 - PI / 2.0).abs() < 1e-5);
    }

    #[test]
    fn a_magnitude_is_refused() {
        let mut volume: Vec<f32> = (0..1000).map(|i| 100.0 + (i % 7) as f32).collect();
        volume.push(5000.0);
        let mask: Vec<u32> = (0..1000).collect();
        let found = to_radians([1001, 1, 1], &[volume], &mask);
        assert!(matches!(found, Err(PhaseError::NotPhase { .. })));
        assert_eq!(radians(&[3.0; 10]), Err(PhaseError::Constant { value: 3.0 }));
    }

    #[test]
    fn thousandths_of_a_radian_are_told_from_steps_of_a_turn() {
        let phase: Vec<f32> = (-3142..=3141).map(|i| i as f32).collect();
        assert_eq!(radians(&phase), Ok((1e-3, 0.0)));
        let steps: Vec<f32> = (-3142..=3500).map(|i| i as f32).collect();
        assert_eq!(radians(&steps), Ok((PI / 4096.0, 0.0)));
    }

    #[test]
    fn steps_of_half_the_range_are_told_by_their_wraps() {
        let steps: Vec<f32> = (0..9000).map(|i| (i % 4096 - 2048) as f32).collect();
        assert_eq!(radians(&steps), Ok((PI / 2048.0, 0.0)));
        let still: Vec<f32> = (-2048..2048).map(|i| i as f32).collect();
        assert!(matches!(radians(&still), Err(PhaseError::NeverWraps { .. })));
    }

    #[test]
    fn an_echo_that_fills_little_of_a_turn_is_no_magnitude_beside_one_that_wraps() {
        let mut early: Vec<f32> = (0..2000).map(|i| (2048 + i % 20) as f32).collect();
        (early[0], early[1]) = (0.0, 4095.0);
        let late: Vec<f32> = (0..2000).map(|i| ((i * 7) % 4096) as f32).collect();
        let mask: Vec<u32> = (2..2000).collect();
        let found = to_radians([2000, 1, 1], &[early, late], &mask);
        assert_eq!(found, Ok((2.0 * PI / 4096.0, -PI)));
    }

    #[test]
    fn a_magnitude_of_twelve_bits_is_no_phase() {
        let magnitude: Vec<f32> = (0..4000).map(|i| (300 + (i * 3700) / 4000) as f32).collect();
        assert!(matches!(radians(&magnitude), Err(PhaseError::NeverWraps { .. })));
    }

    #[test]
    fn what_never_wraps_has_no_scale() {
        // Unwrapped already, and a magnitude that fills its range.
        let unwrapped: Vec<f32> = (0..1000).map(|i| 0.03 * i as f32 - 7.0).collect();
        assert!(matches!(radians(&unwrapped), Err(PhaseError::NeverWraps { .. })));
        let magnitude: Vec<f32> = (0..1000).map(|i| (0.01 * i as f32).sin() + 1.5).collect();
        let scaled: Vec<f32> = magnitude.iter().map(|v| 300.0 * v).collect();
        assert!(matches!(radians(&scaled), Err(PhaseError::NeverWraps { .. })));
    }
}
