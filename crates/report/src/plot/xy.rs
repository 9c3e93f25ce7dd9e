//! Curves and points.

use std::fmt::Write;

use super::frame::{Axes, Frame, extent, roomy};
use crate::{
    Figure,
    colour::{SERIES, hex},
    numbers::coordinate,
};

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// Joined by a line, which is broken at points that are not finite.
    Line,
    /// As dots.
    Dots,
    /// Both.
    LineAndDots,
}

/// Points of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Series<'a> {
    /// Name in the key.
    pub name: &'a str,
    /// x and y of each point, in drawing order.
    pub points: &'a [[f64; 2]],
    /// How to draw them.
    pub marks: Marks,
}

/// Curves and dots of several series, told apart by colour.
pub fn xy(series: &[Series<'_>], axes: &Axes<'_>) -> Figure {
    let all = |c: usize| series.iter().flat_map(move |s| s.points.iter().map(move |p| p[c]));
    let mut frame = Frame::new(axes, roomy(extent(all(0))), roomy(extent(all(1))), false);
    for (s, rgb) in series.iter().zip(SERIES.into_iter().cycle()) {
        if s.marks != Marks::Dots {
            let data = line_through(&frame, s.points);
            frame.drawing.path(&data, &hex(rgb), 2.0, "");
        }
        if s.marks != Marks::Line {
            for &[x, y] in s.points {
                if frame.shows([x, y]) {
                    frame.drawing.circle([frame.x_px(x), frame.y_px(y)], 2.8, &hex(rgb));
                }
            }
        }
    }
    let names: Vec<_> = series.iter().map(|s| s.name).zip(SERIES.into_iter().cycle()).collect();
    if names.len() > 1 {
        frame.key(&names);
    }
    let listed: Vec<&str> = series.iter().map(|s| s.name).collect();
    let (x, y) = (axes.x.label, axes.y.label);
    frame.finish(format!("{}: {y} over {x} of {}.", axes.heading, listed.join(", ")))
}

fn line_through(frame: &Frame<'_>, points: &[[f64; 2]]) -> String {
    let mut data = String::new();
    let mut pen_down = false;
    for &[x, y] in points {
        if frame.shows([x, y]) {
            let command = if pen_down { 'L' } else { 'M' };
            let (x, y) = (coordinate(frame.x_px(x)), coordinate(frame.y_px(y)));
            let _ = write!(data, "{command}{x} {y}");
        }
        pen_down = frame.shows([x, y]);
    }
    data
}
