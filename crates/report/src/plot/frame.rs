//! Axes, ticks, headings and guides that all plots share.

use crate::{
    Figure,
    colour::{Rgb, hex},
    numbers::{Ticks, with_unit},
    svg::{Anchor, Drawing, Type, text_width},
};

/// What an axis shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis<'a> {
    /// The quantity.
    pub label: &'a str,
    /// Its unit, empty for a pure number.
    pub unit: &'a str,
    /// Low and high end; `None` for the range of the data.
    pub range: Option<[f64; 2]>,
}

impl<'a> Axis<'a> {
    /// An axis over the range of the data.
    pub fn new(label: &'a str, unit: &'a str) -> Self {
        Self { label, unit, range: None }
    }

    /// The same axis over a given range.
    pub fn over(self, low: f64, high: f64) -> Self {
        Self { range: Some([low, high]), ..self }
    }
}

/// A thin line to compare the data with.
#[derive(Clone, Debug, PartialEq)]
pub enum Guide {
    /// Where y = x.
    Identity,
    /// At this x, with a label.
    Vertical(f64, String),
    /// At this y, with a label.
    Horizontal(f64, String),
}

/// The frame of a plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axes<'a> {
    /// Heading of the figure.
    pub heading: &'a str,
    /// The horizontal axis.
    pub x: Axis<'a>,
    /// The vertical axis.
    pub y: Axis<'a>,
    /// Lines to compare with.
    pub guides: Vec<Guide>,
}

pub(super) const WIDTH: f64 = 520.0;
pub(super) const HEIGHT: f64 = 340.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = WIDTH - 16.0;
const TOP: f64 = 72.0;
const BOTTOM: f64 = HEIGHT - 46.0;
const INK: &str = "currentColor";
const SMALL: Type<'static> = Type { size: 11.5, fill: INK, anchor: Anchor::Start, bold: false };

/// A plot under construction: the drawing and where its data go.
pub(super) struct Frame<'a> {
    axes: &'a Axes<'a>,
    pub(super) drawing: Drawing,
    pub(super) x: [f64; 2],
    pub(super) y: [f64; 2],
}

impl<'a> Frame<'a> {
    /// Axes over the given ranges where they do not have their own, drawn up to the data. The
    /// x axis has no tick marks where `categories` will be written below it.
    pub(super) fn new(axes: &'a Axes<'a>, x: [f64; 2], y: [f64; 2], categories: bool) -> Self {
        let x = proper(axes.x.range.unwrap_or(x));
        let y = proper(axes.y.range.unwrap_or(y));
        let mut frame = Self { axes, drawing: Drawing::default(), x, y };
        let x_ticks = Ticks::new(x[0], x[1], if categories { 1 } else { 6 });
        let y_ticks = Ticks::new(y[0], y[1], 5);
        frame.lines(&y_ticks);
        frame.words(&x_ticks, &y_ticks, categories);
        frame
    }

    fn lines(&mut self, y_ticks: &Ticks) {
        self.drawing.begin_group("opacity=\"0.13\"");
        for &(value, _) in &y_ticks.marks {
            let y = self.y_px(value);
            self.drawing.line([LEFT, y], [RIGHT, y], INK, 1.0);
        }
        self.drawing.end_group();
    }

    fn words(&mut self, x_ticks: &Ticks, y_ticks: &Ticks, categories: bool) {
        let heading = Type { size: 15.0, bold: true, ..SMALL };
        self.drawing.text([0.0, 22.0], heading, self.axes.heading);
        self.drawing.begin_group("opacity=\"0.7\"");
        let y_label = with_unit(self.axes.y.label, self.axes.y.unit, y_ticks.exponent);
        self.drawing.text([0.0, 50.0], SMALL, &y_label);
        for (value, text) in &y_ticks.marks {
            let style = Type { anchor: Anchor::End, ..SMALL };
            self.drawing.text([LEFT - 8.0, self.y_px(*value) + 4.0], style, text);
        }
        let middle = Type { anchor: Anchor::Middle, ..SMALL };
        if !categories {
            for (value, text) in &x_ticks.marks {
                let x = self.x_px(*value);
                self.drawing.line([x, BOTTOM], [x, BOTTOM + 4.0], INK, 1.0);
                self.drawing.text([x, BOTTOM + 18.0], middle, text);
            }
            self.drawing.line([LEFT, BOTTOM], [RIGHT, BOTTOM], INK, 1.0);
        }
        let exponent = if categories { 0 } else { x_ticks.exponent };
        let x_label = with_unit(self.axes.x.label, self.axes.x.unit, exponent);
        self.drawing.text([0.5 * (LEFT + RIGHT), HEIGHT - 8.0], middle, &x_label);
        self.drawing.end_group();
    }

    /// Horizontal place of a value.
    pub(super) fn x_px(&self, x: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * (x - self.x[0]) / (self.x[1] - self.x[0])
    }

    /// Vertical place of a value.
    pub(super) fn y_px(&self, y: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * (y - self.y[0]) / (self.y[1] - self.y[0])
    }

    /// True where a point can be drawn: finite and within the axes.
    pub(super) fn shows(&self, [x, y]: [f64; 2]) -> bool {
        x >= self.x[0] && x <= self.x[1] && y >= self.y[0] && y <= self.y[1]
    }

    /// The names of the series, on the right of the line that also has the y axis's label.
    pub(super) fn key(&mut self, names: &[(&str, Rgb)]) {
        let item_width = |text: &str| 14.0 + text_width(text, SMALL.size) + 12.0;
        let mut left = RIGHT + 12.0 - names.iter().map(|(text, _)| item_width(text)).sum::<f64>();
        for (text, rgb) in names {
            self.drawing.circle([left + 4.0, 46.0], 4.0, &hex(*rgb));
            self.drawing.text([left + 13.0, 50.0], SMALL, text);
            left += item_width(text);
        }
    }

    /// A remark at the right of the heading's line.
    pub(super) fn remark(&mut self, text: &str) {
        self.drawing.begin_group("opacity=\"0.7\"");
        self.drawing.text([RIGHT, 22.0], Type { anchor: Anchor::End, ..SMALL }, text);
        self.drawing.end_group();
    }

    /// A category's name below the axis.
    pub(super) fn category(&mut self, x_px: f64, text: &str) {
        self.drawing.begin_group("opacity=\"0.7\"");
        let style = Type { anchor: Anchor::Middle, ..SMALL };
        self.drawing.text([x_px, BOTTOM + 18.0], style, text);
        self.drawing.end_group();
    }

    /// A number beside its mark, centred.
    pub(super) fn value(&mut self, position: [f64; 2], text: &str) {
        self.drawing.text(position, Type { anchor: Anchor::Middle, ..SMALL }, text);
    }

    /// Guides on top of the data, and the finished figure.
    pub(super) fn finish(mut self, alt: String) -> Figure {
        for guide in &self.axes.guides {
            self.draw_guide(guide);
        }
        Figure::new(alt, [WIDTH, HEIGHT], self.drawing.into_body())
    }

    fn draw_guide(&mut self, guide: &Guide) {
        let ([from, to], label) = match guide {
            Guide::Identity => {
                let low = self.x[0].max(self.y[0]);
                let high = self.x[1].min(self.y[1]);
                ([[low, low], [high, high]], "")
            }
            Guide::Vertical(x, label) => ([[*x, self.y[0]], [*x, self.y[1]]], label.as_str()),
            Guide::Horizontal(y, label) => ([[self.x[0], *y], [self.x[1], *y]], label.as_str()),
        };
        if !(self.shows(from) && self.shows(to)) {
            return;
        }
        let [from, to] = [from, to].map(|[x, y]| [self.x_px(x), self.y_px(y)]);
        let data = format!("M{:.2} {:.2}L{:.2} {:.2}", from[0], from[1], to[0], to[1]);
        self.drawing.path(&data, INK, 1.2, " stroke-dasharray=\"1 4\" opacity=\"0.75\"");
        // Above the upper end of a vertical guide, above the right end of a horizontal one; the
        // text stays inside the picture.
        let vertical = matches!(guide, Guide::Vertical(..));
        let half = 0.5 * text_width(label, SMALL.size);
        let (x, anchor) = if vertical {
            (to[0].min(WIDTH - 4.0 - half), Anchor::Middle)
        } else {
            (to[0], Anchor::End)
        };
        self.drawing.text([x, to[1] - 5.0], Type { anchor, ..SMALL }, label);
    }
}

/// The range itself where it is finite and increasing, else one that is.
pub(super) fn proper([low, high]: [f64; 2]) -> [f64; 2] {
    let room = 0.5 * low.abs();
    match ((2.0 * (high - low)).is_finite(), high > low) {
        (true, true) => [low, high],
        (true, false) if low != 0.0 => [low - room, low + room],
        _ => [0.0, 1.0],
    }
}

/// Smallest and largest finite value, a little apart where all are equal; 0 to 1 for none, and where all are 0.
pub(super) fn extent(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let finite = values.filter(|v| v.is_finite());
    let range =
        finite.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)]);
    proper(range)
}

/// A range with some room at both ends; an end at zero stays there.
pub(super) fn roomy([low, high]: [f64; 2]) -> [f64; 2] {
    let room = 0.04 * (high - low);
    [if low == 0.0 { 0.0 } else { low - room }, if high == 0.0 { 0.0 } else { high + room }]
}
