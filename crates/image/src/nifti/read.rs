//! A NIfTI header, checked.

use super::fields::{Fields, Version};
use super::{DATATYPES, REFUSED_DATATYPES, orientation};
use crate::error::HeaderError;
use crate::header::{DataFile, Dims, Header, Intent, Notes, SpaceCodes};
use crate::layout::Layout;
use crate::{ByteOrder, Grid, Scaling};

/// Bytes from the start of a file that are enough to parse a header of either version.
pub(crate) const PREFIX_BYTES: usize = Version::Two.data_offset();

/// The size of the header, in either byte order, tells what a file is.
fn version(start: &[u8]) -> Option<(Version, ByteOrder)> {
    let size = *start.first_chunk::<4>()?;
    for version in [Version::One, Version::Two] {
        let expected = version.header_bytes() as u32;
        if u32::from_le_bytes(size) == expected {
            return Some((version, ByteOrder::Little));
        }
        if u32::from_be_bytes(size) == expected {
            return Some((version, ByteOrder::Big));
        }
    }
    None
}

/// Parses the start of a NIfTI file (at least [`PREFIX_BYTES`] of it, or all).
///
/// # Errors
/// Anything that would leave doubt where samples lie or what they are.
pub(crate) fn parse(start: &[u8]) -> Result<Header, HeaderError> {
    let Some((version, byte_order)) = version(start) else {
        return Err(HeaderError::UnknownFormat { start: start[..start.len().min(8)].to_vec() });
    };
    let needed = version.header_bytes();
    if start.len() < needed {
        return Err(HeaderError::Short { needed, found: start.len() });
    }
    let single = is_single(start, version)?;
    let fields = Fields::read(start, version, byte_order);

    let rank = fields.dim[0];
    if !(1..=7).contains(&rank) {
        return Err(HeaderError::Dimensions { dims: fields.dim.to_vec() });
    }
    let dims = Dims::new(&fields.dim[1..=rank as usize])?;
    let datatype = datatype(fields.datatype)?;
    let layout = Layout::contiguous(&dims.all());
    let data_bytes = datatype
        .bytes_for(layout.len())
        .ok_or_else(|| HeaderError::TooLarge { dims: dims.all() })?;
    let (ras_from_vox, orientation) = orientation::ras_from_vox(&fields, dims.space)?;

    let volume_steps = volume_steps(&fields, rank as usize);
    Ok(Header {
        grid: Grid { dims: dims.space, ras_from_vox },
        volume_dims: dims.volumes,
        layout,
        datatype,
        byte_order,
        scaling: scaling(&fields)?,
        orientation,
        data_file: if single { DataFile::Same } else { DataFile::Partner },
        data_offset: data_offset(&fields, version, single)?,
        data_bytes,
        notes: Notes {
            description: fields.description,
            intent: Intent {
                code: fields.intent_code,
                parameters: fields.intent_parameters,
                name: fields.intent_name,
            },
            listed_dims: fields.dim[1..=rank as usize].iter().map(|d| *d as usize).collect(),
            volume_steps,
            // The four bytes after the header: the first says whether extensions follow.
            has_extensions: start.get(needed).is_some_and(|flag| *flag != 0),
            space_codes: Some(SpaceCodes { qform: fields.qform_code, sform: fields.sform_code }),
            ..Notes::default()
        },
    })
}

/// Steps of the dimensions after the third; of time in seconds.
fn volume_steps(fields: &Fields, rank: usize) -> Vec<f64> {
    /// Units of time in `xyzt_units`: seconds, milliseconds, microseconds.
    const SECONDS: [(i32, f64); 3] = [(8, 1.0), (16, 1e-3), (24, 1e-6)];
    let unit = SECONDS.iter().find(|(code, _)| fields.units & 0x38 == *code);
    let mut steps: Vec<f64> = fields.pixdim.get(4..=rank).unwrap_or_default().to_vec();
    if let (Some(time), Some((_, seconds))) = (steps.first_mut(), unit) {
        *time *= seconds;
    }
    steps
}

/// True where the magic letters say that the data follow in the same file.
fn is_single(start: &[u8], version: Version) -> Result<bool, HeaderError> {
    let magic = match version {
        Version::One => &start[version.magic_at()..][..4],
        Version::Two => &start[version.magic_at()..][..8],
    };
    match (version, magic) {
        (Version::One, b"n+1\0") | (Version::Two, b"n+2\0\r\n\x1a\n") => Ok(true),
        (Version::One, b"ni1\0") | (Version::Two, b"ni2\0\r\n\x1a\n") => Ok(false),
        _ => Err(HeaderError::Magic { found: magic.to_vec() }),
    }
}

fn datatype(code: i32) -> Result<crate::Datatype, HeaderError> {
    if let Some((_, datatype)) = DATATYPES.iter().find(|(c, _)| *c == code) {
        return Ok(*datatype);
    }
    let name = REFUSED_DATATYPES.iter().find(|(c, _)| *c == code).map_or("unknown", |(_, n)| n);
    Err(HeaderError::NiftiDatatype { code, name })
}

fn scaling(fields: &Fields) -> Result<Scaling, HeaderError> {
    let scaling = Scaling::from_header(fields.slope, fields.intercept);
    if scaling.intercept.is_finite() {
        Ok(scaling)
    } else {
        let Scaling { slope, intercept } = scaling;
        Err(HeaderError::Scaling { slope, intercept })
    }
}

/// Where the data begin. In a single file 0, which some writers leave, means directly after the
/// header.
fn data_offset(fields: &Fields, version: Version, single: bool) -> Result<u64, HeaderError> {
    let offset = fields.data_offset;
    let first = if single { version.data_offset() as f64 } else { 0.0 };
    if single && offset == 0.0 {
        return Ok(first as u64);
    }
    // 2^53: beyond it an f64 does not hold every byte number.
    let fits = offset >= first && offset < 9_007_199_254_740_992.0 && offset.fract() == 0.0;
    if fits { Ok(offset as u64) } else { Err(HeaderError::Offset { offset }) }
}
