//! What is said of a fit: which volumes it took, and what became of the voxels.

use fimbria_compute::Progress as _;
use fimbria_image::{Status, counted};
use fimbria_models::{Fitted, RaisedSamples};

use crate::stages::volumes::ChosenVolumes;
use crate::{Logbook, Page};

/// What records call the volumes that a fit took.
pub(crate) const VOLUMES: &str = "volumes_used";

/// Says which volumes are used.
pub(super) fn report_volumes(chosen: &ChosenVolumes, log: &Logbook<'_>) {
    log.count(VOLUMES, chosen.volumes.len() as u64);
    log.result(VOLUMES, chosen.to_string());
    if let Some(bmax) = chosen.not_enough {
        log.warn(Page::Troubleshooting, &format!(
            "the volumes up to b = {bmax:.0} s/mm² do not determine the fit: all are used, and the \
             signal of larger b is not that of the model (--shells and --bmax choose)"
        ));
    } else if !chosen.is_all() {
        log.note(&format!("volumes used: {chosen}"));
    }
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
        (
            Status::NegativeDiffusion,
            "negative_diffusion",
            "an eigenvalue of the tensor is negative, so that FA may exceed 1",
        ),
    ] {
        let voxels = fit.status.count(status);
        log.count(name, voxels);
        if voxels > 0 && !trouble.is_empty() {
            log.warn(
                Page::Troubleshooting,
                &format!("{}: {trouble} (see the status map)", counted(voxels, "voxel")),
            );
        }
    }
    log.count("raised_samples", samples);
    if samples > 0 {
        log.warn(
            Page::Troubleshooting,
            &format!(
                "{} in {}, zero or negative: raised to have a logarithm (see the status map)",
                counted(samples, "sample"),
                counted(with_raised, "voxel")
            ),
        );
    }
}
