//! Readouts forth and back.

use fimbria_compute::Progress as _;
use fimbria_image::Grid;
use fimbria_qsm::phase::readout_ramp;

use super::phase_files::PhaseFiles;
use crate::{Logbook, Page};

/// Odd and even echoes that differ by more than so many radians over the mask were read in opposite
/// directions: of echoes read in one the difference is 0 but for noise.
const BIPOLAR: f64 = 0.5;

impl PhaseFiles {
    /// Takes off what odd and even echoes of each coil differ by, where they were read in opposite
    /// directions.
    pub(super) fn undo_bipolar(
        &self,
        grid: &Grid,
        phases: &mut [Vec<f32>],
        magnitudes: &[Vec<f32>],
        times: &[f64],
        mask: &[u32],
        log: &Logbook<'_>,
    ) {
        let echoes = times.len();
        for (coil, phases) in phases.chunks_mut(echoes).enumerate() {
            let magnitudes = magnitudes.get(coil * echoes..(coil + 1) * echoes).unwrap_or_default();
            let Some(ramp) = readout_ramp(grid, phases, magnitudes, times, mask) else { continue };
            let differs = ramp.extent > BIPOLAR;
            if self.bipolar == Some(true) || differs && ramp.is_even {
                if coil == 0 {
                    log.note(&format!(
                        "odd and even echoes differ by {:.2} radians over the mask: taken for \
                         readouts in opposite directions",
                        ramp.extent
                    ));
                    log.result("bipolar_slope", ramp.slope.to_vec());
                }
                ramp.take_off(grid, phases);
            } else if coil == 0 && differs {
                log.warn(
                    Page::Susceptibility,
                    "odd and even echoes differ, but not evenly over the mask: they are not taken for \
                     readouts in opposite directions (--bipolar true takes them); does a fringe line \
                     end inside the mask?",
                );
            }
        }
    }
}
