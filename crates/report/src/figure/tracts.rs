//! Streamlines as lines.

use std::{collections::BTreeMap, fmt::Write};

use fimbria_image::{Image, Mask};

use super::{
    Figure, FigureError, check, contains,
    glyphs::stick_colour,
    legend::Legend,
    mosaic::{Face, Panel, Sheet, card, empty},
    scalar::colour_of,
};
use crate::{
    Layout, Window,
    colour::{BACKGROUND, Rgb, Scale, hex},
    numbers::coordinate,
    slices::View,
    svg::Drawing,
    window::range_of,
};

/// Lines drawn in a panel at most; of more, every so manieth streamline is left out, which keeps
/// the page small and the picture legible.
const MOST_SEGMENTS: usize = 30_000;

/// How streamlines are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Tracts<'a> {
    /// Heading of the figure.
    pub heading: &'a str,
    /// Segments nearer to the middle of a slice than half of this many voxels are drawn.
    pub slab_voxels: f64,
}

impl<'a> Tracts<'a> {
    /// What is in the slices shown.
    pub fn new(heading: &'a str) -> Self {
        Self { heading, slab_voxels: 1.0 }
    }
}

/// The middle slice of each plane with the streamlines in it, each segment in the colour of its
/// direction, over a dimmed grey map.
///
/// `lines` are points in scanner RAS mm.
///
/// # Errors
/// [`FigureError`] where the background is on another grid than the mask.
pub fn tracts<'l>(
    lines: impl Iterator<Item = &'l [[f32; 3]]> + Clone,
    background: &Image,
    mask: &Mask,
    style: &Tracts<'_>,
) -> Result<Figure, FigureError> {
    check(background, mask, &format!("the background of {}", style.heading), 1)?;
    let Some(view) = View::new(mask) else { return Ok(empty(style.heading)) };
    let sheet = Sheet::mosaic(&view, Layout { slices: 1, orthogonal: true });
    let grey = background.volume(0);
    let range = range_of(Window::FromZero, mask.voxels.iter().map(|&i| grey[i as usize]));
    let table = Scale::Grey.table();
    let dimmed = |index: usize| {
        if !contains(mask, index) {
            return BACKGROUND;
        }
        let level =
            if grey[index].is_finite() { colour_of(grey[index], range, &table) } else { [0; 3] };
        // A third as bright: the lines are what is shown.
        std::array::from_fn(|k| 2 * (BACKGROUND[k] / 3) + level[k] / 3)
    };
    let alt = format!(
        "{} within {} slices, coloured by direction, over a grey map.",
        style.heading,
        sheet.panels.len()
    );
    let face = Face { heading: style.heading, legend: Legend::directions(), smooth: true };
    let vox_from_ras = mask.grid.ras_from_vox.inverse();
    Ok(card(&view, &sheet, alt, &face, dimmed, |drawing, panel| {
        let Some(vox_from_ras) = &vox_from_ras else { return };
        let slab = Slab { view: &view, panel, half: 0.5 * style.slab_voxels };
        let picked = lines.clone().enumerate().flat_map(|(line, points)| {
            let points = points.iter().map(|p| p.map(f64::from));
            let placed = points.map(|p| (p, view.locate(panel.slice, vox_from_ras.apply(p))));
            slab.segments(line, placed)
        });
        draw(drawing, &picked.collect::<Vec<_>>());
    }))
}

/// A segment in a picture.
struct Segment {
    line: usize,
    colour: Rgb,
    from: [f64; 2],
    to: [f64; 2],
}

/// What is near a slice.
struct Slab<'a> {
    view: &'a View,
    panel: &'a Panel,
    half: f64,
}

impl Slab<'_> {
    /// The segments of a streamline near the slice, from its points in scanner mm and in voxels of
    /// the picture.
    fn segments(
        &self,
        line: usize,
        points: impl Iterator<Item = ([f64; 3], [f64; 3])>,
    ) -> Vec<Segment> {
        let [columns, rows] = self.view.pixels(self.panel.slice.plane).map(|n| n as f64);
        let [x, y, w, h] = self.panel.rect;
        let mut segments = Vec::new();
        let mut before: Option<([f64; 3], [f64; 3])> = None;
        for (ras, [column, row, depth]) in points {
            if let Some((ras_before, [c, r, d])) = before
                && (0.5 * (depth + d)).abs() <= self.half
            {
                let place = |c: f64, r: f64| [x + c * w / columns, y + r * h / rows];
                let colour = stick_colour(std::array::from_fn(|k| ras[k] - ras_before[k]));
                segments.push(Segment { line, colour, from: place(c, r), to: place(column, row) });
            }
            before = Some((ras, [column, row, depth]));
        }
        segments
    }
}

/// One path for all lines of a colour keeps the drawing small.
fn draw(drawing: &mut Drawing, segments: &[Segment]) {
    let every = segments.len().div_ceil(MOST_SEGMENTS).max(1);
    let mut paths: BTreeMap<Rgb, (String, [f64; 2])> = BTreeMap::new();
    for segment in segments.iter().filter(|segment| segment.line.is_multiple_of(every)) {
        let Segment { colour, from, to, .. } = segment;
        let (path, end) = paths.entry(*colour).or_insert_with(|| (String::new(), [f64::NAN; 2]));
        if from != end {
            let _ = write!(path, "M{} {}", coordinate(from[0]), coordinate(from[1]));
        }
        let [dx, dy] = [0, 1].map(|k| coordinate(to[k] - from[k]));
        let _ = write!(path, "l{dx} {dy}");
        *end = *to;
    }
    for (colour, (path, _)) in paths {
        drawing.path(&path, &hex(colour), 0.7, " stroke-opacity=\"0.8\"");
    }
}
