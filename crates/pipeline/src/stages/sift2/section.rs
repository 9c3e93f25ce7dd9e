//! How much streamlines weigh.

use fimbria_life::sift2::Sift2;
use fimbria_report::Section;

use crate::stages::life::section::of_weights;

pub(in crate::stages) fn weights(found: &Sift2) -> Section {
    let weights: Vec<f64> = found.weights.iter().map(|weight| f64::from(*weight)).collect();
    let (figure, caption) = of_weights(&weights);
    let section = Section::new("Weights: as dense as the fibres").figure(figure, caption);
    match (found.steps.first(), found.steps.last()) {
        (Some(before), Some(after)) => section.text(format!(
            "The densities of the streamlines miss those of the fibres by {:.3} of their size (root mean \
             squares) at equal weights, and by {:.3} at these.",
            before.error, after.error
        )),
        _ => section,
    }
}
