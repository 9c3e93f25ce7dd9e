//! The field of all sources, with the background.

use std::borrow::Cow;

use fimbria_compute::Progress as _;
use fimbria_image::{Image, Mask};
use fimbria_qsm::phase::{
    EchoPhase, HZ_PER_TESLA, combine_coils, combine_echoes, open_fringes, phase_quality,
    unwrap_laplacian, unwrap_region,
};

use super::at_start::report_phase_at_start;
use super::mask::{measured, reliable, without_tears};
use super::{
    Echoes, FieldParameters, MakeField, PhaseFiles, PhaseFilesError, StartPhase, Unwrapping,
};
use crate::options::{Place, Resolve as _};
use crate::{Choice as _, Logbook, MapStyle, StageError};

/// The field of all sources, with what is known of it.
pub(super) struct Total {
    /// 0 outside the mask.
    pub(super) ppm: Vec<f32>,
    pub(super) sureness: Vec<f32>,
    pub(super) quality: Vec<f32>,
    pub(super) mask: Mask,
    /// Whether the phase at echo time 0 was fitted.
    pub(super) has_offset: bool,
}

/// The field of all sources in hertz, as phases tell it with every option as usual, and where it is known.
pub(in crate::stages) fn total_hertz(
    files: PhaseFiles,
    log: &Logbook<'_>,
) -> Result<(Image, Mask), StageError> {
    let echoes = files.read(log)?;
    let parameters = FieldParameters::default().resolve(&Place::Command);
    let stage = MakeField { files: Some(files), parameters, style: MapStyle::default() };
    let Total { mut ppm, mask, .. } = stage.total(&echoes, log)?;
    let b0_tesla = echoes.b0_tesla.ok_or(PhaseFilesError::NeedsB0)?;
    let hertz = (1e-6 * b0_tesla * HZ_PER_TESLA) as f32;
    ppm.iter_mut().for_each(|field| *field *= hertz);
    Ok((Image { grid: echoes.grid, n_volumes: 1, data: ppm }, mask))
}

impl MakeField {
    /// The field of all sources that echoes tell.
    pub(super) fn total(&self, echoes: &Echoes, log: &Logbook<'_>) -> Result<Total, StageError> {
        let workers = log.session().on.workers;
        let Echoes { grid, phases, magnitudes, times, b0_tesla, mask, .. } = echoes;
        let start = self.start_phase(times.len())?;
        log.result("start_phase", start.name());
        let offset = start == StartPhase::Fitted;
        let mask = measured(mask, magnitudes, offset, log)?;
        let phases = match start {
            StartPhase::Smooth => {
                let voxels = &mask.voxels;
                Cow::Owned(combine_coils(grid, phases, magnitudes, times, voxels, workers)?.phases)
            }
            _ => Cow::Borrowed(phases),
        };
        let echo = |e: usize| EchoPhase {
            phase: &phases[e],
            magnitude: magnitudes.get(e).map(Vec::as_slice),
            time: times[e],
        };
        let of_echoes: Vec<EchoPhase<'_>> = (0..phases.len()).map(echo).collect();
        let quality = phase_quality(grid, &of_echoes, &mask.voxels);
        let least = self.parameters.mask_quality.unwrap_or(0.0);
        let mask = reliable(mask, &quality, least, (magnitudes, offset), log)?;
        let unwrapped = match self.parameters.unwrap.0 {
            Unwrapping::Region => unwrap_region(grid, &of_echoes, &mask.voxels, offset),
            Unwrapping::Laplacian => {
                let unwrap = |phase: &Vec<f32>| -> Result<_, StageError> {
                    log.check()?;
                    Ok(unwrap_laplacian(grid, phase, &mask.voxels, workers)?)
                };
                phases.iter().map(unwrap).collect::<Result<_, _>>()?
            }
        };
        // Unwrapping by the Laplacian has no turns to be wrong by.
        let has_turns = self.parameters.unwrap.0 == Unwrapping::Region;
        let torn = match has_turns {
            true => open_fringes(grid, &unwrapped, times, &quality, &mask.voxels),
            false => Vec::new(),
        };
        let mask = without_tears(&mask, &torn, least, log);
        if !offset && times.len() > 1 && has_turns {
            let smooth = start == StartPhase::Smooth;
            report_phase_at_start(
                grid, &unwrapped, magnitudes, times, &mask, *b0_tesla, smooth, log,
            );
        }
        log.check()?;
        let weights = (!magnitudes.is_empty()).then_some(&magnitudes[..]);
        // The field at which a second turns the phase by a radian a ppm: ppm are radians then.
        let b0 = b0_tesla.unwrap_or(1e6 / (std::f64::consts::TAU * HZ_PER_TESLA));
        let combined = combine_echoes(&unwrapped, weights, times, &mask.voxels, b0, offset);
        Ok(Total {
            ppm: combined.field_ppm,
            sureness: combined.sureness,
            quality,
            mask,
            has_offset: offset,
        })
    }
}
