//! MRtrix images: .mif, .mif.gz, and .mih with its data file.
//!
//! * Source: "MRtrix image formats", <https://mrtrix.readthedocs.io>, getting started, image data.
//! * The grid is that of the axes as `dim:` lists them; `layout:` says only where samples lie.
//!   (MRtrix itself reorders axes when it shows or converts an image; the voxels' places in the
//!   scanner are the same.)
//! * `transform:` holds unit columns, without the voxel size; `ras_from_vox` multiplies it in.
//! * `scaling: offset,multiplier` in this order. MRtrix3 passes over that of fractions and of bits; the
//!   format's description does not. So it is read of every type, and written of whole numbers alone.
//! * A .mih names its data, `file: NAME OFFSET`: only in its own folder or below. Absolute paths and
//!   `..` are refused, as such a header could show any file of its reader as an image.

mod layout;
mod read;
mod write;

pub use layout::{BadMifLayout, MifLayout};

use crate::Datatype;
use crate::format::{Format, Reader, Writer};

/// Header and samples in one file.
pub(crate) static SINGLE: Format = Format {
    extensions: &["mif", "mif.gz"],
    of_samples: &[],
    writer: Some(&Writer {
        header: write::encode_header,
        dims: |grid, n_volumes, options| {
            let mut dims = grid.dims.to_vec();
            if n_volumes > 1 || options.dw_scheme.is_some() {
                dims.push(n_volumes);
            }
            dims
        },
        any_layout: true,
        kept: |datatype| datatype,
        holds_scaling: |datatype, _| !datatype.is_float() && datatype != Datatype::Bit,
    }),
};

/// A header that names the file of its samples.
pub(crate) static WITH_DATA: Format =
    Format { extensions: &["mih", "mih.gz"], of_samples: &[], writer: None };

/// The header ends with a line of its own.
pub(crate) static READER: Reader = Reader {
    recognises: read::is_mif,
    parse: |start, is_all| match read::find_end(start) {
        Some(end) => Some(read::parse(&start[..end])),
        None => is_all.then(|| read::parse(start)),
    },
};

/// First line of every header.
const FIRST_LINE: &str = "mrtrix image";

/// Keys with a meaning of their own, which are no free entries.
const OWN_KEYS: [&str; 8] =
    ["dim", "vox", "layout", "datatype", "transform", "scaling", "file", "dw_scheme"];
