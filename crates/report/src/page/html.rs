//! The HTML of a page.

use super::{Block, Page, Section, Table, explore};
use crate::{Figure, mark, svg::escape};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What can be sent by mail, in bytes. The pictures come first; of the scene what is left over.
pub(super) const MOST: usize = 25_000_000;

pub(super) fn document(page: &Page) -> String {
    let sections: String =
        (1..).zip(&page.sections).map(|(number, section)| self::section(number, section)).collect();
    let beside = sections.len() + header(page, true).len() + SCRIPT.len() + STYLE.len();
    let named: usize = page.scene.parts.iter().map(|part| 6 * part.name.len() + 2).sum();
    let beside = beside + RATING.len() + 6 * page.footer.len() + explore::letters() + named;
    let (shown, left_out) = page.scene.within(MOST.saturating_sub(beside + 1024));
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n",
        escape(&page.title)
    );
    html += &header(page, !shown.is_empty());
    html += "<main>\n";
    html += &explore::section(&shown, &left_out);
    html += &sections;
    if page.is_rated {
        html += RATING;
    }
    html += "</main>\n";
    if !page.footer.is_empty() {
        html += &format!("<footer>{}</footer>\n", linked(&page.footer));
    }
    html += &explore::data(&shown);
    if page.is_rated || !shown.is_empty() || html.contains("class=\"q-space\"") {
        html += &format!("<script>\n{SCRIPT}</script>\n");
    }
    html += "</body>\n</html>\n";
    html
}

/// Shown by the script, which saves what is said.
const RATING: &str = "\
<form class=\"rating\" hidden>
<h2>Your rating</h2>
<fieldset><legend>Quality</legend>
<label><input type=\"radio\" name=\"rating\" value=\"1\" required> 1 exclude</label>
<label><input type=\"radio\" name=\"rating\" value=\"2\"> 2 poor</label>
<label><input type=\"radio\" name=\"rating\" value=\"3\"> 3 acceptable</label>
<label><input type=\"radio\" name=\"rating\" value=\"4\"> 4 excellent</label>
</fieldset>
<fieldset><legend>Artefacts</legend>
<label><input type=\"checkbox\" name=\"artefact\" value=\"motion\"> motion</label>
<label><input type=\"checkbox\" name=\"artefact\" value=\"dropped slices\"> dropped slices</label>
<label><input type=\"checkbox\" name=\"artefact\" value=\"distortion\"> distortion</label>
<label><input type=\"checkbox\" name=\"artefact\" value=\"ghosting\"> ghosting</label>
<label><input type=\"checkbox\" name=\"artefact\" value=\"noise\"> noise</label>
<label><input type=\"checkbox\" name=\"artefact\" value=\"mask\"> mask</label>
<label><input type=\"checkbox\" name=\"artefact\" value=\"fibres\"> implausible fibres</label>
<label><input type=\"checkbox\" name=\"artefact\" value=\"other\"> other</label>
</fieldset>
<label class=\"comment\">Comment<textarea name=\"comment\" rows=\"3\"></textarea></label>
<button type=\"submit\">Save as rating.json</button>
</form>
";

fn header(page: &Page, is_explored: bool) -> String {
    let mut html = format!(
        "<header>\n<p class=\"brand\">{}<span>fimbria</span></p>\n<h1>{}</h1>\n",
        mark::symbol(),
        escape(&page.title)
    );
    if !page.subtitle.is_empty() {
        html += &format!("<p class=\"subtitle\">{}</p>\n", linked(&page.subtitle));
    }
    html += &super::verdicts::strip(&page.verdicts);
    html += &page.warnings.iter().map(|text| warning(text)).collect::<String>();
    if !page.headline.is_empty() {
        html += "<dl class=\"headline\">\n";
        for [value, what] in &page.headline {
            let (value, what) = (escape(value), escape(what));
            html += &format!("<div><dt>{what}</dt><dd>{value}</dd></div>\n");
        }
        html += "</dl>\n";
    }
    html += &facts(&page.facts);
    if page.sections.len() > 2 {
        html += "<nav aria-label=\"Sections\">\n";
        if is_explored {
            html += "<a href=\"#explore\">Explore in 3-D</a>\n";
        }
        for (number, section) in (1..).zip(&page.sections) {
            html += &format!("<a href=\"#section-{number}\">{}</a>\n", escape(&section.heading));
        }
        html += "</nav>\n";
    }
    html + "</header>\n"
}

fn section(number: usize, section: &Section) -> String {
    let heading = format!("<h2>{}</h2>", escape(&section.heading));
    let (seen, folded) = section.blocks.split_at(section.seen.unwrap_or(section.blocks.len()));
    let of = |blocks: &[Block]| blocks.iter().map(block).collect::<String>();
    let html = match (seen, folded) {
        ([], [_, ..]) => fold(&format!("{heading} <span>{}</span>", contents(folded)), &of(folded)),
        _ => {
            // On paper a heading goes with the first figures, which Firefox does not do of itself.
            let words = seen.iter().take_while(|block| matches!(block, Block::Text(_))).count();
            let is_short = |block: &&Block| matches!(block, Block::Figures(all) if all.len() <= 2);
            let opening = words + usize::from(seen.get(words).filter(is_short).is_some());
            let (first, rest) = seen.split_at(opening);
            let rest = match folded {
                [] => of(rest),
                _ => of(rest) + &fold(&format!("More: {}", contents(folded)), &of(folded)),
            };
            format!("<div class=\"opening\">\n{heading}\n{}</div>\n{rest}", of(first))
        }
    };
    format!("<section id=\"section-{number}\">\n{html}</section>\n")
}

/// What the reader opens.
fn fold(summary: &str, html: &str) -> String {
    format!("<details class=\"fold\">\n<summary>{summary}</summary>\n{html}</details>\n")
}

/// What there is behind a fold, counted.
fn contents(blocks: &[Block]) -> String {
    let figures = blocks.iter().map(|block| match block {
        Block::Figures(figures) => figures.len(),
        _ => 0,
    });
    let tables = blocks.iter().filter(|block| matches!(block, Block::Table(_))).count();
    let counted = |number: usize, what: &str| match number {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{number} {what}s")),
    };
    let parts = [counted(figures.sum(), "figure"), counted(tables, "table")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "text".to_owned() } else { parts.join(", ") }
}

fn block(block: &Block) -> String {
    match block {
        Block::Text(text) => paragraphs(text),
        Block::List(items) => {
            let items = items.iter().map(|item| format!("<li>{}</li>\n", linked(item)));
            format!("<ul>\n{}</ul>\n", items.collect::<String>())
        }
        Block::Warning(text) => warning(text),
        Block::Facts(entries) => facts(entries),
        Block::Figures(figures) => {
            let class = if figures.len() > 1 { "figures" } else { "wide" };
            let figures = figures.iter().map(|(figure, caption)| self::figure(figure, caption));
            format!("<div class=\"{class}\">\n{}</div>\n", figures.collect::<String>())
        }
        Block::Table(table) => self::table(table),
        Block::Record { summary, text } => format!(
            "<details>\n<summary>{}</summary>\n<pre>{}</pre>\n</details>\n",
            escape(summary),
            escape(text)
        ),
    }
}

fn figure(figure: &Figure, caption: &str) -> String {
    let caption = if caption.is_empty() {
        String::new()
    } else {
        format!("<figcaption>{}</figcaption>\n", linked(caption))
    };
    format!("<figure>\n<div class=\"scroll\">{}</div>\n{caption}</figure>\n", figure.inline())
}

fn table(table: &Table) -> String {
    let is_number = |cell: &String| {
        let digits = cell.trim_start_matches(['-', '−', '+', '<', '>', '±', '≤', '≥', ' ']);
        let is_list = cell.contains(", ");
        cell.is_empty()
            || cell == "–"
            || (!is_list && digits.starts_with(|c: char| c.is_ascii_digit()))
    };
    let numeric: Vec<bool> = (0..table.columns.len())
        .map(|c| c > 0 && table.rows.iter().filter_map(|row| row.get(c)).all(is_number))
        .collect();
    let class = |c: usize| if numeric.get(c) == Some(&true) { " class=\"number\"" } else { "" };
    let mut html = String::from("<div class=\"scroll\">\n<table>\n");
    if !table.caption.is_empty() {
        html += &format!("<caption>{}</caption>\n", linked(&table.caption));
    }
    html += "<thead><tr>";
    for (c, column) in table.columns.iter().enumerate() {
        // A heading without words would be read out as one.
        html += &match column.is_empty() {
            true => "<td></td>".to_owned(),
            false => format!("<th scope=\"col\"{}>{}</th>", class(c), escape(column)),
        };
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        html += "<tr>";
        for (c, cell) in row.iter().enumerate() {
            html += &if c == 0 {
                format!("<th scope=\"row\">{}</th>", escape(cell))
            } else {
                format!("<td{}>{}</td>", class(c), escape(cell))
            };
        }
        html += "</tr>\n";
    }
    html + "</tbody>\n</table>\n</div>\n"
}

fn facts(entries: &[[String; 2]]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let entry = |[key, value]: &[String; 2]| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(key), linked(value))
    };
    format!("<dl class=\"facts\">\n{}</dl>\n", entries.iter().map(entry).collect::<String>())
}

fn warning(text: &str) -> String {
    format!("<p class=\"warning\" role=\"note\"><strong>Note</strong> {}</p>\n", linked(text))
}

fn paragraphs(text: &str) -> String {
    let lines = text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty());
    lines.map(|paragraph| format!("<p>{}</p>\n", linked(paragraph))).collect()
}

/// Escaped text whose web addresses are links.
fn linked(text: &str) -> String {
    text.split_inclusive(char::is_whitespace)
        .map(|word| {
            let body = word.trim_end();
            let address = body.trim_end_matches(['.', ',', ';', ')']);
            if address.len() > "https://".len() && address.starts_with("https://") {
                let rest = &word[address.len()..];
                let address = escape(address);
                format!("<a href=\"{address}\">{address}</a>{}", escape(rest))
            } else {
                escape(word)
            }
        })
        .collect()
}
