//! Tensor maps and directions.

use fimbria_image::Mask;
use fimbria_models::Fitted;
use fimbria_models::dti::{DtiMap, Method};
use fimbria_report::figure::{Direction, Glyphs, Scalar, glyphs, mosaic_rgb, mosaic_scalar};
use fimbria_report::{FigureError, Section, Window};

use super::Methods;
use crate::Choice as _;
use crate::stages::fits::dti;
use crate::stages::pictures::closer_look;

pub(in crate::stages::report) fn maps(fit: &Fitted, mask: &Mask) -> Result<Section, FigureError> {
    let mut section = Section::new("Maps");
    let fa = fit.map(DtiMap::Fa);
    if let (Some(fa), Some(v1)) = (fa, fit.map(DtiMap::V1)) {
        let figure = mosaic_rgb(v1, fa, mask, &Direction::new("Principal direction"))?;
        section = section.figure(figure, "Colour is the direction of V1, brightness FA.");
    }
    if let Some(md) = fit.map(DtiMap::Md) {
        let style =
            Scalar { window: Window::FromZero, ..Scalar::new("Mean diffusivity", "mm²/s") };
        section = section.figure(
            mosaic_scalar(md, mask, &style)?,
            "From 0 to the 99th percentile of the mask: free water is bright.",
        );
    }
    section = section.fold();
    if let Some(fa) = fa {
        let style =
            Scalar { window: DtiMap::Fa.spec().window, ..Scalar::new("Fractional anisotropy", "") };
        section = section.figure(mosaic_scalar(fa, mask, &style)?, "Black is 0, white is 1.");
    }
    if let Some(s0) = fit.map(DtiMap::S0) {
        let style = Scalar {
            window: Window::FromZero,
            ..Scalar::new("Signal without diffusion weighting", "units of the series")
        };
        section = section.figure(
            mosaic_scalar(s0, mask, &style)?,
            "From 0 to the 99th percentile. What no verdict sees is seen here: distortion, ghosts, signal lost \
             near air, and whether the mask holds the brain.",
        );
    }
    Ok(section)
}

pub(in crate::stages::report) fn directions(
    fit: &Fitted,
    mask: &Mask,
) -> Result<Option<Section>, FigureError> {
    let (Some(v1), Some(fa)) = (fit.map(DtiMap::V1), fit.map(DtiMap::Fa)) else {
        return Ok(None);
    };
    let style = Glyphs { threshold: 0.15, ..Glyphs::new("V1 over FA") };
    let figure = glyphs(v1, fa, &closer_look(mask), &style)?;
    Ok(Some(Section::new("Directions").fold().figure(
        figure,
        "The middle of the brain; a stick in every voxel with FA of 0.15 or more.",
    )))
}

/// What was done, in words for a paper.
/// `volumes`: which were used.
pub(in crate::stages::report) fn methods(fit: &dti::Parameters, volumes: Option<&str>) -> Methods {
    let (how, reference) = match fit.method() {
        Method::Ols => ("by ordinary least squares", None),
        Method::Wls => (
            "by least squares, once unweighted and once weighted by the squared predicted signal",
            Some("Chung S, Lu Y, Henry RG. NeuroImage 33, 531 (2006)"),
        ),
        Method::Iwls => (
            "by least squares weighted by the squared measured signal and then twice by the \
             squared predicted signal",
            Some("Veraart J et al. NeuroImage 81, 335 (2013)"),
        ),
        Method::Nlls => ("by non-linear least squares of S", None),
        Method::Restore => (
            "by RESTORE, non-linear least squares without outliers",
            Some("Chang LC, Jones DK, Pierpaoli C. Magn Reson Med 53, 1088 (2005)"),
        ),
    };
    let numerics = match fit.compat {
        Some(program) => format!(", with the numerics of {}", program.0.name()),
        None => String::new(),
    };
    let volumes =
        volumes.map(|volumes| format!(" Volumes used: {volumes} s/mm².")).unwrap_or_default();
    let basser = "Basser PJ, Mattiello J, Le Bihan D. J Magn Reson B 103, 247 (1994)";
    Methods {
        text: format!(
            "ln S = ln S0 - b gᵀDg was fitted in every voxel of the mask {how}{numerics}. FA, MD \
             and the mode follow from the eigenvalues of D. Directions are in scanner RAS axes, \
             diffusivities in mm²/s.{volumes}"
        ),
        references: [Some(basser), reference].into_iter().flatten().collect(),
    }
}
