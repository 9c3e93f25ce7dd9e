//! MRtrix images: .mif, .mif.gz, and .mih with its data file.
//!
//! * Source: "MRtrix image formats", <https://mrtrix.readthedocs.io>, getting started, image data.
//! * The grid is that of the axes as `dim:` lists them; `layout:` says only where samples lie.
//!   (MRtrix itself reorders axes when it shows or converts an image; the voxels' places in the
//!   scanner are the same.)
//! * `transform:` holds unit columns, without the voxel size; `ras_from_vox` multiplies it in.
//! * `scaling: offset,multiplier` in this order.
//! * A .mih names its data, `file: NAME OFFSET`: only in its own folder or below. Absolute paths and
//!   `..` are refused, as such a header could show any file of its reader as an image.

mod layout;
mod read;
mod write;

pub use layout::{BadMifLayout, MifLayout};
pub(crate) use read::{find_end, is_mif, parse};
pub(crate) use write::encode_header;

/// First line of every header.
const FIRST_LINE: &str = "mrtrix image";

/// Keys with a meaning of their own, which are no free entries.
const OWN_KEYS: [&str; 8] =
    ["dim", "vox", "layout", "datatype", "transform", "scaling", "file", "dw_scheme"];
