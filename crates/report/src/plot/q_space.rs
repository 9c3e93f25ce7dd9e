//! Where a series sampled q-space.

use crate::{
    Figure,
    colour::{SERIES, hex},
    svg::{Anchor, Drawing, Type, escape},
};

const SIZE: f64 = 420.0;
const RADIUS: f64 = 165.0;
const MIDDLE: [f64; 2] = [210.0, 232.0];
/// Turns about the vertical and then the horizontal axis of the picture, radians: x to the right and
/// towards the reader, z up.
const YAW: f64 = 0.6;
const PITCH: f64 = 0.35;

/// Samples of q-space: of each the shell it belongs to, b in s/mm² and its direction in scanner axes. Each
/// lies at the root of its b along its direction, and again at the other side. Where scripts run, the page
/// lets the reader turn it.
pub fn q_space(samples: &[(usize, f64, [f64; 3])]) -> Figure {
    let largest = samples.iter().map(|(_, b, _)| *b).fold(0.0, f64::max).max(1e-9);
    let mut drawing = Drawing::default();
    let small = Type { size: 11.5, fill: "currentColor", anchor: Anchor::Start, bold: false };
    drawing.text(
        [0.0, 22.0],
        Type { size: 15.0, bold: true, ..small },
        "Where q-space was sampled",
    );
    drawing.begin_group("class=\"q-space\"");
    for (axis, name) in ["R", "A", "S"].into_iter().enumerate() {
        let mut end = [0.0; 3];
        end[axis] = 1.12;
        let [x, y, _] = placed(end);
        drawing.begin_group(&format!("opacity=\"0.5\" data-axis=\"{}\"", words(end)));
        drawing.line(MIDDLE, [x, y], "currentColor", 1.0);
        let style = Type { anchor: Anchor::Middle, ..small };
        drawing.text([x, y - 4.0], style, name);
        drawing.end_group();
    }
    let mut points: Vec<(usize, [f64; 3])> = Vec::new();
    for &(shell, b, dir) in samples {
        let length = (b / largest).max(0.0).sqrt();
        points.push((shell, dir.map(|x| x * length)));
        if b > 0.0 {
            points.push((shell, dir.map(|x| -x * length)));
        }
    }
    // What is nearer is drawn over what is farther.
    points.sort_by(|a, b| placed(a.1)[2].total_cmp(&placed(b.1)[2]));
    for (shell, at) in points {
        let [x, y, depth] = placed(at);
        let opacity = 0.35 + 0.65 * (0.5 + 0.5 * depth).clamp(0.0, 1.0);
        drawing.begin_group(&format!("data-at=\"{}\" opacity=\"{opacity:.2}\"", words(at)));
        drawing.circle([x, y], 3.4, &hex(SERIES[shell % SERIES.len()]));
        drawing.end_group();
    }
    drawing.end_group();
    let mut shells: Vec<(usize, f64)> = samples.iter().map(|(shell, b, _)| (*shell, *b)).collect();
    shells.sort_by_key(|(shell, _)| *shell);
    shells.dedup_by_key(|(shell, _)| *shell);
    for (row, (shell, b)) in shells.iter().take(12).enumerate() {
        let y = 46.0 + 16.0 * row as f64;
        drawing.circle([4.0, y - 4.0], 4.0, &hex(SERIES[shell % SERIES.len()]));
        drawing.text([13.0, y], small, &format!("b = {b:.0}"));
    }
    let alt = format!(
        "{} samples of q-space in {} shells, turned so that right is to the right and superior up.",
        samples.len(),
        shells.len()
    );
    Figure::new(alt, [SIZE, SIZE], drawing.into_body())
}

/// Place in the picture and depth towards the reader.
fn placed([x, y, z]: [f64; 3]) -> [f64; 3] {
    let (across, deep) = (x * YAW.cos() - y * YAW.sin(), x * YAW.sin() + y * YAW.cos());
    let (up, near) = (z * PITCH.cos() + deep * PITCH.sin(), z * PITCH.sin() - deep * PITCH.cos());
    [MIDDLE[0] + RADIUS * across, MIDDLE[1] - RADIUS * up, near]
}

fn words(at: [f64; 3]) -> String {
    escape(&at.map(|x| format!("{x:.4}")).join(" ")).replace("-0.0000", "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_weighted_sample_is_drawn_twice_at_the_root_of_its_b() {
        let svg = q_space(&[
            (0, 0.0, [0.0; 3]),
            (1, 1000.0, [1.0, 0.0, 0.0]),
            (2, 4000.0, [0.0, 0.6, 0.8]),
        ]);
        let svg = svg.svg();
        assert_eq!(svg.matches("data-at=").count(), 5);
        assert!(
            svg.contains("data-at=\"0.5000 0 0\"")
                || svg.contains("data-at=\"0.5000 0.0000 0.0000\"")
        );
        assert!(svg.contains("data-at=\"0.0000 0.6000 0.8000\""));
    }
}
