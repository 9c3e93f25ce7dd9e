//! The scene in the page: a button, and what it starts from.

use crate::raster::push_base64;
use crate::scene::{NIIVUE, Part};
use crate::svg::escape;

/// Go wherever the script goes.
const LICENSES: &str = include_str!("../../vendor/niivue/LICENSES.txt");

/// Letters that a page has for it besides its parts.
pub(super) fn letters() -> usize {
    4 * NIIVUE.len().div_ceil(3) + 6 * LICENSES.len() + 4096
}

/// What the reader sees: words where scripts are off, else the button.
pub(super) fn section(parts: &[&Part], left_out: &[&str]) -> String {
    if parts.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    let left_out = match left_out {
        [] => String::new(),
        names => format!(
            " Left out, so that the page can be sent: {}; the files have them.",
            escape(&names.join(", "))
        ),
    };
    format!(
        "<section id=\"explore\" class=\"explore\">\n<h2>Explore in 3-D</h2>\n<p>In the page: {}.{left_out} \
         Nothing is fetched from anywhere.</p>\n<noscript><p>This part needs scripts; all other pictures do \
         not.</p></noscript>\n<p><button type=\"button\" id=\"explore-start\" hidden>Explore in 3-D</button> \
         <span id=\"explore-told\" role=\"status\"></span></p>\n<div id=\"explore-stage\" hidden>\n\
         <div class=\"explore-controls\" id=\"explore-controls\"></div>\n<canvas id=\"explore-canvas\" \
         width=\"1080\" height=\"640\" tabindex=\"0\" aria-label=\"Maps and streamlines, to be turned with the \
         pointer\"></canvas>\n<p class=\"explore-place\" id=\"explore-place\"></p>\n</div>\n<details \
         class=\"explore-by\"><summary>Drawn by NiiVue (BSD-2-Clause): its licence and those of what it is made \
         of</summary><pre>{}</pre></details>\n</section>\n",
        escape(&names.join(", ")),
        escape(LICENSES)
    )
}

/// What it starts from, as text that is neither script nor shown.
pub(super) fn data(parts: &[&Part]) -> String {
    if parts.is_empty() {
        return String::new();
    }
    let mut html = String::from("<script type=\"text/plain\" id=\"niivue\">");
    push_base64(NIIVUE, &mut html);
    html += "</script>\n";
    for part in parts {
        let [low, high] = part.window;
        html += &format!(
            "<script type=\"text/plain\" class=\"scene-part\" data-kind=\"{}\" data-name=\"{}\" \
             data-unit=\"{}\" data-low=\"{low:e}\" data-high=\"{high:e}\" data-colours=\"{}\">",
            part.kind,
            escape(&part.name),
            escape(&part.unit),
            escape(&part.colours.join(","))
        );
        push_base64(&part.bytes, &mut html);
        html += "</script>\n";
    }
    html
}
