//! Whether the phase at echo time 0 is zero where it is taken to be, or once a smooth one was taken off.

use fimbria_image::{Grid, Mask, counted};
use fimbria_qsm::phase::{HZ_PER_TESLA, PhaseAtStart};

use crate::{Logbook, Page};

/// Says what the first two echoes tell of it, and warns where it is not zero.
pub(super) fn report_phase_at_start(
    grid: &Grid,
    unwrapped: &[Vec<f32>],
    magnitudes: &[Vec<f32>],
    times: &[f64],
    mask: &Mask,
    b0_tesla: Option<f64>,
    is_smoothed: bool,
    log: &Logbook<'_>,
) {
    let found = PhaseAtStart::of(grid, unwrapped, magnitudes, times, &mask.voxels);
    log.result("phase_at_start_rad", found.median_rad);
    log.result("phase_at_start_agreement", found.agreement);
    log.count("phase_steps", found.steps as u64);
    if found.is_zero() {
        return;
    }
    let height = match b0_tesla {
        Some(b0) => format!(" of up to {:.2} ppm", 1e6 / (HZ_PER_TESLA * b0 * times[1])),
        None => String::new(),
    };
    let (what, remedy) = match is_smoothed {
        true => ("smooth", ""),
        false => ("zero", "take a smooth one off (--offset smooth) or "),
    };
    log.warn(
        Page::Susceptibility,
        &format!(
            "the phase at echo time 0 is taken to be {what} and is not: the echoes put what is left of it at {:.2} radians (median size), so that the field is \
             biased and has steps{height} between {} of neighbours: {remedy}fit one in each voxel (--offset true)",
            found.median_rad,
            counted(found.steps, "pair"),
        ),
    );
}
