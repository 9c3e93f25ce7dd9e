//! Direction-coded colour.

use fimbria_image::{Image, Mask};

use super::{
    Figure, FigureError, check,
    legend::Legend,
    mosaic::{Face, mosaic},
};
use crate::window::range_of;
use crate::{Layout, Window, colour};

/// How a direction map is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction<'a> {
    /// Heading of the figure.
    pub heading: &'a str,
    /// Range of the weight from black to full colour.
    pub window: Window,
    /// Number of slices.
    pub layout: Layout,
}

impl<'a> Direction<'a> {
    /// Full colour from the 99th percentile of the weight on.
    pub fn new(heading: &'a str) -> Self {
        Self { heading, window: Window::FromZero, layout: Layout::default() }
    }
}

/// Slices of a direction map: red left-right, green front-back, blue up-down, brightness by a
/// weight such as FA.
///
/// `dirs_ras` has the direction's scanner RAS components in its first three volumes, of any
/// length and sign (V1, or the first of several peaks); `weight` is a scalar map.
///
/// # Errors
/// [`FigureError`] where an image is on another grid than the mask or has too few volumes.
pub fn mosaic_rgb(
    dirs_ras: &Image,
    weight: &Image,
    mask: &Mask,
    style: &Direction<'_>,
) -> Result<Figure, FigureError> {
    check(dirs_ras, mask, style.heading, 3)?;
    check(weight, mask, &format!("the weight of {}", style.heading), 1)?;
    let components = [0, 1, 2].map(|v| dirs_ras.volume(v));
    let weights = weight.volume(0);
    let [low, high] = range_of(style.window, mask.voxels.iter().map(|&i| weights[i as usize]));
    let legend = Legend::directions();
    let face = Face { heading: style.heading, legend, smooth: true };
    let meaning = "red left-right, green front-back, blue up-down";
    Ok(mosaic(mask, style.layout, &face, meaning, |index| {
        let brightness = ((f64::from(weights[index]) - low) / (high - low)) as f32;
        // A weight that is not a number is no weight.
        let brightness = if brightness.is_nan() { 0.0 } else { brightness };
        // Never darker than the ground, on which the mask would look like a hole.
        let rgb = colour::direction(components.map(|c| c[index]), brightness);
        std::array::from_fn(|k| rgb[k].max(colour::BACKGROUND[k]))
    }))
}
