//! Reading.

use std::io::Read;
use std::path::{Path, PathBuf};

use fimbria_image::arrays::{Part, Parts, parse_name, read_onto, read_parts};
use fimbria_image::{ByteOrder, Datatype};

use super::header::TrxHeader;
use crate::scratch::decode_points;
use crate::{
    Column, ColumnKind, Counts, Group, Header, ReadStreamlines, Streamlines, TractogramError,
};

/// A TRX being read.
pub(crate) struct Reader {
    path: PathBuf,
    header: Header,
    counts: Counts,
    positions: Part,
    offsets: Offsets,
    per_point: Vec<Part>,
    per_streamline: Vec<Part>,
    /// Entries that are no part of a TRX, by their paths.
    unknown: Vec<String>,
    /// Streamlines read.
    done: u64,
    /// The point at which the next streamline starts.
    at_point: u64,
    block: Vec<u8>,
}

/// The numbers that say where streamlines start.
struct Offsets {
    part: Part,
    datatype: Datatype,
}

impl Offsets {
    fn next(&mut self) -> std::io::Result<u64> {
        let mut bytes = [0; 8];
        let size = self.datatype.bits() / 8;
        self.part.bytes.read_exact(&mut bytes[..size])?;
        Ok(u64::from_le_bytes(bytes))
    }
}

impl Reader {
    pub(crate) fn open(path: &Path) -> Result<Self, TractogramError> {
        Self::from_parts(path, read_parts(path)?)
    }

    fn from_parts(path: &Path, mut parts: Parts) -> Result<Self, TractogramError> {
        let wrong = |why: String| TractogramError::header(path, why);
        let mut text = parts.remove("header.json").ok_or_else(|| wrong("no header.json".into()))?;
        let text = text.read_all().map_err(TractogramError::io("read", path))?;
        let TrxHeader { grid, counts } = TrxHeader::parse(&text).map_err(wrong)?;
        let mut header = Header {
            grid: Some(grid),
            n_streamlines: Some(counts.streamlines),
            n_points: Some(counts.points),
            ..Header::default()
        };
        let (mut positions, mut offsets) = (None, None);
        let (mut per_point, mut per_streamline) = (Vec::new(), Vec::new());
        let (mut group_data, mut unknown) = (Vec::new(), Vec::new());
        for (file, mut part) in parts.into_iter().filter(|(file, _)| !is_hidden(file)) {
            let (folder, last) = file.rsplit_once('/').unwrap_or(("", &file));
            let Some(kind) = parse_name(last) else {
                unknown.push(file);
                continue;
            };
            match folder {
                "" if kind.name == "positions" && positions.is_none() => {
                    check_length(&kind, &part, counts.points, &file).map_err(wrong)?;
                    if kind.width != 3 || !kind.datatype.is_float() {
                        return Err(wrong(format!("{file} are no points of three coordinates")));
                    }
                    header.position_type = kind.datatype;
                    positions = Some(part);
                }
                "" if kind.name == "offsets" && offsets.is_none() => offsets = Some((kind, part)),
                "dpv" => {
                    check_length(&kind, &part, counts.points, &file).map_err(wrong)?;
                    header.per_point.push(kind);
                    per_point.push(part);
                }
                "dps" => {
                    check_length(&kind, &part, counts.streamlines, &file).map_err(wrong)?;
                    header.per_streamline.push(kind);
                    per_streamline.push(part);
                }
                "groups" => {
                    let size = kind.row_bytes() as u64;
                    check_length(&kind, &part, part.length / size, &file).map_err(wrong)?;
                    let column = read_column(&kind, &mut part, path)?;
                    let members = members(&column, counts.streamlines)
                        .ok_or_else(|| wrong(format!("{file} names streamlines there are not")))?;
                    header.groups.push(Group { name: kind.name, members, data: Vec::new() });
                }
                _ => match folder.strip_prefix("dpg/") {
                    Some(group) => {
                        let kind = one_row_kind(kind, &part);
                        check_length(&kind, &part, 1, &file).map_err(wrong)?;
                        let column = read_column(&kind, &mut part, path)?;
                        group_data.push((group.to_owned(), file, column));
                    }
                    None => unknown.push(file),
                },
            }
        }
        for (name, file, column) in group_data {
            match header.groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.data.push(column),
                None => unknown.push(file),
            }
        }
        // An empty tractogram may have no arrays at all.
        let nothing = || -> Result<Part, TractogramError> {
            if counts.streamlines > 0 || counts.points > 0 {
                return Err(wrong("no positions or no offsets".into()));
            }
            Part::empty().map_err(TractogramError::io("read", path))
        };
        let offsets = match offsets {
            Some((kind, part)) => Offsets::check(kind, part, counts.streamlines).map_err(wrong)?,
            None => Offsets { part: nothing()?, datatype: Datatype::UInt64 },
        };
        let positions = match positions {
            Some(part) => part,
            None => nothing()?,
        };
        let mut reader = Self {
            path: path.to_owned(),
            header,
            counts,
            positions,
            offsets,
            per_point,
            per_streamline,
            unknown,
            done: 0,
            at_point: 0,
            block: Vec::new(),
        };
        if counts.streamlines > 0 {
            let first = reader.offsets.next().map_err(TractogramError::io("read", path))?;
            if first != 0 {
                return Err(TractogramError::header(path, format!("offsets start with {first}")));
            }
        }
        Ok(reader)
    }

    /// Where the next streamline ends.
    fn next_end(&mut self) -> Result<u64, TractogramError> {
        // The last end may be left to the number of points, as early files did.
        let is_last = self.done + 1 == self.counts.streamlines;
        let stated = self.offsets.part.length / (self.offsets.datatype.bits() as u64 / 8);
        let end = if is_last && stated == self.counts.streamlines {
            self.counts.points
        } else {
            self.offsets.next().map_err(TractogramError::io("read", &self.path))?
        };
        let wrong = end < self.at_point
            || end > self.counts.points
            || (is_last && end != self.counts.points);
        if wrong {
            let reason =
                format!("it runs from point {} to {end} of {}", self.at_point, self.counts.points);
            return Err(TractogramError::damaged(&self.path, self.done, reason));
        }
        Ok(end)
    }
}

impl Offsets {
    fn check(kind: ColumnKind, part: Part, streamlines: u64) -> Result<Self, String> {
        if !matches!(
            kind.datatype,
            Datatype::UInt32 | Datatype::UInt64 | Datatype::Int32 | Datatype::Int64
        ) || kind.width != 1
        {
            return Err(format!("offsets of type {} are not known", kind.datatype));
        }
        let size = kind.datatype.bits() as u64 / 8;
        let full = streamlines.checked_add(1).and_then(|n| n.checked_mul(size));
        let fits = Some(part.length) == full || Some(part.length) == streamlines.checked_mul(size);
        if !fits {
            return Err(format!(
                "offsets take {} bytes, which is not {streamlines} streamlines",
                part.length
            ));
        }
        Ok(Self { part, datatype: kind.datatype })
    }
}

impl ReadStreamlines for Reader {
    fn header(&self) -> &Header {
        &self.header
    }

    fn next_chunk(
        &mut self,
        chunk: &mut Streamlines,
        at_least: usize,
    ) -> Result<bool, TractogramError> {
        chunk.reset_for(&self.header);
        let (first, first_point) = (self.done, self.at_point);
        let into = chunk.parts_mut();
        while self.done < self.counts.streamlines
            && (self.done == first || self.at_point - first_point < at_least as u64)
        {
            self.at_point = self.next_end()?;
            self.done += 1;
            into.offsets.push(self.at_point - first_point);
        }
        let points = self.at_point - first_point;
        let error = TractogramError::io("read", &self.path);
        self.block.clear();
        let size = self.header.position_type.bits() as u64 / 8;
        read_onto(&mut self.positions.bytes, points * 3 * size, &mut self.block).map_err(&error)?;
        decode_points(self.header.position_type, ByteOrder::Little, &self.block, into.positions);
        for (column, part) in into.per_point.iter_mut().zip(&mut self.per_point) {
            let bytes = points * column.kind.row_bytes() as u64;
            read_onto(&mut part.bytes, bytes, column.bytes_mut()).map_err(&error)?;
        }
        for (column, part) in into.per_streamline.iter_mut().zip(&mut self.per_streamline) {
            let bytes = (self.done - first) * column.kind.row_bytes() as u64;
            read_onto(&mut part.bytes, bytes, column.bytes_mut()).map_err(&error)?;
        }
        Ok(self.done > first)
    }

    fn doubts(&self) -> Vec<String> {
        /// So many are named.
        const NAMED: usize = 5;
        let more = match self.unknown.len().saturating_sub(NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let named = &self.unknown[..self.unknown.len().min(NAMED)];
        let doubt = format!(
            "{}: no part of a TRX, and left out: {}{more}",
            self.path.display(),
            named.join(", ")
        );
        if named.is_empty() { Vec::new() } else { vec![doubt] }
    }
}

/// A part must hold exactly `rows` rows.
fn check_length(kind: &ColumnKind, part: &Part, rows: u64, file: &str) -> Result<(), String> {
    if rows.checked_mul(kind.row_bytes() as u64) == Some(part.length) {
        return Ok(());
    }
    Err(format!("{file} has {} bytes, which is not {rows} rows", part.length))
}

/// Data of a group are one row, whose width a name may leave out.
fn one_row_kind(kind: ColumnKind, part: &Part) -> ColumnKind {
    let numbers = usize::try_from(part.length / (kind.datatype.bits() as u64 / 8)).unwrap_or(0);
    if kind.width == 1 { ColumnKind { width: numbers.max(1), ..kind } } else { kind }
}

fn read_column(kind: &ColumnKind, part: &mut Part, path: &Path) -> Result<Column, TractogramError> {
    let mut column = kind.empty();
    *column.bytes_mut() = part.read_all().map_err(TractogramError::io("read", path))?;
    Ok(column)
}

/// True of what file managers leave behind: names that begin with a dot, and macOS' folder.
fn is_hidden(file: &str) -> bool {
    file.split('/').any(|part| part.starts_with('.') || part == "__MACOSX")
}

/// The members of a group, where all of them are streamlines.
fn members(column: &Column, streamlines: u64) -> Option<Vec<u32>> {
    let member = |value: f64| {
        let is_one = value >= 0.0 && value < streamlines as f64 && value <= f64::from(u32::MAX);
        (is_one && value.fract() == 0.0).then_some(value as u32)
    };
    column.values().map(member).collect()
}
