//! NIfTI-1 and NIfTI-2.
//!
//! * Source: `nifti1.h` and `nifti2.h`, <https://nifti.nimh.nih.gov>.
//! * Both byte orders; header extensions are stepped over.
//! * Orientation: sform where its code is above zero, else qform likewise, else the centre of the
//!   image lies at the origin with x from right to left (nibabel's and FSL's choice; MRtrix takes
//!   x from left to right, the standard leaves it open). The spatial unit is read as millimetres
//!   whatever `xyzt_units` says, as nibabel, FSL and MRtrix do.
//! * `bitpix` is not consulted: the type says how many bits there are.

mod fields;
mod orientation;
mod read;
mod write;

pub(crate) use read::{PREFIX_BYTES, parse};
pub use write::NiftiVersion;
pub(crate) use write::{dims, encode_header};

use crate::Datatype;

/// NIfTI's codes of the types that are read and written.
const DATATYPES: [(i32, Datatype); 10] = [
    (2, Datatype::UInt8),
    (4, Datatype::Int16),
    (8, Datatype::Int32),
    (16, Datatype::Float32),
    (64, Datatype::Float64),
    (256, Datatype::Int8),
    (512, Datatype::UInt16),
    (768, Datatype::UInt32),
    (1024, Datatype::Int64),
    (1280, Datatype::UInt64),
];

/// Names of the types that are not.
const REFUSED_DATATYPES: [(i32, &str); 7] = [
    (1, "binary"),
    (32, "complex64"),
    (128, "RGB24"),
    (1536, "float128"),
    (1792, "complex128"),
    (2048, "complex256"),
    (2304, "RGBA32"),
];
