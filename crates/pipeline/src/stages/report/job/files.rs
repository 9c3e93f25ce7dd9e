//! Tables, matrices and lists of a folder; words for names and numbers.

use fimbria_report::plot::{Axes, Axis, Marks, Series, xy};
use fimbria_report::{Section, Table};
use serde_json::Value;

use super::JobPage;
use crate::StageError;
use crate::stages::connectome::section as connectome;
use crate::stages::correct;
use crate::stages::life::section as life;
use crate::stages::qsm::section as qsm;

/// Rows of a table.
const MOST_ROWS: usize = 30;

/// A section for each table.
pub(super) fn sections(job: &JobPage, names: &[&str]) -> Result<Vec<Section>, StageError> {
    let read = |name: &str| fimbria_image::read_regular_text(job.folder.join(name));
    let regions = match names.contains(&"labels.tsv") {
        true => connectome::named_regions(&read("labels.tsv")?),
        false => Vec::new(),
    };
    let mut sections = Vec::new();
    for name in names {
        if name.ends_with(".csv") {
            let rows = connectome::rows_of(&read(name)?);
            let figure = connectome::of_rows(name, &rows, &regions);
            let caption = connectome::meaning(name, &rows);
            sections.push(Section::new(format!("Matrix: {name}")).figure(figure, caption));
        } else if name.ends_with("weights.txt") {
            let text = read(name)?;
            let weights: Vec<f64> =
                text.lines().filter_map(|line| line.trim().parse().ok()).collect();
            let (figure, caption) = life::of_weights(&weights);
            sections.push(Section::new(format!("Weights: {name}")).figure(figure, caption));
        } else if *name == "iterations.tsv" {
            sections.push(convergence(&read(name)?));
        } else if *name == "profile.tsv" {
            sections.push(profile(&read(name)?));
        } else if *name == "confounds.tsv"
            && let Some(section) = correct::section(&job.record)
        {
            sections.push(section);
        } else if name.ends_with(".tsv") {
            sections.push(Section::new(table_heading(name)).table(table(&read(name)?)));
        }
    }
    Ok(sections)
}

/// How an iteration went, by its columns.
fn convergence(text: &str) -> Section {
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let row = |line: &str| line.split('\t').map(|c| c.parse().unwrap_or(f64::NAN)).collect();
    let rows: Vec<Vec<f64>> = lines.map(row).collect();
    Section::new("Convergence").figures(qsm::convergence(&heads, &rows))
}

/// Maps along a bundle, by the columns NAME_mean and NAME_sd.
fn profile(text: &str) -> Section {
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let number = |cell: &str| cell.parse().unwrap_or(f64::NAN);
    let rows: Vec<Vec<f64>> = lines.map(|line| line.split('\t').map(number).collect()).collect();
    let column = |name: &str| heads.iter().position(|head| *head == name);
    let mut section = Section::new("Along the bundle");
    for name in heads.iter().filter_map(|head| head.strip_suffix("_mean")) {
        let (mean, sd) = (column(&format!("{name}_mean")), column(&format!("{name}_sd")));
        let (Some(mean), Some(sd)) = (mean, sd) else { continue };
        let curve = |by: f64| -> Vec<[f64; 2]> {
            let complete = rows.iter().filter(|row| row.len() == heads.len());
            complete.map(|row| [row[0], row[mean] + by * row[sd]]).collect()
        };
        let (middle, above, below) = (curve(0.0), curve(1.0), curve(-1.0));
        let line = |name, points| Series { name, points, marks: Marks::Line };
        let series = [
            line("mean", &middle[..]),
            line("mean + 1 sd", &above[..]),
            line("mean − 1 sd", &below[..]),
        ];
        let axes = Axes {
            heading: name,
            x: Axis::new("point along the bundle", ""),
            y: Axis::new(name, ""),
            ..Axes::default()
        };
        let caption = "Streamlines near the core count for more; sd is that of streamlines.";
        section = section.figure(xy(&series, &axes), caption);
    }
    section
}

fn table(text: &str) -> Table {
    let mut lines = text.lines();
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    let columns = cells(lines.next().unwrap_or_default());
    let rounded = |line| cells(line).iter().map(|cell| in_short(cell)).collect::<Vec<_>>();
    let all: Vec<_> = lines.map(rounded).collect();
    let caption = match all.len() {
        n if n > MOST_ROWS => format!("The first {MOST_ROWS} of {n} rows."),
        _ => String::new(),
    };
    Table { caption, columns, rows: all.into_iter().take(MOST_ROWS).collect() }
}

/// What a table is called on the page.
fn table_heading(name: &str) -> String {
    match name {
        "evidence.tsv" => "Errors without and with streamlines".to_owned(),
        _ => name.to_owned(),
    }
}

/// A number or a word of a record.
pub(super) fn number_of(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(in_short(&number.to_string())),
        Value::String(text) => Some(text.clone()),
        Value::Bool(is) => Some(if *is { "yes" } else { "no" }.to_owned()),
        _ => None,
    }
}

/// A number to four digits; whole numbers, short ones and other words as they are.
fn in_short(word: &str) -> String {
    let is_long = word.len() > 6 && word.contains(['.', 'e', 'E']);
    match word.parse::<f64>() {
        Ok(0.0) if is_long => "0".to_owned(),
        Ok(x) if is_long && x.is_finite() => {
            let digits = 3 - x.abs().log10().floor() as i32;
            match digits {
                0..=7 => format!("{x:.*}", digits as usize),
                -3..0 => format!("{x:.0}"),
                _ => format!("{x:.3e}"),
            }
        }
        _ => word.to_owned(),
    }
}

/// The name without its extensions.
pub(super) fn stem(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

pub(super) fn is_image(name: &str) -> bool {
    [".nii.gz", ".nii", ".mif", ".mif.gz"].iter().any(|end| name.ends_with(end))
}

/// Whether a file's stem is what a table of files calls `pattern`, where `*` stands for anything; names of
/// BIDS have it as their parameter.
pub(super) fn is_named(pattern: &str, stem: &str) -> bool {
    let param = stem.split("_param-").nth(1).and_then(|rest| rest.strip_suffix("_dwimap"));
    let plain = || pattern.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    matches(pattern, stem) || param.is_some_and(|param| plain().eq_ignore_ascii_case(param))
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches(after, &rest[at..]))
        }),
    }
}

/// The words with a capital and a full stop, but that names of files and symbols stay as they are; nothing of
/// nothing.
pub(super) fn sentence(words: &str) -> String {
    let first = words.split(' ').next().unwrap_or_default();
    let is_word = first.len() > 1 && first.chars().all(|c| c.is_ascii_lowercase());
    let mut letters = words.chars();
    match letters.next() {
        Some(letter) if is_word => format!("{}{}.", letter.to_ascii_uppercase(), letters.as_str()),
        Some(_) => format!("{words}."),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_four_digits_and_words_stay() {
        for (long, short) in [
            ("0.0123456789", "0.01235"),
            ("1.234560e-02", "0.01235"),
            ("12.3456789", "12.35"),
            ("123456.789", "123457"),
            ("-0.00000012343", "-1.234e-7"),
            ("0.0000000", "0"),
            ("1234567", "1234567"),
            ("0.05", "0.05"),
            ("all", "all"),
            ("cylinder", "cylinder"),
        ] {
            assert_eq!(in_short(long), short);
        }
    }

    #[test]
    fn files_are_known_by_the_names_of_their_table() {
        assert!(is_named("dyads*", "dyads2") && is_named("mean_f*samples", "mean_fsumsamples"));
        assert!(is_named("seeds_*to_*", "seeds_a_to_b") && !is_named("chi", "chi2"));
        assert!(is_named("rmse_s0", "sub-01_model-life_param-rmses0_dwimap"));
    }

    #[test]
    fn names_of_files_get_no_capital() {
        assert_eq!(sentence("field of all sources"), "Field of all sources.");
        assert_eq!(sentence("total_field less another"), "total_field less another.");
        assert_eq!(sentence("x y z"), "x y z.");
        assert_eq!(sentence(""), "");
    }
}
