//! Scalar maps and their differences from a truth.

use fimbria_image::{Image, Mask};

use super::{
    Figure, FigureError, check,
    legend::Legend,
    mosaic::{Face, mosaic},
};
use crate::{
    Layout, Window,
    colour::{NO_VALUE, Rgb, STEPS, Scale},
    numbers::{significant, unit_with_power},
    window::range_of,
};

/// How a scalar map is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar<'a> {
    /// Heading of the figure, such as `Fractional anisotropy`.
    pub heading: &'a str,
    /// Unit of the values, empty for a pure number.
    pub unit: &'a str,
    /// Which volume of the image.
    pub volume: usize,
    /// Colours.
    pub scale: Scale,
    /// Range of the colours.
    pub window: Window,
    /// Number of slices.
    pub layout: Layout,
}

impl<'a> Scalar<'a> {
    /// Volume 0 in grey over the robust range.
    pub fn new(heading: &'a str, unit: &'a str) -> Self {
        Self {
            heading,
            unit,
            volume: 0,
            scale: Scale::Grey,
            window: Window::Robust,
            layout: Layout::default(),
        }
    }
}

/// Slices of a scalar map with a colour bar. Voxels of the mask without a finite value have a
/// colour of their own, which the legend names.
///
/// # Errors
/// [`FigureError`] where the map is on another grid than the mask or lacks the volume.
pub fn mosaic_scalar(map: &Image, mask: &Mask, style: &Scalar<'_>) -> Result<Figure, FigureError> {
    check(map, mask, style.heading, style.volume + 1)?;
    let values = map.volume(style.volume);
    Ok(mosaic_values(mask, style, |index| values[index]))
}

/// Slices of `estimate - truth`, which share the style's volume number. With [`Scale::Difference`]
/// and [`Window::Symmetric`] no difference is dark and errors light up.
///
/// # Errors
/// [`FigureError`] where a map is on another grid than the mask or lacks the volume.
pub fn mosaic_difference(
    estimate: &Image,
    truth: &Image,
    mask: &Mask,
    style: &Scalar<'_>,
) -> Result<Figure, FigureError> {
    check(estimate, mask, style.heading, style.volume + 1)?;
    check(truth, mask, &format!("the truth of {}", style.heading), style.volume + 1)?;
    let (estimated, true_values) = (estimate.volume(style.volume), truth.volume(style.volume));
    Ok(mosaic_values(mask, style, |index| estimated[index] - true_values[index]))
}

fn mosaic_values(mask: &Mask, style: &Scalar<'_>, value: impl Fn(usize) -> f32) -> Figure {
    let in_mask = || mask.voxels.iter().map(|&index| value(index as usize));
    let range = range_of(style.window, in_mask());
    let table = style.scale.table();
    let legend = Legend::Bar {
        table: table.clone(),
        range,
        unit: style.unit.into(),
        missing: in_mask().any(|v| !v.is_finite()),
    };
    let face = Face { heading: style.heading, legend, smooth: true };
    let [low, high] = range;
    let meaning = format!(
        "colours from {} to {} {}",
        significant(low),
        significant(high),
        unit_with_power(style.unit, 0)
    );
    mosaic(mask, style.layout, &face, meaning.trim_end(), |index| {
        colour_of(value(index), range, &table)
    })
}

/// The table's colour for a value, the end colours beyond the range.
pub(super) fn colour_of(value: f32, [low, high]: [f64; 2], table: &[Rgb]) -> Rgb {
    if !value.is_finite() {
        return NO_VALUE;
    }
    let t = ((f64::from(value) - low) / (high - low)).clamp(0.0, 1.0);
    table[(t * (STEPS - 1) as f64).round() as usize]
}
