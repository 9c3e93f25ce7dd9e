//! Field and susceptibility against the truth.

use fimbria_image::Image;
use fimbria_phantoms::GreSubject;
use fimbria_phantoms::head::{Tissue, labels};

use super::{Accuracy, Closeness};
use crate::stages::field::Fields;
use crate::stages::qsm::ChiMap;

/// Compares the local field where it is known, less its mean.
pub(super) fn compare_field(fields: &Fields, made: &GreSubject, accuracy: &mut Accuracy) {
    let Some(truth) = made.truth("local_field") else { return };
    let voxels: Vec<usize> = fields.mask.voxels.iter().map(|&v| v as usize).collect();
    let errors = errors_ppb(&fields.local, truth, &voxels, &voxels);
    accuracy.rows.extend(Closeness::new("local field", "ppb", errors));
}

/// Compares the mapped voxels, all and by what they are of; maps less their mean over all, since
/// susceptibility is known up to a constant.
pub(super) fn compare(map: &ChiMap, made: &GreSubject, accuracy: &mut Accuracy) {
    let (Some(truth), Some(parts)) = (made.truth("chi"), made.truth("labels")) else { return };
    let all: Vec<usize> = (0..map.chi.data.len()).filter(|&v| map.chi.data[v] != 0.0).collect();
    let errors = errors_ppb(&map.chi, truth, &all, &all);
    accuracy.rows.extend(Closeness::new("susceptibility", "ppb", errors));
    let table = labels();
    for (tissue, name) in [
        (Tissue::White, "white matter"),
        (Tissue::CorticalGrey, "cortex"),
        (Tissue::SubcorticalGrey, "nuclei"),
        (Tissue::Blood, "veins"),
    ] {
        let is_it = |v: &usize| {
            let number = parts.data[*v] as u16;
            let line = table.binary_search_by_key(&number, |label| label.number);
            line.is_ok_and(|line| table[line].tissue == tissue)
        };
        let some: Vec<usize> = all.iter().copied().filter(is_it).collect();
        let errors = errors_ppb(&map.chi, truth, &all, &some);
        let quantity = format!("susceptibility, {name}");
        accuracy.rows.extend(Closeness::new(&quantity, "ppb", errors));
    }
}

/// The errors in `some` voxels, each map less its mean over `all`; maps in ppm.
fn errors_ppb(found: &Image, truth: &Image, all: &[usize], some: &[usize]) -> Vec<f64> {
    let off = |v: usize| f64::from(found.data[v]) - f64::from(truth.data[v]);
    let mean = all.iter().map(|&v| off(v)).sum::<f64>() / all.len() as f64;
    some.iter().map(|&v| 1e3 * (off(v) - mean).abs()).collect()
}
