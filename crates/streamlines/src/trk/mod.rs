//! TrackVis's TRK, version 2: a header of 1000 bytes, then per streamline its number of points and
//! its `f32` numbers. Coordinates are millimetres along voxel axes from the corner of the first
//! voxel (a voxel's centre is at half its size), in the order of axes that the header's
//! `voxel_order` names. Described at <https://trackvis.org/docs/?subsect=fileformat>.
//!
//! Where `voxel_order` and the affine `vox_to_ras` disagree about directions, axes are reversed until
//! they agree, as TrackVis's own files need. Where they disagree about which axis is which, a file
//! is read as nibabel (and so DIPY) writes and reads it, with a warning: its permutation is not the
//! one that the letters name where three axes change places. Columns wider than one number are kept
//! in nibabel's way: the number follows the name after a zero byte.

mod fields;
mod frame;
mod read;
mod write;

pub(crate) use read::Reader;
pub(crate) use write::Writer;
