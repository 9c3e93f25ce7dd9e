//! A growing SVG drawing.

use std::fmt::Write;

use crate::{numbers::coordinate, raster::Raster};

/// Fonts every system has one of; no font is embedded.
pub(crate) const FONTS: &str =
    "ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";

/// Text with the characters that HTML, SVG and their attributes give a meaning made harmless.
/// Control characters, which neither may contain, are dropped.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            c => out.push(c),
        }
    }
    out
}

/// Which end of a text sits at its position.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type<'a> {
    pub(crate) size: f64,
    pub(crate) fill: &'a str,
    pub(crate) anchor: Anchor,
    pub(crate) bold: bool,
}

/// SVG elements in drawing order. Colours are any SVG paint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drawing(String);

impl Drawing {
    pub(crate) fn into_body(self) -> String {
        self.0
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        self.0.write_fmt(element).expect("a String takes any text");
        self.0.push('\n');
    }

    pub(crate) fn text(&mut self, [x, y]: [f64; 2], style: Type<'_>, text: &str) {
        let anchor = match style.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        self.push(format_args!(
            r#"<text x="{}" y="{}" font-size="{}" fill="{}"{anchor}{}>{}</text>"#,
            coordinate(x),
            coordinate(y),
            coordinate(style.size),
            style.fill,
            if style.bold { " font-weight=\"600\"" } else { "" },
            escape(text)
        ));
    }

    /// A picture stretched over a rectangle, its pixels visible as such or smoothed.
    pub(crate) fn image(&mut self, rect: [f64; 4], raster: &Raster, pixelated: bool) {
        let [x, y, w, h] = rect.map(coordinate);
        self.push(format_args!(
            r#"<image x="{x}" y="{y}" width="{w}" height="{h}" preserveAspectRatio="none"{} href="{}"/>"#,
            if pixelated { " style=\"image-rendering:pixelated\"" } else { "" },
            raster.data_uri()
        ));
    }

    pub(crate) fn rect(&mut self, rect: [f64; 4], radius: f64, fill: &str) {
        let [x, y, w, h] = rect.map(coordinate);
        let rounded =
            if radius > 0.0 { format!(" rx=\"{}\"", coordinate(radius)) } else { String::new() };
        self.push(format_args!(
            r#"<rect x="{x}" y="{y}" width="{w}" height="{h}"{rounded} fill="{fill}"/>"#
        ));
    }

    pub(crate) fn circle(&mut self, [x, y]: [f64; 2], radius: f64, fill: &str) {
        let (x, y, r) = (coordinate(x), coordinate(y), coordinate(radius));
        self.push(format_args!(r#"<circle cx="{x}" cy="{y}" r="{r}" fill="{fill}"/>"#));
    }

    /// A circle that leads to a page, with words of its own.
    pub(crate) fn linked_circle(
        &mut self,
        [x, y]: [f64; 2],
        radius: f64,
        fill: &str,
        link: &str,
        words: &str,
    ) {
        let (x, y, r) = (coordinate(x), coordinate(y), coordinate(radius));
        let (link, words) = (escape(link), escape(words));
        self.push(format_args!(
            r#"<a href="{link}"><title>{words}</title><circle cx="{x}" cy="{y}" r="{r}" fill="{fill}" fill-opacity="0.75"/></a>"#
        ));
    }

    /// A stroked path with round ends; `data` is a path's `d`, `more` further attributes.
    pub(crate) fn path(&mut self, data: &str, stroke: &str, width: f64, more: &str) {
        self.push(format_args!(
            r#"<path d="{data}" fill="none" stroke="{stroke}" stroke-width="{}" stroke-linecap="round" stroke-linejoin="round"{more}/>"#,
            coordinate(width)
        ));
    }

    pub(crate) fn line(
        &mut self,
        [x1, y1]: [f64; 2],
        [x2, y2]: [f64; 2],
        stroke: &str,
        width: f64,
    ) {
        let data =
            format!("M{} {}L{} {}", coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2));
        self.path(&data, stroke, width, "");
    }

    /// A filled path; `data` is a path's `d`.
    pub(crate) fn fill(&mut self, data: &str, fill: &str, opacity: f64) {
        let opacity = coordinate(opacity);
        self.push(format_args!(r#"<path d="{data}" fill="{fill}" fill-opacity="{opacity}"/>"#));
    }

    /// Opens a group with these attributes; [`Self::end_group`] closes it.
    pub(crate) fn begin_group(&mut self, attributes: &str) {
        self.push(format_args!("<g {attributes}>"));
    }

    pub(crate) fn end_group(&mut self) {
        self.push(format_args!("</g>"));
    }
}

/// Width of a text in the fonts above, near enough to lay out a legend.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    0.57 * size * text.chars().count() as f64
}
