//! Maps of stretched exponentials.

use fimbria_image::Mask;
use fimbria_models::Fitted;
use fimbria_models::stremi::Projection;
use fimbria_report::{FigureError, Section, Window};

use super::{Methods, scalars};
use crate::stages::stremi::StremiParameters;

pub(in crate::stages::report) fn maps(fit: &Fitted, mask: &Mask) -> Result<Section, FigureError> {
    let shown = [
        (
            "Mgamma",
            "Mean exponent",
            "1 where diffusion is Gaussian; falls with the disorder that water meets.",
            Window::Fixed([0.4, 1.0]),
        ),
        (
            "Agamma",
            "Anisotropy of the exponents",
            "How far they differ along the axes of the tensor.",
            Window::Fixed([0.0, 0.6]),
        ),
    ];
    scalars("Stretched exponentials", fit, mask, &shown)
}

/// What was done, in words for a paper.
pub(in crate::stages::report) fn methods(fit: &StremiParameters) -> Methods {
    let projection = match fit.projection.0 {
        Projection::Dti => "b (g·e)²",
        Projection::Paper => "b |g·e|",
    };
    Methods {
        text: format!(
            "ln S = ln S0 - Σ A_i b_i^γ_i over the axes e_i of a tensor fitted to volumes up to {} \
             s/mm², b_i = {projection}, was fitted to the signals of all volumes by Levenberg and \
             Marquardt's method, 0.1 ≤ γ_i ≤ 1.",
            fit.axes_bmax,
        ),
        references: vec![
            "De Santis S et al. Magn Reson Med 65, 1043 (2011)",
            "Palombo M et al. GPU-parallelized model fitting for realtime non-Gaussian diffusion \
             NMR parametric imaging (2014)",
        ],
    }
}
