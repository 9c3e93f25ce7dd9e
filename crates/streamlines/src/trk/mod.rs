//! TrackVis's TRK, version 2: a header of 1000 bytes, then per streamline its number of points and
//! its `f32` numbers. Coordinates are millimetres along voxel axes from the corner of the first
//! voxel (a voxel's centre is at half its size), in the order of axes that the header's
//! `voxel_order` names. Described at <https://trackvis.org/docs/?subsect=fileformat>.
//!
//! Where `voxel_order` and the affine `vox_to_ras` disagree about directions, axes are reversed until
//! they agree, as TrackVis's own files need. Where they disagree about which axis is which, a file
//! is read as nibabel (and so DIPY) writes and reads it, with a warning: its permutation is not the
//! one that the letters name where three axes change places. A header without `vox_to_ras` (version 1, or its last
//! element 0) is read as the identity, nibabel's rule, with a warning. Columns wider than one number are kept
//! in nibabel's way: the number follows the name after a zero byte.

mod fields;
mod frame;
mod read;
mod write;

use fimbria_image::Datatype;

use crate::Header;
use crate::format::{Description, Format, Mark, lost_entries, lost_groups};

/// What there is to say of the format.
pub(crate) const FORMAT: Format = Format(&Description {
    name: "TRK",
    extension: "trk",
    holds: "TrackVis, with data per streamline",
    told_by: Mark::Start(&[b"TRACK"]),
    position_types: &[Datatype::Float32],
    keeps_position_type: true,
    seldom_read: &[],
    marks_its_end: false,
    holds_columns: true,
    losses: |header| {
        [lost_entries(header), lost_groups(header), lost_digits(header)]
            .into_iter()
            .flatten()
            .collect()
    },
    open: |path| Ok(Box::new(read::Reader::open(path)?)),
    create: |path, header| Ok(Box::new(write::Writer::create(path, header)?)),
});

/// What is lost of columns whose numbers `f32` does not hold.
fn lost_digits(header: &Header) -> Option<String> {
    use Datatype::{Float64, Int32, Int64, UInt32, UInt64};
    let columns = header.per_point.iter().chain(&header.per_streamline);
    let wide =
        columns.filter(|kind| matches!(kind.datatype, Int32 | UInt32 | Int64 | UInt64 | Float64));
    let wide: Vec<_> = wide.map(|kind| kind.name.as_str()).collect();
    (!wide.is_empty()).then(|| format!("digits beyond float32 of {}", wide.join(", ")))
}
