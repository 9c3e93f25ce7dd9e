//! Tensor maps and directions.

use fimbria_image::Mask;
use fimbria_models::Fitted;
use fimbria_models::dti::DtiMap;
use fimbria_report::figure::{Direction, Glyphs, Scalar, glyphs, mosaic_rgb, mosaic_scalar};
use fimbria_report::{FigureError, Section, Window};

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
