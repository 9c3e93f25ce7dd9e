//! What is said of a fit: which volumes it took, what became of the voxels, and whether the numbers
//! can be.

use std::ops::RangeInclusive;

use fimbria_compute::Progress as _;
use fimbria_image::{Status, counted};
use fimbria_models::{Fitted, FittedMap, RaisedSamples};

use crate::Logbook;
use crate::stages::volumes::ChosenVolumes;

/// What records call the volumes that a fit took.
pub(crate) const VOLUMES: &str = "volumes_used";

/// Says which volumes are used.
pub(super) fn report_volumes(chosen: &ChosenVolumes, log: &Logbook<'_>) {
    log.count(VOLUMES, chosen.volumes.len() as u64);
    log.result(VOLUMES, chosen.to_string());
    if let Some(bmax) = chosen.not_enough {
        log.warn(&format!(
            "the volumes up to b = {bmax:.0} s/mm² do not determine the fit: all are used, and the \
             signal of larger b is not that of the model (--shells and --bmax choose)"
        ));
    } else if !chosen.is_all() {
        log.note(&format!("volumes used: {chosen}"));
    }
}

/// Warns of diffusivities that no tissue has, where most voxels have them: b is in another unit
/// then, or the table is that of another series.
pub(super) fn check_physics(fit: &Fitted, log: &Logbook<'_>) {
    /// Those of tissue and of free water at any temperature of a body, mm²/s.
    const PHYSICAL: RangeInclusive<f32> = 1e-5..=5e-3;
    let named = |name: &&FittedMap| name.spec.name == "MD" || name.spec.name == "D";
    let of_voxel = |map: &&FittedMap| map.spec.n_volumes == 1 && map.spec.unit == "mm^2/s";
    let Some(map) = fit.maps.iter().filter(of_voxel).find(named) else { return };
    let mut values: Vec<f32> =
        map.image.data.iter().copied().filter(|d| d.is_finite() && *d != 0.0).collect();
    if values.is_empty() {
        return;
    }
    let outside = values.iter().filter(|d| !PHYSICAL.contains(*d)).count();
    if 2 * outside <= values.len() {
        return;
    }
    let (middle, percent) = (values.len() / 2, 100 * outside / values.len());
    let (_, median, _) = values.select_nth_unstable_by(middle, f32::total_cmp);
    log.warn(&format!(
        "{} is outside what diffusion can be, 1e-5 to 5e-3 mm²/s, in {percent} % of the voxels (median \
         {median:.1e}): is b in s/mm², and is the gradient table that of the series?",
        map.spec.name
    ));
}

/// Notes what became of the voxels, and warns where something did.
pub(super) fn report_counts(fit: &Fitted, log: &Logbook<'_>) {
    let RaisedSamples { samples, voxels: with_raised } = fit.raised;
    // Where they were raised that is said with their number.
    let not_positive =
        if samples > 0 { "" } else { "samples that are zero or negative, taken as they are" };
    for (status, name, trouble) in [
        (Status::Fitted, "fitted", ""),
        (Status::Constrained, "constraint_active", ""),
        (Status::NotConverged, "not_converged", "did not converge"),
        (Status::BadSignal, "bad_signal", "no usable signal; zero in all maps"),
        (Status::Singular, "singular", "the signal does not determine the model; zero in all maps"),
        (Status::NotPositive, "not_positive", not_positive),
        (
            Status::Undefined,
            "undefined",
            "diffusion backwards in a direction or hardly any, or no signal of a part of the model; \
             NaN in some maps",
        ),
    ] {
        let voxels = fit.status.of(status);
        log.count(name, voxels);
        if voxels > 0 && !trouble.is_empty() {
            log.warn(&format!("{}: {trouble} (see the status map)", counted(voxels, "voxel")));
        }
    }
    log.count("raised_samples", samples);
    if samples > 0 {
        log.warn(&format!(
            "{} in {}, zero or negative: raised to have a logarithm (see the status map)",
            counted(samples, "sample"),
            counted(with_raised, "voxel")
        ));
    }
}
