//! Peaks against true fibre directions.

use fimbria_image::{Image, Mask};
use fimbria_phantoms::Truth;
use fimbria_phantoms::closeness::peaks_by_fibres;

use super::{Accuracy, Closeness};

/// Compares, for each number of fibres, how far the number of peaks is off, and the angle from
/// every fibre to the peak that is its own, as [`peaks_by_fibres`] pairs them. `peaks` is called
/// `name`.
pub(super) fn compare(
    name: &str,
    peaks: &Image,
    mask: &Mask,
    truth: &Truth,
    accuracy: &mut Accuracy,
) {
    let found = peaks_by_fibres(peaks, Some(mask), truth);
    for (n, errors) in (1..).zip(found) {
        let fibres = if n == 1 { "1 fibre".to_owned() } else { format!("{n} fibres") };
        let rows = [
            Closeness::new(&format!("{name}, {fibres}"), "°", errors.angles_deg),
            Closeness::new(&format!("{name}, number, {fibres}"), "", errors.counts),
        ];
        accuracy.rows.extend(rows.into_iter().flatten());
    }
}
