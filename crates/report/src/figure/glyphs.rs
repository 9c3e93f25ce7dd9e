//! Fibre directions as sticks.

use std::{collections::BTreeMap, fmt::Write};

use fimbria_image::{Image, Mask};

use super::{
    Figure, FigureError, check, contains,
    legend::Legend,
    mosaic::{Face, Panel, Sheet, card, empty},
    scalar::colour_of,
};
use crate::{
    Plane, Window,
    colour::{self, BACKGROUND, Rgb, Scale, hex},
    numbers::coordinate,
    slices::View,
    svg::Drawing,
    window::{percentile, range_of},
};

const TALLEST: f64 = 900.0;

/// How directions are drawn as sticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Glyphs<'a> {
    /// Heading of the figure.
    pub heading: &'a str,
    /// The plane to cut through the mask's centre; `None` for axial, or the plane of a thin slab.
    pub plane: Option<Plane>,
    /// Sticks are drawn only where the background map is at least this.
    pub threshold: f32,
    /// Range of the background from black to its brightest grey.
    pub window: Window,
}

impl<'a> Glyphs<'a> {
    /// Sticks in every voxel of the mask.
    pub fn new(heading: &'a str) -> Self {
        Self { heading, plane: None, threshold: 0.0, window: Window::FromZero }
    }
}

/// One slice of directions as sticks over a dimmed grey map, each in the colour of its direction.
///
/// `peaks_ras` has three volumes per direction (scanner RAS components; length = amplitude; NaN
/// or zero where a voxel has fewer): V1 of a tensor, or several peaks. Sticks are drawn in the
/// projection onto the slice, as long as their amplitude is relative to its 99th percentile. A
/// smaller mask is a closer look.
///
/// # Errors
/// [`FigureError`] where an image is on another grid than the mask, or the number of peak volumes
/// is not a positive multiple of three.
pub fn glyphs(
    peaks_ras: &Image,
    background: &Image,
    mask: &Mask,
    style: &Glyphs<'_>,
) -> Result<Figure, FigureError> {
    check(background, mask, &format!("the background of {}", style.heading), 1)?;
    check(peaks_ras, mask, style.heading, 3)?;
    if !peaks_ras.n_volumes.is_multiple_of(3) {
        return Err(FigureError::Volumes {
            what: style.heading.into(),
            volumes: peaks_ras.n_volumes,
            needed: "three per direction".into(),
        });
    }
    let Some(view) = View::new(mask) else { return Ok(empty(style.heading)) };
    let plane = style.plane.unwrap_or_else(|| view.main_plane());
    let slice = view.central(plane);
    let sheet = Sheet::single(&view, slice, TALLEST);

    let grey = background.volume(0);
    let range = range_of(style.window, mask.voxels.iter().map(|&i| grey[i as usize]));
    let table = Scale::Grey.table();
    let dimmed = |index: usize| {
        if !contains(mask, index) {
            return BACKGROUND;
        }
        // Half as bright, so that the sticks are in front.
        let level =
            if grey[index].is_finite() { colour_of(grey[index], range, &table) } else { [0; 3] };
        std::array::from_fn(|k| BACKGROUND[k] / 2 + level[k] / 2)
    };
    let field = Field { peaks_ras, longest: longest(peaks_ras, mask) };
    let drawn = |index: usize| contains(mask, index) && grey[index] >= style.threshold;
    let count = peaks_ras.n_volumes / 3;
    let alt = format!(
        "{} in the {} slice {} mm: {}, coloured by direction, over a grey map.",
        style.heading,
        plane.name(),
        view.place(slice),
        if count == 1 {
            "a stick per voxel".into()
        } else {
            format!("up to {count} sticks per voxel")
        },
    );
    let face = Face { heading: style.heading, legend: Legend::directions(), smooth: true };
    Ok(card(&view, &sheet, alt, &face, dimmed, |drawing, panel| {
        field.draw(drawing, &view, panel, drawn);
    }))
}

/// The 99th percentile of the amplitudes in the mask.
fn longest(peaks_ras: &Image, mask: &Mask) -> f64 {
    let mut amplitudes = Vec::new();
    for peak in 0..peaks_ras.n_volumes / 3 {
        for &index in &mask.voxels {
            let amplitude = norm(peak_at(peaks_ras, peak, index as usize));
            if amplitude > 0.0 && amplitude.is_finite() {
                amplitudes.push(amplitude as f32);
            }
        }
    }
    percentile(&mut amplitudes, 0.99)
}

fn peak_at(peaks_ras: &Image, peak: usize, index: usize) -> [f64; 3] {
    std::array::from_fn(|c| f64::from(peaks_ras.volume(3 * peak + c)[index]))
}

fn norm(v: [f64; 3]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Peaks and the amplitude that is drawn as a full stick.
struct Field<'a> {
    peaks_ras: &'a Image,
    longest: f64,
}

impl Field<'_> {
    fn draw(
        &self,
        drawing: &mut Drawing,
        view: &View,
        panel: &Panel,
        drawn: impl Fn(usize) -> bool,
    ) {
        let plane = panel.slice.plane;
        let [columns, rows] = view.pixels(plane);
        let [x, y, w, h] = panel.rect;
        let voxel_px = [w / columns as f64, h / rows as f64];
        let voxel_mm = view.voxel_mm(plane);
        let px_per_mm = voxel_px[0] / voxel_mm[0];
        let half_length = 0.47 * voxel_mm[0].min(voxel_mm[1]) * px_per_mm;

        // One path for all sticks of a colour keeps the drawing small.
        let mut paths: BTreeMap<Rgb, String> = BTreeMap::new();
        for row in 0..rows {
            for column in 0..columns {
                let index = view.index(panel.slice, column, row);
                if !drawn(index) {
                    continue;
                }
                for peak in 0..self.peaks_ras.n_volumes / 3 {
                    let dir_ras = peak_at(self.peaks_ras, peak, index);
                    let amplitude = norm(dir_ras);
                    if !(amplitude > 0.0 && amplitude.is_finite()) {
                        continue;
                    }
                    let length = half_length * (amplitude / self.longest).min(1.0);
                    let along = view.project(plane, dir_ras.map(|v| v / amplitude * length));
                    let centre = [
                        x + (column as f64 + 0.5) * voxel_px[0],
                        y + (row as f64 + 0.5) * voxel_px[1],
                    ];
                    let path = paths.entry(stick_colour(dir_ras)).or_default();
                    // Up in the picture is towards smaller y.
                    let _ = write!(
                        path,
                        "M{} {}l{} {}",
                        coordinate(centre[0] - along[0]),
                        coordinate(centre[1] + along[1]),
                        coordinate(2.0 * along[0]),
                        coordinate(-2.0 * along[1])
                    );
                }
            }
        }
        let width = (0.16 * voxel_px[0].min(voxel_px[1])).clamp(0.7, 4.0);
        for (rgb, path) in paths {
            drawing.path(&path, &hex(rgb), width, "");
        }
    }
}

/// Direction-coded colour in 16 levels, lifted so that it reads on dark grey.
pub(super) fn stick_colour(dir_ras: [f64; 3]) -> Rgb {
    colour::direction(dir_ras.map(|v| v as f32), 1.0).map(|v| 60 + (v / 17) * 13)
}
