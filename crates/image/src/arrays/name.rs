//! `NAME.WIDTH.TYPE`.

use super::ColumnKind;
use crate::Datatype;

/// What the last component of an array's path says; `None` where it names no type.
pub fn parse_name(file_name: &str) -> Option<ColumnKind> {
    let (rest, extension) = file_name.rsplit_once('.')?;
    let datatype = match extension {
        // NumPy's byte-wide truth values.
        "bool" => Datatype::UInt8,
        _ => extension.parse().ok().filter(|d| *d != Datatype::Bit)?,
    };
    let (name, width) = match rest.rsplit_once('.') {
        Some((name, width)) => match width.parse() {
            Ok(width) => (name, width),
            Err(_) => (rest, 1),
        },
        None => (rest, 1),
    };
    let fits = !name.is_empty() && (1..=1 << 16).contains(&width);
    fits.then(|| ColumnKind { name: name.into(), datatype, width })
}

/// The file name of a column.
pub fn column_name(kind: &ColumnKind) -> String {
    let datatype = kind.datatype.name().to_lowercase();
    match kind.width {
        1 => format!("{}.{datatype}", kind.name),
        width => format!("{}.{width}.{datatype}", kind.name),
    }
}

/// True where a name can be that of a file on any system.
pub fn is_safe_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.chars().all(|c| !matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|'))
        && name.chars().all(|c| !c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_width_and_type() {
        let colour = parse_name("rgb.3.uint8").unwrap();
        assert_eq!((colour.name.as_str(), colour.width), ("rgb", 3));
        assert_eq!(column_name(&colour), "rgb.3.uint8");
        let plain = parse_name("mean.fa.float16").unwrap();
        assert_eq!((plain.name.as_str(), plain.width), ("mean.fa", 1));
        assert_eq!(column_name(&plain), "mean.fa.float16");
        assert_eq!(parse_name("notes.txt"), None);
        assert_eq!(parse_name("x.0.uint8"), None);
    }
}
