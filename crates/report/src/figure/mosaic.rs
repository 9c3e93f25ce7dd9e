//! Slices laid out on a dark card, with the letters of their sides.

use fimbria_image::Mask;

use super::{
    Figure, contains,
    legend::{BRIGHT, Legend, SOFT},
};
use crate::{
    colour::{BACKGROUND, Rgb, hex},
    slices::{Layout, Slice, View},
    svg::{Anchor, Drawing, Type, text_width},
};

/// Width of every card, so that those of a page are flush.
pub(super) const WIDTH: f64 = 1080.0;
const PADDING: f64 = 20.0;
const HEADER: f64 = 66.0;
/// Room around a panel for the letters of its sides and the place of its slice.
const MARGIN: [f64; 2] = [15.0, 18.0];
const TALLEST_PANEL: f64 = 600.0;

/// A slice and the rectangle its voxels cover.
pub(super) struct Panel {
    pub(super) slice: Slice,
    pub(super) rect: [f64; 4],
}

/// The slices to show, in rows of equal scale, and the size of all.
pub(super) struct Sheet {
    pub(super) panels: Vec<Panel>,
    pub(super) size: [f64; 2],
}

/// A group of panels of one plane in rows and columns.
struct Block {
    slices: Vec<Slice>,
    columns: usize,
    panel_mm: [f64; 2],
}

impl Block {
    fn rows(&self) -> usize {
        self.slices.len().div_ceil(self.columns)
    }

    fn counts(&self) -> [f64; 2] {
        [self.columns as f64, self.rows() as f64]
    }

    /// Width or height of all panels with their margins.
    fn size(&self, px_per_mm: f64, side: usize) -> f64 {
        self.counts()[side] * (self.panel_mm[side] * px_per_mm + 2.0 * MARGIN[side])
    }
}

impl Sheet {
    /// The main plane's slices in up to three rows, beside them one slice of each other plane.
    pub(super) fn mosaic(view: &View, layout: Layout) -> Self {
        let main = view.main_plane();
        let slices = view.through(main, layout.slices);
        let rows = match slices.len() {
            0..=5 => 1,
            6..=12 => 2,
            _ => 3,
        };
        let columns = slices.len().div_ceil(rows);
        let mut blocks = vec![Block { slices, columns, panel_mm: view.extent_mm(main) }];
        if layout.orthogonal {
            for plane in view.cross_planes() {
                let slices = vec![view.central(plane)];
                blocks.push(Block { slices, columns: 1, panel_mm: view.extent_mm(plane) });
            }
        }
        Self::arrange(&blocks, TALLEST_PANEL)
    }

    /// One slice, as large as fits.
    pub(super) fn single(view: &View, slice: Slice, tallest: f64) -> Self {
        let panel_mm = view.extent_mm(slice.plane);
        Self::arrange(&[Block { slices: vec![slice], columns: 1, panel_mm }], tallest)
    }

    /// The first block on the left; the others right of it, above one another where it has
    /// several rows.
    fn arrange(blocks: &[Block], tallest: f64) -> Self {
        let (main, others) = blocks.split_at(1);
        let stacked = main[0].rows() > 1;
        let mut groups = vec![main];
        if stacked && !others.is_empty() {
            groups.push(others);
        } else {
            groups.extend(others.chunks(1));
        }
        let group_width =
            |group: &[Block], scale| group.iter().map(|b| b.size(scale, 0)).fold(0.0, f64::max);
        let group_height = |group: &[Block], scale| group.iter().map(|b| b.size(scale, 1)).sum();
        // Sizes are linear in the scale, so two evaluations give the one that fills the width.
        let width_at = |scale| groups.iter().map(|g| group_width(g, scale)).sum::<f64>();
        let (fixed, per_scale) = (width_at(0.0), width_at(1.0) - width_at(0.0));
        let tallest_mm = blocks.iter().map(|b| b.panel_mm[1]).fold(0.0, f64::max);
        let scale = ((WIDTH - 2.0 * PADDING - fixed) / per_scale).min(tallest / tallest_mm);
        let height = groups.iter().map(|g| group_height(g, scale)).fold(0.0, f64::max);

        let mut panels = Vec::new();
        let mut left = 0.0;
        for group in &groups {
            let width = group_width(group, scale);
            let spare = (height - group_height(group, scale)) / group.len() as f64;
            let mut top = 0.5 * spare;
            for block in *group {
                let [w, h] = block.panel_mm.map(|mm| mm * scale);
                let inset = 0.5 * (width - block.size(scale, 0));
                for (i, &slice) in block.slices.iter().enumerate() {
                    let (column, row) = (i % block.columns, i / block.columns);
                    let x = left + inset + MARGIN[0] + column as f64 * (w + 2.0 * MARGIN[0]);
                    let y = top + MARGIN[1] + row as f64 * (h + 2.0 * MARGIN[1]);
                    panels.push(Panel { slice, rect: [x, y, w, h] });
                }
                top += block.size(scale, 1) + spare;
            }
            left += width;
        }
        Self { panels, size: [left, height] }
    }
}

/// What a card says about its panels.
pub(super) struct Face<'a> {
    pub(super) heading: &'a str,
    pub(super) legend: Legend,
    /// Whether colours may be mixed between voxels that are small on the screen; those of
    /// categories may not.
    pub(super) smooth: bool,
}

/// A card with heading, legend and the panels of a sheet; `over` draws on top of each panel.
pub(super) fn card(
    view: &View,
    sheet: &Sheet,
    alt: String,
    face: &Face<'_>,
    paint: impl Fn(usize) -> Rgb,
    over: impl Fn(&mut Drawing, &Panel),
) -> Figure {
    let Face { heading, legend, smooth } = face;
    // A legend that does not fit beside the heading goes below it.
    let inset = PADDING + MARGIN[0];
    let below = text_width(heading, 15.0) + 30.0 + legend.width() > WIDTH - 2.0 * inset;
    let header = if below { HEADER + 26.0 } else { HEADER };
    let height = header + sheet.size[1] + PADDING;

    let mut drawing = Drawing::default();
    drawing.rect([0.0, 0.0, WIDTH, height], 10.0, &hex(BACKGROUND));
    let style = Type { size: 15.0, fill: BRIGHT, anchor: Anchor::Start, bold: true };
    drawing.text([inset, 35.0], style, heading);
    let right = if below { inset + legend.width() } else { WIDTH - inset };
    legend.draw(&mut drawing, right, if below { 52.0 } else { 25.0 });

    for panel in &sheet.panels {
        let [x, y, w, h] = panel.rect;
        let x = x + 0.5 * (WIDTH - sheet.size[0]);
        let panel = Panel { slice: panel.slice, rect: [x, y + header - 6.0, w, h] };
        let raster = view.paint(panel.slice, &paint);
        // Where voxels are large on the screen they are shown as they are.
        let pixelated = !smooth || w / raster.width as f64 > 8.0;
        drawing.image(panel.rect, &raster, pixelated);
        over(&mut drawing, &panel);
        draw_sides(&mut drawing, view, &panel);
    }
    Figure::new(alt, [WIDTH, height], drawing.into_body())
}

fn draw_sides(drawing: &mut Drawing, view: &View, panel: &Panel) {
    let [x, y, w, h] = panel.rect;
    let [left, right, upper, lower] = panel.slice.plane.sides();
    let style = Type { size: 10.0, fill: SOFT, anchor: Anchor::Middle, bold: false };
    drawing.text([x - 8.0, y + 0.5 * h + 3.5], style, left);
    drawing.text([x + w + 8.0, y + 0.5 * h + 3.5], style, right);
    drawing.text([x + 0.5 * w, y - 4.0], style, upper);
    drawing.text([x + 0.5 * w, y + h + 11.0], style, lower);
    let place = Type { anchor: Anchor::Start, fill: "#7d848f", ..style };
    drawing.text([x, y + h + 11.0], place, &view.place(panel.slice));
}

/// A mosaic of the mask in the colours `paint` gives to linear voxel indices inside it.
pub(super) fn mosaic(
    mask: &Mask,
    layout: Layout,
    face: &Face<'_>,
    meaning: &str,
    paint: impl Fn(usize) -> Rgb,
) -> Figure {
    let Some(view) = View::new(mask) else { return empty(face.heading) };
    let sheet = Sheet::mosaic(&view, layout);
    let alt = format!("{} in {} slices, {meaning}.", face.heading, sheet.panels.len());
    let inside = |index| if contains(mask, index) { paint(index) } else { BACKGROUND };
    card(&view, &sheet, alt, face, inside, |_, _| {})
}

/// The figure of a mask without voxels.
pub(super) fn empty(heading: &str) -> Figure {
    let mut drawing = Drawing::default();
    let size = [WIDTH, 96.0];
    drawing.rect([0.0, 0.0, size[0], size[1]], 10.0, &hex(BACKGROUND));
    let style = Type { size: 15.0, fill: BRIGHT, anchor: Anchor::Start, bold: true };
    drawing.text([PADDING, 40.0], style, heading);
    let style = Type { size: 12.0, fill: SOFT, anchor: Anchor::Start, bold: false };
    drawing.text([PADDING, 64.0], style, "The mask has no voxels: there is nothing to show.");
    Figure::new(format!("{heading}: the mask has no voxels."), size, drawing.into_body())
}
