//! Kurtosis maps.

use fimbria_image::Mask;
use fimbria_models::Fitted;
use fimbria_report::{FigureError, Section, Window};

use super::{Methods, scalars};
use crate::Choice as _;
use crate::stages::dki::DkiParameters;

pub(in crate::stages::report) fn maps(fit: &Fitted, mask: &Mask) -> Result<Section, FigureError> {
    let shown = [
        ("MK", "Mean kurtosis", "How far diffusion is from Gaussian, averaged over directions."),
        ("AK", "Axial kurtosis", "Along the main direction of the tensor."),
        ("RK", "Radial kurtosis", "Averaged over the plane across it."),
    ];
    let shown =
        shown.map(|(name, heading, caption)| (name, heading, caption, Window::Fixed([0.0, 2.0])));
    scalars("Kurtosis", fit, mask, &shown)
}

/// What was done, in words for a paper.
pub(in crate::stages::report) fn methods(fit: &DkiParameters) -> Methods {
    let constraint = if fit.constrained {
        ", with diffusivity, kurtosis and its largest value at the largest b kept in bounds in \
         every direction of a dense set where the unconstrained fit left them"
    } else {
        ""
    };
    Methods {
        text: format!(
            "ln S = ln S0 - b gᵀDg + b² MD² W(g) / 6 was fitted to all volumes up to {} s/mm² by \
             {}{constraint}. MK, AK and RK are means of the apparent kurtosis over the sphere, \
             along the first eigenvector and across it.",
            fit.bmax,
            fit.method().name(),
        ),
        references: vec![
            "Jensen JH, Helpern JA. NMR Biomed 23, 698 (2010)",
            "Tabesh A et al. Magn Reson Med 65, 823 (2011)",
            "Veraart J et al. NeuroImage 81, 335 (2013)",
        ],
    }
}
