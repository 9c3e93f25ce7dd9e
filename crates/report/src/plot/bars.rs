//! Named amounts.

use super::frame::{Axes, Frame};
use crate::{
    Figure,
    colour::{SERIES, hex},
    numbers::significant,
};

/// One bar per name, from zero, with its value above it. The x axis's label stands below the
/// names; its range is not used. Values that are not finite have no bar.
pub fn bars(amounts: &[(&str, f64)], axes: &Axes<'_>) -> Figure {
    let finite = || amounts.iter().map(|&(_, v)| v).filter(|v| v.is_finite());
    let (low, high) = (finite().fold(0.0, f64::min), finite().fold(0.0, f64::max));
    // Room for the values above the bars.
    let y = if high > low { [1.1 * low, 1.1 * high] } else { [0.0, 1.0] };
    let x = [0.0, amounts.len().max(1) as f64];
    let unranged = Axes { x: super::Axis { range: None, ..axes.x.clone() }, ..axes.clone() };
    let mut frame = Frame::new(&unranged, x, y, true);
    let width = (0.62 * (frame.x_px(1.0) - frame.x_px(0.0))).min(72.0);
    let zero = frame.y_px(frame.y[0].max(0.0));
    for (i, &(name, value)) in amounts.iter().enumerate() {
        let middle = frame.x_px(i as f64 + 0.5);
        frame.category(middle, name);
        if value.is_finite() {
            let end = frame.y_px(value.clamp(frame.y[0], frame.y[1]));
            let rect = [middle - 0.5 * width, end.min(zero), width, (end - zero).abs()];
            frame.drawing.rect(rect, 2.0, &hex(SERIES[0]));
            frame.value([middle, end.min(zero) - 6.0], &significant(value));
        }
    }
    let listed: Vec<String> =
        amounts.iter().map(|(name, value)| format!("{name} {}", significant(*value))).collect();
    frame.finish(format!("{}: {} of {}.", axes.heading, axes.y.label, listed.join(", ")))
}
