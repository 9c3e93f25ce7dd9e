//! Clouds of points, of any number.

use std::fmt::Write;

use super::frame::{Axes, Frame, extent, roomy};
use crate::{
    Figure,
    colour::{SERIES, hex},
    numbers::{coordinate, grouped},
};

/// Up to this many points are drawn one by one.
const FEW: usize = 1500;
/// Cells of a crowded cloud along x and y.
const CELLS: [usize; 2] = [90, 45];
/// Steps of opacity of a crowded cloud.
const LEVELS: usize = 8;

/// A cloud of points. Many points become a density: the more points (logarithmically) in a cell,
/// the darker it is. Points outside of given axis ranges are counted in a remark.
pub fn scatter(points: &[[f64; 2]], axes: &Axes<'_>) -> Figure {
    let range = |c: usize| roomy(extent(points.iter().map(|p| p[c])));
    let mut frame = Frame::new(axes, range(0), range(1), false);
    let finite = points.iter().filter(|p| p.iter().all(|v| v.is_finite()));
    let (shown, beyond): (Vec<_>, Vec<_>) = finite.partition(|p| frame.shows(**p));
    if shown.len() <= FEW {
        frame.drawing.begin_group("opacity=\"0.6\"");
        for &&[x, y] in &shown {
            let centre = [frame.x_px(x), frame.y_px(y)];
            frame.drawing.circle(centre, 2.2, &hex(SERIES[0]));
        }
        frame.drawing.end_group();
    } else {
        draw_density(&mut frame, shown.iter().map(|p| **p));
    }
    if !beyond.is_empty() {
        frame.remark(&format!("{} points beyond the axes", grouped(beyond.len())));
    }
    let (x, y) = (axes.x.label, axes.y.label);
    let count = grouped(shown.len());
    frame.finish(format!("{}: {y} against {x}, {count} points.", axes.heading))
}

fn draw_density(frame: &mut Frame<'_>, points: impl Iterator<Item = [f64; 2]>) {
    let [columns, rows] = CELLS;
    let cell = |value: f64, [low, high]: [f64; 2], n: usize| {
        ((value - low) / (high - low) * n as f64).min(n as f64 - 1.0) as usize
    };
    let mut counts = vec![0usize; columns * rows];
    for [x, y] in points {
        counts[cell(y, frame.y, rows) * columns + cell(x, frame.x, columns)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut paths = vec![String::new(); LEVELS];
    let edge = |i: usize, [low, high]: [f64; 2], n: usize| low + (high - low) * i as f64 / n as f64;
    for (i, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let share = (count as f64).ln_1p() / (most as f64).ln_1p();
        let (column, row) = (i % columns, i / columns);
        let left = frame.x_px(edge(column, frame.x, columns));
        let right = frame.x_px(edge(column + 1, frame.x, columns));
        let lower = frame.y_px(edge(row, frame.y, rows));
        let upper = frame.y_px(edge(row + 1, frame.y, rows));
        let level = (share * LEVELS as f64).ceil() as usize - 1;
        let [x, y, w, h] = [left, upper, right - left, lower - upper].map(coordinate);
        let _ = write!(paths[level.min(LEVELS - 1)], "M{x} {y}h{w}v{h}h-{w}z");
    }
    for (level, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        let opacity = (level + 1) as f64 / LEVELS as f64;
        frame.drawing.fill(path, &hex(SERIES[0]), opacity);
    }
}
