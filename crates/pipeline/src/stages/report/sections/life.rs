//! What streamlines explain.

use fimbria_image::{Image, Mask};
use fimbria_life::Method;
use fimbria_report::figure::{Scalar, Tracts, mosaic_scalar, tracts};
use fimbria_report::plot::{Axes, Axis, Sample, histogram};
use fimbria_report::{FigureError, Section, Window, colour};

use super::Methods;
use crate::stages::life::{LifeParameters, Weighed};

pub(in crate::stages::report) fn weights(
    weighed: &Weighed,
    background: &Image,
    mask: &Mask,
) -> Result<Section, FigureError> {
    let Weighed { weights, rmse_s0, kept } = weighed;
    let positive: Vec<f64> =
        weights.iter().filter(|w| **w > 0.0).map(|w| f64::from(w.log10())).collect();
    let axes = Axes {
        heading: "Weights of streamlines",
        x: Axis::new("log₁₀ weight", ""),
        y: Axis::new("share", "%"),
        ..Axes::default()
    };
    let samples = [Sample { name: "streamlines", values: &positive }];
    let error = Scalar {
        scale: colour::Scale::Ember,
        window: Window::FromZero,
        ..Scalar::new("Error over S0", "")
    };
    let lines = (0..kept.len()).map(|line| kept.points(line));
    Ok(Section::new("What streamlines explain")
        .figure(
            histogram(&samples, 40, &axes),
            format!(
                "{} of {} streamlines have a weight above zero; the others have weight zero: beside \
                 those that have some, none of them would explain the signal better.",
                positive.len(),
                weights.len()
            ),
        )
        .figure(
            tracts(lines, background, mask, &Tracts::new("Streamlines with weight, over FA"))?,
            "Within half a voxel of the middle slices.",
        )
        .figure(
            mosaic_scalar(rmse_s0, mask, &error)?,
            "Root mean square of measured minus predicted signal, over the unweighted signal.",
        ))
}

/// What was done, in words for a paper.
pub(in crate::stages::report) fn methods(life: &LifeParameters) -> Methods {
    let LifeParameters { axial, radial, tolerance, l1, .. } = life;
    let group = life.group.unwrap_or_default();
    let penalised = if *l1 > 0.0 || group > 0.0 { " and penalties on w" } else { "" };
    let solver = match life.solver.0 {
        _ if group > 0.0 => "Proximal steps of Barzilai and Borwein's length",
        Method::Conjugate => "Conjugate gradients on faces of w ≥ 0",
        Method::Sbb => "The subspace Barzilai-Borwein method",
    };
    Methods {
        text: format!(
            "Every streamline got the weight w ≥ 0 that together with all others minimises ½‖y - \
             Mw‖²{penalised} (linear fascicle evaluation): y is the demeaned signal, and a column of M the \
             demeaned signal of tissue with diffusivities {axial} and {radial} mm²/s along the \
             streamline. {solver} ended at a projected gradient of {tolerance:.0e} of that without \
             weights."
        ),
        references: vec![
            "Pestilli F et al. Nat Methods 11, 1058 (2014)",
            "Caiafa CF, Pestilli F. Sci Rep 7, 11491 (2017)",
        ],
    }
}
