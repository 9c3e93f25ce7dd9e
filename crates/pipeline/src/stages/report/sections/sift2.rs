//! How much streamlines weigh.

use fimbria_life::sift2::Sift2;
use fimbria_report::Section;

use super::{Methods, life};
use crate::stages::sift2::Sift2Parameters;

pub(in crate::stages::report) fn weights(found: &Sift2) -> Section {
    let weights: Vec<f64> = found.weights.iter().map(|weight| f64::from(*weight)).collect();
    let (figure, caption) = life::of_weights(&weights);
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

/// What was done, in words for a paper.
pub(in crate::stages::report) fn methods(parameters: &Sift2Parameters) -> Methods {
    let Sift2Parameters { variation, tikhonov, least_filled, .. } = parameters;
    Methods {
        text: format!(
            "Streamlines were weighed by the model of SIFT2, so that along every lobe of the fibre \
             orientation densities they are as dense as the fibres (λ of variation {variation}, of Tikhonov \
             {tikhonov}; lobes filled to less than {least_filled} at equal weights were left out)."
        ),
        references: vec![
            "Smith RE et al. NeuroImage 119, 338 (2015)",
            "Smith RE et al. NeuroImage 67, 298 (2013)",
        ],
    }
}
