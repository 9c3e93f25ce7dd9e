//! A .mif header for an image.

use std::fmt::Write;

use super::layout::format_order;
use super::{FIRST_LINE, OWN_KEYS};
use crate::error::UnwritableError;
use crate::header::Shape;
use crate::write::WriteOptions;
use crate::{ByteOrder, Datatype};

/// Data begin at a multiple of this, so that a mapped file is aligned for any vector load.
const ALIGNMENT: usize = 64;

/// The bytes before the data.
pub(crate) fn encode_header(
    shape: &Shape,
    options: &WriteOptions,
) -> Result<Vec<u8>, UnwritableError> {
    let order = options.mif_layout.of_all_axes(shape.dims.len());
    let text = text(shape, &order, options)?;
    Ok(with_place_of_data(text))
}

fn text(
    shape: &Shape,
    order: &[(usize, bool)],
    options: &WriteOptions,
) -> Result<String, UnwritableError> {
    let Shape { grid, dims, volume_steps, scaling } = shape;
    let spacing = grid.ras_from_vox.spacing();
    let steps: Vec<f64> = spacing.iter().chain(volume_steps).copied().collect();
    let known = |step: &&f64| step.is_finite();
    let vox = |axis| steps.get(axis).filter(known).map_or("nan".to_owned(), f64::to_string);
    let mut text = format!("{FIRST_LINE}\n");
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(text, "{key}: {value}"); // a String takes everything
    };
    line("dim", &joined(dims.iter().copied()));
    line("vox", &joined((0..dims.len()).map(vox)));
    line("layout", &format_order(order));
    line("datatype", &datatype(options.datatype, options.byte_order));
    if !scaling.is_none() {
        line("scaling", &joined([scaling.intercept, scaling.slope]));
    }
    for row in &grid.ras_from_vox.0 {
        let unit = [row[0] / spacing[0], row[1] / spacing[1], row[2] / spacing[2], row[3]];
        line("transform", &joined(unit));
    }
    if !options.description.is_empty() {
        for comment in options.description.lines() {
            line("comments", comment);
        }
    }
    for (key, value) in &options.keyvals {
        if OWN_KEYS.contains(&&**key) || !is_key(key) {
            return Err(UnwritableError::Key { key: key.clone() });
        }
        for part in value.lines() {
            line(key, part);
        }
    }
    for row in options.dw_scheme.iter().flatten() {
        line("dw_scheme", &joined(row));
    }
    Ok(text)
}

/// True where a line `key: value` will be read as this key.
fn is_key(key: &str) -> bool {
    !key.is_empty()
        && key.trim() == key
        && !key.starts_with('#')
        && !key.contains([':', '\n', '\r'])
}

fn joined<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().map(|v| v.to_string()).collect::<Vec<_>>().join(",")
}

fn datatype(datatype: Datatype, order: ByteOrder) -> String {
    let suffix = match (datatype.bits(), order) {
        (..=8, _) => "",
        (_, ByteOrder::Little) => "LE",
        (_, ByteOrder::Big) => "BE",
    };
    format!("{datatype}{suffix}")
}

/// Adds the `file:` line, which counts itself in, END and filling.
fn with_place_of_data(text: String) -> Vec<u8> {
    const LONGEST_END: usize = "file: . 18446744073709551615\nEND\n".len();
    let offset = (text.len() + LONGEST_END).next_multiple_of(ALIGNMENT);
    let mut bytes = format!("{text}file: . {offset}\nEND\n").into_bytes();
    bytes.resize(offset, 0);
    bytes
}
