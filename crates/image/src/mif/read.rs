//! A .mif header, checked.

use super::layout::parse_order;
use super::{FIRST_LINE, OWN_KEYS};
use crate::error::HeaderError;
use crate::header::{DataFile, Dims, Header, Intent, Notes, Orientation, centred, is_usable};
use crate::layout::Layout;
use crate::{Affine, ByteOrder, Datatype, Grid, Scaling};

/// True where the file begins as a .mif file does.
pub(crate) fn is_mif(start: &[u8]) -> bool {
    start.starts_with(FIRST_LINE.as_bytes())
}

/// Byte after the END line of a header, or `None` where `bytes` hold none (yet).
pub(crate) fn find_end(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(length) = bytes[from..].iter().position(|b| *b == b'\n') {
        if bytes[from..from + length].trim_ascii() == b"END" {
            return Some(from + length + 1);
        }
        from += length + 1;
    }
    None
}

/// Parses a header that [`is_mif`], up to [`find_end`]; where there is no END, the whole file,
/// whose data must then lie elsewhere (so MRtrix writes .mih files).
///
/// # Errors
/// Anything that would leave doubt where samples lie or what they are.
pub(crate) fn parse(header: &[u8]) -> Result<Header, HeaderError> {
    let text = String::from_utf8_lossy(header);
    let entries = Entries(text.lines().skip(1).filter_map(split_entry).collect());

    let dims = Dims::new(&entries.numbers("dim", "whole numbers from 1 on")?)?;
    let all_dims = dims.all();
    let (datatype, byte_order) = datatype(entries.one("datatype")?)?;
    let layout = layout(&entries, &all_dims)?;
    let data_bytes =
        datatype.bytes_for(layout.len()).ok_or(HeaderError::TooLarge { dims: all_dims })?;
    let (ras_from_vox, orientation) = ras_from_vox(&entries, dims.space)?;
    let (data_file, data_offset) = data_place(&entries, header.len())?;
    if data_file == DataFile::Same && find_end(header).is_none() {
        return Err(HeaderError::NoEnd);
    }

    let keyvals: Vec<_> = entries
        .0
        .iter()
        .filter(|(key, _)| !OWN_KEYS.contains(key))
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let comment = keyvals.iter().find(|(key, _)| key == "comments");
    Ok(Header {
        grid: Grid { dims: dims.space, ras_from_vox },
        volume_dims: dims.volumes,
        layout,
        datatype,
        byte_order,
        scaling: scaling(&entries)?,
        orientation,
        data_file,
        data_offset,
        data_bytes,
        notes: Notes {
            space_codes: None,
            description: comment.map_or_else(String::new, |(_, text)| text.clone()),
            intent: Intent::default(),
            dw_scheme: dw_scheme(&entries),
            keyvals,
            listed_dims: entries.numbers("dim", "whole numbers from 1 on")?,
            volume_steps: entries
                .numbers("vox", "voxel sizes in mm")?
                .get(3..)
                .map_or_else(Vec::new, <[f64]>::to_vec),
            has_extensions: false,
        },
    })
}

/// Key and value of a line; `None` for lines without a colon and for `#` comments.
fn split_entry(line: &str) -> Option<(&str, &str)> {
    if line.trim_start().starts_with('#') {
        return None;
    }
    let (key, value) = line.split_once(':')?;
    Some((key.trim(), value.trim()))
}

/// The lines of a header in order.
struct Entries<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Entries<'a> {
    fn all(&self, key: &'static str) -> impl Iterator<Item = &'a str> + '_ {
        self.0.iter().filter(move |(k, _)| *k == key).map(|(_, value)| *value)
    }

    /// The value of a key that must be there; of several the last.
    fn one(&self, key: &'static str) -> Result<&'a str, HeaderError> {
        self.all(key).last().ok_or(HeaderError::Missing { key })
    }

    fn numbers<T: std::str::FromStr>(
        &self,
        key: &'static str,
        expected: &'static str,
    ) -> Result<Vec<T>, HeaderError> {
        numbers(key, self.one(key)?, expected)
    }
}

fn bad(key: &'static str, value: &str, expected: &'static str) -> HeaderError {
    let cut = value.chars().take(80).collect();
    HeaderError::Entry { key, value: cut, expected }
}

/// Numbers between commas or blanks.
fn numbers<T: std::str::FromStr>(
    key: &'static str,
    value: &str,
    expected: &'static str,
) -> Result<Vec<T>, HeaderError> {
    value
        .split([',', ' ', '\t'])
        .filter(|number| !number.is_empty())
        .map(|number| number.parse().map_err(|_| bad(key, value, expected)))
        .collect()
}

/// A type and its byte order; without LE or BE at the end it is this machine's, as in MRtrix.
fn datatype(text: &str) -> Result<(Datatype, ByteOrder), HeaderError> {
    // Letters of either case, as in MRtrix.
    let lower = text.to_ascii_lowercase();
    let orders = [("le", ByteOrder::Little), ("be", ByteOrder::Big)];
    let (name, order) = orders
        .into_iter()
        .find_map(|(suffix, order)| Some((lower.strip_suffix(suffix)?, order)))
        .unwrap_or((&*lower, ByteOrder::NATIVE));
    let datatype = name.parse().map_err(|_| {
        let expected = "Bit, Int8 to UInt64, or Float16 to Float64 (complex images are not read)";
        bad("datatype", text, expected)
    })?;
    Ok((datatype, order))
}

fn layout(entries: &Entries<'_>, dims: &[usize]) -> Result<Layout, HeaderError> {
    let expected = "one signed rank per dimension, as in +0,+1,+2";
    let text = entries.one("layout")?;
    let mut order = parse_order(text).ok_or_else(|| bad("layout", text, expected))?;
    let listed: Vec<i64> = entries.numbers("dim", "whole numbers from 1 on")?;
    if order.len() != listed.len() {
        return Err(bad("layout", text, expected));
    }
    // Dimensions of 1 may have been dropped or added behind: they move no sample.
    order.truncate(dims.len());
    let mut axes = order.clone();
    axes.sort_unstable();
    for (rank, _) in &mut order {
        *rank = axes.iter().position(|(other, _)| other == rank).unwrap_or(*rank);
    }
    order.extend((order.len()..dims.len()).map(|rank| (rank, false)));
    Ok(Layout::ordered(dims, &order))
}

/// `offset,multiplier`.
fn scaling(entries: &Entries<'_>) -> Result<Scaling, HeaderError> {
    let Some(text) = entries.all("scaling").last() else { return Ok(Scaling::NONE) };
    match numbers("scaling", text, "two numbers: offset,multiplier")?[..] {
        [intercept, slope] if f64::is_finite(intercept) => {
            Ok(Scaling::from_header(slope, intercept))
        }
        _ => Err(bad("scaling", text, "two numbers: offset,multiplier")),
    }
}

/// Voxel size times transform; sizes that are no lengths count as 1 mm, as in MRtrix.
fn ras_from_vox(
    entries: &Entries<'_>,
    dims: [usize; 3],
) -> Result<(Affine, Orientation), HeaderError> {
    let listed: Vec<f64> = entries.numbers("vox", "voxel sizes in mm")?;
    let spacing_mm = std::array::from_fn(|axis| {
        listed.get(axis).copied().filter(|s| s.is_finite() && *s > 0.0).unwrap_or(1.0)
    });
    let expected = "three lines of four numbers";
    let mut rows = Vec::new();
    for text in entries.all("transform") {
        let row: Vec<f64> = numbers("transform", text, expected)?;
        rows.push(<[f64; 4]>::try_from(row).map_err(|_| bad("transform", text, expected))?);
    }
    if rows.is_empty() {
        return Ok((centred(dims, spacing_mm), Orientation::Absent));
    }
    // A fourth line, 0 0 0 1, is found in old files.
    let Some(&[x, y, z]) = rows.get(..3).and_then(|r| r.first_chunk::<3>()) else {
        return Err(bad("transform", &format!("{} lines", rows.len()), expected));
    };
    let [sx, sy, sz] = spacing_mm;
    let affine = Affine([x, y, z].map(|r| [r[0] * sx, r[1] * sy, r[2] * sz, r[3]]));
    if is_usable(&affine) {
        Ok((affine, Orientation::Transform))
    } else {
        Err(HeaderError::Orientation { which: "transform", rows: Box::new(affine.0) })
    }
}

/// `file: NAME OFFSET`; the name `.` is the file itself.
fn data_place(entries: &Entries<'_>, header_bytes: usize) -> Result<(DataFile, u64), HeaderError> {
    let text = entries.one("file")?;
    if entries.all("file").count() > 1 {
        return Err(bad("file", text, "one file (data split over several are not read)"));
    }
    let (name, offset) = match text.rsplit_once([' ', '\t']) {
        Some((name, offset)) => match offset.parse::<u64>() {
            Ok(offset) => (name.trim_end(), offset),
            Err(_) => (text, 0), // a name with a blank in it
        },
        None => (text, 0),
    };
    match name {
        "" => Err(bad("file", text, "a file name")),
        "." if offset < header_bytes as u64 => {
            Err(bad("file", text, "an offset beyond the header"))
        }
        "." => Ok((DataFile::Same, offset)),
        _ => Ok((DataFile::Named(name.into()), offset)),
    }
}

/// One row `x,y,z,b[,...]` per volume, directions in scanner axes. What is no number is left out of
/// its row, which then is too short for a table: only who needs the gradients is refused, as the
/// image is whole without them.
fn dw_scheme(entries: &Entries<'_>) -> Option<Vec<Vec<f64>>> {
    let row = |text: &str| {
        let tokens = text.split([',', ' ', '\t']).filter(|token| !token.is_empty());
        tokens.filter_map(|token| token.parse().ok()).collect()
    };
    let rows: Vec<Vec<f64>> = entries.all("dw_scheme").map(row).collect();
    (!rows.is_empty()).then_some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "mrtrix image\n\
        dim: 4,3,2,5\n\
        vox: 2,2.5,3,nan\n\
        layout: -1,+2,+3,+0\n\
        datatype: Int16BE\n\
        # a remark\n\
        transform: 0,-1,0,10\n\
        transform: 1,0,0,20\n\
        transform: 0,0,1,30\n\
        scaling: 5,0.5\n\
        comments: first: with a colon\n\
        comments: second\n\
        dw_scheme: 0,0,0,0\n\
        dw_scheme: 1,0,0,1000\n\
        file: . 400\n\
        END\n";

    fn with(replace: &str, by: &str) -> Result<Header, HeaderError> {
        assert!(HEADER.contains(replace));
        parse(HEADER.replace(replace, by).as_bytes())
    }

    #[test]
    fn every_entry_is_understood() {
        let h = parse(HEADER.as_bytes()).unwrap();
        assert_eq!((h.grid.dims, &h.volume_dims[..]), ([4, 3, 2], &[5][..]));
        assert_eq!(
            h.grid.ras_from_vox.0,
            [[0., -2.5, 0., 10.], [2., 0., 0., 20.], [0., 0., 3., 30.]]
        );
        assert_eq!((h.datatype, h.byte_order), (Datatype::Int16, ByteOrder::Big));
        assert_eq!(h.scaling, Scaling { slope: 0.5, intercept: 5.0 });
        assert_eq!((h.data_offset, h.data_bytes), (400, 240));
        assert_eq!(h.layout.voxel(0), 15); // x runs backwards in steps of the 5 volumes
        assert_eq!(h.layout.volume_offsets().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        let rows = [vec![0., 0., 0., 0.], vec![1., 0., 0., 1000.]];
        assert_eq!(h.notes.dw_scheme.as_deref(), Some(&rows[..]));
        assert_eq!(h.notes.description, "first: with a colon");
        assert_eq!(h.notes.keyvals.len(), 2);
    }

    #[test]
    fn without_a_transform_the_image_is_centred() {
        let text: String = HEADER
            .lines()
            .filter(|l| !l.starts_with("transform"))
            .fold(String::new(), |text, line| text + line + "\n");
        let h = parse(text.as_bytes()).unwrap();
        assert_eq!(h.orientation, Orientation::Absent);
        assert_eq!(
            h.grid.ras_from_vox.0,
            [[2., 0., 0., -3.], [0., 2.5, 0., -2.5], [0., 0., 3., -1.5]]
        );
    }

    #[test]
    fn wrong_entries_are_named() {
        let key = |result: Result<Header, HeaderError>| match result {
            Err(HeaderError::Entry { key, .. } | HeaderError::Missing { key }) => key,
            other => panic!("{other:?}"),
        };
        assert_eq!(key(with("dim: 4,3,2,5\n", "")), "dim");
        assert_eq!(key(with("4,3,2,5", "4,3,two,5")), "dim");
        assert_eq!(key(with("-1,+2,+3,+0", "-1,+2,+3")), "layout");
        assert_eq!(key(with("-1,+2,+3,+0", "-1,+2,+3,+3")), "layout");
        assert_eq!(key(with("Int16BE", "CFloat32LE")), "datatype");
        assert_eq!(key(with("scaling: 5,0.5", "scaling: 5")), "scaling");
        assert_eq!(key(with("transform: 0,-1,0,10\n", "")), "transform");
        assert_eq!(key(with("1,0,0,20", "1,0,0")), "transform");
        assert_eq!(key(with("file: . 400", "file: . 10")), "file");
        assert_eq!(key(with("file: . 400", "file: a.dat 0\nfile: b.dat 0")), "file");
        let singular = with("0,-1,0,10", "1,0,0,10");
        assert!(matches!(singular, Err(HeaderError::Orientation { .. })), "{singular:?}");
    }

    #[test]
    fn a_scheme_that_is_no_table_spoils_the_gradients_only() {
        let h = with("1,0,0,1000", "1,0,0,b").unwrap();
        assert_eq!(h.notes.dw_scheme.unwrap()[1], [1.0, 0.0, 0.0]);
    }

    #[test]
    fn names_of_types_are_read_in_any_case() {
        for (name, order) in [("int16be", ByteOrder::Big), ("INT16LE", ByteOrder::Little)] {
            let h = with("Int16BE", name).unwrap();
            assert_eq!((h.datatype, h.byte_order), (Datatype::Int16, order));
        }
    }

    #[test]
    fn data_may_lie_in_another_file() {
        let h = with("file: . 400", "file: my data.dat 16").unwrap();
        assert_eq!((h.data_file, h.data_offset), (DataFile::Named("my data.dat".into()), 16));
        let h = with("file: . 400", "file: data.dat").unwrap();
        assert_eq!((h.data_file, h.data_offset), (DataFile::Named("data.dat".into()), 0));
    }

    #[test]
    fn dimensions_of_one_may_stand_anywhere_in_the_layout() {
        let five = with("dim: 4,3,2,5", "dim: 4,3,2,5,1").unwrap_err();
        assert!(matches!(five, HeaderError::Entry { key: "layout", .. }));
        let text = HEADER.replace("4,3,2,5", "4,3,2,5,1").replace("+3,+0", "+4,+1,-0");
        let moved = parse(text.replace("-1,+2", "-2,+3").as_bytes()).unwrap();
        assert_eq!(moved.layout, parse(HEADER.as_bytes()).unwrap().layout);
    }

    #[test]
    fn the_end_is_a_line_of_its_own() {
        assert_eq!(find_end(b"mrtrix image\ncomments: END\nEND\n\0\0"), Some(31));
        assert_eq!(find_end(b"mrtrix image\ndim: 1\nEND"), None);
    }

    #[test]
    fn only_a_header_alone_may_lack_its_end() {
        assert_eq!(with("END\n", "").unwrap_err(), HeaderError::NoEnd);
        let alone = HEADER.replace("END\n", "").replace(". 400", "data.dat");
        assert!(parse(alone.as_bytes()).is_ok());
    }
}
