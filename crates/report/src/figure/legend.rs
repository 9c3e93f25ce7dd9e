//! What the colours of a figure mean.

use crate::{
    colour::{NO_VALUE, Rgb, hex},
    numbers::{Ticks, unit_with_power},
    raster::Raster,
    svg::{Anchor, Drawing, Type, text_width},
};

/// Text colours on the dark ground of figures.
pub(super) const BRIGHT: &str = "#eceef1";
pub(super) const SOFT: &str = "#a3a9b3";

const SIZE: f64 = 12.0;
const BAR_WIDTH: f64 = 220.0;
const BAR_HEIGHT: f64 = 9.0;

/// The key beside a figure's heading.
pub(super) enum Legend {
    /// A colour scale over a range of values.
    Bar { table: Vec<Rgb>, range: [f64; 2], unit: String, missing: bool },
    /// Named colours.
    Swatches(Vec<(Rgb, String)>),
}

impl Legend {
    /// The key of direction-coded colour.
    pub(super) fn directions() -> Self {
        let swatch = |rgb, text: &str| (rgb, text.to_string());
        Self::Swatches(vec![
            swatch([0xf0, 0x30, 0x30], "left – right"),
            swatch([0x30, 0xd0, 0x40], "front – back"),
            swatch([0x48, 0x70, 0xff], "up – down"),
        ])
    }

    /// Draws the key with its right end at `right`, its upper edge at `top`.
    pub(super) fn draw(&self, drawing: &mut Drawing, right: f64, top: f64) {
        match self {
            Self::Bar { table, range, unit, missing } => {
                draw_bar(drawing, [right - BAR_WIDTH, top], table, *range, unit);
                if *missing {
                    let swatch = [(NO_VALUE, "no value".to_string())];
                    draw_swatches(drawing, right - BAR_WIDTH - 90.0, top, &swatch);
                }
            }
            Self::Swatches(swatches) => draw_swatches(drawing, right, top, swatches),
        }
    }

    /// Width of the key at most.
    pub(super) fn width(&self) -> f64 {
        match self {
            Self::Bar { missing, .. } => BAR_WIDTH + if *missing { 180.0 } else { 90.0 },
            Self::Swatches(swatches) => swatches.iter().map(|(_, text)| swatch_width(text)).sum(),
        }
    }
}

fn draw_bar(
    drawing: &mut Drawing,
    [left, top]: [f64; 2],
    table: &[Rgb],
    range: [f64; 2],
    unit: &str,
) {
    let ramp = Raster::new(table.len(), 1, |column, _| table[column]);
    drawing.image([left, top, BAR_WIDTH, BAR_HEIGHT], &ramp, false);
    let [low, high] = range;
    let ticks = Ticks::new(low, high, 4);
    for (value, text) in &ticks.marks {
        let x = left + BAR_WIDTH * (value - low) / (high - low);
        drawing.line([x, top + BAR_HEIGHT], [x, top + BAR_HEIGHT + 3.0], SOFT, 1.0);
        let style = Type { size: 11.0, fill: SOFT, anchor: Anchor::Middle, bold: false };
        drawing.text([x, top + BAR_HEIGHT + 15.0], style, text);
    }
    let style = Type { size: 11.0, fill: SOFT, anchor: Anchor::End, bold: false };
    drawing.text([left - 9.0, top + 9.0], style, &unit_with_power(unit, ticks.exponent));
}

fn swatch_width(text: &str) -> f64 {
    10.0 + 6.0 + text_width(text, SIZE) + 18.0
}

fn draw_swatches(drawing: &mut Drawing, right: f64, top: f64, swatches: &[(Rgb, String)]) {
    let mut left = right - swatches.iter().map(|(_, text)| swatch_width(text)).sum::<f64>() + 18.0;
    for (rgb, text) in swatches {
        drawing.rect([left, top + 1.0, 10.0, 10.0], 2.5, &hex(*rgb));
        let style = Type { size: SIZE, fill: SOFT, anchor: Anchor::Start, bold: false };
        drawing.text([left + 16.0, top + 10.5], style, text);
        left += swatch_width(text);
    }
}
