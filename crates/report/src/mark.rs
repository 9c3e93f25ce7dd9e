//! The sign of the project: a bundle that sheds a fringe of fibres, and the name beside it.

use std::fmt::Write;

use crate::numbers::coordinate;

const FIBRES: usize = 7;

/// The fringe alone, as an element of a page (once per page, for its gradient has a name).
pub(crate) fn symbol() -> String {
    format!(
        "<svg viewBox=\"0 0 94 90\" width=\"94\" height=\"90\" aria-hidden=\"true\">{}</svg>",
        fringe()
    )
}

/// Fringe and name as an SVG file, its ink suited to light and dark pages.
pub fn wordmark() -> String {
    // The letters as strokes of one width. Each starts at its left stem on the baseline; the
    // number is the distance to the next letter.
    const BOWL: &str = "M0 -21.5A21.5 21.5 0 1 1 43 -21.5A21.5 21.5 0 1 1 0 -21.5";
    let letters = [
        ("M25 -70C13 -72 9 -65 9 -54V0M0 -43H23".to_string(), 39.0),
        ("M0 -43V0M0 -62V-62.01".to_string(), 20.0),
        (
            "M0 -43V0M0 -26C1 -37 7 -43 15 -43C24 -43 28 -37 28 -28V0\
             M28 -26C29 -37 35 -43 43 -43C52 -43 56 -37 56 -28V0"
                .to_string(),
            77.0,
        ),
        (format!("M0 -71V0{BOWL}"), 63.0),
        ("M0 -43V0M0 -24C1 -37 8 -44 20 -42".to_string(), 34.0),
        ("M0 -43V0M0 -62V-62.01".to_string(), 21.0),
        (format!("M43 -43V0{BOWL}"), 43.0),
    ];
    let mut name = String::new();
    let mut x = 0.0;
    for (path, advance) in letters {
        let _ = write!(name, "<path transform=\"translate({x})\" d=\"{path}\"/>");
        x += advance;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"460\" height=\"114\" \
         viewBox=\"0 0 460 114\" role=\"img\" aria-label=\"fimbria\">\n\
         <style>.ink{{stroke:#23262b}}\
         @media(prefers-color-scheme:dark){{.ink{{stroke:#e6e8ec}}}}</style>\n\
         <g transform=\"translate(8 10)\">{}</g>\n\
         <g class=\"ink\" transform=\"translate(132 92)\" fill=\"none\" stroke-width=\"6.2\" \
         stroke-linecap=\"round\" stroke-linejoin=\"round\">{name}</g>\n</svg>\n",
        fringe()
    )
}

/// Fibres that come side by side from the left and turn down one after the other, in
/// direction-coded colour: red where they run left-right, blue where they run up-down.
fn fringe() -> String {
    let mut paths = String::new();
    for i in 0..FIBRES {
        let t = i as f64 / (FIBRES - 1) as f64;
        let start = [4.0, 7.0 + 29.0 * t];
        let radius = 28.0 - 14.0 * t;
        let down = 90.0 - 66.0 * t;
        let end = 82.0 - 40.0 * (t - 0.45).powi(2);
        let points = [
            [down - radius, start[1]],
            [down - 0.45 * radius, start[1]],
            [down, start[1] + 0.45 * radius],
            [down, start[1] + radius],
        ];
        let [[x0, _], c1, c2, p] = points.map(|p| p.map(coordinate));
        let (x, y, end) = (coordinate(start[0]), coordinate(start[1]), coordinate(end));
        let _ = write!(
            paths,
            "<path d=\"M{x} {y}H{x0}C{} {} {} {} {} {}V{end}\"/>",
            c1[0], c1[1], c2[0], c2[1], p[0], p[1]
        );
    }
    format!(
        "<linearGradient id=\"fringe\" gradientUnits=\"userSpaceOnUse\" x1=\"30\" y1=\"6\" \
         x2=\"62\" y2=\"82\"><stop stop-color=\"#cf5a4e\"/>\
         <stop offset=\".45\" stop-color=\"#8a63a8\"/>\
         <stop offset=\"1\" stop-color=\"#3d7fbe\"/></linearGradient>\
         <g fill=\"none\" stroke=\"url(#fringe)\" stroke-width=\"3.8\" stroke-linecap=\"round\">\
         {paths}</g>"
    )
}
