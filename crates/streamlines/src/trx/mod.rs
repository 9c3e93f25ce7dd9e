//! TRX: a zip archive or a folder with one plain array per file, little endian, and `header.json`.
//! Coordinates are scanner RAS+ mm. Described at <https://tee-ar-ex.github.io/trx-specification>.
//!
//! | file | holds |
//! |---|---|
//! | `header.json` | affine, dimensions, counts |
//! | `positions.3.TYPE` | points |
//! | `offsets.TYPE` | where each streamline starts, then the number of points |
//! | `dpv/NAME[.WIDTH].TYPE` | data per point (vertex) |
//! | `dps/NAME[.WIDTH].TYPE` | data per streamline |
//! | `groups/NAME.TYPE` | indices of streamlines |
//! | `dpg/GROUP/NAME[.WIDTH].TYPE` | data per group |

mod header;
mod read;
mod write;

use fimbria_image::Datatype;

use crate::format::{Description, Format, Mark, lost_entries};

/// What there is to say of the format as one file.
pub(crate) const ZIP: Format = Format(&Description {
    name: "TRX",
    told_by: Mark::Start(&[A_FILE, THE_END]),
    create: |path, header| Ok(Box::new(write::Writer::create_zip(path, header)?)),
    ..TRX
});

/// The same as a folder.
pub(crate) const FOLDER: Format = Format(&Description {
    name: "TRX folder",
    told_by: Mark::FileInFolder("header.json"),
    create: |path, header| Ok(Box::new(write::Writer::create_folder(path, header)?)),
    ..TRX
});

/// What an archive starts with: a file, or the end of one that has none.
const A_FILE: &[u8] = b"PK\x03\x04";
const THE_END: &[u8] = b"PK\x05\x06";

const TRX: Description = Description {
    name: "TRX",
    extension: "trx",
    holds: "TRX, with data per streamline",
    told_by: Mark::Start(&[]),
    position_types: &[Datatype::Float16, Datatype::Float32, Datatype::Float64],
    keeps_position_type: true,
    seldom_read: &[],
    marks_its_end: true,
    holds_columns: true,
    losses: |header| lost_entries(header).into_iter().collect(),
    open: |path| Ok(Box::new(read::Reader::open(path)?)),
    create: |path, header| Ok(Box::new(write::Writer::create_zip(path, header)?)),
};
