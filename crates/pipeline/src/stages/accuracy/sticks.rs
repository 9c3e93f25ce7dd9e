//! Ball and sticks against true fibres.

use std::collections::BTreeSet;

use fimbria_image::Mask;
use fimbria_image::bedpostx::Dyads;
use fimbria_image::sticks::StickSamples;
use fimbria_phantoms::closeness::seen_fibres;
use fimbria_phantoms::head::Head;

use super::{Accuracy, Closeness, PureTissue, peaks, voxels_of};

/// Fibres with a smaller mean fraction count as absent, as in bedpostX's own maps.
const LEAST_FRACTION: f64 = 0.05;

/// Compares dyads with the fibres as peaks are, and in voxels of two fibres the larger one's part of
/// both: a fibre's fraction itself means something else in a model whose sticks have no width.
pub(super) fn compare(samples: &StickSamples, head: &Head, accuracy: &mut Accuracy) {
    let dyads = Dyads::from_samples(samples, LEAST_FRACTION);
    let is_white: BTreeSet<usize> = voxels_of(head, PureTissue::White).collect();
    let voxels = samples.mask.voxels.iter().copied();
    let white = voxels.filter(|v| is_white.contains(&(*v as usize))).collect();
    let mask = Mask { grid: samples.mask.grid, voxels: white };
    let truth = &head.subject.truth;
    peaks::compare("sticks", &dyads.peaks_ras, &mask, truth, accuracy);
    let Some(fractions) = truth.map("fractions") else { return };
    if samples.n_fibres < 2 {
        return;
    }
    let errors = samples.mask.voxels.iter().enumerate().filter_map(|(slot, &voxel)| {
        let [f1, f2] = [0, 1].map(|k| fractions.volume(k)[voxel as usize]);
        let [found1, found2] = [0, 1].map(|fibre| samples.mean_fraction(slot, fibre));
        let share = f64::from(f1 / (f1 + f2));
        let is_pair = is_white.contains(&(voxel as usize))
            && seen_fibres(fractions, voxel as usize) == Some(2)
            && found1 > 0.0;
        is_pair.then(|| 100.0 * (found1 / (found1 + found2) - share).abs())
    });
    accuracy.rows.extend(Closeness::new("sticks, f1/(f1+f2)", "%", errors.collect()));
}
