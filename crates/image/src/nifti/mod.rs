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

pub(crate) use read::PREFIX_BYTES;
pub use write::NiftiVersion;

use crate::Datatype;
use crate::format::{Format, Reader, Writer};

/// Header and samples in one file.
pub(crate) static SINGLE: Format = Format {
    extensions: &["nii.gz", "nii"],
    of_samples: &[],
    writer: Some(&Writer {
        header: |shape, options| write::encode_header(shape, true, options),
        ..WRITER
    }),
};

/// Header and samples in two files.
pub(crate) static PAIR: Format = Format {
    extensions: &["hdr", "hdr.gz"],
    of_samples: &["img", "img.gz"],
    writer: Some(&WRITER),
};

const WRITER: Writer = Writer {
    header: |shape, options| write::encode_header(shape, false, options),
    dims: write::dims,
    any_layout: false,
    kept: |datatype| match datatype {
        Datatype::Bit => Datatype::UInt8,
        Datatype::Float16 => Datatype::Float32,
        kept => kept,
    },
    // Its factors are single precision.
    holds_scaling: |_, scaling| {
        let is_single = |x: f64| f64::from(x as f32) == x;
        is_single(scaling.slope) && is_single(scaling.intercept)
    },
};

/// Nothing marks the first bytes; what is wrong with them, parsing says.
pub(crate) static READER: Reader =
    Reader { recognises: |_| true, parse: |start, _| Some(read::parse(start)) };

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
