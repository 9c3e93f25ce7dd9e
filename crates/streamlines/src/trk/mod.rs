//! TrackVis's TRK, version 2: a header of 1000 bytes, then per streamline its number of points and
//! its `f32` numbers. Coordinates are millimetres along voxel axes from the corner of the first
//! voxel (a voxel's centre is at half its size), in the order of axes that the header's
//! `voxel_order` names. Described at <https://trackvis.org/docs/?subsect=fileformat>.
//!
//! Where `voxel_order` and the affine `vox_to_ras` disagree about the axes, axes are swapped and
//! reversed until they agree, as TrackVis's own files need. Columns wider than one number are kept
//! in nibabel's way: the number follows the name after a zero byte.

mod fields;
mod frame;
mod read;
mod write;

pub(crate) use read::Reader;
pub(crate) use write::Writer;
