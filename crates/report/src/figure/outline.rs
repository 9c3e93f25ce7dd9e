//! The outline of a mask over the whole image that it lies in.

use std::fmt::Write as _;

use fimbria_image::{Image, Mask};

use super::mosaic::{Face, Panel, Sheet, card, empty};
use super::scalar::{Scalar, colour_of};
use super::{Figure, FigureError, check, contains, legend::Legend};
use crate::numbers::coordinate;
use crate::slices::View;
use crate::svg::Drawing;
use crate::window::range_of;

/// Colour of the outline: none that grey maps have.
const OUTLINE: &str = "#ffb454";

/// Slices of a whole image with the outline of a mask; colours by what is inside it.
///
/// # Errors
/// [`FigureError`] where the image is on another grid than the mask or lacks the volume.
pub fn mosaic_outline(
    image: &Image,
    mask: &Mask,
    style: &Scalar<'_>,
) -> Result<Figure, FigureError> {
    check(image, mask, style.heading, style.volume + 1)?;
    let Some(view) = View::new(mask).map(View::over_whole_volume) else {
        return Ok(empty(style.heading));
    };
    let values = image.volume(style.volume);
    let range = range_of(style.window, mask.voxels.iter().map(|&index| values[index as usize]));
    let table = style.scale.table();
    let legend =
        Legend::Bar { table: table.clone(), range, unit: style.unit.into(), missing: false };
    let face = Face { heading: style.heading, legend, smooth: true };
    let sheet = Sheet::mosaic(&view, style.layout);
    let alt = format!("{} in {} slices, outlined.", style.heading, sheet.panels.len());
    let paint = |index: usize| colour_of(values[index], range, &table);
    Ok(card(&view, &sheet, alt, &face, paint, |drawing, panel| {
        outline(drawing, &view, mask, panel)
    }))
}

/// Draws the sides at which the voxels of a slice end.
fn outline(drawing: &mut Drawing, view: &View, mask: &Mask, panel: &Panel) {
    let [columns, rows] = view.pixels(panel.slice.plane);
    let is_in = |column: usize, row: usize| {
        // Beyond the upper and left side the subtraction wraps.
        column < columns && row < rows && contains(mask, view.index(panel.slice, column, row))
    };
    let [x, y, w, h] = panel.rect;
    let across = |column: usize| coordinate(x + w * column as f64 / columns as f64);
    let down = |row: usize| coordinate(y + h * row as f64 / rows as f64);
    let mut path = String::new();
    for row in 0..=rows {
        let ends = |column: usize| is_in(column, row) != is_in(column, row.wrapping_sub(1));
        for (from, to) in runs(columns, ends) {
            let _ = write!(path, "M{} {}H{}", across(from), down(row), across(to));
        }
    }
    for column in 0..=columns {
        let ends = |row: usize| is_in(column, row) != is_in(column.wrapping_sub(1), row);
        for (from, to) in runs(rows, ends) {
            let _ = write!(path, "M{} {}V{}", across(column), down(from), down(to));
        }
    }
    drawing.path(&path, OUTLINE, 1.0, "");
}

/// Where neighbours for which something is true begin and end.
fn runs(count: usize, is_true: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in (0..count).filter(|&at| is_true(at)) {
        match runs.last_mut() {
            Some((_, end)) if *end == at => *end += 1,
            _ => runs.push((at, at + 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_image::{Affine, Grid};

    #[test]
    fn a_box_has_four_sides_in_each_slice_that_cuts_it() {
        let grid = Grid { dims: [10, 10, 10], ras_from_vox: Affine::from_spacing([2.0; 3]) };
        let inside = |v: [usize; 3]| v.iter().all(|x| (3..7).contains(x));
        let voxels = (0..1000).filter(|&i| inside(grid.voxel(i))).map(|i| i as u32).collect();
        let mask = Mask { grid, voxels };
        let image = Image::zeros(grid, 1);
        let svg = mosaic_outline(&image, &mask, &Scalar::new("Mask", "")).unwrap().svg();
        let paths: Vec<&str> =
            svg.lines().filter(|line| line.contains(OUTLINE) && line.contains("<path")).collect();
        // Four axial slices hold it, and one of each other plane is shown.
        assert_eq!(paths.len(), 6);
        for path in paths {
            assert_eq!((path.matches('H').count(), path.matches('V').count()), (2, 2), "{path}");
        }
    }
}
