//! Values by row and column.

use super::frame::Axes;
use crate::{
    Figure,
    colour::{Rgb, STEPS, Scale, hex},
    numbers::{coordinate, significant, with_unit},
    raster::Raster,
    svg::{Anchor, Drawing, Type},
};

/// Values by row and column, the first row at the top. The axes' labels name columns and rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells<'a> {
    /// Rows of one length; `None` has a colour of its own.
    pub rows: &'a [Vec<Option<f64>>],
    /// What the values are.
    pub label: &'a str,
    /// Their unit.
    pub unit: &'a str,
    /// Colours.
    pub scale: Scale,
    /// The values of the first and last colour.
    pub range: [f64; 2],
    /// Height over width of a cell.
    pub aspect: f64,
    /// What rows and columns of a square matrix are called; none: they have numbers.
    pub names: &'a [String],
}

const WIDTH: f64 = 1080.0;
/// Room for numbers, and for names.
const LEFT: [f64; 2] = [54.0, 190.0];
const TOP: f64 = 64.0;
/// Names are cut to so many letters, and stand so far apart.
const LETTERS: usize = 30;
const APART: f64 = 10.0;
/// Where there is no value: between the grounds of light and dark pages.
const NOTHING: Rgb = [0x8c, 0x90, 0x96];
const INK: &str = "currentColor";

/// A picture of a matrix, with a bar of its colours.
pub fn matrix(cells: &Cells<'_>, axes: &Axes<'_>) -> Figure {
    let (height, width) = (cells.rows.len(), cells.rows.iter().map(Vec::len).max().unwrap_or(0));
    let table = cells.scale.table();
    let [low, high] = cells.range;
    let colour = |value: f64| -> Rgb {
        let part = ((value - low) / (high - low)).clamp(0.0, 1.0);
        table[((part * (STEPS - 1) as f64).round() as usize).min(table.len() - 1)]
    };
    let value = |column: usize, row: usize| cells.rows.get(row)?.get(column).copied().flatten();
    let raster = Raster::new(width.max(1), height.max(1), |column, row| {
        value(column, row).filter(|value| value.is_finite()).map_or(NOTHING, colour)
    });
    let names = cells.names;
    let left = LEFT[usize::from(!names.is_empty())];
    // As wide as the page, where cells are not larger than they need be.
    let cell = ((WIDTH - left - 16.0) / width.max(1) as f64).min(18.0);
    let (w, h) = (cell * width as f64, (cell * cells.aspect * height as f64).min(620.0));
    let mut drawing = Drawing::default();
    let small = Type { size: 11.5, fill: INK, anchor: Anchor::Start, bold: false };
    drawing.text([0.0, 22.0], Type { size: 15.0, bold: true, ..small }, axes.heading);
    drawing.image([left, TOP, w, h], &raster, true);
    drawing.begin_group("opacity=\"0.7\"");
    drawing.text([0.0, TOP - 12.0], small, &with_unit(axes.y.label, axes.y.unit, 0));
    let middle = Type { anchor: Anchor::Middle, ..small };
    let end = Type { anchor: Anchor::End, ..small };
    let step = h / height.max(1) as f64;
    // From the first to the last, counted from 0, or by name.
    let numbers = |last: usize| if names.is_empty() { vec![0, last] } else { Vec::new() };
    for at in numbers(width.saturating_sub(1)) {
        let x = left + (at as f64 + 0.5) * cell;
        drawing.text([x, TOP + h + 16.0], middle, &at.to_string());
    }
    for at in numbers(height.saturating_sub(1)) {
        let y = TOP + (at as f64 + 0.5) * step;
        drawing.text([left - 8.0, y + 4.0], end, &at.to_string());
    }
    let size = step.min(cell).clamp(8.0, 11.0);
    let every = (APART / step.min(cell).max(1e-9)).ceil().max(1.0) as usize;
    for (at, name) in names.iter().enumerate().step_by(every) {
        let name: String = name.chars().take(LETTERS).collect();
        let along = at as f64 + 0.5;
        drawing.text([left - 6.0, TOP + along * step + 0.35 * size], Type { size, ..end }, &name);
        let at = [left + along * cell - 0.35 * size, TOP + h + 6.0].map(coordinate);
        drawing.begin_group(&format!("transform=\"translate({} {}) rotate(90)\"", at[0], at[1]));
        drawing.text([0.0; 2], Type { size, ..small }, &name);
        drawing.end_group();
    }
    let below = names.iter().map(|name| name.chars().count().min(LETTERS)).max().unwrap_or(0);
    let below = TOP + h + 0.6 * size * below as f64;
    drawing.text([left + 0.5 * w, below + 34.0], middle, &with_unit(axes.x.label, axes.x.unit, 0));
    // The bar.
    let bar_top = below + 46.0;
    let parts = 50;
    for part in 0..parts {
        let from = part as f64 / f64::from(parts);
        let fill = hex(table[(from * (STEPS - 1) as f64) as usize]);
        drawing.rect(
            [left + 260.0 * from, bar_top, 260.0 / f64::from(parts) + 0.3, 9.0],
            0.0,
            &fill,
        );
    }
    let label = format!(
        "{}: {} to {}",
        with_unit(cells.label, cells.unit, 0),
        significant(low),
        significant(high)
    );
    drawing.text([left + 272.0, bar_top + 9.0], small, &label);
    drawing.end_group();
    let alt = format!(
        "{}: {} of {} {} and {} {}, colours from {} to {}.",
        axes.heading,
        cells.label,
        height,
        axes.y.label,
        width,
        axes.x.label,
        coordinate(low),
        coordinate(high)
    );
    Figure::new(alt, [WIDTH, bar_top + 20.0], drawing.into_body())
}
