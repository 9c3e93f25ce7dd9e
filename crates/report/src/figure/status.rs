//! Maps of categories, above all the per-voxel status of a fit.

use fimbria_image::{Image, Mask};

use super::{
    Figure, FigureError, check,
    legend::Legend,
    mosaic::{Face, mosaic},
};
use crate::{
    Layout,
    colour::{NO_VALUE, STATUS},
    numbers::grouped,
};

/// How a category map is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Status<'a> {
    /// Heading of the figure.
    pub heading: &'a str,
    /// Value and name of each category. The first is what should be (quiet grey), the others
    /// stand out; seven have colours of their own.
    pub categories: &'a [(u8, &'a str)],
    /// Number of slices.
    pub layout: Layout,
}

/// Slices of a category map; the legend counts the voxels of the mask in each category that
/// occurs.
///
/// # Errors
/// [`FigureError`] where the map is on another grid than the mask or has no volume.
pub fn mosaic_status(map: &Image, mask: &Mask, style: &Status<'_>) -> Result<Figure, FigureError> {
    check(map, mask, style.heading, 1)?;
    let values = map.volume(0);
    let category = |index: usize| {
        style.categories.iter().position(|&(value, _)| f32::from(value) == values[index])
    };
    let colour = |category: Option<usize>| category.map_or(NO_VALUE, |c| STATUS[c % STATUS.len()]);
    let mut counts = vec![0; style.categories.len()];
    let mut others = 0;
    for &index in &mask.voxels {
        *category(index as usize).map_or(&mut others, |c| &mut counts[c]) += 1;
    }
    let mut swatches = Vec::new();
    for (c, (&(_, name), &count)) in style.categories.iter().zip(&counts).enumerate() {
        if count > 0 {
            swatches.push((colour(Some(c)), format!("{name} {}", grouped(count))));
        }
    }
    if others > 0 {
        swatches.push((colour(None), format!("other {}", grouped(others))));
    }
    let names: Vec<&str> = swatches.iter().map(|(_, text)| text.as_str()).collect();
    let meaning = format!("voxels by category: {}", names.join(", "));
    let legend = Legend::Swatches(swatches);
    let face = Face { heading: style.heading, legend, smooth: false };
    Ok(mosaic(mask, style.layout, &face, &meaning, |i| colour(category(i))))
}
