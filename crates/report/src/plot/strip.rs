//! One value of each of many subjects.

use super::frame::{extent, roomy};
use crate::{
    Figure,
    colour::{SERIES, hex},
    numbers::{Ticks, coordinate, with_unit},
    svg::{Anchor, Drawing, Type, escape},
};

/// A value, whose it is, and where more is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot<'a> {
    /// The value.
    pub value: f64,
    /// Shown with it where the pointer rests on the dot.
    pub name: &'a str,
    /// Where a click leads: a page beside this one.
    pub link: &'a str,
}

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 132.0;
const LEFT: f64 = 16.0;
const RIGHT: f64 = WIDTH - 16.0;
const MIDDLE: f64 = 64.0;
const BOTTOM: f64 = 102.0;
const RADIUS: f64 = 4.0;

/// A strip of dots along an axis; those that would lie on each other stand side by side. Values that
/// are not finite are left out.
pub fn strip(heading: &str, unit: &str, dots: &[Dot<'_>]) -> Figure {
    const INK: &str = "currentColor";
    let small = Type { size: 11.5, fill: INK, anchor: Anchor::Start, bold: false };
    let mut drawing = Drawing::default();
    let mut shown: Vec<&Dot<'_>> = dots.iter().filter(|dot| dot.value.is_finite()).collect();
    shown.sort_by(|a, b| a.value.total_cmp(&b.value));
    let [low, high] = roomy(extent(shown.iter().map(|dot| dot.value)));
    let ticks = Ticks::new(low, high, 6);
    let x_px = |value: f64| LEFT + (RIGHT - LEFT) * (value - low) / (high - low);
    drawing.text([0.0, 16.0], Type { size: 15.0, bold: true, ..small }, heading);
    drawing.begin_group("opacity=\"0.7\"");
    drawing.line([LEFT, BOTTOM], [RIGHT, BOTTOM], INK, 1.0);
    let label = with_unit("", unit, ticks.exponent);
    drawing.text([RIGHT, 16.0], Type { anchor: Anchor::End, ..small }, label.trim());
    for (value, text) in &ticks.marks {
        let x = x_px(*value);
        drawing.line([x, BOTTOM], [x, BOTTOM + 4.0], INK, 1.0);
        drawing.text([x, BOTTOM + 18.0], Type { anchor: Anchor::Middle, ..small }, text);
    }
    drawing.end_group();
    let fill = hex(SERIES[0]);
    let mut ends: Vec<f64> = Vec::new();
    for dot in &shown {
        let x = x_px(dot.value);
        // The first row that is free here; rows alternate about the middle.
        let row = ends.iter().position(|end| x - end >= 2.0 * RADIUS).unwrap_or(ends.len());
        match ends.get_mut(row) {
            Some(end) => *end = x,
            None => ends.push(x),
        }
        let side = if row % 2 == 0 { 1.0 } else { -1.0 };
        let offset = side * row.div_ceil(2) as f64 * 2.0 * RADIUS;
        // Where there are too many for the strip, the outer ones do lie on each other.
        let y = MIDDLE + offset.clamp(-32.0, 32.0);
        let value = format!("{:.4}", Significant(dot.value));
        drawing.linked_circle([x, y], RADIUS, &fill, dot.link, &format!("{}: {value}", dot.name));
    }
    let count = shown.len();
    let alt = format!(
        "{}: values of {count} from {} to {}.",
        escape(heading),
        coordinate(low),
        coordinate(high)
    );
    Figure::new(alt, [WIDTH, HEIGHT], drawing.into_body())
}

/// A number with so many digits that count, as the precision says.
struct Significant(f64);

impl std::fmt::Display for Significant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = f.precision().unwrap_or(4);
        let size = self.0.abs();
        match size > 0.0 && !(1e-3..1e6).contains(&size) {
            true => write!(f, "{:.*e}", digits.saturating_sub(1), self.0),
            false => {
                let whole = if size >= 1.0 { size.log10().floor() as usize + 1 } else { 1 };
                write!(f, "{:.*}", digits.saturating_sub(whole), self.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dot_leads_to_the_page_of_its_subject() {
        let dots = [
            Dot { value: 0.4, name: "sub-01", link: "sub-01.html" },
            Dot { value: 0.4, name: "sub-<2>", link: "sub-02.html" },
            Dot { value: f64::NAN, name: "sub-03", link: "sub-03.html" },
        ];
        let svg = strip("FA", "", &dots).svg();
        assert!(
            svg.contains("<a href=\"sub-01.html\"><title>sub-01: 0.400</title><circle"),
            "{svg}"
        );
        assert!(svg.contains("sub-&lt;2&gt;: 0.400"));
        assert!(!svg.contains("sub-03"));
        let heights: Vec<&str> =
            svg.split("cy=\"").skip(1).map(|s| s.split('"').next().unwrap()).collect();
        assert_ne!(heights[0], heights[1], "one lies on the other");
    }

    #[test]
    fn small_numbers_keep_their_digits() {
        assert_eq!(format!("{:.4}", Significant(7.123456e-4)), "7.123e-4");
        assert_eq!(format!("{:.4}", Significant(98.7654)), "98.77");
        assert_eq!(format!("{:.4}", Significant(0.0)), "0.000");
    }
}
